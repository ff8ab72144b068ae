/* Places: whether ranks are on the hosts that their plan's nodes stand for.
 *
 * A profile knows links within a node and between nodes.  It is right about a
 * run where each node of the plan is one host, and no host two: tensor-parallel
 * groups that lie across hosts, or pipelines that do not, cost otherwise.
 *
 *     ra_places_check(world, graph, &error)       by all processes
 */
#ifndef RA_EXEC_PLACES_H
#define RA_EXEC_PLACES_H

#include "exec/world.h"
#include "graph/task.h"

/**
 * ra_places_fault:
 * @n_ranks: in the order of the nodes
 * @node_of_rank: (array length=n_ranks): ascending
 * @host_of_rank: (array length=n_ranks)
 *
 * Returns: (transfer full) (nullable): the first node that lies on two hosts or
 *   host that has two nodes; %NULL: none
 */
char *ra_places_fault(uint32_t n_ranks, const uint32_t *node_of_rank,
                      const char *const *host_of_rank);

/**
 * ra_places_check:
 * @world: (nullable): alone, all ranks are on one host
 * @error: %RA_ERROR_INPUT
 *
 * By all.
 */
gboolean ra_places_check(RaWorld *world, const RaTaskGraph *graph,
                         GError **error);

#endif
