/* Calibration of the collectives of all processes' GPUs. */
#ifndef RA_CLI_CALIBRATE_COLLECTIVES_H
#define RA_CLI_CALIBRATE_COLLECTIVES_H

#include "exec/accelerator.h"

/* Options as typed; nullable except @device. */
typedef struct {
  const RaAccelerator *device;
  const char *gpu;     /* class of GPU, whose profile is the base */
  const char *refit;   /* the base */
  const char *cluster; /* cluster whose NICs connect the nodes */
  const char *ranks;   /* number of GPUs of all processes */
  const char *largest; /* largest message size to measure */
  gboolean quick;
  const char *output; /* the profile */
} RaCalibrateCollectives;

/**
 * ra_calibrate_collectives:
 * @error: as ra_collective_probe_meet(), ra_collective_probe(); errors of the
 *   files
 *
 * Called by all processes.  Process 0 writes the samples next to the profile,
 * and the profile: the base with the link laws that the samples determine.
 */
gboolean ra_calibrate_collectives(const RaCalibrateCollectives *what,
                                  GError **error);

#endif
