/* Sequences of one micro-batch of a generate call, ordered by their ends.
 *
 * Private to sim/generate/decode*.c.  A sequence with a response of r tokens
 * has its first token from the prefill and takes decode steps 1 .. r - 1.  At
 * step t it attends to prompt + t tokens: its prompt and the t tokens generated
 * so far, including the one being processed.  Between two ends, a batch of a
 * sequences whose prompts sum to P tokens thus attends to K(t) = P + a t.
 */
#ifndef RA_SIM_GENERATE_DECODE_GROUP_H
#define RA_SIM_GENERATE_DECODE_GROUP_H

#include "graph/expand/task.h"

/* Stretch of steps with one batch. */
typedef struct {
  uint32_t last_step;     /* last step; the first follows the preceding stretch,
                             or is 1 */
  uint32_t n_active;      /* a: sequences in the batch, > 0 */
  uint64_t prompt_tokens; /* P: sum of their prompts */
} RaDecodeStretch;

typedef struct {
  RaDecodeStretch *stretches; /* (n_stretches) ascending; the last ends with the
                                 longest sequence */
  uint32_t n_stretches;       /* number of distinct ends after step 0 */
} RaDecodeGroup;

/* End of a part: after group `group` has done step `step`; step 0: at the
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
 * Ends of parts.  Part c ends with the ceil((c + 1) n / n_parts)-th sequence in
 * order of (step, group, index), the order in which they leave the last stage.
 *
 * Returns: (transfer full) (array length=n_parts): ascending; g_free() it
 */
RaDecodeEnd *ra_decode_part_ends(const RaDynamic *dynamic);

/* Tokens to which the batch of @stretch attends at @step. */
static inline uint64_t
ra_decode_kv_tokens(const RaDecodeStretch *stretch, uint32_t step)
{
  return stretch->prompt_tokens + (uint64_t)stretch->n_active * step;
}

#endif
