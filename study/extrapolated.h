/* What of a plan's works the profile's measurements do not reach. */
#ifndef RA_STUDY_EXTRAPOLATED_H
#define RA_STUDY_EXTRAPOLATED_H

#include "estimator/estimator.h"
#include "graph/task.h"

/**
 * ra_extrapolated:
 *
 * @profile: of @estimator
 *
 * The main laws of @profile that are another GPU's, with the error of such a
 * transfer, and the furthest use of each law and axis beyond its table among
 * the op lists of
 * @graph's works (ra_estimator_outside()), and the laws among theirs that
 * nobody has measured; the steps of a generation, whose
 * lengths grow as they run, are not looked at.
 *
 * Returns: (transfer full): "gemm.bf16 m 131072 (measured to 32768); ...;
 * assumed, not measured: memory.other", "" for nothing
 */
char *ra_extrapolated(const RaProfile *profile, const RaEstimator *estimator,
                      const RaTaskGraph *graph);

#endif
