/* Fit of a training system's constants to at most three of its runs.
 *
 * The convention (study/validate/train_run.h) lists the constants of a system.
 * The runs for the fit are chosen without looking at their measured times.
 * Each constant's share of a run's seconds, d ln(seconds) / d ln(constant) at
 * the start values, is known from simulation alone.  Constant j gets the run at
 * the 90th percentile of its share among the allowed runs.  Remaining points
 * are the median and the 10th percentile of the first constant's share.
 *
 *     RaTrainFit *fit = ra_train_fit_new(cases, n, profile, &error);
 *     ra_train_fit(fit, NULL, &constants, NULL);
 *     use(ra_train_fit_s(fit, 0, &constants));
 *
 * Typical sizes: 6 to 900 runs; a fit simulates 3 runs 200 times, 0.1 s, and is
 * cached by its points.
 */
#ifndef RA_STUDY_VALIDATE_TRAIN_FIT_H
#define RA_STUDY_VALIDATE_TRAIN_FIT_H

#include "study/validate/train_run.h"

#define RA_TRAIN_POINTS 3 /* most that constants are fitted on */

/* A run of the system to be fitted. */
typedef struct {
  const RaTrainRow *row; /* borrowed */
  RaTrainRun *run;       /* borrowed */
  gboolean fit;          /* may be a point */
} RaTrainCase;

typedef struct _RaTrainFit RaTrainFit;

/**
 * ra_train_fit_new:
 * @cases: (array length=n): of one convention and GPU; borrowed
 * @profile: of the GPU; borrowed
 *
 * Returns: (transfer full): free with ra_train_fit_free()
 */
RaTrainFit *ra_train_fit_new(const RaTrainCase *cases, guint n,
                             const RaProfile *profile, GError **error);
void ra_train_fit_free(RaTrainFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTrainFit, ra_train_fit_free)

/**
 * ra_train_fit:
 * @left_out: (nullable) (array length=n): cases that may not be points
 * @out_constants: (out): the convention's constants fitted, the rest neutral
 * @out_points: (nullable) (array length=RA_TRAIN_POINTS): the cases used
 *
 * Minimises the sum of |ln(simulated / measured)| over the points by
 * ra_robust_search(), which is deterministic.  With fewer constants than
 * points, a single bad run does not decide the fit.
 *
 * Returns: number of points; 0: no case may be used, and the constants are the
 * start values
 */
guint ra_train_fit(RaTrainFit *fit, const gboolean *left_out,
                   RaSystemConstants *out_constants, guint *out_points);

/* Seconds of case @index under @constants. */
double ra_train_fit_s(const RaTrainFit *fit, guint index,
                      const RaSystemConstants *constants);

#endif
