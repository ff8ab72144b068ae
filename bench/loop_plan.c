#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/text.h"
#include "bench/loop_plan.h"

/* Four layers each; weights of the least are more than a core's own cache. */
static const struct {
  const char *name;
  guint hidden, ffn, heads, kv_heads, vocab;
} sizes[] = {{"small", 256, 704, 4, 2, 1024},
             {"middle", 384, 1024, 6, 2, 2048},
             {"large", 512, 1408, 8, 4, 4096}};

/* What a plan says of generation, of inference, of training; R: all ranks, H:
 * half of them. */
static const struct {
  const char *name, *generate, *infer, *train;
} plans[] = {
    {"one", "mesh=one", "mesh=one", "mesh=one"},
    {"dp", "dp=R", "dp=R", "dp=R"},
    {"tp", "tp=R", "tp=R", "tp=R"},
    {"pp", "pp=R micro-batches=R", "pp=R micro-batches=R",
     "pp=R micro-batches=R"},
    {"disaggregated", "mesh=first dp=H", "mesh=last dp=H", "mesh=last dp=H"},
    {"reallocated", "dp=R", "tp=R", "pp=R micro-batches=R"},
    {"mixed", "tp=R", "tp=R", "dp=R"},
};

static const char *const grpo_calls[] = {"actor_generate", "ref_inference",
                                         "actor_train", NULL};
static const char *const ppo_calls[] = {"actor_generate",   "ref_inference",
                                        "critic_inference", "actor_train",
                                        "critic_train",     NULL};

guint
loop_n_sizes(void)
{
  return G_N_ELEMENTS(sizes);
}

guint
loop_n_plans(uint32_t n_ranks)
{
  return n_ranks == 1 ? 1 : G_N_ELEMENTS(plans);
}

LoopCase
loop_case(guint size, guint algorithm, guint plan)
{
  return (LoopCase){sizes[size].name, algorithm == 0 ? "grpo" : "ppo",
                    plans[plan].name};
}

static gboolean
is_ppo(const LoopCase *c)
{
  return strcmp(c->algorithm, "ppo") == 0;
}

const char *const *
loop_case_calls(const LoopCase *c)
{
  return is_ppo(c) ? ppo_calls : grpo_calls;
}

static char *
write_file(const char *folder, const char *name, const char *suffix,
           const char *text)
{
  g_autofree char *base = g_strconcat(name, suffix, NULL);
  char *path = g_build_filename(folder, base, NULL);

  if (!ra_file_write(path, text, strlen(text), NULL))
    g_error("cannot write %s", path);
  return path;
}

static void
write_model(const LoopCase *c, const char *folder)
{
  guint i = 0;

  while (strcmp(sizes[i].name, c->size) != 0)
    i++;
  g_autofree char *text = g_strdup_printf(
      "{\"model_type\": \"llama\", \"hidden_size\": %u,\n"
      " \"intermediate_size\": %u, \"num_hidden_layers\": 4,\n"
      " \"num_attention_heads\": %u, \"num_key_value_heads\": %u,\n"
      " \"vocab_size\": %u, \"max_position_embeddings\": 512}\n",
      sizes[i].hidden, sizes[i].ffn, sizes[i].heads, sizes[i].kv_heads,
      sizes[i].vocab);
  g_free(write_file(folder, c->size, ".json", text));
}

static void
add_call(GString *out, const char *name, const char *model, const char *kind,
         const char *in, const char *outputs)
{
  g_string_append_printf(out, "[call %s]\nkind = %s\ninputs = %s\n", name, kind,
                         in);
  if (model)
    g_string_append_printf(out, "model = %s\n", model);
  else
    g_string_append(out, "host-time = 0.01 ms\n");
  if (outputs)
    g_string_append_printf(out, "outputs = %s\n", outputs);
}

static char *
write_workload(const LoopCase *c, const char *folder)
{
  g_autofree char *name = g_strconcat(c->algorithm, "-", c->size, NULL);
  g_autoptr(GString) out = g_string_new(NULL);
  gboolean ppo = is_ppo(c);
  const char *learned = ppo ? "sequences, logprobs, ref_logprobs, rewards, "
                              "values"
                            : "sequences, logprobs, ref_logprobs, rewards";

  g_string_append_printf(
      out,
      "[workload]\nalgorithm = %s\ndataset = prompts\nprompts = %u\n%s"
      "prompt-length = uniform(24, 40)\nresponse-length = uniform(40, 64)\n"
      "mini-batches = 2\n",
      c->algorithm, ppo ? 8 : 2, ppo ? "" : "samples-per-prompt = 4\n");
  for (guint i = 0; i < 3; i++) {
    static const char *const models[] = {"actor", "ref", "critic"};

    if (i == 2 && !ppo)
      continue;
    g_string_append_printf(out,
                           "[model %s]\nconfig = %s.json\ndtype = fp32\n"
                           "%s%s",
                           models[i], c->size,
                           i == 1 ? "" : "trainable = true\n",
                           i == 2 ? "head = value\n" : "");
  }
  add_call(out, "actor_generate", "actor", "generate", "prompts",
           "sequences, logprobs");
  add_call(out, "ref_inference", "ref", "inference", "sequences",
           "ref_logprobs");
  add_call(out, "reward", NULL, "host", "sequences", "rewards");
  if (ppo)
    add_call(out, "critic_inference", "critic", "inference", "sequences",
             "values");
  add_call(out, "actor_train", "actor", "train", learned, NULL);
  if (ppo)
    add_call(out, "critic_train", "critic", "train", learned, NULL);
  g_free(write_file(folder, name, ".workload", out->str));
  return g_steal_pointer(&name);
}

/* A call of a plan: "mesh=last dp=H" as keys. */
static void
add_layout(GString *out, const char *call, const char *text, uint32_t n_ranks)
{
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  uint32_t first = 0, last = n_ranks - 1, half = MAX(n_ranks / 2, 1u);

  g_string_append_printf(out, "[call %s]\n", call);
  for (guint i = 0; words[i]; i++) {
    char *value = strchr(words[i], '=');

    *value++ = '\0';
    if (strcmp(words[i], "mesh") == 0) {
      first = strcmp(value, "last") == 0 ? half : 0;
      last = strcmp(value, "one") == 0     ? 0
             : strcmp(value, "first") == 0 ? half - 1
                                           : last;
    } else {
      g_string_append_printf(out, "%s = %u\n", words[i],
                             *value == 'R' ? n_ranks : half);
    }
  }
  if (first == last)
    g_string_append_printf(out, "mesh = node0:gpu[%u]\n", first);
  else
    g_string_append_printf(out, "mesh = node0:gpu[%u-%u]\n", first, last);
}

char *
loop_case_write(const LoopCase *c, const char *folder, uint32_t n_ranks)
{
  const char *const *calls = loop_case_calls(c);
  g_autofree char *workload = write_workload(c, folder);
  g_autofree char *name = g_strconcat(workload, "-", c->plan, NULL);
  g_autofree char *cluster =
      g_strdup_printf("[cluster]\nnodes = 1\ngpus-per-node = %u\ngpu = host\n"
                      "framework-memory = 0 B\nallocator-slack = 0\n",
                      n_ranks);
  g_autoptr(GString) out = g_string_new(NULL);
  guint plan = 0;

  write_model(c, folder);
  g_free(write_file(folder, "host", ".cluster", cluster));
  while (strcmp(plans[plan].name, c->plan) != 0)
    plan++;
  g_string_append_printf(
      out, "[plan]\nworkload = %s.workload\ncluster = host.cluster\n",
      workload);
  for (guint i = 0; calls[i]; i++)
    add_layout(out, calls[i],
               g_str_has_suffix(calls[i], "generate") ? plans[plan].generate
               : g_str_has_suffix(calls[i], "train")  ? plans[plan].train
                                                      : plans[plan].infer,
               n_ranks);
  return write_file(folder, name, ".plan", out->str);
}
