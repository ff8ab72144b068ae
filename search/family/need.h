/* What a call needs of a GPU, before the rest of the plan is known.
 *
 * The account of a complete plan is graph/memory/memory.h; this bound serves to
 * choose between shapes of one call and sizes of a pool.
 *
 *     RaNeed need = ra_need_call(workload, call, &plan);
 *     RaNeedWorst worst = ra_need_worst(plan, needs, share);
 *     if (worst.bytes > worst.limit_bytes)
 *       the calls with share[call] > 0 are too much for one GPU
 *
 * A GPU holds, all the time, what training works on (weights, gradients,
 * optimizer state) and the weights of models that are never trained; and, one
 * call at a time, what a call needs while it runs: the copy of a trained model
 * in another layout, keys and values, activations, logits.  The sum must stay
 * below RA_NEED_LIMIT_FRAC of its memory; the rest is for what is not counted
 * here (fragments, buffers of collectives, lengths above the mean).
 */
#ifndef RA_SEARCH_FAMILY_NEED_H
#define RA_SEARCH_FAMILY_NEED_H

#include "graph/input/plan.h"

/* Of the device memory, what the bound may use.  MEASURED: bench/fractions, of
 * 58,583 shapes: 0.7 % of those that it takes do not fit by the account, 1.8 %
 * at 0.9 and 3.8 % at 1; it refuses a tenth of those that fit. */
#define RA_NEED_LIMIT_FRAC 0.8

/* What one call needs of the GPU of its mesh that needs most. */
typedef struct {
  double held_bytes; /* weights; of a train call gradients and optimizer too */
  double work_bytes; /* while it runs, beyond held_bytes */
} RaNeed;

/**
 * ra_need_call:
 * @workload: borrowed
 * @call: one that runs on GPUs
 * @plan: how it runs, stage layers set; its mesh is not looked at
 *
 * With n parameters on the fullest stage's rank and d bytes of the dtype:
 *
 *     held = n d                      inference, generate
 *          = n (d + grad + 12)        train with AdamW: fp32 weights and
 *                                     moments; zero 1, 2, 3 divide the 12, the
 *                                     gradients, the weights by dp
 *     work = 34 h T L / tp            train: T tokens of a micro-batch, L
 *                                     layers in flight (Korthikanti et al.,
 *                                     arXiv 2205.05198, eq. 2 without the
 *                                     term of attention's core); full
 *                                     recomputation: 2 h T a layer and one
 *                                     layer whole
 *     work = 2 d kv T L / (tp pp)     generate: keys and values of all
 *                                     sequences of a replica; with continuous
 *                                     batching `kv-memory` if there is one
 *
 * and 4 bytes a logit.  Lengths are their means.
 * Cost: O(layers + pp x classes).
 *
 * Returns: both
 */
RaNeed ra_need_call(const RaWorkload *workload, uint32_t call,
                    const RaCallPlan *plan);

/* The GPU that needs most. */
typedef struct {
  double bytes;       /* that it needs */
  double limit_bytes; /* that it may need */
  uint32_t gpu;       /* of the cluster */
  uint32_t largest;   /* call that runs there and needs most, RA_NONE: none */
} RaNeedWorst;

/**
 * ra_need_worst:
 * @plan: its calls' meshes and layouts set
 * @needs: (array length=n_calls): of each call
 * @share: (out) (array length=n_calls): bytes that each call is to blame for
 *   on that GPU, 0 where it does not run there
 *
 * Cost: O(GPUs x calls).
 */
RaNeedWorst ra_need_worst(const RaPlan *plan, const RaNeed *needs,
                          double *share);

#endif
