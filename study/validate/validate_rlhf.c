/* Levels of RLHF iterations: whole steps of other frameworks, simulated. */
#include "config.h"

#include <math.h>

#include "study/validate/rl_row.h"
#include "study/validate/validate_impl.h"
#include "traces/roofline.h"

/* Seconds by the data sheet alone; NAN where there is none. */
static double
roofline_s(const RaSetup *setup)
{
  RaSetup ideal = *setup;
  g_autoptr(RaProfile) profile = ra_profile_roofline(setup->profile, NULL);
  g_autoptr(RaEstimator) estimator =
      profile ? ra_estimator_new(profile, setup->cluster, NULL) : NULL;
  RaRlTimes times;

  ideal.estimator = estimator;
  return estimator && ra_rl_times(&ideal, &times, NULL) ? times.total_s
                                                        : (double)NAN;
}

/* Fills seconds of @row; FALSE with the reason in a note where it cannot be
 * predicted. */
static gboolean
predict(const RaRlRow *row, gboolean real, RaValidateJob *job, const char *name,
        RaValidateRow *out)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = ra_rl_row_setup(row, &error);
  const char *system = ra_rl_system(row->source);
  RaRlTimes times;

  if (setup)
    ra_estimator_set_real(setup->estimator, real);
  if (setup && (!system || ra_rl_set_system(setup, system, &error)) &&
      ra_rl_times(setup, &times, &error)) {
    out->predicted = times.total_s;
    out->roofline = roofline_s(setup);
    return TRUE;
  }
  ra_validate_note(job, "%s: not predicted: %s", name, error->message);
  return FALSE;
}

gboolean
ra_validate_rlhf(const RaValidateLevel *level, RaValidateJob *job,
                 GError **error)
{
  const RaValidateRlhf *what = level->argument;
  g_autoptr(GArray) rows =
      ra_rl_rows(job->data, (RaRlSource)what->source, error);

  if (!rows)
    return FALSE;
  for (guint i = 0; i < rows->len; i++) {
    const RaRlRow *row = &g_array_index(rows, RaRlRow, i);
    g_autofree char *name = ra_rl_row_name(row);
    RaValidateRow out = {RA_VALIDATE_ROW, .file = row->file, .line = row->line,
                         .measured = row->measured_s};

    if (row->repeat_s > 0)
      out.repeat_frac = fabs(row->repeat_s / row->measured_s - 1);

    if (!predict(row, what->real, job, name, &out))
      continue;
    out.name = g_steal_pointer(&name);
    ra_validate_add(job, out);
  }
  return TRUE;
}
