/* Calibration of this machine's GPU. */
#ifndef RA_CLI_CALIBRATE_GPU_H
#define RA_CLI_CALIBRATE_GPU_H

#include "exec/accelerator.h"

typedef struct {
  const RaAccelerator *device; /* NULL: only the plan is printed */
  gboolean quick;
  const char *gpu;    /* (nullable): class of GPU, whose profile is the base */
  const char *refit;  /* (nullable): the base */
  const char *output; /* (nullable): the profile; NULL: stdout */
} RaCalibrateGpu;

/**
 * ra_calibrate_gpu:
 * @error: as ra_gpu_samples(); %RA_ERROR_INPUT: no base
 */
gboolean ra_calibrate_gpu(const RaCalibrateGpu *what, GError **error);

#endif
