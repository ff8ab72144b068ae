/* Calibration from a folder of measurements, law by law. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "estimator/calibrate/calibrate_impl.h"
#include "estimator/calibrate/transfer.h"
#include "estimator/collective_model.h"
#include "estimator/fit.h"
#include "estimator/robust.h"
#include "traces/law.h"

#define PEAK_ROUNDS 4 /* each leaves a hundredth of the distance */

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

RaCalibrateLaw *
ra_calibrate_law(RaCalibrateWork *work, const char *name)
{
  for (guint i = 0; i < ra_law_n_specs(); i++)
    if (strcmp(ra_law_spec_at(i)->name, name) == 0)
      return &work->laws[i];
  g_assert_not_reached();
}

/* Held-out errors, and the table that has the least.  Where there is but one
 * line nothing can be left out, and the first table is taken. */
static guint
cross(RaCalibrateWork *work, const RaFitLaw *law, const GArray *rows,
      RaCalibrateLaw *state)
{
  guint table = 0;
  g_autoptr(GArray) errors = ra_fit_cross(law, work->profile, rows, &table);

  if (errors->len == 0)
    return law->n_tables > 0;
  g_clear_pointer(&state->held_out, g_free);
  ra_fit_errors(errors, &state->median_frac, &state->p90_frac);
  return table;
}

void
ra_calibrate_note(RaCalibration *out, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  g_ptr_array_add(out->notes, g_strdup_vprintf(format, args));
  va_end(args);
}

void
ra_calibrate_note_outliers(RaCalibration *out, const RaFitLaw *law,
                           const GArray *rows, const RaFitResult *result)
{
  const RaOp *op = &g_array_index(rows, RaMeasured, result->worst).op;
  g_autofree char *shape = ra_op_shape(op);

  ra_calibrate_note(out,
                    "%s: %u of %u rows are outliers (kept, with no weight in "
                    "the fit); the worst, %s, took %.2f of the law",
                    law->law, result->n_outliers, rows->len, shape,
                    result->worst_ratio);
}

/* Fits @law on @rows of @gpu, whose siblings lend its table theirs.  What they
 * lend is not in the error: a size that no GPU has can be asked for, too. */
static gboolean
fit_rows(RaCalibrateWork *work, const RaFitLaw *law, const RaGpu *gpu,
         const GArray *rows, RaCalibrateLaw *state, GError **error)
{
  const RaMeasured *first = &g_array_index(rows, RaMeasured, 0);
  guint table;
  g_autoptr(GPtrArray) siblings = NULL;
  RaFitLaw lent = *law;
  RaFitResult result;
  RaLaw *target;

  if (ra_fit_borrows(law)) {
    siblings = ra_gpu_siblings(gpu, work->data, law->source, error);
    if (!siblings)
      return FALSE;
    lent.siblings = siblings;
  }
  ra_calibrate_unseen(work, rows, state);
  table = cross(work, law, rows, state);
  ra_fit_coefficients(law, work->profile, rows, &result);
  if (result.n_outliers > 0)
    ra_calibrate_note_outliers(work->out, law, rows, &result);
  /* The profile lists its laws by name: the same record each time. */
  target = (RaLaw *)(gpointer)ra_profile_law(work->profile, law->law);
  if (table > 0)
    target->grid =
        ra_fit_table(&lent, work->profile, rows, law->tables[table - 1]);
  if (target->grid && target->grid->n_spikes > 0)
    g_ptr_array_add(
        work->out->notes,
        g_strdup_printf("%s: %" G_GSIZE_FORMAT
                        " cells of the table differ from their neighbours by a "
                        "factor of e (kept, not used)",
                        law->law, target->grid->n_spikes));
  state->from = NULL;
  state->law = NULL;
  state->borrows = siblings && siblings->len > 0;
  state->is_layer = first->file && strstr(first->file, "serving_e2e_vllm");
  state->n_rows = rows->len;
  state->n_outliers = result.n_outliers;
  return TRUE;
}

/* Collectives of a node of another class of GPU, on its own links: shares of
 * the link and seconds are what is carried over. */
static gboolean
fit_links(RaCalibrateWork *work, const RaFitLaw *law, GError **error)
{
  RaCalibrateLaw *state = ra_calibrate_law(work, law->law);
  const RaGpu *links = ra_gpu_find(work->gpu->links);
  RaDevice own = work->profile->spec;
  g_autoptr(GArray) rows = NULL;
  RaSheet sheet;

  if (strcmp(work->gpu->links, work->gpu->rows) == 0)
    return TRUE;
  rows = ra_measured_rows(work->data, law->source, links->rows, error);
  if (!rows || !ra_gpu_sheet(links, work->data, &sheet, error))
    return FALSE;
  if (rows->len == 0)
    return TRUE;
  work->profile->spec.intra_bytes_per_s = sheet.intra_bytes_per_s;
  if (!fit_rows(work, law, links, rows, state, error))
    return FALSE;
  work->profile->spec = own;
  state->from = links;
  if (state->median_frac >= 0)
    state->held_out = g_strdup_printf("%s, of the %s, as shares of its link",
                                      law->held_out, links->name);
  return TRUE;
}

static gboolean
is_of_links(const RaFitLaw *law)
{
  static const char *const names[] = {
      "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send", NULL};

  return g_strv_contains(names, law->law) ||
         g_str_has_prefix(law->law, "all-reduce.");
}

/* Rows of traces, behind the folder's. */
static void
add_more(const RaCalibrateWork *work, const RaFitLaw *law, GArray *rows,
         RaCalibrateLaw *state)
{
  g_autoptr(GArray) more = ra_calibrate_rows_of(work->more, law, work->profile);

  state->n_more = more->len;
  g_array_append_vals(rows, more->data, more->len);
}

/* A law of bf16 GEMMs from another architecture takes the share of the peak
 * that the best of many shapes reached on the GPU, if that was measured. */
static gboolean
fit_peak(RaCalibrateWork *work, const RaFitLaw *law, GError **error)
{
  RaCalibrateLaw *state = ra_calibrate_law(work, law->law);
  g_autoptr(GArray) rows = NULL;
  const RaMeasured *best;
  double *share, seconds;

  if (strcmp(law->law, "gemm.bf16") != 0 ||
      strcmp(state->from->architecture, work->gpu->architecture) == 0)
    return TRUE;
  rows = ra_measured_rows(work->data, "gemm.best", work->gpu->rows, error);
  if (!rows)
    return FALSE;
  if (rows->len != 1)
    return TRUE;
  best = &g_array_index(rows, RaMeasured, 0);
  share = ra_calibrate_coefficient(work->profile, law->law, "peak-frac");
  /* A hundredth of the time is no product's, and stays. */
  for (guint i = 0; i < PEAK_ROUNDS; i++) {
    ra_fit_predict(work->profile, rows, &seconds);
    *share = MIN(*share * seconds / best->measured_s, 1);
  }
  state->has_peak = TRUE;
  return TRUE;
}

/* TRUE if the GPU has no such law though its bases have: an engine's own
 * all-reduce takes GPUs that all see each other over NVLink (vLLM,
 * custom_all_reduce.py: fully_connected), or two others, which their rows tell.
 */
static gboolean
is_unlinked(const RaCalibrateWork *work, const RaFitLaw *law)
{
  RaCollectiveModel node;

  ra_collective_model_init(&node, RA_MEASURED_NODE,
                           work->sheet.intra_bytes_per_s,
                           work->sheet.host_bytes_per_s);
  return g_str_has_prefix(law->law, "all-reduce.") && !node.nvlink;
}

static gboolean
fit_law(RaCalibrateWork *work, const RaFitLaw *law, GError **error)
{
  RaCalibrateLaw *state = ra_calibrate_law(work, law->law);
  g_autoptr(GArray) rows =
      ra_measured_rows(work->data, law->source, work->gpu->rows, error);

  if (!rows)
    return FALSE;
  add_more(work, law, rows, state);
  if (rows->len > 0) {
    ra_fit_beside(work->profile, rows);
    state->absent = FALSE;
    return fit_rows(work, law, work->gpu, rows, state, error);
  }
  state->absent = is_unlinked(work, law);
  if (is_of_links(law) && work->n_bases > 0 && !state->absent)
    return fit_links(work, law, error);
  if (state->from && !state->absent)
    return fit_peak(work, law, error);
  state->absent = ra_law_spec(law->law)->optional;
  if (state->absent)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no rows of '%s' for the %s%s%s", work->folders, law->source,
              work->gpu->rows,
              work->gpu->bases ? ", expected them or --transfer from " : "",
              work->gpu->bases ? work->gpu->bases : "");
  return FALSE;
}

static gboolean
calibrate(RaCalibrateWork *work, RaCalibrateProgress progress, GError **error)
{
  if (!ra_gpu_sheet(work->gpu, work->data, &work->sheet, error))
    return FALSE;
  work->profile = ra_transfer_start(work->gpu, &work->sheet);
  for (guint i = 0; i < ra_law_n_specs(); i++) {
    work->laws[i].median_frac = work->laws[i].p90_frac = -1;
    work->laws[i].absent = ra_law_spec_at(i)->stand_in != NULL;
  }
  if (work->n_bases > 0 && !ra_calibrate_transfer(work, error))
    return FALSE;
  for (guint i = 0; i < ra_fit_n_laws(); i++) {
    if (progress)
      progress(ra_fit_law_at(i)->law);
    if (!fit_law(work, ra_fit_law_at(i), error))
      return FALSE;
  }
  if (!ra_calibrate_constants(work, error) ||
      !ra_calibrate_overlap(work, ra_calibrate_law(work, "overlap"), error))
    return FALSE;
  ra_calibrate_write(work, work->out->text);
  return TRUE;
}

RaCalibration *
ra_calibrate(const char *const *data, const char *gpu, RaProfile *const *bases,
             guint n_bases, const GArray *more, RaCalibrateProgress progress,
             GError **error)
{
  g_autoptr(RaCalibration) out = ra_calibration_new();
  g_autofree char *folders = g_strjoinv(", ", (char **)(gpointer)data);
  RaCalibrateWork work = {.data = data,
                          .folders = folders,
                          .bases = bases,
                          .n_bases = n_bases,
                          .more = more,
                          .out = out};
  gboolean ok;

  for (guint i = 0; data[i]; i++)
    if (!g_file_test(data[i], G_FILE_TEST_IS_DIR)) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: not a folder, expected a folder of measurements",
                  data[i]);
      return NULL;
    }
  work.gpu = ra_gpu_named(gpu, error);
  if (!work.gpu)
    return NULL;
  work.laws = g_new0(RaCalibrateLaw, ra_law_n_specs());
  ok = calibrate(&work, progress, error);
  for (guint i = 0; i < ra_law_n_specs(); i++)
    g_free(work.laws[i].held_out);
  g_free(work.laws);
  ra_profile_free(work.profile);
  return ok ? g_steal_pointer(&out) : NULL;
}
