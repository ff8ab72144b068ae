/* Starter files for a new project. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "search/family/strategy.h"
#include "study/gpu_cluster.h"
#include "study/report/key_table.h"
#include "study/report/starter.h"
#include "traces/profile.h"

#define MAX_DOUBLINGS 6 /* 64 times as many nodes */

const char *const ra_starter_names[] = {"grpo", "ppo", "sft", NULL};

/* Lengths and batches are examples, to be replaced by one's own. */
static const char *const common[RA_N_STARTERS] = {
    [RA_STARTER_GRPO] =
        "dataset = prompts           # names of input data\n"
        "prompts = 128               # per iteration\n"
        "samples-per-prompt = 8      # responses per prompt: the group\n"
        "prompt-length = lognormal(200, 100, 1024)   # tokens: mean, std. "
        "dev., max\n"
        "response-length = lognormal(600, 450, 2048) # replace with your own\n"
        "mini-batches = 4            # optimizer steps per iteration\n",
    [RA_STARTER_PPO] =
        "dataset = prompts           # names of input data\n"
        "prompts = 512               # per iteration; one response each\n"
        "prompt-length = lognormal(200, 100, 1024)   # tokens: mean, std. "
        "dev., max\n"
        "response-length = lognormal(600, 450, 1024) # replace with your own\n"
        "mini-batches = 4            # optimizer steps per iteration\n",
    [RA_STARTER_SFT] =
        "dataset = pairs             # names of input data\n"
        "prompts = 128               # pairs per optimizer step\n"
        "prompt-length = uniform(16, 512)            # tokens: min, max\n"
        "response-length = lognormal(600, 400, 2048) # mean, std. dev., max\n",
};

/* Models: name, and what it is for; calls: as a workload has them. */
static const struct {
  RaStarterKind kind;
  const char *name, *rest, *why;
} models[] = {
    {RA_STARTER_GRPO, "actor", "trainable = true\n", "learns to respond"},
    {RA_STARTER_GRPO, "ref", "", "keeps the actor near its start"},
    {RA_STARTER_PPO, "actor", "trainable = true\n", "learns to respond"},
    {RA_STARTER_PPO, "critic", "trainable = true\nhead = value\n",
     "predicts the reward"},
    {RA_STARTER_PPO, "ref", "", "keeps the actor near its start"},
    {RA_STARTER_PPO, "reward", "head = value\n", "scores the responses"},
    {RA_STARTER_SFT, "actor", "trainable = true\n", "learns the pairs"},
};

static const struct {
  RaStarterKind kind;
  const char *name, *model, *what, *inputs, *outputs;
} calls[] = {
    {RA_STARTER_GRPO, "actor_generate", "actor", "generate", "prompts",
     "sequences"},
    {RA_STARTER_GRPO, "reward", NULL, "host", "sequences", "rewards"},
    {RA_STARTER_GRPO, "actor_inference", "actor", "inference", "sequences",
     "logprobs"},
    {RA_STARTER_GRPO, "ref_inference", "ref", "inference", "sequences",
     "ref_logprobs"},
    {RA_STARTER_GRPO, "actor_train", "actor", "train",
     "sequences, rewards, logprobs, ref_logprobs", NULL},
    {RA_STARTER_PPO, "actor_generate", "actor", "generate", "prompts",
     "sequences, logprobs"},
    {RA_STARTER_PPO, "ref_inference", "ref", "inference", "sequences",
     "ref_logprobs"},
    {RA_STARTER_PPO, "reward_inference", "reward", "inference", "sequences",
     "rewards"},
    {RA_STARTER_PPO, "critic_inference", "critic", "inference", "sequences",
     "values"},
    {RA_STARTER_PPO, "actor_train", "actor", "train",
     "sequences, logprobs, ref_logprobs, rewards, values", NULL},
    {RA_STARTER_PPO, "critic_train", "critic", "train",
     "sequences, ref_logprobs, rewards, values", NULL},
    {RA_STARTER_SFT, "actor_train", "actor", "train", "pairs", NULL},
};

void
ra_starter_free(RaStarter *starter)
{
  if (!starter)
    return;
  g_free(starter->workload);
  g_free(starter->cluster);
  g_free(starter->plan);
  g_free(starter->study);
  g_free(starter);
}

static void
put_further(GString *out, const char *kind, const char *noun,
            const char *const *skip)
{
  g_autofree char *keys = ra_key_optional(kind, noun, skip);

  ra_quote_comment(out, "Further keys of [%s], with their defaults:", noun);
  g_string_append(out, keys);
}

static void
put_calls(GString *out, RaStarterKind kind)
{
  g_string_append(out, "\n# Calls of an iteration. Each call waits for the "
                       "calls whose outputs it has in\n"
                       "# its inputs.\n");
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    if (calls[i].kind != kind)
      continue;
    g_string_append_printf(out, "\n[call %s]\n", calls[i].name);
    if (calls[i].model)
      g_string_append_printf(out, "model = %s\n", calls[i].model);
    else
      g_string_append(
          out, "# Rules score the responses on the hosts; an example.\n");
    g_string_append_printf(out, "kind = %s\n%sinputs = %s\n", calls[i].what,
                           calls[i].model ? "" : "host-time = 2 s\n",
                           calls[i].inputs);
    if (calls[i].outputs)
      g_string_append_printf(out, "outputs = %s\n", calls[i].outputs);
  }
}

static char *
write_workload(const RaStarterOptions *o, GError **error)
{
  static const char *const skip[] = {"samples-per-prompt", "mini-batches",
                                     "format", "algorithm", NULL};
  static const char *const none[] = {"trainable", "head", NULL};
  g_autoptr(GString) out = g_string_new(NULL);

  ra_quote_comment(out,
                   "%s: one training iteration. docs/keys.md lists every key.",
                   o->name);
  g_string_append_printf(out,
                         "\n[workload]\nformat = 1\n"
                         "algorithm = %-16s# a label; the calls "
                         "below define it\n%s",
                         ra_starter_names[o->kind], common[o->kind]);
  put_further(out, "workload", "workload", skip);
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    if (models[i].kind != o->kind)
      continue;
    g_string_append_printf(out, "\n[model %s]                # %s\n",
                           models[i].name, models[i].why);
    if (!ra_quote_key(out, "config", o->model, error))
      return NULL;
    g_string_append(out, models[i].rest);
  }
  g_string_append_c(out, '\n');
  put_further(out, "workload", "model", none);
  put_calls(out, o->kind);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* (nullable): text of a key of the shipped cluster. */
static const char *
of_nodes(const RaKeyFile *nodes, const char *key)
{
  return nodes ? ra_key_file_get(
                     nodes, (guint)ra_key_file_find_group(nodes, "cluster", ""),
                     key)
               : NULL;
}

/* Line of @key as @nodes has it, else of @fallback; none without either. */
static void
put_of_nodes(GString *out, const RaKeyFile *nodes, const char *key,
             const char *fallback, const char *comment)
{
  const char *value = of_nodes(nodes, key);
  g_autoptr(GString) line = g_string_new(NULL);

  if (!value && !fallback)
    return;
  g_string_printf(line, "%s = %s", key, value ? value : fallback);
  g_string_append_printf(out, "%-28s# %s\n", line->str, comment);
}

static char *
write_cluster(const RaStarterOptions *o, const RaKeyFile *nodes,
              const char *name, GError **error)
{
  static const char *const skip[] = {"price",         "format", "fabric",
                                     "nics-per-node", "nic",    NULL};
  static const char *const skip_unpriced[] = {"format", "fabric",
                                              "nics-per-node", "nic", NULL};
  g_autoptr(GString) out = g_string_new(NULL);
  g_autoptr(GString) gpu = g_string_new(NULL);
  g_autofree char *source = NULL;

  if (!ra_quote_key(gpu, "gpu", o->gpu, error))
    return NULL;
  ra_quote_comment(out, "%s: where it runs.", o->name);
  g_string_append_printf(out, "\n[cluster]\nformat = 1\nnodes = %u\n",
                         o->n_nodes);
  put_of_nodes(out, nodes, "gpus-per-node", "8", "GPUs that NVLink joins");
  g_string_append_printf(out, "%-28s# a profile: reallot list gpus\n",
                         g_strchomp(gpu->str));
  put_of_nodes(out, nodes, "nics-per-node", "8", "NICs per node");
  put_of_nodes(out, nodes, "nic", "400 Gbit/s", "per NIC, each direction");
  g_string_append(
      out, "fabric = flat               # or rail(...), fat-tree(...)\n");
  source = g_strdup_printf("of %s, with its source", name);
  put_of_nodes(out, nodes, "price", NULL, source);
  put_further(out, "cluster", "cluster", nodes ? skip : skip_unpriced);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *
write_study(const RaStarterOptions *o, GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *title = g_strdup_printf("How does %s scale?", o->name);
  g_autofree char *workload_name = g_strconcat(o->name, ".workload", NULL);
  g_autofree char *cluster_name = g_strconcat(o->name, ".cluster", NULL);

  ra_quote_comment(
      out, "%s: a question over many plans; docs/studies.md has others.",
      o->name);
  g_string_append(out, "\n[study]\nformat = 1\n");
  if (!ra_quote_key(out, "title", title, error) ||
      !ra_quote_key(out, "workload", workload_name, error) ||
      !ra_quote_key(out, "cluster", cluster_name, error))
    return NULL;
  g_string_append_printf(
      out,
      "question = knee             # or fits, minimum, maximum, crossover, "
      "pareto\n"
      "of = tokens-per-gpu\nalong = nodes\nwhere = fits\n\n"
      "[axis placement]\nkey = placement\nvalues = real, hybridflow\n\n"
      "[axis nodes]\nkey = cluster.nodes\nvalues = %u, %u, %u\n",
      o->n_nodes, 2 * o->n_nodes, 4 * o->n_nodes);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

static RaKeyFile *
parse(const RaStarterOptions *o, const char *suffix, const char *text,
      GError **error)
{
  g_autofree char *name = g_strconcat(o->name, suffix, NULL);

  return ra_key_file_parse(name, text, strlen(text), error);
}

/* Reads the cluster, and what its GPU is. */
static RaCluster *
read_cluster(const RaStarterOptions *o, const char *text, RaProfile **out,
             GError **error)
{
  g_autofree char *name = g_strconcat(o->gpu, ".profile", NULL);
  g_autofree char *path = ra_share_find("profiles", name, NULL, error);
  g_autoptr(RaKeyFile) profile = path ? ra_key_file_load(path, error) : NULL;
  g_autoptr(RaKeyFile) file = NULL;
  RaCluster *cluster = NULL;

  *out = profile ? ra_profile_load(profile, error) : NULL;
  if (*out)
    file = parse(o, ".cluster", text, error);
  if (file)
    cluster = ra_cluster_load(file, error);
  if (cluster)
    cluster->device = (*out)->spec;
  return cluster;
}

/* (nullable): of the first strategy that has one; @error is of the first. */
static RaDraft *
any_plan(const RaWorkload *workload, const RaCluster *cluster,
         const RaEstimator *estimator, GError **error)
{
  static const RaStrategyKind kinds[] = {RA_STRATEGY_HYBRIDFLOW,
                                         RA_STRATEGY_REAL, RA_STRATEGY_MEGATRON,
                                         RA_STRATEGY_COLOCATED};

  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    RaStrategyOptions family = {.kind = kinds[i]};
    RaDraft *draft = ra_strategy_plan(workload, cluster, estimator, &family,
                                      i == 0 ? error : NULL);

    if (draft && i > 0)
      g_clear_error(error);
    if (draft)
      return draft;
  }
  return NULL;
}

static char *
write_plan(const RaStarterOptions *o, const RaStarter *s, GError **error)
{
  g_autofree char *workload_name = g_strconcat(o->name, ".workload", NULL);
  g_autofree char *cluster_name = g_strconcat(o->name, ".cluster", NULL);
  g_autoptr(RaProfile) profile = NULL;
  g_autoptr(RaCluster) cluster = read_cluster(o, s->cluster, &profile, error);
  g_autoptr(RaKeyFile) file = NULL;
  g_autoptr(RaWorkload) workload = NULL;
  g_autoptr(RaEstimator) estimator = NULL;
  g_autoptr(RaDraft) draft = NULL;

  if (cluster)
    file = parse(o, ".workload", s->workload, error);
  if (file)
    workload = ra_workload_load(file, error);
  if (workload)
    estimator = ra_estimator_new(profile, cluster, error);
  if (estimator)
    draft = any_plan(workload, cluster, estimator, error);
  if (!draft)
    return NULL;
  g_string_prepend(draft->head,
                   "Mesh and parallel strategy of every call; 'reallot search' "
                   "looks for better ones, docs/keys.md lists every key.\n\n");
  return ra_draft_write(draft, workload_name, cluster_name, NULL, error);
}

/* Nodes that have a plan, twice as many for as long as there is none; 0: too
 * many. */
static uint32_t
enough_nodes(const RaStarterOptions *options, const RaStarter *starter,
             const RaKeyFile *nodes, const char *name)
{
  RaStarterOptions more = *options;

  for (guint i = 0; i < MAX_DOUBLINGS && more.n_nodes <= UINT32_MAX / 2; i++) {
    RaStarter s = {.workload = starter->workload};
    g_autofree char *plan = NULL;

    more.n_nodes *= 2;
    s.cluster = write_cluster(&more, nodes, name, NULL);
    plan = s.cluster ? write_plan(&more, &s, NULL) : NULL;
    g_free(s.cluster);
    if (plan)
      return more.n_nodes;
  }
  return 0;
}

RaStarter *
ra_starter_new(const RaStarterOptions *options, GError **error)
{
  g_return_val_if_fail(options != NULL, NULL);

  g_autoptr(RaStarter) s = g_new0(RaStarter, 1);
  g_autofree char *name = NULL;
  g_autoptr(RaKeyFile) nodes = ra_gpu_cluster(options->gpu, &name);
  const char *gpus_per_node = of_nodes(nodes, "gpus-per-node");
  RaStarterOptions o = *options;
  GError *cause = NULL;
  uint32_t enough = 0;

  if (o.n_nodes == 0)
    o.n_nodes = gpus_per_node && strlen(gpus_per_node) > 1 ? 1 : 4; /* racks */
  s->workload = write_workload(&o, error);
  if (!s->workload)
    return NULL;
  s->cluster = write_cluster(&o, nodes, name, error);
  if (!s->cluster)
    return NULL;
  s->study = write_study(&o, error);
  if (!s->study)
    return NULL;
  s->plan = write_plan(&o, s, &cause);
  if (s->plan)
    return g_steal_pointer(&s);
  if (g_error_matches(cause, RA_ERROR, RA_ERROR_NEGATIVE))
    enough = enough_nodes(&o, s, nodes, name);
  g_propagate_error(error, cause);
  if (error && enough > 0) {
    char *message = g_strdup_printf("%s; --nodes=%" PRIu32 " has a plan",
                                    (*error)->message, enough);

    g_free((*error)->message);
    (*error)->message = message;
  }
  return NULL;
}
