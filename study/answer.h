/* What the points of a study answer to its question.
 *
 *     g_autoptr(RaAnswer) answer = ra_answer_new(sweep);
 *     ra_table_write(answer->table, RA_FORMAT_TEXT, out);
 *
 * A curve is what points have in common that differ along one axis alone.
 * Only points that keep to the study's limits count.
 *
 *     fits        a row a curve: how many of its points count, and the first
 *                 and last value along the axis that do
 *     minimum,    a row a curve: its least or most of the metric; the best
 *     maximum     curve first, of equal ones the quicker iteration
 *     knee        a row a curve: the point farthest from the chord between the
 *                 curve's ends, both axes scaled to [0, 1], along a logarithmic
 *                 axis after taking the logarithm: beyond it more
 *                 along the axis gains less than before (the knee of a
 *                 discrete curve by Satopaa et al., "Finding a Kneedle in a
 *                 Haystack", ICDCSW 2011, section III)
 *     crossover   a row each change of the best curve along the axis: where two
 *                 curves meet, interpolated between two values; where one of
 *                 them does not count at an end, the value from which it does
 *     pareto      a row a point that no other is as good as in both metrics and
 *                 better in one, by the first metric
 */
#ifndef RA_STUDY_ANSWER_H
#define RA_STUDY_ANSWER_H

#include "study/sweep.h"

typedef struct {
  RaTable *table; /* owned */
  char *sentence; /* owned: the answer in one */
  gboolean found; /* there is one */
  GArray *points; /* (guint) owned: that are in it, for pictures */
} RaAnswer;

RaAnswer *ra_answer_new(const RaSweep *sweep);
void ra_answer_free(RaAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaAnswer, ra_answer_free)

/* Curves of @study, >= 1. */
guint ra_study_n_curves(const RaStudy *study);

/* The point of @curve at value @v of the axis along which it runs. */
guint ra_study_curve_point(const RaStudy *study, guint curve, guint v);

/* (transfer full): "placement real, gpu h200-sxm"; "" where it is alone. */
char *ra_study_curve_name(const RaStudy *study, guint curve);

#endif
