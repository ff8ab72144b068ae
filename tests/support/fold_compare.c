/* Comparison of a folded graph with the unfolded one. */
#include "config.h"

#include <string.h>

#include "base/hash.h"
#include "sim/breakdown.h"
#include "sim/memory_replay.h"
#include "tests/support/critical_path.h"
#include "tests/support/fold_compare.h"

/* Key of a task, without its replica, on one lane. */
static uint64_t
task_key(const RaTaskGraph *g, RaTaskId t, uint32_t lane)
{
  uint64_t h = ra_hash_u64(RA_HASH_INIT, g->node[t]);

  h = ra_hash_u64(h, (uint64_t)g->kind[t] | (uint64_t)g->stream[t] << 8 |
                         (uint64_t)g->stage[t] << 16 |
                         (uint64_t)g->bucket[t] << 32);
  h = ra_hash_u64(h, (uint64_t)g->mini_batch[t] | (uint64_t)g->micro_batch[t]
                                                      << 16);
  return ra_hash_u64(h, lane);
}

/* Every (task, lane of it) of the folded graph by key; a key twice: NULL. */
static GHashTable *
index_tasks(const RaTaskGraph *g)
{
  GHashTable *index =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    uint32_t begin = g->group_begin[g->group[t]];
    uint32_t end = g->group_begin[g->group[t] + 1];
    for (uint32_t i = begin; i < MAX(end, begin + 1); i++) {
      uint64_t key = task_key(g, t, i < end ? g->group_lane[i] : RA_NONE);
      if (!g_hash_table_insert(index, g_memdup2(&key, sizeof key),
                               GUINT_TO_POINTER(t + 1))) {
        g_hash_table_unref(index);
        return NULL;
      }
    }
  }
  return index;
}

/* On each of its lanes, a task of the unfolded graph is one of the folded one
 * with the same times; and as many are there as the weights say. */
static const char *
compare_tasks(const FoldRun *folded, const FoldRun *plain)
{
  const RaTaskGraph *f = folded->graph, *g = plain->graph;
  const RaSimResult *x = ra_sim_result(folded->sim);
  const RaSimResult *y = ra_sim_result(plain->sim);
  g_autoptr(GHashTable) index = index_tasks(f);

  if (!index)
    return "two tasks that are one";
  if (ra_task_graph_n_unfolded(f) != g->n_tasks)
    return "tasks";
  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    uint32_t begin = g->group_begin[g->group[t]];
    uint32_t end = g->group_begin[g->group[t] + 1];
    for (uint32_t i = begin; i < MAX(end, begin + 1); i++) {
      uint32_t lane = i < end
                          ? f->lane_of_gpu[g->lanes[g->group_lane[i]].first_gpu]
                          : RA_NONE;
      uint64_t key = task_key(g, t, lane);
      RaTaskId twin = GPOINTER_TO_UINT(g_hash_table_lookup(index, &key)) - 1;
      if (twin == RA_NONE)
        return "a task without its folded one";
      if (memcmp(&x->begin_s[twin], &y->begin_s[t], sizeof(double)) != 0 ||
          memcmp(&x->end_s[twin], &y->end_s[t], sizeof(double)) != 0)
        return "a task's times";
    }
  }
  return NULL;
}

static gboolean
same(double a, double b)
{
  return memcmp(&a, &b, sizeof a) == 0;
}

static const char *
compare_breakdowns(const RaBreakdown *a, const RaBreakdown *b)
{
  if (!same(a->window_s, b->window_s) || !same(a->iteration_s, b->iteration_s))
    return "iteration";
  if (a->n_gpus != b->n_gpus || !same(a->realloc_gpu_s, b->realloc_gpu_s) ||
      !same(a->idle_gpu_s, b->idle_gpu_s))
    return "rest of the GPU time";
  if (!same(a->tokens, b->tokens) || !same(a->tokens_per_s, b->tokens_per_s) ||
      !same(a->flop_per_s_per_gpu, b->flop_per_s_per_gpu) ||
      !same(a->mfu_frac, b->mfu_frac) || !same(a->usd, b->usd))
    return "rates";
  for (guint c = 0; c < a->n_calls; c++) {
    const RaCallShare *x = &a->calls[c], *y = &b->calls[c];
    if (x->n_gpus != y->n_gpus || !same(x->begin_s, y->begin_s) ||
        !same(x->end_s, y->end_s) || !same(x->wall_s, y->wall_s))
      return "when a call runs";
    if (!same(x->compute_gpu_s, y->compute_gpu_s) ||
        !same(x->comm_gpu_s, y->comm_gpu_s) ||
        !same(x->host_gpu_s, y->host_gpu_s) ||
        !same(x->bubble_gpu_s, y->bubble_gpu_s) ||
        !same(x->interference_gpu_s, y->interference_gpu_s))
      return "GPU time of a call";
    if (!same(x->flop, y->flop) || !same(x->hardware_flop, y->hardware_flop))
      return "FLOP of a call";
  }
  return NULL;
}

static const char *
compare_paths(const CriticalPath *a, const CriticalPath *b)
{
  if (!same(a->compute_s, b->compute_s) || !same(a->comm_s, b->comm_s) ||
      !same(a->host_s, b->host_s) || !same(a->bubble_s, b->bubble_s) ||
      !same(a->realloc_s, b->realloc_s) ||
      !same(a->interference_s, b->interference_s) || a->n_steps != b->n_steps)
    return "critical path";
  for (guint i = 0; i < a->n_steps; i++) {
    const PathStep *x = &a->steps[i], *y = &b->steps[i];
    if (x->node != y->node || x->kind != y->kind || x->n_tasks != y->n_tasks ||
        !same(x->begin_s, y->begin_s) || !same(x->end_s, y->end_s))
      return "a step of the critical path";
  }
  return NULL;
}

/* Each lane of the unfolded graph is as full, and when, as the one it is part
 * of. */
static const char *
compare_memory(const FoldRun *folded, const FoldRun *plain)
{
  g_autoptr(RaMemoryTable) a = ra_memory_table_new(folded->graph);
  g_autoptr(RaMemoryTable) b = ra_memory_table_new(plain->graph);
  g_autoptr(RaMemoryReplay) x = ra_memory_replay_new(folded->sim, a);
  g_autoptr(RaMemoryReplay) y = ra_memory_replay_new(plain->sim, b);

  for (uint32_t l = 0; l < y->n_lanes; l++) {
    uint32_t gpu = plain->graph->lanes[l].first_gpu;
    const RaLanePeak *p = &x->lanes[folded->graph->lane_of_gpu[gpu]];
    const RaLanePeak *q = &y->lanes[l];

    if (!same(p->peak_bytes, q->peak_bytes) || !same(p->peak_s, q->peak_s) ||
        p->end_bytes != q->end_bytes)
      return "memory of a lane";
  }
  return NULL;
}

const char *
fold_compare(const FoldRun *folded, const FoldRun *plain)
{
  const RaSimResult *x = ra_sim_result(folded->sim);
  const RaSimResult *y = ra_sim_result(plain->sim);
  g_autoptr(RaBreakdown) a = ra_breakdown_new(folded->sim, folded->graph);
  g_autoptr(RaBreakdown) b = ra_breakdown_new(plain->sim, plain->graph);
  g_autoptr(CriticalPath) p = NULL;
  g_autoptr(CriticalPath) q = NULL;
  const char *what;

  if (!same(x->makespan_s, y->makespan_s))
    return "makespan";
  for (uint32_t i = 0; i < plain->graph->augmented->n_iterations; i++)
    if (!same(x->iteration_end_s[i], y->iteration_end_s[i]))
      return "an iteration's end";
  what = compare_breakdowns(a, b);
  if (what)
    return what;
  p = critical_path_new(folded->sim, folded->graph);
  q = critical_path_new(plain->sim, plain->graph);
  what = compare_paths(p, q);
  if (!what)
    what = compare_tasks(folded, plain);
  return what ? what : compare_memory(folded, plain);
}
