/* From a row of a table to a plan in memory, and its replay. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/expand/expand.h"
#include "sim/flop.h"
#include "sim/sim.h"
#include "study/validate/train_run.h"

struct _RaTrainRun {
  RaWorkload *workload;      /* owned */
  RaCluster *cluster;        /* owned */
  RaPlan *plan;              /* owned */
  RaAugmented *augmented;    /* owned */
  RaTaskGraph *graph;        /* owned */
  double memory_bytes_per_s; /* of a variant of the GPU; 0: the profile's */
};

/* A row with its open fields filled. */
typedef struct {
  const RaTrainRow *row;
  const RaTrainConvention *convention;
  uint32_t tp, pp, vpp, cp, ep, dp, vocab, micro_batch;
  uint32_t per_node; /* GPUs */
  uint32_t zero, zero_group;
  const char *dtype;
  const char *recompute;
  const char *grad_dtype;
  gboolean sequence_parallel;
} Filled;

static const char *const dtype_words[] = {"bf16", "fp16", "fp32", "fp8"};
static const char *const attention_words[] = {"flash", "core", "core-dropout"};

static void
fill_sharding(Filled *f)
{
  const RaTrainRow *row = f->row;
  const char *word = row->sharding;

  f->zero = (uint32_t)f->convention->zero;
  f->zero_group = f->dp;
  if (strstr(word, "ZeRO-0"))
    f->zero = 0;
  else if (strstr(word, "ZeRO-1"))
    f->zero = 1;
  else if (strstr(word, "FSDP") || strstr(word, "FULL_SHARD"))
    f->zero = 3;
  if (strstr(word, "within node"))
    f->zero_group = MIN(f->dp, 8);
  else if (strstr(word, "over 4"))
    f->zero_group = MIN(f->dp, 4);
  if (f->dp == 1)
    f->zero = 0;
}

static void
fill(Filled *f, const RaTrainRow *row)
{
  const RaTrainConvention *c = ra_train_convention(row);
  const char *p = row->precision;

  memset(f, 0, sizeof *f);
  f->row = row;
  f->convention = c;
  f->tp = MAX(row->tp, 1), f->pp = MAX(row->pp, 1), f->cp = MAX(row->cp, 1);
  f->vpp = f->pp > 1 ? MAX(row->vpp, 1) : 1;
  f->ep = MAX(row->ep, 1);
  f->dp = row->dp ? row->dp : MAX(row->gpus / (f->tp * f->pp * f->cp), 1);
  f->vocab = row->vocab;
  if (f->vocab == 0) /* GPT-2's 50,257, padded for tp as Megatron pads it */
    f->vocab = f->tp == 1
                   ? 50257
                   : (50257 + 128 * f->tp - 1) / (128 * f->tp) * (128 * f->tp);
  f->micro_batch = row->micro_batch ? row->micro_batch : 1;
  for (f->per_node = 8; row->gpus % f->per_node != 0;)
    f->per_node /= 2;
  f->dtype = strstr(p, "fp8") || strstr(p, "FP8")                   ? "fp8"
             : strstr(p, "bf16") || strstr(p, "BF16") || *p == '\0' ? "bf16"
                                                                    : "fp16";
  f->recompute =
      g_str_has_prefix(row->recompute, "full") && !strchr(row->recompute, '-')
          ? "full"
      : g_str_has_prefix(row->recompute, "selective") ? "selective"
                                                      : "none";
  f->sequence_parallel =
      f->tp > 1 && (c->sequence_parallel || strstr(row->recompute, "+sp"));
  f->grad_dtype = strstr(p, "fp32 grad") ? "fp32"
                  : c->grad_dtype >= 0   ? dtype_words[c->grad_dtype]
                                         : "bf16";
  fill_sharding(f);
}

static RaKeyFile *
parse(const char *name, const char *text, GError **error)
{
  return ra_key_file_parse(name, text, strlen(text), error);
}

static RaModel *
make_model(const Filled *f, GError **error)
{
  const RaTrainRow *row = f->row;
  RaModelShape s;

  ra_model_shape_init(&s, row->gated_mlp ? RA_MLP_GATED : RA_MLP_PLAIN);
  s.name = "published";
  s.layers = row->layers;
  s.hidden = row->hidden;
  s.heads = row->heads;
  s.kv_heads = row->kv_heads;
  s.ffn = row->ffn;
  s.vocab = f->vocab;
  s.seq = row->seq;
  if (!row->gated_mlp) {
    s.position = f->convention->position;
    s.tied = f->convention->tied;
    s.bias = f->convention->bias;
  }
  return ra_model_from_shape(&s, error);
}

/* The workload's model is read with a stand-in, for which the row's own is
 * then put. */
static gboolean
load_workload(RaTrainRun *run, const Filled *f, GError **error)
{
  const RaTrainRow *row = f->row;
  g_autofree char *text = g_strdup_printf(
      "[workload]\nalgorithm = sft\ndataset = text\nprompts = %u\n"
      "prompt-length = fixed(%u)\nresponse-length = fixed(%u)\n"
      "[model gpt]\nconfig = bloom-176b.json\ntrainable = true\ndtype = %s\n"
      "[call train]\nmodel = gpt\nkind = train\ninputs = text\n",
      row->batch, row->seq / 2, row->seq - row->seq / 2, f->dtype);
  g_autoptr(RaKeyFile) file = parse(row->id, text, error);
  RaModel *model = file ? make_model(f, error) : NULL;

  if (model)
    run->workload = ra_workload_load(file, error);
  if (!run->workload) {
    ra_model_free(model);
    return FALSE;
  }
  ra_model_free(run->workload->models[0].model);
  run->workload->models[0].model = model;
  return TRUE;
}

static gboolean
load_cluster(RaTrainRun *run, const Filled *f, GError **error)
{
  const RaTrainRow *row = f->row;
  const RaTrainConvention *c = f->convention;
  g_autofree char *gpu = ra_train_gpu(row);
  double rate = g_str_has_prefix(row->gpu, "A100") ? c->nic_gbit_per_s
                                                   : c->nic_hopper_gbit_per_s;
  g_autofree char *text =
      g_strdup_printf("[cluster]\nnodes = %u\ngpus-per-node = %u\ngpu = %s\n"
                      "nics-per-node = %u\nnic = %u Gbit/s\n",
                      row->gpus / f->per_node, f->per_node, gpu, c->nics,
                      (guint)(rate > 0 ? rate : 200));
  g_autoptr(RaKeyFile) file = parse(row->id, text, error);

  if (file)
    run->cluster = ra_cluster_load(file, error);
  return run->cluster != NULL;
}

static gboolean
load_plan(RaTrainRun *run, const Filled *f, GError **error)
{
  const RaTrainRow *row = f->row;
  uint32_t samples = f->dp * f->micro_batch;
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(RaKeyFile) file = NULL;

  if (row->batch == 0 || row->batch % samples != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: %u sequences, expected a multiple of dp x micro-batch = "
                "%u x %u",
                row->id, row->batch, f->dp, f->micro_batch);
    return FALSE;
  }
  g_string_append_printf(
      text,
      "[plan]\nworkload = w\ncluster = c\n[call train]\nmesh = all\n"
      "dp = %u\ntp = %u\npp = %u\ncp = %u\nmicro-batches = %u\n"
      "recompute = %s\nattention = %s\ncross-entropy = %s\nzero = "
      "%u\ngrad-dtype = %s\n"
      "sequence-parallel = %s\nscatter-sends = %s\noverlap-grad-reduce = "
      "%s\n",
      f->dp, f->tp, f->pp, f->cp, row->batch / samples, f->recompute,
      attention_words[f->cp > 1 ? 0 : f->convention->attention],
      f->convention->cross_entropy == RA_CROSS_ENTROPY_UNFUSED ? "unfused"
                                                               : "fused",
      f->zero, f->grad_dtype, f->sequence_parallel ? "true" : "false",
      f->convention->scatter_sends ? "true" : "false",
      f->convention->overlap ? "true" : "false");
  if (f->zero > 0 && f->zero_group < f->dp)
    g_string_append_printf(text, "zero-group = %u\n", f->zero_group);
  if (f->vpp > 1)
    g_string_append_printf(text, "schedule = interleaved:%u\n", f->vpp);
  file = parse(row->id, text->str, error);
  if (file)
    run->plan = ra_plan_load(file, run->workload, run->cluster, error);
  return run->plan != NULL;
}

RaTrainRun *
ra_train_run_new(const RaTrainRow *row, GError **error)
{
  g_autoptr(RaTrainRun) run = g_new0(RaTrainRun, 1);
  RaExpandOptions options = {.fidelity = RA_FIDELITY_STAGE, .fold = TRUE};
  Filled f;

  g_return_val_if_fail(row != NULL, NULL);
  if (row->gpus == 0 || row->layers == 0 || row->seq < 2) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no GPUs, layers or length, expected them", row->id);
    return NULL;
  }
  fill(&f, row);
  if (!load_workload(run, &f, error) || !load_cluster(run, &f, error) ||
      !load_plan(run, &f, error))
    return NULL;
  run->memory_bytes_per_s = ra_train_memory_bytes_per_s(row);
  run->augmented = ra_augment(run->plan, 1);
  run->graph = ra_expand_with(run->augmented, &options, error);
  return run->graph ? g_steal_pointer(&run) : NULL;
}

void
ra_train_run_free(RaTrainRun *run)
{
  if (run == NULL)
    return;
  ra_task_graph_free(run->graph);
  ra_augmented_free(run->augmented);
  ra_plan_free(run->plan);
  ra_cluster_free(run->cluster);
  ra_workload_free(run->workload);
  g_free(run);
}

/* How wrong the replay @sim may be. */
static void
take_doubt(const RaTrainRun *run, const RaProfile *profile,
           const RaEstimator *estimator, const RaSim *sim, RaDoubt *doubt)
{
  /* borrowed: read only */
  const RaSetup setup = {.workload = run->workload,
                         .cluster = run->cluster,
                         .plan = run->plan,
                         .profile = (RaProfile *)(uintptr_t)profile};
  g_autoptr(RaBreakdown) breakdown = ra_breakdown_new(sim, run->graph);

  ra_doubt_clear(doubt);
  ra_model_error(&setup, estimator, run->graph, sim, &doubt->error);
  doubt->parts = ra_model_error_parts(run->plan, breakdown);
}

double
ra_train_run_s(RaTrainRun *run, const RaProfile *profile,
               const RaSystemConstants *constants, RaDoubt *doubt,
               GError **error)
{
  g_autoptr(RaEstimator) estimator = NULL;
  g_autoptr(RaSim) sim = NULL;

  g_return_val_if_fail(run != NULL && profile != NULL, (double)NAN);
  run->cluster->device = profile->spec;
  if (run->memory_bytes_per_s > 0)
    run->cluster->device.memory_bytes_per_s = run->memory_bytes_per_s;
  estimator = ra_estimator_new(profile, run->cluster, error);
  if (!estimator)
    return (double)NAN;
  ra_estimator_set_system(estimator, constants);
  sim = ra_sim_new(run->graph, estimator, error);
  if (!sim || !ra_sim_run(sim, error))
    return (double)NAN;
  if (doubt)
    take_doubt(run, profile, estimator, sim, doubt);
  return ra_sim_result(sim)->makespan_s;
}

double
ra_train_run_roofline_s(const RaTrainRun *run, const RaProfile *profile)
{
  g_autofree RaFlopShare *shares = NULL;
  gboolean fp8 = run->workload->models[0].dtype == RA_DTYPE_FP8 &&
                 profile->spec.fp8_flop_per_s > 0;
  double peak =
      fp8 ? profile->spec.fp8_flop_per_s : profile->spec.bf16_flop_per_s;

  g_return_val_if_fail(run != NULL && profile != NULL, (double)NAN);
  shares = ra_flop_count(run->graph, 0);
  return shares[0].hardware_flop / peak / ra_cluster_n_gpus(run->cluster);
}
