/* Answer of a study's points to its question.
 *
 *     g_autoptr(RaAnswer) answer = ra_answer_new(sweep);
 *     ra_table_write(answer->table, RA_FORMAT_TEXT, out);
 *
 * A curve is a set of points that differ only along one axis.  Only points that
 * satisfy the study's limits count.
 *
 *   fits              a row per curve: how many of its points count, and the
 *                     first and last value along the axis that do
 *   minimum, maximum  a row per curve: its least or greatest value of the
 *                     metric; the best curve first, among equal ones the one
 *                     with the faster iteration
 *   knee              a row per curve: the point farthest from the chord
 *                     between the curve's ends, with both axes scaled to [0, 1]
 *                     (a logarithmic axis after taking the logarithm). After
 *                     it, more along the axis gains less than before (the knee
 *                     of a discrete curve by Satopaa et al., "Finding a Kneedle
 *                     in a Haystack", ICDCSW 2011, section III)
 *   crossover         a row per change of the best curve along the axis (points
 *                     between values: study/sweep/refine.h): where two curves
 *                     meet, interpolated between two values.  Where one of them
 *                     does not count at an end, it is the value from which it
 *                     counts.
 *   pareto            a row per point that no other dominates (as good in both
 *                     metrics and better in one), by the first metric
 *
 * Where errors of the points are known, the table also shows the range of the
 * answer within them (study/sweep/spread.h).
 */
#ifndef RA_STUDY_SWEEP_ANSWER_H
#define RA_STUDY_SWEEP_ANSWER_H

#include "study/sweep/sweep.h"

/* Crossing: from @x along the axis, curve @to is better than @from, the best
 * until then. */
typedef struct {
  double x;
  guint from, to;
} RaCrossing;

typedef struct {
  RaTable *table;    /* owned */
  char *sentence;    /* owned: the answer in one sentence */
  gboolean found;    /* there is an answer */
  GArray *points;    /* (guint) owned: points of the answer, for pictures */
  GArray *crossings; /* (RaCrossing) owned: of a crossover, in the order of
                        points */
} RaAnswer;

RaAnswer *ra_answer_new(const RaSweep *sweep);
void ra_answer_free(RaAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaAnswer, ra_answer_free)

#endif
