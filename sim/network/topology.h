/* The links of a cluster, and which of them a task's GPUs use.
 *
 * From a GPU to its peers of the node (NVLink through NVSwitch: in and out), to
 * its host (PCIe: in and out) and to other nodes through its network card (in
 * and out), the leaf switch of its rail or node and, below another leaf, the
 * leaf's way up, the spines and that leaf's way down.  GPUs behind one PCIe
 * switch (gpus-per-host-link) share the link to their host.
 *
 * Links that are always loaded alike are one: a lane has one of each kind for
 * all its GPUs, network cards that serve the same lanes are one.  A link's
 * capacity is 1, less where the cluster file gives it a rate of its own; what a
 * task takes of it is a share of that (sim/flows.h).
 *
 * Routes.  A card that has failed leaves its GPUs to the next one of the node.
 * A collective is a ring over its nodes in order, on every rail of them, so it
 * crosses from leaf to leaf once a ring.  A send goes from each GPU to its
 * partner on the other stage.  A reallocation or transfer leaves every GPU of
 * its source and comes to every GPU of its target, spread evenly, so that part
 * of it crosses that has its partners below other leaves.  With `spines=n` a
 * leaf's way up is n links, of which a GPU's traffic takes one by hash (ECMP);
 * else one as wide as all.
 *
 * Where nodes are of several kinds a capacity of 1 is what the law of the
 * node's kind has; cards of another kind make as many ports as the cluster's
 * own, and a leaf's way up is as wide as the cards below it.
 *
 * Where the fabric is a graph (graph/input/link_graph.h) its links stand in
 * place of leaves and spines: a ring goes from each GPU of a node to the one at
 * its place on the next, a send to its partner, a move from every GPU to every
 * one of another node; a card that is not in the receiver's part of the graph
 * (another rail) leaves it to one of its node that is.  Failed links are no
 * way.
 */
#ifndef RA_SIM_NETWORK_TOPOLOGY_H
#define RA_SIM_NETWORK_TOPOLOGY_H

#include "graph/expand/task.h"

typedef struct _RaTopology RaTopology;

/* Which of an op's times (RaLinkUse) a link is full for. */
typedef enum { RA_USE_INTRA, RA_USE_INTER, RA_USE_HOST, RA_N_USES } RaUse;

/* A link of a task's. */
typedef struct {
  uint32_t link;
  uint32_t use; /* RaUse */
  double share; /* of the link's capacity, for as long */
} RaPathLink;

/**
 * ra_topology_new:
 * @graph: unfolded; borrowed
 * @error: %RA_ERROR_INPUT `file: ...`: no network card of a node works, or a
 *   link that has failed is the only way
 *
 * Returns: (transfer full): ra_topology_free() it
 */
RaTopology *ra_topology_new(const RaTaskGraph *graph, GError **error);
void ra_topology_free(RaTopology *topology);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTopology, ra_topology_free)

uint32_t ra_topology_n_links(const RaTopology *topology);
/* Kinds of nodes, bits, by whose laws @link is full: of a leaf's ways its first
 * node's, of links of a graph the cluster's own. */
uint32_t ra_topology_link_kinds(const RaTopology *topology, uint32_t link);
/* (n_links) capacities. */
const double *ra_topology_capacity(const RaTopology *topology);

/**
 * ra_topology_path:
 * @task: a collective, send, reallocation, transfer, offload or reload
 *
 * Its links, each at most once a use; the same for all tasks that go the same
 * way.  O(GPUs) the first time.
 *
 * Returns: (element-type RaPathLink) (transfer none)
 */
const GArray *ra_topology_path(RaTopology *topology, RaTaskId task);

/* What the links of its longest way add to a message of @task: of a cluster
 * whose fabric is a graph. */
double ra_topology_latency_s(RaTopology *topology, RaTaskId task);

/**
 * ra_topology_row_path:
 * @task: a replica's generation, of one task for all its stages
 * @row: below pp, a stage: what its collectives go over; pp + s: what the
 *   sends of stage s go over to the next
 * @out_latency_s: (out): as ra_topology_latency_s()
 *
 * Returns: as ra_topology_path()
 */
const GArray *ra_topology_row_path(RaTopology *topology, RaTaskId task,
                                   uint32_t row, double *out_latency_s);

/* A lane in whose queue of its stream @task is alone: of a send, the sender's.
 */
uint32_t ra_topology_queue_lane(RaTopology *topology, RaTaskId task);

/* (transfer full): "network out, GPUs 0-7", "leaf 2 rail 3 spine 0 up". */
char *ra_topology_link_name(const RaTopology *topology, uint32_t link);

#endif
