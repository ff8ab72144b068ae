/* Places: whether ranks are on the hosts that their plan's nodes stand for.
 *
 * A profile knows links within a node and between nodes.  It is right about a
 * run where each node of the plan is one host, and no host two: tensor-parallel
 * groups that lie across hosts, or pipelines that do not, cost otherwise.
 *
 *     ra_places_check(world, graph, &error)       by all processes
 */
#ifndef RA_EXEC_COMM_PLACES_H
#define RA_EXEC_COMM_PLACES_H

#include "exec/comm/world.h"
#include "graph/expand/task.h"

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

/**
 * ra_places_first:
 * @world: (nullable)
 * @n_ranks: on the processes as ra_world_process() says
 * @n_devices: GPUs that this process sees: all of its machine's or, as a
 *   launcher may have it, as many as it has ranks
 * @out_rank: (out): whose GPU is number 0: rank r of this process has number
 *   r - @out_rank
 * @error: %RA_ERROR_INPUT: it sees too few
 */
gboolean ra_places_first(const RaWorld *world, uint32_t n_ranks,
                         uint32_t n_devices, uint32_t *out_rank,
                         GError **error);

#endif
