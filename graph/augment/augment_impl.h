/* Inside the augmented graph; only graph/augment/augment*.c include this.
 *
 * The graph is built in program order: ra_augmenter_pred() collects the
 * predecessors of the node that ra_augmenter_node() then appends.
 */
#ifndef RA_GRAPH_AUGMENT_AUGMENT_IMPL_H
#define RA_GRAPH_AUGMENT_AUGMENT_IMPL_H

#include "graph/augment/augment.h"
#include "graph/augment/realloc.h"

/* What copies in host memory need; graph/augment/augment_host.c. */
typedef struct _RaAugmentHost RaAugmentHost;

/* The graph under construction. */
typedef struct {
  const RaPlan *plan;
  const RaWorkload *workload;
  uint32_t n_iterations;
  gboolean is_bare;   /* what moves is not asked how much it is */
  GArray *nodes;      /* RaNode */
  GArray *pred_begin; /* uint32_t, one ahead of nodes */
  GArray *pred;       /* uint32_t */
  GArray *copies;     /* RaCopy */
  uint32_t *first; /* (n_iterations, n_calls) node of part 0, of the last trip
                      so far; RA_NONE before */
  uint32_t
      *version; /* (n_iterations, n_calls) REALLOC node that brings the call
                   what training wrote in that iteration; RA_NONE: none */
  RaReallocLoad *load; /* (n_calls) of the reallocation to the call's layout */
  gboolean *has_load;  /* (n_calls) computed */
  RaAugmentHost *host; /* owned; NULL: nothing is in host memory */
  double tokens;       /* expected tokens of a sequence */
  uint64_t seed;       /* of what decides the number of trips */
  uint32_t trip;       /* that nodes are made of */
  uint32_t *before;    /* (n_calls) last nodes of the trip before; RA_NONE: not
                          of a trip */
} RaAugmenter;

/* The cell of (@iteration, @call) of @table, (n_iterations, n_calls). */
uint32_t *ra_augmenter_at(const RaAugmenter *a, uint32_t *table,
                          uint32_t iteration, uint32_t call);

/* The next node waits for @node; RA_NONE: for nothing. */
void ra_augmenter_pred(RaAugmenter *a, uint32_t node);

/* Appends @node with the predecessors collected since the last one; its id. */
uint32_t ra_augmenter_node(RaAugmenter *a, const RaNode *node);

/* The node of the last part of a call, RA_NONE where it has not run. */
uint32_t ra_augmenter_last_part(const RaAugmenter *a, uint32_t iteration,
                                uint32_t call);

/* --- graph/augment/augment_version.c --- */

/* The next node, part of @call, waits for the parameters that it runs on:
 * version @iteration - 1 - staleness. */
void ra_augment_wait_version(RaAugmenter *a, uint32_t iteration, uint32_t call);

/* After @call of @iteration: reallocations of what it trained, and refits of
 * the kept copy that it was the last to read. */
void ra_augment_push_versions(RaAugmenter *a, uint32_t iteration,
                              uint32_t call);

/* --- graph/augment/augment_host.c --- */

/* (transfer full) (nullable): %NULL where the plan has nothing in host
 * memory. */
RaAugmentHost *ra_augment_host_new(const RaPlan *plan, uint32_t n_iterations);
void ra_augment_host_free(RaAugmentHost *host);

/* The RELOAD node that @call of @iteration waits for, appended; RA_NONE where
 * all that it needs is on its GPUs. */
uint32_t ra_augment_reload(RaAugmenter *a, uint32_t iteration, uint32_t call);

/* After @call of @iteration and the reallocations that read what it trained:
 * the OFFLOAD node of what it changed, if it leaves its GPUs. */
void ra_augment_offload(RaAugmenter *a, uint32_t iteration, uint32_t call);

/* Copies out what REALLOC node @realloc brought to the layout of @call. */
void ra_augment_offload_version(RaAugmenter *a, uint32_t realloc);

/* --- graph/augment/augment_copy.c --- */

/* The copies of all models, from the nodes, into a->copies. */
void ra_augment_copies(RaAugmenter *a);

#endif
