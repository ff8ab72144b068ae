/* Discrete-event simulator: replays a task graph with times from an estimator.
 *
 * Events are ordered by (time, sequence number), never by an epsilon.  A task
 * starts when its last predecessor has ended; the graph has queues as edges
 * (graph/expand/task.h).  It ends after its duration, which grows if
 * computation and communication overlap on a GPU (sim/interfere.h).  Sequence
 * numbers follow the order in which tasks become ready.  Tasks that one event
 * makes ready get theirs in the order of the graph's edges.
 *
 *     RaSim *sim = ra_sim_new(graph, estimator, &error);
 *     if (ra_sim_run(sim, &error)) ... ra_sim_result(sim)
 *
 * Cost: O(tasks log ready + edges); 10^6 tasks take less than 0.5 s.  A search
 * replays the augmented graph instead, to the same bits at call fidelity
 * (search/evaluate/evaluate.h).
 */
#ifndef RA_SIM_SIM_H
#define RA_SIM_SIM_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"
#include "sim/flows.h"
#include "sim/op_replay.h"
#include "sim/service_plan.h"

typedef struct _RaSim RaSim;

typedef struct {
  double makespan_s;       /* end of the last task */
  double *iteration_end_s; /* (n_iterations) end of the last call of each; the
                              reallocation of its parameters afterwards does not
                              count */
  double *begin_s;         /* (n_tasks) */
  double *end_s;           /* (n_tasks) */
  double *added_s; /* (n_tasks) part of end_s - begin_s that interference or,
                      for a flow, contention adds to the task's cost; NULL: 0
                      for all tasks */
  double *late_s;  /* (n_tasks) part of added_s that contention adds; NULL:
                      without flows */
  RaTaskId *critical_pred; /* (n_tasks) the predecessor that ended last, on a
                              tie the smallest id (ra_critical_tasks() has a
                              rule that folding preserves); RA_NONE: none */
  uint64_t fingerprint; /* of the event sequence: order, names, times to 1 ns */
  uint64_t n_events;    /* ends processed: n_tasks; at op fidelity the steps of
                           a task with a program count instead */
} RaSimResult;

/* Seconds that interference or contention has added to @task, or 0. */
static inline double
ra_sim_added_s(const RaSimResult *result, RaTaskId task)
{
  return result->added_s ? result->added_s[task] : 0;
}

/**
 * ra_sim_new:
 * @graph: borrowed
 * @estimator: borrowed
 *
 * Computes the duration of every task:
 * - by the estimator, from the task's work;
 * - of a decode task, by a replay of its replica's generation
 *   (sim/generate/decode.h);
 * - of a call-fidelity task, by a simulation of the isolated call at stage
 *   fidelity (sim/call.h);
 * - at op fidelity, by a replay of its steps (sim/op_replay.h) when it starts.
 */
RaSim *ra_sim_new(const RaTaskGraph *graph, const RaEstimator *estimator,
                  GError **error);

/* Like ra_sim_new() with given durations, (n_tasks) seconds >= 0, for tests and
 * benchmarks. */
RaSim *ra_sim_new_with_durations(const RaTaskGraph *graph,
                                 const double *duration_s);

/* Like ra_sim_new() with given costs, (n_tasks). */
RaSim *ra_sim_new_with_costs(const RaTaskGraph *graph, const RaCost *costs);

/* (nullable) (transfer none): report of the plan's rollout service, if any. */
const RaServiceReport *ra_sim_service(const RaSim *sim);

/**
 * ra_sim_run:
 * @error: %RA_ERROR_INPUT: the graph has a cycle, so some tasks never start;
 *   the message names one of them
 */
gboolean ra_sim_run(RaSim *sim, GError **error);

/* Sets a callback, before ra_sim_run().  It is called for every step, task by
 * task in the order in which they start; never below op fidelity. */
void ra_sim_set_visit(RaSim *sim, RaOpVisit visit, void *data);

/**
 * ra_sim_use_network:
 * @estimator: as in ra_sim_new(); borrowed
 * @error: as for ra_flows_new()
 *
 * Makes communication flows over the cluster's links (sim/flows.h).  Call it
 * before ra_sim_run(), for an unfolded graph.
 */
gboolean ra_sim_use_network(RaSim *sim, const RaEstimator *estimator,
                            GError **error);

/* (nullable): the flows, %NULL without ra_sim_use_network(). */
const RaFlows *ra_sim_flows(const RaSim *sim);

/* TRUE if @task has steps: a program, at op fidelity. */
gboolean ra_sim_has_steps(const RaSim *sim, RaTaskId task);

/* Costs of the tasks by cause, (n_tasks); total_s is the duration.  At op
 * fidelity they are valid after ra_sim_run(). */
const RaCost *ra_sim_costs(const RaSim *sim);

/* (transfer none): result, after a successful ra_sim_run(). */
const RaSimResult *ra_sim_result(const RaSim *sim);

void ra_sim_free(RaSim *sim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSim, ra_sim_free)

#endif
