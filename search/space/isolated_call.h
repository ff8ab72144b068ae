/* Isolated call: a plan that places one call and leaves the others idle, to
 * compute the cost and memory of that call by itself.
 *
 *     RaIsolatedCall *lone = ra_isolated_call_new(workload, cluster, call,
 *     &plan);
 *     use(lone->plan);
 *     ra_isolated_call_free(lone);
 *
 * All other calls sit on GPU 0 with a trivial strategy and never run.  The
 * cluster is cut to the nodes of the call's mesh, so costs do not grow with the
 * rest of the cluster.
 */
#ifndef RA_SEARCH_SPACE_ISOLATED_CALL_H
#define RA_SEARCH_SPACE_ISOLATED_CALL_H

#include "graph/input/plan.h"

typedef struct {
  RaPlan *plan;      /* owned; without a file */
  RaCluster cluster; /* has as many nodes as the mesh; the rest is borrowed */
  uint32_t *layers;  /* (n_calls) stage layers of the other calls, owned */
} RaIsolatedCall;

/**
 * ra_isolated_call_new:
 * @workload: borrowed
 * @cluster: borrowed
 * @call: of the workload, with a model
 * @plan: how the call runs, on a mesh that begins at node 0 (anywhere, where
 *   nodes are of several kinds); its stages are borrowed
 *
 * Returns: (transfer full): free with ra_isolated_call_free()
 */
RaIsolatedCall *ra_isolated_call_new(const RaWorkload *workload,
                                     const RaCluster *cluster, uint32_t call,
                                     const RaCallPlan *plan);
void ra_isolated_call_free(RaIsolatedCall *lone);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaIsolatedCall, ra_isolated_call_free)

#endif
