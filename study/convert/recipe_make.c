/* The files of a recipe: its cluster and its plan, beside the workload
 * (study/convert/recipe_workload.c). */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "graph/input/plan_write.h"
#include "graph/input/turns.h"
#include "study/convert/model_name.h"
#include "study/convert/recipe_impl.h"
#include "traces/profile.h"

#define DEFAULT_GPU "h100-sxm"
#define MIB 1048576.0

void
ra_imported_free(RaImported *files)
{
  if (!files)
    return;
  g_free(files->workload);
  g_free(files->cluster);
  g_free(files->plan);
  g_free(files);
}

uint32_t
ra_recipe_tray_gpus(const char *gpu)
{
  return g_str_has_prefix(gpu, "gb200") || g_str_has_prefix(gpu, "gb300") ? 4
                                                                          : 0;
}

/* Trays of GB200 that NVLink joins, as one node: as many as the pools of all
 * calls are whole numbers of, by powers of two, so that slices are aligned. */
static void
join_trays(RaRecipe *recipe)
{
  uint32_t most =
      recipe->n_segment > 0 ? recipe->n_segment : RA_RECIPE_RACK_TRAYS;

  for (uint32_t n = 1; 2 * n <= MIN(most, RA_RECIPE_RACK_TRAYS); n *= 2) {
    uint32_t twice = 2 * recipe->n_node_gpus;

    if (recipe->n_nodes % 2 != 0)
      return;
    for (guint k = 0; k < RA_N_RECIPE_CALLS; k++)
      if (recipe->calls[k].is_there && (recipe->calls[k].n_gpus % twice != 0 ||
                                        recipe->calls[k].first_gpu % twice))
        return;
    recipe->n_nodes /= 2;
    recipe->n_node_gpus = twice;
  }
}

/* (nullable): GPU that a configuration's name has as a word, as in
 * `qwen2_32B_grpo_8_h20_megatron.sh`. */
static const char *
gpu_in_name(const char *name)
{
  static const struct {
    const char *word, *gpu;
  } gpus[] = {{"h100", "h100-sxm"}, {"h200", "h200-sxm"}, {"h20", "h20"},
              {"b200", "b200-sxm"}, {"b300", "b300-sxm"}, {"a100", "a100-sxm"},
              {"l40s", "l40s"},     {"mi300x", "mi300x"}};
  g_autofree char *base = g_path_get_basename(name);
  g_autofree char *low = g_ascii_strdown(base, -1);

  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    gsize n = strlen(gpus[i].word);

    for (const char *at = strstr(low, gpus[i].word); at;
         at = strstr(at + 1, gpus[i].word))
      if ((at == low || !g_ascii_isalnum(at[-1])) && !g_ascii_isalnum(at[n]))
        return gpus[i].gpu;
  }
  return NULL;
}

static char *
write_cluster(RaRecipe *recipe, const RaRecipeOptions *options, const char *gpu,
              GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);

  ra_recipe_note(
      recipe,
      "cluster: %s%s, one 400 Gbit/s NIC per GPU, a flat network, no price "
      "('price' of [cluster])",
      gpu,
      options->gpu  ? ""
      : recipe->gpu ? ", as nodes have 4 GPUs (--gpu changes it)"
      : gpu_in_name(options->source)
          ? ", as the file's name says (--gpu changes it)"
          : " (--gpu changes it)");
  ra_quote_comment(out, "Imported from %s.", options->source);
  g_string_append_printf(out,
                         "# It states the number of GPUs; the rest of the "
                         "cluster is assumed.\n\n[cluster]\nformat = 1\n"
                         "nodes = %u\ngpus-per-node = %u\n",
                         recipe->n_nodes, recipe->n_node_gpus);
  if (!ra_quote_key(out, "gpu", gpu, error))
    return NULL;
  g_string_append_printf(out, "nics-per-node = %u\n", recipe->n_node_gpus);
  g_string_append(out, "nic = 400 Gbit/s\nfabric = flat\n");
  if (recipe->is_expandable)
    g_string_append(out, "allocator-slack = 0\n");
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- Plan ------------------------------------------------------------ */

/* The least divisor of @n that is at least @least and a multiple of @unit; @n
 * itself if there is none. */
static uint32_t
divisor_from(uint32_t n, uint32_t least, uint32_t unit)
{
  for (uint32_t d = MAX(1, least); d < n; d++) {
    if (n % d == 0 && d % unit == 0)
      return d;
  }
  return n;
}

/* Micro-batches bounded in tokens; chunks of a pipeline want a multiple of its
 * stages. */
static uint32_t
evenly(const RaRecipeCall *call, uint32_t wanted)
{
  uint32_t unit = call->n_virtual > 1 ? call->pp : 1;

  return (wanted + unit - 1) / unit * unit;
}

/* How many micro-batches a replica of the call makes of a mini-batch; those
 * bounded in tokens are as many as sequences of the mean length fill. */
static uint32_t
n_micro_batches(RaRecipe *recipe, RaRecipeKind kind, const RaWorkload *workload)
{
  const RaRecipeCall *call = &recipe->calls[kind];
  uint32_t share = MAX(1, ra_recipe_share(recipe, kind)), wanted, taken;
  double tokens =
      ra_length_mean(&workload->prompt_length) + ra_turns_mean_tokens(workload);

  if (call->micro_tokens > 0)
    return evenly(
        call, (uint32_t)ceil(MIN(1.0, tokens / call->micro_tokens) * share));
  else if (call->micro_batch > 0)
    wanted = (share + call->micro_batch - 1) / call->micro_batch;
  else
    wanted = call->n_micro_batches;
  if (wanted == 0)
    return 0;
  /* Chunks of a pipeline are interleaved over whole groups of micro-batches. */
  taken = divisor_from(share, wanted,
                       call->n_virtual > 1 && call->pp > 1 ? call->pp : 1);
  if (taken != wanted)
    ra_recipe_note(
        recipe, "%s: %u micro-batches instead of %u, as all have one size here",
        ra_recipe_call_names[kind], taken, wanted);
  return taken;
}

static const RaModel *
model_of(const RaWorkload *workload, RaRecipeKind kind)
{
  uint32_t index = ra_workload_find_call(workload, ra_recipe_call_names[kind]);

  return workload->models[workload->calls[index].model].model;
}

static double
expert_params(const RaModel *model)
{
  guint32 n_of[RA_MODEL_MAX_KINDS];
  double sum = 0;

  ra_model_count_kinds(model, 0, model->n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++)
    sum +=
        n_of[k] * (double)ra_model_kind_n_params(model, k, RA_PART_EXPERTS, 1);
  return sum;
}

/* Parts that a stage's experts are cut in. */
static double
expert_cut(uint32_t tp, uint32_t ep, uint32_t etp)
{
  return (double)MAX(1, ep) * (etp > 0 ? etp : MAX(1, tp));
}

double
ra_recipe_rank_params(const RaModel *model, uint32_t tp, uint32_t pp,
                      uint32_t ep, uint32_t etp)
{
  double experts = expert_params(model);

  return ((double)ra_model_n_params(model) - experts) / MAX(1, tp) /
             MAX(1, pp) +
         experts / expert_cut(tp, ep, etp) / MAX(1, pp);
}

static double
rank_params(const RaModel *model, const RaRecipeCall *c)
{
  return ra_recipe_rank_params(model, c->tp, c->pp, c->ep, c->etp);
}

/* Bytes of a GPU that the other models have when the engine starts: weights
 * that do not rest on the host, of those that learn without zero 3 also
 * gradients and fp32 master weights; AdamW makes its moments in its first step.
 */
static double
held_at_start(const RaRecipe *recipe, const RaWorkload *workload)
{
  const RaRecipeCall *generate = &recipe->calls[RA_RECIPE_GENERATE];
  double held = 0;

  for (RaRecipeKind k = RA_RECIPE_REF_INFERENCE; k < RA_N_RECIPE_CALLS; k++) {
    const RaRecipeCall *c = &recipe->calls[k];
    gboolean trains = k == RA_RECIPE_ACTOR_TRAIN || k == RA_RECIPE_CRITIC_TRAIN;
    double shards = c->zero == 3 ? c->dp : 1, each = 2;

    if (!c->is_there || c->host || k == RA_RECIPE_CRITIC_INFERENCE ||
        c->first_gpu + c->n_gpus <= generate->first_gpu ||
        generate->first_gpu + generate->n_gpus <= c->first_gpu)
      continue;
    if (trains)
      each = c->zero == 3 ? 4 : 2 + 4 + 4.0 / MAX(1, c->dp);
    held += each * rank_params(model_of(workload, k), c) / shards;
  }
  return held;
}

/* "fp8" for the frameworks' words of it (fp8, fp8_e4m3 ...); NULL: bf16, with a
 * note where @word is another type. */
static const char *
engine_dtype(RaRecipe *recipe, const char *what, const char *word)
{
  static const char *const plain[] = {"",         "auto", "none", "null",
                                      "bfloat16", "bf16", "off",  "false"};

  if (!word)
    return NULL;
  if (g_ascii_strncasecmp(word, "fp8", 3) == 0)
    return "fp8";
  for (guint i = 0; i < G_N_ELEMENTS(plain); i++)
    if (g_ascii_strcasecmp(word, plain[i]) == 0)
      return NULL;
  ra_recipe_note(recipe, "generate: %s in bf16", what);
  return NULL;
}

/* Memory of an engine for keys and values, whole MiB: what weights and the
 * largest step leave of its part of the GPU's (vLLM,
 * v1/worker/gpu_worker.py, determine_available_memory()), or of what is free
 * (SGLang, model_executor/model_runner.py, profile_max_num_token()); 0:
 * nothing. */
static double
kv_memory_bytes(const RaRecipe *recipe, const RaWorkload *workload,
                double device_bytes, double param_bytes,
                gboolean narrows_experts)
{
  const RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  const RaModel *model = model_of(workload, RA_RECIPE_GENERATE);
  double narrowed =
      narrows_experts
          ? expert_params(model) / expert_cut(call->tp, call->ep, call->etp)
          : 0;
  double free_bytes =
      device_bytes - (call->of_free ? held_at_start(recipe, workload) : 0);
  double weights_bytes =
      param_bytes * rank_params(model, call) -
      (param_bytes - RA_MXFP4_BYTES) * narrowed / MAX(1, call->pp);
  double left_bytes = call->memory_frac * free_bytes - weights_bytes -
                      ra_recipe_step_bytes(model, call->tp, call->max_sequences,
                                           call->prefill_tokens);

  return MAX(0.0, floor(left_bytes / MIB + 0.5) * MIB);
}

static void
put_mesh(const RaRecipe *recipe, const RaRecipeCall *call, GString *out)
{
  uint32_t n = recipe->n_node_gpus, first = call->first_gpu;

  if (call->n_gpus % n == 0 && first % n == 0) {
    uint32_t from = first / n, to = from + call->n_gpus / n - 1;

    if (from == to)
      g_string_append_printf(out, "mesh = node%u\n", from);
    else
      g_string_append_printf(out, "mesh = node[%u-%u]\n", from, to);
  } else if (call->n_gpus == 1) {
    g_string_append_printf(out, "mesh = node%u:gpu%u\n", first / n, first % n);
  } else {
    g_string_append_printf(out, "mesh = node%u:gpu[%u-%u]\n", first / n,
                           first % n, first % n + call->n_gpus - 1);
  }
}

/* The samples of a prompt share its keys if they are in one replica. */
static void
put_prefix_sharing(RaRecipe *recipe, const RaWorkload *workload, GString *out)
{
  const RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  uint32_t index =
      ra_workload_find_call(workload, ra_recipe_call_names[RA_RECIPE_GENERATE]);

  if (workload->calls[index].n_sequences / MAX(1, call->dp) %
          recipe->n_samples ==
      0)
    g_string_append(out, "prefix-sharing = true\n");
  else
    ra_recipe_note(recipe, "generate: the samples of a prompt are on several "
                           "replicas; none share its KV cache");
}

static void
put_generate(RaRecipe *recipe, const RaWorkload *workload, double device_bytes,
             GString *out)
{
  const RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  gboolean is_int4 = g_strcmp0(recipe->rollout_dtype, "int4") == 0 &&
                     model_of(workload, RA_RECIPE_GENERATE)->n_experts > 0;
  const char *dtype =
      is_int4 ? NULL : engine_dtype(recipe, "weights", recipe->rollout_dtype);
  const char *kv_dtype =
      engine_dtype(recipe, "the KV cache", recipe->rollout_kv_dtype);
  double kv_bytes;

  if (dtype)
    g_string_append_printf(out, "dtype = %s\n", dtype);
  if (is_int4) {
    g_string_append(out, "expert-dtype = mxfp4\n");
    ra_recipe_note(recipe,
                   "generate: the experts' int4 weights as mxfp4, whose "
                   "4 bits are multiplied with 16-bit tokens, too");
  }
  if (kv_dtype)
    g_string_append_printf(out, "kv-dtype = %s\n", kv_dtype);
  if (call->graph)
    g_string_append(out, "launch = graph\n");
  if (call->max_sequences == 0)
    return;
  g_string_append_printf(out, "batching = continuous\nmax-sequences = %u\n",
                         call->prefill_tokens > 0
                             ? MIN(call->max_sequences, call->prefill_tokens)
                             : call->max_sequences);
  if (call->prefill_tokens > 0)
    g_string_append_printf(out, "prefill-tokens = %u\n", call->prefill_tokens);
  if (recipe->async.is_service) {
    g_string_append_printf(out, "service = %s\nsync-interval = %u\n",
                           recipe->async.in_flight    ? "in-flight"
                           : recipe->async.interrupts ? "interrupt"
                                                      : "drain",
                           MAX(1, recipe->async.sync_interval));
    ra_recipe_note(recipe, "generate: a service's KV cache is not limited, and "
                           "responses do not share their prompt's keys");
    return;
  }
  if (call->prefix_sharing && recipe->n_samples > 1)
    put_prefix_sharing(recipe, workload, out);
  if (call->memory_frac <= 0 && call->kv_bytes <= 0)
    return;
  kv_bytes = call->kv_bytes > 0
                 ? floor(call->kv_bytes / MIB) * MIB
                 : kv_memory_bytes(recipe, workload, device_bytes,
                                   dtype ? 1 : 2, is_int4);
  if (kv_bytes > 0)
    g_string_append_printf(out, "kv-memory = %.0f MiB\n", kv_bytes / MIB);
  else
    ra_recipe_note(recipe, "generate: weights take all of the engine's memory; "
                           "the KV cache is not limited");
}

/* Layers of the stages, of which the first and the last differ. */
static void
put_stage_layers(RaRecipe *recipe, const RaRecipeCall *call, uint32_t n_layers,
                 GString *out)
{
  uint32_t first = call->first_layers, last = call->last_layers;
  uint32_t n_even = call->pp - (first > 0) - (last > 0);
  uint32_t rest = n_layers - MIN(n_layers, first + last);

  if (call->pp < 2 || first + last == 0)
    return;
  if (call->n_virtual > 1 || n_even == 0 || rest % n_even != 0) {
    ra_recipe_note(
        recipe, "stages: even, not %u layers in the first and %u in the last",
        first, last);
    return;
  }
  g_string_append(out, "stage-layers = ");
  for (uint32_t i = 0; i < call->pp; i++) {
    uint32_t n = i == 0 && first > 0             ? first
                 : i + 1 == call->pp && last > 0 ? last
                                                 : rest / n_even;

    g_string_append_printf(out, "%s%u", i > 0 ? "," : "", n);
  }
  g_string_append_c(out, '\n');
}

static void
put_train(const RaRecipeCall *call, GString *out)
{
  if (call->n_virtual > 1 && call->pp > 1)
    g_string_append_printf(out, "schedule = interleaved:%u\n", call->n_virtual);
  if (call->full_recompute || call->selective_recompute)
    g_string_append_printf(out, "recompute = %s\n",
                           call->full_recompute ? "full" : "selective");
  if (call->fp32_grads)
    g_string_append(out, "grad-dtype = fp32\n");
  if (call->overlap)
    g_string_append(out, "overlap-grad-reduce = true\n");
  if (call->remainders)
    g_string_append(out, "master-weights = remainders\n");
  if (call->no_masters)
    g_string_append(out, "master-weights = none\n");
  if (call->moments)
    g_string_append_printf(out, "moments-dtype = %s\n", call->moments);
  if (call->cpu_optimizer || call->optimizer_host)
    g_string_append_printf(out, "optimizer-residency = %s\n",
                           call->cpu_optimizer ? "cpu" : "host");
  if (call->grads_released)
    g_string_append(out, "grad-residency = release\n");
}

/* Shards of a data-parallel group; beside spread experts, of all of it. */
static void
put_shards(RaRecipe *recipe, RaRecipeKind kind, GString *out)
{
  const RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  gboolean has_sets = call->zero_group > 0 && call->zero_group < call->dp;
  uint32_t zero = call->zero;

  if (call->ep > 1 && call->dp * MAX(1, call->cp) == 1)
    zero = MIN(zero, 1); /* one data rank has nothing to shard */
  if (zero == 0 || (!is_train && zero != 3))
    return;
  g_string_append_printf(out, "zero = %u\n", zero);
  if (has_sets && call->ep <= 1)
    g_string_append_printf(out, "zero-group = %u\n", call->zero_group);
  else if (has_sets)
    ra_recipe_note(recipe,
                   "%s: shards over all %u data ranks, not sets of %u, beside "
                   "experts that ranks share",
                   ra_recipe_call_names[kind], call->dp, call->zero_group);
  if (call->in_turn && zero == 3)
    g_string_append(out, "gathers = in-turn\n");
}

static void
put_padding(const RaRecipeCall *call, GString *out)
{
  if (call->padding != RA_PADDING_NONE)
    g_string_append_printf(out, "padding = %s\n",
                           call->padding == RA_PADDING_BATCH ? "batch"
                                                             : "micro-batch");
  if (call->padded_length > 0)
    g_string_append_printf(out, "padded-length = %u\n", call->padded_length);
}

/* @name: the call's, or that of one with the same group. */
static gboolean
put_call(RaRecipe *recipe, RaRecipeKind kind, const char *name,
         const RaWorkload *workload, double device_bytes, GString *out,
         GError **error)
{
  RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  uint32_t model_gpus = call->tp * call->pp * call->cp, n;

  if (call->dp * model_gpus != call->n_gpus || call->n_gpus == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: %u GPUs are not a multiple of tp %u x pp %u x cp %u",
                ra_recipe_call_names[kind], call->n_gpus, call->tp, call->pp,
                call->cp);
    return FALSE;
  }
  g_string_append_printf(out, "\n[call %s]\n", name);
  put_mesh(recipe, call, out);
  g_string_append_printf(out, "dp = %u\ntp = %u\npp = %u\n", call->dp, call->tp,
                         call->pp);
  if (call->cp > 1)
    g_string_append_printf(out, "cp = %u\n", call->cp);
  if (call->ep > 1)
    g_string_append_printf(out, "ep = %u\n", call->ep);
  if (call->ep > 1 && call->dispatches_once)
    g_string_append(out, "dispatch = once\n");
  if (call->etp > 0 && call->etp != call->tp &&
      model_of(workload, kind)->n_experts > 0)
    g_string_append_printf(out, "expert-tp = %u\n", call->etp);
  put_stage_layers(recipe, call, model_of(workload, kind)->n_layers, out);
  n = kind == RA_RECIPE_GENERATE ? call->n_micro_batches
                                 : n_micro_batches(recipe, kind, workload);
  if (n > 0)
    g_string_append_printf(out, "micro-batches = %u\n", n);
  if (n > 0 && call->micro_tokens > 0 && kind != RA_RECIPE_GENERATE)
    g_string_append(out, "balance = tokens\n");
  if (kind != RA_RECIPE_GENERATE) {
    put_padding(call, out);
    if (call->fp8_gemms)
      ra_plan_append_fp8(out, call->fp8_scaling, call->fp8_params,
                         call->bf16_first, call->bf16_last);
  }
  if (call->n_mini_batches > 0 &&
      call->n_mini_batches != recipe->n_mini_batches)
    g_string_append_printf(out, "mini-batches = %u\n", call->n_mini_batches);
  if (call->sequence_parallel && call->tp > 1)
    g_string_append(out, "sequence-parallel = true\n");
  put_shards(recipe, kind, out);
  if (call->host)
    g_string_append(out, "residency = host\n");
  if (is_train)
    put_train(call, out);
  if (kind == RA_RECIPE_GENERATE)
    put_generate(recipe, workload, device_bytes, out);
  return TRUE;
}

/* Replicas of calls, which the number of GPUs gives. */
static void
derive_dp(RaRecipe *recipe)
{
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    RaRecipeCall *call = &recipe->calls[k];
    uint32_t model_gpus = call->tp * call->pp * call->cp;

    if (call->dp == 0 && model_gpus > 0 && call->n_gpus % model_gpus == 0)
      call->dp = call->n_gpus / model_gpus;
  }
}

/* Engines, of which there are fewer where they cannot share the sequences. */
static void
fit_engines(RaRecipe *recipe)
{
  RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  uint32_t n =
      recipe->trips.n_prompts > 0 ? recipe->trips.n_prompts : recipe->n_prompts;
  uint32_t each = call->tp * call->pp * call->cp, dp = call->dp;

  if (!call->is_there || dp == 0 || each == 0 ||
      each > recipe->n_node_gpus * recipe->n_nodes)
    return;
  n *= recipe->n_samples;
  while (dp > 1 && (n % dp != 0 || (dp * each > recipe->n_node_gpus
                                        ? dp * each % recipe->n_node_gpus
                                        : recipe->n_node_gpus % (dp * each))))
    dp--;
  if (n % call->dp == 0)
    return;
  ra_recipe_note(recipe,
                 "generate: %u of %u engines, as all have as many of the %u "
                 "sequences here",
                 dp, call->dp, n);
  call->dp = dp;
  call->n_gpus = dp * each;
}

/* As ra_call_plan_n_shards(). */
static uint32_t
n_shards(const RaRecipeCall *c)
{
  if (c->zero != 3)
    return 1;
  return c->zero_group > 0 ? c->zero_group * c->cp
                           : c->n_gpus / MAX(1, c->tp * c->pp);
}

/* As ra_call_plan_same_layout(), of calls that are no pipelines of chunks. */
static gboolean
same_layout(const RaRecipeCall *a, const RaRecipeCall *b)
{
  return a->first_gpu == b->first_gpu && a->n_gpus == b->n_gpus &&
         a->dp == b->dp && a->tp == b->tp && a->pp == b->pp && a->cp == b->cp &&
         a->ep == b->ep && n_shards(a) == n_shards(b);
}

/* Weights that calls of one model share in one layout rest at one place: on the
 * host, if one of them says so and none runs in each trip
 * (graph/input/residency.c). */
static void
agree_on_residency(RaRecipe *recipe)
{
  RaRecipeCall *c = recipe->calls;
  gboolean in_trips = recipe->trips.n_prompts > 0;

  for (guint i = 0; i < RA_N_RECIPE_CALLS; i++) {
    gboolean of_trip =
        i == RA_RECIPE_GENERATE || i == RA_RECIPE_REWARD_INFERENCE;

    for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
      if (c[i].is_there && c[k].is_there && (c[i].host || c[k].host) &&
          ra_recipe_model_of(i) == ra_recipe_model_of(k) &&
          same_layout(&c[i], &c[k]))
        c[i].host = c[k].host = !(in_trips && of_trip);
    }
  }
}

/* The plan's keys, before it is read and written in the one form. */
static char *
draft_plan(RaRecipe *recipe, const RaPlanWords *words,
           const RaWorkload *workload, double device_bytes, GError **error)
{
  g_autoptr(GString) out = g_string_new("[plan]\nformat = 1\n");

  if (!ra_quote_key(out, "workload", words->workload, error) ||
      !ra_quote_key(out, "cluster", words->cluster, error))
    return NULL;
  if (recipe->system)
    g_string_append_printf(out, "system = %s\n", recipe->system);
  derive_dp(recipe);
  fit_engines(recipe);
  agree_on_residency(recipe);
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    if (recipe->calls[k].is_there &&
        !put_call(recipe, k, ra_recipe_call_names[k], workload, device_bytes,
                  out, error))
      return NULL;
  }
  if (recipe->is_greedy_too &&
      !put_call(recipe, RA_RECIPE_GENERATE, "greedy_generate", workload,
                device_bytes, out, error))
    return NULL;
  if (recipe->is_greedy_too && !ra_recipe_is_by_rules(recipe) &&
      !put_call(recipe, RA_RECIPE_REWARD_INFERENCE, "greedy_reward_inference",
                workload, device_bytes, out, error))
    return NULL;
  if (ra_recipe_is_by_rules(recipe))
    g_string_append(out, "\n[call reward]\nmesh = node0\n");
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static RaKeyFile *
parse(const RaRecipeOptions *options, const char *suffix, const char *text,
      GError **error)
{
  g_autofree char *name = g_strconcat(options->name, suffix, NULL);

  return ra_key_file_parse(name, text, strlen(text), error);
}

/* Bytes of the GPU's memory, by its profile; 0 with @error. */
static double
device_bytes_of(const RaCluster *cluster, GError **error)
{
  g_autofree char *name = g_strconcat(cluster->gpu, ".profile", NULL);
  g_autofree char *path = ra_share_find("profiles", name, NULL, error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, error) : NULL;
  g_autoptr(RaProfile) profile = file ? ra_profile_load(file, error) : NULL;

  return profile ? profile->spec.memory_bytes : 0.0;
}

static char *
write_plan(RaRecipe *recipe, const RaRecipeOptions *options,
           const RaWorkload *workload, const RaCluster *cluster, GError **error)
{
  double device_bytes = options->gpu_bytes > 0
                            ? options->gpu_bytes
                            : device_bytes_of(cluster, error);
  g_autofree char *draft = NULL, *head = NULL;
  g_autofree char *workload_name =
      g_strconcat(options->name, ".workload", NULL);
  g_autofree char *cluster_name = g_strconcat(options->name, ".cluster", NULL);
  g_autoptr(RaKeyFile) file = NULL;
  g_autoptr(RaPlan) plan = NULL;
  RaPlanWords words = {.workload = workload_name,
                       .cluster = cluster_name,
                       .system = recipe->system};

  if (device_bytes > 0)
    draft = draft_plan(recipe, &words, workload, device_bytes, error);
  if (draft)
    file = parse(options, ".plan", draft, error);
  if (file)
    plan = ra_plan_load(file, workload, cluster, error);
  if (!plan) {
    g_prefix_error(
        error, "the configuration (%s) gives no valid plan: ", options->source);
    return NULL;
  }
  head = g_strdup_printf("Imported from %s (%s).", options->source,
                         ra_framework_names[recipe->framework]);
  words.head = head;
  return ra_plan_write(plan, &words, error);
}

RaImported *
ra_recipe_make(RaRecipe *recipe, const RaRecipeOptions *options, GError **error)
{
  g_autoptr(RaImported) files = g_new0(RaImported, 1);
  g_autoptr(RaKeyFile) workload_file = NULL, cluster_file = NULL;
  g_autoptr(RaWorkload) workload = NULL;
  g_autoptr(RaCluster) cluster = NULL;
  const char *gpu;

  g_return_val_if_fail(recipe != NULL && options != NULL, NULL);
  gpu = options->gpu ? options->gpu : recipe->gpu;
  if (!gpu)
    gpu = gpu_in_name(options->source);
  if (!gpu)
    gpu = DEFAULT_GPU;
  if (recipe->n_node_gpus == ra_recipe_tray_gpus(gpu))
    join_trays(recipe);
  files->workload = ra_recipe_workload(recipe, options, error);
  if (files->workload)
    files->cluster = write_cluster(recipe, options, gpu, error);
  if (!files->cluster)
    return NULL;
  workload_file = parse(options, ".workload", files->workload, error);
  if (workload_file)
    workload = ra_workload_load(workload_file, error);
  if (workload)
    cluster_file = parse(options, ".cluster", files->cluster, error);
  if (cluster_file)
    cluster = ra_cluster_load(cluster_file, error);
  if (!cluster)
    return NULL;
  files->plan = write_plan(recipe, options, workload, cluster, error);
  return files->plan ? g_steal_pointer(&files) : NULL;
}
