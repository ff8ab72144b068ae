/* The profile that what was measured here goes into, and how a fit is shown. */
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
 * @gpu: (nullable): class of GPU, whose profile it is
 * @refit: (nullable): the profile
 * @device: (nullable): that it is for, where neither is given
 * @error: %RA_ERROR_INPUT: no profile of that name, of that device
 */
gboolean ra_calibrate_base_load(const char *gpu, const char *refit,
                                const RaAccelerator *device,
                                RaCalibrateBase *out, GError **error);
void ra_calibrate_base_clear(RaCalibrateBase *base);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaCalibrateBase, ra_calibrate_base_clear)

/* The law being fitted, where a person watches. */
void ra_calibrate_show_law(const char *law);

/* (element-type utf8), a line each on standard error. */
void ra_calibrate_print_notes(const GPtrArray *notes);

#endif
