/* Pairs of measured runs: the ratio of their times, with its interval. */
#include "config.h"

#include <math.h>

#include "study/validate/validate_impl.h"

void
ra_validate_run_clear(gpointer data)
{
  RaValidateRun *run = data;

  g_free(run->name);
  g_free(run->work);
  g_free(run->layout);
  ra_doubt_clear(&run->doubt);
}

static gboolean
is_other_gpu(const RaValidateRun *a, const RaValidateRun *b)
{
  return !g_str_equal(a->gpu, b->gpu);
}

/* Runs of one work that differ in what is predicted. */
static gboolean
is_pair(const RaValidateRun *a, const RaValidateRun *b)
{
  double apart = fabs(a->tokens - b->tokens);

  return g_str_equal(a->work, b->work) &&
         (is_other_gpu(a, b) || !g_str_equal(a->layout, b->layout)) &&
         apart <= RA_PAIR_TOKENS_FRAC * fmin(a->tokens, b->tokens) &&
         ra_doubt_is_known(&a->doubt) && ra_doubt_is_known(&b->doubt);
}

void
ra_validate_add_pairs(RaValidateJob *job, const GArray *runs)
{
  guint n[2] = {0}, n_in[2] = {0}; /* in two layouts, on two GPUs */

  for (guint i = 0; i < runs->len; i++)
    for (guint j = 0; j < i; j++) {
      const RaValidateRun *a = &g_array_index(runs, RaValidateRun, i);
      const RaValidateRun *b = &g_array_index(runs, RaValidateRun, j);
      RaValidateRow row = {RA_VALIDATE_ROW, .file = a->file, .line = a->line};
      guint kind = is_other_gpu(a, b);
      double apart;

      if (!is_pair(a, b))
        continue;
      apart = ra_model_error_apart(&a->doubt.error, a->doubt.parts,
                                   &b->doubt.error, b->doubt.parts);
      row.name = g_strdup_printf("%s over %s", a->name, b->name);
      row.measured = a->measured_s / b->measured_s;
      row.predicted = a->predicted_s / b->predicted_s;
      row.interval_frac = expm1(RA_ERROR_NINE_OF_TEN * apart);
      ra_validate_add(job, row);
      n[kind]++;
      n_in[kind] += ra_validate_is_in(&row);
    }
  if (n[0] + n[1] > 0)
    ra_validate_note(job,
                     "in their intervals: %u of %u pairs of two GPUs, %u of "
                     "%u of two layouts",
                     n_in[1], n[1], n_in[0], n[0]);
}
