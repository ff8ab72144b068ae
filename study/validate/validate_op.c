/* Levels of ops: kernels and messages, each as the estimator costs it. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "estimator/calibrate/gpu.h"
#include "estimator/fit.h"
#include "study/validate/validate_impl.h"

/* Folds of rows at random. */
#define RANDOM_FOLDS 10
/* --quick leaves out one line in so many. */
#define QUICK_STRIDE 5
/* Median of |x - y| of two draws of a normal law with deviation 1:
 * sqrt(2) times the upper quartile of the law, 0.6745. */
#define REPEAT_PER_DEVIATION 0.9539

/* Rows of one source and GPU, and what they are scored under. */
typedef struct {
  const RaValidateOps *ops;
  RaValidateJob *job;
  const char *part; /* interned */
  RaFitLaw law;
  RaProfile *profile;
  GArray *rows; /* (RaMeasured) */
} Work;

RaProfile *
ra_validate_profile(const char *gpu, GError **error)
{
  const RaGpu *known = ra_gpu_find(gpu);
  g_autofree char *name =
      g_strconcat(known ? known->name : gpu, ".profile", NULL);
  g_autofree char *path = ra_share_find("profiles", name, NULL, NULL);
  g_autoptr(RaKeyFile) file = NULL;

  file = path ? ra_key_file_load(path, error) : NULL;
  return file ? ra_profile_load(file, error) : NULL;
}

double
ra_validate_roofline_s(const RaMeasured *row, const RaDevice *device)
{
  double peak = row->op.dtype == RA_DTYPE_FP8 ? device->fp8_flop_per_s
                                              : device->bf16_flop_per_s;
  double n = (double)row->op.dim[1], bytes = (double)row->op.dim[0], rate;

  if (ra_op_class((RaOpKind)row->op.kind) == RA_OP_CLASS_COMM) {
    double ring = (row->op.kind == RA_OP_ALL_REDUCE ? 2 : 1) * (n - 1) / n;

    rate = row->nic_bytes_per_s > 0
               ? MIN(row->nic_bytes_per_s, device->intra_bytes_per_s)
               : device->intra_bytes_per_s;
    return (row->op.kind == RA_OP_SEND ? 1 : ring) * bytes / rate;
  }
  rate = ra_op_bytes(&row->op) / device->memory_bytes_per_s;
  return peak > 0 ? MAX(ra_op_flop(&row->op) / peak, rate) : rate;
}

static gboolean
is_wanted(const RaValidateOps *ops, const RaOp *op)
{
  if (ra_op_class((RaOpKind)op->kind) != RA_OP_CLASS_COMM)
    return TRUE;
  return op->dim[0] >= ops->least_bytes &&
         (ops->ranks == 0 || op->dim[1] == ops->ranks);
}

/* Adds row @index as predicted, with what was left out. */
static void
add_row(const Work *work, guint index, double predicted_s, char *fold)
{
  const RaMeasured *row = &g_array_index(work->rows, RaMeasured, index);
  g_autofree char *shape = ra_op_shape(&row->op);
  RaValidateRow out = {RA_VALIDATE_ROW,
                       .part = work->part,
                       .fold = fold,
                       .file = row->file,
                       .line = row->file_line,
                       .measured = row->measured_s,
                       .predicted = predicted_s};

  out.name = g_strdup_printf(
      "%s %s%s%s", ra_op_name((RaOpKind)row->op.kind), shape,
      row->kernels != RA_KERNELS_COMMON ? " of " : "",
      row->kernels != RA_KERNELS_COMMON ? ra_kernels_names[row->kernels] : "");
  out.roofline = ra_validate_roofline_s(row, &work->profile->spec);
  if (work->ops->repeats)
    out.repeat = g_strdup(out.name);
  if (row->deviation_frac > 0)
    out.repeat_frac = REPEAT_PER_DEVIATION * row->deviation_frac;
  ra_validate_add(work->job, out);
}

static void
score_shipped(const Work *work)
{
  g_autofree double *s = g_new(double, work->rows->len + 1);

  ra_fit_predict(work->profile, work->rows, s);
  for (guint i = 0; i < work->rows->len; i++)
    if (is_wanted(work->ops, &g_array_index(work->rows, RaMeasured, i).op))
      add_row(work, i, s[i], NULL);
}

static int
compare_lines(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return (x > y) - (x < y);
}

/* Keeps all but every so many lines from being left out. */
static void
keep_most(GArray *rows, guint line)
{
  g_autofree uint64_t *values = g_new(uint64_t, rows->len + 1);
  guint n = 0;

  for (guint i = 0; i < rows->len; i++)
    values[i] = g_array_index(rows, RaMeasured, i).line[line];
  qsort(values, rows->len, sizeof *values, compare_lines);
  for (guint i = 0; i < rows->len; i++)
    if (n == 0 || values[i] > values[n - 1])
      values[n++] = values[i];
  for (guint i = 0; i < rows->len; i++) {
    uint64_t *value = &g_array_index(rows, RaMeasured, i).line[line];
    const uint64_t *at =
        bsearch(value, values, n, sizeof *values, compare_lines);

    if ((guint)(at - values) % QUICK_STRIDE != QUICK_STRIDE / 2)
      *value = RA_MEASURED_KEPT;
  }
}

/* A tenth of the configurations a fold, all repeats of one together; with
 * @pairs a tenth of the pairs of lines, all rows of one. */
static void
shuffle(GArray *rows, gboolean pairs)
{
  for (guint i = 0; i < rows->len; i++) {
    RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    g_autofree char *group = pairs ? g_strdup_printf("%" PRIu64 " %" PRIu64,
                                                     row->line[0], row->line[1])
                                   : ra_op_shape(&row->op);

    row->line[0] = g_str_hash(group) * 2654435761u / 65536 % RANDOM_FOLDS;
  }
}

static void
score_cross(Work *work)
{
  g_autoptr(GArray) folds =
      g_array_sized_new(FALSE, FALSE, sizeof(RaMeasured), work->rows->len);
  g_autoptr(GArray) errors = NULL;
  guint table;

  g_array_append_vals(folds, work->rows->data, work->rows->len);
  work->law.lines = work->ops->lines ? work->ops->lines : 1;
  if (!work->ops->lines)
    shuffle(folds, work->ops->pairs);
  for (guint line = 0; work->job->quick && line < RA_MEASURED_LINES; line++)
    keep_most(folds, line);
  errors = ra_fit_cross(&work->law, work->profile, folds, &table);
  for (guint i = 0; i < errors->len; i++) {
    const RaHeldOut *one = &g_array_index(errors, RaHeldOut, i);
    const RaMeasured *row = &g_array_index(work->rows, RaMeasured, one->row);

    if (is_wanted(work->ops, &row->op))
      add_row(work, one->row, row->measured_s * (1 + one->error),
              g_strdup_printf(
                  "%s %" PRIu64, work->ops->line_name[one->line],
                  g_array_index(folds, RaMeasured, one->row).line[one->line]));
  }
}

/* The bars of a GPU: its own, or those of one whose profile saw no row of it.
 */
static void
set_bars(const Work *work, const RaLaw *law)
{
  const RaValidateOps *ops = work->ops;

  if ((!work->job->cross || ops->source) && law->transferred) {
    ra_validate_note(
        work->job,
        "%s: its profile is scaled by data sheet, scored as a held-out GPU",
        work->part);
    ra_validate_set_bars(work->job, work->part, ops->transferred[0],
                         ops->transferred[1]);
  } else if (ops->own_gpu && strcmp(ops->own_gpu, work->part) == 0) {
    ra_validate_set_bars(work->job, work->part, ops->own[0], ops->own[1]);
  }
}

/* How law @name is fitted; p2p.nodes and p2p.node: sends on other systems. */
static RaFitLaw
fit_of(const RaValidateOps *ops, const char *name)
{
  RaFitLaw law = g_str_has_prefix(name, "p2p.")
                     ? *ra_fit_pair(strcmp(name, "p2p.nodes") == 0)
                     : *ra_fit_law(name);

  if (ops->source)
    law.source = ops->source;
  return law;
}

/* Scores the rows of one law and GPU. */
static gboolean
score_law(const RaValidateOps *ops, const char *name, RaProfile *profile,
          const char *gpu, RaValidateJob *job, GError **error)
{
  Work work = {
      .ops = ops, .job = job, .part = g_intern_string(gpu), .profile = profile};
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GPtrArray) siblings = NULL;
  const RaLaw *law;

  work.law = fit_of(ops, name);
  work.rows = rows =
      ra_measured_rows(job->folders, work.law.source, gpu, error);
  if (!rows)
    return FALSE;
  if (job->cross && !ops->source && ra_fit_borrows(&work.law)) {
    siblings =
        ra_gpu_siblings(ra_gpu_find(gpu), job->folders, work.law.source, error);
    if (!siblings)
      return FALSE;
    work.law.siblings = siblings;
  }
  ra_fit_beside(profile, work.rows);
  law = ra_profile_law(profile, work.law.law);
  if (rows->len > 0 && !law) {
    ra_validate_note(job,
                     "%s: %u rows of %s are not scored: its profile has no "
                     "law for them",
                     gpu, rows->len, work.law.source);
  } else if (rows->len > 0 && !job->cross && ops->shipped_gpu &&
             strcmp(gpu, ops->shipped_gpu) != 0) {
    ra_validate_note(job,
                     "%s: %u rows of %s are not scored: the rate of their "
                     "network is not published",
                     gpu, rows->len, work.law.source);
  } else if (rows->len > 0) {
    set_bars(&work, law);
    if (job->cross && !ops->source)
      score_cross(&work);
    else
      score_shipped(&work);
  }
  return TRUE;
}

/* Scores the rows of a GPU under the shipped profile, or counts those that
 * there is none for. */
static gboolean
score_gpu(const RaValidateOps *ops, const char *gpu, RaValidateJob *job,
          GError **error)
{
  g_autoptr(GError) local = NULL;
  g_autoptr(RaProfile) profile = ra_validate_profile(gpu, &local);
  guint n_unknown = 0;

  if (local) {
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
  }
  for (guint l = 0; ops->laws[l]; l++) {
    g_autoptr(GArray) rows = NULL;

    if (profile) {
      if (!score_law(ops, ops->laws[l], profile, gpu, job, error))
        return FALSE;
      continue;
    }
    rows = ra_measured_rows(job->folders, fit_of(ops, ops->laws[l]).source, gpu,
                            error);
    if (!rows)
      return FALSE;
    n_unknown += rows->len;
  }
  if (n_unknown > 0)
    ra_validate_note(job, "%s: %u rows are not scored: no profile of this GPU",
                     gpu, n_unknown);
  return TRUE;
}

gboolean
ra_validate_ops(const RaValidateLevel *level, RaValidateJob *job,
                GError **error)
{
  const RaValidateOps *ops = level->argument;
  g_autoptr(GHashTable) seen =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  for (guint l = 0; ops->laws[l]; l++) {
    g_autoptr(GPtrArray) gpus =
        ra_measured_gpus(job->folders, fit_of(ops, ops->laws[l]).source, error);

    if (!gpus)
      return FALSE;
    for (guint i = 0; i < gpus->len; i++)
      if (g_hash_table_add(seen, g_strdup(g_ptr_array_index(gpus, i))) &&
          !score_gpu(ops, g_ptr_array_index(gpus, i), job, error))
        return FALSE;
  }
  return TRUE;
}
