/* Check that a call's strategy tiles its mesh, its model and its batch. */
#include "config.h"

#include <string.h>

#include "graph/input/model_vision.h"
#include "graph/input/plan_check.h"

/* Context of the checks. */
typedef struct {
  RaKeyFile *file;
  const RaCallPlan *plan;
  const RaCall *call;
  const RaModel *model;
} Subject;

/* The first of @keys that the plan states, as the place to blame; else the
 * group itself. */
static const char *
blame(const Subject *subject, const char *const *keys)
{
  for (; *keys; keys++) {
    if (ra_key_file_get(subject->file, subject->plan->group, *keys))
      return *keys;
  }
  return NULL;
}

/* The product of up to four factors; FALSE if it leaves 64 bits. */
static gboolean
product(const uint32_t *factors, guint n, uint64_t *out_product)
{
  uint64_t value = 1;

  for (guint i = 0; i < n; i++) {
    if (__builtin_mul_overflow(value, (uint64_t)factors[i], &value))
      return FALSE;
  }
  *out_product = value;
  return TRUE;
}

static gboolean
check_tiling(const Subject *subject, GError **error)
{
  static const char *const keys[] = {"dp", "tp", "pp", "cp", NULL};
  const RaCallPlan *plan = subject->plan;
  uint32_t n_gpus = ra_mesh_n_gpus(&plan->mesh);
  g_autofree char *with_cp =
      plan->cp > 1 ? g_strdup_printf(" x %u", plan->cp) : g_strdup("");
  g_autofree char *value = NULL;
  uint64_t degree;

  if (!product((uint32_t[]){plan->dp, plan->tp, plan->pp, plan->cp}, 4,
               &degree))
    value = g_strdup(", beyond 64 bits");
  else if (degree != n_gpus)
    value = g_strdup_printf(" = %" G_GUINT64_FORMAT, (guint64)degree);
  else
    return TRUE;
  return ra_key_file_fail(
      subject->file, plan->group, blame(subject, keys), error,
      "'dp' x 'tp' x 'pp'%s is %u x %u x %u%s%s, expected %u, the GPUs of "
      "'mesh'",
      plan->cp > 1 ? " x 'cp'" : "", plan->dp, plan->tp, plan->pp, with_cp,
      value, n_gpus);
}

static gboolean
check_attention(const Subject *subject, GError **error)
{
  const RaCallPlan *plan = subject->plan;

  return plan->attention == RA_ATTENTION_FLASH || plan->cp <= 1 ||
         ra_key_file_fail(subject->file, plan->group, "attention", error,
                          "'attention' keeps its scores in memory, expected "
                          "flash where 'cp' is %u: a ring merges tiles",
                          plan->cp);
}

static gboolean
check_masters(const Subject *subject, GError **error)
{
  const RaCallPlan *plan = subject->plan;

  return plan->master_weights != RA_MASTER_NONE ||
         plan->optimizer_residency != RA_RESIDENCY_CPU ||
         ra_key_file_fail(subject->file, plan->group, "master-weights", error,
                          "'master-weights' is none, expected fp32 where the "
                          "CPU steps ('optimizer-residency')");
}

/* The degrees of experts tile a stage's ranks and the model's experts. */
static gboolean
check_expert_degrees(const Subject *subject, GError **error)
{
  const RaModel *model = subject->model;
  const RaCallPlan *plan = subject->plan;
  uint32_t cut = ra_call_plan_expert_tp(plan);
  uint64_t n = (uint64_t)plan->dp * plan->cp;

  if (plan->tp % cut != 0)
    return ra_key_file_fail(subject->file, plan->group, "expert-tp", error,
                            "'expert-tp' is %u, expected a divisor of %u, 'tp'",
                            cut, plan->tp);
  if (cut < plan->tp && model->expert_ffn % cut != 0)
    return ra_key_file_fail(subject->file, plan->group, "expert-tp", error,
                            "'expert-tp' is %u, expected a divisor of %u, the "
                            "width of an expert of '%s'",
                            cut, model->expert_ffn, model->name);
  if (model->n_experts % plan->ep != 0)
    return ra_key_file_fail(subject->file, plan->group, "ep", error,
                            "'ep' is %u, expected a divisor of %u, the experts "
                            "of a layer of '%s'",
                            plan->ep, model->n_experts, model->name);
  n *= plan->tp / cut;
  if (n % plan->ep != 0)
    return ra_key_file_fail(
        subject->file, plan->group, "ep", error,
        "'ep' is %u, expected a divisor of %" G_GUINT64_FORMAT
        ", %s, whose ranks share the experts",
        plan->ep, (guint64)n,
        cut < plan->tp ? "'dp' x 'cp' x 'tp' / 'expert-tp'" : "'dp' x 'cp'");
  return TRUE;
}

static gboolean
check_experts(const Subject *subject, GError **error)
{
  const RaModel *model = subject->model;
  const RaCallPlan *plan = subject->plan;

  if (model->n_experts == 0 && plan->ep > 1)
    return ra_key_file_fail(subject->file, plan->group, "ep", error,
                            "'ep' is %u, expected 1: '%s' is dense and has no "
                            "experts to share",
                            plan->ep, model->name);
  if (model->n_experts == 0 && plan->expert_tp > 0)
    return ra_key_file_fail(subject->file, plan->group, "expert-tp", error,
                            "'expert-tp' is %u, expected none: '%s' is dense "
                            "and has no experts to cut",
                            plan->expert_tp, model->name);
  if (model->n_experts == 0)
    return TRUE;
  if (!check_expert_degrees(subject, error))
    return FALSE;
  if (ra_call_plan_expert_tp(plan) == plan->tp || plan->sequence_parallel ||
      subject->call->kind != RA_CALL_TRAIN)
    return TRUE;
  return ra_key_file_fail(
      subject->file, plan->group, "expert-tp", error,
      "'expert-tp' is %u with 'tp' %u, expected 'sequence-parallel' true to "
      "train: tp ranks would each send all tokens",
      plan->expert_tp, plan->tp);
}

/* A decode step has one token a sequence, which cannot be cut. */
static gboolean
check_context(const Subject *subject, GError **error)
{
  if (subject->plan->cp == 1 || subject->call->kind != RA_CALL_GENERATE)
    return TRUE;
  return ra_key_file_fail(subject->file, subject->plan->group, "cp", error,
                          "'cp' is %u for the generate call '%s', expected 1: "
                          "a decode step has no sequence to share",
                          subject->plan->cp, subject->call->name);
}

/* Width that tp cuts: of experts, unless these are cut in another way; of dense
 * layers; 0: of none. */
static uint32_t
mlp_width(const RaModel *model, gboolean cuts_experts)
{
  if (model->n_experts > 0 && cuts_experts)
    return model->expert_ffn;
  return model->n_experts == 0 || ra_model_n_moe_layers(model) < model->n_layers
             ? model->ffn
             : 0;
}

/* Heads of layers of kind @kind, of which a rank has whole ones. */
static gboolean
check_heads(const Subject *subject, uint32_t kind, GError **error)
{
  const RaModel *model = subject->model;
  uint32_t tp = subject->plan->tp, mixer = model->kinds[kind].mixer;
  uint32_t heads = ra_model_kind_heads(model, kind);
  uint32_t kv = ra_model_kind_kv_heads(model, kind);
  guint group = subject->plan->group;
  gboolean attention = mixer == RA_MIXER_ATTENTION;

  if (mixer == RA_MIXER_COMPRESSED && model->o_groups % tp != 0)
    return ra_key_file_fail(subject->file, group, "tp", error,
                            "'tp' is %u, expected a divisor of %u, the groups "
                            "of attention outputs of '%s'",
                            tp, model->o_groups, model->name);
  if ((attention || mixer == RA_MIXER_LATENT || mixer == RA_MIXER_COMPRESSED) &&
      heads % tp != 0)
    return ra_key_file_fail(subject->file, group, "tp", error,
                            "'tp' is %u, expected a divisor of %u, the "
                            "attention heads of '%s'",
                            tp, heads, model->name);
  if (attention && kv % tp != 0 && tp % kv != 0)
    return ra_key_file_fail(subject->file, group, "tp", error,
                            "'tp' is %u, expected a divisor or a multiple of "
                            "%u, the key-value heads of '%s'",
                            tp, kv, model->name);
  if (ra_model_conv_width(model, kind) == 0)
    return TRUE;
  heads = mixer == RA_MIXER_CONV ? model->hidden : model->n_value_heads;
  kv = mixer == RA_MIXER_CONV ? heads : model->n_key_heads;
  if (heads % tp == 0 && (kv % tp == 0 || tp % kv == 0))
    return TRUE;
  return ra_key_file_fail(subject->file, group, "tp", error,
                          "'tp' is %u, expected a divisor of %u and %u, the "
                          "heads of linear layers of '%s'",
                          tp, heads, kv, model->name);
}

/* Heads that cp ranks share where they exchange tokens for them: of any mixer
 * but attention to all keys, whose ranks pass keys round; 0: no mixer. */
static uint32_t
exchanged_heads(const RaModel *model, uint32_t kind)
{
  switch ((RaMixer)model->kinds[kind].mixer) {
  case RA_MIXER_NONE:
    return 0;
  case RA_MIXER_ATTENTION:
  case RA_MIXER_LATENT:
  case RA_MIXER_COMPRESSED:
    return ra_model_kind_heads(model, kind);
  case RA_MIXER_CONV:
    return model->hidden;
  default:
    return model->n_value_heads;
  }
}

/* Context parallelism of kinds that are no attention to all keys cuts heads;
 * cores with scores in memory are of such attention alone. */
static gboolean
check_kinds(const Subject *subject, GError **error)
{
  const RaModel *model = subject->model;
  const RaCallPlan *plan = subject->plan;
  gboolean core = plan->attention != RA_ATTENTION_FLASH;

  if (plan->cp <= 1 && !core)
    return TRUE;
  for (uint32_t k = 0; k < ra_model_n_kinds(model); k++) {
    uint32_t heads = exchanged_heads(model, k);
    g_autofree char *text = NULL;

    if (ra_model_kind_has_ring(model, k) ||
        (!core && heads % ((uint64_t)plan->tp * plan->cp) == 0))
      continue;
    text = ra_model_kind_text(model, k);
    if (core)
      return ra_key_file_fail(subject->file, plan->group, "attention", error,
                              "'%s' has layers of %s, expected 'attention = "
                              "flash': only attention of all heads to all "
                              "tokens is modelled otherwise",
                              model->name, text);
    return ra_key_file_fail(subject->file, plan->group, "cp", error,
                            "'tp' x 'cp' is %u x %u, expected a divisor of %u, "
                            "the heads of layers of %s of '%s'",
                            plan->tp, plan->cp, heads, text, model->name);
  }
  return TRUE;
}

static gboolean
check_model(const Subject *subject, GError **error)
{
  const RaModel *model = subject->model;
  uint32_t tp = subject->plan->tp;
  gboolean cuts = ra_call_plan_expert_tp(subject->plan) == tp;
  uint32_t ffn = mlp_width(model, cuts);
  guint group = subject->plan->group;

  for (uint32_t k = 0; k < ra_model_n_kinds(model); k++)
    if (!check_heads(subject, k, error))
      return FALSE;
  if (!ra_vision_tp_divides(model, tp))
    return ra_key_file_fail(subject->file, group, "tp", error,
                            "'tp' is %u, expected a divisor of %u and %u, the "
                            "heads and the MLP width of the vision tower of "
                            "'%s'",
                            tp, model->vision.n_heads, model->vision.ffn,
                            model->name);
  if (model->shared_ffn % tp != 0)
    return ra_key_file_fail(subject->file, group, "tp", error,
                            "'tp' is %u, expected a divisor of %u, the width "
                            "of the shared experts of '%s'",
                            tp, model->shared_ffn, model->name);
  if (ffn % tp != 0)
    return ra_key_file_fail(subject->file, group, "tp", error,
                            "'tp' is %u, expected a divisor of %u, the MLP "
                            "width of '%s'",
                            tp, ffn, model->name);
  if (subject->plan->sequence_parallel && tp == 1)
    return ra_key_file_fail(subject->file, group, "sequence-parallel", error,
                            "'sequence-parallel' is true with 'tp' 1, "
                            "expected 'tp' of at least 2 to share a sequence");
  return TRUE;
}

static gboolean
check_schedule(const Subject *subject, GError **error)
{
  static const char *const stage_keys[] = {"pp", "schedule", NULL};
  const RaCallPlan *plan = subject->plan;
  uint64_t n_stages = (uint64_t)plan->pp * plan->n_virtual;

  if (n_stages > subject->model->n_layers)
    return ra_key_file_fail(subject->file, plan->group,
                            blame(subject, stage_keys), error,
                            "'pp' x virtual stages is %u x %u = "
                            "%" G_GUINT64_FORMAT ", expected at most %u, the "
                            "layers of '%s'",
                            plan->pp, plan->n_virtual, (guint64)n_stages,
                            subject->model->n_layers, subject->model->name);
  if (plan->schedule != RA_SCHEDULE_INTERLEAVED)
    return TRUE;
  if (plan->pp == 1)
    return ra_key_file_fail(subject->file, plan->group, "schedule", error,
                            "'schedule' is interleaved with 'pp' 1, expected "
                            "'pp' of at least 2");
  if (plan->n_micro_batches % plan->pp != 0) {
    static const char *const keys[] = {"micro-batches", "schedule", NULL};

    return ra_key_file_fail(subject->file, plan->group, blame(subject, keys),
                            error,
                            "'micro-batches' is %u, expected a multiple of "
                            "%u, 'pp', for an interleaved 'schedule'",
                            plan->n_micro_batches, plan->pp);
  }
  return TRUE;
}

/* Same check as for the workload's number in graph/input/dataflow.c. */
static gboolean
check_mini_batches(const Subject *subject, GError **error)
{
  uint32_t n = subject->plan->n_mini_batches;
  const RaCall *call = subject->call;

  if (n == 0 || (call->n_sequences % n == 0 && n % call->n_parts == 0 &&
                 n <= UINT16_MAX / MAX(call->n_epochs, 1u)))
    return TRUE;
  return ra_key_file_fail(
      subject->file, subject->plan->group, "mini-batches", error,
      "'mini-batches' of '%s' is %u, expected a divisor of "
      "%u, its sequences, a multiple of %u, its parts, and "
      "at most %u steps of all epochs",
      call->name, n, call->n_sequences, call->n_parts, UINT16_MAX);
}

static gboolean
check_batch(const Subject *subject, GError **error)
{
  static const char *const keys[] = {"micro-batches", "dp", NULL};
  const RaCallPlan *plan = subject->plan;
  gboolean is_train = subject->call->kind == RA_CALL_TRAIN;
  uint32_t n_pieces = ra_call_plan_n_pieces(subject->call, plan);
  uint32_t n_sequences = subject->call->n_sequences;
  const char *what = is_train ? "mini-batches" : "parts";
  gboolean even = plan->balance == RA_BALANCE_TOKENS;
  uint64_t divisor;

  /* 65,536 x 2^20 x 2^20 fits 64 bits; the bounds are in plan.c and
   * workload.c, and checked again here. */
  if (product((uint32_t[]){n_pieces, plan->dp, plan->n_micro_batches}, 3,
              &divisor) &&
      (even ? n_sequences % (n_pieces * plan->dp) == 0 && n_sequences >= divisor
            : n_sequences % divisor == 0))
    return TRUE;
  if (even)
    return ra_key_file_fail(
        subject->file, plan->group, blame(subject, keys), error,
        "%s x 'dp' is %u x %u, expected a divisor of %u, the sequences of "
        "'%s', with at least %u, 'micro-batches', for each",
        what, n_pieces, plan->dp, n_sequences, subject->call->name,
        plan->n_micro_batches);
  return ra_key_file_fail(subject->file, plan->group, blame(subject, keys),
                          error,
                          "%s x 'dp' x 'micro-batches' is %u x %u x %u, "
                          "expected a divisor of %u, the sequences of '%s'",
                          what, n_pieces, plan->dp, plan->n_micro_batches,
                          n_sequences, subject->call->name);
}

static gboolean
check_zero(const Subject *subject, GError **error)
{
  const RaCallPlan *plan = subject->plan;
  const char *group = ra_key_file_get(subject->file, plan->group, "zero-group");

  if (subject->call->kind != RA_CALL_TRAIN && plan->zero != 0 &&
      plan->zero != 3)
    return ra_key_file_fail(subject->file, plan->group, "zero", error,
                            "'zero' of '%s' is %d, expected 0 or 3: only train "
                            "calls have gradients and optimizer state",
                            subject->call->name, plan->zero);
  if (group && plan->zero == 0)
    return ra_key_file_fail(subject->file, plan->group, "zero-group", error,
                            "'zero-group' with 'zero' 0, expected 'zero' of "
                            "at least 1 to shard");
  if (ra_key_file_get(subject->file, plan->group, "gathers") &&
      (plan->zero != 3 || subject->call->kind == RA_CALL_GENERATE))
    return ra_key_file_fail(subject->file, plan->group, "gathers", error,
                            "'gathers' of '%s' with 'zero' %d, expected a "
                            "train or inference call with 'zero' 3",
                            subject->call->name, plan->zero);
  if (ra_call_plan_spreads_experts(plan) && plan->zero > 0 &&
      (plan->zero_group < plan->dp || subject->call->kind == RA_CALL_GENERATE))
    return ra_key_file_fail(
        subject->file, plan->group, group ? "zero-group" : "zero", error,
        "'%s' is %u, expected %s", plan->ep > 1 ? "ep" : "expert-tp",
        plan->ep > 1 ? plan->ep : plan->expert_tp,
        subject->call->kind == RA_CALL_GENERATE ? "'zero' 0"
                                                : "'zero-group' all of dp");
  if (ra_call_plan_spreads_experts(plan) && plan->zero > 1 &&
      plan->dp * plan->cp == 1)
    return ra_key_file_fail(subject->file, plan->group, "zero", error,
                            "'zero' is %d with spread experts on one data "
                            "rank, expected 0 or 1",
                            plan->zero);
  if (plan->dp % plan->zero_group != 0)
    return ra_key_file_fail(subject->file, plan->group, "zero-group", error,
                            "'zero-group' is %u, expected a divisor of %u, "
                            "'dp'",
                            plan->zero_group, plan->dp);
  return TRUE;
}

/* The GPU of the mesh without fp8 units; NULL: there is none, or its profile is
 * not known. */
static const char *
without_fp8(const RaCallPlan *plan, const RaCluster *cluster)
{
  uint32_t kinds = ra_cluster_kinds(cluster, &plan->mesh);
  const RaDevice *d = &cluster->device;

  if (!cluster->kinds)
    return d->bf16_flop_per_s > 0 && d->fp8_flop_per_s <= 0 ? cluster->gpu
                                                            : NULL;
  for (uint32_t k = 0; k < cluster->n_kinds; k++) {
    d = &cluster->kinds[k].device;
    if (kinds & 1u << k && d->bf16_flop_per_s > 0 && d->fp8_flop_per_s <= 0)
      return cluster->kinds[k].gpu;
  }
  return NULL;
}

/* Some layer computes in fp8. */
static gboolean
check_ends(const Subject *subject, const RaModel *model, GError **error)
{
  static const char *const keys[] = {"bf16-first-layers", "bf16-last-layers",
                                     NULL};
  const RaCallPlan *call = subject->plan;
  uint32_t n = call->bf16_first + call->bf16_last;

  return n < model->n_layers ||
         ra_key_file_fail(subject->file, call->group, blame(subject, keys),
                          error,
                          "'bf16-first-layers' and 'bf16-last-layers' of '%s' "
                          "are %u of %u layers, expected fewer: none computes "
                          "in fp8",
                          subject->call->name, n, model->n_layers);
}

/* Linear layers compute in fp8 beside 16-bit weights, on units that do. */
static gboolean
check_fp8(const Subject *subject, const RaPlan *plan, GError **error)
{
  static const char *const keys[] = {"fp8-scaling", "fp8-params",
                                     "bf16-first-layers", "bf16-last-layers",
                                     NULL};
  const RaCallPlan *call = subject->plan;
  const RaWorkloadModel *m = &plan->workload->models[subject->call->model];
  const char *key = blame(subject, keys);
  const char *gpu = without_fp8(call, plan->cluster);

  if (!call->fp8_gemms)
    return !key ||
           ra_key_file_fail(subject->file, call->group, key, error,
                            "'%s' of '%s', expected it beside 'gemm-dtype = "
                            "fp8'",
                            key, subject->call->name);
  if (m->dtype != RA_DTYPE_BF16 && m->dtype != RA_DTYPE_FP16)
    return ra_key_file_fail(subject->file, call->group, "gemm-dtype", error,
                            "'gemm-dtype' is fp8 and 'dtype' of '%s' %s, "
                            "expected a model of bf16 or fp16",
                            m->name, m->dtype == RA_DTYPE_FP8 ? "too" : "fp32");
  if (call->zero == 3)
    return ra_key_file_fail(subject->file, call->group, "gemm-dtype", error,
                            "'gemm-dtype' of '%s' is fp8 with 'zero' 3, "
                            "expected at most 2: 8-bit copies of weights last "
                            "a step",
                            subject->call->name);
  if (gpu)
    return ra_key_file_fail(subject->file, call->group, "gemm-dtype", error,
                            "'gemm-dtype' of '%s' is fp8, expected a GPU with "
                            "fp8 units: '%s' has none",
                            subject->call->name, gpu);
  return check_ends(subject, m->model, error);
}

/* A model has experts to be narrowed, beside weights of at most 16 bits. */
static gboolean
check_expert_dtype(const Subject *subject, const RaPlan *plan, GError **error)
{
  const RaCallPlan *call = subject->plan;
  const RaWorkloadModel *m = &plan->workload->models[subject->call->model];

  if (call->expert_dtype == RA_EXPERT_DTYPE_SAME)
    return TRUE;
  if (m->model->n_experts == 0)
    return ra_key_file_fail(subject->file, call->group, "expert-dtype", error,
                            "'expert-dtype' of '%s', expected a model with "
                            "experts: '%s' has none",
                            subject->call->name, m->name);
  if (call->zero == 3)
    return ra_key_file_fail(subject->file, call->group, "expert-dtype", error,
                            "'expert-dtype' of '%s' with 'zero' 3, expected 0: "
                            "its shards are gathered in one type",
                            subject->call->name);
  return ra_call_plan_dtype(call, m) != RA_DTYPE_FP32 ||
         ra_key_file_fail(subject->file, call->group, "expert-dtype", error,
                          "'expert-dtype' of '%s' beside weights of fp32, "
                          "expected bf16, fp16 or fp8",
                          subject->call->name);
}

gboolean
ra_plan_check_call(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *of = &plan->workload->calls[call];
  Subject subject = {.file = plan->file,
                     .plan = &plan->calls[call],
                     .call = of,
                     .model = plan->workload->models[of->model].model};

  return check_tiling(&subject, error) && check_model(&subject, error) &&
         check_experts(&subject, error) && check_context(&subject, error) &&
         check_kinds(&subject, error) && check_attention(&subject, error) &&
         check_masters(&subject, error) && check_schedule(&subject, error) &&
         check_mini_batches(&subject, error) && check_batch(&subject, error) &&
         check_zero(&subject, error) && check_fp8(&subject, plan, error) &&
         check_expert_dtype(&subject, plan, error);
}
