/* Steps and causes of a critical path: the tasks of ra_critical_tasks(), joined
 * and charged, for tests that look at the path as a whole.
 *
 *     g_autoptr(CriticalPath) path = critical_path_new(sim, graph);
 *     ck_assert_double_eq(path->makespan_s, ra_sim_result(sim)->makespan_s);
 */
#ifndef RA_TESTS_SUPPORT_CRITICAL_PATH_H
#define RA_TESTS_SUPPORT_CRITICAL_PATH_H

#include "sim/breakdown.h"
#include "sim/task_class.h"

/* Step of the critical path: consecutive tasks of one call (or node) and cause.
 */
typedef struct {
  uint32_t node; /* augmented node; RA_NONE: waiting */
  uint8_t kind;  /* RaTaskKind */
  double begin_s, end_s;
  uint32_t n_tasks;
} PathStep;

typedef struct {
  PathStep *steps; /* (n_steps) in time order */
  guint n_steps;
  double compute_s, comm_s, host_s, bubble_s, realloc_s,
      interference_s; /* shares of the makespan */
  double makespan_s;
} CriticalPath;

/* Charges a task of the path, by its cause. */
static inline void
critical_path_charge(CriticalPath *path, const RaTaskGraph *graph,
                     RaTaskId task, const RaCost *cost, double added_s)
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
static inline void
critical_path_step(GArray *steps, const RaTaskGraph *graph,
                   const RaSimResult *result, RaTaskId task)
{
  PathStep *last =
      steps->len > 0 ? &g_array_index(steps, PathStep, steps->len - 1) : NULL;
  PathStep step = {.node = graph->node[task],
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

/* (transfer full): the path of @sim, which has run, in @graph. */
static inline CriticalPath *
critical_path_new(const RaSim *sim, const RaTaskGraph *graph)
{
  const RaSimResult *result = ra_sim_result(sim);
  const RaCost *costs = ra_sim_costs(sim);
  g_autofree RaTaskId *tasks = NULL;
  GArray *steps;
  CriticalPath *path;
  uint32_t n;

  g_return_val_if_fail(result, NULL);
  tasks = ra_critical_tasks(sim, graph, &n);
  path = g_new0(CriticalPath, 1);
  steps = g_array_new(FALSE, FALSE, sizeof(PathStep));
  for (uint32_t i = 0; i < n; i++) {
    critical_path_charge(path, graph, tasks[i], &costs[tasks[i]],
                         ra_sim_added_s(result, tasks[i]));
    critical_path_step(steps, graph, result, tasks[i]);
  }
  path->makespan_s = result->makespan_s;
  path->n_steps = steps->len;
  path->steps = (PathStep *)(void *)g_array_free(steps, FALSE);
  for (guint i = 0; i < path->n_steps / 2; i++) {
    PathStep swap = path->steps[i];

    path->steps[i] = path->steps[path->n_steps - 1 - i];
    path->steps[path->n_steps - 1 - i] = swap;
  }
  return path;
}

static inline void
critical_path_free(CriticalPath *path)
{
  if (!path)
    return;
  g_free(path->steps);
  g_free(path);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CriticalPath, critical_path_free)

#endif
