/* Reader of execution plans. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/form.h"
#include "graph/input/plan.h"
#include "graph/input/plan_batching.h"
#include "graph/input/plan_check.h"
#include "graph/input/plan_service.h"
#include "graph/input/plan_tail.h"
#include "graph/input/residency.h"

#define MAX_DEGREE 1048576.0 /* 2^20 GPUs along one axis */
#define MAX_VIRTUAL 1000     /* no model has more layers to interleave */
#define MAX_PADDED 1048576   /* tokens: 2^20, as lengths of workloads */

typedef struct {
  const char *workload;
  const char *cluster;
  const char *system;
} FileKeys;

/* A `[call NAME]` as it is written; what is not given is 0 or NULL. */
typedef struct {
  const char *mesh;
  uint32_t dp, tp, pp, cp, ep;
  uint32_t expert_tp; /* 0: not given */
  int dispatch;
  uint32_t micro_batches;
  int balance;
  int padding;
  uint32_t padded_length; /* 0: not given */
  uint32_t mini_batches;  /* 0: not given */
  const char *schedule;
  gboolean sequence_parallel;
  int recompute;
  int attention;
  int cross_entropy;
  gboolean scatter_sends;
  uint32_t zero;
  uint32_t zero_group; /* 0: not given */
  int gathers;
  int grad_dtype; /* -1: not given */
  int master_weights, moments_dtype;
  gboolean overlap_grad_reduce;
  int dtype, kv_dtype; /* -1: not given */
  int gemm_dtype;      /* -1: not given */
  int expert_dtype;    /* -1: not given */
  int fp8_scaling;
  gboolean fp8_params;
  uint32_t bf16_first, bf16_last;
  int launch;
  const char *rank_order;
  const char *const *stage_layers;
  int residency;
  int optimizer_residency; /* RaResidency less 1 */
  gboolean releases_grads;
  int realloc;
  RaBatchingKeys batching;
  int service;
  uint32_t sync_interval;
  RaTail tail;
} CallKeys;

static const char *const schedule_words[] = {"gpipe", "1f1b", "interleaved",
                                             NULL};
static const char *const recompute_words[] = {"none", "selective", "full",
                                              NULL};
static const char *const attention_words[] = {"flash", "core", "core-dropout",
                                              NULL};
static const char *const cross_entropy_words[] = {"fused", "unfused", NULL};
static const char *const dispatch_words[] = {"copies", "once", NULL};
static const char *const gathers_words[] = {"ahead", "in-turn", NULL};
static const char *const launch_words[] = {"eager", "graph", NULL};
static const char *const axis_words[] = {"tp", "cp", "dp", "pp", NULL};
static const char *const realloc_words[] = {"broadcast", "p2p", "all-gather",
                                            NULL};
static const char *const optimizer_words[] = {"keep", "host", "cpu", NULL};
static const char *const grad_words[] = {"keep", "release", NULL};
static const char *const master_words[] = {"fp32", "remainders", "none",
                                           NULL};
static const char *const balance_words[] = {"sequences", "tokens", NULL};
static const char *const padding_words[] = {"none", "micro-batch", "batch",
                                            NULL};
/* A prefix of RaDtype: gradients are never reduced in fp8. */
static const char *const train_dtype_words[] = {"bf16", "fp16", "fp32", NULL};
static const char *const dtype_words[] = {"bf16", "fp16", "fp32", "fp8", NULL};
static const char *const gemm_dtype_words[] = {"fp8", NULL};
static const char *const expert_dtype_words[] = {"mxfp4", "nvfp4", NULL};
const char *const ra_fp8_scaling_words[] = {"blockwise", "tensorwise",
                                            "delayed", NULL};

/* clang-format off */
static const RaKeySpec file_keys[] = {
  {"workload", RA_KEY_STRING, G_STRUCT_OFFSET(FileKeys, workload),
   .required = TRUE, .doc = ".workload file to run"},
  {"cluster", RA_KEY_STRING, G_STRUCT_OFFSET(FileKeys, cluster),
   .required = TRUE, .doc = ".cluster file to run on"},
  {"system", RA_KEY_STRING, G_STRUCT_OFFSET(FileKeys, system),
   .doc = "system profile that runs the plan; default: kernel times only"},
};

static const RaKeySpec call_keys[] = {
  {"mesh", RA_KEY_STRING, G_STRUCT_OFFSET(CallKeys, mesh), .required = TRUE,
   .doc = "GPUs of the call, such as all, node[0-3] or node0:gpu[0-3]"},
  {"dp", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, dp), .fallback = "1",
   .min = 1, .max = MAX_DEGREE, .doc = "data parallel degree"},
  {"tp", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, tp), .fallback = "1",
   .min = 1, .max = MAX_DEGREE, .doc = "tensor parallel degree"},
  {"pp", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, pp), .fallback = "1",
   .min = 1, .max = MAX_DEGREE, .doc = "pipeline parallel degree"},
  {"cp", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, cp), .fallback = "1",
   .min = 1, .max = MAX_DEGREE,
   .doc = "context parallel degree: ranks that share each sequence"},
  {"ep", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, ep), .fallback = "1",
   .min = 1, .max = MAX_DEGREE,
   .doc = "expert parallel degree, among the ranks of a stage"},
  {"expert-tp", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, expert_tp),
   .min = 1, .max = MAX_DEGREE,
   .doc = "ranks that cut each expert, a divisor of tp; default: tp"},
  {"dispatch", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, dispatch),
   .fallback = "copies", .names = dispatch_words,
   .doc = "copies of a token per expert (copies) or per rank and node (once)"},
  {"micro-batches", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, micro_batches),
   .min = 1, .max = MAX_DEGREE,
   .doc = "number in a replica's mini-batch (train) or part (others)"},
  {"balance", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, balance),
   .fallback = "sequences", .names = balance_words,
   .doc = "train, inference: micro-batches have equally many sequences, or "
          "about equally many tokens (dynamic batches)"},
  {"padding", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, padding),
   .fallback = "none", .names = padding_words,
   .doc = "train, inference: sequences are as long as the longest of their "
          "micro-batch, or of the whole batch"},
  {"padded-length", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, padded_length),
   .min = 1, .max = MAX_PADDED,
   .doc = "train, inference: tokens of every sequence, those of padding too"},
  {"mini-batches", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, mini_batches),
   .min = 1, .max = MAX_DEGREE, .doc = "train: instead of the workload's"},
  {"schedule", RA_KEY_STRING, G_STRUCT_OFFSET(CallKeys, schedule),
   .fallback = "1f1b", .doc = "train: gpipe, 1f1b or interleaved:stages"},
  {"sequence-parallel", RA_KEY_BOOL,
   G_STRUCT_OFFSET(CallKeys, sequence_parallel), .fallback = "false",
   .doc = "true if tp ranks split the sequence in norms and dropout"},
  {"recompute", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, recompute),
   .fallback = "none", .names = recompute_words,
   .doc = "train: activations that the backward pass recomputes"},
  {"attention", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, attention),
   .fallback = "flash", .names = attention_words,
   .doc = "train: flash, or unfused kernels with the scores in memory (core)"},
  {"cross-entropy", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, cross_entropy),
   .fallback = "fused", .names = cross_entropy_words,
   .doc = "train: one fused kernel, or one fp32 kernel per step"},
  {"scatter-sends", RA_KEY_BOOL, G_STRUCT_OFFSET(CallKeys, scatter_sends),
   .fallback = "false",
   .doc = "train: tp ranks send a part each between stages, then gather"},
  {"zero", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, zero), .fallback = "0",
   .min = 0, .max = 3,
   .doc = "1 shards optimizer state over dp, 2 gradients too, 3 weights too"},
  {"zero-group", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, zero_group),
   .min = 1, .max = MAX_DEGREE,
   .doc = "dp ranks that share one set of shards; default: all"},
  {"gathers", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, gathers),
   .fallback = "ahead", .names = gathers_words,
   .doc = "zero 3: of the next weights in a forward pass, beside the "
          "computation before them, or after it"},
  {"grad-dtype", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, grad_dtype),
   .names = train_dtype_words, .doc = "train: type of the gradient reduction"},
  {"master-weights", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, master_weights),
   .fallback = "fp32", .names = master_words,
   .doc = "train: of the optimizer's state: fp32, the 16 bits that bf16 "
          "parameters lack, or none: they are stepped themselves"},
  {"moments-dtype", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, moments_dtype),
   .fallback = "fp32", .names = train_dtype_words,
   .doc = "train: type of AdamW's two moments in memory; a step takes as long"},
  {"overlap-grad-reduce", RA_KEY_BOOL,
   G_STRUCT_OFFSET(CallKeys, overlap_grad_reduce), .fallback = "false",
   .doc = "train: gradient reduction overlaps with the last backward pass"},
  {"dtype", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, dtype),
   .names = dtype_words,
   .doc = "generate: of the weights, quantised as they arrive, fp8 by blocks "
          "of 128; default: the model's"},
  {"kv-dtype", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, kv_dtype),
   .names = dtype_words,
   .doc = "generate: of the KV cache; default: the model's"},
  {"expert-dtype", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, expert_dtype),
   .names = expert_dtype_words,
   .doc = "generate: of the weights of experts, quantised as they arrive; "
          "default: dtype"},
  {"gemm-dtype", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, gemm_dtype),
   .names = gemm_dtype_words,
   .doc = "train, inference: of linear layers' GEMMs, whose operands are cast; "
          "default: the model's"},
  {"fp8-scaling", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, fp8_scaling),
   .fallback = "blockwise", .names = ra_fp8_scaling_words,
   .doc = "gemm-dtype fp8: values that share a scale: 128 of a row, or a "
          "tensor, by its own maximum or that of earlier steps"},
  {"fp8-params", RA_KEY_BOOL, G_STRUCT_OFFSET(CallKeys, fp8_params),
   .fallback = "false",
   .doc = "gemm-dtype fp8: weights are stored and gathered in fp8 alone"},
  {"bf16-first-layers", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, bf16_first),
   .fallback = "0", .min = 0, .max = RA_MODEL_MAX_LAYERS,
   .doc = "gemm-dtype fp8: layers at the start that compute in the model's "
          "type"},
  {"bf16-last-layers", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, bf16_last),
   .fallback = "0", .min = 0, .max = RA_MODEL_MAX_LAYERS,
   .doc = "gemm-dtype fp8: the same, at the end"},
  {"launch", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, launch),
   .fallback = "eager", .names = launch_words,
   .doc = "kernel launch: eager, or as one captured graph"},
  {"rank-order", RA_KEY_STRING, G_STRUCT_OFFSET(CallKeys, rank_order),
   .fallback = "tp-cp-dp-pp", .doc = "axes of the ranks, innermost first"},
  {"stage-layers", RA_KEY_STRINGS, G_STRUCT_OFFSET(CallKeys, stage_layers),
   .doc = "layers of each (virtual) pipeline stage, such as 21,20,20,19"},
  {"residency", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, residency),
   .fallback = "release", .names = ra_residency_words,
   .doc = "location of the parameters between the calls that read them"},
  {"optimizer-residency", RA_KEY_ENUM,
   G_STRUCT_OFFSET(CallKeys, optimizer_residency), .fallback = "keep",
   .names = optimizer_words,
   .doc = "train: location of the optimizer state between training calls; "
          "cpu: it stays there, and steps there"},
  {"grad-residency", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, releases_grads),
   .fallback = "keep", .names = grad_words,
   .doc = "train: gradients between training calls; release: their memory is "
          "free for other calls"},
  {"realloc", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, realloc),
   .fallback = "broadcast", .names = realloc_words,
   .doc = "generate, inference: collective that fetches trained weights"},
  RA_BATCHING_KEY_SPECS(G_STRUCT_OFFSET(CallKeys, batching)),
  {"service", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, service),
   .fallback = "none", .names = ra_service_words,
   .doc = "generate: does not wait for training; adoption of new weights"},
  {"sync-interval", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, sync_interval),
   .fallback = "1", .min = 1, .max = 1000,
   .doc = "service: training calls between versions"},
  RA_TAIL_KEY_SPECS(G_STRUCT_OFFSET(CallKeys, tail)),
};
/* clang-format on */

const RaKeySpec *
ra_plan_key_specs(const char *noun, gsize *out_n)
{
  g_return_val_if_fail(noun != NULL && out_n != NULL, NULL);

  if (g_str_equal(noun, "plan")) {
    *out_n = G_N_ELEMENTS(file_keys);
    return file_keys;
  }
  *out_n = g_str_equal(noun, "call") ? G_N_ELEMENTS(call_keys) : 0;
  return *out_n > 0 ? call_keys : NULL;
}

/* Keys that only train calls have. */
static const char *const train_keys[] = {
    "mini-batches",        "schedule",
    "recompute",           "attention",
    "cross-entropy",       "scatter-sends",
    "grad-dtype",          "overlap-grad-reduce",
    "optimizer-residency", "grad-residency",
    "master-weights",      "moments-dtype",
    NULL};

gboolean
ra_plan_files(RaKeyFile *file, const char **out_workload,
              const char **out_cluster, GError **error)
{
  static const char *const nouns[] = {"plan!", "call *", NULL};
  FileKeys keys = {0};

  g_return_val_if_fail(file != NULL, FALSE);
  g_return_val_if_fail(out_workload != NULL && out_cluster != NULL, FALSE);
  if (!ra_key_file_check_nouns(file, nouns, error) ||
      !ra_key_file_read_group(file,
                              (guint)ra_key_file_find_group(file, "plan", ""),
                              file_keys, G_N_ELEMENTS(file_keys), &keys, error))
    return FALSE;
  *out_workload = keys.workload;
  *out_cluster = keys.cluster;
  return TRUE;
}

const char *
ra_plan_system(RaKeyFile *file)
{
  FileKeys keys = {0};
  int group;

  g_return_val_if_fail(file != NULL, NULL);
  group = ra_key_file_find_group(file, "plan", "");
  if (group >= 0)
    ra_key_file_read_group(file, (guint)group, file_keys,
                           G_N_ELEMENTS(file_keys), &keys, NULL);
  return keys.system;
}

static gboolean
read_mesh(const RaPlan *plan, RaCallPlan *to, const char *text, GError **error)
{
  GError *cause = NULL;

  if (ra_mesh_parse(text, plan->cluster, &to->mesh, &cause))
    return TRUE;
  ra_key_file_fail(plan->file, to->group, "mesh", error, "'mesh': %s",
                   cause->message);
  g_error_free(cause);
  return FALSE;
}

/* `gpipe`, `1f1b` or `interleaved:v`. */
static gboolean
read_schedule(const RaPlan *plan, RaCallPlan *to, const char *text,
              GError **error)
{
  g_auto(GStrv) parts = g_strsplit(text, ":", 2);
  const char *word = parts[0] ? g_strstrip(parts[0]) : "";
  const char *count = parts[0] && parts[1] ? g_strstrip(parts[1]) : NULL;
  g_autofree char *hint = NULL;

  to->n_virtual = 1;
  for (to->schedule = 0; schedule_words[to->schedule]; to->schedule++) {
    if (g_str_equal(word, schedule_words[to->schedule]))
      break;
  }
  if (to->schedule == RA_SCHEDULE_INTERLEAVED && count &&
      ra_form_uint32(count, "", 2, MAX_VIRTUAL, &to->n_virtual, NULL))
    return TRUE;
  if (to->schedule < RA_SCHEDULE_INTERLEAVED && !count)
    return TRUE;
  hint = schedule_words[to->schedule] ? g_strdup("")
                                      : ra_form_hint(word, schedule_words);
  return ra_key_file_fail(plan->file, to->group, "schedule", error,
                          "'schedule' is '%s', expected gpipe, 1f1b or "
                          "interleaved:v with v virtual stages from 2 to %d%s",
                          text, MAX_VIRTUAL, hint);
}

/* `tp-cp-dp-pp`; cp may be left out and then stands outermost. */
static gboolean
read_rank_order(const RaPlan *plan, RaCallPlan *to, const char *text,
                GError **error)
{
  g_auto(GStrv) words = g_strsplit(text, "-", RA_N_AXES + 1);
  gboolean seen[RA_N_AXES] = {FALSE};
  guint n = g_strv_length(words);
  gboolean good = n >= RA_N_AXES - 1 && n <= RA_N_AXES;

  for (guint i = 0; good && i < n; i++) {
    guint axis = 0;

    while (axis < RA_N_AXES && !g_str_equal(words[i], axis_words[axis]))
      axis++;
    good = axis < RA_N_AXES && !seen[axis];
    if (good) {
      to->axis[i] = (uint8_t)axis;
      seen[axis] = TRUE;
    }
  }
  if (good && n == RA_N_AXES - 1) {
    good = !seen[RA_AXIS_CP];
    to->axis[n] = RA_AXIS_CP;
  }
  return good || ra_key_file_fail(plan->file, to->group, "rank-order", error,
                                  "'rank-order' is '%s', expected tp, cp, dp "
                                  "and pp in some order, as tp-cp-dp-pp",
                                  text);
}

static gboolean
read_stage_layers(const RaPlan *plan, RaCallPlan *to, const RaModel *model,
                  const char *const *words, GError **error)
{
  guint n_stages = to->pp * to->n_virtual;
  uint64_t sum = 0;

  to->stage_layers = g_new0(uint32_t, n_stages);
  if (!words) {
    ra_stage_layers_even(model->n_layers, n_stages, to->stage_layers);
    return TRUE;
  }
  if (g_strv_length((char **)words) != n_stages)
    return ra_key_file_fail(plan->file, to->group, "stage-layers", error,
                            "'stage-layers' has %u numbers, expected %u, "
                            "'pp' x virtual stages",
                            g_strv_length((char **)words), n_stages);
  for (guint i = 0; i < n_stages; i++) {
    GError *cause = NULL;

    if (!ra_form_uint32(words[i], "a stage", 1, model->n_layers,
                        &to->stage_layers[i], &cause)) {
      ra_key_file_fail(plan->file, to->group, "stage-layers", error,
                       "'stage-layers': %s", cause->message);
      g_error_free(cause);
      return FALSE;
    }
    sum += to->stage_layers[i];
  }
  if (sum != model->n_layers)
    return ra_key_file_fail(plan->file, to->group, "stage-layers", error,
                            "'stage-layers' sum to %" G_GUINT64_FORMAT
                            ", expected %u, the layers of '%s'",
                            (guint64)sum, model->n_layers, model->name);
  return TRUE;
}

static gboolean
check_kind(const RaPlan *plan, const RaCallPlan *to, const RaCall *call,
           GError **error)
{
  const char *key;

  for (guint i = 0; (key = ra_key_file_key(plan->file, to->group, i)); i++) {
    if (call->kind == RA_CALL_HOST && !g_str_equal(key, "mesh"))
      return ra_key_file_fail(plan->file, to->group, key, error,
                              "'%s' of the host call '%s', expected 'mesh' "
                              "only",
                              key, call->name);
    if (call->kind != RA_CALL_TRAIN && g_strv_contains(train_keys, key))
      return ra_key_file_fail(plan->file, to->group, key, error,
                              "'%s' of '%s', expected it on train calls only",
                              key, call->name);
    if (call->kind == RA_CALL_TRAIN && g_str_equal(key, "realloc"))
      return ra_key_file_fail(plan->file, to->group, key, error,
                              "'realloc' of the train call '%s', expected it "
                              "on calls that read what training wrote",
                              call->name);
    if (call->kind != RA_CALL_GENERATE &&
        (g_str_equal(key, "dtype") || g_str_equal(key, "kv-dtype") ||
         g_str_equal(key, "expert-dtype")))
      return ra_key_file_fail(plan->file, to->group, key, error,
                              "'%s' of '%s', expected it on generate calls "
                              "only",
                              key, call->name);
    if (call->kind == RA_CALL_GENERATE &&
        (g_str_equal(key, "gemm-dtype") || g_str_equal(key, "fp8-scaling") ||
         g_str_equal(key, "fp8-params") || g_str_equal(key, "balance") ||
         g_str_equal(key, "padding") || g_str_equal(key, "padded-length")))
      return ra_key_file_fail(plan->file, to->group, key, error,
                              "'%s' of the generate call '%s', expected it on "
                              "train and inference calls",
                              key, call->name);
  }
  return TRUE;
}

/* Copies the keys that need no further parsing. */
static void
set_strategy(RaCallPlan *to, const CallKeys *keys, int dtype)
{
  to->sequence_parallel = keys->sequence_parallel;
  to->recompute = keys->recompute;
  to->scatter_sends = keys->scatter_sends;
  to->attention = keys->attention;
  to->cross_entropy = keys->cross_entropy;
  to->zero = (int)keys->zero;
  to->zero_group = keys->zero == 0 ? 1 : keys->zero_group;
  if (to->zero_group == 0)
    to->zero_group = to->dp;
  to->gathers = keys->zero == 3 ? keys->gathers : RA_GATHERS_AHEAD;
  to->grad_dtype = keys->grad_dtype >= 0 ? keys->grad_dtype : dtype;
  to->overlap_grad_reduce = keys->overlap_grad_reduce;
  to->dtype = keys->dtype >= 0 && keys->dtype != dtype ? 1 + keys->dtype : 0;
  to->kv_dtype =
      keys->kv_dtype >= 0 && keys->kv_dtype != dtype ? 1 + keys->kv_dtype : 0;
  to->expert_dtype = 1 + keys->expert_dtype;
  to->fp8_gemms = keys->gemm_dtype >= 0;
  to->fp8_scaling = to->fp8_gemms ? keys->fp8_scaling : RA_FP8_BLOCKWISE;
  to->fp8_params = to->fp8_gemms && keys->fp8_params;
  to->bf16_first = to->fp8_gemms ? keys->bf16_first : 0;
  to->bf16_last = to->fp8_gemms ? keys->bf16_last : 0;
  to->launch = keys->launch;
  to->residency = keys->residency;
  to->optimizer_residency = RA_RESIDENCY_KEEP + keys->optimizer_residency;
  to->releases_grads = keys->releases_grads;
  to->balance = keys->balance;
  to->padding = keys->padding;
  to->padded_length = keys->padded_length;
  to->master_weights = keys->master_weights;
  to->moments_dtype =
      keys->moments_dtype != RA_DTYPE_FP32 ? 1 + keys->moments_dtype : 0;
  to->realloc = keys->realloc;
}

/* The keys of `[call NAME]` into its call plan, with defaults. */
static gboolean
read_call(RaPlan *plan, uint32_t index, guint group, GError **error)
{
  const RaCall *call = &plan->workload->calls[index];
  RaCallPlan *to = &plan->calls[index];
  CallKeys keys = {.grad_dtype = -1,
                   .dtype = -1,
                   .kv_dtype = -1,
                   .gemm_dtype = -1,
                   .expert_dtype = -1};

  to->group = group;
  if (!ra_key_file_read_group(plan->file, group, call_keys,
                              G_N_ELEMENTS(call_keys), &keys, error) ||
      !check_kind(plan, to, call, error) ||
      !read_mesh(plan, to, keys.mesh, error))
    return FALSE;
  to->set = TRUE;
  if (call->kind == RA_CALL_HOST)
    return TRUE;
  to->dp = keys.dp;
  to->tp = keys.tp;
  to->pp = keys.pp;
  to->cp = keys.cp;
  to->ep = keys.ep;
  to->expert_tp = keys.expert_tp;
  to->dispatch = keys.dispatch;
  if (!read_schedule(plan, to, keys.schedule, error) ||
      !read_rank_order(plan, to, keys.rank_order, error))
    return FALSE;
  to->n_micro_batches = to->pp << (call->kind == RA_CALL_TRAIN && to->pp > 1);
  if (keys.micro_batches > 0)
    to->n_micro_batches = keys.micro_batches;
  to->n_mini_batches =
      keys.mini_batches == call->n_mini_batches ? 0 : keys.mini_batches;
  set_strategy(to, &keys, plan->workload->models[call->model].dtype);
  ra_plan_set_batching(plan, index, &keys.batching);
  to->service = keys.service;
  to->sync_interval = keys.sync_interval;
  to->tail = keys.tail;
  return ra_plan_check_call(plan, index, error) &&
         read_stage_layers(plan, to, plan->workload->models[call->model].model,
                           keys.stage_layers, error) &&
         ra_plan_check_batching(plan, index, error) &&
         ra_plan_check_tail(plan, index, error);
}

static gboolean
fail_unknown_call(const RaPlan *plan, guint group, GError **error)
{
  const RaWorkload *workload = plan->workload;
  const char *name = ra_key_file_group_name(plan->file, group);
  g_autofree const char **names = g_new0(const char *, workload->n_calls + 1);
  g_autofree char *hint = NULL;

  for (guint i = 0; i < workload->n_calls; i++)
    names[i] = workload->calls[i].name;
  hint = ra_form_hint(name, names);
  return ra_key_file_fail(plan->file, group, NULL, error,
                          "unknown call '%s', expected a call of '%s'%s", name,
                          ra_key_file_name(workload->file), hint);
}

static gboolean
read_groups(RaPlan *plan, GError **error)
{
  const RaWorkload *workload = plan->workload;
  guint plan_group = (guint)ra_key_file_find_group(plan->file, "plan", "");

  for (guint i = 0; i < ra_key_file_n_groups(plan->file); i++) {
    uint32_t call;

    if (i == plan_group)
      continue;
    call =
        ra_workload_find_call(workload, ra_key_file_group_name(plan->file, i));
    if (call == RA_NONE)
      return fail_unknown_call(plan, i, error);
    if (!read_call(plan, call, i, error))
      return FALSE;
  }
  for (guint i = 0; i < workload->n_calls; i++) {
    if (!plan->calls[i].set && workload->calls[i].kind != RA_CALL_HOST)
      return ra_key_file_fail(plan->file, plan_group, NULL, error,
                              "missing group [call %s], expected one for "
                              "every call of '%s' that runs on GPUs",
                              workload->calls[i].name,
                              ra_key_file_name(workload->file));
  }
  return TRUE;
}

RaPlan *
ra_plan_load(RaKeyFile *file, const RaWorkload *workload,
             const RaCluster *cluster, GError **error)
{
  g_autoptr(RaPlan) plan = NULL;
  const char *unused_workload, *unused_cluster;

  g_return_val_if_fail(file != NULL, NULL);
  g_return_val_if_fail(workload != NULL && cluster != NULL, NULL);
  if (!ra_plan_files(file, &unused_workload, &unused_cluster, error))
    return NULL;
  plan = g_new0(RaPlan, 1);
  plan->file = ra_key_file_ref(file);
  plan->workload = workload;
  plan->cluster = cluster;
  plan->calls = g_new0(RaCallPlan, workload->n_calls);
  for (guint i = 0; i < workload->n_calls; i++) {
    RaCallPlan *call = &plan->calls[i];

    call->dp = call->tp = call->pp = call->cp = call->ep = 1;
    call->zero_group = 1;
    call->n_micro_batches = call->n_virtual = 1;
    for (guint axis = 0; axis < RA_N_AXES; axis++)
      call->axis[axis] = (uint8_t)axis;
    call->mesh = (RaMesh){.n_runs = 1, .n_nodes = 1, .gpus_per_node = 1};
    call->mesh.runs[0].n = 1;
  }
  if (!read_groups(plan, error) || !ra_residency_check(plan, error) ||
      !ra_plan_check_service(plan, error))
    return NULL;
  return g_steal_pointer(&plan);
}

void
ra_plan_free(RaPlan *plan)
{
  if (!plan)
    return;
  for (guint i = 0; i < plan->workload->n_calls; i++)
    g_free(plan->calls[i].stage_layers);
  g_free(plan->calls);
  ra_key_file_unref(plan->file);
  g_free(plan);
}
