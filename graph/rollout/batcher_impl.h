/* What batcher*.c share: the batcher, its ends and its blocks. */
#ifndef RA_GRAPH_ROLLOUT_BATCHER_IMPL_H
#define RA_GRAPH_ROLLOUT_BATCHER_IMPL_H

#include "graph/rollout/batcher.h"

#define RA_BATCHER_NOBODY UINT32_MAX

typedef enum {
  RA_BATCH_WAITS,
  RA_BATCH_FILLS,   /* runs; its known tokens are not all computed */
  RA_BATCH_DECODES, /* runs; one token a step */
  RA_BATCH_PAUSES,
  RA_BATCH_DONE
} RaBatchState;

typedef struct {
  uint64_t computed;     /* tokens with keys; of one that decodes, less the
                            steps done */
  uint64_t end_step;     /* DECODES: after which it has all its tokens */
  uint32_t generated;    /* response tokens, but for DECODES */
  uint32_t chunk;        /* tokens in the step that comes, FILLS */
  uint32_t before, next; /* of those that run, in order of admission */
  uint8_t state;         /* RaBatchState */
} RaBatchSequence;

/* The samples of a prompt. */
typedef struct {
  uint32_t n_running;
  uint64_t n_blocks; /* in use, that they share */
} RaBatchGroup;

/* An end to come; stale where its sequence does not decode to it. */
typedef struct {
  uint64_t step;
  uint32_t sequence;
} RaBatchEnd;

/* Of a sequence with turns. */
typedef struct {
  uint32_t turn;   /* in hand */
  uint32_t prompt; /* tokens known before it */
  uint64_t kept;   /* tokens whose keys it holds while it does not run */
  guint kept_at;   /* in the list of those that keep */
} RaBatchPause;

struct _RaBatcher {
  RaBatching batching;
  const uint32_t *prompt, *response; /* (n) borrowed */
  uint32_t n, n_arrived;
  RaBatchSequence *sequences; /* (n) */
  RaBatchGroup *groups;       /* (n) */
  const uint32_t *group_of;   /* (n) borrowed; NULL: neighbours */
  GArray *again;              /* uint32_t: preempted, the last comes first */
  uint32_t next_new;          /* first that was never admitted */
  uint32_t head, tail;        /* of those that run */
  uint32_t n_running, n_decoding;
  uint64_t kv_tokens;   /* of those that decode, computed */
  uint64_t used_blocks; /* of all */
  uint64_t step;        /* steps done */
  uint64_t *at_residue; /* (block_tokens) that decode, by computed less steps
                           done, modulo block_tokens */
  GArray *ends;         /* RaBatchEnd: binary heap */
  GArray *first, *ended;
  RaBatchTurns turns;     /* begin NULL: none */
  RaBatchPause *pauses;   /* (n) with turns */
  GArray *paused;         /* uint32_t: by the last step taken */
  GArray *returned;       /* uint32_t: wait after a pause, in order */
  guint n_readmitted;     /* of them */
  GArray *kept;           /* uint32_t: in order of pausing, stale where they
                             keep nothing or did not begin to there */
  guint kept_first;       /* of them, not stale yet */
  RaBatchStretch stretch; /* that comes */
  RaBatcherWork work;
};

/* Tokens of the turn in hand: those before it, and to generate. */
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

/* Those that run: batcher.c. */
void ra_batcher_link_last(RaBatcher *batcher, uint32_t i);
void ra_batcher_set_decoding(RaBatcher *batcher, uint32_t i, gboolean decodes);

/* Tokens whose keys one that runs has. */
static inline uint64_t
ra_batcher_computed(const RaBatcher *b, uint32_t i)
{
  const RaBatchSequence *s = &b->sequences[i];

  return s->computed + (s->state == RA_BATCH_DECODES ? b->step : 0);
}

/* Pauses: batcher_turn.c. */

/* Whether sequence @i, which has ended a turn, has another. */
gboolean ra_batcher_has_turn(const RaBatcher *batcher, uint32_t i);

/* It left with keys of @held tokens and @group_blocks of its group. */
void ra_batcher_pause(RaBatcher *batcher, uint32_t i, uint64_t held,
                      uint64_t group_blocks);

/* Takes back what it kept, as it is admitted; tokens, 0: nothing. */
uint64_t ra_batcher_unkeep(RaBatcher *batcher, uint32_t i);

/* Takes the blocks of who paused first, but not those of @but; FALSE: nobody
 * keeps any. */
gboolean ra_batcher_evict(RaBatcher *batcher, uint32_t but);

/* Ends in order of (step, sequence): batcher_end.c. */
void ra_batcher_push_end(RaBatcher *batcher, RaBatchEnd end);

/* (nullable): the next end of a sequence that still decodes to it, removed by
 * ra_batcher_pop_end(). */
const RaBatchEnd *ra_batcher_first_end(RaBatcher *batcher);
void ra_batcher_pop_end(RaBatcher *batcher);

/* Blocks: batcher_block.c. */
static inline RaBatchGroup *
ra_batcher_group(RaBatcher *batcher, uint32_t i)
{
  return &batcher->groups[batcher->group_of ? batcher->group_of[i]
                                            : i / batcher->batching.group];
}

/* Those that sequence @i has of its own at @tokens. */
uint64_t ra_batcher_own_blocks(const RaBatcher *batcher, uint32_t i,
                               uint64_t tokens);

/* Tokens whose blocks a running sequence holds. */
uint64_t ra_batcher_held_tokens(const RaBatcher *batcher, uint32_t i);

/* Further blocks that sequence @i needs beyond @held to hold @tokens, its
 * group's among them; and takes them. */
uint64_t ra_batcher_more_blocks(RaBatcher *batcher, uint32_t i, uint64_t held,
                                uint64_t tokens);
void ra_batcher_take_blocks(RaBatcher *batcher, uint32_t i, uint64_t held,
                            uint64_t tokens);

/* UINT64_MAX: without limit. */
uint64_t ra_batcher_free_blocks(const RaBatcher *batcher);

/* Those of the sequences that decode which need a block for the key of step
 * @ahead + 1 from now. */
uint64_t ra_batcher_n_crossing(const RaBatcher *batcher, uint64_t ahead);

#endif
