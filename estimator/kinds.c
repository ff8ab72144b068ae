/* Kinds of nodes of groups and dynamics, and costs on the slowest kind. */
#include "config.h"

#include "estimator/kinds.h"

uint32_t *
ra_group_kinds_new(const RaTaskGraph *graph)
{
  const RaCluster *cluster = graph->augmented->plan->cluster;
  g_autofree uint32_t *of_lane = g_new0(uint32_t, MAX(graph->n_lanes, 1u));
  uint32_t *kinds = g_new0(uint32_t, graph->n_groups);

  for (uint32_t gpu = 0; gpu < ra_cluster_n_gpus(cluster); gpu++)
    if (graph->lane_of_gpu[gpu] != RA_NONE)
      of_lane[graph->lane_of_gpu[gpu]] |= 1u << ra_cluster_kind(cluster, gpu);
  for (uint32_t g = 0; g < graph->n_groups; g++)
    for (uint32_t i = graph->group_begin[g]; i < graph->group_begin[g + 1]; i++)
      kinds[g] |= of_lane[graph->group_lane[i]];
  return kinds;
}

static uint32_t
stage_kinds(const RaPlan *plan, const RaCallPlan *call, uint32_t replica,
            uint32_t stage)
{
  uint32_t kinds = 0;

  for (uint32_t tp = 0; tp < call->tp; tp++) {
    RaCoord coord = {
        .at = {
            [RA_AXIS_TP] = tp, [RA_AXIS_DP] = replica, [RA_AXIS_PP] = stage}};
    uint32_t rank = ra_call_plan_rank(call, &coord);

    kinds |= 1u << ra_cluster_kind(
                 plan->cluster, ra_mesh_gpu(&call->mesh, plan->cluster, rank));
  }
  return kinds;
}

uint32_t *
ra_dynamic_kinds_new(const RaTaskGraph *graph, uint32_t **out_begin)
{
  const RaAugmented *augmented = graph->augmented;
  uint32_t *begin = g_new(uint32_t, graph->n_dynamics + 1), *kinds, n = 0;

  for (uint32_t d = 0; d < graph->n_dynamics; d++) {
    begin[d] = n;
    n += graph->dynamics[d].n_stages;
  }
  begin[graph->n_dynamics] = n;
  kinds = g_new0(uint32_t, MAX(n, 1u));
  for (RaTaskId t = 0; graph->dynamic && t < graph->n_tasks; t++) {
    uint32_t d = graph->dynamic[t];
    const RaCallPlan *call;

    if (d == RA_NONE || kinds[begin[d]] != 0)
      continue;
    call = &augmented->plan->calls[augmented->nodes[graph->node[t]].call];
    for (uint32_t s = 0; s < graph->dynamics[d].n_stages; s++)
      kinds[begin[d] + s] =
          stage_kinds(augmented->plan, call,
                      graph->replica[t] == RA_NONE ? 0 : graph->replica[t], s);
  }
  *out_begin = begin;
  return kinds;
}

void
ra_kinds_work(const RaEstimator *estimator, const RaTaskGraph *graph,
              uint32_t work, uint32_t kinds, RaCost *out_cost)
{
  guint n = 0;

  for (guint k = 0; k < ra_estimator_n_kinds(estimator); k++) {
    RaCost cost;

    if (!(kinds >> k & 1))
      continue;
    ra_estimator_work(ra_estimator_kind(estimator, k), graph, work, &cost);
    if (n++ == 0 || cost.total_s > out_cost->total_s)
      *out_cost = cost;
  }
  if (n == 0)
    ra_estimator_work(estimator, graph, work, out_cost);
}

void
ra_kinds_decode_line(const RaEstimator *estimator, const RaShard *shard,
                     const RaPiece *piece, uint32_t kinds, uint32_t n_sequences,
                     uint64_t kv_tokens, RaDecodeLine *out_line)
{
  uint64_t until_tokens = UINT64_MAX;
  double most_s = -1;

  for (guint k = 0; k < ra_estimator_n_kinds(estimator); k++) {
    RaDecodeLine line;
    double step_s;

    if (kinds != 0 && !(kinds >> k & 1))
      continue;
    ra_estimator_decode_line(ra_estimator_kind(estimator, k), shard, piece,
                             n_sequences, kv_tokens, &line);
    until_tokens = MIN(until_tokens, line.until_tokens);
    step_s = ra_decode_line_cost(&line, n_sequences, kv_tokens, 1).total_s;
    if (step_s > most_s) {
      most_s = step_s;
      *out_line = line;
    }
  }
  out_line->until_tokens = until_tokens;
}
