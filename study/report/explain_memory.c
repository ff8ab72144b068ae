/* Explanation tables of memory: its turning points by holder. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "sim/memory_replay.h"
#include "study/report/explain_memory.h"

#define GIB (1024.0 * 1024 * 1024)
#define MOST_SHOWN 3     /* holders of a turn, to people */
#define LEAST_SWING 0.01 /* of the highest level: what counts at first */
#define WINDOWS 128      /* of the run: shorter swings are not seen */
#define SWING_GROWS 1.25 /* until few enough turns are left */

/* ---- Turns --------------------------------------------------------------- */

/* The turns of @level whose swings are at least @swing; at most @max are
 * written, all are counted. */
static guint
find_turns(const double *level, guint n, double swing, guint max, guint *out)
{
  guint n_out = 0, low = 0, high = 0;
  int way = 0; /* up, down, or not known yet */

  for (guint i = 1; i <= n; i++) {
    gboolean is_end = i == n;
    double now = level[is_end ? n - 1 : i];

    if (!is_end && way >= 0 && now > level[high])
      high = i;
    if (!is_end && way <= 0 && now < level[low])
      low = i;
    if (way >= 0 && level[high] - now >= swing && !is_end) {
      if (high > 0 && n_out++ < max)
        out[n_out - 1] = high;
      way = -1;
      low = i;
    } else if (way <= 0 && now - level[low] >= swing && !is_end) {
      if (low > 0 && n_out++ < max)
        out[n_out - 1] = low;
      way = 1;
      high = i;
    }
  }
  /* The last swing turns before the end where it has come back by less. */
  if (way > 0 && high > 0 && high < n - 1 && n_out++ < max)
    out[n_out - 1] = high;
  if (way < 0 && low > 0 && low < n - 1 && n_out++ < max)
    out[n_out - 1] = low;
  return n_out;
}

guint
ra_turning_points(const double *level, guint n, guint max, guint *out)
{
  double most = 0, swing;
  guint n_turns;

  if (n == 0)
    return 0;
  for (guint i = 0; i < n; i++)
    most = fmax(most, fabs(level[i]));
  out[0] = 0;
  if (n == 1)
    return 1;
  swing = fmax(LEAST_SWING * most, 1e-300);
  while ((n_turns = find_turns(level, n, swing, max - 2, out + 1)) > max - 2)
    swing *= SWING_GROWS;
  out[1 + n_turns] = n - 1;
  return n_turns + 2;
}

/* ---- Groups of GPUs ------------------------------------------------------ */

/* Lanes that the same calls run on. */
typedef struct {
  guint8 *calls; /* (n_calls) whether each does; owned */
  uint32_t lane; /* the fullest of them, the first on a tie */
  char *gpus;    /* "0-7,16-23"; owned */
} Group;

static guint8 *
calls_of_lanes(const RaTaskGraph *g, uint32_t n_calls)
{
  guint8 *calls = g_new0(guint8, (gsize)n_calls * g->n_lanes + 1);

  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    const RaNode *node = &g->augmented->nodes[g->node[t]];

    if (node->kind != RA_NODE_CALL)
      continue;
    for (uint32_t i = g->group_begin[g->group[t]];
         i < g->group_begin[g->group[t] + 1]; i++)
      calls[(gsize)g->group_lane[i] * n_calls + node->call] = 1;
  }
  return calls;
}

static char *
gpus_of(const RaTaskGraph *g, const guint *group_of, guint group,
        uint32_t n_gpus)
{
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  GString *text = g_string_new(NULL);

  for (uint32_t i = 0; i < n_gpus; i++) {
    uint32_t pair[2] = {i, i};

    if (g->lane_of_gpu[i] != RA_NONE && group_of[g->lane_of_gpu[i]] == group)
      g_array_append_vals(ranges, pair, 2);
  }
  ra_ranks_format((const uint32_t *)(const void *)ranges->data, ranges->len,
                  text);
  return g_string_free(text, FALSE);
}

static GArray *
find_groups(const RaSetup *setup, const RaReplay *replay,
            const RaMemoryReplay *memory)
{
  const RaTaskGraph *g = replay->graph;
  uint32_t n_calls = setup->workload->n_calls;
  uint32_t n_gpus = setup->cluster->n_nodes * setup->cluster->gpus_per_node;
  g_autofree guint8 *calls = calls_of_lanes(g, n_calls);
  g_autofree guint *group_of = g_new0(guint, (gsize)g->n_lanes + 1);
  GArray *groups = g_array_new(FALSE, FALSE, sizeof(Group));

  for (uint32_t lane = 0; lane < g->n_lanes; lane++) {
    guint8 *mine = calls + (gsize)lane * n_calls;
    Group fresh = {NULL, lane, NULL}, *group;
    guint at = 0;

    while (at < groups->len &&
           memcmp(g_array_index(groups, Group, at).calls, mine, n_calls) != 0)
      at++;
    if (at == groups->len) {
      fresh.calls = g_memdup2(mine, n_calls);
      g_array_append_val(groups, fresh);
    }
    group_of[lane] = at;
    group = &g_array_index(groups, Group, at);
    if (memory->lanes[lane].peak_bytes > memory->lanes[group->lane].peak_bytes)
      group->lane = lane;
  }
  for (guint i = 0; i < groups->len; i++)
    g_array_index(groups, Group, i).gpus = gpus_of(g, group_of, i, n_gpus);
  return groups;
}

static void
free_groups(GArray *groups)
{
  for (guint i = 0; i < groups->len; i++) {
    g_free(g_array_index(groups, Group, i).calls);
    g_free(g_array_index(groups, Group, i).gpus);
  }
  g_array_unref(groups);
}

/* ---- Tables -------------------------------------------------------------- */

typedef struct {
  const RaSetup *setup;
  const RaReplay *replay;
  const RaMemoryTable *table;
  RaTable *turns, *holders;
  uint32_t n_holders;
  uint64_t *now; /* (n_holders) */
} Work;

/* With what is of no call. */
static double
add_overheads(const Work *w, uint64_t *now)
{
  const RaCluster *cluster = w->setup->cluster;
  const RaMemory *memory = w->table->memory;
  double used = (double)ra_memory_sum(now, w->n_holders);
  double weighed =
      ra_memory_weighed(memory, used, (double)ra_memory_firm_sum(memory, now));

  now[ra_holder(RA_HOLD_SLACK, 0)] = ra_memory_slack(memory, now);
  now[ra_holder(RA_HOLD_FRAMEWORK, 0)] =
      (uint64_t)llround(cluster->framework_bytes);
  return ra_memory_total(memory, weighed);
}

/* "optimizer of actor 30.2 GiB, ..." */
static char *
describe(const Work *w, const uint64_t *bytes)
{
  GString *text = g_string_new(NULL);
  uint64_t below = UINT64_MAX;
  uint32_t last = 0;

  for (guint i = 0; i < MOST_SHOWN; i++) {
    g_autofree char *name = NULL;
    uint32_t best = RA_NONE;

    for (uint32_t h = 0; h < w->n_holders; h++)
      if (bytes[h] > 0 && (best == RA_NONE || bytes[h] > bytes[best]) &&
          (bytes[h] < below || (bytes[h] == below && h > last)))
        best = h;
    if (best == RA_NONE)
      break;
    below = bytes[best];
    last = best;
    name = ra_holder_name(w->setup->workload, best);
    g_string_append_printf(text, "%s%s %.1f", i > 0 ? ", " : "", name,
                           (double)bytes[best] / GIB);
  }
  return g_string_free(text, FALSE);
}

static void
add_turn(Work *w, const Group *group, double time_s, const char *what)
{
  g_autofree uint64_t *bytes = g_memdup2(w->now, w->n_holders * sizeof *w->now);
  double total = add_overheads(w, bytes);
  g_autofree char *most = describe(w, bytes);

  ra_table_row(w->turns);
  ra_table_text(w->turns, group->gpus);
  ra_table_real(w->turns, time_s);
  ra_table_text(w->turns, what);
  ra_table_real(w->turns, total);
  ra_table_text(w->turns, most);
  for (uint32_t h = 0; h < w->n_holders; h++) {
    g_autofree char *name = NULL;

    if (bytes[h] == 0)
      continue;
    name = ra_holder_name(w->setup->workload, h);
    ra_table_row(w->holders);
    ra_table_text(w->holders, group->gpus);
    ra_table_real(w->holders, time_s);
    ra_table_text(w->holders, name);
    ra_table_real(w->holders, (double)bytes[h]);
  }
}

/* The highest level of each window of the run in which something changes, what
 * was there as it began among them; @out_event: how many events each comes
 * after.  Returns their number; @out_peak: the highest's. */
static guint
find_levels(const Work *w, const GArray *events, double *level,
            guint *out_event, guint *out_peak)
{
  double makespan_s = ra_sim_result(w->replay->sim)->makespan_s;
  double now = 0;
  guint n = 1, last_window = G_MAXUINT;

  for (uint32_t h = 0; h < w->n_holders; h++)
    now += (double)w->now[h];
  level[0] = now;
  out_event[0] = *out_peak = 0;
  for (guint i = 0; i < events->len; i++) {
    const RaMemoryEvent *e = &g_array_index(events, RaMemoryEvent, i);
    guint window = (guint)(WINDOWS * e->time_s / fmax(makespan_s, 1e-300));

    if (window != last_window) {
      level[n] = now;
      out_event[n++] = i;
    }
    last_window = window;
    now += (double)e->bytes;
    if (now > level[n - 1]) {
      level[n - 1] = now;
      out_event[n - 1] = i + 1;
    }
    if (now > level[*out_peak])
      *out_peak = n - 1;
  }
  level[n] = now;
  out_event[n++] = events->len;
  return n;
}

/* Puts @peak among @n ascending @turns, the last but one of which goes if there
 * is no room. */
static guint
include(guint peak, guint *turns, guint n)
{
  guint at = 0;

  while (at < n && turns[at] < peak)
    at++;
  if (n < 2 || turns[at] == peak)
    return n;
  if (n == RA_EXPLAIN_TURNS) {
    turns[at == n - 1 ? n - 2 : at] = peak;
    return n;
  }
  memmove(turns + at + 1, turns + at, (n - at) * sizeof *turns);
  turns[at] = peak;
  return n + 1;
}

static void
add_group(Work *w, const Group *group)
{
  g_autoptr(GArray) events =
      ra_memory_replay_events(w->replay->sim, w->table, group->lane);
  g_autofree double *level = g_new(double, WINDOWS + 4);
  g_autofree guint *event = g_new(guint, WINDOWS + 4);
  guint turns[RA_EXPLAIN_TURNS], n, n_turns, peak, at = 0;

  ra_memory_table_base(w->table, group->lane, w->now);
  n = find_levels(w, events, level, event, &peak);
  n_turns = ra_turning_points(level, n, RA_EXPLAIN_TURNS, turns);
  n_turns = include(peak, turns, n_turns);
  for (guint i = 0; i < n_turns; i++) {
    guint turn = turns[i];
    const char *what = turn == peak                        ? "peak"
                       : turn == 0                         ? "begin"
                       : turn + 1 == n                     ? "end"
                       : level[turn] > level[turns[i - 1]] ? "high"
                                                           : "low";
    double time_s = 0;

    for (; at < event[turn]; at++) {
      const RaMemoryEvent *e = &g_array_index(events, RaMemoryEvent, at);

      w->now[e->holder] += (uint64_t)e->bytes;
    }
    if (at > 0)
      time_s = g_array_index(events, RaMemoryEvent, at - 1).time_s;
    add_turn(w, group, time_s, what);
  }
}

static void
add_columns(RaTable *turns, RaTable *holders)
{
  ra_table_column(turns, "gpus", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(turns, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(turns, "point", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(turns, "memory_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(turns, "largest_gib", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(holders, "gpus", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(holders, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(holders, "component", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(holders, "memory_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
}

void
ra_explain_memory(const RaSetup *setup, const RaReplay *replay,
                  RaTable **out_turns, RaTable **out_holders)
{
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(replay->graph);
  g_autoptr(RaMemoryReplay) memory = ra_memory_replay_new(replay->sim, table);
  GArray *groups = find_groups(setup, replay, memory);
  uint32_t n = ra_memory_n_holders(table->memory);
  g_autofree uint64_t *now = g_new0(uint64_t, n);
  Work w = {.setup = setup,
            .replay = replay,
            .table = table,
            .turns = ra_table_new("memory_extremes"),
            .holders = ra_table_new("memory_over_time"),
            .n_holders = n,
            .now = now};

  add_columns(w.turns, w.holders);
  for (guint i = 0; i < groups->len; i++)
    add_group(&w, &g_array_index(groups, Group, i));
  free_groups(groups);
  *out_turns = w.turns;
  *out_holders = w.holders;
}
