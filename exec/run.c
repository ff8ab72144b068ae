/* The run loop: a thread per rank, its tasks in order, and its waits. */
#include "config.h"

#include <math.h>
#include <time.h>

#include "exec/backend/spin_wait.h"
#include "exec/checkpoint.h"
#include "exec/run_impl.h"
#include "kernels/cpu/cpu_gemm.h"

static double
clock_s(const RaRun *run)
{
  struct timespec t;

  clock_gettime(
      run->options.cpu_clock ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double
ra_run_now_s(const RaRun *run)
{
  return clock_s(run) - run->origin_s;
}

/* A task that a rank waits for. */
typedef struct {
  RaRun *run;
  RaTaskId task;
} Awaited;

static gboolean
has_ended(gconstpointer data)
{
  const Awaited *a = data;

  return atomic_load(&a->run->n_ended[a->task]) >= a->run->n_needed[a->task];
}

/* The same where notes of other processes tell of it. */
static gboolean
has_come(gconstpointer data)
{
  const Awaited *a = data;

  if (has_ended(a))
    return TRUE;
  ra_run_listen(a->run);
  return has_ended(a);
}

static void
wait_for_notes(const Awaited *awaited)
{
  struct timespec nap = {0, 20 * 1000};

  if (awaited->run->has_cores && ra_spin_until(has_come, awaited))
    return;
  while (!has_come(awaited)) {
    nanosleep(&nap, NULL);
    nap.tv_nsec = MIN(nap.tv_nsec * 5 / 4, 500 * 1000);
  }
}

/* Waits until all ranks of @task have ended it; a join has none and ends with
 * what it joins. */
static void
wait_for_task(RaRun *run, RaTaskId task)
{
  Awaited awaited = {run, task};

  if (run->graph->kind[task] == RA_TASK_JOIN) {
    for (uint32_t e = run->pred_begin[task]; e < run->pred_begin[task + 1]; e++)
      wait_for_task(run, run->pred[e]);
    return;
  }
  if (run->world) {
    wait_for_notes(&awaited);
    return;
  }
  if (run->has_cores ? ra_spin_until(has_ended, &awaited) : has_ended(&awaited))
    return;
  pthread_mutex_lock(&run->lock);
  atomic_fetch_add(&run->n_waiting, 1);
  while (!has_ended(&awaited))
    pthread_cond_wait(&run->progressed, &run->lock);
  atomic_fetch_sub(&run->n_waiting, 1);
  pthread_mutex_unlock(&run->lock);
}

/* Before its first task of a node a rank waits for the node's predecessors.
 * Data edges end at the first stage, but all stages read the node's data.
 * Edges to a later stage are the order of its lane and delay no other rank: the
 * first stage begins the next call while the last one ends the call before.
 * Within a node, order follows from messages, collectives and the rank's own
 * order. */
static void
wait_for_nodes(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  uint32_t node = run->graph->node[task];
  const GArray *entries = run->entries[node];

  if (rank->clock.node == node)
    return;
  rank->clock.node = node;
  ra_heartbeat_wait(TRUE);
  for (guint i = 0; i < entries->len; i++) {
    const RaEntry *e = &g_array_index(entries, RaEntry, i);

    if (e->head == RA_NONE || ra_rank_has_turn(rank, e->head))
      wait_for_task(run, e->task);
    else
      rank->messages.n_ahead[RA_AHEAD_CALLS]++;
  }
  ra_heartbeat_wait(FALSE);
}

/* The last rank of the last task of an iteration reports it. */
static void
count_down(RaRun *run, uint32_t iteration, double end_s)
{
  RaRunIteration *result = &run->results[iteration];

  result->end_s = fmax(result->end_s, end_s);
  if (--run->n_left[iteration] > 0)
    return;
  if (run->world)
    ra_run_report(run, iteration);
  else if (run->options.progress)
    run->options.progress(iteration, result, run->options.progress_data);
}

static gboolean
is_copy(const RaRun *run, RaTaskId task)
{
  uint8_t kind = run->graph->kind[task];

  return kind == RA_TASK_OFFLOAD || kind == RA_TASK_RELOAD;
}

static void
end_task_at(RaRank *rank, RaTaskId task, double begin_s, double end_s)
{
  RaRun *run = rank->run;
  RaTaskTime time = {task, begin_s, end_s};

  if (!is_copy(run, task)) /* which exec/run_copies.c knows more of */
    g_array_append_val(rank->clock.times, time);
  if (run->world)
    ra_rank_tell(rank, task);
  atomic_fetch_add(&run->n_ended[task], 1);
  pthread_mutex_lock(&run->lock);
  count_down(run, ra_run_node(run, task)->iteration, time.end_s);
  if (atomic_load(&run->n_waiting) > 0)
    pthread_cond_broadcast(&run->progressed);
  pthread_mutex_unlock(&run->lock);
}

static void
end_task(RaRank *rank, RaTaskId task, double begin_s)
{
  end_task_at(rank, task, begin_s, ra_run_now_s(rank->run));
}

/* Waits for everything that overlaps with the rank's computation. */
static void
end_pending(RaRank *rank)
{
  for (guint i = 0; i < rank->messages.pending->len; i++) {
    const RaPending *p = &g_array_index(rank->messages.pending, RaPending, i);
    double end_s = 0;

    for (guint k = 0; k < p->requests->len; k++)
      end_s = fmax(end_s, p->comm->table->wait(p->comm, p->requests->pdata[k]));
    g_ptr_array_unref(p->requests);
    end_s = rank->run->options.cpu_clock ? ra_run_now_s(rank->run)
                                         : end_s - rank->run->origin_s;
    end_task_at(rank, p->task, p->begin_s, end_s);
  }
  g_array_set_size(rank->messages.pending, 0);
}

/* Backwards go on while gradients are reduced; what reads these does not. */
static gboolean
needs_pending(const RaRank *rank, RaTaskId task)
{
  uint8_t kind = rank->run->graph->kind[task];

  return rank->clock.node != rank->run->graph->node[task] ||
         (kind != RA_TASK_FORWARD && kind != RA_TASK_BACKWARD &&
          kind != RA_TASK_GRAD_REDUCE);
}

/* TRUE if @rank sends in the send task @task. */
static gboolean
is_sender(const RaRank *rank, RaTaskId task)
{
  const RaTaskGraph *g = rank->run->graph;
  const RaRankCall *c = &rank->calls[ra_run_node(rank->run, task)->call];

  return c->is_in && c->coord.at[RA_AXIS_DP] == g->replica[task] &&
         c->coord.at[RA_AXIS_PP] ==
             g->stage[task] % (uint32_t)rank->run->plan
                                  ->calls[ra_run_node(rank->run, task)->call]
                                  .pp;
}

/* Messages leave as soon as what they carry is there. */
static void
send_results(RaRank *rank, RaTaskId task)
{
  const RaTaskGraph *g = rank->run->graph;

  for (uint32_t e = g->succ_begin[task]; e < g->succ_begin[task + 1]; e++)
    if (g->kind[g->succ[e]] == RA_TASK_SEND && is_sender(rank, g->succ[e])) {
      double begin_s = ra_run_now_s(rank->run);

      ra_rank_send(rank, g->succ[e]);
      ra_rank_take_ops(rank, g->succ[e]);
      end_task(rank, g->succ[e], begin_s);
    }
}

static void
run_kind(RaRank *rank, RaTaskId task)
{
  switch (rank->run->graph->kind[task]) {
  case RA_TASK_FORWARD:
    ra_rank_forward(rank, task);
    break;
  case RA_TASK_BACKWARD:
    ra_rank_backward(rank, task);
    break;
  case RA_TASK_GRAD_REDUCE:
    ra_rank_reduce(rank, task);
    break;
  case RA_TASK_EMBEDDING_REDUCE:
    ra_rank_reduce_embedding(rank, task);
    break;
  case RA_TASK_CLIP:
    ra_rank_clip(rank, task);
    break;
  case RA_TASK_OPTIMIZER:
    ra_rank_step(rank, task);
    break;
  case RA_TASK_PARAM_GATHER:
    ra_rank_gather(rank, task);
    break;
  case RA_TASK_DECODE:
    ra_rank_decode(rank, task);
    break;
  case RA_TASK_REALLOC:
    ra_rank_realloc(rank, task);
    break;
  case RA_TASK_TRANSFER:
    ra_rank_transfer(rank, task);
    break;
  case RA_TASK_HOST:
    ra_rank_host(rank, task);
    break;
  case RA_TASK_OFFLOAD:
  case RA_TASK_RELOAD:
    ra_rank_copy(rank, task);
    break;
  default:
    g_assert_not_reached();
  }
}

gboolean
ra_rank_has_turn(const RaRank *rank, RaTaskId task)
{
  const RaTaskGraph *g = rank->run->graph;
  uint32_t group = g->group[task], lane = g->lane_of_gpu[rank->gpu];

  if (g->kind[task] == RA_TASK_SEND || g->kind[task] == RA_TASK_JOIN)
    return FALSE;
  if (g->kind[task] == RA_TASK_TRANSFER)
    return ra_run_reads(rank->run, ra_run_node(rank->run, task)->call,
                        rank->gpu);
  if (g->group_begin[group] == g->group_begin[group + 1])
    return rank->rank == 0; /* a host call without a mesh */
  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++)
    if (g->group_lane[i] == lane)
      return TRUE;
  return FALSE;
}

gboolean
ra_rank_runs(const RaRank *rank, RaTaskId task)
{
  return rank->run->graph->kind[task] == RA_TASK_SEND
             ? is_sender(rank, task)
             : ra_rank_has_turn(rank, task);
}

/* Collectives that are ordered on the device (exec/comm/comm.h) leave the host
 * ahead of it: a task ends, by the host's clock, and is looked at when its ops
 * have. */
static void
settle(const RaRank *rank)
{
  const RaRun *run = rank->run;

  if (run->options.nccl && !run->backend->is_host)
    run->backend->wait();
}

static void *
run_rank(void *data)
{
  RaRank *rank = data;
  guint n_pending;

  ra_rank_enter(rank);
  ra_team_lead(rank->team);
  ra_heartbeat_lead(&rank->clock.pulse);
  atomic_store(&rank->clock.is_at_work, TRUE);
  for (RaTaskId t = 0; t < rank->run->graph->n_tasks; t++) {
    uint32_t iteration = ra_run_node(rank->run, t)->iteration;

    if (iteration < rank->run->begin_iteration ||
        iteration >= rank->run->end_iteration || !ra_rank_has_turn(rank, t))
      continue;
    if (rank->messages.pending->len > 0 && needs_pending(rank, t))
      end_pending(rank);
    wait_for_nodes(rank, t);
    ra_rank_receive_ahead(rank, t);
    ra_rank_reload_ahead(rank, t);
    rank->clock.begin_s = ra_run_now_s(rank->run);
    n_pending = rank->messages.pending->len;
    rank->clock.task = t;
    ra_heartbeat_beat();
    ra_rank_begin_parts(rank, t);
    run_kind(rank, t);
    settle(rank);
    ra_rank_check(rank, t);
    ra_rank_take_ops(rank, t);
    if (rank->messages.pending->len > n_pending)
      continue;
    end_task(rank, t, rank->clock.begin_s);
    send_results(rank, t);
    ra_rank_end_parts(&rank->memory, t);
  }
  end_pending(rank);
  ra_rank_end_copies(rank);
  rank->run->backend->wait(); /* others use what this thread has begun */
  ra_rank_look_at_memory(&rank->memory, rank->run);
  atomic_store(&rank->clock.is_at_work, FALSE);
  ra_rank_leave(rank);
  return NULL;
}

/* All tasks of iterations @begin to @end - 1. */
static void
run_iterations(RaRun *run, uint32_t begin, uint32_t end)
{
  size_t n_here = 0;

  run->begin_iteration = begin;
  run->end_iteration = end;
  for (uint32_t i = 0; i < run->n_ranks; i++)
    n_here += ra_run_is_here(run, i) ? 1 : 0;
  if (!ra_cpu_gemm_has_room(n_here))
    g_error("no address space for %zu ranks, 192 MiB each", n_here);
  run->backend->wait(); /* the ranks' threads use what a checkpoint had */
  ra_run_guard(run);
  for (uint32_t i = 0; i < run->n_ranks; i++)
    if (ra_run_is_here(run, i) && pthread_create(&run->ranks[i].thread, NULL,
                                                 run_rank, &run->ranks[i]) != 0)
      g_error("cannot start a thread for rank %u", i);
  for (uint32_t i = 0; i < run->n_ranks; i++)
    if (ra_run_is_here(run, i))
      pthread_join(run->ranks[i].thread, NULL);
  ra_run_unguard(run);
  ra_run_settle(run);
}

/* TRUE if there is a checkpoint after @n iterations. */
static gboolean
is_saved(const RaRun *run, uint32_t n)
{
  return run->options.checkpoint && (n % run->options.every == 0 ||
                                     n == run->graph->augmented->n_iterations);
}

/* Where the ranks that begin iteration @k stop: at the next checkpoint; near
 * the end at every version that only a run that goes on would read. */
static uint32_t
next_stop(RaRun *run, uint32_t k)
{
  uint32_t n = run->graph->augmented->n_iterations, lag, end = k + 1;

  if (!run->options.checkpoint)
    return n;
  lag = ra_checkpoint_most_lag(run);
  if (k + lag >= n && lag > 0)
    ra_checkpoint_keep(run, k);
  while (end < n && !is_saved(run, end) && end + lag < n)
    end++;
  return end;
}

gboolean
ra_run_go(RaRun *run, GError **error)
{
  uint32_t n = run->graph->augmented->n_iterations;
  double was_s;

  ra_run_begin_together(run);
  run->origin_s = clock_s(run);
  for (uint32_t k = run->first_iteration; k < n && !run->fault;) {
    uint32_t end = next_stop(run, k);

    run_iterations(run, k, end);
    was_s = clock_s(run);
    if (is_saved(run, end) && !run->fault &&
        !ra_checkpoint_save(run, end, error))
      return FALSE;
    run->origin_s += clock_s(run) - was_s;
    k = end;
  }
  for (uint32_t k = 1; k < n; k++)
    run->results[k].begin_s = run->results[k - 1].end_s;
  ra_run_collect(run);
  if (run->fault)
    g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "%s", run->fault);
  return !run->fault;
}

uint32_t
ra_run_first_iteration(const RaRun *run)
{
  return run->first_iteration;
}

uint32_t
ra_run_n_ahead(const RaRun *run, RaAhead kind)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < run->n_ranks; i++) {
    const RaRank *rank = &run->ranks[i];

    n += rank->messages.n_ahead[kind];
    for (uint32_t c = 0; kind == RA_AHEAD_EXPERTS && c < run->workload->n_calls;
         c++)
      for (uint32_t v = 0; v < rank->calls[c].n_versions; v++)
        n += rank->calls[c].stages[v] ? rank->calls[c].stages[v]->n_ahead : 0;
  }
  return n;
}

const RaRunIteration *
ra_run_iteration(const RaRun *run, uint32_t iteration)
{
  g_return_val_if_fail(iteration < run->graph->augmented->n_iterations, NULL);
  return &run->results[iteration];
}

const RaParams *
ra_run_params(const RaRun *run, uint32_t call, uint32_t gpu)
{
  uint32_t rank = run->rank_of_gpu[gpu];
  const RaRankCall *c;

  if (rank == RA_NONE || !run->ranks[rank].calls[call].is_in)
    return NULL;
  c = &run->ranks[rank].calls[call];
  return c->params[ra_rank_copy_index(&run->ranks[rank], call,
                                      run->graph->augmented->n_iterations - 1)];
}

const RaExperience *
ra_run_experience(const RaRun *run, uint32_t iteration)
{
  return run->experience[iteration];
}
