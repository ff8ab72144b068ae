/* A profile fitted on rows in memory: ops of traces, or of a probe of this
 * machine. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "estimator/calibrate/calibrate_impl.h"
#include "estimator/calibrate/transfer.h"
#include "estimator/fit.h"
#include "estimator/robust.h"
#include "traces/law.h"

/* More rows than this are searched by every so many. */
#define SEARCH_ROWS 2000

/* A collective's law has a set of lines each for 2, 4 and 8 GPUs. */
#define RANK_SETS 3

typedef struct {
  const char *source;   /* what the rows are */
  const GArray *rows;   /* (RaMeasured) all */
  RaProfile *profile;   /* being fitted: the old one and what it lacks */
  const RaProfile *old; /* as it was given */
  RaCalibration *out;
  GArray *changes; /* (RaCalibrateChange) */
} Work;

/* ---- Rows ------------------------------------------------------------------
 */

GArray *
ra_calibrate_rows_of(const GArray *rows, const RaFitLaw *law,
                     const RaProfile *profile)
{
  GArray *some = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (guint i = 0; rows && i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    if (ra_fit_takes(law, profile, &row->op))
      g_array_append_val(some, *row);
  }
  ra_fit_beside(profile, some);
  return some;
}

/* Ops among @rows whose own law is @name. */
static guint
n_rows_of(const GArray *rows, const char *name)
{
  guint n = 0;

  for (guint i = 0; i < rows->len; i++)
    n += g_strcmp0(ra_fit_law_of(&g_array_index(rows, RaMeasured, i).op),
                   name) == 0;
  return n;
}

static guint64
n_samples(const GArray *rows)
{
  guint64 n = 0;

  for (guint i = 0; i < rows->len; i++)
    n += MAX(g_array_index(rows, RaMeasured, i).samples.n, 1u);
  return n;
}

/* "m 16..4096; n 128..8192", of one kind of op, or the bytes of several. */
static char *
range_of(const GArray *rows)
{
  const RaMeasured *first = &g_array_index(rows, RaMeasured, 0);
  GString *out = g_string_new(NULL);
  gboolean alike = TRUE;
  const char *name;

  for (guint i = 0; i < rows->len; i++)
    alike &= g_array_index(rows, RaMeasured, i).op.kind == first->op.kind;
  if (!alike) {
    double low = ra_op_bytes(&first->op), high = low;

    for (guint i = 0; i < rows->len; i++) {
      double bytes = ra_op_bytes(&g_array_index(rows, RaMeasured, i).op);

      low = MIN(low, bytes);
      high = MAX(high, bytes);
    }
    g_string_append_printf(out, "bytes %.6g..%.6g", low, high);
    return g_string_free(out, FALSE);
  }
  for (guint d = 0; (name = ra_op_dim_name((RaOpKind)first->op.kind, d)); d++) {
    uint64_t low = first->op.dim[d], high = low;

    for (guint i = 0; i < rows->len; i++) {
      low = MIN(low, g_array_index(rows, RaMeasured, i).op.dim[d]);
      high = MAX(high, g_array_index(rows, RaMeasured, i).op.dim[d]);
    }
    if (high == 0 && ra_op_dim_is_optional((RaOpKind)first->op.kind, d))
      continue;
    g_string_append_printf(out, "%s%s %" G_GUINT64_FORMAT, d ? "; " : "", name,
                           low);
    if (high > low)
      g_string_append_printf(out, "..%" G_GUINT64_FORMAT, high);
  }
  return g_string_free(out, FALSE);
}

/* A host's laws are those of a core, within other bounds. */
static const RaFitLaw *
law_at(const RaProfile *old, guint index)
{
  const RaFitLaw *law = ra_fit_trace_law_at(index);
  const RaFitLaw *host = NULL;

  if (ra_profile_law(old, "gemm.fp32") && !ra_profile_law(old, "gemm.bf16") &&
      law != ra_fit_pair(TRUE))
    host = ra_fit_host_law(law->law);
  return host ? host : law;
}

/* ---- One law ---------------------------------------------------------------
 */

/* @law as these rows can have it fitted: searched from what the old profile
 * says, numbers of GPUs without rows left as they are. */
typedef struct {
  RaFitLaw law;
  RaFitCoefficient coefficients[RA_ROBUST_PARAMETERS];
  guint n_free;
  gboolean is_part; /* some coefficients stay */
} Adapted;

static gboolean
has_ranks(const GArray *rows, guint set)
{
  for (guint i = 0; i < rows->len; i++) {
    uint64_t n = g_array_index(rows, RaMeasured, i).op.dim[1];

    if ((n < 4 ? 0u : n < 8 ? 1u : 2u) == set)
      return TRUE;
  }
  return FALSE;
}

static void
adapt(const Work *work, const RaFitLaw *law, const GArray *rows, Adapted *out)
{
  const RaLaw *old = ra_profile_law(work->old, law->law);
  guint per_set = law->n_coefficients / RANK_SETS;
  gboolean by_ranks = ra_fit_has_ranks(law);

  *out = (Adapted){.law = *law, .n_free = law->n_coefficients};
  out->law.coefficients = out->coefficients;
  out->law.stride = rows->len / SEARCH_ROWS + 1;
  out->law.anneals = out->law.needs_table = TRUE;
  out->law.keeps_tables = TRUE;
  for (guint i = 0; i < law->n_coefficients; i++) {
    RaFitCoefficient *c = &out->coefficients[i];
    double value;

    *c = law->coefficients[i];
    if (!old || !ra_law_get(work->old, old, c->name, &value, NULL))
      continue;
    c->start = CLAMP(value, c->low, c->high);
    if (by_ranks && !has_ranks(rows, i / per_set))
      c->low = c->high;
    out->n_free -= !(c->low < c->high);
  }
  /* Sends in a node and between nodes share a law. */
  out->is_part = old && (out->n_free < law->n_coefficients ||
                         strcmp(law->law, "send") == 0);
}

/* From the old coefficients and from the law's own start, whichever ends
 * nearer. */
static void
fit_twice(const Work *work, const RaFitLaw *law, Adapted *a, const GArray *rows,
          RaFitResult *result)
{
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(work->profile, law->law);
  RaFitCoefficient other[RA_ROBUST_PARAMETERS];
  g_autofree RaCoefficient *first = NULL;
  RaFitResult again;
  gsize n_bytes = target->n_coefficients * sizeof *first;

  ra_fit_coefficients(&a->law, work->profile, rows, result);
  if (!ra_profile_law(work->old, law->law))
    return;
  first = g_memdup2(target->coefficients, n_bytes);
  memcpy(other, a->coefficients, sizeof other);
  for (guint i = 0; i < law->n_coefficients; i++)
    other[i].start = law->coefficients[i].start;
  a->law.coefficients = other;
  ra_fit_coefficients(&a->law, work->profile, rows, &again);
  a->law.coefficients = a->coefficients;
  if (again.loss < result->loss)
    *result = again;
  else
    memcpy(target->coefficients, first, n_bytes);
}

static const char *
held_out_text(const RaFitLaw *law)
{
  if (law->held_out[0])
    return law->held_out;
  if (g_str_has_prefix(law->law, "gemm."))
    return "each value of n and of k left out in turn";
  if (g_str_has_prefix(law->law, "memory."))
    return "each width left out in turn";
  if (g_str_has_prefix(law->law, "attention"))
    return "each number of query heads left out in turn";
  return "each size left out in turn";
}

/* The groups of a fitted law. */
static void
write_law(const Work *work, const RaFitLaw *law, const Adapted *a,
          const GArray *rows, const RaFitResult *result, double median,
          double p90, GString *out)
{
  const RaLaw *new = ra_profile_law(work->profile, law->law);
  const RaLaw *old = ra_profile_law(work->old, law->law);
  g_autofree char *range = range_of(rows);

  g_string_append_printf(out, "[law %s]\n", law->law);
  for (guint i = 0; i < new->n_coefficients; i++)
    g_string_append_printf(out, "%s = %.4g\n", new->coefficients[i].name,
                           new->coefficients[i].value);
  g_string_append_printf(out,
                         "source = %s%s%u ops, %" G_GUINT64_FORMAT
                         " samples of %s; robust fit\nrange = %s\n",
                         a->is_part ? old->source : "",
                         a->is_part ? "; in part " : "", rows->len,
                         n_samples(rows), work->source, range);
  g_string_append_printf(out, "rows = %u\noutliers = %u\n", rows->len,
                         result->n_outliers);
  if (median < 0)
    g_string_append(out, "error-median = -\nerror-p90 = -\n");
  else
    g_string_append_printf(out,
                           "held-out = %s\nerror-median = %.3f\n"
                           "error-p90 = %.3f\n",
                           held_out_text(law), median, p90);
  if (!new->grid)
    return;
  g_string_append_printf(
      out, "\n[table %s] # thousandths of ln(measured / law)\n", law->law);
  ra_grid_write(new->grid, out);
}

/* Held-out errors and the table that has the least; -1: nothing could be left
 * out. */
static guint
cross(const Work *work, const Adapted *a, const GArray *rows, double *median,
      double *p90)
{
  guint table = 0;
  g_autoptr(GArray) errors = ra_fit_cross(&a->law, work->profile, rows, &table);

  *median = *p90 = -1;
  if (errors->len > 0)
    ra_fit_errors(errors, median, p90);
  else
    table = a->law.n_tables > 0;
  return table;
}

static void
fit_law(Work *work, const RaFitLaw *law, const GArray *rows)
{
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(work->profile, law->law);
  RaCalibrateChange change = {.law = law->law};
  double median = -1, p90 = -1;
  RaGrid *kept = NULL;
  RaFitResult result;
  Adapted a;
  guint table;

  adapt(work, law, rows, &a);
  if (rows->len < a.n_free) {
    ra_calibrate_note(
        work->out,
        "%s: %u ops do not determine the %u coefficients, left unchanged",
        law->law, rows->len, a.n_free);
    return;
  }
  table = cross(work, &a, rows, &median, &p90);
  if (law == ra_fit_pair(TRUE))
    kept = g_steal_pointer(&target->grid); /* of sends in a node */
  fit_twice(work, law, &a, rows, &result);
  /* A table of rounding alone would only take the law's kinks away between its
   * knots. */
  if (table > 0 && fabs(log(result.worst_ratio)) > RA_FIT_ROUNDED) {
    target->grid =
        ra_fit_table(&a.law, work->profile, rows, a.law.tables[table - 1]);
    target->grid->is_exact = TRUE;
  }
  if (kept)
    target->grid = kept;
  if (result.n_outliers > 0)
    ra_calibrate_note_outliers(work->out, law, rows, &result);
  change.text = g_string_new(NULL);
  write_law(work, law, &a, rows, &result, median, p90, change.text);
  g_array_append_val(work->changes, change);
}

/* ---- The profile -----------------------------------------------------------
 */

/* TRUE if a profile beside @old must have law @spec: one of fp32 GEMMs needs no
 * others. */
static gboolean
is_needed(const RaProfile *old, const RaLawSpec *spec)
{
  return !spec->optional && !(strcmp(spec->name, "gemm.bf16") == 0 &&
                              ra_profile_law(old, "gemm.fp32"));
}

/* Appends laws that @text lacks, at their starts: those that a profile must
 * have and those that @rows are of. */
static char *
completed(const char *text, const RaProfile *old, const RaGpu *gpu,
          const GArray *rows)
{
  const RaGpu any = {.name = old->device, .sms = 1};
  GString *out = g_string_new(text);

  for (guint i = 0; i < ra_law_n_specs(); i++) {
    const RaLawSpec *spec = ra_law_spec_at(i);
    guint n = n_rows_of(rows, spec->name);

    if (ra_profile_law(old, spec->name) ||
        (!is_needed(old, spec) && n < spec->n_coefficients))
      continue;
    g_string_append_c(out, '\n');
    ra_transfer_start_law(gpu ? gpu : &any, spec, out);
  }
  return g_string_free(out, FALSE);
}

/* TRUE if @work has as many rows of @name as a fit of that law takes. */
static gboolean
is_determined(const Work *work, const char *name)
{
  for (guint i = 0; i < ra_fit_n_trace_laws(); i++) {
    const RaFitLaw *law = law_at(work->old, i);
    g_autoptr(GArray) rows = NULL;
    Adapted a;

    if (strcmp(law->law, name) != 0)
      continue;
    rows = ra_calibrate_rows_of(work->rows, law, work->profile);
    adapt(work, law, rows, &a);
    if (rows->len > 0 && rows->len >= a.n_free)
      return TRUE;
  }
  return FALSE;
}

/* TRUE if each law that a profile must have is in the old one or will be
 * fitted. This is checked before the fits, which take long. */
static gboolean
check_whole(const Work *work, const char *name, GError **error)
{
  for (guint i = 0; i < ra_law_n_specs(); i++) {
    const RaLawSpec *spec = ra_law_spec_at(i);

    if (!is_needed(work->old, spec) || ra_profile_law(work->old, spec->name) ||
        is_determined(work, spec->name))
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: has no law '%s', and %s has too few of its ops to fit one",
                name, spec->name, work->source);
    return FALSE;
  }
  return TRUE;
}

static RaProfile *
parse(const char *name, const char *text, GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse(name, text, strlen(text), error);

  return file ? ra_profile_load(file, error) : NULL;
}

RaCalibration *
ra_calibrate_rows(const char *name, const char *text, const RaGpu *gpu,
                  const GArray *rows, const GArray *beside, const char *source,
                  RaCalibrateProgress progress, GError **error)
{
  g_autoptr(RaCalibration) out = ra_calibration_new();
  g_autoptr(GArray) changes = ra_calibrate_changes_new();
  g_autoptr(RaProfile) old = parse(name, text, error);
  g_autofree char *whole = NULL;
  g_autoptr(RaProfile) profile = NULL;
  g_autoptr(GArray) own = NULL;
  Work work = {source, rows, NULL, old, out, changes};
  RaPace pace;

  if (!old)
    return NULL;
  own = ra_calibrate_paced(old, rows, FALSE, &pace);
  work.rows = rows = own;
  whole = completed(text, old, gpu ? gpu : ra_gpu_find(old->device), rows);
  work.profile = profile = parse(name, whole, error);
  if (!profile || !check_whole(&work, name, error))
    return NULL;
  for (guint i = 0; i < ra_fit_n_trace_laws(); i++) {
    const RaFitLaw *law = law_at(old, i);
    g_autoptr(GArray) some = ra_calibrate_rows_of(rows, law, profile);

    if (some->len == 0)
      continue;
    if (progress)
      progress(law->law);
    fit_law(&work, law, some);
  }
  if (beside && ra_profile_law(old, "gemm.bf16"))
    ra_calibrate_overlap_rows(old, beside, source, out, changes);
  ra_calibrate_rewrite(text, changes, out->text);
  return g_steal_pointer(&out);
}
