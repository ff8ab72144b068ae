/* Calibration: a profile from a folder of measurements, or from rows of traces.
 *
 * Reads the data sheet and every kind of rows that it knows below the folder
 * (traces/measured.h), fits each law and its table (estimator/fit.h), measures
 * the held-out error and writes the profile's text.  Rows that lie far from
 * their law are kept, counted in the profile and reported.  Deterministic.
 *
 *     g_autoptr(RaCalibration) c =
 *         ra_calibrate("../shared/data", "h100-sxm", NULL, 0, NULL, NULL,
 * &error); ra_file_write("h100-sxm.profile", c->text->str, c->text->len,
 * &error);
 */
#ifndef RA_ESTIMATOR_CALIBRATE_CALIBRATE_H
#define RA_ESTIMATOR_CALIBRATE_CALIBRATE_H

#include <glib.h>

#include "estimator/calibrate/gpu.h"
#include "traces/measured.h"
#include "traces/profile.h"
#include "traces/trace.h"

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
 *   without rows of @gpu are transferred by data sheet
 *   (estimator/calibrate/transfer.h): each
 *   from the first that has it of its own rows, else from the first that has it
 * @more: (nullable) (element-type RaMeasured): rows of traces, fitted together
 *   with the folder's
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
                            const GArray *more, RaCalibrateProgress progress,
                            GError **error);

/**
 * ra_calibrate_rows:
 * @name: of the profile's file, for messages
 * @text: of a profile: its data sheet, and laws that stay as they are where
 *   @rows say nothing of them; it may have none
 * @gpu: (nullable): for the multiprocessors of laws that @text lacks; %NULL:
 *   the one that @text is of
 * @rows: (element-type RaMeasured): of traces (traces/measured_trace.h), of a
 *   probe
 * @beside: (nullable) (element-type RaMeasuredOverlap): of traces
 * @source: what they are, for the profile
 * @progress: (nullable): called before each law
 * @error: %RA_ERROR_INPUT: of the text, `name:line: ...`; a law that a profile
 *   must have is in neither
 *
 * The profile with every law fitted anew that @rows determine: at least as many
 * ops as coefficients.  Of a collective's law only the numbers of GPUs that
 * were met.  Searched from the coefficients that are there and from the law's
 * own start; tables and held-out errors as of a folder, statistics to 1e-9.  Of
 * the overlap law of a GPU what @beside determines: for each coefficient ten
 * samples.
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_calibrate_rows(const char *name, const char *text,
                                 const RaGpu *gpu, const GArray *rows,
                                 const GArray *beside, const char *source,
                                 RaCalibrateProgress progress, GError **error);

/**
 * ra_calibrate_merge_rows:
 * @name: of the profile's file, for messages
 * @text: of a profile
 * @rows: as above
 * @source: as above
 * @error: of the text: `name:line: ...`
 *
 * The profile as it is, with the new rows added to its tables (each cell's
 * number, mean and deviation are then those of old and new samples together;
 * rows of runs move means as far as runs differ, ra_fit_refit()),
 * to its counts of rows and behind its sources; laws and held-out errors stay
 * those of the old fit.  Rows of laws without a table are left out, and told
 * of.  Where rows of runs would move all their ops together further from what
 * was measured, the profile is left as it is, and that is told.
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_calibrate_merge_rows(const char *name, const char *text,
                                       const GArray *rows, const char *source,
                                       GError **error);

/**
 * ra_calibrate_folder_rows:
 * @data: folder of measurements; kinds of rows that it lacks are left alone
 * @gpu: class of GPU whose rows
 * @rows: (element-type RaMeasured): appended to
 * @error: as ra_calibrate()
 *
 * The rows of every law.
 */
gboolean ra_calibrate_folder_rows(const char *data, const char *gpu,
                                  GArray *rows, GError **error);

/**
 * ra_calibrate_trace_rows:
 * @path: of a trace; .json: of PyTorch's profiler (traces/kineto.h); .log: of
 *   nccl-tests (traces/nccl_log.h)
 * @rows: (element-type RaMeasured): appended to
 * @beside: (nullable) (element-type RaMeasuredOverlap): appended to, of what is
 *   not simulated
 * @notes: (element-type utf8): what was left out, and outliers, appended to
 * @error: as ra_trace_load(), ra_measured_trace(); a trace without ops
 */
gboolean ra_calibrate_trace_rows(const char *path, GArray *rows, GArray *beside,
                                 GPtrArray *notes, GError **error);

/* The same of one that is here; @path names it. */
gboolean ra_calibrate_trace(const RaTrace *trace, const char *path,
                            GArray *rows, GArray *beside, GPtrArray *notes,
                            GError **error);

/**
 * ra_calibrate_check_host:
 * @path: of a trace
 * @name: of a profile's file
 * @text: of the profile
 * @error: %RA_ERROR_INPUT: `reallot run` wrote the trace on a host and the
 *   profile is of a GPU, of which a host's seconds say nothing; or it is of a
 *   GPU (run there, PyTorch's profiler with kernels, a log of nccl-tests) and
 *   the profile of a host; or as both readers
 *
 * Returns: whether the trace's rows may go into the profile
 */
gboolean ra_calibrate_check_host(const char *path, const char *name,
                                 const char *text, GError **error);

void ra_calibration_free(RaCalibration *calibration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCalibration, ra_calibration_free)

#endif
