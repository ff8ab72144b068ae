/* Resource of a run, as changes of its files: the `--set` arguments that scale
 * it.
 *
 *     if (ra_resource_change(&ra_resources[i], setup, 2, sets, NULL))
 *       ... sets has "device.memory-bandwidth=6.7e+12 B/s" ...
 *
 * study/sweep/sensitivity.h lists the resources.
 */
#ifndef RA_STUDY_SWEEP_RESOURCE_H
#define RA_STUDY_SWEEP_RESOURCE_H

#include "study/setup.h"

typedef struct _RaResource RaResource;

/* Adds changes (owned texts) that scale the resource, and formats its present
 * value (owned, nullable). FALSE: the setup has none of it. */
typedef gboolean (*RaResourceChange)(const RaSetup *setup, double scale,
                                     GPtrArray *sets, char **out_now);

struct _RaResource {
  const char *name;  /* "hbm" */
  const char *title; /* "bandwidth of GPU memory" */
  RaResourceChange change;
  gboolean at_op; /* has an effect at op fidelity only */
};

#define RA_N_RESOURCES 12

extern const RaResource ra_resources[RA_N_RESOURCES];

/**
 * ra_resource_stragglers:
 * @seed: seed of the run
 * @scale: > 0
 *
 * Changes `stragglers`: scales them if there are any; otherwise, for a @scale
 * above 1, sets the share at which exactly one GPU is slower.
 *
 * Returns: %FALSE: there are none, and less is not possible
 */
gboolean ra_resource_stragglers(const RaSetup *setup, uint64_t seed,
                                double scale, GPtrArray *sets);

#endif
