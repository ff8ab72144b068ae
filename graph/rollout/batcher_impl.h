/* Internals of the batcher, its ends and its blocks; private to batcher*.c. */
#ifndef RA_GRAPH_ROLLOUT_BATCHER_IMPL_H
#define RA_GRAPH_ROLLOUT_BATCHER_IMPL_H

#include "graph/rollout/batcher.h"

#define RA_BATCHER_NOBODY UINT32_MAX

typedef enum {
  RA_BATCH_WAITS,
  RA_BATCH_FILLS,   /* runs; its known tokens are not all computed */
  RA_BATCH_DECODES, /* runs; one token per step */
  RA_BATCH_PAUSES,
  RA_BATCH_DONE
} RaBatchState;

typedef struct {
  uint64_t computed;     /* tokens with keys; DECODES: minus the steps done */
  uint64_t end_step;     /* DECODES: step after which it has all its tokens */
  uint32_t generated;    /* response tokens, except for DECODES */
  uint32_t chunk;        /* FILLS: tokens in the next step */
  uint32_t before, next; /* running sequences, in order of admission */
  uint8_t state;         /* RaBatchState */
} RaBatchSequence;

/* Samples of a prompt. */
typedef struct {
  uint32_t n_running;
  uint64_t n_blocks; /* shared blocks in use */
} RaBatchGroup;

/* Future end; stale if its sequence no longer decodes to it. */
typedef struct {
  uint64_t step;
  uint32_t sequence;
} RaBatchEnd;

/* State of a sequence with turns. */
typedef struct {
  uint32_t turn;   /* current turn */
  uint32_t prompt; /* tokens known before it */
  uint64_t kept;   /* tokens whose keys it keeps while it does not run */
  guint kept_at;   /* index in the list `kept` of the batcher */
} RaBatchPause;

struct _RaBatcher {
  RaBatching batching;
  const uint32_t *prompt, *response; /* (n) borrowed */
  uint32_t n, n_arrived;
  RaBatchSequence *sequences; /* (n) */
  RaBatchGroup *groups;       /* (n) */
  const uint32_t *group_of;   /* (n) borrowed; NULL: neighbours */
  GArray *again;              /* uint32_t: preempted sequences, a stack */
  uint32_t next_new;          /* first sequence that was never admitted */
  uint32_t head, tail;        /* list of running sequences */
  uint32_t n_running, n_decoding;
  uint64_t kv_tokens;   /* computed, of sequences that decode */
  uint64_t used_blocks; /* of all sequences */
  uint64_t step;        /* steps done */
  uint64_t *at_residue; /* (block_tokens) numbers of sequences that decode, by
                           (computed - steps done) modulo block_tokens */
  GArray *ends;         /* RaBatchEnd: binary heap */
  GArray *first, *ended;
  RaBatchTurns turns;   /* begin NULL: none */
  RaBatchPause *pauses; /* (n) with turns */
  double *tools_s;      /* (turns.n_tools) when each is free, a heap; NULL: no
                           limit */
  GArray *paused;       /* uint32_t: began to pause in the last step taken */
  GArray *returned;     /* uint32_t: wait after a pause, in order */
  guint n_readmitted;   /* leading ones of `returned` that were admitted */
  GArray *kept;         /* uint32_t: in order of pausing; stale if the sequence
                           keeps nothing or paused again since */
  guint kept_first;     /* first of them that may not be stale */
  RaBatchStretch stretch; /* next steps */
  RaBatcherWork work;
};

/* Tokens of the current turn: those before it, and those to generate. */
static inline uint64_t
ra_batcher_prompt(const RaBatcher *b, uint32_t i)
{
  return b->pauses ? b->pauses[i].prompt : b->prompt[i];
}

static inline uint32_t
ra_batcher_response(const RaBatcher *b, uint32_t i)
{
  return b->pauses ? b->turns.response[b->turns.begin[i] + b->pauses[i].turn]
                   : b->response[i];
}

/* Running sequences: batcher.c. */
void ra_batcher_link_last(RaBatcher *batcher, uint32_t i);
void ra_batcher_set_decoding(RaBatcher *batcher, uint32_t i, gboolean decodes);

/* Tokens with keys of a running sequence. */
static inline uint64_t
ra_batcher_computed(const RaBatcher *b, uint32_t i)
{
  const RaBatchSequence *s = &b->sequences[i];

  return s->computed + (s->state == RA_BATCH_DECODES ? b->step : 0);
}

/* Pauses: batcher_turn.c. */

/* TRUE if sequence @i, which has ended a turn, has another one. */
gboolean ra_batcher_has_turn(const RaBatcher *batcher, uint32_t i);

/* Pauses sequence @i, which left with keys of @held tokens and @group_blocks of
 * its group. */
void ra_batcher_pause(RaBatcher *batcher, uint32_t i, uint64_t held,
                      uint64_t group_blocks);

/* Returns the keys that sequence @i kept to it at its admission; their tokens,
 * 0: none. */
uint64_t ra_batcher_unkeep(RaBatcher *batcher, uint32_t i);

/* Frees the blocks of the sequence that paused first, except @but; FALSE: no
 * sequence keeps any. */
gboolean ra_batcher_evict(RaBatcher *batcher, uint32_t but);

/* Ends in order of (step, sequence): batcher_end.c. */
void ra_batcher_push_end(RaBatcher *batcher, RaBatchEnd end);

/* (nullable): the next end that is not stale; ra_batcher_pop_end() removes it.
 */
const RaBatchEnd *ra_batcher_first_end(RaBatcher *batcher);
void ra_batcher_pop_end(RaBatcher *batcher);

/* Blocks: batcher_block.c. */
static inline RaBatchGroup *
ra_batcher_group(RaBatcher *batcher, uint32_t i)
{
  return &batcher->groups[batcher->group_of ? batcher->group_of[i]
                                            : i / batcher->batching.group];
}

/* Blocks that sequence @i does not share when it holds @tokens. */
uint64_t ra_batcher_own_blocks(const RaBatcher *batcher, uint32_t i,
                               uint64_t tokens);

/* Tokens for which a running sequence has blocks. */
uint64_t ra_batcher_held_tokens(const RaBatcher *batcher, uint32_t i);

/* Additional blocks that sequence @i, with blocks for @held tokens, needs for
 * @tokens, its group's included; the second function allocates them. */
uint64_t ra_batcher_more_blocks(RaBatcher *batcher, uint32_t i, uint64_t held,
                                uint64_t tokens);
void ra_batcher_take_blocks(RaBatcher *batcher, uint32_t i, uint64_t held,
                            uint64_t tokens);

/* Free blocks; UINT64_MAX: no limit. */
uint64_t ra_batcher_free_blocks(const RaBatcher *batcher);

/* Number of decoding sequences that need a new block for the key of step
 * @ahead + 1 from now. */
uint64_t ra_batcher_n_crossing(const RaBatcher *batcher, uint64_t ahead);

#endif
