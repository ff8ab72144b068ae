/* Spread of an answer: its range if the points are as wrong as the model may
 * be.
 *
 *     RaSpread *spread = ra_spread_new(sweep);
 *     if (spread && ra_spread_values(spread, curve, &low, &high))
 *       printf("%g to %g in 90 % of worlds\n", low, high);
 *     ra_spread_free(spread);
 *
 * The question is answered RA_SPREAD_DRAWS times, for points whose iterations
 * take exp(e) times as long.  e is normal, with the standard deviation that
 * gives the point's median error.  Parts of it are common
 * (study/model_error.h):
 *
 *   laws    points on one GPU have the same error of each law, weighed by its
 *           share of each point's critical path
 *   the     points of one plan on one chip have the same error of what no law
 *   rest    has
 *   own     what is left, such as the error of sampled seeds
 *
 * So what compares a plan with itself on one GPU hardly varies.  Memory, and
 * whether a point fits, are not varied.  Ranges contain nine of ten samples
 * (quantiles 0.05 and 0.95).  The samples are the same on every machine.
 *
 * Cost: RA_SPREAD_DRAWS answers.
 */
#ifndef RA_STUDY_SWEEP_SPREAD_H
#define RA_STUDY_SWEEP_SPREAD_H

#include "study/sweep/sweep.h"

#define RA_SPREAD_DRAWS 200

typedef struct _RaSpread RaSpread;

/* Samples the errors (transfer full) (nullable); %NULL: no point has an error.
 */
RaSpread *ra_spread_new(const RaSweep *sweep);
void ra_spread_free(RaSpread *spread);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSpread, ra_spread_free)

/* Fraction of samples in whose answer @point is. */
double ra_spread_share(const RaSpread *spread, guint point);

/* Fraction of samples that have an answer. */
double ra_spread_found(const RaSpread *spread);

/* Range of the metric in the answers of @curve; %RA_NONE: of the first curve of
 * the answer.  FALSE: no sample has one. */
gboolean ra_spread_values(const RaSpread *spread, guint curve, double *out_low,
                          double *out_high);

/* Range of the axis value (as its index) in the answers of @curve. */
gboolean ra_spread_places(const RaSpread *spread, guint curve, guint *out_low,
                          guint *out_high);

/* Range of the place at which @curve becomes the best; each sample counts with
 * its place nearest to @x. */
gboolean ra_spread_crossings(const RaSpread *spread, guint curve, double x,
                             double *out_low, double *out_high);

/* Metric of @point of @sweep if its iteration took @factor times as long. */
double ra_spread_metric(const RaSweep *sweep, guint point,
                        const RaMetric *metric, double factor);

#endif
