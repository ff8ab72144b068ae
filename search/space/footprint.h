/* What a call holds of its GPUs, stage by stage, in the account of
 * graph/memory/memory.h: the bytes that `reallot simulate --fidelity=call`
 * counts.
 *
 *     RaLoads *loads = ra_loads_new(workload, 5, seed);
 *     ra_footprint_init(&f, loads, cluster, call, &plan);
 *     f.stages[s].bytes[RA_FOOT_PARAMS] + ...
 *     ra_footprint_clear(&f);
 *
 * Typical sizes: 1 to 32 stages of 48 bytes.
 */
#ifndef RA_SEARCH_SPACE_FOOTPRINT_H
#define RA_SEARCH_SPACE_FOOTPRINT_H

#include "graph/memory/memory_peak.h"

/* What stands where a stage of the call runs, bytes of one GPU. */
typedef enum {
  RA_FOOT_PARAMS,    /* as this call reads them */
  RA_FOOT_GRADS,     /* 0: does not train */
  RA_FOOT_OPTIMIZER, /* 0: does not train */
  RA_FOOT_PACKED,    /* a layer, while parameters move in or out */
  RA_FOOT_KV,        /* while the call runs: grows evenly to this */
  RA_FOOT_WORK,      /* while the call runs, from its begin to its end */
  RA_N_FEET
} RaFoot;

typedef struct {
  uint64_t bytes[RA_N_FEET];
} RaStageFootprint;

typedef struct {
  RaStageFootprint *stages; /* (n_stages) by pipeline rank, owned */
  uint32_t n_stages;        /* pp */
  RaStageFootprint most;    /* of each kind the most that a stage has */
  uint64_t total_bytes;     /* most of a stage: all but packed */
} RaFootprint;

/* The most that lengths ask of calls, kept by (call, dp, micro-batches,
 * mini-batches). */
typedef struct _RaLoads RaLoads;

/**
 * ra_loads_new:
 * @workload: borrowed
 * @n_iterations: whose lengths are drawn, >= 1
 * @seed: of the lengths
 *
 * Returns: (transfer full): ra_loads_free() it
 */
RaLoads *ra_loads_new(const RaWorkload *workload, uint32_t n_iterations,
                      uint64_t seed);
void ra_loads_free(RaLoads *loads);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLoads, ra_loads_free)

/* The load of @call as it runs in @plan, kept by @loads. */
const RaCallLoad *ra_loads_of(RaLoads *loads, const RaPlan *plan,
                              uint32_t call);

/**
 * ra_footprint_init:
 * @footprint: (out): ra_footprint_clear() it
 * @loads: of the workload; any number of threads may ask
 * @cluster: borrowed
 * @call: with a model
 * @plan: how it runs, on a mesh that begins at node 0
 *
 * Cost: O(stages x tp x tensor classes), and for the first (dp, micro-batches)
 * of a call O(iterations x sequences).
 */
void ra_footprint_init(RaFootprint *footprint, RaLoads *loads,
                       const RaCluster *cluster, uint32_t call,
                       const RaCallPlan *plan);
void ra_footprint_clear(RaFootprint *footprint);

#endif
