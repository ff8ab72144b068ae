/* Private parts of reading a study, for study/sweep/study*.c alone. */
#ifndef RA_STUDY_SWEEP_STUDY_IMPL_H
#define RA_STUDY_SWEEP_STUDY_IMPL_H

#include "study/sweep/study.h"

/* Group [axis] as written. */
typedef struct {
  const char *const *keys;
  const char *const *values;
  const char *const *labels; /* NULL: as values */
  int scale;                 /* 0: linear, 1: log, -1: not given */
} RaStudyAxisKeys;

/* Reads the axis in @group of the study's file into the study's last axis. */
gboolean ra_study_read_axis(RaStudy *study, guint group, GError **error);
void ra_study_axis_clear(RaStudyAxis *axis);

/* Number with which a label, or its first argument, begins.  FALSE: there is
 * none. */
gboolean ra_study_label_number(const char *label, double *out_x);

/* Sets a key of [failures], such as `failures.interval`. */
gboolean ra_study_set_failures(RaFailures *failures, const char *key,
                               const char *value, GError **error);

#endif
