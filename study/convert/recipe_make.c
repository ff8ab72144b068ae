/* The files of a recipe: workload, cluster, plan. */
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
/* Answers to rules: no configuration says how long they take to score. */
#define HOST_TIME "0 s"
#define MIB 1048576.0

/* Where a configuration has the maximum of lengths alone, their mean as a part
 * of it.  MEASURED: medians over published runs that tell both, 40 sources of
 * answers (quartiles 0.18 and 0.74) and 17 of prompts, 2025 and 2026
 * (rl_steps.csv).  Standard deviation over mean: 65 maths problems, 8 answers
 * each (math_group8_lengths.csv). */
#define RESPONSE_FRAC 0.39
#define PROMPT_FRAC 0.10
#define LENGTH_SD_FRAC 0.57

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

/* ---- Models ---------------------------------------------------------- */

/* The config of model @role: a flag's, or what its name stands for. */
static char *
config_of(RaRecipe *recipe, const RaRecipeOptions *options, guint role,
          GError **error)
{
  g_auto(GStrv) items =
      g_strsplit(options->models ? options->models : "", ",", -1);
  const char *name = recipe->model[role];
  GError *cause = NULL;
  char *config;

  for (guint i = 0; items[i]; i++) {
    const char *equals = strchr(items[i], '=');
    gsize n = equals ? (gsize)(equals - items[i]) : 0;

    if (*items[i] &&
        (!equals || (strlen(ra_recipe_models[role]) == n &&
                     strncmp(items[i], ra_recipe_models[role], n) == 0)))
      return g_strdup(equals ? equals + 1 : items[i]);
  }
  config =
      name ? ra_model_name_config(name, options->script, recipe->notes, &cause)
           : NULL;
  if (!config)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "model of the %s: %s; --model %s=CONFIG gives one",
                ra_recipe_models[role], cause ? cause->message : "not set",
                ra_recipe_models[role]);
  g_clear_error(&cause);
  return config;
}

static gboolean
has_model(const RaRecipe *recipe, RaRecipeModel model)
{
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    if (recipe->calls[k].is_there && ra_recipe_model_of(k) == model)
      return TRUE;
  }
  return FALSE;
}

static gboolean
put_lora(const RaRecipe *recipe, guint model, GString *out, GError **error)
{
  const RaRecipeLora *lora = &recipe->lora[model];

  if (model == RA_RECIPE_REF && recipe->lora_ref &&
      recipe->lora[RA_RECIPE_ACTOR].rank > 0)
    g_string_append_printf(out, "base-of = %s\n",
                           ra_recipe_models[RA_RECIPE_ACTOR]);
  if (lora->rank == 0)
    return TRUE;
  g_string_append_printf(out, "lora-rank = %u\n", lora->rank);
  if (lora->targets && !ra_quote_key(out, "lora-targets", lora->targets, error))
    return FALSE;
  if (recipe->lora_merged)
    g_string_append(out, "lora-sync = merged\n");
  return TRUE;
}

static gboolean
put_models(RaRecipe *recipe, const RaRecipeOptions *options, GString *out,
           GError **error)
{
  for (guint m = 0; m < RA_N_RECIPE_MODELS; m++) {
    gboolean trained = m == RA_RECIPE_ACTOR || m == RA_RECIPE_CRITIC;
    g_autofree char *config = NULL;

    if (!has_model(recipe, m))
      continue;
    config = config_of(recipe, options, m, error);
    if (!config)
      return FALSE;
    g_string_append_printf(out, "\n[model %s]\n", ra_recipe_models[m]);
    if (recipe->model[m])
      ra_quote_comment(out, "%s", recipe->model[m]);
    if (!ra_quote_key(out, "config", config, error))
      return FALSE;
    g_string_append(out, trained ? "trainable = true\n" : "");
    if (m == RA_RECIPE_CRITIC || m == RA_RECIPE_REWARD ||
        (m == RA_RECIPE_ACTOR && recipe->task == RA_RECIPE_RM))
      g_string_append(out, "head = value\n");
    if (!put_lora(recipe, m, out, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- Workload -------------------------------------------------------- */

/* Inputs and outputs of a call; the call of rules has none here. */
static const struct {
  RaRecipeKind call;
  const char *kind, *output;
} flows[] = {
    {RA_RECIPE_GENERATE, "generate", "sequences"},
    {RA_RECIPE_ACTOR_INFERENCE, "inference", "logprobs"},
    {RA_RECIPE_REF_INFERENCE, "inference", "ref_logprobs"},
    {RA_RECIPE_REWARD_INFERENCE, "inference", "rewards"},
    {RA_RECIPE_CRITIC_INFERENCE, "inference", "values"},
    {RA_RECIPE_ACTOR_TRAIN, "train", NULL},
    {RA_RECIPE_CRITIC_TRAIN, "train", NULL},
};

/* The data that no call makes. */
static const char *
dataset_of(const RaRecipe *recipe)
{
  static const char *const names[] = {[RA_RECIPE_RL] = "prompts",
                                      [RA_RECIPE_SFT] = "pairs",
                                      [RA_RECIPE_DPO] = "comparisons",
                                      [RA_RECIPE_RM] = "comparisons"};

  return names[recipe->task];
}

/* TRUE if rules on the hosts score the answers. */
static gboolean
is_by_rules(const RaRecipe *recipe)
{
  return recipe->calls[RA_RECIPE_GENERATE].is_there &&
         !recipe->calls[RA_RECIPE_REWARD_INFERENCE].is_there;
}

static const char *
each_trip(const RaRecipe *recipe)
{
  return recipe->trips.n_prompts > 0 ? "each-trip = true\n" : "";
}

/* One more, greedy answer, and its reward. */
static void
put_greedy(const RaRecipe *recipe, GString *out)
{
  g_string_append(out, "\n[call greedy_generate]\nmodel = actor\n"
                       "kind = generate\ninputs = prompts\n"
                       "outputs = greedy_sequences\n");
  if (!is_by_rules(recipe))
    g_string_append(out, "\n[call greedy_reward_inference]\nmodel = reward\n"
                         "kind = inference\ninputs = greedy_sequences\n"
                         "outputs = greedy_rewards\n");
}

static void
put_calls(const RaRecipe *recipe, GString *out)
{
  gboolean by_rules = is_by_rules(recipe);
  gboolean with_logprobs = recipe->calls[RA_RECIPE_ACTOR_INFERENCE].is_there;
  gboolean with_generate = recipe->calls[RA_RECIPE_GENERATE].is_there;
  const char *made_first = with_generate ? "sequences" : dataset_of(recipe);
  g_autoptr(GString) made = g_string_new(made_first);

  if (with_generate && !with_logprobs)
    g_string_append(made, ", logprobs");
  if (by_rules)
    g_string_append(made, ", rewards");
  for (guint i = 0; i < G_N_ELEMENTS(flows); i++) {
    RaRecipeKind k = flows[i].call;

    if (!recipe->calls[k].is_there)
      continue;
    g_string_append_printf(
        out, "\n[call %s]\nmodel = %s\nkind = %s\n", ra_recipe_call_names[k],
        ra_recipe_models[ra_recipe_model_of(k)], flows[i].kind);
    if (k == RA_RECIPE_REWARD_INFERENCE)
      g_string_append(out, each_trip(recipe));
    if (k == RA_RECIPE_GENERATE)
      g_string_append_printf(out, "inputs = prompts\noutputs = sequences%s\n",
                             with_logprobs ? "" : ", logprobs");
    else if (flows[i].output)
      g_string_append_printf(out, "inputs = %s\noutputs = %s\n", made_first,
                             flows[i].output);
    else
      g_string_append_printf(
          out, "inputs = %s%s\n", made->str,
          recipe->is_greedy_too && !by_rules ? ", greedy_rewards" : "");
    if (k == RA_RECIPE_GENERATE && recipe->is_greedy_too)
      put_greedy(recipe, out);
    if (k != RA_RECIPE_GENERATE && flows[i].output)
      g_string_append_printf(made, ", %s", flows[i].output);
  }
  if (by_rules)
    g_string_append_printf(
        out,
        "\n# Rules score the responses on the hosts.\n"
        "[call reward]\nkind = host\n%s"
        "host-time = " HOST_TIME "\ninputs = sequences%s\noutputs = rewards\n",
        each_trip(recipe), recipe->is_greedy_too ? ", greedy_sequences" : "");
}

/* (transfer full): distribution of at most @most tokens, the mean a part of it.
 * ReaL's runs generate to the maximum; given sequences are taken as full. */
static char *
law_of(const RaRecipe *recipe, uint64_t most, double mean_frac)
{
  double mean = round(mean_frac * (double)most);

  if (recipe->framework == RA_FRAMEWORK_REALHF ||
      recipe->task != RA_RECIPE_RL || mean < 2)
    return g_strdup_printf("fixed(%" G_GUINT64_FORMAT ")", MAX(1, most));
  return g_strdup_printf("lognormal(%.0f, %.0f, %" G_GUINT64_FORMAT ")", mean,
                         round(LENGTH_SD_FRAC * mean), most);
}

/* (transfer full): distribution of answers; with turns that of one turn, which
 * share what is left beside the tools' answers. */
static char *
response_of(RaRecipe *recipe, const RaRecipeOptions *options)
{
  uint32_t n = MAX(1, recipe->turns.most);
  uint64_t tools = (uint64_t)(n - 1) * recipe->turns.tool_tokens;

  if (options->response_length)
    return g_strdup(options->response_length);
  return law_of(recipe,
                (recipe->max_response - MIN(tools, recipe->max_response)) / n,
                RESPONSE_FRAC);
}

/* (transfer full): distribution of prompts.  NeMo-RL has no key for them: the
 * reader's assumption is a mean. */
static char *
prompt_of(const RaRecipe *recipe, const RaRecipeOptions *options)
{
  if (options->prompt_length)
    return g_strdup(options->prompt_length);
  return law_of(recipe, recipe->max_prompt,
                recipe->framework == RA_FRAMEWORK_NEMO_RL ? 0 : PROMPT_FRAC);
}

static void
put_rounds(RaRecipe *recipe, GString *out)
{
  if (recipe->trips.n_prompts > 0) {
    g_string_append_printf(out, "trip-prompts = %u\npass-rate = 0.5\n",
                           recipe->trips.n_prompts);
    if (recipe->trips.most > 0)
      g_string_append_printf(out, "max-trips = %u\n", recipe->trips.most);
    ra_recipe_note(recipe, "dynamic sampling: half of the groups are of use; "
                           "set 'pass-rate' of [workload]");
  }
  if (recipe->turns.most > 1) {
    g_string_append_printf(out,
                           "turns = fixed(%u)\ntool-tokens = fixed(%u)\n"
                           "tool-latency = constant(0 s)\n",
                           recipe->turns.most,
                           MAX(1, recipe->turns.tool_tokens));
    ra_recipe_note(recipe,
                   "turns: %u, the most, with tools that take no time; set "
                   "'turns' and 'tool-latency' of [workload]",
                   recipe->turns.most);
  }
}

static char *
write_workload(RaRecipe *recipe, const RaRecipeOptions *options, GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *prompt = NULL, *response = NULL;

  if (recipe->async.is_service && recipe->turns.most > 1) {
    ra_recipe_note(recipe, "turns: one, as a service has no others here");
    recipe->turns.most = 0;
  }
  response = response_of(recipe, options);
  prompt = prompt_of(recipe, options);
  if (!options->prompt_length || !options->response_length)
    ra_recipe_note(
        recipe,
        "lengths: prompts %s, answers %s, as in published runs; the "
        "configuration has the maximum alone (%u, %u); --prompt-length and "
        "--response-length change it",
        prompt, response, recipe->max_prompt, recipe->max_response);
  if (is_by_rules(recipe))
    ra_recipe_note(recipe,
                   "reward: rules that take no time; set 'host-time' of "
                   "[call reward]");
  ra_quote_comment(out, "Imported from %s", options->source);
  ra_quote_comment(out, "(%s).", ra_framework_names[recipe->framework]);
  g_string_append(out, "\n[workload]\nformat = 1\n");
  if (!ra_quote_key(out, "algorithm", recipe->algorithm, error))
    return NULL;
  g_string_append_printf(out, "dataset = %s\nprompts = %u\n",
                         dataset_of(recipe), recipe->n_prompts);
  if (recipe->n_samples > 1)
    g_string_append_printf(out, "samples-per-prompt = %u\n", recipe->n_samples);
  if (!ra_quote_key(out, "prompt-length", prompt, error) ||
      !ra_quote_key(out, "response-length", response, error))
    return NULL;
  put_rounds(recipe, out);
  g_string_append_printf(out, "mini-batches = %u\n", recipe->n_mini_batches);
  if (recipe->n_epochs > 1)
    g_string_append_printf(out, "epochs = %u\n", recipe->n_epochs);
  if (recipe->staleness > 0)
    g_string_append_printf(out, "staleness = %u\n", recipe->staleness);
  if (!put_models(recipe, options, out, error))
    return NULL;
  put_calls(recipe, out);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *
write_cluster(RaRecipe *recipe, const RaRecipeOptions *options, GError **error)
{
  const char *gpu = options->gpu ? options->gpu : DEFAULT_GPU;
  g_autoptr(GString) out = g_string_new(NULL);

  ra_recipe_note(recipe,
                 "cluster: %s%s, one 400 Gbit/s NIC per GPU, a flat network",
                 gpu, options->gpu ? "" : " (--gpu changes it)");
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
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- Plan ------------------------------------------------------------ */

/* The least divisor of @n that is at least @least; @n itself if there is none.
 */
static uint32_t
divisor_from(uint32_t n, uint32_t least)
{
  for (uint32_t d = MAX(1, least); d < n; d++) {
    if (n % d == 0)
      return d;
  }
  return n;
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
    wanted = (uint32_t)ceil(MIN(1.0, tokens / call->micro_tokens) * share);
  else if (call->micro_batch > 0)
    wanted = (share + call->micro_batch - 1) / call->micro_batch;
  else
    wanted = call->n_micro_batches;
  if (wanted == 0)
    return 0;
  taken = divisor_from(share, wanted);
  if (taken != wanted)
    ra_recipe_note(
        recipe, "%s: %u micro-batches instead of %u, as all have one size here",
        ra_recipe_call_names[kind], taken, wanted);
  return taken;
}

/* Memory of an engine for keys and values, whole MiB: what weights and the
 * largest step leave of its part of the GPU's (vLLM,
 * v1/worker/gpu_worker.py, determine_available_memory()); 0: nothing. */
static double
kv_memory_bytes(const RaRecipeCall *call, const RaModel *model,
                double device_bytes)
{
  double weights_bytes =
      2.0 * (double)ra_model_n_params(model) / (call->tp * call->pp);
  double left_bytes = call->memory_frac * device_bytes - weights_bytes -
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

static const RaModel *
model_of(const RaWorkload *workload, RaRecipeKind kind)
{
  uint32_t index = ra_workload_find_call(workload, ra_recipe_call_names[kind]);

  return workload->models[workload->calls[index].model].model;
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
                           "replicas; none share its keys and values");
}

static void
put_generate(RaRecipe *recipe, const RaWorkload *workload, double device_bytes,
             GString *out)
{
  const RaRecipeCall *call = &recipe->calls[RA_RECIPE_GENERATE];
  const RaModel *model = model_of(workload, RA_RECIPE_GENERATE);
  double kv_bytes;

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
                           "answers do not share their prompt's keys");
    return;
  }
  if (call->prefix_sharing && recipe->n_samples > 1)
    put_prefix_sharing(recipe, workload, out);
  if (call->memory_frac <= 0 && call->kv_bytes <= 0)
    return;
  kv_bytes = call->kv_bytes > 0 ? floor(call->kv_bytes / MIB) * MIB
                                : kv_memory_bytes(call, model, device_bytes);
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
  if (call->optimizer_host)
    g_string_append(out, "optimizer-residency = host\n");
}

/* Shards of a data-parallel group.  Experts that ranks share are sharded by no
 * more than ZeRO 1 (graph/input/plan_check.c). */
static void
put_shards(RaRecipe *recipe, RaRecipeKind kind, GString *out)
{
  const RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  uint32_t zero = call->ep > 1 ? MIN(call->zero, 1) : call->zero;

  if (zero < call->zero && is_train)
    ra_recipe_note(recipe,
                   "%s: zero %u, not %u, as a plan shards no experts that "
                   "ranks share",
                   ra_recipe_call_names[kind], zero, call->zero);
  if (zero == 0 || (!is_train && zero != 3))
    return;
  g_string_append_printf(out, "zero = %u\n", zero);
  if (call->zero_group > 0 && call->zero_group < call->dp && call->ep == 1)
    g_string_append_printf(out, "zero-group = %u\n", call->zero_group);
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

/* Weights that calls of one layout share rest at one place: on the host, if one
 * of them says so and none runs in each trip (graph/input/residency.c). */
static void
agree_on_residency(RaRecipe *recipe)
{
  RaRecipeCall *a = &recipe->calls[RA_RECIPE_GENERATE];
  RaRecipeCall *const others[] = {&recipe->calls[RA_RECIPE_ACTOR_INFERENCE],
                                  &recipe->calls[RA_RECIPE_ACTOR_TRAIN]};
  gboolean in_trips = recipe->trips.n_prompts > 0;

  if (in_trips)
    a->host = recipe->calls[RA_RECIPE_REWARD_INFERENCE].host = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
    RaRecipeCall *b = others[i];

    if (a->is_there && b->is_there && b->host && a->first_gpu == b->first_gpu &&
        a->n_gpus == b->n_gpus && a->dp == b->dp && a->tp == b->tp &&
        a->pp == b->pp && a->cp == b->cp && a->ep == b->ep &&
        b->n_virtual < 2 && (b->zero != 3 || b->dp == 1))
      a->host = b->host = !in_trips;
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
  if (recipe->is_greedy_too && !is_by_rules(recipe) &&
      !put_call(recipe, RA_RECIPE_REWARD_INFERENCE, "greedy_reward_inference",
                workload, device_bytes, out, error))
    return NULL;
  if (is_by_rules(recipe))
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
  double device_bytes = device_bytes_of(cluster, error);
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

  g_return_val_if_fail(recipe != NULL && options != NULL, NULL);
  files->workload = write_workload(recipe, options, error);
  if (files->workload)
    files->cluster = write_cluster(recipe, options, error);
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
