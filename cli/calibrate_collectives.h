/* The collectives of the GPUs of all processes, measured. */
#ifndef RA_CLI_CALIBRATE_COLLECTIVES_H
#define RA_CLI_CALIBRATE_COLLECTIVES_H

#include "exec/accelerator.h"

/* As they were typed; nullable but for @device. */
typedef struct {
  const RaAccelerator *device;
  const char *gpu;     /* class of GPU, whose profile is the base */
  const char *refit;   /* the base */
  const char *cluster; /* whose NICs join the nodes */
  const char *ranks;   /* GPUs of all processes */
  const char *largest; /* size that is measured */
  gboolean quick;
  const char *output; /* the profile */
} RaCalibrateCollectives;

/**
 * ra_calibrate_collectives:
 * @error: as ra_collective_probe_meet(), ra_collective_probe(); of the files
 *
 * By all processes; the first writes what was measured beside the profile, and
 * the profile: the base with the laws of links that it determines.
 */
gboolean ra_calibrate_collectives(const RaCalibrateCollectives *what,
                                  GError **error);

#endif
