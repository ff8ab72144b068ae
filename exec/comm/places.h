/* Places: whether the hosts of the ranks correspond to the nodes of the plan.
 *
 * A profile has costs for links within a node and between nodes.  It applies to
 * a run only if each node of the plan is one host, and each host one node.
 * Tensor-parallel groups across hosts, or pipelines within one, have other
 * costs.
 *
 *     ra_places_check(world, graph, &error)       by all processes
 */
#ifndef RA_EXEC_COMM_PLACES_H
#define RA_EXEC_COMM_PLACES_H

#include "exec/comm/world.h"
#include "graph/expand/task.h"

/**
 * ra_places_fault:
 * @n_ranks: number of ranks, in the order of the nodes
 * @node_of_rank: (array length=n_ranks): ascending
 * @host_of_rank: (array length=n_ranks)
 *
 * Returns: (transfer full) (nullable): message about the first node on two
 *   hosts, or host with two nodes; %NULL: none
 */
char *ra_places_fault(uint32_t n_ranks, const uint32_t *node_of_rank,
                      const char *const *host_of_rank);

/**
 * ra_places_check:
 * @world: (nullable): without one, all ranks are on one host
 * @error: %RA_ERROR_INPUT
 *
 * By all processes.
 */
gboolean ra_places_check(RaWorld *world, const RaTaskGraph *graph,
                         GError **error);

/**
 * ra_places_first:
 * @world: (nullable)
 * @n_ranks: ranks, distributed as by ra_world_process()
 * @n_devices: GPUs that this process sees: all of its machine or, under some
 *   launchers, one per rank of the process
 * @out_rank: (out): rank of GPU number 0: rank r of this process has GPU r -
 *   @out_rank
 * @error: %RA_ERROR_INPUT: the process sees too few GPUs
 */
gboolean ra_places_first(const RaWorld *world, uint32_t n_ranks,
                         uint32_t n_devices, uint32_t *out_rank,
                         GError **error);

#endif
