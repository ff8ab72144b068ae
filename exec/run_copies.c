/* Copies of states to pinned host memory and back, beside calls.
 *
 * What a reload brings has its place from the task on at which the graph lets
 * it begin (graph/memory_ahead.h), and is asked for then, behind what the rank
 * has begun; the reload's own task comes when the call that reads it is next.
 * Each copy has the times that it took: others may go on before it is over. */
#include "config.h"

#include "exec/run_impl.h"

/* (nullable): when @task ran, as far as is known. */
static RaTaskTime *
time_of(const RaRank *rank, RaTaskId task)
{
  for (guint i = rank->times->len; i-- > 0;)
    if (g_array_index(rank->times, RaTaskTime, i).task == task)
      return &g_array_index(rank->times, RaTaskTime, i);
  return NULL;
}

/* A task is as long as its copies together. */
static void
note(RaRank *rank, RaTaskId task, double begin_s, double end_s)
{
  RaTaskTime *known = time_of(rank, task), time = {task, begin_s, end_s};

  if (!known) {
    g_array_append_val(rank->times, time);
    return;
  }
  known->begin_s = MIN(known->begin_s, begin_s);
  known->end_s = MAX(known->end_s, end_s);
}

void
ra_rank_reload_ahead(RaRank *rank, RaTaskId task)
{
  for (guint i = 0; i < rank->parts->len; i++) {
    RaRunPart *p = &g_array_index(rank->parts, RaRunPart, i);
    double begin_s;

    if (p->reload == RA_NONE || p->is_there || p->first > task ||
        p->last < task)
      continue;
    begin_s = ra_run_now_s(rank->run);
    ra_rank_take_part(rank, p);
    ra_params_reload(p->params, p->state);
    note(rank, p->reload, begin_s, ra_run_now_s(rank->run));
    rank->n_ahead[RA_AHEAD_RELOADS] += p->reload > task;
  }
}

static void
offload(RaRank *rank, RaTaskId task)
{
  for (guint i = 0; i < rank->parts->len; i++) {
    const RaRunPart *p = &g_array_index(rank->parts, RaRunPart, i);
    double begin_s = ra_run_now_s(rank->run);

    if (!p->is_there || p->lasts || p->last != task)
      continue;
    ra_params_offload(p->params, p->state);
    note(rank, task, begin_s, ra_run_now_s(rank->run));
  }
}

/* Where nothing is copied it takes no time. */
void
ra_rank_copy(RaRank *rank, RaTaskId task)
{
  if (rank->run->graph->kind[task] == RA_TASK_OFFLOAD)
    offload(rank, task);
  if (!time_of(rank, task))
    note(rank, task, rank->begin_s, rank->begin_s);
}
