/* Topology: the links of a cluster, and the paths of tasks over them.
 *
 * A GPU has links to its peers in the node (NVLink through NVSwitch: in and
 * out), to its host (PCIe: in and out) and to other nodes through its NIC (in
 * and out).  Traffic to another node passes the leaf switch of its rail or
 * node.  Traffic to a node below another leaf also passes the leaf's uplink,
 * the spines and the other leaf's downlink.  GPUs behind one PCIe switch
 * (gpus-per-host-link) share the link to their host.
 *
 * Links with always equal loads are merged: a lane has one of each kind for all
 * its GPUs, and NICs that serve the same lanes are one.  A link has capacity 1,
 * or less if the cluster file gives it a rate of its own.  A task uses a share
 * of it (sim/flows.h).
 *
 * Routes:
 * - The GPUs of a failed NIC use the next one of the node.
 * - A collective is a ring over its nodes in order, on each of their rails, so
 *   it crosses from leaf to leaf once per ring.
 * - A send goes from each GPU to its partner on the other stage.
 * - A reallocation or transfer leaves every GPU of its source and reaches every
 *   GPU of its target, spread evenly.  The fraction with partners below other
 *   leaves crosses leaves.
 * - With `spines=n` a leaf has n uplinks, and a hash chooses one for a GPU's
 *   traffic (ECMP); otherwise it has one with the bandwidth of all.
 *
 * With several kinds of nodes, capacity 1 is the rate of the law of the node's
 * kind.  NICs of another kind form as many ports as the cluster's own, and a
 * leaf's uplink has the bandwidth of the NICs below it.
 *
 * If the fabric is a graph (graph/input/link_graph.h), its links replace leaves
 * and spines.  A ring goes from each GPU of a node to the GPU at the same
 * position on the next, a send to its partner, and a move from every GPU to
 * every GPU of another node.  If a NIC is not in the receiver's part of the
 * graph (another rail), another NIC of its node sends.  Failed links are on no
 * path.
 */
#ifndef RA_SIM_NETWORK_TOPOLOGY_H
#define RA_SIM_NETWORK_TOPOLOGY_H

#include "graph/expand/task.h"

typedef struct _RaTopology RaTopology;

/* Use of a link: selects the time of RaLinkUse for which it is full. */
typedef enum { RA_USE_INTRA, RA_USE_INTER, RA_USE_HOST, RA_N_USES } RaUse;

/* Link on a task's path. */
typedef struct {
  uint32_t link;
  uint32_t use; /* RaUse */
  double share; /* of the link's capacity, used during that time */
} RaPathLink;

/**
 * ra_topology_new:
 * @graph: unfolded; borrowed
 * @error: %RA_ERROR_INPUT `file: ...`: all NICs of a node have failed, or a
 *   failed link is on the only path
 *
 * Returns: (transfer full): ra_topology_free() it
 */
RaTopology *ra_topology_new(const RaTaskGraph *graph, GError **error);
void ra_topology_free(RaTopology *topology);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTopology, ra_topology_free)

uint32_t ra_topology_n_links(const RaTopology *topology);
/* Kinds of nodes, a bit mask, whose laws give the times for which @link is
 * full: for a leaf's links its first node's kind, for links of a graph the
 * cluster's own. */
uint32_t ra_topology_link_kinds(const RaTopology *topology, uint32_t link);
/* (n_links) capacities. */
const double *ra_topology_capacity(const RaTopology *topology);

/**
 * ra_topology_path:
 * @task: a collective, send, reallocation, transfer, offload or reload
 *
 * Links of the task, each at most once per use.  Tasks with the same path share
 * the result.   Cost: O(GPUs) the first time.
 *
 * Returns: (element-type RaPathLink) (transfer none)
 */
const GArray *ra_topology_path(RaTopology *topology, RaTaskId task);

/* Latency that the links of the longest path add to a message of @task; 0
 * unless the fabric is a graph. */
double ra_topology_latency_s(RaTopology *topology, RaTaskId task);

/**
 * ra_topology_row_path:
 * @task: generation of a replica, one task for all its stages
 * @row: below pp: path of the collectives of that stage; pp + s: path of the
 *   sends from stage s to the next
 * @out_latency_s: (out): as for ra_topology_latency_s()
 *
 * Returns: as for ra_topology_path()
 */
const GArray *ra_topology_row_path(RaTopology *topology, RaTaskId task,
                                   uint32_t row, double *out_latency_s);

/* Lane in whose queue of its stream @task is alone; for a send, the
 * sender's. */
uint32_t ra_topology_queue_lane(RaTopology *topology, RaTaskId task);

/* (transfer full): "network out, GPUs 0-7", "leaf 2 rail 3 spine 0 up". */
char *ra_topology_link_name(const RaTopology *topology, uint32_t link);

#endif
