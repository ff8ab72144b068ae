/* Continuous batching: which sequences of a replica step together, and how far.
 *
 * The scheduler of a serving engine (vLLM's, V1), by counts of tokens alone: no
 * step's time has a say, so one schedule serves costs, memory and order of
 * ends.  A step computes at most step_tokens tokens,
 *
 *   1. of the running sequences in order of admission: one token each that has
 *      its prompt, the next chunk of its prompt for the one that has not; a
 *      sequence whose keys find no free block has the last admitted one
 *      preempted: its blocks are freed, and it comes again, first in the queue,
 *      to compute all its tokens anew;
 *   2. if none was preempted, of waiting sequences in order of arrival while
 *      they find a place (max_sequences), tokens and blocks.
 *
 * A sequence whose known tokens are all computed gets one more by the step; so
 * one of r response tokens has its first from its prompt's last chunk.  Keys
 * and values stand in blocks of block_tokens.  With groups the samples of a
 * prompt share its whole blocks but the last: while one that computed them
 * runs, those that are admitted find them there.  reserve admits a sequence
 * only where all that it can come to fits (TensorRT-LLM's guaranteed no evict),
 * so nothing is preempted.
 *
 * Between two events (a prompt's chunk, an end, blocks running out) all steps
 * are alike, and the batcher hands them out as one stretch:
 *
 *     while (ra_batcher_next(batcher, &stretch)) {
 *       n = what of stretch.n_steps one likes, at least 1
 *       ra_batcher_take(batcher, n);
 *       ra_batcher_first(), ra_batcher_ended(): who, at the end of these
 *     }
 *
 * One that pauses between turns leaves as if it ended and, once its tool has
 * answered, comes back with a longer prompt.
 *
 * Cost: O(log running) an event, O(block_tokens) where blocks are limited.
 * Typical sizes: 10^2 to 10^5 sequences, 10^2 to 10^3 at a time.
 */
#ifndef RA_GRAPH_ROLLOUT_BATCHER_H
#define RA_GRAPH_ROLLOUT_BATCHER_H

#include "graph/input/plan_batching.h"

/* Sequences that pause between turns (graph/input/turns.h). */
typedef struct {
  const uint32_t *begin;       /* (n + 1) turns of each, into the others */
  const uint32_t *response;    /* tokens generated in a turn */
  const uint32_t *tool_tokens; /* that come before it; 0 before the first */
  const double *latency_s;     /* and how long it pauses: the caller's affair */
  gboolean keeps; /* keys and values of one that pauses stay while nobody who
                     runs needs the blocks; else they go at once */
} RaBatchTurns;

/* Where a batcher goes on from: sequences that have come so far elsewhere. */
typedef struct {
  uint32_t n_running;        /* the first of them, which run, in order of
                                admission; at most the last has a prompt that is
                                not all computed */
  gboolean last_fills;       /* it has */
  const uint32_t *generated; /* (n) response tokens that are known */
  const uint64_t *computed; /* (n) tokens whose keys are there; those that wait:
                                not read */
  const uint32_t *group;    /* (n) whose prompt each shares, < n; NULL:
                                neighbours */
} RaBatchStart;

/* How far a sequence is. */
typedef struct {
  uint32_t sequence, generated;
  uint64_t computed; /* tokens whose keys are there */
  gboolean runs;
  gboolean fills; /* its known tokens are not all computed */
} RaBatchSeat;

/* Steps that are alike: of each, sequences that get one token, and chunks of
 * prompts (then n_steps is 1). */
typedef struct {
  uint64_t n_steps;
  uint32_t n_decoding;      /* sequences, a token each */
  uint64_t kv_tokens;       /* that they attend to in the first step, the token
                               itself among them; n_decoding more in each next
                               one */
  uint32_t n_chunks;        /* of prompts */
  uint32_t n_whole;         /* of them, which end their prompt */
  uint64_t chunk_tokens;    /* computed */
  uint64_t chunk_kv_tokens; /* attended to at most, each chunk */
  uint64_t chunk_pairs;     /* query-key pairs under the causal mask */
} RaBatchStretch;

/* What was done. */
typedef struct {
  uint64_t n_steps;
  uint64_t n_stretches;
  uint64_t n_preempted;
  uint64_t n_computed;  /* tokens, computed again where preempted */
  uint64_t n_shared;    /* tokens that were found computed */
  uint64_t n_kept;      /* tokens that were found computed after a pause */
  uint64_t n_evicted;   /* sequences that paused and lost theirs */
  uint64_t peak_blocks; /* in use at a time */
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
 * Nothing waits yet: see ra_batcher_arrive().  Every sequence must fit in
 * n_blocks by itself.
 *
 * Returns: (transfer full): ra_batcher_free() it
 */
RaBatcher *ra_batcher_new(const RaBatching *batching, const uint32_t *prompt,
                          const uint32_t *response, uint32_t n);
void ra_batcher_free(RaBatcher *batcher);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaBatcher, ra_batcher_free)

/**
 * ra_batcher_set_turns:
 * @turns: borrowed; begin NULL: none
 *
 * Before anything has arrived; the `response` of ra_batcher_new() is all that
 * follows a prompt.  Without `reserve`.
 */
void ra_batcher_set_turns(RaBatcher *batcher, const RaBatchTurns *turns);

/**
 * ra_batcher_set_start:
 * @start: of all sequences; its arrays are borrowed
 *
 * Before anything has arrived, without turns.  One that finds no place, and
 * all behind it, waits and computes its keys anew.
 *
 * Returns: how many run
 */
uint32_t ra_batcher_set_start(RaBatcher *batcher, const RaBatchStart *start);

/* Appends those that have arrived and not ended to @out_seats (element-type
 * RaBatchSeat): who run in order of admission, then who wait in theirs.  No
 * stretch is in hand, and nobody pauses. */
void ra_batcher_list(const RaBatcher *batcher, GArray *out_seats);

/* (array length=out_n) (transfer none): as ra_batcher_ended(), those that
 * pause; ra_batcher_ended() has those whose last turn has ended. */
const uint32_t *ra_batcher_paused(const RaBatcher *batcher, guint *out_n);

/* Seconds that sequence @i, which pauses, does. */
double ra_batcher_pause_s(const RaBatcher *batcher, uint32_t i);

/* The tool has answered: it waits, behind all that wait. */
void ra_batcher_resume(RaBatcher *batcher, uint32_t i);

/* Sequences up to @n, in order, have arrived: they wait.  @n never falls. */
void ra_batcher_arrive(RaBatcher *batcher, uint32_t n);

/**
 * ra_batcher_next:
 * @out_stretch: (out): the steps that come
 *
 * Preempts and admits as the next step does.
 *
 * Returns: %FALSE if nothing runs or waits; then @out_stretch is untouched
 */
gboolean ra_batcher_next(RaBatcher *batcher, RaBatchStretch *out_stretch);

/* Takes the first @n_steps of the stretch, from 1 to its n_steps. */
void ra_batcher_take(RaBatcher *batcher, uint64_t n_steps);

/* (array length=out_n) (transfer none): sequences that got their first token,
 * or that ended, by the last step taken; valid until the next call. */
const uint32_t *ra_batcher_first(const RaBatcher *batcher, guint *out_n);
const uint32_t *ra_batcher_ended(const RaBatcher *batcher, guint *out_n);

/* Blocks in use after what was taken. */
uint64_t ra_batcher_blocks(const RaBatcher *batcher);

const RaBatcherWork *ra_batcher_work(const RaBatcher *batcher);

#endif
