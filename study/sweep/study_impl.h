/* What a study is read by; for study/study*.c alone. */
#ifndef RA_STUDY_SWEEP_STUDY_IMPL_H
#define RA_STUDY_SWEEP_STUDY_IMPL_H

#include "study/sweep/study.h"

/* [axis] as it is written. */
typedef struct {
  const char *const *keys;
  const char *const *values;
  const char *const *labels; /* NULL: as values */
  int scale;                 /* 0: linear, 1: log, -1: not given */
} RaStudyAxisKeys;

/* The axis in @group of the study's file, into its last place. */
gboolean ra_study_read_axis(RaStudy *study, guint group, GError **error);
void ra_study_axis_clear(RaStudyAxis *axis);

/* The number that a label begins with, or its first argument does; FALSE: it
 * does not. */
gboolean ra_study_label_number(const char *label, double *out_x);

/* `4:1` into @out (RA_STUDY_SPLIT_MAX); 0: it is none. */
guint ra_study_split(const char *text, uint32_t *out);

/* Sets the key of [failures] called `failures.interval`. */
gboolean ra_study_set_failures(RaFailures *failures, const char *key,
                               const char *value, GError **error);

#endif
