/* The peak of memory without a replay: an upper bound, for search.
 *
 *     g_autofree RaCallLoad *loads = ra_call_loads_new(plan, 3, seed);
 *     RaMemoryPeak peak;
 *     ra_memory_peak(memory, augmented, loads, &peak);
 *     if (peak.total_bytes > plan->cluster->device.memory_bytes)
 *       it may not fit
 *     ra_memory_peak_clear(&peak);
 *
 * Memory grows when a call begins or an item does (ra_memory_items()).  At such
 * a moment there are the call's transients at their most, and of the items all
 * that may be there: those that the edges of the augmented graph do not put
 * wholly before or after it, nor one before the other.  On a GPU one call is
 * active at a time.
 *
 * The GPUs that differ begin where some call's stage or mesh begins, so the
 * cost is O(nodes x items + moments x items x (stages + runs of nodes) of all
 * calls), whatever the GPUs and micro-batches; meshes of slices of nodes count
 * every node as a run.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_PEAK_H
#define RA_GRAPH_MEMORY_MEMORY_PEAK_H

#include "graph/memory/memory.h"

/* The most that lengths ask of a call. */
typedef struct {
  RaBatch batch;          /* largest micro-batch; generate: of the prefill */
  RaBatch decode;         /* generate: one token of a micro-batch's sequences */
  uint64_t kv_tokens;     /* generate: most cached tokens of a replica */
  uint64_t prompt_tokens; /* generate: of a replica after the prefill; 0 where
                             prompts are computed beside answers */
} RaCallLoad;

/**
 * ra_call_loads_new:
 * @plan: borrowed
 * @n_iterations: whose lengths are drawn, >= 1
 * @seed: of the lengths, as of ra_expand()
 *
 * Cost: O(iterations x calls x sequences).
 *
 * Returns: (transfer full) (array length=n_calls): g_free() it
 */
RaCallLoad *ra_call_loads_new(const RaPlan *plan, uint32_t n_iterations,
                              uint64_t seed);

/* Where memory is fullest. */
typedef struct {
  uint32_t gpu;       /* of the cluster, the first of its kind */
  uint32_t call;      /* that runs then; RA_NONE: parameters move */
  double total_bytes; /* with framework and slack */
  uint64_t *bytes;    /* (n_holders) without them, owned */
} RaMemoryPeak;

/**
 * ra_call_add_transients:
 * @call: with a model
 * @stage: pipeline rank
 * @load: of the call
 * @inout_bytes: (inout) (array): (n_holders) added to: activations, workspace,
 *   KV cache, buffers of the optimizer
 */
void ra_call_add_transients(const RaMemory *memory, uint32_t call,
                            uint32_t stage, const RaCallLoad *load,
                            uint64_t *inout_bytes);

/**
 * ra_memory_peak:
 * @memory: the account
 * @augmented: of its plan
 * @loads: (array): (n_calls) of ra_call_loads_new()
 * @out_peak: (out): ra_memory_peak_clear() it
 *
 * Never less than the peak of a replay with the same lengths.
 */
void ra_memory_peak(const RaMemory *memory, const RaAugmented *augmented,
                    const RaCallLoad *loads, RaMemoryPeak *out_peak);
void ra_memory_peak_clear(RaMemoryPeak *peak);

#endif
