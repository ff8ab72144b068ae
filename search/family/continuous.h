/* Shapes of generation with continuous batching: what a static batch of a shape
 * needs of memory for all its keys and values at once, in less.
 *
 *     ra_continuous_add(shapes, workload, cluster, call, &shape);
 *
 * A shape comes in steps: keys and values of all sequences of a replica, a half
 * of them, a quarter, down to the longest sequence, so that settling finds the
 * most that fits beside what else the GPUs hold; what is left then is given to
 * the engine, as engines take it (HybridFlow's "best-effort allocation", arXiv
 * 2409.19256, section 8.4).  Memory alone says how many sequences run at a
 * time.
 */
#ifndef RA_SEARCH_FAMILY_CONTINUOUS_H
#define RA_SEARCH_FAMILY_CONTINUOUS_H

#include "search/family/shape.h"

/* In which `kv-memory` is written. */
#define RA_SERVING_STEP_BYTES ((uint64_t)64 << 20)

/**
 * ra_continuous_add:
 * @shapes: (element-type RaShape): appended to
 * @workload: borrowed
 * @cluster: borrowed
 * @call: generates
 * @shape: with a static batch; copied
 *
 * Appends what @shape is with a continuous batch and `kv-memory`, most first;
 * nothing under ZeRO, which no engine has.
 */
void ra_continuous_add(GArray *shapes, const RaWorkload *workload,
                       const RaCluster *cluster, uint32_t call,
                       const RaShape *shape);

/**
 * ra_continuous_slowdown:
 * @shape: continuous, with `kv-memory`
 *
 * Decoding is bound by memory: a step reads the weights, w, and the keys and
 * values of who runs.  With room for a part f of all of them, k, there are 1/f
 * times the steps, each with f k / 2 on the average:
 *
 *     (w / f + k / 2) / (w + k / 2)
 *
 * This orders shapes without a batcher's run for each; what a plan takes is
 * simulated.
 *
 * Returns: seconds over those of the shape with a static batch, >= 1
 */
double ra_continuous_slowdown(const RaWorkload *workload,
                              const RaCluster *cluster, uint32_t call,
                              const RaShape *shape);

/* Keys and values of all sequences of a replica of @plan, rounded up to what
 * plans of this folder are written in. */
uint64_t ra_continuous_whole_bytes(const RaWorkload *workload,
                                   const RaCluster *cluster, uint32_t call,
                                   const RaCallPlan *plan);

#endif
