/* Continuous batching: the scheduler of the sequences of one replica.
 *
 * It is the scheduler of a serving engine (vLLM's, V1), based on counts of
 * tokens alone.  It does not depend on the time of a step, so one schedule
 * serves costs, memory and order of ends.  A step computes at most step_tokens
 * tokens:
 *
 *   1. Running sequences in order of admission: one token for each sequence
 *      with a computed prompt, the next chunk of the prompt for the one
 *      without.  If a sequence finds no free block for its keys, the last
 *      admitted sequence is preempted: its blocks are freed, and it returns,
 *      first in the queue, to compute all its tokens again.
 *   2. If none was preempted, waiting sequences in order of arrival while there
 *      is room: below max_sequences, with tokens and blocks left.
 *
 * A step gives one more token to a sequence whose known tokens are all
 * computed.  The first response token thus comes from the last chunk of the
 * prompt.  Keys and values are stored in blocks of block_tokens.  With groups,
 * the samples of a prompt share its whole blocks except the last: a sequence
 * finds them at admission while a sample that computed them runs.  reserve
 * admits a sequence only if its longest possible result fits (TensorRT-LLM's
 * guaranteed no evict), so nothing is preempted.
 *
 * Between two events (a prompt's chunk, an end, blocks running out) all steps
 * are equal, and the batcher returns them as one stretch:
 *
 *     while (ra_batcher_next(batcher, &stretch)) {
 *       n = any number from 1 to stretch.n_steps
 *       ra_batcher_take(batcher, n);
 *       ra_batcher_first(), ra_batcher_ended(): sequences, by the last step
 *     }
 *
 * A sequence that pauses between turns leaves as if it ended.  After its tool
 * has answered it comes back with a longer prompt.
 *
 * Cost: O(log running) per event, O(block_tokens) if blocks are limited.
 * Typical sizes: 10^2 to 10^5 sequences, 10^2 to 10^3 running.
 */
#ifndef RA_GRAPH_ROLLOUT_BATCHER_H
#define RA_GRAPH_ROLLOUT_BATCHER_H

#include "graph/input/plan_batching.h"

/* Sequences that pause between turns (graph/input/turns.h). */
typedef struct {
  const uint32_t *begin;       /* (n + 1) first turn of each sequence, index
                                  into the other arrays */
  const uint32_t *response;    /* tokens generated in a turn */
  const uint32_t *tool_tokens; /* read before a turn; 0 before the first */
  const double *latency_s;     /* of the tool before a turn */
  gboolean keeps; /* keys and values of a paused sequence stay while no running
                     sequence needs the blocks; else they are dropped at once */
  uint32_t n_tools; /* that run at once; 0: as many as are called */
} RaBatchTurns;

/* Initial state of a batcher whose sequences have progressed elsewhere. */
typedef struct {
  uint32_t n_running;        /* first sequences, which run, in order of
                                admission; only the last of them may have a
                                prompt that is not fully computed */
  gboolean last_fills;       /* the last one has such a prompt */
  const uint32_t *generated; /* (n) known response tokens */
  const uint64_t *computed;  /* (n) tokens with keys; not read for sequences
                                that wait */
  const uint32_t *group;     /* (n) group that shares a prompt, < n; NULL:
                                neighbours */
} RaBatchStart;

/* Progress of a sequence. */
typedef struct {
  uint32_t sequence, generated;
  uint64_t computed; /* tokens with keys */
  gboolean runs;
  gboolean fills; /* its known tokens are not all computed */
} RaBatchSeat;

/* Stretch of equal steps.  Each has sequences that get one token, and chunks of
 * prompts (then n_steps is 1). */
typedef struct {
  uint64_t n_steps;
  uint32_t n_decoding;      /* sequences that get one token each */
  uint64_t kv_tokens;       /* tokens that they attend to in the first step,
                               the token itself included; grows by n_decoding
                               with each step */
  uint32_t n_chunks;        /* chunks of prompts */
  uint32_t n_whole;         /* chunks that complete their prompt */
  uint64_t chunk_tokens;    /* tokens computed in chunks */
  uint64_t chunk_kv_tokens; /* attended to at most, by each chunk */
  uint64_t chunk_pairs;     /* query-key pairs under the causal mask */
} RaBatchStretch;

/* Statistics of a batcher. */
typedef struct {
  uint64_t n_steps;
  uint64_t n_stretches;
  uint64_t n_preempted;
  uint64_t n_computed;  /* tokens, with those computed again after preemption */
  uint64_t n_shared;    /* tokens found computed by another sample */
  uint64_t n_kept;      /* tokens found computed after a pause */
  uint64_t n_evicted;   /* paused sequences that lost their keys and values */
  uint64_t peak_blocks; /* largest number of blocks in use */
  uint64_t last_blocks; /* in use in the last step taken, before ends */
  uint32_t peak_sequences;
} RaBatcherWork;

typedef struct _RaBatcher RaBatcher;

/**
 * ra_batcher_new:
 * @batching: copied
 * @prompt: (array length=n): tokens, >= 1; borrowed
 * @response: (array length=n): tokens, >= 1; borrowed
 *
 * No sequence has arrived yet: see ra_batcher_arrive().  Every sequence alone
 * must fit in n_blocks.
 *
 * Returns: (transfer full): ra_batcher_free() it
 */
RaBatcher *ra_batcher_new(const RaBatching *batching, const uint32_t *prompt,
                          const uint32_t *response, uint32_t n);
void ra_batcher_free(RaBatcher *batcher);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaBatcher, ra_batcher_free)

/**
 * ra_batcher_set_turns:
 * @turns: borrowed; begin NULL: no turns
 *
 * Call it before any sequence has arrived, and without `reserve`.  The
 * `response` of ra_batcher_new() is then all that follows a prompt.
 */
void ra_batcher_set_turns(RaBatcher *batcher, const RaBatchTurns *turns);

/**
 * ra_batcher_set_start:
 * @start: state of all sequences; its arrays are borrowed
 *
 * Call it before any sequence has arrived, without turns.  The first sequence
 * that does not fit, and all behind it, wait and compute their keys again.
 *
 * Returns: number of sequences that run
 */
uint32_t ra_batcher_set_start(RaBatcher *batcher, const RaBatchStart *start);

/* Appends the sequences that have arrived and not ended to @out_seats
 * (element-type RaBatchSeat): running ones in order of admission, then waiting
 * ones in their order.  Call it between stretches, while no sequence pauses. */
void ra_batcher_list(const RaBatcher *batcher, GArray *out_seats);

/* (array length=out_n) (transfer none): sequences that began to pause by the
 * last step taken, like ra_batcher_ended() for those whose last turn ended. */
const uint32_t *ra_batcher_paused(const RaBatcher *batcher, guint *out_n);

/* When the tool of sequence @i, which began to pause at @now_s, answers,
 * seconds.  Tools run in the order of these calls, one for each pause, as
 * ra_batcher_paused() has them (with n_tools, by their numbers); one that finds
 * none free begins when the first of those before it has answered.
 * Cost: O(log n_tools). */
double ra_batcher_answer_s(RaBatcher *batcher, uint32_t i, double now_s);

/* Ends the pause of sequence @i, whose tool has answered; it waits behind all
 * others that wait. */
void ra_batcher_resume(RaBatcher *batcher, uint32_t i);

/* Adds sequences up to @n, in order, to those that wait.  @n never falls. */
void ra_batcher_arrive(RaBatcher *batcher, uint32_t n);

/**
 * ra_batcher_next:
 * @out_stretch: (out): the next steps
 *
 * Preempts and admits sequences for the next step.
 *
 * Returns: %FALSE if nothing runs or waits; then @out_stretch is untouched
 */
gboolean ra_batcher_next(RaBatcher *batcher, RaBatchStretch *out_stretch);

/* Takes the first @n_steps of the stretch, from 1 to its n_steps. */
void ra_batcher_take(RaBatcher *batcher, uint64_t n_steps);

/* (array length=out_n) (transfer none): sequences that got their first token,
 * or that ended, in the last step taken; valid until the next call. */
const uint32_t *ra_batcher_first(const RaBatcher *batcher, guint *out_n);
const uint32_t *ra_batcher_ended(const RaBatcher *batcher, guint *out_n);

/* Blocks in use after the last step taken. */
uint64_t ra_batcher_blocks(const RaBatcher *batcher);

const RaBatcherWork *ra_batcher_work(const RaBatcher *batcher);

#endif
