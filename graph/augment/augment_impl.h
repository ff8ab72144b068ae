/* Builder of the augmented graph; private to graph/augment/augment*.c.
 *
 * The graph is built in program order: ra_augmenter_pred() collects the
 * predecessors of the node that ra_augmenter_node() then appends.
 */
#ifndef RA_GRAPH_AUGMENT_AUGMENT_IMPL_H
#define RA_GRAPH_AUGMENT_AUGMENT_IMPL_H

#include "graph/augment/augment.h"
#include "graph/augment/realloc.h"

/* State of copies in host memory; graph/augment/augment_host.c. */
typedef struct _RaAugmentHost RaAugmentHost;

/* The graph under construction. */
typedef struct {
  const RaPlan *plan;
  const RaWorkload *workload;
  uint32_t n_iterations;
  gboolean is_bare;   /* bytes and steps of moves are not computed */
  GArray *nodes;      /* RaNode */
  GArray *pred_begin; /* uint32_t, one ahead of nodes */
  GArray *pred;       /* uint32_t */
  GArray *copies;     /* RaCopy */
  uint32_t *first; /* (n_iterations, n_calls) node of part 0, of the last trip
                      so far; RA_NONE before */
  uint32_t
      *version; /* (n_iterations, n_calls) REALLOC node that brings the call
                   the version trained in that iteration; RA_NONE: none */
  RaReallocLoad *load; /* (n_calls) of the reallocation to the call's layout */
  gboolean *has_load;  /* (n_calls) load has been computed */
  RaAugmentHost *host; /* owned; NULL: nothing is in host memory */
  double tokens;       /* expected tokens of a sequence */
  uint64_t seed;       /* of the samples that decide the number of trips */
  uint32_t trip;       /* trip of new nodes */
  uint32_t *before;    /* (n_calls) last nodes of the preceding trip; RA_NONE:
                          the call is not in trips */
} RaAugmenter;

/* Cell (@iteration, @call) of @table, (n_iterations, n_calls). */
uint32_t *ra_augmenter_at(const RaAugmenter *a, uint32_t *table,
                          uint32_t iteration, uint32_t call);

/* Makes @node a predecessor of the next node; no effect for RA_NONE. */
void ra_augmenter_pred(RaAugmenter *a, uint32_t node);

/* Appends @node with the predecessors collected since the last one; returns its
 * id. */
uint32_t ra_augmenter_node(RaAugmenter *a, const RaNode *node);

/* Node of the last part of a call; RA_NONE if it has not been appended. */
uint32_t ra_augmenter_last_part(const RaAugmenter *a, uint32_t iteration,
                                uint32_t call);

/* --- graph/augment/augment_version.c --- */

/* Makes the next node, a part of @call, wait for its version of the parameters,
 * @iteration - 1 - staleness. */
void ra_augment_wait_version(RaAugmenter *a, uint32_t iteration, uint32_t call);

/* Appends, before @call of @iteration, the reallocation of what the iteration
 * before has trained if @call has an engine of its own that slept meanwhile
 * (graph/input/residency.h).  It waits for all training and for what training
 * moves to host memory. */
void ra_augment_wake(RaAugmenter *a, uint32_t iteration, uint32_t call);

/* Appends, after @call of @iteration, reallocations of the parameters that it
 * trained and refits of a kept copy whose last reader it was. */
void ra_augment_push_versions(RaAugmenter *a, uint32_t iteration,
                              uint32_t call);

/* --- graph/augment/augment_host.c --- */

/* (transfer full) (nullable): %NULL if the plan has nothing in host memory. */
RaAugmentHost *ra_augment_host_new(const RaPlan *plan, uint32_t n_iterations);
void ra_augment_host_free(RaAugmentHost *host);

/* Appends the RELOAD node for which @call of @iteration waits; RA_NONE if all
 * that the call needs is on its GPUs. */
uint32_t ra_augment_reload(RaAugmenter *a, uint32_t iteration, uint32_t call);

/* Makes the next node wait until the calls before on @call's GPUs have moved to
 * host memory what they do, under a system that does not overlap that. */
void ra_augment_wait_offloads(RaAugmenter *a, uint32_t call);

/* Appends, after @call of @iteration and the reallocations that read what it
 * trained, the OFFLOAD node of what it changed, if that leaves its GPUs. */
void ra_augment_offload(RaAugmenter *a, uint32_t iteration, uint32_t call);

/* Appends the OFFLOAD node of the parameters that REALLOC node @realloc brought
 * to its call's layout, if they live in host memory. */
void ra_augment_offload_version(RaAugmenter *a, uint32_t realloc);

/* --- graph/augment/augment_copy.c --- */

/* Derives the copies of all models from the nodes, into a->copies. */
void ra_augment_copies(RaAugmenter *a);

#endif
