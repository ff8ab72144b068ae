/* Simulator: the event loop of the replay. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/cost.h"
#include "sim/fingerprint.h"
#include "sim/interfere.h"
#include "sim/network/queue.h"
#include "sim/op_replay.h"
#include "sim/sim.h"
#include "sim/task_class.h"

#define LOOK_EVENTS 1024 /* between looks at the time */

struct _RaSim {
  const RaTaskGraph *graph; /* borrowed */
  RaCost *costs;            /* (n_tasks) total_s is the duration */
  RaOpReplay *ops;          /* op fidelity; else NULL */
  RaFlows *flows;           /* NULL: communication takes what laws say */
  RaServiceReport *service; /* NULL: the plan has none */
  RaSimResult result;       /* arrays owned; filled by ra_sim_run() */
  gboolean has_run;         /* with success */
};

static RaSim *
sim_alloc(const RaTaskGraph *graph)
{
  RaSim *sim = g_new0(RaSim, 1);

  sim->graph = graph;
  sim->costs = g_new(RaCost, graph->n_tasks);
  return sim;
}

/* Sets the times of tasks without a program to those on their slowest GPU. */
static void
set_ops(RaSim *sim, const RaEstimator *estimator)
{
  const RaTaskGraph *graph = sim->graph;

  sim->ops = ra_op_replay_new(graph, estimator);
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    double factor;

    if (ra_task_class(graph->kind[t]) != RA_TASK_CLASS_DEVICE ||
        ra_op_replay_has(sim->ops, t))
      continue;
    factor = ra_op_replay_slowest(sim->ops, t);
    sim->costs[t].total_s += (factor - 1) * sim->costs[t].compute_s;
    sim->costs[t].compute_s *= factor;
  }
}

RaSim *
ra_sim_new(const RaTaskGraph *graph, const RaEstimator *estimator,
           GError **error)
{
  g_autoptr(RaSim) sim = NULL;

  g_return_val_if_fail(graph && estimator, NULL);
  sim = sim_alloc(graph);
  if (!ra_task_costs(graph, estimator, sim->costs, error) ||
      (!ra_estimator_is_real(estimator) &&
       !ra_service_apply(graph, estimator, sim->costs, &sim->service, error)))
    return NULL;
  if (graph->fidelity == RA_FIDELITY_OP)
    set_ops(sim, estimator);
  return g_steal_pointer(&sim);
}

RaSim *
ra_sim_new_with_costs(const RaTaskGraph *graph, const RaCost *costs)
{
  RaSim *sim;

  g_return_val_if_fail(graph && costs, NULL);
  sim = sim_alloc(graph);
  memcpy(sim->costs, costs, graph->n_tasks * sizeof *costs);
  return sim;
}

const RaServiceReport *
ra_sim_service(const RaSim *sim)
{
  return sim->service;
}

RaSim *
ra_sim_new_with_durations(const RaTaskGraph *graph, const double *duration_s)
{
  RaSim *sim;

  g_return_val_if_fail(graph && duration_s, NULL);
  sim = sim_alloc(graph);
  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    sim->costs[t] = ra_task_cost_of_duration(graph->kind[t], duration_s[t]);
  return sim;
}

void
ra_sim_free(RaSim *sim)
{
  if (!sim)
    return;
  ra_op_replay_free(sim->ops);
  ra_flows_free(sim->flows);
  ra_service_report_free(sim->service);
  g_free(sim->costs);
  g_free(sim->result.iteration_end_s);
  g_free(sim->result.begin_s);
  g_free(sim->result.end_s);
  g_free(sim->result.critical_pred);
  g_free(sim->result.added_s);
  g_free(sim->result.late_s);
  g_free(sim);
}

/* A task in a run: all that its events touch beside the graph's edges, two to a
 * cache line.  Before it starts, begin_s holds the end of its last predecessor
 * so far, and end_s its duration. */
typedef struct {
  double begin_s;
  double end_s;
  uint64_t name_hash;     /* computed ahead, in the order of memory */
  uint32_t n_unmet;       /* predecessors that have not ended */
  RaTaskId critical_pred; /* the result's */
} State;

typedef struct {
  const RaTaskGraph *graph; /* borrowed */
  RaOpReplay *ops;          /* borrowed; NULL: not at op fidelity */
  double *host_s;         /* (n_tasks) op fidelity: end so far of what the host
                             of a task waits for; owned */
  RaCost *costs;          /* (n_tasks) borrowed; op fidelity: written */
  uint64_t n_steps;       /* op fidelity: of tasks that have started */
  RaQueue queue;          /* ends of running tasks */
  State *states;          /* (n_tasks) 64-byte aligned; free() it */
  uint32_t next_seq;      /* of the next task that gets ready */
  RaInterfere *interfere; /* NULL: nothing slows anything */
  RaFlows *flows;         /* borrowed; NULL: none */
  RaNetwork *network;     /* theirs */
  double *late_s;         /* (n_tasks) of flows, by contention; owned */
  uint8_t *n_ends; /* (n_tasks) ends still to come of a task with a flow of
                      its own: 2, then 1; owned */
} Run;

/* The duration of a task's steps, under the task's name. */
static void
run_steps(Run *run, RaTaskId task)
{
  State *state = &run->states[task];

  run->n_steps +=
      ra_op_replay_run(run->ops, task, state->begin_s, run->host_s[task],
                       &run->costs[task], &state->name_hash) -
      1;
  state->end_s = run->costs[task].total_s;
}

static inline void
start_task(Run *run, RaTaskId task)
{
  State *state = &run->states[task];

  if (run->ops && ra_op_replay_has(run->ops, task))
    run_steps(run, task);
  if (run->flows && ra_flows_takes(run->flows, task, state->end_s)) {
    ra_flows_start(run->flows, task, state->end_s);
    if (run->interfere)
      ra_interfere_enter(run->interfere, task);
    return;
  }
  if (run->flows && ra_flows_inside(run->flows, task, state->end_s)) {
    ra_flows_start(run->flows, task, state->end_s);
    run->n_ends[task] = 2;
  }
  if (run->interfere) {
    ra_interfere_start(run->interfere, task, run->next_seq++, state->begin_s,
                       &run->queue);
    return;
  }
  state->end_s += state->begin_s;
  ra_queue_push(
      &run->queue,
      (RaEvent){.time_s = state->end_s, .seq = run->next_seq++, .task = task});
}

/* Task @task has ended at @now_s: starts what waited for it last.  Events come
 * in order of time, so a predecessor that ended at another time than the
 * latest known one is later; at the same time the least id counts. */
static inline void
end_task(Run *run, RaTaskId task, double now_s)
{
  const RaTaskGraph *graph = run->graph;
  uint32_t end = graph->succ_begin[task + 1];

  for (uint32_t edge = graph->succ_begin[task]; edge < end; edge++) {
    RaTaskId to = graph->succ[edge];
    State *state = &run->states[to];

    if (state->critical_pred == RA_NONE || now_s > state->begin_s ||
        task < state->critical_pred)
      state->critical_pred = task;
    state->begin_s = now_s;
    if (run->ops && !ra_op_replay_runs_ahead(graph, task, to))
      run->host_s[to] = now_s;
    if (--state->n_unmet == 0)
      start_task(run, to);
  }
}

static void
run_init(Run *run, const RaSim *sim)
{
  const RaTaskGraph *graph = sim->graph;
  gsize n_bytes = (gsize)graph->n_tasks * sizeof(State);

  *run = (Run){.graph = graph, .ops = sim->ops, .costs = sim->costs};
  if (sim->ops)
    run->host_s = g_new0(double, graph->n_tasks);
  run->states = aligned_alloc(64, (n_bytes + 64) / 64 * 64);
  if (!run->states)
    g_error("no memory for %u tasks", graph->n_tasks);
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    double duration_s = sim->costs[t].total_s;

    g_assert(duration_s >= 0 && isfinite(duration_s));
    run->states[t] = (State){.end_s = duration_s,
                             .name_hash = ra_task_name_hash(graph, t),
                             .n_unmet = graph->n_pred[t],
                             .critical_pred = RA_NONE};
  }
  ra_queue_init(&run->queue, 1024);
  run->interfere = ra_interfere_new(graph, sim->costs);
  run->flows = sim->flows;
  if (!run->flows)
    return;
  run->network = ra_flows_network(run->flows);
  run->late_s = g_new0(double, graph->n_tasks);
  run->n_ends = g_new0(uint8_t, graph->n_tasks);
}

/* TRUE if the task, whose flow or other part has ended, still runs. */
static gboolean
awaits_other(Run *run, RaTaskId task)
{
  return run->n_ends && run->n_ends[task] > 0 && --run->n_ends[task] > 0;
}

/* The flow that ends next has ended; whether its task has. */
static gboolean
pop_flow(Run *run, RaEvent *out_event)
{
  RaTaskId task = ra_network_pop(run->network);
  State *state = &run->states[task];
  double now_s = ra_network_now_s(run->network), alone_s = state->end_s;
  gboolean beside = run->n_ends[task] > 0;

  *out_event = (RaEvent){.time_s = now_s, .task = task};
  if (beside && ra_flows_go_on(run->flows, task))
    return FALSE;
  if (awaits_other(run, task))
    return FALSE;
  if (!beside) {
    alone_s += state->begin_s;
    if (run->interfere)
      ra_interfere_leave(run->interfere, task);
  }
  if (now_s > alone_s)
    run->late_s[task] = now_s - alone_s;
  ra_flows_end(run->flows, task, run->late_s[task]);
  state->end_s = now_s;
  return TRUE;
}

/* The first of the queue: whether its task has ended, which one that
 * interference has moved has not. */
static gboolean
pop_queue(Run *run, RaEvent *out_event)
{
  ra_queue_pop(&run->queue, out_event);
  if (run->flows)
    ra_network_advance(run->network, out_event->time_s);
  if (run->interfere && !ra_interfere_is_end(run->interfere, out_event))
    return FALSE;
  run->states[out_event->task].end_s = out_event->time_s;
  return !awaits_other(run, out_event->task);
}

/* Time of the first event of @queue. */
static double
next_of(const RaQueue *queue)
{
  return queue->n > 0 ? queue->events[0].time_s : (double)INFINITY;
}

/* The next event that is the end of a task.  Settles an instant before it
 * leaves it.  Of one time, flows end last. */
static gboolean
pop_end(Run *run, double now_s, RaEvent *out_event)
{
  RaQueue *queue = &run->queue;
  double flow_s = (double)INFINITY;

  for (;;) {
    gboolean leaves = queue->n == 0 || queue->events[0].time_s > now_s;

    if (run->flows)
      flow_s = ra_network_next_by_s(run->network, now_s);
    if (run->interfere && leaves && flow_s > now_s)
      ra_interfere_settle(run->interfere, now_s, queue);
    if (run->flows)
      flow_s = ra_network_next_by_s(run->network, next_of(queue));
    if (flow_s < (double)INFINITY &&
        (queue->n == 0 || flow_s < queue->events[0].time_s)) {
      if (pop_flow(run, out_event))
        return TRUE;
    } else if (queue->n == 0) {
      return FALSE;
    } else if (pop_queue(run, out_event)) {
      return TRUE;
    }
    now_s = out_event->time_s;
  }
}

/* Processes every event; returns the number of tasks that ended. */
static uint64_t
run_events(Run *run, uint64_t *out_fingerprint)
{
  const RaTaskGraph *graph = run->graph;
  uint64_t n_events = 0, fingerprint = RA_FINGERPRINT_INIT;
  RaEvent event = {.time_s = 0};

  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (graph->n_pred[t] == 0)
      start_task(run, t);
  while (pop_end(run, event.time_s, &event)) {
    const State *state = &run->states[event.task];

    if (n_events % LOOK_EVENTS == 0 && ra_until_is_over(graph->until))
      break;
    n_events++;
    fingerprint = ra_fingerprint_add(fingerprint, state->name_hash,
                                     state->begin_s, event.time_s);
    end_task(run, event.task, event.time_s);
  }
  *out_fingerprint = fingerprint;
  return n_events;
}

/* Some tasks never became ready.  Each of them has a predecessor that did
 * not either, so going back from any leads onto a cycle; says so of its least
 * id. Overwrites critical_pred. */
static gboolean
fail_cycle(const Run *run, GError **error)
{
  const RaTaskGraph *graph = run->graph;
  RaTaskId at = RA_NONE, least;
  uint32_t n_cycle = 1;
  char name[256];

  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    if (run->states[t].n_unmet == 0)
      continue;
    at = t;
    for (uint32_t e = graph->succ_begin[t]; e < graph->succ_begin[t + 1]; e++)
      run->states[graph->succ[e]].critical_pred = t;
  }
  g_assert(at != RA_NONE);
  for (uint32_t i = 0; i < graph->n_tasks; i++)
    at = run->states[at].critical_pred;
  least = at;
  for (RaTaskId t = run->states[at].critical_pred; t != at;
       t = run->states[t].critical_pred) {
    least = MIN(least, t);
    n_cycle++;
  }
  ra_task_name(graph, least, name, sizeof name);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "the task graph has a cycle of %u tasks, so that task '%s' never "
              "starts, expected an acyclic graph",
              n_cycle, name);
  return FALSE;
}

/* Copies the states into the arrays of the result and sums up. */
static void
finish(RaSim *sim, const Run *run)
{
  const RaTaskGraph *graph = sim->graph;
  RaSimResult *result = &sim->result;
  gsize n_tasks = graph->n_tasks;

  result->begin_s = g_new(double, n_tasks);
  result->end_s = g_new(double, n_tasks);
  result->critical_pred = g_new(RaTaskId, n_tasks);
  result->iteration_end_s = g_new0(double, graph->augmented->n_iterations);
  result->makespan_s = 0;
  for (RaTaskId t = 0; t < n_tasks; t++) {
    const State *state = &run->states[t];
    const RaNode *node = &graph->augmented->nodes[graph->node[t]];
    double *end_s = &result->iteration_end_s[node->iteration];

    result->begin_s[t] = state->begin_s;
    result->end_s[t] = state->end_s;
    result->critical_pred[t] = state->critical_pred;
    if (node->kind == RA_NODE_CALL)
      *end_s = MAX(*end_s, state->end_s);
    result->makespan_s = MAX(result->makespan_s, state->end_s);
  }
}

/* Computes the times that interference and contention have added. */
static void
add_delays(RaSim *sim, const Run *run)
{
  double *added_s =
      run->interfere ? ra_interfere_added_s(run->interfere) : NULL;

  if (run->late_s && !added_s)
    added_s = g_new0(double, sim->graph->n_tasks);
  for (RaTaskId t = 0; run->late_s && t < sim->graph->n_tasks; t++)
    added_s[t] += run->late_s[t];
  sim->result.added_s = added_s;
  sim->result.late_s = run->late_s;
}

gboolean
ra_sim_run(RaSim *sim, GError **error)
{
  Run run;
  gboolean ok = TRUE;

  g_return_val_if_fail(sim, FALSE);
  if (sim->has_run)
    return TRUE;
  run_init(&run, sim);
  sim->result.n_events = run_events(&run, &sim->result.fingerprint);
  if (sim->result.n_events == sim->graph->n_tasks) {
    sim->result.n_events += run.n_steps;
    finish(sim, &run);
    add_delays(sim, &run);
    sim->has_run = TRUE;
  } else {
    ok = ra_until_is_over(sim->graph->until) ? ra_until_fail(error)
                                             : fail_cycle(&run, error);
  }
  ra_interfere_free(run.interfere);
  ra_queue_clear(&run.queue);
  g_free(run.host_s);
  if (!ok)
    g_free(run.late_s);
  g_free(run.n_ends);
  free(run.states);
  return ok;
}

void
ra_sim_set_visit(RaSim *sim, RaOpVisit visit, void *data)
{
  g_return_if_fail(sim && !sim->has_run);
  if (sim->ops)
    ra_op_replay_set_visit(sim->ops, visit, data);
}

gboolean
ra_sim_use_network(RaSim *sim, const RaEstimator *estimator, GError **error)
{
  g_return_val_if_fail(sim && estimator && !sim->has_run, FALSE);
  g_return_val_if_fail(!sim->graph->is_folded && !sim->flows, FALSE);
  sim->flows = ra_flows_new(sim->graph, estimator, error);
  return sim->flows != NULL;
}

const RaFlows *
ra_sim_flows(const RaSim *sim)
{
  return sim->flows;
}

gboolean
ra_sim_has_steps(const RaSim *sim, RaTaskId task)
{
  return sim->ops && ra_op_replay_has(sim->ops, task);
}

const RaCost *
ra_sim_costs(const RaSim *sim)
{
  return sim->costs;
}

const RaSimResult *
ra_sim_result(const RaSim *sim)
{
  g_return_val_if_fail(sim->has_run, NULL);
  return &sim->result;
}
