/* Memory need of a single call, before the rest of the plan is known.
 *
 * The account of a complete plan is graph/memory/memory.h.  This bound serves
 * to choose between shapes of one call and between sizes of a pool.
 *
 *     RaNeed need = ra_need_call(workload, call, &plan);
 *     RaNeedWorst worst = ra_need_worst(plan, needs, share);
 *     if (worst.bytes > worst.limit_bytes)
 *       the calls with share[call] > 0 are too much for one GPU
 *
 * A GPU permanently holds the training state (weights, gradients, optimizer
 * state) and the weights of models that are never trained.  In addition it
 * holds what one call at a time needs while it runs: the copy of a trained
 * model in another layout, keys and values, activations, logits.  The sum must
 * stay below RA_NEED_LIMIT_FRAC of the GPU's memory.  The rest is for what is
 * not counted here (fragmentation, buffers of collectives, lengths above the
 * mean).
 *
 * The footprint (search/space/footprint.h), which has the bytes of the account,
 * does not serve in its place.  It counts the longest lengths that occur, so
 * micro-batches are smaller and pipelines deeper: of 588 plans of shipped
 * workloads, clusters and families 326 stay, 28 are found that were refused, 11
 * are refused that fit, and the others take 1.06 times as long (geometric
 * mean).  With RA_SHAPE_WORK_FRAC at 0.3, on 90 of those that change: 42 stay,
 * 15 are found, 3 refused, 12 are slower, 4 faster, 1.010 times on the whole.
 */
#ifndef RA_SEARCH_FAMILY_NEED_H
#define RA_SEARCH_FAMILY_NEED_H

#include "graph/input/plan.h"

/* Share of the device memory that the bound may use.  MEASURED:
 * bench/fractions, 58,583 shapes: 0.7 % of the shapes that the bound accepts do
 * not fit by the memory account, 1.8 % at 0.9 and 3.8 % at 1. It rejects a
 * tenth of those that fit. */
#define RA_NEED_LIMIT_FRAC 0.8

/* Memory need of one call on the GPU of its mesh that needs most. */
typedef struct {
  double held_bytes; /* weights; for a train call also gradients and optimizer
                        state */
  double work_bytes; /* while it runs, in addition to held_bytes */
} RaNeed;

/**
 * ra_need_call:
 * @workload: borrowed
 * @call: a call that runs on GPUs
 * @plan: how the call runs, stage layers set; its mesh is not read
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
 * Each logit adds 4 bytes.  Lengths are their means.  Cost: O(layers + pp x
 * classes).
 *
 * Returns: both numbers
 */
RaNeed ra_need_call(const RaWorkload *workload, uint32_t call,
                    const RaCallPlan *plan);

/* The GPU with the greatest need. */
typedef struct {
  double bytes;       /* memory that it needs */
  double limit_bytes; /* memory that the bound allows it */
  uint32_t gpu;       /* number in the cluster */
  uint32_t largest;   /* call with the greatest need there; RA_NONE: none */
} RaNeedWorst;

/**
 * ra_need_worst:
 * @plan: meshes and layouts of its calls are set
 * @needs: (array length=n_calls): need of each call
 * @share: (out) (array length=n_calls): bytes that each call adds on that GPU;
 *   0 where it does not run there
 *
 * Cost: O(GPUs x calls).
 */
RaNeedWorst ra_need_worst(const RaPlan *plan, const RaNeed *needs,
                          double *share);

#endif
