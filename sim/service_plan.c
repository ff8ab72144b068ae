/* Rollout service in the task graph: alternating replays. */
#include "config.h"

#include <math.h>

#include "base/error.h"
#include "graph/expand/sequence.h"
#include "sim/generate/service.h"
#include "sim/service_plan.h"
#include "sim/sim.h"

/* The service of a graph. */
typedef struct {
  const RaTaskGraph *graph;
  const RaEstimator *estimator;
  RaCost *costs;
  uint32_t call, trainer;
  RaServiceSpec spec;
  RaServeReplica replica;
  RaServePipe pipe; /* over stages */
  RaServePipeSource stages;
  RaServiceVersion *versions; /* (iterations) k + 1 */
  double *begin_s; /* (iterations) when the graph lets node k begin */
} Plan;

void
ra_service_report_free(RaServiceReport *report)
{
  if (!report)
    return;
  g_free(report->ready_s);
  g_free(report->staleness);
  g_free(report);
}

/* The call that is a service; RA_NONE: there is none, or the graph lacks it or
 * its trainer. */
static uint32_t
find_call(const RaTaskGraph *g, uint32_t *out_trainer)
{
  const RaPlan *plan = g->augmented->plan;
  uint32_t call = RA_NONE;
  gboolean trains = FALSE, generates = FALSE;

  for (uint32_t i = 0; i < plan->workload->n_calls; i++)
    if (plan->calls[i].service != RA_SERVICE_NONE)
      call = i;
  if (call == RA_NONE || g->fidelity == RA_FIDELITY_CALL)
    return RA_NONE;
  *out_trainer =
      ra_workload_trainer(plan->workload, plan->workload->calls[call].model);
  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    uint32_t of = g->augmented->nodes[g->node[t]].call;

    trains = trains || of == *out_trainer;
    generates = generates || of == call;
  }
  return trains && generates ? call : RA_NONE;
}

static gboolean
is_service(const Plan *p, RaTaskId t)
{
  return p->graph->kind[t] == RA_TASK_DECODE &&
         p->graph->augmented->nodes[p->graph->node[t]].call == p->call;
}

/* Sequences of all iterations, and of those that may be begun ahead. */
static void
draw(Plan *p, RaArena *arena)
{
  const RaPlan *plan = p->graph->augmented->plan;
  uint32_t n_sets = p->graph->augmented->n_iterations +
                    p->spec.sync * (p->spec.staleness + 1);
  uint32_t n = p->spec.batch, *prompt, *response;

  p->spec.n = (uint32_t)MIN((uint64_t)n * n_sets, RA_WORKLOAD_SEQUENCES_MAX);
  prompt = ra_arena_alloc(arena, (gsize)n * n_sets, sizeof *prompt);
  response = ra_arena_alloc(arena, (gsize)n * n_sets, sizeof *response);
  for (uint32_t k = 0; k < n_sets; k++) {
    const RaSequenceSet *set =
        ra_sequence_set_new(arena, plan, p->call, k, p->graph->seed);

    for (uint32_t i = 0; i < n; i++) {
      prompt[k * n + i] = set->prompt[i];
      response[k * n + i] = set->response[i];
    }
  }
  p->spec.prompt = prompt;
  p->spec.response = response;
}

/* A task of the transfer of @version. */
static void
note_transfer(RaServiceVersion *version, double begin_s, double end_s)
{
  gboolean is_first = isinf(version->end_s);

  version->begin_s = MIN(version->begin_s, begin_s);
  version->end_s = is_first ? end_s : MAX(version->end_s, end_s);
}

/* When versions arrive and nodes may begin, with the costs as they are. */
static gboolean
replay(Plan *p, GError **error)
{
  const RaTaskGraph *g = p->graph;
  g_autoptr(RaSim) sim = ra_sim_new_with_costs(g, p->costs);
  const RaSimResult *result;

  if (!ra_sim_run(sim, error))
    return FALSE;
  result = ra_sim_result(sim);
  for (uint32_t k = 0; k < g->augmented->n_iterations; k++)
    p->versions[k] = (RaServiceVersion){(double)INFINITY, (double)INFINITY};
  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    const RaNode *node = &g->augmented->nodes[g->node[t]];

    if (is_service(p, t))
      p->begin_s[node->iteration] = result->begin_s[t];
    if (node->kind == RA_NODE_REALLOC && node->call == p->call)
      note_transfer(&p->versions[(node->iteration + 1) / p->spec.sync - 1],
                    result->begin_s[t], result->end_s[t]);
  }
  return TRUE;
}

/* Batch @k's tasks end when it is ready; what they do is what the service does
 * on average. */
static void
set_costs(Plan *p, uint32_t k, const RaServiceResult *service)
{
  const RaTaskGraph *g = p->graph;
  double all_s = p->spec.n_replicas * service->ready_s[k];
  double busy = MIN(all_s > 0 ? service->cost.total_s / all_s : 0, 1);
  double wall_s = MAX(service->ready_s[k] - p->begin_s[k], 0);
  double scale =
      service->cost.total_s > 0 ? busy * wall_s / service->cost.total_s : 0;

  for (RaTaskId t = 0; t < g->n_tasks; t++)
    if (is_service(p, t) && g->augmented->nodes[g->node[t]].iteration == k)
      p->costs[t] = (RaCost){.total_s = wall_s,
                             .compute_s = scale * service->cost.compute_s,
                             .comm_s = scale * service->cost.comm_s,
                             .host_s = scale * service->cost.host_s};
}

static void
summarise(RaServiceReport *report)
{
  double sum = 0, n = 0;

  for (uint32_t i = 0; i < report->n_batches; i++) {
    n += (double)report->staleness[i];
    sum += (double)report->staleness[i] * i;
    if (report->staleness[i] > 0)
      report->max_staleness = i;
  }
  report->mean_staleness = n > 0 ? sum / n : 0;
}

/* Batch by batch. */
static gboolean
run_batches(Plan *p, RaServiceReport *report, GError **error)
{
  RaServeSource source = ra_serve_source(&p->replica);

  p->stages = ra_serve_pipe_source(&p->pipe);
  p->spec.pipe = p->spec.n_stages > 1 ? &p->stages : NULL;
  for (uint32_t k = 0; k < report->n_batches; k++) {
    uint32_t n_versions = 0;
    RaServiceResult result = {.n_batches = k + 1,
                              .ready_s = report->ready_s,
                              .staleness = report->staleness};

    if (!replay(p, error))
      return FALSE;
    while (n_versions < k / p->spec.sync &&
           isfinite(p->versions[n_versions].end_s))
      n_versions++;
    ra_service_run(&p->spec, &source, p->versions, n_versions, &result);
    report->recomputed_tokens = result.recomputed_tokens;
    if (!isfinite(result.ready_s[k])) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "the service never completes batch %u", k);
      return FALSE;
    }
    set_costs(p, k, &result);
  }
  return TRUE;
}

gboolean
ra_service_apply(const RaTaskGraph *graph, const RaEstimator *estimator,
                 RaCost *inout_costs, RaServiceReport **out_report,
                 GError **error)
{
  const RaPlan *plan = graph->augmented->plan;
  uint32_t n = graph->augmented->n_iterations;
  g_autoptr(RaArena) arena = NULL;
  g_autoptr(RaServiceReport) report = NULL;
  Plan p = {.graph = graph, .estimator = estimator, .costs = inout_costs};

  *out_report = NULL;
  p.call = plan->calls ? find_call(graph, &p.trainer) : RA_NONE;
  if (p.call == RA_NONE)
    return TRUE;
  arena = ra_arena_new(0);
  report = g_new0(RaServiceReport, 1);
  report->call = p.call;
  report->n_batches = n;
  report->ready_s = g_new0(double, n);
  report->staleness = g_new0(uint64_t, n);
  p.versions = ra_arena_alloc(arena, n, sizeof *p.versions);
  p.begin_s = ra_arena_alloc(arena, n, sizeof *p.begin_s);
  p.spec = (RaServiceSpec){.n_replicas = plan->calls[p.call].dp,
                           .max_sequences = plan->calls[p.call].max_sequences,
                           .batch = plan->workload->calls[p.call].n_sequences,
                           .staleness = plan->workload->calls[p.call].staleness,
                           .sync = ra_plan_sync_interval(&plan->calls[p.call]),
                           .n_stages = plan->calls[p.call].pp,
                           .n_groups = plan->calls[p.call].n_micro_batches,
                           .refit = plan->calls[p.call].service};
  draw(&p, arena);
  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (is_service(&p, t)) {
      const RaDynamic *d = &graph->dynamics[graph->dynamic[t]];

      p.replica =
          (RaServeReplica){estimator, &graph->shards[d->shard], d->pieces};
      p.pipe = (RaServePipe){estimator, &graph->shards[d->shard], d, NULL};
      p.costs[t] = (RaCost){0};
    }
  if (!run_batches(&p, report, error))
    return FALSE;
  summarise(report);
  *out_report = g_steal_pointer(&report);
  return TRUE;
}
