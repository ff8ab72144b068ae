/* Copies of states to pinned host memory and back that overlap with calls.
 *
 * The state of a reload has its place from the task on at which the graph lets
 * the reload begin (graph/memory/memory_ahead.h).  It is requested then, after
 * what the rank has begun; the reload's own task comes when the call that reads
 * the state is next.
 *
 * Copies have queues of their own.  The device orders them, and the host waits
 * for none before it must:
 *
 *     a reload    follows all ops before it, and offloads of its state and from
 *                 its bytes; ops of its task and later follow it
 *     an offload  follows all ops before it; what reuses its bytes follows it
 *
 * For tasks that wait for it, a copy's task ends when this order is given.  Its
 * times are read when it must have ended, as its place may be reused.
 */
#include "config.h"

#include "exec/run_impl.h"

/* (nullable): when @task ran, as far as is known. */
static RaTaskTime *
time_of(const RaRankClock *clock, RaTaskId task)
{
  for (guint i = clock->times->len; i-- > 0;)
    if (g_array_index(clock->times, RaTaskTime, i).task == task)
      return &g_array_index(clock->times, RaTaskTime, i);
  return NULL;
}

/* A task is as long as its copies together. */
static void
note(RaRankClock *clock, RaTaskId task, double begin_s, double end_s)
{
  RaTaskTime *known = time_of(clock, task), time = {task, begin_s, end_s};

  if (!known) {
    g_array_append_val(clock->times, time);
    return;
  }
  known->begin_s = MIN(known->begin_s, begin_s);
  known->end_s = MAX(known->end_s, end_s);
}

/* Its iteration is not over before it is. */
static void
end_copy(RaRank *rank, RaTaskId task, RaBackendCopy **copy)
{
  RaRun *run = rank->run;
  RaRunIteration *result;
  double begin_s, end_s;

  if (!*copy)
    return;
  result = &run->results[ra_run_node(run, task)->iteration];
  run->backend->end_copy(g_steal_pointer(copy), &begin_s, &end_s);
  note(&rank->clock, task, begin_s - run->origin_s, end_s - run->origin_s);
  pthread_mutex_lock(&run->lock);
  result->end_s = MAX(result->end_s, end_s - run->origin_s);
  pthread_mutex_unlock(&run->lock);
}

static void
end_copies(RaRank *rank, RaRunPart *p)
{
  end_copy(rank, p->reload, &p->in);
  end_copy(rank, p->last, &p->out);
}

void
ra_rank_end_copies(RaRank *rank)
{
  for (guint i = 0; i < rank->memory.parts->len; i++)
    end_copies(rank, &g_array_index(rank->memory.parts, RaRunPart, i));
}

/* TRUE if they have a byte in common, or are one in host memory. */
static gboolean
shares(const RaRunPart *a, const RaRunPart *b)
{
  return (a->offset < b->offset + b->bytes &&
          b->offset < a->offset + a->bytes) ||
         (a->params && a->params == b->params && a->state == b->state);
}

void
ra_rank_follow_offloads(const RaRankMemory *memory, RaBackendQueue queue,
                        const RaRunPart *part)
{
  for (guint i = 0; i < memory->parts->len; i++) {
    const RaRunPart *p = &g_array_index(memory->parts, RaRunPart, i);

    if (p->out && shares(p, part))
      p->params->backend->follow_copy(queue, p->out);
  }
}

/* Copies in are one queue, so what is read first goes first: a reload that
 * began before it would be waited for too. */
static RaRunPart *
next_reload(const RaRankMemory *memory, RaTaskId task)
{
  RaRunPart *next = NULL;

  for (guint i = 0; i < memory->parts->len; i++) {
    RaRunPart *p = &g_array_index(memory->parts, RaRunPart, i);

    if (p->reload != RA_NONE && !p->is_there && p->first <= task &&
        p->last >= task && (!next || p->reload < next->reload))
      next = p;
  }
  return next;
}

void
ra_rank_reload_ahead(RaRank *rank, RaTaskId task)
{
  RaRunPart *p;

  for (guint i = 0; i < rank->memory.parts->len; i++) {
    p = &g_array_index(rank->memory.parts, RaRunPart, i);
    if (p->end < 2 * task) /* and others may have its bytes */
      end_copies(rank, p);
  }
  while ((p = next_reload(&rank->memory, task))) {
    double begin_s = ra_run_now_s(rank->run);

    ra_rank_take_part(rank, p);
    p->in = ra_params_begin_reload(p->params, p->state);
    if (!p->in)
      note(&rank->clock, p->reload, begin_s, ra_run_now_s(rank->run));
    rank->messages.n_ahead[RA_AHEAD_RELOADS] += p->reload > task;
  }
}

/* Ops go on behind what @task has brought, if it is @p's reload. */
static gboolean
end_reload(RaRank *rank, RaTaskId task, RaRunPart *p)
{
  if (p->reload != task || !p->in)
    return FALSE;
  rank->run->backend->follow_copy(RA_BACKEND_OPS, p->in);
  return TRUE;
}

static gboolean
begin_offload(RaRank *rank, RaTaskId task, RaRunPart *p)
{
  double begin_s = ra_run_now_s(rank->run);

  if (rank->run->graph->kind[task] != RA_TASK_OFFLOAD || p->last != task ||
      !p->is_there || p->lasts)
    return FALSE;
  p->out = ra_params_begin_offload(p->params, p->state);
  if (!p->out)
    note(&rank->clock, task, begin_s, ra_run_now_s(rank->run));
  return TRUE;
}

/* A task that copies nothing takes no time. */
void
ra_rank_copy(RaRank *rank, RaTaskId task)
{
  gboolean copies = time_of(&rank->clock, task) != NULL;

  for (guint i = 0; i < rank->memory.parts->len; i++) {
    RaRunPart *p = &g_array_index(rank->memory.parts, RaRunPart, i);

    copies |= end_reload(rank, task, p) | begin_offload(rank, task, p);
  }
  if (!copies)
    note(&rank->clock, task, rank->clock.begin_s, rank->clock.begin_s);
}
