/* The level of experts: one layer's router, grouped products and permutations,
 * measured together by tokens and by experts that they met:
 * serving_e2e_vllm/profile/<gpu>_<model>_tp<n>/moe.csv.
 *
 * No law is fitted on them: that of experts (estimator/experts.h) is, on tables
 * of another tool.  Scored are the shipped profile and, by the rules of
 * estimator/calibrate/transfer.h, the laws of other GPUs on this one's data
 * sheet.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "estimator/calibrate/transfer.h"
#include "estimator/estimator.h"
#include "study/validate/rl_step.h"
#include "study/validate/validate_impl.h"
#include "traces/csv.h"

#define NODE_GPUS 8

/* Rows of an artificial number of experts are left out: even choices do not
 * meet so many, and no law has that number.  Those within this count. */
#define MET_FRAC 0.1

/* GPUs with rows of their own of products, from which laws are transferred. */
static const char *const bases[] = {"h100", "a100", NULL};

/* Reader of a file. */
typedef struct {
  RaValidateJob *job;
  const RaModel *model;
  const RaEstimator *estimator;
  const RaDevice *device;
  const char *part;
  char *name; /* of the folder */
} Reader;

RaModel *
ra_validate_model(const char *name)
{
  g_autofree char *config = ra_rl_model_config(name);
  g_autofree char *path =
      config ? ra_share_find("models", config, NULL, NULL) : NULL;

  return path ? ra_model_load(path, NULL) : NULL;
}

static gboolean
read_row(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  RaShard shard = {.model = r->model,
                   .tp = 1,
                   .dtype = RA_DTYPE_BF16,
                   .groups_experts = 1,
                   .sampling = 1};
  RaOp ops[RA_OP_LIST_MAX];
  RaValidateRow row = {RA_VALIDATE_ROW, .part = r->part,
                       .file = g_intern_string(line->path),
                       .line = line->number};
  double v[3], met;
  guint n;

  if (!ra_csv_numbers(line, 0, 3, v, error))
    return FALSE;
  if (v[0] < 1 || v[1] < 1 || v[0] > 1e7 || v[1] > r->model->n_experts ||
      v[2] <= 0)
    return TRUE;
  met =
      (double)ra_experts_met(r->model, 1, (uint64_t)v[0], r->model->n_experts);
  if (fabs(met / v[1] - 1) > MET_FRAC)
    return TRUE;
  n = ra_op_list_experts(&shard, (uint64_t)v[0], ops);
  row.measured = 1e-6 * v[2];
  row.roofline = 0;
  for (guint i = 0; i < n; i++) {
    const RaMeasured one = {.op = ops[i]};

    row.predicted += ra_estimator_op_s(r->estimator, &ops[i]);
    row.roofline += ra_validate_roofline_s(&one, r->device);
  }
  row.name = g_strdup_printf("%s, %g tokens, %g experts", r->name, v[0], v[1]);
  ra_validate_add(r->job, row);
  return TRUE;
}

/* The rows of @files under @profile. */
static gboolean
score(Reader *r, const GPtrArray *files, const RaProfile *profile,
      GError **error)
{
  static const char *const columns[] = {"tokens", "activated_experts",
                                        "time_us", NULL};
  const RaCluster node = {
      .n_nodes = 1, .gpus_per_node = NODE_GPUS, .device = profile->spec};
  g_autoptr(RaEstimator) estimator = ra_estimator_new(profile, &node, error);

  if (!estimator)
    return FALSE;
  r->estimator = estimator;
  r->device = &node.device;
  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(files->pdata[i], columns, read_row, r, error))
      return FALSE;
  return TRUE;
}

static gboolean
score_base(Reader *r, const GPtrArray *files, const char *gpu, const char *base,
           const RaProfile *shipped, GError **error)
{
  const RaGpu *from = ra_gpu_find(base), *to = ra_gpu_find(gpu);
  g_autoptr(RaProfile) own = ra_validate_profile(base, error);
  g_autoptr(RaProfile) profile = NULL;
  g_autofree char *part = g_strdup_printf("%s from %s", gpu, base);
  RaSheet sheet = ra_validate_sheet(shipped);

  if (!own || from == to)
    return own != NULL;
  profile = ra_transfer_profile(from, own, to, &sheet);
  r->part = g_intern_string(part);
  return score(r, files, profile, error);
}

/* A folder `rtxpro6000_qwen3-30b-a3b_tp1`. */
static gboolean
score_folder(RaValidateJob *job, const char *parent, const char *name,
             GError **error)
{
  g_autofree char *path = g_build_filename(parent, name, NULL);
  g_autoptr(GPtrArray) files = ra_csv_find(path, "moe");
  g_auto(GStrv) part = g_strsplit(name, "_", -1);
  g_autoptr(GError) cause = NULL;
  g_autoptr(RaProfile) profile = NULL;
  g_autoptr(RaModel) model = NULL;
  Reader r = {.job = job, .name = part[1]};

  if (files->len == 0 || g_strv_length(part) < 2)
    return TRUE;
  profile = ra_validate_profile(part[0], &cause);
  model = ra_validate_model(part[1]);
  if (cause) {
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
  }
  if (!profile || !model || model->n_experts == 0) {
    ra_validate_note(job, "%s: no profile of its GPU, or no experts", name);
    return TRUE;
  }
  r.model = model;
  r.part = g_intern_string(part[0]);
  if (!score(&r, files, profile, error))
    return FALSE;
  for (guint i = 0; job->cross && bases[i]; i++)
    if (!score_base(&r, files, part[0], bases[i], profile, error))
      return FALSE;
  return TRUE;
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

gboolean
ra_validate_experts(const RaValidateLevel *level, RaValidateJob *job,
                    GError **error)
{
  g_autofree char *parent =
      g_build_filename(job->data, level->source, "profile", NULL);
  g_autoptr(GDir) dir = g_dir_open(parent, 0, NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  const char *name;

  while (dir && (name = g_dir_read_name(dir)))
    g_ptr_array_add(names, g_strdup(name));
  g_ptr_array_sort(names, compare_names);
  for (guint i = 0; i < names->len; i++)
    if (!score_folder(job, parent, g_ptr_array_index(names, i), error))
      return FALSE;
  return TRUE;
}
