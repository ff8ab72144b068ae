/* Cost of an isolated call, simulated at stage fidelity. */
#include "config.h"

#include "graph/expand/expand.h"
#include "graph/input/trips.h"
#include "sim/account.h"
#include "sim/call.h"
#include "sim/sim.h"

/* Ends of the call's parts: of part c no earlier than of part c - 1. */
static double *
part_ends_s(const RaTaskGraph *graph, const RaSimResult *result,
            uint32_t n_parts)
{
  double *ends_s = g_new0(double, n_parts);

  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    const RaNode *node = &graph->augmented->nodes[graph->node[t]];
    uint32_t part = node->trip * node->n_parts + node->part;

    g_assert(part < n_parts);
    ends_s[part] = MAX(ends_s[part], result->end_s[t]);
  }
  for (uint32_t part = 1; part < n_parts; part++)
    ends_s[part] = MAX(ends_s[part], ends_s[part - 1]);
  return ends_s;
}

/* Number of parts of all trips, one after the other. */
static uint32_t
n_parts_of(const RaTaskGraph *graph, uint32_t call, uint32_t iteration)
{
  const RaWorkload *w = graph->augmented->plan->workload;
  const RaCall *c = &w->calls[call];

  return c->n_parts *
         (c->each_trip ? ra_trips_draw(w, iteration, graph->seed, NULL) : 1);
}

RaCost *
ra_call_costs(const RaTaskGraph *whole, uint32_t call, uint32_t iteration,
              const RaEstimator *estimator, GError **error)
{
  const RaAugmented *augmented = whole->augmented;
  uint32_t n_parts = n_parts_of(whole, call, iteration);
  RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE,
                             .seed = whole->seed,
                             .fold = whole->is_folded,
                             .one_call = TRUE,
                             .call = call,
                             .iteration = iteration,
                             .until = whole->until};
  g_autoptr(RaTaskGraph) graph = NULL;
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaAccount) account = NULL;
  g_autofree double *ends_s = NULL;
  RaCost *costs;

  graph = ra_expand_with(augmented, &options, error);
  if (!graph)
    return NULL;
  sim = ra_sim_new(graph, estimator, error);
  if (!sim || !ra_sim_run(sim, error))
    return NULL;
  account = ra_account_new(sim, graph);
  ends_s = part_ends_s(graph, ra_sim_result(sim), n_parts);
  costs = g_new0(RaCost, n_parts);
  for (uint32_t part = 0; part < n_parts; part++) {
    double begin_s = part > 0 ? ends_s[part - 1] : 0;
    g_autofree RaAccountShare *shares = NULL;
    double n_gpus = ra_account_n_gpus(account);

    costs[part].total_s = ends_s[part] - begin_s;
    if (n_gpus == 0)
      continue;
    shares = ra_account_window(account, begin_s, ends_s[part], NULL);
    costs[part].compute_s =
        (shares[call].compute_gpu_s + shares[call].interference_gpu_s) / n_gpus;
    costs[part].comm_s = shares[call].comm_gpu_s / n_gpus;
    costs[part].host_s = shares[call].host_gpu_s / n_gpus;
  }
  return costs;
}
