/* Transfer of laws from other GPUs during a calibration, and the error of such
 * a transfer, measured on the rows of a third GPU, the twin. */
#include "config.h"

#include <string.h>

#include "estimator/calibrate/calibrate_impl.h"
#include "estimator/calibrate/transfer.h"
#include "traces/law.h"

/* On whose rows a transfer from a class is scored, the first that has any. */
static const struct {
  const char *from, *twins[3];
} twins[] = {
    {"h100-sxm", {"a100-sxm", NULL}},
    {"a100-sxm", {"h100-sxm", NULL}},
    {"a40", {"a100-sxm", "h100-sxm", NULL}},
    {"rtx4090", {"rtx-pro-6000", NULL}},
    {"rtx-pro-6000", {"rtx4090", NULL}},
};

/* The law nearest to one that a single GPU has rows of: the same transfer of it
 * can be scored, as a bound from below. */
static const struct {
  const char *law, *near;
} nearest[] = {{"gemm.fp8", "gemm.bf16"},
               {"inter-node.all-to-all", "inter-node"},
               {"decode-attention.fp8", "decode-attention"},
               {"attention.fp8", "attention"},
               {"latent-attention.fp8", "latent-attention"},
               {"latent-decode.fp8", "latent-decode"},
               {"memory.cast", "memory.add"}};

/* Error of a transfer. */
typedef struct {
  const RaGpu *twin; /* on whose rows; NULL: nobody has any */
  double median_frac, p90_frac;
} Score;

/* TRUE if @law on a GPU that computes in fp8 and on one that does not, and
 * converts, is not the same law. */
static gboolean
is_by_units(const char *law)
{
  return g_str_has_suffix(law, ".fp8");
}

/* Scores @law of @base on the rows of @twin where it has any. */
static gboolean
score_on(const RaCalibrateWork *work, const RaGpu *from, const RaProfile *base,
         const char *law, const RaGpu *twin, Score *score, GError **error)
{
  guint n_rows = 0;
  RaSheet sheet;

  if (score->twin || twin == from || twin == work->gpu)
    return TRUE;
  if (is_by_units(law)) {
    if (!ra_gpu_sheet(twin, work->data, &sheet, error))
      return FALSE;
    if ((sheet.fp8_flop_per_s > 0) != (base->spec.fp8_flop_per_s > 0))
      return TRUE;
  }
  if (!ra_transfer_error(from, base, work->data, law, twin, &n_rows,
                         &score->median_frac, &score->p90_frac, error))
    return FALSE;
  score->twin = n_rows > 0 ? twin : NULL;
  return TRUE;
}

/* A transfer to another architecture is scored on that one, where it has rows.
 */
static gboolean
score_transfer(const RaCalibrateWork *work, const RaGpu *from,
               const RaProfile *base, const char *law, Score *score,
               GError **error)
{
  const char *to = work->gpu->architecture;

  score->twin = NULL;
  for (guint i = 0; strcmp(to, from->architecture) != 0 && i < ra_gpu_n(); i++)
    if (strcmp(ra_gpu_at(i)->architecture, to) == 0 &&
        !score_on(work, from, base, law, ra_gpu_at(i), score, error))
      return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(twins); i++)
    for (guint t = 0;
         strcmp(twins[i].from, from->name) == 0 && twins[i].twins[t]; t++)
      if (!score_on(work, from, base, law, ra_gpu_find(twins[i].twins[t]),
                    score, error))
        return FALSE;
  return TRUE;
}

/* Why a transfer that nobody has rows for is not scored. */
static char *
say_unscored(const RaGpu *from, const char *near, const Score *score)
{
  GString *out = g_string_new("not measured: no second GPU has rows of it");

  if (near && score->twin)
    g_string_append_printf(out,
                           "; law %s, carried likewise from the %s to the %s, "
                           "is off its rows by %.3f median, %.3f p90",
                           near, from->name, score->twin->name,
                           score->median_frac, score->p90_frac);
  return g_string_free(out, FALSE);
}

/* Held-out error of @name of @base carried to other GPUs than its own. */
static gboolean
score_law(RaCalibrateWork *work, const RaGpu *from, const RaProfile *base,
          const char *name, RaCalibrateLaw *state, GError **error)
{
  const char *near = NULL;
  Score score;

  if (!score_transfer(work, from, base, name, &score, error))
    return FALSE;
  if (score.twin) {
    state->median_frac = score.median_frac;
    state->p90_frac = score.p90_frac;
    state->held_out = g_strdup_printf(
        "%s's, transferred likewise to the %s, on that one's rows", from->name,
        score.twin->name);
    return TRUE;
  }
  for (guint i = 0; i < G_N_ELEMENTS(nearest); i++)
    if (strcmp(nearest[i].law, name) == 0)
      near = nearest[i].near;
  if (near && !score_transfer(work, from, base, near, &score, error))
    return FALSE;
  state->held_out = say_unscored(from, near, &score);
  return TRUE;
}

/* TRUE if law @name makes sense on the GPU. */
static gboolean
is_wanted(const RaCalibrateWork *work, const char *name)
{
  if ((strstr(name, ".nvfp4") || strstr(name, ".mxfp4mxfp8")) &&
      !g_str_has_prefix(work->gpu->architecture, "blackwell"))
    return FALSE;
  return !(g_str_has_prefix(name, "gemm.fp8") ||
           g_str_has_prefix(name, "experts.fp8")) ||
         work->sheet.fp8_flop_per_s > 0;
}

/* The base for law @name: the first that was fitted on rows of it. */
static const RaProfile *
base_of(const RaCalibrateWork *work, const char *name)
{
  const RaProfile *any = NULL;

  for (guint i = 0; i < work->n_bases; i++) {
    const RaLaw *law = ra_profile_law(work->bases[i], name);

    if (law && (!law->transferred || !ra_fit_law(name)))
      return work->bases[i];
    if (law && !any)
      any = work->bases[i];
  }
  return any;
}

/* One law of a base on this GPU's data sheet. */
static gboolean
transfer_law(RaCalibrateWork *work, const char *name, GError **error)
{
  RaCalibrateLaw *state = ra_calibrate_law(work, name);
  const RaProfile *base = base_of(work, name);
  const RaGpu *from;

  state->absent = !base || !is_wanted(work, name);
  if (state->absent)
    return TRUE;
  from = ra_gpu_named(base->device, error);
  if (!from)
    return FALSE;
  ra_transfer_law(from, base, work->gpu, work->profile, name);
  if (!ra_fit_law(name))
    return TRUE;
  state->from = from;
  state->law = ra_profile_law(base, name);
  state->n_rows = state->law->n_rows;
  return score_law(work, from, base, name, state, error);
}

gboolean
ra_calibrate_transfer(RaCalibrateWork *work, GError **error)
{
  for (guint i = 0; i < ra_law_n_specs(); i++)
    if (!transfer_law(work, ra_law_spec_at(i)->name, error))
      return FALSE;
  return TRUE;
}

void
ra_calibrate_unseen(RaCalibrateWork *work, const GArray *rows,
                    RaCalibrateLaw *state)
{
  g_autofree double *s = g_new(double, rows->len);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));

  g_clear_pointer(&state->held_out, g_free);
  state->median_frac = state->p90_frac = -1;
  if (!state->from) {
    state->held_out =
        g_strdup("not measured: its rows are one line, and no other has any");
    return;
  }
  ra_fit_predict(work->profile, rows, s);
  for (guint i = 0; i < rows->len; i++) {
    RaHeldOut one = {
        .row = i,
        .error = s[i] / g_array_index(rows, RaMeasured, i).measured_s - 1};

    g_array_append_val(errors, one);
  }
  ra_fit_errors(errors, &state->median_frac, &state->p90_frac);
  state->held_out = g_strdup_printf(
      "the %s's, transferred, on these rows before they were fitted: they are "
      "one line, of which nothing can be left out",
      state->from->name);
}
