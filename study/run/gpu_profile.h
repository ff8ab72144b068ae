/* GPU calibration: samples of this machine's GPU, and the profile that results
 * from them and a base profile.
 *
 * A plan chooses the grid of samples (exec/measure/probe_plan.h). They are
 * measured through the same function table that a run computes with
 * (exec/measure/probe.h), and stored as a host's are (study/run/samples.h).
 * Laws that the samples determine are fitted anew, with tables and held-out
 * errors (estimator/calibrate/calibrate.h). The data sheet, the links to other
 * GPUs and whatever one GPU cannot show remain those of the base.
 *
 *     g_autoptr(RaTrace) samples =
 *         ra_gpu_samples(&options, "mine.samples.trace.tsv", &tally, &error);
 *     g_autoptr(RaCalibration) profile = ra_gpu_profile(
 *         samples, "mine.samples.trace.tsv", "h100-sxm.profile", text, NULL,
 *         &error);
 */
#ifndef RA_STUDY_RUN_GPU_PROFILE_H
#define RA_STUDY_RUN_GPU_PROFILE_H

#include "estimator/calibrate/calibrate.h"
#include "exec/measure/probe_plan.h"
#include "study/run/samples.h"

typedef struct {
  const RaProbeMachine *machine; /* borrowed */
  const char *name;              /* "NVIDIA H100 80GB HBM3" */
  const char *software;          /* driver and libraries */
  const char *command;           /* command line as typed */
  const RaProfile *base;     /* borrowed: predicts the seconds of the plan */
  gboolean quick;            /* 20 s, without intermediate shapes */
  guint n_most;              /* upper limit of new points; 0: none */
  RaSampleProgress progress; /* (nullable): before every point */
  gpointer progress_data;
} RaGpuOptions;

/**
 * ra_gpu_plan:
 * @machine: (nullable): machine whose pools and caches count; %NULL: an H100's
 * @out_tally: (out): sums over the plan
 * @error: as ra_estimator_new()
 *
 * Returns: (transfer full) (element-type RaProbePlanned): the points to measure
 */
GArray *ra_gpu_plan(const RaProfile *base, const RaProbeMachine *machine,
                    gboolean quick, RaProbePlanTally *out_tally,
                    GError **error);

/* Appends a row per kind of @plan (op, points, launches, seconds) and their
 * sum. */
void ra_gpu_plan_write(const GArray *plan, const RaProbePlanTally *tally,
                       GString *out);

/**
 * ra_gpu_samples:
 * @path: (nullable): file of the samples
 * @error: as ra_samples_take(), ra_gpu_plan()
 *
 * Stops when the plan's seconds are over and returns the samples so far; a
 * second start continues.
 *
 * Returns: (transfer full): all samples
 */
RaTrace *ra_gpu_samples(const RaGpuOptions *options, const char *path,
                        RaSampleTally *out_tally, GError **error);

/**
 * ra_gpu_profile:
 * @samples: from ra_gpu_samples()
 * @name: name of their file
 * @base_name: name of the base's file
 * @base: text of the base
 * @progress: (nullable): called before each law
 * @error: as ra_calibrate_rows(); a head that lacks a number
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_gpu_profile(const RaTrace *samples, const char *name,
                              const char *base_name, const char *base,
                              RaCalibrateProgress progress, GError **error);

#endif
