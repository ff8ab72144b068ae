#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sim/cost.h"
#include "sim/fingerprint.h"
#include "sim/queue.h"
#include "sim/sim.h"

struct _RaSim {
  const RaTaskGraph *graph; /* borrowed */
  RaCost *costs;            /* (n_tasks) total_s is the duration */
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

RaSim *
ra_sim_new(const RaTaskGraph *graph, const RaEstimator *estimator,
           GError **error)
{
  g_autoptr(RaSim) sim = NULL;

  g_return_val_if_fail(graph && estimator, NULL);
  sim = sim_alloc(graph);
  if (!ra_task_costs(graph, estimator, sim->costs, error))
    return NULL;
  return g_steal_pointer(&sim);
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
  g_free(sim->costs);
  g_free(sim->result.iteration_end_s);
  g_free(sim->result.begin_s);
  g_free(sim->result.end_s);
  g_free(sim->result.critical_pred);
  g_free(sim);
}

/* The state of one run.  Before a task starts, begin_s holds the end of its
 * last predecessor so far, and end_s its duration: so the arrays of the result
 * are all that the loop touches, beside n_unmet and the graph. */
typedef struct {
  const RaTaskGraph *graph; /* borrowed */
  RaQueue queue;            /* ends of running tasks */
  uint32_t *n_unmet;        /* (n_tasks) predecessors that have not ended */
  double *begin_s;          /* (n_tasks) the result's */
  double *end_s;            /* (n_tasks) the result's */
  RaTaskId *critical_pred;  /* (n_tasks) the result's */
  uint32_t next_seq;        /* of the next task that gets ready */
} Run;

static inline void
start_task(Run *run, RaTaskId task)
{
  run->end_s[task] += run->begin_s[task];
  ra_queue_push(&run->queue, (RaEvent){.time_s = run->end_s[task],
                                       .seq = run->next_seq++,
                                       .task = task});
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
    RaTaskId succ = graph->succ[edge];

    if (run->critical_pred[succ] == RA_NONE || now_s > run->begin_s[succ] ||
        task < run->critical_pred[succ])
      run->critical_pred[succ] = task;
    run->begin_s[succ] = now_s;
    if (--run->n_unmet[succ] == 0)
      start_task(run, succ);
  }
}

static void
run_init(Run *run, const RaSim *sim)
{
  const RaTaskGraph *graph = sim->graph;
  gsize n_tasks = graph->n_tasks;

  run->graph = graph;
  run->n_unmet = g_new(uint32_t, n_tasks);
  run->begin_s = g_new0(double, n_tasks);
  run->end_s = g_new(double, n_tasks);
  run->critical_pred = g_new(RaTaskId, n_tasks);
  run->next_seq = 0;
  if (n_tasks > 0) {
    memcpy(run->n_unmet, graph->n_pred, n_tasks * sizeof *run->n_unmet);
    memset(run->critical_pred, 0xff, n_tasks * sizeof *run->critical_pred);
  }
  for (gsize t = 0; t < n_tasks; t++) {
    g_assert(sim->costs[t].total_s >= 0 && isfinite(sim->costs[t].total_s));
    run->end_s[t] = sim->costs[t].total_s;
  }
  ra_queue_init(&run->queue, 1024);
}

/* Processes every event; returns the number of tasks that ended. */
static uint64_t
run_events(Run *run, uint64_t *out_fingerprint)
{
  const RaTaskGraph *graph = run->graph;
  uint64_t n_events = 0, fingerprint = RA_FINGERPRINT_INIT;
  RaEvent event;

  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (run->n_unmet[t] == 0)
      start_task(run, t);
  while (ra_queue_pop(&run->queue, &event)) {
    n_events++;
    fingerprint =
        ra_fingerprint_add(fingerprint, ra_task_name_hash(graph, event.task),
                           run->begin_s[event.task], event.time_s);
    end_task(run, event.task, event.time_s);
  }
  *out_fingerprint = fingerprint;
  return n_events;
}

/* Some tasks never became ready.  Each of them has a predecessor of its own
 * kind, so going back from any leads onto a cycle; says so of its least id.
 * Overwrites critical_pred. */
static gboolean
fail_cycle(const Run *run, GError **error)
{
  const RaTaskGraph *graph = run->graph;
  RaTaskId at = RA_NONE, least;
  uint32_t n_cycle = 1;
  char name[256];

  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    if (run->n_unmet[t] == 0)
      continue;
    at = t;
    for (uint32_t e = graph->succ_begin[t]; e < graph->succ_begin[t + 1]; e++)
      run->critical_pred[graph->succ[e]] = t;
  }
  g_assert(at != RA_NONE);
  for (uint32_t i = 0; i < graph->n_tasks; i++)
    at = run->critical_pred[at];
  least = at;
  for (RaTaskId t = run->critical_pred[at]; t != at;
       t = run->critical_pred[t]) {
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

static void
run_clear(Run *run)
{
  ra_queue_clear(&run->queue);
  g_free(run->n_unmet);
  g_free(run->begin_s);
  g_free(run->end_s);
  g_free(run->critical_pred);
}

/* Moves the arrays of @run to the result and sums up. */
static void
finish(RaSim *sim, Run *run)
{
  const RaTaskGraph *graph = sim->graph;
  RaSimResult *result = &sim->result;

  result->begin_s = g_steal_pointer(&run->begin_s);
  result->end_s = g_steal_pointer(&run->end_s);
  result->critical_pred = g_steal_pointer(&run->critical_pred);
  result->iteration_end_s = g_new0(double, graph->augmented->n_iterations);
  result->makespan_s = 0;
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    uint32_t iteration = graph->augmented->nodes[graph->node[t]].iteration;
    double *end_s = &result->iteration_end_s[iteration];

    *end_s = MAX(*end_s, result->end_s[t]);
    result->makespan_s = MAX(result->makespan_s, result->end_s[t]);
  }
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
    finish(sim, &run);
    sim->has_run = TRUE;
  } else {
    ok = fail_cycle(&run, error);
  }
  run_clear(&run);
  return ok;
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
