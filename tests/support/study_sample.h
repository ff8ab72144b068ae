/* Handmade studies and sweeps. */
#ifndef RA_TESTS_SUPPORT_STUDY_SAMPLE_H
#define RA_TESTS_SUPPORT_STUDY_SAMPLE_H

#include <math.h>
#include <string.h>

#include "study/sweep/sweep.h"
#include "tests/support/check_points.h"

static inline RaStudy *
parse(const char *text, GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("a.study", text, strlen(text), error);

  return file ? ra_study_load(file, error) : NULL;
}

static inline RaStudy *
parse_good(const char *text)
{
  GError *error = NULL;
  RaStudy *study = parse(text, &error);

  if (!study)
    ck_abort_msg("%s", error->message);
  return study;
}

/* A sweep whose points take @s seconds on @gpus GPUs (both n); NAN: does not
 * run. */
static inline RaSweep *
sweep_by_hand(const RaStudy *study, const double *s, const uint32_t *gpus)
{
  RaSweep *sweep = g_new0(RaSweep, 1);

  sweep->study = study;
  sweep->n = study->n_points;
  sweep->points = g_new0(RaSweepPoint, sweep->n);
  for (guint i = 0; i < sweep->n; i++) {
    RaSweepPoint *p = &sweep->points[i];

    p->trial = (RaTrial){.iteration_s = s[i],
                         .n_gpus = gpus ? gpus[i] : 1,
                         .tokens_per_s = 1000 / s[i],
                         .usd = s[i] * (gpus ? gpus[i] : 1),
                         .error.frac = (double)NAN,
                         .capacity_bytes = 1};
    p->error_frac = (double)NAN;
    if (isnan(s[i]))
      p->trial.refusal = g_strdup("no");
    p->figures = (RaFigures){.trial = &p->trial, .n_runs = 1};
    p->is_allowed = !isnan(s[i]) && ra_study_allows(study, &p->figures);
  }
  return sweep;
}

#endif
