/* Critical path of a run: its tasks. */
#include "config.h"

#include "sim/breakdown.h"

/* Tasks that may be next on the path: all paths that are first so far. */
typedef struct {
  const RaTaskGraph *graph;
  const RaSimResult *result;
  const RaCost *costs;
  uint32_t *pred_begin; /* (n_tasks + 1) CSR into pred */
  RaTaskId *pred;       /* that end when the task begins */
  uint32_t *seen;       /* (n_tasks) last step at which it was considered */
  GArray *front;        /* (RaTaskId) alike */
  GArray *next;         /* (RaTaskId) scratch */
} Walk;

static int
compare_numbers(double a, double b)
{
  return (a > b) - (a < b);
}

/* 0: alike, whichever replica does it. */
static int
compare_tasks(const Walk *walk, RaTaskId a, RaTaskId b)
{
  const RaTaskGraph *g = walk->graph;
  const RaCost *x = &walk->costs[a], *y = &walk->costs[b];
  const int64_t whole[] = {
      (int64_t)g->node[a] - g->node[b], g->mini_batch[a] - g->mini_batch[b],
      g->kind[a] - g->kind[b],          g->stage[a] - g->stage[b],
      g->stream[a] - g->stream[b],      g->micro_batch[a] - g->micro_batch[b],
      g->bucket[a] - g->bucket[b]};
  const int real[] = {
      compare_numbers(walk->result->begin_s[a], walk->result->begin_s[b]),
      compare_numbers(x->total_s, y->total_s),
      compare_numbers(x->compute_s, y->compute_s),
      compare_numbers(x->comm_s, y->comm_s),
      compare_numbers(x->host_s, y->host_s)};

  for (guint i = 0; i < G_N_ELEMENTS(whole); i++)
    if (whole[i] != 0)
      return whole[i] < 0 ? -1 : 1;
  for (guint i = 0; i < G_N_ELEMENTS(real); i++)
    if (real[i] != 0)
      return real[i];
  return 0;
}

/* Keeps @task if none so far is before it. */
static void
offer(Walk *walk, GArray *front, RaTaskId task)
{
  int order = 0;

  if (front->len > 0)
    order = compare_tasks(walk, task, g_array_index(front, RaTaskId, 0));
  if (order < 0)
    g_array_set_size(front, 0);
  if (order <= 0)
    g_array_append_val(front, task);
}

/* The edges along which nothing waits, by their ends. */
static void
list_preds(Walk *walk)
{
  const RaTaskGraph *g = walk->graph;
  const RaSimResult *r = walk->result;
  uint32_t *begin = g_new0(uint32_t, (gsize)g->n_tasks + 2);

  for (RaTaskId t = 0; t < g->n_tasks; t++)
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      begin[g->succ[e] + 2] += r->end_s[t] == r->begin_s[g->succ[e]];
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    begin[t + 2] += begin[t + 1];
  walk->pred = g_new(RaTaskId, MAX(begin[g->n_tasks + 1], 1u));
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      if (r->end_s[t] == r->begin_s[g->succ[e]])
        walk->pred[begin[g->succ[e] + 1]++] = t;
  walk->pred_begin = begin;
}

/* From the tasks in front to what they waited for; FALSE: for nothing. */
static gboolean
step_back(Walk *walk, uint32_t step)
{
  GArray *swap = walk->front;

  g_array_set_size(walk->next, 0);
  for (guint i = 0; i < walk->front->len; i++) {
    RaTaskId t = g_array_index(walk->front, RaTaskId, i);

    for (uint32_t e = walk->pred_begin[t]; e < walk->pred_begin[t + 1]; e++) {
      if (walk->seen[walk->pred[e]] == step)
        continue;
      walk->seen[walk->pred[e]] = step;
      offer(walk, walk->next, walk->pred[e]);
    }
  }
  walk->front = walk->next;
  walk->next = swap;
  return walk->front->len > 0;
}

RaTaskId *
ra_critical_tasks(const RaSim *sim, const RaTaskGraph *graph, uint32_t *out_n)
{
  Walk walk = {
      .graph = graph, .result = ra_sim_result(sim), .costs = ra_sim_costs(sim)};
  GArray *tasks = g_array_new(FALSE, FALSE, sizeof(RaTaskId));

  list_preds(&walk);
  walk.seen = g_new0(uint32_t, MAX(graph->n_tasks, 1u));
  walk.front = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  walk.next = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (walk.result->end_s[t] == walk.result->makespan_s)
      offer(&walk, walk.front, t);
  while (walk.front->len > 0) {
    g_array_append_val(tasks, g_array_index(walk.front, RaTaskId, 0));
    if (!step_back(&walk, tasks->len))
      break;
  }
  g_free(walk.pred_begin);
  g_free(walk.pred);
  g_free(walk.seen);
  g_array_unref(walk.front);
  g_array_unref(walk.next);
  *out_n = tasks->len;
  return (RaTaskId *)(void *)g_array_free(tasks, FALSE);
}
