/* A resource of a run, as changes of its files: what `--set` would have to say
 * for there to be so much more or less of it.
 *
 *     if (ra_resource_change(&ra_resources[i], setup, 2, sets, NULL))
 *       ... sets has "device.memory-bandwidth=6.7e+12 B/s" ...
 *
 * study/sweep/sensitivity.h says which there are.
 */
#ifndef RA_STUDY_SWEEP_RESOURCE_H
#define RA_STUDY_SWEEP_RESOURCE_H

#include "study/setup.h"

typedef struct _RaResource RaResource;

/* Adds changes (owned texts) that scale the resource, and says what it is now
 * (owned, nullable); FALSE: the setup has none of it. */
typedef gboolean (*RaResourceChange)(const RaSetup *setup, double scale,
                                     GPtrArray *sets, char **out_now);

struct _RaResource {
  const char *name;  /* "hbm" */
  const char *title; /* "bandwidth of GPU memory" */
  RaResourceChange change;
  gboolean at_op; /* counts at op fidelity alone */
};

#define RA_N_RESOURCES 12

extern const RaResource ra_resources[RA_N_RESOURCES];

/**
 * ra_resource_stragglers:
 * @seed: of the run
 * @scale: > 0
 *
 * The change of `stragglers`: scaled where there are any; else, for a @scale of
 * more than 1, the share below which one GPU lies.
 *
 * Returns: %FALSE: there are none, and less cannot be
 */
gboolean ra_resource_stragglers(const RaSetup *setup, uint64_t seed,
                                double scale, GPtrArray *sets);

#endif
