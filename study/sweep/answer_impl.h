/* What an answer is made by; for study/answer*.c and study/sweep/spread.c
 * alone. */
#ifndef RA_STUDY_SWEEP_ANSWER_IMPL_H
#define RA_STUDY_SWEEP_ANSWER_IMPL_H

#include "study/sweep/answer.h"
#include "study/sweep/curve.h"
#include "study/sweep/spread.h"

/* An answer while it is made. */
typedef struct {
  const RaSweep *sweep;
  const RaStudy *study;
  const RaMetric *metric;
  const RaSpread *spread; /* nullable: no error is known */
  RaAnswer *answer;
  GString *sentence;
} RaAnswerMaker;

/* (transfer full): the answer, and where @spread is given what it would be
 * within the error. */
RaAnswer *ra_answer_make(const RaSweep *sweep, const RaSpread *spread);

/* NAN: the point does not count. */
double ra_answer_value(const RaAnswerMaker *m, guint point);
double ra_answer_curve_value(const RaAnswerMaker *m, guint curve, guint v);

/* The columns of the axes, but along where @is_curve, and their cells. */
void ra_answer_axis_columns(const RaAnswerMaker *m, gboolean is_curve);
void ra_answer_axis_cells(const RaAnswerMaker *m, guint point,
                          gboolean is_curve);

void ra_answer_metric_column(const RaAnswerMaker *m, const RaMetric *metric);

/* Metrics beside the study's own, where they are others. */
void ra_answer_beside_columns(const RaAnswerMaker *m);
void ra_answer_beside_cells(const RaAnswerMaker *m, guint point);

/* "64 at nodes 8, placement hybridflow" */
void ra_answer_say_point(const RaAnswerMaker *m, guint point);

/* @point is in the answer. */
void ra_answer_mark(const RaAnswerMaker *m, guint point);

/* Answers to questions. */
void ra_answer_extreme(RaAnswerMaker *m);
void ra_answer_knee(RaAnswerMaker *m);
void ra_answer_crossover(RaAnswerMaker *m);

#endif
