/* Critical path of a run: its tasks, and its steps by cause. */
#include "config.h"

#include "sim/breakdown.h"
#include "sim/task_class.h"

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

/* Charges a task of the path, by its cause. */
static void
add_task(RaCriticalPath *path, const RaTaskGraph *graph, RaTaskId task,
         const RaCost *cost, double added_s)
{
  double causes_s = cost->compute_s + cost->comm_s + cost->host_s;

  switch (ra_task_class(graph->kind[task])) {
  case RA_TASK_CLASS_MOVE:
    path->realloc_s += cost->total_s + added_s;
    break;
  case RA_TASK_CLASS_COMM:
    path->comm_s += cost->total_s + added_s;
    break;
  case RA_TASK_CLASS_HOST:
    path->host_s += cost->total_s;
    break;
  default:
    path->compute_s += cost->compute_s;
    path->comm_s += cost->comm_s;
    path->host_s += cost->host_s;
    path->bubble_s += MAX(cost->total_s - causes_s, 0);
    path->interference_s += added_s;
  }
}

/* Appends the task to the last step, or as a new one.  Walking backwards, so
 * it ends where that begins. */
static void
add_step(GArray *steps, const RaTaskGraph *graph, const RaSimResult *result,
         RaTaskId task)
{
  RaPathStep *last =
      steps->len > 0 ? &g_array_index(steps, RaPathStep, steps->len - 1) : NULL;
  RaPathStep step = {.node = graph->node[task],
                     .kind = graph->kind[task],
                     .begin_s = result->begin_s[task],
                     .end_s = result->end_s[task],
                     .n_tasks = 1};

  if (last && last->node == step.node && last->kind == step.kind) {
    last->begin_s = step.begin_s;
    last->n_tasks++;
  } else {
    g_array_append_val(steps, step);
  }
}

static void
reverse(RaPathStep *steps, guint n)
{
  for (guint i = 0; i < n / 2; i++) {
    RaPathStep swap = steps[i];

    steps[i] = steps[n - 1 - i];
    steps[n - 1 - i] = swap;
  }
}

RaCriticalPath *
ra_critical_path_new(const RaSim *sim, const RaTaskGraph *graph)
{
  const RaSimResult *result = ra_sim_result(sim);
  const RaCost *costs = ra_sim_costs(sim);
  g_autofree RaTaskId *tasks = NULL;
  GArray *steps;
  RaCriticalPath *path;
  uint32_t n;

  g_return_val_if_fail(result, NULL);
  tasks = ra_critical_tasks(sim, graph, &n);
  path = g_new0(RaCriticalPath, 1);
  steps = g_array_new(FALSE, FALSE, sizeof(RaPathStep));
  for (uint32_t i = 0; i < n; i++) {
    add_task(path, graph, tasks[i], &costs[tasks[i]],
             ra_sim_added_s(result, tasks[i]));
    add_step(steps, graph, result, tasks[i]);
  }
  path->makespan_s = result->makespan_s;
  path->n_steps = steps->len;
  path->steps = (RaPathStep *)(void *)g_array_free(steps, FALSE);
  reverse(path->steps, path->n_steps);
  return path;
}

void
ra_critical_path_free(RaCriticalPath *path)
{
  if (!path)
    return;
  g_free(path->steps);
  g_free(path);
}
