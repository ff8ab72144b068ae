/* The sequences of one micro-batch of a generate call, by where they end.
 *
 * Internal to sim/generate/decode*.c.  A sequence with a response of r tokens
 * has its first token from the prefill and takes decode steps 1 .. r - 1; at
 * step t it attends to prompt + t tokens (its prompt, and the t tokens
 * generated so far, the one being processed among them).  So between two ends a
 * batch of a sequences with prompts of P tokens in all attends to K(t) = P + a
 * t.
 */
#ifndef RA_SIM_GENERATE_DECODE_GROUP_H
#define RA_SIM_GENERATE_DECODE_GROUP_H

#include "graph/expand/task.h"

/* A stretch of steps with one batch. */
typedef struct {
  uint32_t last_step;     /* the batch's last; its first is the one after the
                             stretch before, from 1 on */
  uint32_t n_active;      /* a: sequences in the batch, > 0 */
  uint64_t prompt_tokens; /* P: their prompts */
} RaDecodeStretch;

typedef struct {
  RaDecodeStretch *stretches; /* (n_stretches) ascending; last is when the
                                 longest sequence ends */
  uint32_t n_stretches;       /* distinct ends after step 0 */
} RaDecodeGroup;

/* The end of a part: it ends as group `group` has done step `step`; 0: at the
 * start. */
typedef struct {
  uint32_t step;
  uint32_t group;
} RaDecodeEnd;

/**
 * ra_decode_groups_new:
 * @dynamic: the replica
 *
 * Cost: O(sequences log sequences).
 *
 * Returns: (transfer full) (array length=n_groups): ra_decode_groups_free()
 */
RaDecodeGroup *ra_decode_groups_new(const RaDynamic *dynamic);
void ra_decode_groups_free(RaDecodeGroup *groups, uint32_t n_groups);

/**
 * ra_decode_part_ends:
 * @dynamic: the replica
 *
 * When the ceil((c + 1) n / n_parts)-th sequence has ended, counted in order of
 * (step, group, index), which is the order in which they leave the last stage.
 *
 * Returns: (transfer full) (array length=n_parts): ascending; g_free() it
 */
RaDecodeEnd *ra_decode_part_ends(const RaDynamic *dynamic);

/* Tokens attended to at @step by the batch of @stretch. */
static inline uint64_t
ra_decode_kv_tokens(const RaDecodeStretch *stretch, uint32_t step)
{
  return stretch->prompt_tokens + (uint64_t)stretch->n_active * step;
}

#endif
