/* Costs of calls and reallocations by ReaL's estimator. */
#include "config.h"

#include "base/error.h"
#include "estimator/real.h"
#include "sim/cost.h"
#include "sim/real_costs.h"

/* Seconds of the calls of a plan, and of what moves between them. */
typedef struct {
  const RaPlan *plan;
  const RaEstimator *estimator;
  double *call_s;    /* (n_calls) < 0: not yet known */
  double *realloc_s; /* (n_calls x n_calls) from, to; < 0: not yet known */
} Seconds;

static void
seconds_init(Seconds *seconds, const RaTaskGraph *graph,
             const RaEstimator *estimator)
{
  gsize n = graph->augmented->plan->workload->n_calls;

  *seconds = (Seconds){graph->augmented->plan, estimator, g_new(double, n),
                       g_new(double, n *n)};
  for (gsize i = 0; i < n; i++)
    seconds->call_s[i] = -1;
  for (gsize i = 0; i < n * n; i++)
    seconds->realloc_s[i] = -1;
}

static void
seconds_clear(Seconds *seconds)
{
  g_free(seconds->call_s);
  g_free(seconds->realloc_s);
}

static double
call_s(const Seconds *seconds, const RaNode *node)
{
  double *s = &seconds->call_s[node->call];
  RaRealCall call;

  if (*s < 0 && ra_real_call_init(&call, seconds->plan, node->call))
    *s = ra_real_call_s(seconds->estimator, &call);
  return *s / node->n_parts;
}

static double
realloc_s(const Seconds *seconds, const RaNode *node)
{
  const RaPlan *plan = seconds->plan;
  const RaWorkload *workload = plan->workload;
  double *s =
      &seconds->realloc_s[node->source * workload->n_calls + node->call];
  uint32_t model = workload->calls[node->call].model;

  if (*s < 0)
    *s = ra_real_realloc_s(workload->models[model].model,
                           &plan->calls[node->source], &plan->calls[node->call],
                           plan->cluster);
  return *s;
}

gboolean
ra_real_task_costs(const RaTaskGraph *graph, const RaEstimator *estimator,
                   RaCost *out_costs, GError **error)
{
  Seconds seconds;

  if (graph->fidelity != RA_FIDELITY_CALL) {
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "ReaL's estimator has whole calls only, expected call fidelity");
    return FALSE;
  }
  seconds_init(&seconds, graph, estimator);
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    const RaNode *node = &graph->augmented->nodes[graph->node[t]];
    RaTaskKind kind = (RaTaskKind)graph->kind[t];

    out_costs[t] = (RaCost){0};
    if (kind == RA_TASK_CALL)
      out_costs[t] = ra_task_cost_of_duration(kind, call_s(&seconds, node));
    else if (kind == RA_TASK_REALLOC)
      out_costs[t] = ra_task_cost_of_duration(kind, realloc_s(&seconds, node));
    else if (kind == RA_TASK_HOST)
      ra_estimator_work(estimator, graph, graph->work[t], &out_costs[t]);
  }
  seconds_clear(&seconds);
  return TRUE;
}
