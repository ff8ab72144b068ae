/* Causes of idle time, followed back along chains of tasks. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sim/waiting.h"

/* A task and when it began. */
typedef struct {
  double begin_s;
  RaTaskId task;
} Start;

typedef struct {
  const RaTaskGraph *graph;  /* borrowed */
  const RaSimResult *result; /* borrowed */
  uint32_t *lane_begin;      /* (n_lanes + 1) CSR into lane_task */
  RaTaskId *lane_task;       /* by begin, lane by lane */
  uint32_t *group_of;        /* (n_lanes) RA_NONE: nothing runs there */
  guint n_groups;
  GArray *rows; /* RaWaitingRow */
} Sweep;

static int
compare_starts(const void *a, const void *b)
{
  const Start *x = a, *y = b;

  if (x->begin_s != y->begin_s)
    return x->begin_s < y->begin_s ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

static void
list_lanes(Sweep *s)
{
  const RaTaskGraph *g = s->graph;
  g_autofree Start *starts = g_new(Start, MAX(g->n_tasks, 1u));
  g_autofree uint32_t *next = NULL;

  s->lane_begin = g_new0(uint32_t, (gsize)g->n_lanes + 1);
  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    starts[t] = (Start){s->result->begin_s[t], t};
    for (uint32_t i = g->group_begin[g->group[t]];
         i < g->group_begin[g->group[t] + 1]; i++)
      s->lane_begin[g->group_lane[i] + 1]++;
  }
  for (uint32_t lane = 0; lane < g->n_lanes; lane++)
    s->lane_begin[lane + 1] += s->lane_begin[lane];
  qsort(starts, g->n_tasks, sizeof *starts, compare_starts);
  next = g_memdup2(s->lane_begin, ((gsize)g->n_lanes + 1) * sizeof *next);
  s->lane_task = g_new(RaTaskId, MAX(s->lane_begin[g->n_lanes], 1u));
  for (uint32_t k = 0; k < g->n_tasks; k++) {
    uint32_t group = g->group[starts[k].task];

    for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++)
      s->lane_task[next[g->group_lane[i]]++] = starts[k].task;
  }
}

/* Lanes that the same calls run on. */
static void
group_lanes(Sweep *s)
{
  const RaTaskGraph *g = s->graph;
  uint32_t n_calls = g->augmented->plan->workload->n_calls;
  g_autofree char *runs = g_new(char, (gsize)n_calls + 1);
  g_autoptr(GHashTable) groups =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  s->group_of = g_new(uint32_t, MAX(g->n_lanes, 1u));
  for (uint32_t lane = 0; lane < g->n_lanes; lane++) {
    void *group;

    memset(runs, '0', n_calls);
    runs[n_calls] = '\0';
    s->group_of[lane] = RA_NONE;
    if (s->lane_begin[lane] == s->lane_begin[lane + 1])
      continue;
    for (uint32_t i = s->lane_begin[lane]; i < s->lane_begin[lane + 1]; i++) {
      const RaNode *node = &g->augmented->nodes[g->node[s->lane_task[i]]];

      if (node->kind == RA_NODE_CALL)
        runs[node->call] = '1';
    }
    if (!g_hash_table_lookup_extended(groups, runs, NULL, &group)) {
      group = GUINT_TO_POINTER(s->n_groups++);
      g_hash_table_insert(groups, g_strdup(runs), group);
    }
    s->group_of[lane] = GPOINTER_TO_UINT(group);
  }
}

static void
charge(Sweep *s, uint32_t lane, RaTaskId task, double waited_s)
{
  const RaTaskGraph *g = s->graph;
  RaWaitingRow row = {.group = s->group_of[lane],
                      .call = RA_NONE,
                      .gpu_s = waited_s * g->lanes[lane].n_gpus};

  if (!(waited_s > 0))
    return;
  if (task != RA_NONE) {
    const RaNode *node = &g->augmented->nodes[g->node[task]];

    row.call = node->call;
    row.node_kind = node->kind;
    row.task_kind = g->kind[task];
  }
  for (guint i = 0; i < s->rows->len; i++) {
    RaWaitingRow *at = &g_array_index(s->rows, RaWaitingRow, i);

    if (at->group == row.group && at->call == row.call &&
        at->node_kind == row.node_kind && at->task_kind == row.task_kind) {
      at->gpu_s += row.gpu_s;
      return;
    }
  }
  g_array_append_val(s->rows, row);
}

/* From @begin_s until @task began the lane had nothing to do. */
static void
charge_gap(Sweep *s, uint32_t lane, double begin_s, RaTaskId task)
{
  const RaSimResult *r = s->result;
  double until_s = r->begin_s[task];

  for (RaTaskId on = r->critical_pred[task]; until_s > begin_s;
       on = r->critical_pred[on]) {
    double from_s;

    if (on == RA_NONE) { /* nothing to wait for and yet not begun: never */
      charge(s, lane, RA_NONE, until_s - begin_s);
      return;
    }
    from_s = MAX(r->begin_s[on], begin_s);
    charge(s, lane, on, until_s - from_s);
    until_s = MIN(until_s, from_s);
  }
}

static void
sweep_lane(Sweep *s, uint32_t lane)
{
  double cursor_s = 0;

  for (uint32_t i = s->lane_begin[lane]; i < s->lane_begin[lane + 1]; i++) {
    RaTaskId task = s->lane_task[i];

    if (s->result->begin_s[task] > cursor_s)
      charge_gap(s, lane, cursor_s, task);
    cursor_s = MAX(cursor_s, s->result->end_s[task]);
  }
  charge(s, lane, RA_NONE, s->result->makespan_s - cursor_s);
}

static int
compare_rows(const void *a, const void *b)
{
  const RaWaitingRow *x = a, *y = b;

  if (x->group != y->group)
    return x->group < y->group ? -1 : 1;
  if (x->gpu_s != y->gpu_s)
    return x->gpu_s > y->gpu_s ? -1 : 1;
  if (x->call != y->call)
    return x->call < y->call ? -1 : 1;
  return (x->task_kind > y->task_kind) - (x->task_kind < y->task_kind);
}

/* "0-7,16-23": the GPUs of the group's lanes. */
static char *
gpus_of(const Sweep *s, uint32_t group, uint32_t *out_n)
{
  const RaTaskGraph *g = s->graph;
  uint32_t n = ra_cluster_n_gpus(g->augmented->plan->cluster);
  g_autofree guint8 *in = g_new0(guint8, n);

  *out_n = 0;
  for (uint32_t gpu = 0; gpu < n; gpu++) {
    uint32_t lane = g->lane_of_gpu[gpu];

    in[gpu] = lane != RA_NONE && s->group_of[lane] == group;
    *out_n += in[gpu];
  }
  return ra_text_ranges(in, n);
}

static RaWaiting *
finish(const Sweep *s)
{
  RaWaiting *w = g_new0(RaWaiting, 1);

  w->makespan_s = s->result->makespan_s;
  w->n_groups = s->n_groups;
  w->gpus = g_new0(char *, (gsize)s->n_groups + 1);
  w->idle_gpu_s = g_new0(double, (gsize)s->n_groups + 1);
  w->n_gpus = g_new0(uint32_t, (gsize)s->n_groups + 1);
  for (uint32_t group = 0; group < s->n_groups; group++)
    w->gpus[group] = gpus_of(s, group, &w->n_gpus[group]);
  g_array_sort(s->rows, compare_rows);
  w->n = s->rows->len;
  w->rows = g_memdup2(s->rows->data, w->n * sizeof *w->rows);
  for (guint i = 0; i < w->n; i++)
    w->idle_gpu_s[w->rows[i].group] += w->rows[i].gpu_s;
  return w;
}

RaWaiting *
ra_waiting_new(const RaSim *sim, const RaTaskGraph *graph)
{
  Sweep sweep = {.graph = graph, .result = ra_sim_result(sim)};
  RaWaiting *waiting;

  g_return_val_if_fail(sweep.result, NULL);
  sweep.rows = g_array_new(FALSE, FALSE, sizeof(RaWaitingRow));
  list_lanes(&sweep);
  group_lanes(&sweep);
  for (uint32_t lane = 0; lane < graph->n_lanes; lane++)
    if (sweep.group_of[lane] != RA_NONE)
      sweep_lane(&sweep, lane);
  waiting = finish(&sweep);
  g_free(sweep.lane_begin);
  g_free(sweep.lane_task);
  g_free(sweep.group_of);
  g_array_unref(sweep.rows);
  return waiting;
}

void
ra_waiting_free(RaWaiting *waiting)
{
  if (!waiting)
    return;
  g_free(waiting->rows);
  g_strfreev(waiting->gpus);
  g_free(waiting->idle_gpu_s);
  g_free(waiting->n_gpus);
  g_free(waiting);
}
