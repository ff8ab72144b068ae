/* Communication as flows over the links of a cluster: what contends.
 *
 * Every collective, send, reallocation, transfer, offload and reload of the
 * graph is one flow (sim/network/network.h) over the links of its GPUs
 * (sim/network/topology.h).  Alone it takes what the estimator's law says, D:
 * its amount is D and its rate at most 1.  For part of D it has a link full
 * (RaLinkUse: intra-node, network card or host; the rest is latency), so at
 * rate 1 it takes
 *
 *     w = share x full_s / D
 *
 * of the link's capacity of 1.  Where tasks ask for more of a link than it has,
 * rates are max-min fair: the tasks that it is the bottleneck of go on at one
 * rate, that is, each is slowed by the same factor.  Latency takes no
 * bandwidth: messages of many steps slow each other only when together they
 * fill the link.
 *
 * A task that meets nobody, or that all have room for, takes D to the last bit.
 * Links of a graph (graph/input/link_graph.h) may have a latency: every message
 * that waits for one before it adds that of its way, which counts as late.
 * Where nodes are of several kinds, D is that of the slowest of them and full_s
 * of each link that of the law of its own node's kind, so faster links are less
 * full.
 * What a law counts as shared (`groups_per_node` GPUs on a node's cards) is
 * each GPU's share of its card, so it is not counted twice.
 *
 * A pass of a micro-batch with collectives inside (tensor parallel, rings,
 * experts) takes their share of its links evenly over its time: it has a flow
 * beside it, with D the time that it takes by itself and full_s the sum over
 * its collectives, and ends when both have.  So it slows what else is on these
 * links, and is slowed where they want more than there is.  An exchange between
 * replicas takes the links of each replica's own GPUs.
 *
 * A generation computes and communicates step by step: its flow (beside it too)
 * is a chain of cycles, of each first the part in which it computes, in which
 * it takes no link, then the part in which its stages' collectives, gathers of
 * weights and sends do.  A cycle is a step where a task has a hundred or so,
 * several of one batch (sim/decode_links.h) where it has more; so a step that
 * meets other flows takes as much longer as its communication, and no more.
 * Over stages, which work side by side, cycles have the stages' mean, and all
 * wait for the stage that is held back most.
 */
#ifndef RA_SIM_FLOWS_H
#define RA_SIM_FLOWS_H

#include "estimator/estimator.h"
#include "sim/network/network.h"
#include "sim/network/topology.h"

typedef struct _RaFlows RaFlows;

/**
 * ra_flows_new:
 * @graph: unfolded; borrowed
 * @estimator: borrowed
 * @error: as ra_topology_new()
 *
 * Returns: (transfer full): ra_flows_free() it
 */
RaFlows *ra_flows_new(const RaTaskGraph *graph, const RaEstimator *estimator,
                      GError **error);
void ra_flows_free(RaFlows *flows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaFlows, ra_flows_free)

/* Whether @task, which takes @duration_s alone, is a flow. */
gboolean ra_flows_takes(const RaFlows *flows, RaTaskId task, double duration_s);

/* Whether @task, which takes @duration_s by itself, has a flow beside it. */
gboolean ra_flows_inside(const RaFlows *flows, RaTaskId task,
                         double duration_s);

/* The flow of @task, or beside it, begins now. */
void ra_flows_start(RaFlows *flows, RaTaskId task, double duration_s);

/* A flow of @task has ended: whether the next of it has begun. */
gboolean ra_flows_go_on(RaFlows *flows, RaTaskId task);

/* The network of the flows; payloads are tasks. */
RaNetwork *ra_flows_network(RaFlows *flows);

/* What of a link was used, over all tasks that have started. */
typedef struct {
  uint32_t link;   /* of the topology */
  double busy_s;   /* seconds of its whole capacity */
  double waited_s; /* by which tasks that it was the narrowest for were late */
} RaLinkBusy;

/* (transfer full) (array length=out_n): links that were used, by busy_s, most
 * first; g_free() it.  waited_s is what ra_flows_end() was told. */
RaLinkBusy *ra_flows_busy(const RaFlows *flows, guint *out_n);

/* @task has ended @late_s later than alone: the one of its links that most was
 * asked of is held responsible. */
void ra_flows_end(RaFlows *flows, RaTaskId task, double late_s);

const RaTopology *ra_flows_topology(const RaFlows *flows);

#endif
