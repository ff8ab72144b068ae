/* A step's files: workload, cluster, profile. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "sim/breakdown.h"
#include "study/convert/recipe.h"
#include "study/replay.h"
#include "study/validate/rl_step.h"
#include "study/validate/validate_impl.h"

#define NODE_GPUS 8
/* Replayed of an asynchronous step; the first half fills the pipe: rollouts
 * that wait for no version yet. */
#define ASYNC_ITERATIONS 8

/* ---- Models ---------------------------------------------------------------*/

static char *
find_config(const char *name)
{
  g_autofree char *file = g_strconcat(name, ".json", NULL);
  g_autofree char *path = ra_share_find("models", file, NULL, NULL);

  return path ? g_steal_pointer(&file) : NULL;
}

/* @text with @from, if it is there, as @to. */
static void
rename_part(char **text, const char *from, const char *to)
{
  g_auto(GStrv) parts = g_strsplit(*text, from, -1);

  g_free(*text);
  *text = g_strjoinv(to, parts);
}

char *
ra_rl_model_config(const char *name)
{
  static const char *const aliases[][2] = {{"-instruct", ""},
                                           {"-chat", ""},
                                           {"-base", ""},
                                           {"-hf", ""},
                                           {"llama-3.1-8b", "llama-3-8b"},
                                           {"llama-3.1-70b", "llama-3-70b"},
                                           {"llama-3.3-70b", "llama-3-70b"},
                                           {"codellama-34b", "34b"},
                                           {"deepseek-v3-0324", "deepseek-v3"},
                                           {"llama3", "llama-3"},
                                           {"llama2", "llama-2"},
                                           {"qwen-2.5", "qwen2.5"},
                                           {"qwen-3", "qwen3"}};
  static const char *const sizes[][2] = {{"7b", "llama-2-7b"},
                                         {"13b", "llama-2-13b"},
                                         {"34b", "codellama-34b"},
                                         {"70b", "llama-2-70b"}};
  g_autofree char *key = g_ascii_strdown(name, -1);

  for (guint i = 0; i < G_N_ELEMENTS(aliases); i++)
    rename_part(&key, aliases[i][0], aliases[i][1]);
  rename_part(&key, "llama-3.1-8b", "llama-3-8b"); /* of "llama3.1" */
  rename_part(&key, "llama-3.1-70b", "llama-3-70b");
  rename_part(&key, "llama-3.3-70b", "llama-3-70b");
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    if (strcmp(key, sizes[i][0]) == 0)
      return find_config(sizes[i][1]);
  }
  return find_config(key);
}

/* ---- Texts ----------------------------------------------------------------*/

static void
add_model(GString *out, const char *name, const char *config, const char *dtype,
          const char *keys)
{
  g_string_append_printf(out, "[model %s]\nconfig = %s\ndtype = %s\n%s", name,
                         config, dtype, keys);
}

static void
add_call(GString *out, const char *name, const char *model, const char *kind,
         const char *inputs, const char *output)
{
  g_string_append_printf(out, "[call %s]\nmodel = %s\nkind = %s\ninputs = %s\n",
                         name, model, kind, inputs);
  if (output)
    g_string_append_printf(out, "outputs = %s\n", output);
}

static void
add_grpo(GString *out, const char *actor, const char *dtype)
{
  add_model(out, "actor", actor, dtype, "trainable = true\n");
  add_model(out, "ref", actor, dtype, "");
  add_call(out, "actor_generate", "actor", "generate", "prompts", "sequences");
  add_call(out, "actor_inference", "actor", "inference", "sequences",
           "logprobs");
  add_call(out, "ref_inference", "ref", "inference", "sequences",
           "ref_logprobs");
  add_call(out, "actor_train", "actor", "train",
           "sequences, logprobs, ref_logprobs", NULL);
}

static void
add_ppo(GString *out, const char *actor, const char *critic, const char *dtype)
{
  const char *all = "sequences, ref_logprobs, rewards, values";

  add_model(out, "actor", actor, dtype, "trainable = true\n");
  add_model(out, "critic", critic, dtype, "trainable = true\nhead = value\n");
  add_model(out, "ref", actor, dtype, "");
  add_model(out, "reward", critic, dtype, "head = value\n");
  add_call(out, "actor_generate", "actor", "generate", "prompts", "sequences");
  add_call(out, "ref_inference", "ref", "inference", "sequences",
           "ref_logprobs");
  add_call(out, "reward_inference", "reward", "inference", "sequences",
           "rewards");
  add_call(out, "critic_inference", "critic", "inference", "sequences",
           "values");
  add_call(out, "actor_train", "actor", "train", all, NULL);
  add_call(out, "critic_train", "critic", "train", all, NULL);
}

/* NULL with @error set where a model is not known. */
static char *
config_of(const char *name, GError **error)
{
  char *config = ra_rl_model_config(name);

  if (!config)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no config of model '%s'",
                name);
  return config;
}

static RaWorkload *
make_workload(const RaRlStep *step, GError **error)
{
  const char *dtype = step->dtype ? step->dtype : "bf16";
  g_autofree char *drawn =
      g_strdup_printf("lognormal(%.2f, %.2f, %.0f)", step->mean_tokens,
                      RA_RL_SPREAD * step->mean_tokens, step->max_tokens);
  g_autofree char *equal = g_strdup_printf("fixed(%.0f)", step->mean_tokens);
  g_autofree char *actor = config_of(step->model, error), *critic = NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(RaKeyFile) file = NULL;

  if (!actor || (step->critic && !(critic = config_of(step->critic, error))))
    return NULL;
  g_string_append_printf(
      text,
      "[workload]\nalgorithm = %s\ndataset = prompts\nprompts = %" PRIu32
      "\nprompt-length = fixed(%.0f)\nresponse-length = %s\nmini-batches = "
      "%" PRIu32 "\nstaleness = %d\n",
      critic ? "ppo" : "grpo", step->n_sequences, step->prompt_tokens,
      step->max_tokens > step->mean_tokens ? drawn : equal,
      step->n_mini_batches, step->is_async ? 1 : 0);
  if (critic)
    add_ppo(text, actor, critic, dtype);
  else
    add_grpo(text, actor, dtype);
  file = ra_key_file_parse("step.workload", text->str, text->len, error);
  return file ? ra_workload_load(file, error) : NULL;
}

static RaCluster *
make_cluster(const RaRlStep *step, GError **error)
{
  uint32_t tray = ra_recipe_tray_gpus(step->gpu);
  uint32_t per_node = tray > 0 ? tray * RA_RECIPE_RACK_TRAYS : NODE_GPUS;
  g_autofree char *text = NULL;
  g_autoptr(RaKeyFile) file = NULL;

  while (per_node > 1 && step->n_gpus % per_node != 0)
    per_node /= 2;
  text = g_strdup_printf(
      "[cluster]\nnodes = %" PRIu32 "\ngpus-per-node = %" PRIu32
      "\ngpu = %s\nnics-per-node = %" PRIu32 "\nnic = 400 Gbit/s\n",
      step->n_gpus / per_node, per_node, step->gpu, per_node);
  file = ra_key_file_parse("step.cluster", text, strlen(text), error);
  return file ? ra_cluster_load(file, error) : NULL;
}

static gboolean
fill(RaSetup *setup, const RaRlStep *step, GError **error)
{
  GError *cause = NULL;

  setup->workload = make_workload(step, error);
  setup->cluster = setup->workload ? make_cluster(step, error) : NULL;
  if (!setup->cluster)
    return FALSE;
  setup->profile = ra_validate_profile(step->gpu, &cause);
  if (!setup->profile) {
    if (cause)
      g_propagate_error(error, cause);
    else
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no profile of GPU '%s'",
                  step->gpu);
    return FALSE;
  }
  setup->cluster->device = setup->profile->spec;
  setup->estimator = ra_estimator_new(setup->profile, setup->cluster, error);
  return setup->estimator != NULL;
}

RaSetup *
ra_rl_setup_new(const RaRlStep *step, GError **error)
{
  g_autoptr(RaSetup) setup = g_new0(RaSetup, 1);

  if (step->n_gpus == 0 || step->n_sequences == 0 ||
      step->n_mini_batches == 0 || step->mean_tokens < 1 ||
      step->prompt_tokens < 1 ||
      step->n_sequences % step->n_mini_batches != 0) {
    g_set_error(
        error, RA_ERROR, RA_ERROR_INPUT,
        "GPUs, sequences, mini-batches and lengths are not given, or do "
        "not divide");
    return NULL;
  }
  return fill(setup, step, error) ? g_steal_pointer(&setup) : NULL;
}

gboolean
ra_rl_set_system(RaSetup *setup, const char *name, GError **error)
{
  g_autofree char *base = g_strconcat(name, ".system", NULL);
  g_autofree char *path = ra_share_find("systems", base, NULL, error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, error) : NULL;
  RaSystem *system = file ? ra_system_load(file, error) : NULL;

  if (!system)
    return FALSE;
  ra_system_free(setup->system);
  setup->system = system;
  ra_estimator_set_system(setup->estimator, &system->constants);
  return TRUE;
}

/* ---- Times ----------------------------------------------------------------*/

static void
split(const RaWorkload *workload, const RaBreakdown *breakdown, RaRlTimes *out)
{
  double generated_s = 0, judged_s = 0, trained_s = 0, begin_s = 0;

  for (guint i = 0; i < breakdown->n_calls; i++) {
    const RaCallShare *share = &breakdown->calls[i];

    switch (workload->calls[share->call].kind) {
    case RA_CALL_GENERATE:
      begin_s = share->begin_s;
      generated_s = share->end_s;
      break;
    case RA_CALL_INFERENCE:
      judged_s = MAX(judged_s, share->end_s);
      break;
    case RA_CALL_TRAIN:
      trained_s = MAX(trained_s, share->end_s);
      break;
    default:
      break;
    }
  }
  *out = (RaRlTimes){.generate_s = generated_s - begin_s,
                     .inference_s = judged_s - generated_s,
                     .train_s = trained_s - judged_s,
                     .total_s = breakdown->iteration_s};
  out->move_s = fmax(out->total_s - (trained_s - begin_s), 0);
}

gboolean
ra_rl_times(const RaSetup *setup, RaRlTimes *out_times, GError **error)
{
  gboolean lags = FALSE;
  RaReplayOptions options = {.fidelity = RA_FIDELITY_STAGE};
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;

  for (guint i = 0; i < setup->workload->n_calls; i++)
    lags = lags || setup->workload->calls[i].staleness > 0;
  options.n_iterations = lags ? ASYNC_ITERATIONS : 2;
  replay = ra_replay_new(setup, &options, error);
  if (!replay)
    return FALSE;
  breakdown = ra_breakdown_new(replay->sim, replay->graph);
  split(setup->workload, breakdown, out_times);
  if (lags) {
    const double *end_s = ra_sim_result(replay->sim)->iteration_end_s;

    out_times->total_s =
        (end_s[ASYNC_ITERATIONS - 1] - end_s[ASYNC_ITERATIONS / 2 - 1]) /
        (ASYNC_ITERATIONS / 2);
    out_times->move_s = 0;
  }
  return TRUE;
}
