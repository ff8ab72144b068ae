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
 *     crossover   a row each change of the best curve along the axis (points
 *                 between values: study/sweep/refine.h): where two
 *                 curves meet, interpolated between two values; where one of
 *                 them does not count at an end, the value from which it does
 *     pareto      a row a point that no other is as good as in both metrics and
 *                 better in one, by the first metric
 *
 * Where the points' errors are known, what else the answer may be within them
 * stands beside it (study/sweep/spread.h).
 */
#ifndef RA_STUDY_SWEEP_ANSWER_H
#define RA_STUDY_SWEEP_ANSWER_H

#include "study/sweep/sweep.h"

/* From @x of the axis on curve @to is better than @from, which was best. */
typedef struct {
  double x;
  guint from, to;
} RaCrossing;

typedef struct {
  RaTable *table;    /* owned */
  char *sentence;    /* owned: the answer in one */
  gboolean found;    /* there is one */
  GArray *points;    /* (guint) owned: that are in it, for pictures */
  GArray *crossings; /* (RaCrossing) owned: of a crossover, as points */
} RaAnswer;

RaAnswer *ra_answer_new(const RaSweep *sweep);
void ra_answer_free(RaAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaAnswer, ra_answer_free)

#endif
