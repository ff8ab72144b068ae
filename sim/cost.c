/* Costs of all tasks of a graph: works, generations, calls. */
#include "config.h"

#include <string.h>

#include "estimator/kinds.h"
#include "graph/input/plan_tail.h"
#include "sim/call.h"
#include "sim/cost.h"
#include "sim/generate/decode.h"
#include "sim/generate/serve_pipe.h"
#include "sim/real_costs.h"
#include "sim/task_class.h"

RaCost
ra_task_cost_of_duration(RaTaskKind kind, double duration_s)
{
  RaCost cost = {.total_s = duration_s};

  switch (ra_task_class(kind)) {
  case RA_TASK_CLASS_DEVICE:
    cost.compute_s = duration_s;
    break;
  case RA_TASK_CLASS_HOST:
    cost.host_s = duration_s;
    break;
  default:
    cost.comm_s = duration_s;
  }
  return cost;
}

/* Costs of the parts of every dynamic; dynamic d has those from begin[d] on. */
typedef struct {
  uint32_t *begin; /* (n_dynamics + 1) */
  RaCost *parts;   /* (begin[n_dynamics]) total_s is the part's wall time */
} DynamicCosts;

/* Two replicas that generate the same, as with lengths all equal, cost the
 * same. */
static gboolean
same_dynamic(const RaDynamic *a, const RaDynamic *b)
{
  gsize n_bytes = a->n_sequences * sizeof *a->prompt;

  return a->shard == b->shard && a->pieces == b->pieces &&
         a->n_groups == b->n_groups && a->n_stages == b->n_stages &&
         a->n_parts == b->n_parts && a->n_sequences == b->n_sequences &&
         !a->is_phase && !b->is_phase && !a->turns.begin && !b->turns.begin &&
         memcmp(&a->send, &b->send, sizeof a->send) == 0 &&
         memcmp(&a->batching, &b->batching, sizeof a->batching) == 0 &&
         memcmp(a->prompt, b->prompt, n_bytes) == 0 &&
         memcmp(a->response, b->response, n_bytes) == 0;
}

/* With continuous batching. */
static void
serve_dynamic(const RaTaskGraph *graph, const RaEstimator *estimator,
              const RaDynamic *dynamic, RaDecodeResult *result)
{
  RaServeReplica replica = {estimator, &graph->shards[dynamic->shard],
                            dynamic->pieces};
  RaServeSource source = ra_serve_source(&replica);
  RaServeResult served = {.n_parts = dynamic->n_parts,
                          .part_end_s = result->part_end_s,
                          .part_cost = result->part_cost,
                          .watch = result->watch};
  g_autoptr(RaBatcher) batcher = ra_dynamic_batcher_new(dynamic, 0);

  served.max_steps = dynamic->n_steps;
  ra_serve_run(&source, batcher, dynamic->n_sequences, NULL, &served);
}

/* With continuous batching, on the slowest of @kinds; 0: nodes are alike. */
static void
serve_kinds(const RaTaskGraph *graph, const RaEstimator *estimator,
            const RaDynamic *dynamic, uint32_t kinds, RaDecodeResult *result)
{
  guint n_parts = dynamic->n_parts, n = 0, slowest = 0;
  g_autofree double *ends_s = g_new(double, n_parts);
  g_autofree RaCost *costs = g_new(RaCost, n_parts);

  for (guint k = 0; k < ra_estimator_n_kinds(estimator); k++) {
    RaDecodeResult one = {.part_end_s = ends_s, .part_cost = costs};

    if (kinds != 0 && !(kinds >> k & 1))
      continue;
    serve_dynamic(graph, ra_estimator_kind(estimator, k), dynamic, &one);
    if (n++ > 0 && ends_s[n_parts - 1] <= result->part_end_s[n_parts - 1])
      continue;
    memcpy(result->part_end_s, ends_s, n_parts * sizeof *ends_s);
    memcpy(result->part_cost, costs, n_parts * sizeof *costs);
    slowest = k;
  }
  if (result->watch)
    serve_dynamic(graph, ra_estimator_kind(estimator, slowest), dynamic,
                  result);
}

/* With continuous batching over stages; @kinds: (nullable) of nodes. */
static void
serve_stages(const RaTaskGraph *graph, const RaEstimator *estimator,
             const RaDynamic *dynamic, const uint32_t *kinds,
             RaDecodeResult *result)
{
  RaServePipe replica = {estimator, &graph->shards[dynamic->shard], dynamic,
                         kinds};
  RaServePipeSource source = ra_serve_pipe_source(&replica);
  RaServeResult served = {.n_parts = dynamic->n_parts,
                          .part_end_s = result->part_end_s,
                          .part_cost = result->part_cost,
                          .watch = result->watch};

  ra_serve_pipe(&source, dynamic, &served);
}

void
ra_dynamic_run(const RaTaskGraph *graph, const RaEstimator *estimator,
               uint32_t index, const uint32_t *kinds,
               RaDecodeResult *inout_result)
{
  const RaDynamic *dynamic = &graph->dynamics[index];

  if (dynamic->batching.max_sequences > 0 && dynamic->n_stages > 1)
    serve_stages(graph, estimator, dynamic, kinds, inout_result);
  else if (dynamic->batching.max_sequences > 0)
    serve_kinds(graph, estimator, dynamic, kinds ? kinds[0] : 1, inout_result);
  else
    ra_decode_run_kinds(estimator, &graph->shards[dynamic->shard], dynamic,
                        kinds, inout_result);
}

/* @kinds: (nullable): of nodes, by stage. */
static void
cost_dynamic(const RaTaskGraph *graph, const RaEstimator *estimator,
             uint32_t index, const uint32_t *kinds, DynamicCosts *costs)
{
  const RaDynamic *dynamic = &graph->dynamics[index];
  RaCost *parts = costs->parts + costs->begin[index];
  g_autofree double *part_end_s = g_new(double, dynamic->n_parts);
  RaDecodeResult result = {.part_end_s = part_end_s, .part_cost = parts};

  if (index > 0 && same_dynamic(dynamic, dynamic - 1) &&
      (!kinds || memcmp(kinds, kinds - (dynamic - 1)->n_stages,
                        dynamic->n_stages * sizeof *kinds) == 0)) {
    memcpy(parts, costs->parts + costs->begin[index - 1],
           dynamic->n_parts * sizeof *parts);
    return;
  }
  ra_dynamic_run(graph, estimator, index, kinds, &result);
  for (uint32_t part = 0; part < dynamic->n_parts; part++) {
    parts[part].total_s =
        part_end_s[part] - (part > 0 ? part_end_s[part - 1] : 0);
    /* Steps are bound by memory. */
    parts[part].beside_s =
        parts[part].compute_s * ra_estimator_overlap(estimator)->memory_frac;
  }
}

static gboolean
cost_dynamics(const RaTaskGraph *graph, const RaEstimator *estimator,
              DynamicCosts *out_costs, GError **error)
{
  uint32_t n_parts = 0;
  g_autofree uint32_t *stages = NULL, *kinds = NULL;

  if (ra_estimator_n_kinds(estimator) > 1)
    kinds = ra_dynamic_kinds_new(graph, &stages);
  out_costs->begin = g_new(uint32_t, graph->n_dynamics + 1);
  for (uint32_t d = 0; d < graph->n_dynamics; d++) {
    out_costs->begin[d] = n_parts;
    n_parts += graph->dynamics[d].n_parts;
  }
  out_costs->begin[graph->n_dynamics] = n_parts;
  out_costs->parts = g_new(RaCost, n_parts);
  for (uint32_t d = 0; d < graph->n_dynamics; d++) {
    if (ra_until_is_over(graph->until))
      return ra_until_fail(error);
    cost_dynamic(graph, estimator, d, kinds ? kinds + stages[d] : NULL,
                 out_costs);
  }
  return TRUE;
}

/* Call fidelity: the parts of every call that has such tasks, in every
 * iteration, simulated when the first is met. */
typedef struct {
  RaCost **parts; /* (iterations x calls) (n_parts) or NULL */
  gsize n;
} CallCosts;

/* The iteration whose lengths are those of @iteration: with lengths that are
 * not drawn, the first. */
static uint32_t
iteration_like(const RaPlan *plan, uint32_t iteration)
{
  return ra_plan_iterations_alike(plan) ? 0 : iteration;
}

static gboolean
cost_call(const RaTaskGraph *graph, const RaEstimator *estimator,
          const RaNode *node, CallCosts *costs, RaCost *out_cost,
          GError **error)
{
  const RaAugmented *augmented = graph->augmented;
  const RaWorkload *workload = augmented->plan->workload;
  uint32_t iteration = iteration_like(augmented->plan, node->iteration);
  RaCost **parts;

  if (!costs->parts) {
    costs->n = (gsize)augmented->n_iterations * workload->n_calls;
    costs->parts = g_new0(RaCost *, costs->n);
  }
  parts = &costs->parts[(gsize)iteration * workload->n_calls + node->call];
  if (!*parts)
    *parts = ra_call_costs(graph, node->call, iteration, estimator, error);
  if (!*parts)
    return FALSE;
  *out_cost = (*parts)[node->trip * node->n_parts + node->part];
  return TRUE;
}

static void
call_costs_clear(CallCosts *costs)
{
  for (gsize i = 0; i < costs->n; i++)
    g_free(costs->parts[i]);
  g_free(costs->parts);
}

/* Costs of works: (n_works), or by group of tasks with several kinds of nodes.
 */
typedef struct {
  RaCost *works;   /* (n_masks, n_works) owned */
  uint8_t *done;   /* likewise; NULL: all are */
  uint32_t *kinds; /* by group, owned; NULL: nodes are alike */
} WorkCosts;

static gboolean
work_costs_init(WorkCosts *costs, const RaTaskGraph *graph,
                const RaEstimator *estimator, GError **error)
{
  gsize n = graph->n_works;

  *costs = (WorkCosts){NULL, NULL, NULL};
  if (ra_estimator_n_kinds(estimator) > 1) {
    n <<= ra_estimator_n_kinds(estimator);
    costs->kinds = ra_group_kinds_new(graph);
    costs->done = g_new0(uint8_t, MAX(n, 1u));
  }
  costs->works = g_new(RaCost, MAX(n, 1u));
  for (uint32_t work = 0; !costs->kinds && work < graph->n_works; work++) {
    if (ra_until_is_over(graph->until))
      return ra_until_fail(error);
    ra_estimator_work(estimator, graph, work, &costs->works[work]);
  }
  return TRUE;
}

static const RaCost *
work_cost(WorkCosts *costs, const RaTaskGraph *graph,
          const RaEstimator *estimator, RaTaskId t)
{
  gsize at = graph->work[t];
  uint32_t kinds;

  if (!costs->kinds)
    return &costs->works[at];
  kinds = costs->kinds[graph->group[t]];
  at += (gsize)kinds * graph->n_works;
  if (!costs->done[at])
    ra_kinds_work(estimator, graph, graph->work[t], kinds, &costs->works[at]);
  costs->done[at] = 1;
  return &costs->works[at];
}

static void
work_costs_clear(WorkCosts *costs)
{
  g_free(costs->works);
  g_free(costs->done);
  g_free(costs->kinds);
}

gboolean
ra_task_costs(const RaTaskGraph *graph, const RaEstimator *estimator,
              RaCost *out_costs, GError **error)
{
  WorkCosts works;
  DynamicCosts dynamics = {NULL, NULL};
  CallCosts calls = {NULL, 0};
  gboolean ok;

  if (ra_estimator_is_real(estimator))
    return ra_real_task_costs(graph, estimator, out_costs, error);
  ok = work_costs_init(&works, graph, estimator, error) &&
       cost_dynamics(graph, estimator, &dynamics, error);
  for (RaTaskId t = 0; t < graph->n_tasks && ok; t++) {
    uint32_t dynamic = graph->dynamic ? graph->dynamic[t] : RA_NONE;

    out_costs[t] = (RaCost){0};
    if (graph->work[t] != RA_NONE)
      out_costs[t] = *work_cost(&works, graph, estimator, t);
    else if (dynamic != RA_NONE)
      out_costs[t] =
          dynamics.parts[dynamics.begin[dynamic] + graph->mini_batch[t] -
                         graph->dynamics[dynamic].first_part];
    else if (graph->kind[t] == RA_TASK_CALL)
      ok = cost_call(graph, estimator, &graph->augmented->nodes[graph->node[t]],
                     &calls, &out_costs[t], error);
  }
  work_costs_clear(&works);
  g_free(dynamics.begin);
  g_free(dynamics.parts);
  call_costs_clear(&calls);
  return ok;
}
