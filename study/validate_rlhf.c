/* Levels of RLHF iterations: whole steps of other frameworks, simulated. */
#include "config.h"

#include "study/rl_row.h"
#include "study/validate_impl.h"

/* Seconds of @row under @system, or its data sheet's; FALSE with the reason in
 * a note where it cannot be predicted. */
static gboolean
predict(const RaRlRow *row, RaValidateJob *job, const char *name, double *out_s)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = ra_rl_row_setup(row, &error);
  const char *system = ra_rl_system(row->source);
  RaRlTimes times;

  if (setup && (!system || ra_rl_set_system(setup, system, &error)) &&
      ra_rl_times(setup, &times, &error)) {
    *out_s = times.total_s;
    return TRUE;
  }
  ra_validate_note(job, "%s: not predicted: %s", name, error->message);
  return FALSE;
}

gboolean
ra_validate_rlhf(const RaValidateLevel *level, RaValidateJob *job,
                 GError **error)
{
  RaRlSource source = *(const RaRlSource *)level->argument;
  g_autoptr(GArray) rows = ra_rl_rows(job->data, source, error);

  if (!rows)
    return FALSE;
  for (guint i = 0; i < rows->len; i++) {
    const RaRlRow *row = &g_array_index(rows, RaRlRow, i);
    g_autofree char *name = ra_rl_row_name(row);
    RaValidateRow out = {RA_VALIDATE_ROW, .file = row->file, .line = row->line,
                         .measured = row->measured_s};

    if (!predict(row, job, name, &out.predicted))
      continue;
    out.name = g_steal_pointer(&name);
    ra_validate_add(job, out);
  }
  return TRUE;
}
