/* The overlap law of a profile, from kernels and collectives that ran together
 * on the one GPU that was so measured. */
#include "config.h"

#include <string.h>

#include "estimator/estimator.h"
#include "estimator/fit.h"
#include "study/calibrate_impl.h"
#include "study/transfer.h"
#include "traces/law.h"

/* The only GPU with such rows; others take its fractions. */
#define MEASURED "a100"
#define NODE_GPUS 8

/* The measured GPU with its collectives fitted and nothing else. */
static RaProfile *
fit_collectives(const RaCalibrateWork *work, GError **error)
{
  static const char *const names[] = {"all-reduce", "all-gather",
                                      "reduce-scatter", "all-to-all"};
  const RaGpu *gpu = ra_gpu_find(MEASURED);
  g_autoptr(RaProfile) profile = NULL;
  RaSheet sheet;

  if (!ra_gpu_sheet(gpu, work->data, &sheet, error))
    return NULL;
  profile = ra_transfer_start(gpu, &sheet);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    const RaFitLaw *law = ra_fit_law(names[i]);
    RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, names[i]);
    g_autoptr(GArray) rows =
        ra_measured_rows(work->data, law->source, MEASURED, error);
    RaFitResult result;

    if (!rows)
      return NULL;
    if (rows->len == 0)
      continue;
    ra_fit_coefficients(law, profile, rows, &result);
    target->grid = ra_fit_table(law, profile, rows, law->tables[0]);
  }
  return g_steal_pointer(&profile);
}

/* comm-frac: @messages against what they take by themselves. */
static gboolean
fit_messages(const RaCalibrateWork *work, const GArray *messages,
             double *out_frac, GError **error)
{
  g_autoptr(RaProfile) profile = fit_collectives(work, error);
  g_autoptr(RaEstimator) estimator = NULL;
  g_autofree double *alone_s = g_new(double, messages->len + 1);
  RaCluster cluster;

  if (!profile)
    return FALSE;
  cluster = (RaCluster){.n_nodes = 1,
                        .gpus_per_node = NODE_GPUS,
                        .nics_per_node = NODE_GPUS,
                        .nic_bytes_per_s = 1e9, /* not asked for */
                        .device = profile->spec};
  estimator = ra_estimator_new(profile, &cluster, NULL);
  g_assert(estimator != NULL); /* the profile has every law */
  for (guint i = 0; i < messages->len; i++)
    alone_s[i] = ra_estimator_op_s(estimator,
                                   &g_array_index(messages, RaMeasured, i).op);
  *out_frac = ra_overlap_fit_messages(messages, alone_s);
  return TRUE;
}

static void
note_fit(RaCalibrateWork *work, const RaOverlapFit *fit,
         const RaCalibrateLaw *state)
{
  double median_frac, p90_frac;

  ra_overlap_errors(fit, TRUE, &median_frac, &p90_frac);
  g_ptr_array_add(
      work->out->notes,
      g_strdup_printf("overlap: %u of %u rows are clipped; a kernel left out "
                      "is off by %.3f median, %.3f p90 (by %.3f, %.3f without "
                      "the law)",
                      fit->n_outliers, fit->n_rows, state->median_frac,
                      state->p90_frac, median_frac, p90_frac));
}

/* Why a GPU without rows has no error of its own. */
static void
say_unscored(const RaOverlapFit *fit, RaCalibrateLaw *state)
{
  double median_frac, p90_frac;

  ra_overlap_errors(fit, FALSE, &median_frac, &p90_frac);
  state->held_out = g_strdup_printf(
      "not measured: no second GPU has rows; the " MEASURED
      "'s, each kernel left out in turn, are off by %.3f median, %.3f p90",
      median_frac, p90_frac);
}

gboolean
ra_calibrate_overlap(RaCalibrateWork *work, RaCalibrateLaw *state,
                     GError **error)
{
  RaProfile *p = work->profile;
  gboolean own = strcmp(work->gpu->name, MEASURED "-sxm") == 0;
  g_autoptr(GArray) kernels = NULL;
  g_autoptr(GArray) messages = NULL;
  g_autoptr(RaOverlapFit) fit = NULL;

  kernels = ra_beside_kernels(work->data, MEASURED, error);
  if (kernels)
    messages = ra_beside_messages(work->data, MEASURED, error);
  if (!messages)
    return FALSE;
  fit = ra_overlap_fit_new(kernels);
  if (!own && kernels->len > 0)
    say_unscored(fit, state);
  if (!own && work->n_bases > 0)
    return TRUE; /* the base's */
  state->absent = kernels->len == 0;
  *ra_calibrate_coefficient(p, "overlap", "product-frac") = fit->product_frac;
  *ra_calibrate_coefficient(p, "overlap", "memory-frac") = fit->memory_frac;
  if (state->absent)
    return TRUE;
  if (!fit_messages(work, messages,
                    ra_calibrate_coefficient(p, "overlap", "comm-frac"), error))
    return FALSE;
  if (!own)
    return TRUE;
  state->n_rows = fit->n_rows + messages->len;
  state->n_outliers = fit->n_outliers;
  ra_overlap_errors(fit, FALSE, &state->median_frac, &state->p90_frac);
  state->held_out =
      g_strdup("each kernel left out in turn, all its runs together");
  note_fit(work, fit, state);
  return TRUE;
}
