/* Merging of new measurements into an existing profile. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "estimator/calibrate/calibrate_impl.h"
#include "traces/kineto.h"
#include "traces/measured_overlap.h"
#include "traces/measured_trace.h"
#include "traces/nccl_log.h"

static void
clear_change(gpointer data)
{
  RaCalibrateChange *change = data;

  if (change->text)
    g_string_free(change->text, TRUE);
  g_free(change->n_rows);
  g_free(change->more);
  ra_grid_free(change->grid);
}

GArray *
ra_calibrate_changes_new(void)
{
  GArray *changes = g_array_new(FALSE, FALSE, sizeof(RaCalibrateChange));

  g_array_set_clear_func(changes, clear_change);
  return changes;
}

/* The law's last change whose group the header @line opens; NULL: none. */
static const RaCalibrateChange *
change_of(const GArray *changes, const char *noun, const char *line)
{
  for (guint i = changes->len; i-- > 0;) {
    const RaCalibrateChange *change =
        &g_array_index(changes, RaCalibrateChange, i);
    g_autofree char *header = g_strdup_printf("[%s %s]", noun, change->law);

    if (g_str_has_prefix(line, header))
      return change;
  }
  return NULL;
}

/* Which changes of laws were met in the text. */
typedef struct {
  const GArray *changes;
  const RaCalibrateChange *law, *table; /* whose group the line is in */
  GHashTable *seen;                     /* char *: laws with text */
  GString *out;
} Rewriter;

/* A line in a group. */
static void
rewrite_line(Rewriter *r, const char *line, gboolean is_last)
{
  const RaCalibrateChange *law = r->law;

  if ((law && law->text) || (r->table && r->table->text))
    return;
  if (r->table &&
      (g_str_has_prefix(line, "axis-") || g_str_has_prefix(line, "at")))
    return;
  if (law && g_str_has_prefix(line, "rows = "))
    g_string_append_printf(r->out, "rows = %s\n", law->n_rows);
  else if (law && g_str_has_prefix(line, "source = "))
    g_string_append_printf(r->out, "%s%s\n", line, law->more);
  else
    g_string_append_printf(r->out, "%s%s", line, is_last ? "" : "\n");
}

static void
rewrite_header(Rewriter *r, const char *line)
{
  const RaCalibrateChange *any;

  r->law = change_of(r->changes, "law", line);
  r->table = change_of(r->changes, "table", line);
  any = r->law ? r->law : r->table;
  if (any && any->text) {
    if (r->law) {
      g_string_append_printf(r->out, "%s\n", any->text->str);
      g_hash_table_add(r->seen, (gpointer)(guintptr)any->law);
    }
    return;
  }
  g_string_append_printf(r->out, "%s\n", line);
  if (r->table)
    ra_grid_write(r->table->grid, r->out);
}

void
ra_calibrate_rewrite(const char *text, const GArray *changes, GString *out)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  Rewriter r = {.changes = changes, .seen = seen, .out = out};

  for (guint i = 0; lines[i]; i++) {
    if (*lines[i] == '[')
      rewrite_header(&r, lines[i]);
    else
      rewrite_line(&r, lines[i], !lines[i + 1]);
  }
  for (guint i = 0; i < changes->len; i++) {
    const RaCalibrateChange *change =
        &g_array_index(changes, RaCalibrateChange, i);
    g_autofree char *header = g_strdup_printf("[law %s]", change->law);

    if (change->text && !g_hash_table_contains(seen, change->law) &&
        change_of(changes, "law", header) == change)
      g_string_append_printf(out, "%s%s\n",
                             g_str_has_suffix(out->str, "\n\n") ? "" : "\n",
                             change->text->str);
  }
}

/* (transfer full): those of @rows that are of runs, or the others. */
static GArray *
rows_of_runs(const GArray *rows, gboolean of_run)
{
  GArray *some = g_array_new(FALSE, FALSE, sizeof(RaMeasured));

  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    if (!row->of_run == !of_run)
      g_array_append_vals(some, row, 1);
  }
  return some;
}

/* (transfer full) (nullable): the law's table with @rows: samples of a
 * calibration beside its own, and then what runs say of them all. */
static RaGrid *
merge_table(RaProfile *profile, const RaFitLaw *law, const GArray *rows)
{
  g_autoptr(GArray) samples = rows_of_runs(rows, FALSE);
  g_autoptr(GArray) runs = rows_of_runs(rows, TRUE);
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(profile, law->law);
  RaGrid *old = target->grid, *pooled, *both;

  if (samples->len == 0)
    return ra_fit_refit(law, profile, runs);
  pooled = ra_fit_merge(law, profile, samples);
  if (!pooled || runs->len == 0)
    return pooled;
  target->grid = pooled;
  both = ra_fit_refit(law, profile, runs);
  target->grid = old;
  ra_grid_free(pooled);
  return both;
}

/* Rows of one law into its table. */
static void
merge_law(RaProfile *profile, const RaFitLaw *law, const GArray *rows,
          const char *source, RaCalibration *out, GArray *changes)
{
  RaCalibrateChange change = {.law = law->law};
  guint64 old = ra_profile_law(profile, law->law)->n_rows;

  /* The table of sends is over those in a node. */
  if (law != ra_fit_pair(TRUE))
    change.grid = merge_table(profile, law, rows);
  if (!change.grid) {
    ra_calibrate_note(out, "%s: has no table%s, %u row%s ignored", law->law,
                      law == ra_fit_pair(TRUE) ? " of sends between nodes" : "",
                      rows->len, rows->len == 1 ? "" : "s");
    return;
  }
  change.grid->is_exact = TRUE;
  change.n_rows = g_strdup_printf("%" G_GUINT64_FORMAT, old + rows->len);
  change.more = g_strdup_printf("; and %u row%s of %s", rows->len,
                                rows->len == 1 ? "" : "s", source);
  g_array_append_val(changes, change);
}

/* By how much all ops of runs among @rows together are predicted too long. */
static double
off_frac(const RaProfile *profile, const GArray *rows)
{
  g_autofree double *predicted_s = g_new(double, rows->len + 1);
  double predicted = 0, measured = 0;

  ra_fit_predict(profile, rows, predicted_s);
  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    double n = MAX(row->samples.n, 1u);

    if (!row->of_run || !(predicted_s[i] > 0))
      continue;
    predicted +=
        n * predicted_s[i] *
        (ra_calibrate_is_paced(&row->op) ? profile->pace.wall_per_cpu : 1);
    measured += n * row->measured_s;
  }
  return measured > 0 ? predicted / measured - 1 : 0;
}

/* The merged profile is kept where it is closer to the run as a whole. Ops that
 * the laws have too long make predictions shorter. Where the sum of all ops,
 * with the waits of ranks in them, was too short already, other plans would
 * only get worse by it. */
static gboolean
keep_better(const char *name, const char *text, const RaProfile *before,
            const GArray *rows, RaCalibration *out, GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse(name, out->text->str, out->text->len, error);
  g_autoptr(RaProfile) after = file ? ra_profile_load(file, error) : NULL;
  double was, is;

  if (!after)
    return FALSE;
  was = off_frac(before, rows);
  is = off_frac(after, rows);
  if (fabs(is) <= fabs(was))
    return TRUE;
  ra_calibrate_note(out,
                    "the profile is left as it was: its error over all ops of "
                    "the run is %+.1f %%, and would be %+.1f %%",
                    was * 100, is * 100);
  g_string_assign(out->text, text);
  return TRUE;
}

RaCalibration *
ra_calibrate_merge_rows(const char *name, const char *text, const GArray *rows,
                        const char *source, GError **error)
{
  g_autoptr(RaCalibration) out = ra_calibration_new();
  g_autoptr(GArray) changes = ra_calibrate_changes_new();
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse(name, text, strlen(text), error);
  g_autoptr(RaProfile) profile = file ? ra_profile_load(file, error) : NULL;
  g_autoptr(GArray) own = NULL;
  g_autofree char *paced = NULL;
  RaPace pace;

  if (!profile)
    return NULL;
  own = ra_calibrate_paced(profile, rows, TRUE, &pace);
  for (guint i = 0; i < ra_fit_n_trace_laws(); i++) {
    const RaFitLaw *law = ra_fit_trace_law_at(i);
    g_autoptr(GArray) some = ra_calibrate_rows_of(own, law, profile);

    if (some->len > 0 && ra_profile_law(profile, law->law))
      merge_law(profile, law, some, source, out, changes);
  }
  paced = ra_calibrate_pace_text(text, &pace);
  ra_calibrate_rewrite(paced, changes, out->text);
  if (!keep_better(name, text, profile, rows, out, error))
    return NULL;
  return g_steal_pointer(&out);
}

/* ---- Where rows are from ---------------------------------------------------
 */

gboolean
ra_calibrate_folder_rows(const char *const *data, const char *gpu, GArray *rows,
                         GError **error)
{
  const RaGpu *known = ra_gpu_named(gpu, error);

  if (!known)
    return FALSE;
  for (guint i = 0; i < ra_fit_n_laws(); i++) {
    const RaFitLaw *law = ra_fit_law_at(i);
    g_autoptr(GArray) some =
        ra_measured_rows(data, law->source, known->rows, error);

    if (!some)
      return FALSE;
    g_array_append_vals(rows, some->data, some->len);
  }
  return TRUE;
}

/* Notes on the ops of a trace that do not count, with the reason. */
static void
note_tally(const char *path, const RaMeasuredTally *t, GPtrArray *notes)
{
  g_autofree char *name = g_path_get_basename(path);
  g_autofree char *shape = ra_op_shape(&t->worst);

  if (t->n_beside > 0)
    g_ptr_array_add(
        notes,
        g_strdup_printf(
            "%s: %u of %u ops overlapped with others on their GPUs (ignored)",
            name, t->n_beside, t->n_ops));
  if (t->n_short > 0)
    g_ptr_array_add(
        notes,
        g_strdup_printf(
            "%s: %u of %u ops took less than the trace's nanosecond (ignored)",
            name, t->n_short, t->n_ops));
  if (t->n_outliers > 0)
    g_ptr_array_add(
        notes,
        g_strdup_printf(
            "%s: %u of %u samples are outliers of their op (counted here, "
            "without weight); the worst, %s %s, took %.2f of its median",
            name, t->n_outliers, t->n_samples,
            ra_op_name((RaOpKind)t->worst.kind), shape, t->worst_ratio));
}

/* A trace of our own, or (.json) of PyTorch's profiler. */
static RaTrace *
load_trace(const char *path, GPtrArray *notes, GError **error)
{
  RaKinetoTally tally;
  RaTrace *trace;

  if (!ra_kineto_is_named(path))
    return ra_trace_load(path, error);
  trace = ra_kineto_load(path, &tally, error);
  if (trace && tally.n_unknown > 0)
    g_ptr_array_add(notes,
                    g_strdup_printf("%s: %u %s have no law, %u ops have one",
                                    path, tally.n_unknown,
                                    tally.n_kernels > 0 ? "kernels" : "events",
                                    tally.n_ops));
  return trace;
}

static void
set_source(const RaTrace *trace, RaMeasured *row)
{
  const char *pace = ra_trace_head(trace, RA_TRACE_WALL_PER_CPU);

  row->of_run = g_strcmp0(ra_trace_head(trace, "source"), "run") == 0;
  row->of_wall = !ra_trace_is_from(trace, RA_TRACE_SOURCE_HOST);
  if (row->of_run && pace && !ra_text_double(pace, &row->wall_per_cpu))
    row->wall_per_cpu = 0;
}

gboolean
ra_calibrate_trace(const RaTrace *trace, const char *path, GArray *rows,
                   GArray *beside, GPtrArray *notes, GError **error)
{
  RaMeasuredTally tally;
  const char *system;
  guint first = rows->len;

  if (!ra_measured_trace(trace, path, rows, &tally, error))
    return FALSE;
  for (guint i = first; i < rows->len; i++)
    set_source(trace, &g_array_index(rows, RaMeasured, i));
  if (tally.n_samples == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: %s, expected ops with times of their own (simulate "
                "--fidelity=op)",
                path,
                tally.n_ops > 0 ? "every op overlapped with another"
                                : "there is no row with an op");
    return FALSE;
  }
  /* A simulated trace has its ops as they are alone: their task is longer. */
  if (beside && g_strcmp0(ra_trace_head(trace, "source"), "simulate") != 0) {
    g_autoptr(GArray) some = ra_measured_overlap(trace, path, error);

    if (!some)
      return FALSE;
    g_array_append_vals(beside, some->data, some->len);
  }
  note_tally(path, &tally, notes);
  system = ra_trace_head(trace, "system");
  if (system)
    g_ptr_array_add(notes,
                    g_strdup_printf("%s: was simulated with %s, whose factors "
                                    "are in its ops",
                                    path, system));
  return TRUE;
}

gboolean
ra_calibrate_trace_rows(const char *path, GArray *rows, GArray *beside,
                        GPtrArray *notes, GError **error)
{
  g_autoptr(RaTrace) trace = NULL;

  if (ra_nccl_log_is(path))
    return ra_nccl_log_load(path, rows, notes, error);
  trace = load_trace(path, notes, error);
  return trace && ra_calibrate_trace(trace, path, rows, beside, notes, error);
}
