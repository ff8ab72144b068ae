/* How an answer would differ if its points were as wrong as the model may be.
 *
 *     RaSpread *spread = ra_spread_new(sweep);
 *     if (spread && ra_spread_values(spread, curve, &low, &high))
 *       printf("%g to %g within the error\n", low, high);
 *     ra_spread_free(spread);
 *
 * The question is asked RA_SPREAD_DRAWS times of points whose iterations take
 * exp(e) times as long, e normal with the standard deviation that gives the
 * point's median error, each point by itself.  Points of one GPU are wrong
 * alike in part, so what compares them is surer than this says.  What a point
 * holds in memory and whether it fits are not varied.  Ranges are of nine draws
 * of ten (quantiles 0.05 and 0.95).  The draws are the same on every machine.
 *
 * Cost: RA_SPREAD_DRAWS answers.
 */
#ifndef RA_STUDY_SWEEP_SPREAD_H
#define RA_STUDY_SWEEP_SPREAD_H

#include "study/sweep/sweep.h"

#define RA_SPREAD_DRAWS 200

typedef struct _RaSpread RaSpread;

/* (transfer full) (nullable): ra_spread_free() it; %NULL: no point has an
 * error. */
RaSpread *ra_spread_new(const RaSweep *sweep);
void ra_spread_free(RaSpread *spread);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSpread, ra_spread_free)

/* Draws in whose answer @point is, as a fraction. */
double ra_spread_share(const RaSpread *spread, guint point);

/* Draws that have an answer, as a fraction. */
double ra_spread_found(const RaSpread *spread);

/* The metric where the answer of @curve is; %RA_NONE: of the first curve of
 * the answer; FALSE: no draw has one. */
gboolean ra_spread_values(const RaSpread *spread, guint curve, double *out_low,
                          double *out_high);

/* The value of the axis where the answer of @curve is, as its index. */
gboolean ra_spread_places(const RaSpread *spread, guint curve, guint *out_low,
                          guint *out_high);

/* Where @curve begins to be best, of each draw the place that is nearest to
 * @x. */
gboolean ra_spread_crossings(const RaSpread *spread, guint curve, double x,
                             double *out_low, double *out_high);

/* The metric of @point of @sweep if its iteration took @factor times as long.
 */
double ra_spread_metric(const RaSweep *sweep, guint point,
                        const RaMetric *metric, double factor);

#endif
