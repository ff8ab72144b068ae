/* A generate call as a service that does not wait for training, in a plan.
 *
 *     [call actor_generate]
 *     service = none              drain | interrupt | in-flight: how a replica
 *                                 takes a new version (sim/generate/service.h)
 *     sync-interval = 1           training calls from one version that it gets
 *                                 to the next
 *
 * With continuous batching on GPUs of its own, `staleness` of 1 at least, edges
 * that are whole, and residency release (versions are pushed as they are
 * trained, into a second copy).
 */
#ifndef RA_GRAPH_INPUT_PLAN_SERVICE_H
#define RA_GRAPH_INPUT_PLAN_SERVICE_H

#include "graph/input/plan.h"

typedef enum {
  RA_SERVICE_NONE, /* a batch an iteration */
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

/* Whether what training writes in @iteration goes to the layout of @call. */
static inline gboolean
ra_plan_is_synced(const RaCallPlan *call, uint32_t iteration)
{
  return (iteration + 1) % ra_plan_sync_interval(call) == 0;
}

/**
 * ra_plan_version:
 * @call: of a plan, with @staleness in the workload
 * @out_made: (out): iteration whose training wrote what @call of @iteration
 *   must have
 *
 * With i versions (i + staleness + 1) s iterations may be generated, s the
 * sync interval: iteration k needs i >= (k + 1) / s - 1 - staleness, which is
 * written in iteration i s - 1.  With s = 1, k - 1 - staleness.
 *
 * Returns: %FALSE: what it began with will do
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

/* The last iteration that may run on version @version (-1: the first). */
static inline int64_t
ra_plan_last_reader(const RaCallPlan *call, uint32_t staleness, int64_t version)
{
  return version +
         (int64_t)ra_plan_sync_interval(call) * (1 + (int64_t)staleness);
}

/* FALSE with @error set, `file:line: ...`. */
gboolean ra_plan_check_service(const RaPlan *plan, GError **error);

#endif
