/* Base profile of a calibration, and the display of a fit. */
#ifndef RA_CLI_CALIBRATE_BASE_H
#define RA_CLI_CALIBRATE_BASE_H

#include "exec/accelerator.h"
#include "traces/profile.h"

typedef struct {
  char *path;         /* owned */
  char *text;         /* owned */
  RaProfile *profile; /* owned */
} RaCalibrateBase;

/**
 * ra_calibrate_base_load:
 * @gpu: (nullable): class of GPU, whose profile is loaded
 * @refit: (nullable): the profile
 * @device: (nullable): device whose profile is loaded if neither is given
 * @error: %RA_ERROR_INPUT: no profile of that name, or of that device
 */
gboolean ra_calibrate_base_load(const char *gpu, const char *refit,
                                const RaAccelerator *device,
                                RaCalibrateBase *out, GError **error);
void ra_calibrate_base_clear(RaCalibrateBase *base);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaCalibrateBase, ra_calibrate_base_clear)

/* Shows the law being fitted, on a terminal. */
void ra_calibrate_show_law(const char *law);

/* Prints notes (element-type utf8), a line each, on standard error. */
void ra_calibrate_print_notes(const GPtrArray *notes);

#endif
