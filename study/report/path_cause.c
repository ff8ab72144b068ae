/* Critical path by call, kind of task and cause. */
#include "config.h"

#include "sim/breakdown.h"
#include "sim/task_class.h"
#include "study/report/path_cause.h"

static RaPathRow *
find_row(GArray *rows, const RaTaskGraph *graph, RaTaskId task)
{
  const RaNode *node = &graph->augmented->nodes[graph->node[task]];
  RaPathRow row = {.node_kind = node->kind,
                   .task_kind = graph->kind[task],
                   .call = node->call};

  for (guint i = 0; i < rows->len; i++) {
    RaPathRow *at = &g_array_index(rows, RaPathRow, i);

    if (at->node_kind == row.node_kind && at->task_kind == row.task_kind &&
        at->call == row.call)
      return at;
  }
  g_array_append_val(rows, row);
  return &g_array_index(rows, RaPathRow, rows->len - 1);
}

static void
charge(RaPathRow *row, const RaCost *cost, double added_s)
{
  double wall_s = cost->total_s + added_s;

  row->n_tasks++;
  row->total_s += wall_s;
  switch (ra_task_class(row->task_kind)) {
  case RA_TASK_CLASS_MOVE:
    break;
  case RA_TASK_CLASS_COMM:
    row->comm_s += wall_s;
    break;
  case RA_TASK_CLASS_HOST:
    row->host_s += wall_s;
    break;
  default:
    row->compute_s += cost->compute_s;
    row->comm_s += cost->comm_s;
    row->host_s += cost->host_s;
    row->interference_s += added_s;
  }
}

static int
compare_rows(gconstpointer a, gconstpointer b)
{
  const RaPathRow *row_a = a, *row_b = b;

  return (row_a->total_s < row_b->total_s) - (row_a->total_s > row_b->total_s);
}

GArray *
ra_critical_path_rows(const RaTaskGraph *graph, const RaSim *sim)
{
  const RaCost *costs = ra_sim_costs(sim);
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(RaPathRow));
  uint32_t n;
  g_autofree RaTaskId *tasks = ra_critical_tasks(sim, graph, &n);

  for (uint32_t i = 0; i < n; i++) {
    if (costs[tasks[i]].total_s > 0)
      charge(find_row(rows, graph, tasks[i]), &costs[tasks[i]],
             ra_sim_added_s(ra_sim_result(sim), tasks[i]));
  }
  g_array_sort(rows, compare_rows);
  return rows;
}
