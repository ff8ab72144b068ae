#include "config.h"

#include "sim/breakdown.h"
#include "sim/task_class.h"

/* Charges a task of the path, by its cause. */
static void
add_task(RaCriticalPath *path, const RaTaskGraph *graph, RaTaskId task,
         const RaCost *cost)
{
  double causes_s = cost->compute_s + cost->comm_s + cost->host_s;

  switch (ra_task_class(graph->kind[task])) {
  case RA_TASK_CLASS_MOVE:
    path->realloc_s += cost->total_s;
    break;
  case RA_TASK_CLASS_COMM:
    path->comm_s += cost->total_s;
    break;
  case RA_TASK_CLASS_HOST:
    path->host_s += cost->total_s;
    break;
  default:
    path->compute_s += cost->compute_s;
    path->comm_s += cost->comm_s;
    path->host_s += cost->host_s;
    path->bubble_s += MAX(cost->total_s - causes_s, 0);
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
  GArray *steps;
  RaCriticalPath *path;
  RaTaskId last = RA_NONE;

  g_return_val_if_fail(result, NULL);
  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (last == RA_NONE || result->end_s[t] > result->end_s[last])
      last = t;
  path = g_new0(RaCriticalPath, 1);
  steps = g_array_new(FALSE, FALSE, sizeof(RaPathStep));
  for (RaTaskId t = last; t != RA_NONE; t = result->critical_pred[t]) {
    add_task(path, graph, t, &costs[t]);
    add_step(steps, graph, result, t);
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
