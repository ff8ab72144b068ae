/* Private parts of answers, for study/sweep/answer*.c and study/sweep/spread.c
 * alone.
 */
#ifndef RA_STUDY_SWEEP_ANSWER_IMPL_H
#define RA_STUDY_SWEEP_ANSWER_IMPL_H

#include "study/sweep/answer.h"
#include "study/sweep/curve.h"
#include "study/sweep/spread.h"

/* An answer under construction. */
typedef struct {
  const RaSweep *sweep;
  const RaStudy *study;
  const RaMetric *metric;
  const RaSpread *spread; /* nullable: no error is known */
  RaAnswer *answer;
  GString *sentence;
} RaAnswerMaker;

/* The answer (transfer full). With @spread, it has the range within the error.
 */
RaAnswer *ra_answer_make(const RaSweep *sweep, const RaSpread *spread);

/* The metric of a point; NAN: the point does not count. */
double ra_answer_value(const RaAnswerMaker *m, guint point);
double ra_answer_curve_value(const RaAnswerMaker *m, guint curve, guint v);

/* Append columns and cells of the axes; where @is_curve, without the curve's
 * axis. */
void ra_answer_axis_columns(const RaAnswerMaker *m, gboolean is_curve);
void ra_answer_axis_cells(const RaAnswerMaker *m, guint point,
                          gboolean is_curve);

void ra_answer_metric_column(const RaAnswerMaker *m, const RaMetric *metric);

/* Append further metrics that the study does not ask for itself. */
void ra_answer_beside_columns(const RaAnswerMaker *m);
void ra_answer_beside_cells(const RaAnswerMaker *m, guint point);

/* Appends a point as text: "64 at nodes 8, placement hybridflow". */
void ra_answer_say_point(const RaAnswerMaker *m, guint point);

/* Adds @point to the answer. */
void ra_answer_mark(const RaAnswerMaker *m, guint point);

/* Answers to questions. */
void ra_answer_extreme(RaAnswerMaker *m);
void ra_answer_knee(RaAnswerMaker *m);
void ra_answer_crossover(RaAnswerMaker *m);

#endif
