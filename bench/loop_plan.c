/* Files of the plans of the loop benchmarks. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/text.h"
#include "bench/loop_plan.h"

/* Models of one size. */
typedef struct {
  const char *name;
  guint layers, hidden, ffn, heads, kv_heads, head_dim, vocab;
  guint n_algorithms; /* 1: GRPO alone; 2: PPO too */
  guint n_plans;      /* the first of the set's; 0: all */
} Size;

/* Layouts of a plan for generation, inference and training; R: all its ranks,
 * H: half of them. */
typedef struct {
  const char *name;
  uint32_t n_ranks; /* 0: as many as there are */
  const char *generate, *infer, *train;
  gboolean ref_in_host; /* the reference's weights, between iterations */
} Layout;

struct _LoopSet {
  const char *dtype;
  const Size *sizes;
  guint n_sizes;
  const Layout *layouts;
  guint n_layouts;
  guint ppo_prompts, grpo_prompts;
  const char *prompt_length, *response_length;
  const char *train_keys; /* of every train call */
};

/* ---- Sets ----------------------------------------------------------------
 */

/* Four layers each; weights of the least are more than a core's own cache. */
static const Size host_sizes[] = {
    {"small", 4, 256, 704, 4, 2, 64, 1024, 2, 0},
    {"middle", 4, 384, 1024, 6, 2, 64, 2048, 2, 0},
    {"large", 4, 512, 1408, 8, 4, 64, 4096, 2, 0}};

static const Layout host_layouts[] = {
    {"one", 1, "mesh=one", "mesh=one", "mesh=one", FALSE},
    {"dp", 0, "dp=R", "dp=R", "dp=R", FALSE},
    {"tp", 0, "tp=R", "tp=R", "tp=R", FALSE},
    {"pp", 0, "pp=R micro-batches=R", "pp=R micro-batches=R",
     "pp=R micro-batches=R", FALSE},
    {"disaggregated", 0, "mesh=first dp=H", "mesh=last dp=H", "mesh=last dp=H",
     FALSE},
    {"reallocated", 0, "dp=R", "tp=R", "pp=R micro-batches=R", FALSE},
    {"mixed", 0, "tp=R", "tp=R", "dp=R", FALSE},
};

const LoopSet *
loop_set_host(void)
{
  static const LoopSet set = {
      .dtype = "fp32",
      .sizes = host_sizes,
      .n_sizes = G_N_ELEMENTS(host_sizes),
      .layouts = host_layouts,
      .n_layouts = G_N_ELEMENTS(host_layouts),
      .ppo_prompts = 8,
      .grpo_prompts = 2,
      .prompt_length = "uniform(24, 40)",
      .response_length = "uniform(40, 64)",
      .train_keys = "",
  };

  return &set;
}

/* Llama 3.2 1B and 3B, and Qwen2.5 0.5B without its biases; the least takes
 * all layouts, for the time that making weights takes. */
static const Size gpu_sizes[] = {
    {"one", 16, 2048, 8192, 32, 8, 64, 128256, 2, 2},
    {"half", 24, 896, 4864, 14, 2, 64, 151936, 2, 0},
    {"three", 28, 3072, 8192, 24, 8, 128, 128256, 1, 1}};

/* Divisors of 14 heads and 2 key heads are the least model's.  Half of them
 * begin decode steps as graphs. */
static const Layout gpu_layouts[] = {
    {"one", 1, "mesh=one", "mesh=one micro-batches=4",
     "mesh=one micro-batches=4", FALSE},
    {"offloaded", 1, "mesh=one launch=graph", "mesh=one micro-batches=4",
     "mesh=one micro-batches=4 optimizer-residency=host", TRUE},
    {"dp-2", 2, "dp=R", "dp=R micro-batches=2", "dp=R micro-batches=2", FALSE},
    {"tp-2", 2, "tp=R launch=graph", "tp=R micro-batches=4",
     "tp=R micro-batches=4", FALSE},
    {"pp-2", 2, "pp=R micro-batches=R", "pp=R micro-batches=4",
     "pp=R micro-batches=4", FALSE},
    {"reallocated-4", 4, "dp=R launch=graph", "dp=H tp=2 micro-batches=2",
     "dp=H pp=2 micro-batches=2", FALSE},
    {"reallocated-8", 8, "dp=R", "dp=4 tp=2 micro-batches=2",
     "dp=4 pp=2 micro-batches=2", FALSE},
};

const LoopSet *
loop_set_gpu(void)
{
  static const LoopSet set = {
      .dtype = "bf16",
      .sizes = gpu_sizes,
      .n_sizes = G_N_ELEMENTS(gpu_sizes),
      .layouts = gpu_layouts,
      .n_layouts = G_N_ELEMENTS(gpu_layouts),
      .ppo_prompts = 64,
      .grpo_prompts = 16,
      .prompt_length = "uniform(128, 256)",
      .response_length = "uniform(64, 256)",
      .train_keys = "grad-dtype = fp32\n",
  };

  return &set;
}

static const Size tiny_sizes[] = {{"tiny", 2, 32, 32, 2, 2, 64, 32, 2, 0}};

static const Layout tiny_layouts[] = {
    {"one", 1, "mesh=one", "mesh=one", "mesh=one", FALSE},
    {"offloaded", 1, "mesh=one launch=graph", "mesh=one",
     "mesh=one optimizer-residency=host", TRUE},
    {"reallocated-2", 2, "dp=R launch=graph", "tp=R", "pp=R micro-batches=R",
     FALSE},
};

const LoopSet *
loop_set_tiny(void)
{
  static const LoopSet set = {
      .dtype = "bf16",
      .sizes = tiny_sizes,
      .n_sizes = G_N_ELEMENTS(tiny_sizes),
      .layouts = tiny_layouts,
      .n_layouts = G_N_ELEMENTS(tiny_layouts),
      .ppo_prompts = 8,
      .grpo_prompts = 2,
      .prompt_length = "uniform(2, 4)",
      .response_length = "uniform(2, 3)",
      .train_keys = "grad-dtype = fp32\n",
  };

  return &set;
}

/* ---- Cases ---------------------------------------------------------------
 */

static const char *const grpo_calls[] = {"actor_generate", "ref_inference",
                                         "actor_train", NULL};
static const char *const ppo_calls[] = {"actor_generate",   "ref_inference",
                                        "critic_inference", "actor_train",
                                        "critic_train",     NULL};

guint
loop_n_sizes(const LoopSet *set)
{
  return set->n_sizes;
}

guint
loop_n_algorithms(const LoopSet *set, guint size)
{
  return set->sizes[size].n_algorithms;
}

guint
loop_n_plans(const LoopSet *set, guint size, uint32_t n_ranks)
{
  guint most = set->sizes[size].n_plans;
  guint n = 0;

  if (n_ranks > 1)
    return most > 0 ? most : set->n_layouts;
  while (n < set->n_layouts && set->layouts[n].n_ranks == 1)
    n++;
  return n;
}

LoopCase
loop_case(const LoopSet *set, guint size, guint algorithm, guint plan)
{
  return (LoopCase){set, set->sizes[size].name, algorithm == 0 ? "grpo" : "ppo",
                    set->layouts[plan].name};
}

static const Layout *
layout_of(const LoopCase *c)
{
  guint i = 0;

  while (strcmp(c->set->layouts[i].name, c->plan) != 0)
    i++;
  return &c->set->layouts[i];
}

uint32_t
loop_case_ranks(const LoopCase *c, uint32_t n_ranks)
{
  uint32_t own = layout_of(c)->n_ranks;

  return own > 0 ? own : n_ranks;
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
  const Size *size = c->set->sizes;

  while (strcmp(size->name, c->size) != 0)
    size++;
  g_autofree char *text = g_strdup_printf(
      "{\"model_type\": \"llama\", \"hidden_size\": %u,\n"
      " \"intermediate_size\": %u, \"num_hidden_layers\": %u,\n"
      " \"num_attention_heads\": %u, \"num_key_value_heads\": %u,\n"
      " \"head_dim\": %u, \"vocab_size\": %u, "
      "\"max_position_embeddings\": 512}\n",
      size->hidden, size->ffn, size->layers, size->heads, size->kv_heads,
      size->head_dim, size->vocab);
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
      "prompt-length = %s\nresponse-length = %s\nmini-batches = 2\n",
      c->algorithm, ppo ? c->set->ppo_prompts : c->set->grpo_prompts,
      ppo ? "" : "samples-per-prompt = 4\n", c->set->prompt_length,
      c->set->response_length);
  for (guint i = 0; i < 3; i++) {
    static const char *const models[] = {"actor", "ref", "critic"};

    if (i == 2 && !ppo)
      continue;
    g_string_append_printf(out,
                           "[model %s]\nconfig = %s.json\ndtype = %s\n"
                           "%s%s",
                           models[i], c->size, c->set->dtype,
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
    } else if (strcmp(value, "R") == 0 || strcmp(value, "H") == 0) {
      g_string_append_printf(out, "%s = %u\n", words[i],
                             *value == 'R' ? n_ranks : half);
    } else {
      g_string_append_printf(out, "%s = %s\n", words[i], value);
    }
  }
  if (first == last)
    g_string_append_printf(out, "mesh = node0:gpu[%u]\n", first);
  else
    g_string_append_printf(out, "mesh = node0:gpu[%u-%u]\n", first, last);
}

char *
loop_case_write(const LoopCase *c, const char *folder, uint32_t n_ranks,
                const char *gpu)
{
  const char *const *calls = loop_case_calls(c);
  const Layout *layout = layout_of(c);
  g_autofree char *workload = write_workload(c, folder);
  g_autofree char *name = g_strconcat(workload, "-", c->plan, NULL);
  g_autofree char *cluster =
      g_strdup_printf("[cluster]\nnodes = 1\ngpus-per-node = %u\ngpu = %s\n"
                      "framework-memory = 0 B\nallocator-slack = 0\n",
                      n_ranks, gpu);
  g_autoptr(GString) out = g_string_new(NULL);

  write_model(c, folder);
  g_free(write_file(folder, "machine", ".cluster", cluster));
  g_string_append_printf(
      out, "[plan]\nworkload = %s.workload\ncluster = machine.cluster\n",
      workload);
  for (guint i = 0; calls[i]; i++) {
    gboolean trains = g_str_has_suffix(calls[i], "train");

    add_layout(out, calls[i],
               trains                                   ? layout->train
               : g_str_has_suffix(calls[i], "generate") ? layout->generate
                                                        : layout->infer,
               loop_case_ranks(c, n_ranks));
    g_string_append(out, trains ? c->set->train_keys : "");
    if (layout->ref_in_host && strcmp(calls[i], "ref_inference") == 0)
      g_string_append(out, "residency = host\n");
  }
  return write_file(folder, name, ".plan", out->str);
}
