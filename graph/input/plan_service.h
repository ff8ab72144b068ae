/* Rollout service in a plan: a generate call that does not wait for training.
 *
 *     [call actor_generate]
 *     service = none              drain | interrupt | in-flight: refit of a
 *                                 replica (sim/generate/service.h)
 *     sync-interval = 1           training calls from one version that it
 *                                 receives to the next
 *
 * A service needs continuous batching on GPUs of its own, `staleness` of at
 * least 1, edges without chunks, and residency release: training pushes each
 * version into a second copy.
 */
#ifndef RA_GRAPH_INPUT_PLAN_SERVICE_H
#define RA_GRAPH_INPUT_PLAN_SERVICE_H

#include "graph/input/plan.h"

typedef enum {
  RA_SERVICE_NONE, /* one batch per iteration */
  RA_SERVICE_DRAIN,
  RA_SERVICE_INTERRUPT,
  RA_SERVICE_IN_FLIGHT
} RaServiceRefit;

extern const char *const ra_service_words[];

/* Training calls from one version to the next, >= 1. */
static inline uint32_t
ra_plan_sync_interval(const RaCallPlan *call)
{
  return call->sync_interval > 1 ? call->sync_interval : 1;
}

/* TRUE if the layout of @call receives what training writes in @iteration. */
static inline gboolean
ra_plan_is_synced(const RaCallPlan *call, uint32_t iteration)
{
  return (iteration + 1) % ra_plan_sync_interval(call) == 0;
}

/**
 * ra_plan_version:
 * @call: call of a plan, which has @staleness in the workload
 * @out_made: (out): iteration whose training writes the version that @call of
 *   @iteration needs at least
 *
 * With i versions, (i + staleness + 1) s iterations may be generated, where s
 * is the sync interval.  Iteration k thus needs i >= (k + 1) / s - 1 -
 * staleness; training writes that version in iteration i s - 1.  With s = 1 it
 * is k - 1 - staleness.
 *
 * Returns: %FALSE if the initial version suffices
 */
static inline gboolean
ra_plan_version(const RaCallPlan *call, uint32_t staleness, uint32_t iteration,
                uint32_t *out_made)
{
  uint32_t s = ra_plan_sync_interval(call), most = iteration / s;

  /* ceil((k + 1) / s) - 1 = floor(k / s) */
  if (most <= staleness)
    return FALSE;
  *out_made = (most - staleness) * s - 1;
  return TRUE;
}

/* Last iteration that may run on the version written in iteration @version; -1:
 * the initial version. */
static inline int64_t
ra_plan_last_reader(const RaCallPlan *call, uint32_t staleness, int64_t version)
{
  return version +
         (int64_t)ra_plan_sync_interval(call) * (1 + (int64_t)staleness);
}

/* Returns FALSE and sets @error, `file:line: ...`, if a need of a service that
 * the file's head names is not met. */
gboolean ra_plan_check_service(const RaPlan *plan, GError **error);

#endif
