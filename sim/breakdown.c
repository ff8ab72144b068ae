/* Breakdown of GPU time by call and cause, tokens, MFU and price. */
#include "config.h"

#include <math.h>

#include "graph/expand/expand.h"
#include "sim/account.h"
#include "sim/breakdown.h"
#include "sim/flop.h"

/* The first begin and the last end of each call in each iteration. */
typedef struct {
  double begin_s, end_s; /* begin > end: it has no task */
} Span;

static Span *
find_spans(const RaTaskGraph *graph, const RaSimResult *result)
{
  const RaAugmented *augmented = graph->augmented;
  gsize n_calls = augmented->plan->workload->n_calls;
  gsize n_spans = augmented->n_iterations * n_calls;
  Span *spans = g_new(Span, n_spans);

  for (gsize s = 0; s < n_spans; s++)
    spans[s] = (Span){G_MAXDOUBLE, 0};
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    const RaNode *node = &augmented->nodes[graph->node[t]];
    Span *span = &spans[node->iteration * n_calls + node->call];

    if (node->kind != RA_NODE_CALL || graph->kind[t] == RA_TASK_JOIN)
      continue;
    span->begin_s = MIN(span->begin_s, result->begin_s[t]);
    span->end_s = MAX(span->end_s, result->end_s[t]);
  }
  return spans;
}

static void
fill_spans(RaBreakdown *breakdown, const RaTaskGraph *graph,
           const RaSimResult *result)
{
  g_autofree Span *spans = find_spans(graph, result);

  for (guint c = 0; c < breakdown->n_calls; c++) {
    RaCallShare *share = &breakdown->calls[c];
    uint32_t n = 0;

    for (uint32_t i = 0; i < breakdown->n_iterations; i++) {
      gsize iteration = breakdown->first_iteration + i;
      const Span *span = &spans[iteration * breakdown->n_calls + c];

      if (span->begin_s > span->end_s)
        continue;
      if (n++ == 0) {
        share->begin_s = span->begin_s;
        share->end_s = span->end_s;
      }
      share->wall_s += span->end_s - span->begin_s;
    }
    if (n > 0)
      share->wall_s /= n;
  }
}

static void
fill_gpu_s(RaBreakdown *breakdown, const RaAccount *account, double begin_s)
{
  RaAccountRest rest;
  g_autofree RaAccountShare *shares =
      ra_account_window(account, begin_s, begin_s + breakdown->window_s, &rest);
  double n_iterations = breakdown->n_iterations;

  for (guint c = 0; c < breakdown->n_calls; c++) {
    RaCallShare *call = &breakdown->calls[c];

    call->call = c;
    call->n_gpus = ra_account_call_n_gpus(account, c);
    call->compute_gpu_s = shares[c].compute_gpu_s / n_iterations;
    call->comm_gpu_s = shares[c].comm_gpu_s / n_iterations;
    call->host_gpu_s = shares[c].host_gpu_s / n_iterations;
    call->bubble_gpu_s = shares[c].bubble_gpu_s / n_iterations;
    call->interference_gpu_s = shares[c].interference_gpu_s / n_iterations;
  }
  breakdown->realloc_gpu_s = rest.realloc_gpu_s / n_iterations;
  breakdown->idle_gpu_s = rest.idle_gpu_s / n_iterations;
}

/* At call fidelity the tasks do not say what they compute; the expansion of
 * the call alone does, and it is the one that gave the task its duration. */
static RaFlopShare
count_call_alone(const RaTaskGraph *graph, uint32_t call)
{
  RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE,
                             .seed = graph->seed,
                             .fold = graph->is_folded,
                             .one_call = TRUE,
                             .call = call};
  g_autoptr(RaTaskGraph) alone =
      ra_expand_with(graph->augmented, &options, NULL);
  g_autofree RaFlopShare *shares = NULL;

  if (!alone)
    return (RaFlopShare){0, 0, 0};
  shares = ra_flop_count(alone, 0);
  return shares[call];
}

/* An iteration's FLOP and tokens of each call. */
static RaFlopShare *
count_iteration(const RaBreakdown *breakdown, const RaTaskGraph *graph)
{
  RaFlopShare *shares = ra_flop_count(graph, breakdown->first_iteration);

  for (guint c = 0; c < breakdown->n_calls; c++) {
    if (graph->fidelity == RA_FIDELITY_CALL) {
      shares[c] = count_call_alone(graph, c);
      continue;
    }
    shares[c].model_flop /= breakdown->n_iterations;
    shares[c].hardware_flop /= breakdown->n_iterations;
    shares[c].tokens /= breakdown->n_iterations;
  }
  return shares;
}

/* Tokens of the sequence sets that the train calls consume, of all calls'
 * sets where none trains; a set once. */
static double
count_tokens(const RaWorkload *workload, const RaFlopShare *shares)
{
  g_autofree gboolean *seen = g_new0(gboolean, workload->n_calls);
  gboolean trains = FALSE;
  double tokens = 0;

  for (guint c = 0; c < workload->n_calls; c++)
    trains |= workload->calls[c].kind == RA_CALL_TRAIN;
  for (guint c = 0; c < workload->n_calls; c++) {
    const RaCall *call = &workload->calls[c];

    if (call->kind == RA_CALL_HOST || (trains && call->kind != RA_CALL_TRAIN) ||
        seen[call->set])
      continue;
    seen[call->set] = TRUE;
    tokens += shares[c].tokens;
  }
  return tokens;
}

/* Price per hour of the GPUs that calls use. */
static double
kinds_usd_per_h(const RaTaskGraph *graph)
{
  const RaCluster *cluster = graph->augmented->plan->cluster;
  uint32_t n[RA_NODE_KINDS_MAX] = {0};

  for (uint32_t gpu = 0; gpu < ra_cluster_n_gpus(cluster); gpu++)
    if (graph->lane_of_gpu[gpu] != RA_NONE)
      n[ra_cluster_kind(cluster, gpu)]++;
  return ra_cluster_usd_per_h(cluster, n);
}

static double
device_peak_flop_per_s(const RaPlan *plan, uint32_t call,
                       const RaDevice *device)
{
  const RaWorkload *w = plan->workload;
  uint32_t model = w->calls[call].model;

  if (model != RA_NONE &&
      (plan->calls[call].fp8_gemms ||
       ra_call_plan_dtype(&plan->calls[call], &w->models[model]) ==
           RA_DTYPE_FP8) &&
      device->fp8_flop_per_s > 0)
    return device->fp8_flop_per_s;
  return device->bf16_flop_per_s;
}

/* Dense peak of the type that the call's GEMMs compute in, the mean of its
 * mesh's GPUs.  A device without fp8 units computes it in bf16; fp32 is meant
 * as TF32 or bf16 products with fp32 sums, so it is held against the bf16 peak
 * too. */
static double
call_peak_flop_per_s(const RaPlan *plan, uint32_t call)
{
  const RaCluster *cluster = plan->cluster;
  const RaMesh *mesh = &plan->calls[call].mesh;
  uint32_t n = ra_mesh_n_gpus(mesh);
  double sum = 0;

  if (!cluster->kinds)
    return device_peak_flop_per_s(plan, call, &cluster->device);
  for (uint32_t rank = 0; rank < n; rank++) {
    uint32_t kind = ra_cluster_kind(cluster, ra_mesh_gpu(mesh, cluster, rank));
    sum += device_peak_flop_per_s(plan, call, &cluster->kinds[kind].device);
  }
  return sum / n;
}

static void
fill_rates(RaBreakdown *breakdown, const RaTaskGraph *graph)
{
  const RaPlan *plan = graph->augmented->plan;
  g_autofree RaFlopShare *shares = count_iteration(breakdown, graph);
  double gpu_s = breakdown->n_gpus * breakdown->iteration_s;
  double flop = 0, at_peak_s = 0;

  for (guint c = 0; c < breakdown->n_calls; c++) {
    breakdown->calls[c].flop = shares[c].model_flop;
    breakdown->calls[c].hardware_flop = shares[c].hardware_flop;
    flop += shares[c].model_flop;
    if (shares[c].model_flop > 0)
      at_peak_s += shares[c].model_flop / call_peak_flop_per_s(plan, c);
  }
  breakdown->tokens = count_tokens(plan->workload, shares);
  if (gpu_s > 0) {
    breakdown->tokens_per_s = breakdown->tokens / breakdown->iteration_s;
    breakdown->flop_per_s_per_gpu = flop / gpu_s;
    breakdown->mfu_frac = isfinite(at_peak_s) ? at_peak_s / gpu_s : (double)NAN;
  }
  breakdown->usd = plan->cluster->kinds
                       ? kinds_usd_per_h(graph) * breakdown->iteration_s / 3600
                       : plan->cluster->usd_per_gpu_h * gpu_s / 3600;
}

RaBreakdown *
ra_breakdown_new(const RaSim *sim, const RaTaskGraph *graph)
{
  const RaSimResult *result = ra_sim_result(sim);
  const RaAugmented *augmented = graph->augmented;
  g_autoptr(RaAccount) account = NULL;
  RaBreakdown *breakdown;
  double begin_s = 0;

  g_return_val_if_fail(result, NULL);
  breakdown = g_new0(RaBreakdown, 1);
  breakdown->n_calls = augmented->plan->workload->n_calls;
  breakdown->calls = g_new0(RaCallShare, breakdown->n_calls);
  breakdown->n_iterations = augmented->n_iterations;
  if (augmented->n_iterations > 1) {
    breakdown->first_iteration = 1;
    breakdown->n_iterations--;
    begin_s = result->iteration_end_s[0];
  }
  breakdown->begin_s = begin_s;
  breakdown->window_s =
      MAX(result->iteration_end_s[augmented->n_iterations - 1] - begin_s, 0);
  breakdown->iteration_s = breakdown->window_s / breakdown->n_iterations;
  account = ra_account_new(sim, graph);
  breakdown->n_gpus = ra_account_n_gpus(account);
  fill_gpu_s(breakdown, account, begin_s);
  fill_spans(breakdown, graph, result);
  fill_rates(breakdown, graph);
  return breakdown;
}

void
ra_breakdown_free(RaBreakdown *breakdown)
{
  if (!breakdown)
    return;
  g_free(breakdown->calls);
  g_free(breakdown);
}
