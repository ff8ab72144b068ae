/* The discrete-event simulator: replays a task graph against an estimator.
 *
 * Events are ordered by (time, sequence number), never by an epsilon.  A task
 * starts when its last predecessor has ended (queues stand in the graph
 * as edges, see graph/expand/task.h), and ends after its duration, which is
 * longer where computation and communication run on one GPU (sim/interfere.h).
 * Sequence numbers are given in the order in which tasks become ready; tasks
 * that become ready by one event get theirs in the order of the graph's edges.
 *
 *     RaSim *sim = ra_sim_new(graph, estimator, &error);
 *     if (ra_sim_run(sim, &error)) ... ra_sim_result(sim)
 *
 * Cost: O(tasks log ready + edges); 10^6 tasks take less than 0.5 s.
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
  double *iteration_end_s; /* (n_iterations) when the last call of each has
                              ended; that its parameters then move on to the
                              calls that wait for them is not counted */
  double *begin_s;         /* (n_tasks) */
  double *end_s;           /* (n_tasks) */
  double *added_s; /* (n_tasks) of end_s - begin_s, what interference or, of a
                      flow, contention has added to the task's cost; NULL:
                      nothing to any */
  double *late_s;  /* (n_tasks) of added_s, what contention has; NULL: without
                      flows */
  RaTaskId *critical_pred; /* (n_tasks) the predecessor that ended last (least
                              id on a tie: ra_critical_tasks() has a rule that
                              folding keeps), RA_NONE: none */
  uint64_t fingerprint; /* of the event sequence: order, names, times to 1 ns */
  uint64_t n_events;    /* ends processed: n_tasks; at op fidelity a task with a
                           program counts as its steps */
} RaSimResult;

/* Seconds that interference has added to @task; 0 where there is none. */
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
 * Computes the duration of every task: from its work by the estimator, of a
 * decode task by replaying its replica's generation (sim/generate/decode.h), of
 * a call-fidelity task by simulating the call alone at stage fidelity
 * (sim/call.h), at op fidelity by replaying its steps (sim/op_replay.h) when it
 * starts.
 */
RaSim *ra_sim_new(const RaTaskGraph *graph, const RaEstimator *estimator,
                  GError **error);

/* As ra_sim_new() with the durations given, (n_tasks) seconds >= 0, for tests
 * and benchmarks. */
RaSim *ra_sim_new_with_durations(const RaTaskGraph *graph,
                                 const double *duration_s);

/* As ra_sim_new() with the costs given, (n_tasks). */
RaSim *ra_sim_new_with_costs(const RaTaskGraph *graph, const RaCost *costs);

/* (nullable): of a plan with a rollout service; owned by @sim. */
const RaServiceReport *ra_sim_service(const RaSim *sim);

/**
 * ra_sim_run:
 * @error: %RA_ERROR_INPUT: the graph has a cycle, so some tasks never start:
 * names one of them
 */
gboolean ra_sim_run(RaSim *sim, GError **error);

/* Before ra_sim_run(): @visit is called for every step, task by task in the
 * order in which they start.  Nothing below op fidelity. */
void ra_sim_set_visit(RaSim *sim, RaOpVisit visit, void *data);

/**
 * ra_sim_use_network:
 * @estimator: as in ra_sim_new(); borrowed
 * @error: as ra_flows_new()
 *
 * Before ra_sim_run(), of an unfolded graph: communication is flows over the
 * cluster's links (sim/flows.h).
 */
gboolean ra_sim_use_network(RaSim *sim, const RaEstimator *estimator,
                            GError **error);

/* (nullable): the flows, %NULL without ra_sim_use_network(). */
const RaFlows *ra_sim_flows(const RaSim *sim);

/* Whether @task has steps: a program, at op fidelity. */
gboolean ra_sim_has_steps(const RaSim *sim, RaTaskId task);

/* (n_tasks) costs of the tasks by cause; total_s is the duration.  At op
 * fidelity after ra_sim_run(). */
const RaCost *ra_sim_costs(const RaSim *sim);

/* After a successful ra_sim_run(); owned by @sim. */
const RaSimResult *ra_sim_result(const RaSim *sim);

void ra_sim_free(RaSim *sim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSim, ra_sim_free)

#endif
