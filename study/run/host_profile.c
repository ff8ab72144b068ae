/* From samples of ops to the profile of a host. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "estimator/fit.h"
#include "estimator/gemm.h"
#include "estimator/robust.h"
#include "study/run/host.h"
#include "traces/law.h"
#include "traces/measured_trace.h"

#define GIB 1073741824.0

typedef struct {
  const RaTrace *samples;
  const char *name;
  GArray *rows;       /* of RaMeasured, of all kinds */
  GArray *reuses;     /* of RaMeasured: products that say a reuse */
  RaDevice spec;      /* of a rank */
  RaProfile *profile; /* with every law */
} Work;

/* Laws that a host has none of. */
static gboolean
is_left_out(const char *law)
{
  static const char *const names[] = {
      "gemm.bf16", "gemm.fp8",    "inter-node.all-to-all",
      "overlap",   RA_GEMM_REUSE, NULL};

  return g_strv_contains(names, law) || g_str_has_prefix(law, "tokens.") ||
         ra_law_kernels(law) != RA_KERNELS_COMMON;
}

/* Products at reuses of their own are rows of that law alone. */
static void
part_rows(Work *w)
{
  GArray *all = g_steal_pointer(&w->rows);

  w->rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  for (guint i = 0; i < all->len; i++) {
    const RaMeasured *row = &g_array_index(all, RaMeasured, i);
    gboolean says = row->op.kind == RA_OP_GEMM &&
                    ra_feature(RA_FEATURE_REUSE, &row->op) > 0;

    g_array_append_vals(says ? w->reuses : w->rows, row, 1);
  }
  g_array_unref(all);
}

static gboolean
head_number(const Work *w, const char *key, double *out, GError **error)
{
  const char *text = ra_trace_head(w->samples, key);

  if (text && ra_text_double(text, out) && *out > 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no number '%s' in the head, expected samples of reallot "
              "calibrate --backend=host",
              w->name, key);
  return FALSE;
}

/* Share of the machine of one rank, and the fastest GEMM. */
static gboolean
find_spec(Work *w, GError **error)
{
  double memory, rate, ranks;

  if (!head_number(w, "memory-bytes", &memory, error) ||
      !head_number(w, "copy-bytes-per-s", &rate, error) ||
      !head_number(w, "gpus-per-node", &ranks, error))
    return FALSE;
  w->spec = (RaDevice){.memory_bytes = floor(memory / ranks),
                       .memory_bytes_per_s = rate,
                       .intra_bytes_per_s = rate,
                       .host_bytes_per_s = rate};
  for (guint i = 0; i < w->rows->len; i++) {
    const RaMeasured *row = &g_array_index(w->rows, RaMeasured, i);

    if (row->op.kind == RA_OP_GEMM)
      w->spec.fp32_flop_per_s =
          fmax(w->spec.fp32_flop_per_s, ra_op_flop(&row->op) / row->measured_s);
  }
  if (w->spec.fp32_flop_per_s > 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no row is a matrix multiplication, expected samples of "
              "reallot calibrate --backend=host",
              w->name);
  return FALSE;
}

/* Values that are not fitted: one processor that takes element by element. */
static double
fixed_value(const char *law, const RaCoefficientSpec *c)
{
  static const char *const ones[] = {
      "sms",       "tile-m",         "tile-n",
      "split-k",   "wave-frac",      "small-tile-frac",
      "peak-frac", "bandwidth-frac", "efficiency-frac",
      NULL};

  if (strcmp(law, "host") == 0)
    return 0;
  if (g_strv_contains(ones, c->name))
    return 1;
  if (strcmp(c->name, "flash") == 0)
    return 0;
  /* A rank alone has nobody to send to; another node there is none: copies of
   * memory. */
  if (g_str_has_suffix(c->name, "-frac"))
    return strcmp(c->name, "hierarchical-frac") == 0 ? 0 : 0.5;
  return CLAMP(1e-6, c->min, c->max);
}

static void
append_device(const Work *w, GString *out)
{
  g_string_append_printf(
      out,
      "[device]\nmemory = %.6g GiB\nmemory-bandwidth = %.6g GB/s\n"
      "bf16 = %.6g GFLOP/s\nfp32 = %.6g GFLOP/s\nintra-node = %.6g GB/s\n"
      "host = %.6g GB/s\n",
      w->spec.memory_bytes / GIB, w->spec.memory_bytes_per_s * 1e-9,
      w->spec.fp32_flop_per_s * 1e-9, w->spec.fp32_flop_per_s * 1e-9,
      w->spec.intra_bytes_per_s * 1e-9, w->spec.host_bytes_per_s * 1e-9);
}

/* A profile with every law, before the fits. */
static RaProfile *
start(const Work *w)
{
  g_autoptr(GString) text =
      g_string_new("[profile]\nformat = 1\ndevice = host\nderived = a fit\n");
  g_autoptr(RaKeyFile) file = NULL;
  RaProfile *profile;

  append_device(w, text);
  g_string_append(text, "source = a probe\n");
  for (guint i = 0; i < ra_law_n_specs(); i++) {
    const RaLawSpec *spec = ra_law_spec_at(i);

    if (is_left_out(spec->name))
      continue;
    g_string_append_printf(text,
                           "[law %s]\nsource = a fit\nrows = 0\nrange = all\n"
                           "error-median = -\nerror-p90 = -\n",
                           spec->name);
    for (guint j = 0; j < spec->n_coefficients; j++)
      g_string_append_printf(text, "%s = %.10g\n", spec->coefficients[j].name,
                             fixed_value(spec->name, &spec->coefficients[j]));
  }
  file = ra_key_file_parse("start", text->str, text->len, NULL);
  profile = file ? ra_profile_load(file, NULL) : NULL;
  g_assert(profile != NULL); /* all of it stands above */
  return profile;
}

/* TRUE if a row is of a kind of @law. */
static gboolean
is_measured(const Work *w, const char *law)
{
  for (guint i = 0; i < w->rows->len; i++)
    if (g_strcmp0(ra_fit_law_of(&g_array_index(w->rows, RaMeasured, i).op),
                  law) == 0)
      return TRUE;
  return FALSE;
}

/* Rows of @law's kinds; "memory.other" is fitted on all memory-bound ones where
 * none is of its own, as samples of older probes. */
static GArray *
rows_of(const Work *w, const char *law)
{
  GArray *out = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  gboolean pooled = strcmp(law, "memory.other") == 0 && !is_measured(w, law);

  for (guint i = 0; i < w->rows->len; i++) {
    const RaMeasured *row = &g_array_index(w->rows, RaMeasured, i);
    const char *of = ra_fit_law_of(&row->op);

    if (of &&
        (strcmp(of, law) == 0 || (pooled && g_str_has_prefix(of, "memory."))))
      g_array_append_vals(out, row, 1);
  }
  /* By the law that stands for them: routing is of no law of its own. */
  for (guint i = 0; pooled && i < out->len; i++) {
    RaOp *op = &g_array_index(out, RaMeasured, i).op;
    double bytes = ra_op_bytes(op);

    *op = (RaOp){.kind = RA_OP_PERMUTE,
                 .dtype = RA_DTYPE_FP32,
                 .count = 1,
                 .dim = {op->dim[0], 0}};
    op->dim[1] = (uint64_t)fmax(bytes / 8 / (double)MAX(op->dim[0], 1), 1);
  }
  return out;
}

static void
append_errors(const char *held_out, const GArray *errors, GString *out)
{
  double median, p90;

  if (errors->len == 0) {
    g_string_append(out, "error-median = -\nerror-p90 = -\n");
    return;
  }
  ra_fit_errors(errors, &median, &p90);
  g_string_append_printf(out,
                         "held-out = %s\nerror-median = %.3f\nerror-p90 = "
                         "%.3f\n",
                         held_out, median, p90);
}

static void
append_coefficients(const Work *w, const RaLawSpec *spec, GString *out)
{
  const RaLaw *law = ra_profile_law(w->profile, spec->name);

  g_string_append_printf(out, "\n[law %s]\n", spec->name);
  for (guint i = 0; i < law->n_coefficients; i++)
    g_string_append_printf(out, "%s = %.4g\n", law->coefficients[i].name,
                           law->coefficients[i].value);
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The median over seconds of a core: what goes on for longer is in it. */
static gboolean
append_pace(const Work *w, GString *out, GError **error)
{
  const char *text = ra_trace_head(w->samples, RA_TRACE_WALL_PER_CPU);
  g_auto(GStrv) words = g_strsplit(text ? text : "", " ", -1);
  guint n = g_strv_length(words);
  g_autofree double *pace = g_new(double, n + 1);

  for (guint i = 0; i < n; i++)
    if (!ra_text_double(words[i], &pace[i]) || !(pace[i] > 0)) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: its head says '" RA_TRACE_WALL_PER_CPU
                  "' is '%s', expected numbers",
                  w->name, text);
      return FALSE;
    }
  if (n == 0)
    return TRUE;
  qsort(pace, n, sizeof *pace, compare_doubles);
  g_string_append_printf(
      out,
      "\n[pace]\nwall-per-cpu = %.4f\nerror = %.4f\ndraws = 1\n"
      "source = %s, %u seconds of a core, all ranks at the same time; their "
      "median and half the distance of their quartiles\n",
      CLAMP(pace[n / 2], RA_PACE_LEAST, RA_PACE_MOST),
      (pace[n * 3 / 4] - pace[n / 4]) / 2 / pace[n / 2], w->name, n);
  return TRUE;
}

/* Table of the reuse of weights, by what passes between two uses; it has no
 * law. */
static gboolean
add_reuse(const Work *w, GString *out, GError **error)
{
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));
  g_autoptr(RaGrid) grid = NULL;
  double lap_mib;

  if (!ra_trace_head(w->samples, RA_TRACE_LAP_MIB))
    return TRUE;
  if (!head_number(w, RA_TRACE_LAP_MIB, &lap_mib, error))
    return FALSE;
  grid = ra_fit_reuse(w->reuses, lap_mib, errors);
  if (!grid)
    return TRUE;
  g_string_append_printf(
      out,
      "\n[law " RA_GEMM_REUSE "]\nlap-mib = %g\n"
      "source = %s, GEMMs of few rows whose weights go round so many MiB of "
      "all ranks; shape by shape over that at lap-mib\n"
      "range = the probe's grid\nrows = %u\n",
      lap_mib, w->name, w->reuses->len);
  append_errors("each reuse between two others of its shape left out in turn",
                errors, out);
  g_string_append(out, "\n[table " RA_GEMM_REUSE
                       "] # thousandths of ln(time / time at lap-mib)\n");
  ra_grid_write(grid, out);
  return TRUE;
}

/* Fits one law and appends it.  One that a profile may lack, and that no row is
 * of, stays away: the estimator has a law that stands for it, or the parts of
 * the op. */
static void
add_law(Work *w, const RaLawSpec *spec, GString *out)
{
  const RaFitLaw *fit = ra_fit_host_law(spec->name);
  g_autoptr(GArray) rows = fit ? rows_of(w, spec->name) : NULL;
  g_autoptr(GArray) errors = NULL;
  RaLaw *law = (RaLaw *)(gpointer)ra_profile_law(w->profile, spec->name);
  RaFitResult result;
  guint table = 0;

  if (spec->optional && (!fit || rows->len == 0))
    return;
  if (!fit || rows->len == 0) {
    append_coefficients(w, spec, out);
    g_string_append_printf(
        out,
        "source = %s\nrange = none\nrows = 0\nerror-median = -\n"
        "error-p90 = -\n",
        strcmp(spec->name, "host") == 0
            ? "an op's time has its call: a core launches nothing"
            : "not measured: no other rank, no other node");
    return;
  }
  errors = ra_fit_cross(fit, w->profile, rows, &table);
  ra_fit_coefficients(fit, w->profile, rows, &result);
  if (errors->len == 0 && fit->n_tables > 0)
    table = 1;
  if (table > 0)
    law->grid = ra_fit_table(fit, w->profile, rows, fit->tables[table - 1]);
  append_coefficients(w, spec, out);
  g_string_append_printf(out,
                         "source = %s, %s; robust fit\nrange = %s\nrows = %u\n"
                         "outliers = %u\n",
                         w->name, fit->text, fit->range, rows->len,
                         result.n_outliers);
  append_errors(fit->held_out, errors, out);
  if (!law->grid)
    return;
  g_string_append_printf(
      out, "\n[table %s] # thousandths of ln(measured / law)\n", spec->name);
  ra_grid_write(law->grid, out);
}

static void
append_head(const Work *w, const char *device, GString *out)
{
  g_autofree char *name = ra_quote_visible(w->name);

  ra_quote_comment(out, "Made by `%s`; do not edit.",
                   ra_trace_head(w->samples, "command"));
  g_string_append_printf(
      out,
      "[profile]\nformat = 1\ndevice = %s\n"
      "derived = measured on %s, on %s, %s; OpenBLAS, one thread a rank\n\n",
      device, ra_trace_head(w->samples, "machine"),
      ra_trace_head(w->samples, "date"), ra_trace_head(w->samples, "grid"));
  append_device(w, out);
  g_string_append_printf(
      out,
      "source = %s: of a rank; bf16 is computed as fp32, whose rate is the "
      "fastest GEMM's; links are copies of memory\n",
      name);
}

static gboolean
write_profile(Work *w, const char *path, const char *device, GString *out,
              GError **error)
{
  RaMeasuredTally tally;

  if (!ra_measured_trace(w->samples, path, w->rows, &tally, error))
    return FALSE;
  part_rows(w);
  if (!find_spec(w, error))
    return FALSE;
  append_head(w, device, out);
  if (!append_pace(w, out, error))
    return FALSE;
  w->profile = start(w);
  for (guint i = 0; i < ra_law_n_specs(); i++)
    if (!is_left_out(ra_law_spec_at(i)->name))
      add_law(w, ra_law_spec_at(i), out);
  ra_profile_free(w->profile);
  return add_reuse(w, out, error);
}

GString *
ra_host_profile(const RaTrace *samples, const char *name, const char *device,
                GError **error)
{
  g_autofree char *base = g_path_get_basename(name);
  g_autoptr(GString) out = g_string_new(NULL);
  Work w = {.samples = samples,
            .name = base,
            .rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured)),
            .reuses = g_array_new(FALSE, FALSE, sizeof(RaMeasured))};
  gboolean ok = write_profile(&w, name, device, out, error);

  g_array_unref(w.rows);
  g_array_unref(w.reuses);
  return ok ? g_steal_pointer(&out) : NULL;
}
