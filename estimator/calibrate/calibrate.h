/* Calibration: a profile from a folder of measurements, or from rows of traces.
 *
 * Reads the data sheet and every known kind of rows below the folder
 * (traces/measured.h), fits each law and its table (estimator/fit.h), measures
 * the held-out error and writes the text of the profile.  Rows far from their
 * law are kept, counted in the profile and reported.  Deterministic.
 *
 *     const char *data[] = {"../shared/data", NULL};
 *     g_autoptr(RaCalibration) c = ra_calibrate(data, "h100-sxm", NULL, 0,
 *                                               NULL, NULL, &error);
 *     ra_file_write("h100-sxm.profile", c->text->str, c->text->len, &error);
 */
#ifndef RA_ESTIMATOR_CALIBRATE_CALIBRATE_H
#define RA_ESTIMATOR_CALIBRATE_CALIBRATE_H

#include <glib.h>

#include "estimator/calibrate/gpu.h"
#include "traces/measured.h"
#include "traces/profile.h"
#include "traces/trace.h"

typedef struct {
  GString *text;    /* text of the profile */
  GPtrArray *notes; /* (char *) notes for the user, a line each */
} RaCalibration;

/* Called with each law before its fit; may be NULL. */
typedef void (*RaCalibrateProgress)(const char *law);

/**
 * ra_calibrate:
 * @data: (array zero-terminated=1): folders of measurements, laid out like the
 *   project's; rows of one kind are taken together
 * @gpu: class of GPU, "h100-sxm"
 * @bases: (array length=n_bases): profiles of other classes, from which laws
 *   without rows of @gpu are transferred by data sheet
 *   (estimator/calibrate/transfer.h): each from the first that fitted it on its
 *   own rows, else from the first that has it
 * @more: (nullable) (element-type RaMeasured): rows of traces, fitted together
 *   with the folder's
 * @progress: (nullable): called before each law
 * @error: %RA_ERROR_INPUT: an unknown GPU, no data sheet, no rows of a law that
 *   a profile must have, or `file:line: ...` for a malformed number
 *
 * Cost: about 10 s for 70,000 rows.
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_calibrate(const char *const *data, const char *gpu,
                            RaProfile *const *bases, guint n_bases,
                            const GArray *more, RaCalibrateProgress progress,
                            GError **error);

/**
 * ra_calibrate_rows:
 * @name: name of the profile's file, for messages
 * @text: text of a profile: its data sheet, and laws, which stay as they are if
 *   @rows do not determine them; it may have no laws
 * @gpu: (nullable): gives the multiprocessors of laws that @text lacks; %NULL:
 *   the GPU of @text
 * @rows: (element-type RaMeasured): rows of traces (traces/measured_trace.h) or
 *   of a probe
 * @beside: (nullable) (element-type RaMeasuredOverlap): overlapped ops of
 * traces
 * @source: description of the rows, for the profile
 * @progress: (nullable): called before each law
 * @error: %RA_ERROR_INPUT: an error of the text, `name:line: ...`; a law that a
 *   profile must have is neither in the text nor in the rows
 *
 * The profile with a new fit of every law that @rows determine, which needs at
 * least as many ops as coefficients.  In the law of a collective, only numbers
 * of GPUs that have rows are fitted.  The search starts from the coefficients
 * of
 * @text and from the law's own start.  Tables and held-out errors are as for a
 * folder, statistics to 1e-9.  @beside determines coefficients of the overlap
 * law of a GPU that have ten samples each.
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_calibrate_rows(const char *name, const char *text,
                                 const RaGpu *gpu, const GArray *rows,
                                 const GArray *beside, const char *source,
                                 RaCalibrateProgress progress, GError **error);

/**
 * ra_calibrate_merge_rows:
 * @name: name of the profile's file, for messages
 * @text: text of a profile
 * @rows: as above
 * @source: as above
 * @error: an error of the text: `name:line: ...`
 *
 * The profile with the new rows added to its tables, its counts of rows and its
 * sources.  The number, mean and deviation of each cell become those of old and
 * new samples together; rows of runs move means as far as runs differ
 * (ra_fit_refit()).  Laws and held-out errors stay those of the old fit.  Rows
 * of laws without a table are left out, with a note.  If rows of runs would
 * move the sum of their ops away from the measurements, the profile stays
 * unchanged, with a note.
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_calibrate_merge_rows(const char *name, const char *text,
                                       const GArray *rows, const char *source,
                                       GError **error);

/**
 * ra_calibrate_folder_rows:
 * @data: (array zero-terminated=1): folders of measurements; missing kinds of
 *   rows are skipped
 * @gpu: class of GPU of the rows
 * @rows: (element-type RaMeasured): appended to
 * @error: as ra_calibrate()
 *
 * Reads the rows of every law.
 */
gboolean ra_calibrate_folder_rows(const char *const *data, const char *gpu,
                                  GArray *rows, GError **error);

/**
 * ra_calibrate_trace_rows:
 * @path: path of a trace; .json: from PyTorch's profiler (traces/kineto.h);
 *   .log: from nccl-tests (traces/nccl_log.h)
 * @rows: (element-type RaMeasured): appended to
 * @beside: (nullable) (element-type RaMeasuredOverlap): appended to, unless the
 *   trace is simulated
 * @notes: (element-type utf8): rows left out and outliers, appended to
 * @error: as ra_trace_load(), ra_measured_trace(); a trace without ops
 */
gboolean ra_calibrate_trace_rows(const char *path, GArray *rows, GArray *beside,
                                 GPtrArray *notes, GError **error);

/* The same for a trace in memory; @path is its name. */
gboolean ra_calibrate_trace(const RaTrace *trace, const char *path,
                            GArray *rows, GArray *beside, GPtrArray *notes,
                            GError **error);

/**
 * ra_calibrate_check_host:
 * @path: path of a trace
 * @name: name of a profile's file
 * @text: text of the profile
 * @error: %RA_ERROR_INPUT: the trace is of a host (from `reallot run`) and the
 *   profile of a GPU; or the trace is of a GPU (a run there, PyTorch's profiler
 *   with kernels, a log of nccl-tests) and the profile of a host; or an error
 *   of either reader
 *
 * The times of a host tell nothing about a GPU, and the reverse.
 *
 * Returns: %TRUE if the profile can use the rows of the trace
 */
gboolean ra_calibrate_check_host(const char *path, const char *name,
                                 const char *text, GError **error);

void ra_calibration_free(RaCalibration *calibration);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCalibration, ra_calibration_free)

#endif
