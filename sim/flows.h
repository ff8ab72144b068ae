/* Flows: communication tasks over the links of a cluster, with contention.
 *
 * Every collective, send, reallocation, transfer, offload and reload of the
 * graph is one flow (sim/network/network.h) over the links of its GPUs
 * (sim/network/topology.h).  Alone it takes the time D of the estimator's law:
 * its amount is D and its rate at most 1.  For part of D it fills a link
 * (RaLinkUse: intra-node, NIC or host; the rest is latency), so at rate 1 it
 * uses
 *
 *     w = share x full_s / D
 *
 * of the link's capacity of 1.  If tasks demand more than a link's capacity,
 * rates are max-min fair: all tasks whose bottleneck it is have one rate, that
 * is, the link slows each by the same factor.  Latency uses no bandwidth:
 * messages of many steps slow each other only if together they fill the link.
 *
 * - A task without contention takes D to the last bit.
 * - Links of a graph (graph/input/link_graph.h) may have a latency.  Each of
 *   the consecutive messages of a task adds the latency of its path, which
 *   counts as late.
 * - With several kinds of nodes, D is that of the slowest kind, and full_s of
 *   each link follows from the law of its own node's kind, so faster links are
 *   less full.
 * - A law may already include sharing (`groups_per_node` GPUs on a node's
 *   NICs).  It is each GPU's share of its NIC, so it does not count twice.
 *
 * A pass of a micro-batch may have collectives inside (tensor parallel, rings,
 * experts).  They use their links evenly over the pass's time, by a flow that
 * overlaps the pass.  Its D is the pass's time alone and its full_s the sum
 * over the collectives; the pass ends when both have ended.  It thus slows
 * other flows on these links, and is slowed by them.  An exchange between
 * replicas uses the links of each replica's own GPUs.
 *
 * A generation computes and communicates step by step.  Its flow, which
 * overlaps it too, is a chain of cycles.  In the first part of a cycle it
 * computes and uses no link; in the second its stages' collectives, gathers of
 * weights and sends use links.  A cycle is one step if a task has about a
 * hundred steps, several steps of one batch (sim/decode_links.h) if it has
 * more.  Contention thus delays a step by its communication only.  With several
 * stages, which work concurrently, cycles have the stages' mean, and all wait
 * for the stage with the largest delay.
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
 * @error: as for ra_topology_new()
 *
 * Returns: (transfer full): ra_flows_free() it
 */
RaFlows *ra_flows_new(const RaTaskGraph *graph, const RaEstimator *estimator,
                      GError **error);
void ra_flows_free(RaFlows *flows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaFlows, ra_flows_free)

/* TRUE if @task, which takes @duration_s alone, is a flow. */
gboolean ra_flows_takes(const RaFlows *flows, RaTaskId task, double duration_s);

/* TRUE if a flow overlaps @task, which takes @duration_s alone. */
gboolean ra_flows_inside(const RaFlows *flows, RaTaskId task,
                         double duration_s);

/* Starts the flow of @task, or the one that overlaps it, now. */
void ra_flows_start(RaFlows *flows, RaTaskId task, double duration_s);

/* Continues @task after one of its flows has ended; TRUE: its next flow has
 * begun. */
gboolean ra_flows_go_on(RaFlows *flows, RaTaskId task);

/* Network of the flows; payloads are tasks. */
RaNetwork *ra_flows_network(RaFlows *flows);

/* Use of a link by all tasks that have started. */
typedef struct {
  uint32_t link;   /* of the topology */
  double busy_s;   /* seconds of its whole capacity */
  double waited_s; /* sum of delays of tasks that are attributed to it */
} RaLinkBusy;

/* (transfer full) (array length=out_n): links in use, by busy_s, largest first;
 * g_free() it.  waited_s comes from ra_flows_end(). */
RaLinkBusy *ra_flows_busy(const RaFlows *flows, guint *out_n);

/* Notes that @task has ended @late_s later than alone, and attributes the delay
 * to the one of its links with the largest total use. */
void ra_flows_end(RaFlows *flows, RaTaskId task, double late_s);

const RaTopology *ra_flows_topology(const RaFlows *flows);

#endif
