/* Upper bound of the peak of memory without a replay, for search.
 *
 *     g_autofree RaCallLoad *loads = ra_call_loads_new(plan, 3, seed);
 *     RaMemoryPeak peak;
 *     ra_memory_peak(memory, augmented, loads, &peak);
 *     if (peak.total_bytes > plan->cluster->device.memory_bytes)
 *       it may not fit
 *     ra_memory_peak_clear(&peak);
 *
 * Memory grows when a call or an item begins (ra_memory_items()).  The bound at
 * such a moment is the largest transients of the call plus all items that may
 * exist.  An item does not count if the edges of the augmented graph put it
 * wholly before or after the moment.  Of items ordered by edges one after the
 * other, only the largest counts.  On a GPU one call is active at a time.
 *
 * Only GPUs at which some call's stage or mesh begins can differ.  The cost is
 * thus O(nodes x items + moments x items x (stages + runs of nodes) of all
 * calls), independent of the numbers of GPUs and micro-batches.  Meshes of
 * slices of nodes count every node as a run.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_PEAK_H
#define RA_GRAPH_MEMORY_MEMORY_PEAK_H

#include "graph/expand/sequence.h"
#include "graph/memory/memory.h"

/* Largest load of a call over the sampled lengths. */
typedef struct {
  RaBatch batch;          /* largest micro-batch; generate: of the prefill */
  RaBatch decode;         /* generate: one token of a micro-batch's sequences */
  uint64_t kv_tokens;     /* generate: most cached tokens of a replica */
  uint64_t prompt_tokens; /* generate: cached on a replica after the prefill; 0
                             if prompts and responses share steps */
} RaCallLoad;

/**
 * ra_call_loads_new:
 * @plan: borrowed
 * @n_iterations: iterations whose lengths are sampled, >= 1
 * @seed: seed of the lengths, as for ra_expand()
 *
 * Cost: O(iterations x calls x sequences).
 *
 * Returns: (transfer full) (array length=n_calls): g_free() it
 */
RaCallLoad *ra_call_loads_new(const RaPlan *plan, uint32_t n_iterations,
                              uint64_t seed);

/**
 * ra_call_load_add:
 * @call: not of a trip
 * @set: sequences of @call in an iteration
 * @inout_load: raised to the loads of that iteration
 *
 * What ra_call_loads_new() does for one call and iteration, for callers that
 * keep the sequences, as sampling them takes most of its time.
 *
 * Cost: O(sequences).
 */
void ra_call_load_add(const RaPlan *plan, uint32_t call,
                      const RaSequenceSet *set, RaCallLoad *inout_load);

/* Peak of memory. */
typedef struct {
  uint32_t gpu;       /* of the cluster, the first of equal ones */
  uint32_t call;      /* active call; RA_NONE: parameters move */
  double total_bytes; /* with framework and slack */
  uint64_t *bytes;    /* (n_holders) without framework and slack, owned */
} RaMemoryPeak;

/* The most that a call takes on a GPU of a stage while it runs, bytes. */
typedef struct {
  uint64_t activations, workspace, kv;
  uint64_t buffers; /* of the optimizer */
} RaTransients;

/**
 * ra_call_transients_new:
 * @memory: the account
 * @call: a call with a model
 * @load: load of the call
 *
 * Cost: O(op lists of the stages that are not alike + stages).
 *
 * Returns: (transfer full) (array): (pp) of each stage, g_free() it
 */
RaTransients *ra_call_transients_new(const RaMemory *memory, uint32_t call,
                                     const RaCallLoad *load);

/* Adds @t of @call to @inout_bytes (n_holders). */
void ra_transients_add(const RaTransients *t, uint32_t call,
                       uint64_t *inout_bytes);

/**
 * ra_memory_peak:
 * @memory: the account
 * @augmented: augmented graph of its plan
 * @loads: (array): (n_calls) from ra_call_loads_new()
 * @out_peak: (out): ra_memory_peak_clear() it
 *
 * The bound is never below the peak of a replay with the same lengths.
 */
void ra_memory_peak(const RaMemory *memory, const RaAugmented *augmented,
                    const RaCallLoad *loads, RaMemoryPeak *out_peak);
void ra_memory_peak_clear(RaMemoryPeak *peak);

#endif
