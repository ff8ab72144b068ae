/* The workload of a recipe: models, lengths, calls. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "graph/input/model_find.h"
#include "study/convert/model_name.h"
#include "study/convert/recipe_impl.h"
#include "study/convert/response_length.h"

/* Answers to rules: no configuration says how long they take to score. */
#define HOST_TIME "0 s"

/* Mean length of prompts as a part of their maximum, where a configuration has
 * that alone.  MEASURED: median over 17 published runs that tell both, 2025 and
 * 2026 (rl_steps.csv).  Standard deviation over mean of responses: 65 maths
 * problems, 8 responses each (math_group8_lengths.csv). */
#define PROMPT_FRAC 0.10
#define LENGTH_SD_FRAC 0.57

/* ---- Models ---------------------------------------------------------- */

/* TRUE if @name is a path on somebody's machine, and no identifier: one that
 * only begins like a published one is another model. */
static gboolean
is_path(const char *name)
{
  const char *slash = strchr(name, '/');

  return strchr("/.~$", *name) || (slash && strchr(slash + 1, '/'));
}

/* A model that is set to a path which is not here, or to none, by the model
 * that the path, or else the configuration's own file name, has in it. */
static char *
guess_config(RaRecipe *recipe, const RaRecipeOptions *options, guint role)
{
  const char *name = recipe->model[role], *where = "its path";
  g_autofree char *local = name ? ra_model_folder(name, options->script) : NULL;
  char *found = name ? ra_model_name_mentioned(name) : NULL;

  if (local || (found && !is_path(name))) {
    g_free(found);
    return NULL;
  }
  if (!found && options->script) {
    g_autofree char *base = g_path_get_basename(options->script);

    found = ra_model_name_mentioned(base);
    where = "the file's name";
  }
  if (found && name)
    ra_recipe_note(recipe,
                   "model of the %s: %s by %s, as %s is not here and not "
                   "published",
                   ra_recipe_models[role], found, where, name);
  else if (found)
    ra_recipe_note(recipe, "model of the %s: %s by %s, as none is set",
                   ra_recipe_models[role], found, where);
  return found;
}

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
    config = guess_config(recipe, options, role);
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

gboolean
ra_recipe_is_by_rules(const RaRecipe *recipe)
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
  if (!ra_recipe_is_by_rules(recipe))
    g_string_append(out, "\n[call greedy_reward_inference]\nmodel = reward\n"
                         "kind = inference\ninputs = greedy_sequences\n"
                         "outputs = greedy_rewards\n");
}

static void
put_drafts(const RaDrafts *drafts, GString *out)
{
  if (drafts->n_tokens > 0)
    g_string_append_printf(out, "draft-tokens = %u\ndraft-accepted = %g\n",
                           drafts->n_tokens, drafts->accepted_frac);
}

static void
put_calls(const RaRecipe *recipe, GString *out)
{
  gboolean by_rules = ra_recipe_is_by_rules(recipe);
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
    if (k == RA_RECIPE_GENERATE)
      put_drafts(&recipe->drafts, out);
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

/* (transfer full): distribution of at most @most tokens, @mean in the mean.
 * ReaL's runs generate to the maximum; given sequences are taken as full. */
static char *
law_of(const RaRecipe *recipe, uint64_t most, double mean)
{
  mean = round(mean);
  if (recipe->framework == RA_FRAMEWORK_REALHF ||
      recipe->task != RA_RECIPE_RL || mean < 2)
    return g_strdup_printf("fixed(%" G_GUINT64_FORMAT ")", MAX(1, most));
  return g_strdup_printf("lognormal(%.0f, %.0f, %" G_GUINT64_FORMAT ")", mean,
                         round(LENGTH_SD_FRAC * mean), most);
}

/* Answers of tools are part of the response: at most half of it, where their
 * limit and that of the turns allow more; not where they are known. */
static void
bound_tools(RaRecipe *recipe)
{
  RaRecipeTurns *turns = &recipe->turns;
  uint32_t most =
      turns->most > 1 ? recipe->max_response / (2 * (turns->most - 1)) : 0;

  if (turns->most <= 1 || turns->mean > 0 || turns->tool_tokens <= most)
    return;
  ra_recipe_note(recipe,
                 "turns: tools answer with %u tokens instead of %u, half of "
                 "the response together; set 'tool-tokens' of [workload]",
                 most, turns->tool_tokens);
  turns->tool_tokens = most;
}

/* (transfer full): distribution of responses; with turns that of one turn,
 * which share what is left beside the tools' answers. */
static char *
response_of(RaRecipe *recipe, const RaRecipeOptions *options)
{
  uint32_t n = MAX(1, recipe->turns.most);
  uint64_t tools = (uint64_t)(n - 1) * recipe->turns.tool_tokens;
  uint64_t most = recipe->max_response - MIN(tools, recipe->max_response);
  const char *model =
      options->models ? options->models : recipe->model[RA_RECIPE_ACTOR];

  if (options->response_length)
    return g_strdup(options->response_length);
  return law_of(recipe, most / n,
                ra_recipe_response_mean(model, (double)most) / n);
}

/* (transfer full): distribution of prompts.  NeMo-RL has no key for them: the
 * reader's assumption is a mean. */
static char *
prompt_of(const RaRecipe *recipe, const RaRecipeOptions *options)
{
  if (options->prompt_length)
    return g_strdup(options->prompt_length);
  return law_of(recipe, recipe->max_prompt,
                recipe->framework == RA_FRAMEWORK_NEMO_RL
                    ? 0
                    : PROMPT_FRAC * recipe->max_prompt);
}

static void
put_images(const RaRecipeOptions *options, GString *out)
{
  if (options->image_tokens > 0)
    g_string_append_printf(out, "image-tokens = %u\nimages = 1\n",
                           options->image_tokens);
}

static void
put_turns(RaRecipe *recipe, GString *out)
{
  const RaRecipeTurns *turns = &recipe->turns;

  if (turns->mean > 0)
    g_string_append_printf(out, "turns = lognormal(%.1f, %.1f, %u)\n",
                           turns->mean, turns->spread, turns->most);
  else
    g_string_append_printf(out, "turns = fixed(%u)\n", turns->most);
  g_string_append_printf(out, "tool-tokens = fixed(%u)\n",
                         MAX(1, turns->tool_tokens));
  if (turns->tool_s > 0)
    g_string_append_printf(out, "tool-latency = exponential(%g s)\n",
                           turns->tool_s);
  else
    g_string_append(out, "tool-latency = constant(0 s)\n");
  if (turns->mean > 0 && turns->tool_s > 0)
    return;
  ra_recipe_note(recipe,
                 "turns: %u, the most, with tools that take no time; set "
                 "'turns' and 'tool-latency' of [workload]",
                 turns->most);
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
  if (recipe->turns.most > 1)
    put_turns(recipe, out);
}

char *
ra_recipe_workload(RaRecipe *recipe, const RaRecipeOptions *options,
                   GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *prompt = NULL, *response = NULL;

  if (recipe->async.is_service && recipe->turns.most > 1) {
    ra_recipe_note(recipe, "turns: one, as a service has no others here");
    recipe->turns.most = 0;
  }
  bound_tools(recipe);
  response = response_of(recipe, options);
  prompt = prompt_of(recipe, options);
  if (!options->prompt_length || !options->response_length)
    ra_recipe_note(
        recipe,
        "lengths: prompts %s, responses %s, as in published runs; the "
        "configuration has the maximum alone (%u, %u); --prompt-length and "
        "--response-length change it",
        prompt, response, recipe->max_prompt, recipe->max_response);
  if (ra_recipe_is_by_rules(recipe))
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
  put_images(options, out);
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
