/* A level of forwards: some layers of a model on one GPU. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "estimator/estimator.h"
#include "graph/input/plan.h"
#include "study/validate/validate_impl.h"
#include "traces/csv.h"

/* Inputs of the predictions for a table's rows. */
typedef struct {
  RaValidateJob *job;
  RaModel *model;         /* owned */
  RaCluster *cluster;     /* owned */
  RaProfile *profile;     /* owned */
  RaEstimator *estimator; /* owned */
} Forward;

static const char *const columns[] = {"layers", "batch", "seq", "forward_ms",
                                      NULL};

static const char cluster_text[] =
    "[cluster]\nnodes = 1\ngpus-per-node = 8\ngpu = a100-sxm\n"
    "nics-per-node = 0\n";

static gboolean
read_row(const RaCsvLine *line, gpointer data, GError **error)
{
  Forward *f = data;
  RaShard shard = {.model = f->model,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16};
  RaPiece piece = {.has_embedding = 1, .has_head = 1};
  RaValidateRow out = {RA_VALIDATE_ROW, .part = g_intern_string("galvatron"),
                       .file = g_intern_string(line->path),
                       .line = line->number};
  RaOp ops[RA_OP_LIST_MAX];
  RaBatch batch;
  RaCost cost;
  double v[4];
  guint n;

  if (!ra_csv_numbers(line, 0, 4, v, error))
    return FALSE;
  if (!(v[0] >= 1 && v[0] <= f->model->n_layers && v[1] >= 1 && v[2] >= 1 &&
        v[1] * v[2] < 1e9 && v[3] > 0))
    return TRUE;
  piece.n_layers = (uint32_t)v[0];
  batch.n_sequences = (uint32_t)v[1];
  batch.q_tokens = batch.kv_tokens = (uint64_t)(v[1] * v[2]);
  batch.pairs = (uint64_t)(v[1] * v[2] * (v[2] + 1) / 2);
  n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &batch, ops);
  ra_estimator_ops(f->estimator, ops, n, RA_LAUNCH_EAGER, &cost);
  out.name = g_strdup_printf("%g layers, %g x %g tokens", v[0], v[1], v[2]);
  out.measured = v[3] * 1e-3;
  out.predicted = cost.total_s;
  out.roofline = 0;
  for (guint i = 0; i < n; i++)
    out.roofline +=
        ra_op_flop(&ops[i]) * ops[i].count / f->profile->spec.bf16_flop_per_s;
  ra_validate_add(f->job, out);
  return TRUE;
}

static gboolean
forward_init(Forward *f, GError **error)
{
  g_autofree char *path =
      ra_share_find("models", "llama-2-7b.json", NULL, error);
  g_autoptr(RaKeyFile) file = NULL;

  f->model = path ? ra_model_load(path, error) : NULL;
  if (!f->model)
    return FALSE;
  file =
      ra_key_file_parse("validate", cluster_text, strlen(cluster_text), error);
  f->cluster = file ? ra_cluster_load(file, error) : NULL;
  f->profile = f->cluster ? ra_validate_profile("a100", error) : NULL;
  if (!f->profile)
    return FALSE;
  f->cluster->device = f->profile->spec;
  f->estimator = ra_estimator_new(f->profile, f->cluster, error);
  return f->estimator != NULL;
}

gboolean
ra_validate_forward(const RaValidateLevel *level, RaValidateJob *job,
                    GError **error)
{
  g_autofree char *folder = g_build_filename(job->data, level->source, NULL);
  g_autoptr(GPtrArray) files =
      ra_csv_find(folder, "galvatron_llama2_7b_forward");
  Forward f = {.job = job};
  gboolean ok = files->len == 0 || forward_init(&f, error);

  for (guint i = 0; ok && i < files->len; i++)
    ok = ra_csv_read(g_ptr_array_index(files, i), columns, read_row, &f, error);
  ra_estimator_free(f.estimator);
  ra_profile_free(f.profile);
  ra_cluster_free(f.cluster);
  ra_model_free(f.model);
  return ok;
}
