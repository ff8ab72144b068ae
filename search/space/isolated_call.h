/* A plan in which one call is placed and the others only stand there: what a
 * call costs and holds by itself.
 *
 *     RaIsolatedCall *lone = ra_isolated_call_new(workload, cluster, call,
 *     &plan);
 *     use(lone->plan);
 *     ra_isolated_call_free(lone);
 *
 * The other calls stand on GPU 0 in one piece; nobody runs them.  The cluster
 * is cut to the nodes of the call's mesh: what is made of the plan does not
 * grow with the rest of the cluster.
 */
#ifndef RA_SEARCH_SPACE_ISOLATED_CALL_H
#define RA_SEARCH_SPACE_ISOLATED_CALL_H

#include "graph/input/plan.h"

typedef struct {
  RaPlan *plan;      /* owned; without a file */
  RaCluster cluster; /* with as many nodes as the mesh; the rest borrowed */
  uint32_t *layers;  /* (n_calls) stages of the other calls, owned */
} RaIsolatedCall;

/**
 * ra_isolated_call_new:
 * @workload: borrowed
 * @cluster: borrowed
 * @call: of the workload, with a model
 * @plan: how it runs, on a mesh that begins at node 0, where nodes are of
 *   several kinds anywhere; its stages are borrowed
 *
 * Returns: (transfer full): ra_isolated_call_free() it
 */
RaIsolatedCall *ra_isolated_call_new(const RaWorkload *workload,
                                     const RaCluster *cluster, uint32_t call,
                                     const RaCallPlan *plan);
void ra_isolated_call_free(RaIsolatedCall *lone);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaIsolatedCall, ra_isolated_call_free)

#endif
