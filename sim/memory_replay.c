/* Replay of the memory table along a run: peaks and changes. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory_replay.h"

/* A task begins, comes along or ends on a lane. */
typedef struct {
  double time_s;
  int64_t bytes; /* of all holders together */
  int64_t firm;  /* of these, of firm holders (ra_memory_is_firm()) */
  RaTaskId task;
  uint16_t step;      /* of its duration, 0 to RA_MEMORY_STEPS */
  uint16_t frees_now; /* the end of a task with a duration */
} Moment;

/* Tasks that change memory, by lane. */
typedef struct {
  uint32_t *begin; /* (n_lanes + 1) CSR */
  RaTaskId *tasks; /* ascending in a lane */
} LaneTasks;

static gboolean
has_effect(const RaMemoryTable *table, RaTaskId t)
{
  return table->effect[t] != RA_NONE;
}

/* Calls @visit for every (lane, task) that changes memory. */
#define FOR_LANES_OF(graph, task, i)                                           \
  for (uint32_t i = (graph)->group_begin[(graph)->group[task]];                \
       i < (graph)->group_begin[(graph)->group[task] + 1]; i++)

static void
lane_tasks_init(LaneTasks *lists, const RaMemoryTable *table)
{
  const RaTaskGraph *g = table->graph;
  g_autofree uint32_t *at = NULL;

  lists->begin = g_new0(uint32_t, (gsize)g->n_lanes + 1);
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    if (has_effect(table, t))
      FOR_LANES_OF(g, t, i)
  lists->begin[g->group_lane[i] + 1]++;
  for (uint32_t l = 0; l < g->n_lanes; l++)
    lists->begin[l + 1] += lists->begin[l];
  lists->tasks = g_new(RaTaskId, MAX(lists->begin[g->n_lanes], 1u));
  at = g_memdup2(lists->begin, ((gsize)g->n_lanes + 1) * sizeof *at);
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    if (has_effect(table, t))
      FOR_LANES_OF(g, t, i)
  lists->tasks[at[g->group_lane[i]]++] = t;
}

static void
lane_tasks_clear(LaneTasks *lists)
{
  g_free(lists->begin);
  g_free(lists->tasks);
}

static gboolean
is_firm(const RaMemoryTable *table, uint32_t holder)
{
  return ra_memory_is_firm(table->memory, holder);
}

/* Appends the moments of @task on a lane; @changes are those of the task on it,
 * in order of their steps. */
static void
add_moments(GArray *moments, const RaSimResult *result,
            const RaMemoryTable *table, RaTaskId task,
            const RaMemoryChange *changes, uint32_t n_changes)
{
  double begin_s = result->begin_s[task], end_s = result->end_s[task];
  const RaMemoryEffect *e =
      has_effect(table, task) ? &table->effects[table->effect[task]] : NULL;
  uint32_t i = 0;

  for (uint32_t step = 0; step <= RA_MEMORY_STEPS; step++) {
    Moment m = {begin_s, 0, 0, task, (uint16_t)step, FALSE};
    gboolean inner = step > 0 && step < RA_MEMORY_STEPS;
    if (inner && (i == n_changes || changes[i].step != step))
      continue;
    if (inner)
      m.time_s += (end_s - begin_s) * step / RA_MEMORY_STEPS;
    if (step == RA_MEMORY_STEPS) {
      m.time_s = end_s;
      m.frees_now = end_s > begin_s;
    }
    if (e && step == 0)
      m.bytes = (int64_t)(e->take_bytes + e->work_bytes);
    if (e && step == RA_MEMORY_STEPS)
      m.bytes = -(int64_t)(e->work_bytes + e->drop_bytes);
    if (e && is_firm(table, ra_holder((RaHold)e->work_hold, e->call)))
      m.firm = m.bytes; /* of a generate call, which keeps no activations */
    for (; i < n_changes && changes[i].step == step; i++) {
      m.bytes += changes[i].bytes;
      m.firm += is_firm(table, changes[i].holder) ? changes[i].bytes : 0;
    }
    g_array_append_val(moments, m);
  }
}

/* At one time: ends, then what begins; a task without duration begins and ends
 * before tasks of greater ids begin. */
static gboolean
is_before(const Moment *a, const Moment *b)
{
  if (a->time_s < b->time_s || b->time_s < a->time_s)
    return a->time_s < b->time_s;
  if (a->frees_now != b->frees_now)
    return a->frees_now;
  return a->task < b->task;
}

/* Stable; a lane's tasks run nearly in the order of their ids, only
 * reallocations beside calls are out of it, so this takes linear time. */
static void
insertion_sort(Moment *moments, guint n)
{
  for (guint i = 1; i < n; i++) {
    Moment moment = moments[i];
    guint k = i;
    for (; k > 0 && is_before(&moment, &moments[k - 1]); k--)
      moments[k] = moments[k - 1];
    moments[k] = moment;
  }
}

/* All moments of @lane in order, in place of what @moments held. */
static void
lane_moments(const RaSimResult *result, const RaMemoryTable *table,
             const LaneTasks *lists, uint32_t lane, GArray *moments)
{
  uint32_t i = lists->begin[lane], i_end = lists->begin[lane + 1];
  uint32_t k = table->change_begin[lane], k_end = table->change_begin[lane + 1];

  g_array_set_size(moments, 0);
  while (i < i_end || k < k_end) {
    RaTaskId task = i < i_end ? lists->tasks[i] : RA_NONE;
    uint32_t first = k;
    if (k < k_end && table->changes[k].task < task)
      task = table->changes[k].task;
    while (k < k_end && table->changes[k].task == task)
      k++;
    i += i < i_end && lists->tasks[i] == task;
    add_moments(moments, result, table, task, &table->changes[first],
                k - first);
  }
  insertion_sort((Moment *)(gpointer)moments->data, moments->len);
}

/* Follows one lane; returns how often it held less than nothing. */
static uint32_t
follow_lane(const RaMemoryTable *table, const uint64_t *base,
            const GArray *moments, RaLanePeak *out)
{
  const RaMemory *memory = table->memory;
  int64_t now = (int64_t)ra_memory_sum(base, ra_memory_n_holders(memory));
  int64_t firm = (int64_t)ra_memory_firm_sum(memory, base);
  double most = ra_memory_weighed(memory, (double)now, (double)firm);
  uint32_t n_negative = 0;

  *out = (RaLanePeak){.task = RA_NONE};
  for (guint i = 0; i < moments->len; i++) {
    const Moment *m = &g_array_index(moments, Moment, i);
    double weighed;

    now += m->bytes;
    firm += m->firm;
    n_negative += now < 0;
    weighed = ra_memory_weighed(memory, (double)now, (double)firm);
    if (weighed <= most)
      continue;
    most = weighed;
    out->peak_s = m->time_s;
    out->task = m->task;
  }
  out->peak_bytes = ra_memory_total(memory, most);
  out->end_bytes = (uint64_t)MAX(now, 0);
  return n_negative;
}

/* (transfer full): the memory of the smallest GPU of each lane; @out_most: of
 * the largest of the cluster. */
static double *
lane_capacities(const RaTaskGraph *graph, double *out_most)
{
  const RaCluster *cluster = graph->augmented->plan->cluster;
  double *capacity = g_new(double, MAX(graph->n_lanes, 1u));

  *out_most = cluster->device.memory_bytes;
  for (uint32_t k = 0; k < cluster->n_kinds; k++) {
    double bytes = ra_cluster_memory_bytes(cluster, 1u << k);
    *out_most = MAX(*out_most, bytes);
  }
  for (uint32_t l = 0; l < graph->n_lanes; l++)
    capacity[l] = (double)INFINITY;
  for (uint32_t gpu = 0; gpu < ra_cluster_n_gpus(cluster); gpu++) {
    uint32_t l = graph->lane_of_gpu[gpu];
    double bytes =
        ra_cluster_memory_bytes(cluster, 1u << ra_cluster_kind(cluster, gpu));

    if (l != RA_NONE)
      capacity[l] = MIN(capacity[l], bytes);
  }
  return capacity;
}

RaMemoryReplay *
ra_memory_replay_new(const RaSim *sim, const RaMemoryTable *table)
{
  const RaSimResult *result = ra_sim_result(sim);
  uint32_t n_lanes = table->graph->n_lanes;
  uint32_t n_holders = ra_memory_n_holders(table->memory);
  RaMemoryReplay *replay = g_new0(RaMemoryReplay, 1);
  g_autoptr(GArray) moments = g_array_new(FALSE, FALSE, sizeof(Moment));
  g_autofree uint64_t *base = g_new(uint64_t, MAX(n_holders, 1u));
  double most_capacity, fullest_bytes = -1;
  g_autofree double *capacity = lane_capacities(table->graph, &most_capacity);
  LaneTasks lists;

  lane_tasks_init(&lists, table);
  replay->capacity_bytes =
      table->graph->augmented->plan->cluster->device.memory_bytes;
  replay->lanes = g_new0(RaLanePeak, MAX(n_lanes, 1u));
  replay->n_lanes = n_lanes;
  replay->fullest = RA_NONE;
  for (uint32_t l = 0; l < n_lanes; l++) {
    double held_bytes;

    ra_memory_table_base(table, l, base);
    lane_moments(result, table, &lists, l, moments);
    replay->n_negative += follow_lane(table, base, moments, &replay->lanes[l]);
    /* Capacity below that of the largest GPU counts as if it were held. */
    held_bytes = replay->lanes[l].peak_bytes + (most_capacity - capacity[l]);
    if (held_bytes > fullest_bytes) {
      replay->fullest = l;
      replay->capacity_bytes = capacity[l];
      fullest_bytes = held_bytes;
    }
  }
  lane_tasks_clear(&lists);
  return replay;
}

void
ra_memory_replay_free(RaMemoryReplay *replay)
{
  if (!replay)
    return;
  g_free(replay->lanes);
  g_free(replay);
}

static void
add_event(GArray *events, const Moment *m, uint32_t holder, int64_t bytes)
{
  RaMemoryEvent event = {m->time_s, m->task, holder, bytes};

  if (bytes != 0)
    g_array_append_val(events, event);
}

/* One moment, holder by holder. */
static void
add_events(GArray *events, const RaMemoryTable *table, uint32_t lane,
           const Moment *m)
{
  gboolean at_end = m->step == RA_MEMORY_STEPS;

  if (has_effect(table, m->task) && (at_end || m->step == 0)) {
    const RaMemoryEffect *e = &table->effects[table->effect[m->task]];
    uint32_t kept = ra_holder((RaHold)e->hold, e->call);
    uint32_t work = ra_holder((RaHold)e->work_hold, e->call);
    add_event(events, m, work,
              at_end ? -(int64_t)e->work_bytes : (int64_t)e->work_bytes);
    add_event(events, m, kept,
              at_end ? -(int64_t)e->drop_bytes : (int64_t)e->take_bytes);
  }
  for (uint32_t k = table->change_begin[lane];
       k < table->change_begin[lane + 1] && table->changes[k].task <= m->task;
       k++)
    if (table->changes[k].task == m->task && table->changes[k].step == m->step)
      add_event(events, m, table->changes[k].holder, table->changes[k].bytes);
}

GArray *
ra_memory_replay_events(const RaSim *sim, const RaMemoryTable *table,
                        uint32_t lane)
{
  g_autoptr(GArray) moments = g_array_new(FALSE, FALSE, sizeof(Moment));
  GArray *events = g_array_new(FALSE, FALSE, sizeof(RaMemoryEvent));
  LaneTasks lists;

  g_return_val_if_fail(lane < table->graph->n_lanes, events);
  lane_tasks_init(&lists, table);
  lane_moments(ra_sim_result(sim), table, &lists, lane, moments);
  for (guint i = 0; i < moments->len; i++)
    add_events(events, table, lane, &g_array_index(moments, Moment, i));
  lane_tasks_clear(&lists);
  return events;
}

static double
weighed_sum(const RaMemory *memory, const uint64_t *bytes)
{
  return ra_memory_weighed(
      memory, (double)ra_memory_sum(bytes, ra_memory_n_holders(memory)),
      (double)ra_memory_firm_sum(memory, bytes));
}

void
ra_memory_replay_holders_at_peak(const RaSim *sim, const RaMemoryTable *table,
                                 uint32_t lane, uint64_t *out_bytes)
{
  const RaCluster *cluster = table->memory->plan->cluster;
  uint32_t n = ra_memory_n_holders(table->memory);
  g_autoptr(GArray) events = ra_memory_replay_events(sim, table, lane);
  g_autofree uint64_t *now = g_new(uint64_t, n);
  double most;

  ra_memory_table_base(table, lane, now);
  memcpy(out_bytes, now, n * sizeof *now);
  most = weighed_sum(table->memory, now);
  for (guint i = 0; i < events->len; i++) {
    const RaMemoryEvent *e = &g_array_index(events, RaMemoryEvent, i);
    double weighed;

    now[e->holder] += (uint64_t)e->bytes;
    weighed = weighed_sum(table->memory, now);
    if (weighed <= most)
      continue;
    most = weighed;
    memcpy(out_bytes, now, n * sizeof *now);
  }
  out_bytes[ra_holder(RA_HOLD_SLACK, 0)] =
      ra_memory_slack(table->memory, out_bytes);
  out_bytes[ra_holder(RA_HOLD_FRAMEWORK, 0)] =
      (uint64_t)llround(cluster->framework_bytes);
}
