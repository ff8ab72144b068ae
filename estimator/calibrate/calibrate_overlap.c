/* The overlap law of a profile, from overlapped kernels and collectives on the
 * one GPU with such measurements. */
#include "config.h"

#include <string.h>

#include "estimator/calibrate/calibrate_impl.h"
#include "estimator/calibrate/transfer.h"
#include "estimator/estimator.h"
#include "estimator/fit.h"
#include "estimator/robust.h"
#include "traces/law.h"
#include "traces/measured_overlap.h"

/* The only GPU with such rows; others take its fractions. */
#define MEASURED "a100"
#define NODE_GPUS 8

/* Samples of ops that determine one coefficient: below it the old one stays. */
#define LEAST_SAMPLES 10
/* Messages from here on are slowed by what they share; smaller ones are the
 * call's (estimator/overlap.h). */
#define WIRE_BYTES (1u << 20)

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
      g_strdup_printf(
          "overlap: %u of %u rows are clipped; held-out kernels are off by "
          "%.3f median, %.3f p90 (by %.3f, %.3f without the law)",
          fit->n_outliers, fit->n_rows, state->median_frac, state->p90_frac,
          median_frac, p90_frac));
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

  kernels = ra_overlap_rows_kernels(work->data, MEASURED, error);
  if (kernels)
    messages = ra_overlap_rows_messages(work->data, MEASURED, error);
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

/* ---- Of traces ------------------------------------------------------------*/

enum { PRODUCT, MEMORY, COMM, N_FRACS };

static const char *const frac_names[N_FRACS] = {"product-frac", "memory-frac",
                                                "comm-frac"};

/* Which coefficient @b says something of; N_FRACS: none. */
static guint
frac_of(const RaOverlapLaw *law, const RaMeasuredOverlap *b)
{
  if (ra_op_class((RaOpKind)b->op.kind) == RA_OP_CLASS_COMPUTE)
    return ra_overlap_is_by_memory(law, &b->op) ? MEMORY : PRODUCT;
  return b->op.dim[0] >= WIRE_BYTES ? COMM : N_FRACS;
}

/* As rows of kernels: an op is one, its samples are its runs.  While there was
 * company it did what is left of the work besides that it did alone. */
static guint
add_kernels(const RaOverlapLaw *law, const GArray *beside, guint frac,
            GArray *out)
{
  guint n = 0;

  for (guint i = 0; i < beside->len; i++) {
    const RaMeasuredOverlap *b = &g_array_index(beside, RaMeasuredOverlap, i);
    double left_s = b->beside_s - b->together_s;
    RaOverlapRowsKernel row = {.alone_s = b->alone_s,
                               .beside_s = b->beside_s,
                               .overlap_frac =
                                   CLAMP(1 - left_s / b->alone_s, 0, 1),
                               .by_memory = frac == MEMORY,
                               .kernel = out->len};

    if (frac_of(law, b) != frac || row.overlap_frac <= 0)
      continue;
    g_array_append_val(out, row);
    n += b->n;
  }
  return n;
}

/* Errors of fits that leave one op out; an op that is the only one of its kind
 * has none. */
static void
write_errors(GArray *errors, GString *text)
{
  double *size = (double *)(gpointer)errors->data;

  if (errors->len == 0)
    g_string_append(text, "error-median = -\nerror-p90 = -\n");
  else
    g_string_append_printf(text,
                           "held-out = each op left out in turn, all its runs "
                           "together\nerror-median = %.3f\nerror-p90 = %.3f\n",
                           ra_robust_quantile(size, errors->len, 0.5),
                           ra_robust_quantile(size, errors->len, 0.9));
}

void
ra_calibrate_overlap_rows(const RaProfile *old, const GArray *beside,
                          const char *source, RaCalibration *out,
                          GArray *changes)
{
  const RaLaw *law = ra_profile_law(old, "overlap");
  RaCalibrateChange change = {.law = "overlap", .text = g_string_new(NULL)};
  guint n_ops = 0, n_samples = 0, n_new = 0;
  g_autoptr(GString) found = g_string_new(NULL);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  gboolean is_part;
  RaOverlapLaw was;

  ra_overlap_law_init(&was, old, &old->spec, NULL); /* 0 where it fails */
  g_string_append(change.text, "[law overlap]\n");
  for (guint frac = 0; frac < N_FRACS; frac++) {
    g_autoptr(GArray) kernels =
        g_array_new(FALSE, FALSE, sizeof(RaOverlapRowsKernel));
    guint n = add_kernels(&was, beside, frac, kernels);
    g_autoptr(RaOverlapFit) fit = ra_overlap_fit_new(kernels);
    const double before[] = {was.product_frac, was.memory_frac, was.comm_frac};
    double value = frac == MEMORY ? fit->memory_frac : fit->product_frac;
    gboolean is_new = n >= LEAST_SAMPLES;

    g_string_append_printf(change.text, "%s = %.4g\n", frac_names[frac],
                           is_new ? value : before[frac]);
    if (!is_new)
      continue;
    g_string_append_printf(found, "%s%s", n_new++ > 0 ? ", " : "",
                           frac_names[frac]);
    ra_overlap_add_errors(fit, FALSE, errors);
    n_ops += kernels->len;
    n_samples += n;
    ra_calibrate_note(out, "overlap: %s = %.4g, of %u samples of %u ops",
                      frac_names[frac], value, n, kernels->len);
  }
  is_part = law && n_new < N_FRACS;
  g_string_append_printf(
      change.text,
      "source = %s%s%u ops, %u samples of %s; median op's mean slowdown beside "
      "the other kind\nrange = %s%s%s of these ops; messages from 1 MiB on\n"
      "rows = %u\n",
      is_part ? law->source : "", is_part ? "; in part " : "", n_ops, n_samples,
      source, is_part ? law->range : "", is_part ? "; " : "", found->str,
      n_ops);
  write_errors(errors, change.text);
  if (n_new > 0)
    g_array_append_val(changes, change);
  else
    g_string_free(change.text, TRUE);
}
