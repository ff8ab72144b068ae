/* Memory footprint of a call, stage by stage: the bytes that `reallot simulate
 * --fidelity=call` counts, by the account of graph/memory/memory.h.
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

/* Kinds of memory of one stage, in bytes of one GPU. */
typedef enum {
  RA_FOOT_PARAMS,    /* parameters in the layout of this call */
  RA_FOOT_GRADS,     /* 0 if the call does not train */
  RA_FOOT_OPTIMIZER, /* 0 if the call does not train */
  RA_FOOT_PACKED,    /* one layer, while parameters move in or out */
  RA_FOOT_KV,        /* KV cache: grows evenly to this while the call runs */
  RA_FOOT_WORK,      /* from the begin to the end of the call */
  RA_N_FEET
} RaFoot;

typedef struct {
  uint64_t bytes[RA_N_FEET];
} RaStageFootprint;

typedef struct {
  RaStageFootprint *stages; /* (n_stages) by pipeline rank, owned */
  uint32_t n_stages;        /* pp */
  RaStageFootprint most;    /* per kind, the maximum over the stages */
  uint64_t total_bytes; /* maximum over the stages of the sum of all kinds but
                           packed */
} RaFootprint;

/* Cache of the greatest loads that the lengths cause, keyed by (call, dp,
 * micro-batches, mini-batches). */
typedef struct _RaLoads RaLoads;

/**
 * ra_loads_new:
 * @workload: borrowed
 * @n_iterations: iterations whose lengths are sampled, >= 1
 * @seed: seed of the lengths
 *
 * Returns: (transfer full): free with ra_loads_free()
 */
RaLoads *ra_loads_new(const RaWorkload *workload, uint32_t n_iterations,
                      uint64_t seed);
void ra_loads_free(RaLoads *loads);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLoads, ra_loads_free)

/* Trips of iteration @k in which @call runs (graph/input/trips.h), >= 1. */
uint32_t ra_loads_n_trips(const RaLoads *loads, uint32_t call, uint32_t k);

/* The most of any iteration. */
uint32_t ra_loads_most_trips(const RaLoads *loads, uint32_t call);

/**
 * ra_loads_set:
 * @plan: places the calls; matters only where the set is streamed
 * @set: call that makes or owns the set
 * @k: iteration
 * @trip: trip of the iteration; %RA_NONE: what is left of all trips
 *
 * Thread: any.
 *
 * Returns: (transfer none): sampled once
 */
const RaSequenceSet *ra_loads_set(RaLoads *loads, const RaPlan *plan,
                                  uint32_t set, uint32_t k, uint32_t trip);

/* The load of @call as it runs in @plan; owned by @loads. */
const RaCallLoad *ra_loads_of(RaLoads *loads, const RaPlan *plan,
                              uint32_t call);

/**
 * ra_footprint_init:
 * @footprint: (out): clear with ra_footprint_clear()
 * @loads: of the workload; safe for concurrent threads
 * @cluster: borrowed
 * @call: a call with a model
 * @plan: how the call runs, on a mesh that begins at node 0
 *
 * Cost: O(stages x tp x tensor classes), and O(iterations x sequences) for the
 * first (dp, micro-batches) of a call.
 */
void ra_footprint_init(RaFootprint *footprint, RaLoads *loads,
                       const RaCluster *cluster, uint32_t call,
                       const RaCallPlan *plan);
void ra_footprint_clear(RaFootprint *footprint);

#endif
