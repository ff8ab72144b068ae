/* Shapes of generation with continuous batching.  A static batch needs memory
 * for its whole KV cache at once; these shapes need less.
 *
 *     ra_continuous_add(shapes, workload, cluster, call, &shape);
 *
 * A shape comes in several sizes of `kv-memory`: keys and values of all
 * sequences of a replica, half of them, a quarter, down to the longest
 * sequence.  Settling finds the largest size that fits with the other contents
 * of the GPUs.  The remaining memory is then given to the engine, as engines
 * take it (HybridFlow's "best-effort allocation", arXiv 2409.19256, section
 * 8.4).  Memory alone limits the number of concurrent sequences.
 */
#ifndef RA_SEARCH_FAMILY_CONTINUOUS_H
#define RA_SEARCH_FAMILY_CONTINUOUS_H

#include "search/family/shape.h"

/* Unit of `kv-memory` in written plans. */
#define RA_SERVING_STEP_BYTES ((uint64_t)64 << 20)

/**
 * ra_continuous_add:
 * @shapes: (element-type RaShape): appended to
 * @workload: borrowed
 * @cluster: borrowed
 * @call: a generate call
 * @shape: with a static batch; copied
 *
 * Appends the variants of @shape with a continuous batch and `kv-memory`, the
 * largest first.  Appends nothing under ZeRO, which no engine has.
 */
void ra_continuous_add(GArray *shapes, const RaWorkload *workload,
                       const RaCluster *cluster, uint32_t call,
                       const RaShape *shape);

/**
 * ra_continuous_slowdown:
 * @shape: continuous, with `kv-memory`
 *
 * Decoding is bound by memory bandwidth: a step reads the weights, w bytes, and
 * the keys and values of the running sequences.  With room for a fraction f of
 * all keys and values, k bytes, there are 1/f times the steps, each with f k /
 * 2 on average:
 *
 *     (w / f + k / 2) / (w + k / 2)
 *
 * This formula orders shapes without a run of the batcher for each; the time of
 * a plan is simulated.
 *
 * Returns: seconds relative to the shape with a static batch, >= 1
 */
double ra_continuous_slowdown(const RaWorkload *workload,
                              const RaCluster *cluster, uint32_t call,
                              const RaShape *shape);

/* Gives @plan a continuous batch of its share of @n_sequences, without a limit
 * of memory; and back to a static one. */
void ra_continuous_set(RaCallPlan *plan, uint32_t n_sequences);
void ra_continuous_clear(RaCallPlan *plan);

/* Bytes of keys and values of a GPU, rounded up to RA_SERVING_STEP_BYTES. */
typedef struct {
  uint64_t whole_bytes; /* of all sequences of a replica, of mean lengths */
  uint64_t least_bytes; /* of the longest sequence of each micro-batch */
} RaContinuousRoom;

RaContinuousRoom ra_continuous_room(const RaWorkload *workload,
                                    const RaCluster *cluster, uint32_t call,
                                    const RaCallPlan *plan);

/* Bytes of keys and values of all sequences of a replica of @plan, rounded up
 * to RA_SERVING_STEP_BYTES. */
uint64_t ra_continuous_whole_bytes(const RaWorkload *workload,
                                   const RaCluster *cluster, uint32_t call,
                                   const RaCallPlan *plan);

#endif
