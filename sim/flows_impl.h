/* Internals of flows; private to sim/flows.c and sim/flows_decode.c. */
#ifndef RA_SIM_FLOWS_IMPL_H
#define RA_SIM_FLOWS_IMPL_H

#include "sim/decode_links.h"
#include "sim/flows.h"

struct _RaFlows {
  const RaTaskGraph *graph; /* borrowed */
  RaTopology *topology;     /* owned */
  RaNetwork *network;       /* owned: the topology's links, then the queues */
  uint32_t n_kinds;         /* of nodes */
  RaLinkUse *uses;          /* (n_kinds, n_works) sums over the ops of each */
  double *n_messages;       /* (n_works) consecutive messages between nodes */
  RaDecodeLinks **decodes;  /* (n_dynamics) owned */
  uint32_t n_decodes;
  GHashTable *chains;   /* task -> Chain, for running generations */
  uint32_t first_queue; /* link of the first queue */
  double *busy_s;       /* (links of the topology) */
  double *waited_s;     /* (links of the topology) */
  double *share;        /* scratch: (links) sum of a task's uses */
  GArray *links;        /* (uint32_t) scratch */
  GArray *weights;      /* (double) scratch */
};

/* ---- Links of a flow: emptied, taken, weighed ---------------------------- */

/* Adds @weight of @link at rate 1 to the flow. */
void ra_flows_take(RaFlows *flows, uint32_t link, double weight);
/* Collects the weights of the links that were taken, each once. */
void ra_flows_weigh(RaFlows *flows);
/* Starts a flow of @task over them, in its queue: @amount_s after
 * @latency_s. */
void ra_flows_begin(RaFlows *flows, RaTaskId task, double amount_s,
                    double latency_s);

/* ---- Generations (sim/flows_decode.c) ------------------------------------ */

void ra_flows_add_decodes(RaFlows *flows, const RaEstimator *estimator);
void ra_flows_free_decodes(RaFlows *flows);
/* TRUE if @task is a generation that communicates. */
gboolean ra_flows_decodes(const RaFlows *flows, RaTaskId task);
void ra_flows_start_decode(RaFlows *flows, RaTaskId task, double duration_s);
/* Takes and weighs all links of the generation. */
void ra_flows_list_decode(RaFlows *flows, RaTaskId task);

#endif
