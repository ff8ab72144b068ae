#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimator/fit.h"
#include "estimator/robust.h"
#include "study/calibrate_impl.h"
#include "traces/law.h"

static const RaCalibrateGpu gpus[] = {
    {"h100-sxm", "h100", "h100_sxm", 132, TRUE, FALSE},
    {"a100-sxm", "a100", "a100_sxm", 108, FALSE, FALSE},
    {"h200-sxm", "h100", "h100_sxm", 132, TRUE, TRUE},
};

const RaCalibrateGpu *
ra_calibrate_gpu(const char *name, GError **error)
{
  g_autoptr(GString) known = g_string_new(NULL);

  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    if (strcmp(gpus[i].name, name) == 0)
      return &gpus[i];
    g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", gpus[i].name);
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "unknown GPU '%s', expected one of %s", name, known->str);
  return NULL;
}

RaCalibration *
ra_calibration_new(void)
{
  RaCalibration *out = g_new0(RaCalibration, 1);

  out->text = g_string_new(NULL);
  out->notes = g_ptr_array_new_with_free_func(g_free);
  return out;
}

void
ra_calibration_free(RaCalibration *calibration)
{
  if (calibration == NULL)
    return;
  g_string_free(calibration->text, TRUE);
  g_ptr_array_unref(calibration->notes);
  g_free(calibration);
}

static RaCalibrateLaw *
law_state(RaCalibrateWork *work, const char *name)
{
  for (guint i = 0; i < ra_law_n_specs(); i++)
    if (strcmp(ra_law_spec_at(i)->name, name) == 0)
      return &work->laws[i];
  g_assert_not_reached();
}

/* Held-out errors: leaves a note where a level has none. */
static guint
cross(RaCalibrateWork *work, const RaFitLaw *law, const GArray *rows,
      RaCalibrateLaw *state)
{
  guint table = 0;
  g_autoptr(GArray) errors = ra_fit_cross(law, work->profile, rows, &table);

  if (work->gpu->transferred || errors->len == 0)
    return table;
  ra_fit_errors(errors, &state->median_frac, &state->p90_frac);
  return table;
}

static void
note_outliers(RaCalibrateWork *work, const RaFitLaw *law, const GArray *rows,
              const RaFitResult *result)
{
  const RaOp *op = &g_array_index(rows, RaMeasured, result->worst).op;
  g_autofree char *shape = ra_op_shape(op);

  g_ptr_array_add(
      work->out->notes,
      g_strdup_printf(
          "%s: %u of %u rows are outliers of the law (kept, with no "
          "weight in its fit); the furthest, %s, took %.2f of it",
          law->law, result->n_outliers, rows->len, shape, result->worst_ratio));
}

static gboolean
fit_law(RaCalibrateWork *work, const RaFitLaw *law, GError **error)
{
  RaCalibrateLaw *state = law_state(work, law->law);
  g_autoptr(GArray) rows =
      ra_measured_rows(work->data, law->source, work->gpu->measured, error);
  RaFitResult result;
  RaLaw *target;
  guint table;

  if (!rows)
    return FALSE;
  if (rows->len == 0) {
    state->absent = ra_law_spec(law->law)->optional;
    if (state->absent)
      return TRUE;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: there are no rows of '%s' for the %s", work->data,
                law->source, work->gpu->measured);
    return FALSE;
  }
  table = cross(work, law, rows, state);
  ra_fit_coefficients(law, work->profile, rows, &result);
  if (result.n_outliers > 0)
    note_outliers(work, law, rows, &result);
  /* The profile lists its laws by name: the same record each time. */
  target = (RaLaw *)(gpointer)ra_profile_law(work->profile, law->law);
  if (table > 0)
    target->grid =
        ra_fit_table(law, work->profile, rows, law->tables[table - 1]);
  if (target->grid && target->grid->n_spikes > 0)
    g_ptr_array_add(work->out->notes,
                    g_strdup_printf("%s: %" G_GSIZE_FORMAT
                                    " cells of its table are off their "
                                    "neighbours by a factor of e (kept, not "
                                    "used)",
                                    law->law, target->grid->n_spikes));
  state->n_rows = rows->len;
  state->n_outliers = result.n_outliers;
  return TRUE;
}

static gboolean
calibrate(RaCalibrateWork *work, RaCalibrateProgress progress, GError **error)
{
  g_autofree char *row = g_strdup(work->gpu->name);

  g_strdelimit(row, "-", '_');
  if (!ra_calibrate_sheet(work->data, row, &work->own, error) ||
      !ra_calibrate_sheet(work->data, work->gpu->sheet, &work->measured, error))
    return FALSE;
  work->profile = ra_calibrate_start(work->gpu, &work->measured);
  for (guint i = 0; i < ra_law_n_specs(); i++)
    work->laws[i].median_frac = work->laws[i].p90_frac = -1;
  for (guint i = 0; i < ra_fit_n_laws(); i++) {
    if (progress)
      progress(ra_fit_law_at(i)->law);
    if (!fit_law(work, ra_fit_law_at(i), error))
      return FALSE;
  }
  if (!ra_calibrate_constants(work, error) ||
      !ra_calibrate_overlap(work, law_state(work, "overlap"), error))
    return FALSE;
  ra_calibrate_write(work, work->out->text);
  return TRUE;
}

RaCalibration *
ra_calibrate(const char *data, const char *gpu, RaCalibrateProgress progress,
             GError **error)
{
  g_autoptr(RaCalibration) out = ra_calibration_new();
  RaCalibrateWork work = {.data = data, .out = out};
  gboolean ok;

  if (!g_file_test(data, G_FILE_TEST_IS_DIR)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: is no folder, expected one with measurements", data);
    return NULL;
  }
  work.gpu = ra_calibrate_gpu(gpu, error);
  if (!work.gpu || !ra_robust_init(error))
    return NULL;
  work.laws = g_new0(RaCalibrateLaw, ra_law_n_specs());
  ok = calibrate(&work, progress, error);
  for (guint i = 0; i < ra_law_n_specs(); i++)
    g_free(work.laws[i].source);
  g_free(work.laws);
  ra_profile_free(work.profile);
  return ok ? g_steal_pointer(&out) : NULL;
}
