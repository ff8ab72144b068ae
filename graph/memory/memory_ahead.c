/* Lifetimes of memory that is copied to and from host memory. */
#include "config.h"

#include "graph/memory/memory_ahead.h"

static gboolean
computes(const RaTaskGraph *g, RaTaskId t, uint32_t lane)
{
  uint32_t group = g->group[t];

  if (g->stream[t] != RA_STREAM_COMPUTE)
    return FALSE;
  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++)
    if (g->group_lane[i] == lane)
      return TRUE;
  return FALSE;
}

static gboolean
has_copies(const RaTaskGraph *g)
{
  for (uint32_t n = 0; n < g->augmented->n_nodes; n++)
    if (g->augmented->nodes[n].what != 0)
      return TRUE;
  return FALSE;
}

void
ra_memory_ahead_init(RaMemoryAhead *ahead, const RaMemoryTable *table,
                     uint32_t lane)
{
  const RaTaskGraph *g = table->graph;

  *ahead = (RaMemoryAhead){.table = table};
  if (!has_copies(g))
    return;
  ahead->waits = g_new0(RaTaskId, (gsize)g->n_tasks + 1);
  ahead->compute = g_new(RaTaskId, (gsize)g->n_tasks + 1);
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      if (g->kind[g->succ[e]] == RA_TASK_RELOAD)
        ahead->waits[g->succ[e]] = MAX(ahead->waits[g->succ[e]], t + 1);
  ahead->compute[g->n_tasks] = g->n_tasks;
  for (RaTaskId t = g->n_tasks; t-- > 0;)
    ahead->compute[t] = computes(g, t, lane) ? t : ahead->compute[t + 1];
}

void
ra_memory_ahead_clear(RaMemoryAhead *ahead)
{
  g_free(ahead->waits);
  g_free(ahead->compute);
}

RaTaskId
ra_memory_ahead_task(const RaMemoryAhead *ahead, const RaMemoryChange *change)
{
  const RaTaskGraph *g = ahead->table->graph;
  RaTaskId t = change->task;

  if (!ahead->waits || change->item == RA_NONE || change->bytes < 0 ||
      g->kind[t] != RA_TASK_RELOAD)
    return t;
  return MIN(ahead->compute[ahead->waits[t]], t);
}

uint32_t
ra_memory_ahead_moment(const RaMemoryAhead *ahead, const RaMemoryChange *change)
{
  const RaTaskGraph *g = ahead->table->graph;
  RaTaskId t = change->task, at = ra_memory_ahead_task(ahead, change);

  if (at != t)
    return 2 * at + 1;
  if (ahead->waits && change->item != RA_NONE && change->bytes < 0 &&
      g->kind[t] == RA_TASK_OFFLOAD && ahead->compute[t + 1] < g->n_tasks)
    return 2 * ahead->compute[t + 1] + 1;
  return 2 * (change->bytes < 0 ? t + 1 : t);
}
