/* Curves of a study: points that differ only along one axis.
 *
 *     for (guint c = 0; c < ra_study_n_curves(study); c++)
 *       for (guint v = 0; v < study->axes[study->along].n_values; v++)
 *         use(&sweep->points[ra_study_curve_point(study, c, v)]);
 */
#ifndef RA_STUDY_SWEEP_CURVE_H
#define RA_STUDY_SWEEP_CURVE_H

#include "study/sweep/study.h"

/* The axis along which curves run. */
const RaStudyAxis *ra_study_along(const RaStudy *study);

/* Number of curves of @study, >= 1. */
guint ra_study_n_curves(const RaStudy *study);

/* The point of @curve at value @v of the axis along which it runs. */
guint ra_study_curve_point(const RaStudy *study, guint curve, guint v);

/* The curve that @point is on. */
guint ra_study_curve_of(const RaStudy *study, guint point);

/* Name of a curve (transfer full): "placement real, gpu h200-sxm"; "" if there
 * is only one. */
char *ra_study_curve_name(const RaStudy *study, guint curve);

#endif
