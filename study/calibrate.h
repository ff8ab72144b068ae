/* Calibration: a profile from a folder of measurements.
 *
 * Reads the data sheet and every kind of rows that it knows below the folder
 * (traces/measured.h), fits each law and its table (estimator/fit.h), measures
 * the held-out error and writes the profile's text.  Rows that lie far from
 * their law are kept, counted in the profile and reported.  Deterministic.
 *
 *     g_autoptr(RaCalibration) c =
 *         ra_calibrate("../shared/data", "h100-sxm", NULL, 0, NULL, &error);
 *     ra_file_write("h100-sxm.profile", c->text->str, c->text->len, &error);
 */
#ifndef RA_STUDY_CALIBRATE_H
#define RA_STUDY_CALIBRATE_H

#include <glib.h>

#include "traces/profile.h"

typedef struct {
  GString *text;    /* of the profile */
  GPtrArray *notes; /* (char *) what a person should know, a line each */
} RaCalibration;

/* Tells of each law as it is fitted; may be NULL. */
typedef void (*RaCalibrateProgress)(const char *law);

/**
 * ra_calibrate:
 * @data: folder of measurements, laid out like the project's
 * @gpu: "h100-sxm": its class of GPU
 * @bases: (array length=n_bases): profiles of other classes, from which laws
 *   without rows of @gpu are transferred by data sheet (study/transfer.h): each
 *   from the first that has it of its own rows, else from the first that has it
 * @progress: (nullable): called before each law
 * @error: %RA_ERROR_INPUT: an unknown GPU, no data sheet or no rows of a law
 *   that a profile must have, `file:line: ...` for a field that is no number
 *
 * Cost: about 10 s for 70,000 rows.
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_calibrate(const char *data, const char *gpu,
                            RaProfile *const *bases, guint n_bases,
                            RaCalibrateProgress progress, GError **error);

/**
 * ra_calibrate_merge:
 * @path: of the profile that is there
 * @data: folder of new measurements; kinds of rows that it lacks are left alone
 * @gpu: as above: whose rows
 * @error: as above; of the profile: `file:line: ...`
 *
 * The profile as it is, with the new rows added to its tables and to its
 * counts of rows; laws and held-out errors stay those of the old fit.
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_calibrate_merge(const char *path, const char *data,
                                  const char *gpu, GError **error);
void ra_calibration_free(RaCalibration *calibration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCalibration, ra_calibration_free)

#endif
