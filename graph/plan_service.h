/* A generate call as a service that does not wait for training, in a plan.
 *
 *     [call actor_generate]
 *     service = none              drain | interrupt | in-flight: how a replica
 *                                 takes a new version (sim/service.h)
 *
 * With continuous batching on GPUs of its own, `staleness` of 1 at least, edges
 * that are whole, and residency release (versions are pushed as they are
 * trained, into a second copy).
 */
#ifndef RA_GRAPH_PLAN_SERVICE_H
#define RA_GRAPH_PLAN_SERVICE_H

#include "graph/plan.h"

typedef enum {
  RA_SERVICE_NONE, /* a batch an iteration */
  RA_SERVICE_DRAIN,
  RA_SERVICE_INTERRUPT,
  RA_SERVICE_IN_FLIGHT
} RaServiceRefit;

extern const char *const ra_service_words[];

/* FALSE with @error set, `file:line: ...`. */
gboolean ra_plan_check_service(const RaPlan *plan, GError **error);

#endif
