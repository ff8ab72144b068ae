/* Calibration of a GPU of this machine: samples of its ops, and the profile
 * that they make of a profile that is there.
 *
 * Samples are those of a planned grid (exec/measure/probe_plan.h), measured
 * through the table of functions that a run computes with
 * (exec/measure/probe.h), and kept as those of a host are
 * (study/run/samples.h). Laws that they determine are fitted anew, with tables
 * and held-out errors (estimator/calibrate/calibrate.h); the data sheet, links
 * to other GPUs and what else one GPU cannot say stay those of the base.
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
  const char *command;           /* what a person typed */
  const RaProfile *base;         /* borrowed: what the plan's seconds are of */
  gboolean quick;                /* 20 s, no shapes between */
  guint n_most;                  /* points to measure now, at most; 0: all */
  RaSampleProgress progress;     /* (nullable): before every point */
  gpointer progress_data;
} RaGpuOptions;

/**
 * ra_gpu_plan:
 * @machine: (nullable): whose pools and caches; %NULL: an H100's
 * @out_tally: (out)
 * @error: as ra_estimator_new()
 *
 * Returns: (transfer full) (element-type RaProbePlanned): what would be
 *   measured
 */
GArray *ra_gpu_plan(const RaProfile *base, const RaProbeMachine *machine,
                    gboolean quick, RaProbePlanTally *out_tally,
                    GError **error);

/* Rows a kind of @plan: op, points, launches, seconds; and their sum. */
void ra_gpu_plan_write(const GArray *plan, const RaProbePlanTally *tally,
                       GString *out);

/**
 * ra_gpu_samples:
 * @path: (nullable): where samples are kept
 * @error: as ra_samples_take(), ra_gpu_plan()
 *
 * Stops where the plan's seconds are over, with what there is; a second start
 * goes on.
 *
 * Returns: (transfer full): all of them
 */
RaTrace *ra_gpu_samples(const RaGpuOptions *options, const char *path,
                        RaSampleTally *out_tally, GError **error);

/**
 * ra_gpu_profile:
 * @samples: of ra_gpu_samples()
 * @name: of their file
 * @base_name: of the base's file
 * @base: its text
 * @progress: (nullable): before each law
 * @error: as ra_calibrate_rows(); a head that lacks a number
 *
 * Returns: (transfer full): %NULL on error
 */
RaCalibration *ra_gpu_profile(const RaTrace *samples, const char *name,
                              const char *base_name, const char *base,
                              RaCalibrateProgress progress, GError **error);

#endif
