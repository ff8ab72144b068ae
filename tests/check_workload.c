/* Workloads: the graph that comes of a file, and every fault of a file. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "graph/workload.h"
#include "tests/check_edit.h"
#include "tests/check_main.h"

/* A PPO of two models whose calls stand in the file back to front. */
static const char good[] = "[workload]\n"                             /* 1 */
                           "format = 1\n"                             /* 2 */
                           "algorithm = ppo\n"                        /* 3 */
                           "dataset = prompts\n"                      /* 4 */
                           "prompts = 96\n"                           /* 5 */
                           "samples-per-prompt = 2\n"                 /* 6 */
                           "prompt-length = fixed(100)\n"             /* 7 */
                           "response-length = uniform(1, 50)\n"       /* 8 */
                           "mini-batches = 24\n"                      /* 9 */
                           "staleness = 1\n"                          /* 10 */
                           "[model actor]\n"                          /* 11 */
                           "config = llama-2-7b.json\n"               /* 12 */
                           "trainable = true\n"                       /* 13 */
                           "[model ref]\n"                            /* 14 */
                           "config = llama-3-8b.json\n"               /* 15 */
                           "head = value\n"                           /* 16 */
                           "dtype = fp16\n"                           /* 17 */
                           "[call actor_train]\n"                     /* 18 */
                           "model = actor\n"                          /* 19 */
                           "kind = train\n"                           /* 20 */
                           "inputs = sequences, logprobs:chunk(6)\n"  /* 21 */
                           "epochs = 3\n"                             /* 22 */
                           "[call ref_inference]\n"                   /* 23 */
                           "model = ref\n"                            /* 24 */
                           "kind = inference\n"                       /* 25 */
                           "inputs = prompts, sequences : chunk(4)\n" /* 26 */
                           "outputs = logprobs, scores\n"             /* 27 */
                           "[call check]\n"                           /* 28 */
                           "kind = host\n"                            /* 29 */
                           "host-time = 250 ms\n"                     /* 30 */
                           "inputs = sequences:whole\n"               /* 31 */
                           "outputs = verdicts\n"                     /* 32 */
                           "[call actor_generate]\n"                  /* 33 */
                           "model = actor\n"                          /* 34 */
                           "kind = generate\n"                        /* 35 */
                           "inputs = prompts\n"                       /* 36 */
                           "outputs = sequences\n"                    /* 37 */
    ;

static RaWorkload *
workload_from(const char *text, GError **error)
{
  RaKeyFile *file = ra_key_file_parse("x.workload", text, strlen(text), error);
  RaWorkload *workload;

  if (!file)
    return NULL;
  workload = ra_workload_load(file, error);
  ra_key_file_unref(file);
  return workload;
}

static gboolean
load(const char *text, GError **error)
{
  RaWorkload *workload = workload_from(text, error);
  gboolean good_text = workload != NULL;

  ra_workload_free(workload);
  return good_text;
}

START_TEST(test_good)
{
  enum { TRAIN, REF, CHECK, GENERATE };
  static const uint32_t order[] = {GENERATE, REF, TRAIN, CHECK};
  GError *error = NULL;
  RaWorkload *w = workload_from(good, &error);

  ck_assert_msg(w != NULL, "%s", error ? error->message : "");
  ck_assert_str_eq(w->algorithm, "ppo");
  ck_assert_uint_eq(w->n_models, 2);
  ck_assert_uint_eq(w->n_calls, 4);
  /* Only generation is ready at first; then ref and check, of which ref
   * stands first; then train (2 before it in the file: none) before check. */
  ck_assert_mem_eq(w->order, order, sizeof order);
  ck_assert_int_eq(w->models[0].optimizer, RA_OPTIMIZER_ADAMW);
  ck_assert_int_eq(w->models[0].dtype, RA_DTYPE_BF16);
  ck_assert_int_eq(w->models[1].optimizer, RA_OPTIMIZER_NONE);
  ck_assert_int_eq(w->models[1].dtype, RA_DTYPE_FP16);
  ck_assert_int_eq(w->models[1].model->head, RA_HEAD_VALUE);
  /* Producers. */
  ck_assert_uint_eq(w->calls[TRAIN].inputs[0].producer, GENERATE);
  ck_assert_uint_eq(w->calls[TRAIN].inputs[1].producer, REF);
  ck_assert_uint_eq(w->calls[REF].inputs[0].producer, RA_NONE);
  ck_assert_str_eq(w->calls[REF].inputs[1].data, "sequences");
  ck_assert_uint_eq(w->calls[REF].inputs[1].n_chunks, 4);
  ck_assert_uint_eq(w->calls[CHECK].inputs[0].n_chunks, 1);
  /* One set, generation's, of 96 x 2 sequences. */
  for (guint i = 0; i < 4; i++) {
    ck_assert_uint_eq(w->calls[i].set, GENERATE);
    ck_assert_uint_eq(w->calls[i].n_sequences, 192);
    ck_assert_uint_eq(w->calls[i].samples_per_prompt, 2);
  }
  /* ref takes 4 chunks and gives 6: lcm 12.  Its neighbours see one of the
   * two edges only. */
  ck_assert_uint_eq(w->calls[REF].n_parts, 12);
  ck_assert_uint_eq(w->calls[GENERATE].n_parts, 4);
  ck_assert_uint_eq(w->calls[TRAIN].n_parts, 6);
  ck_assert_uint_eq(w->calls[CHECK].n_parts, 1);
  ck_assert_uint_eq(w->calls[TRAIN].n_mini_batches, 24);
  ck_assert_uint_eq(w->calls[TRAIN].n_epochs, 3);
  ck_assert_uint_eq(w->calls[REF].n_mini_batches, 1);
  /* The common staleness is of generate calls of trained models. */
  ck_assert_uint_eq(w->calls[GENERATE].staleness, 1);
  ck_assert_uint_eq(w->calls[REF].staleness, 0);
  ck_assert_double_eq(w->calls[CHECK].host_s, 0.25);
  ck_assert_uint_eq(w->calls[CHECK].model, RA_NONE);
  ck_assert_uint_eq(ra_workload_find_call(w, "check"), CHECK);
  ck_assert_uint_eq(ra_workload_find_call(w, "chek"), RA_NONE);
  ck_assert_uint_eq(ra_workload_find_model(w, "ref"), 1);
  ck_assert_uint_eq(ra_workload_trainer(w, 0), TRAIN);
  ck_assert_uint_eq(ra_workload_trainer(w, 1), RA_NONE);
  ra_workload_free(w);
}
END_TEST

/* Two trained calls: the trainer is the last in topological order, which is
 * the first of the file here. */
START_TEST(test_trainer)
{
  char *text = ra_edit(good, "[call ref_inference]\n",
                       "[call warm_up]\nmodel = actor\nkind = train\n"
                       "inputs = sequences\noutputs = warm\n"
                       "[call ref_inference]\n");
  char *late =
      ra_edit(text, "logprobs:chunk(6)\n", "logprobs:chunk(6), warm\n");
  RaWorkload *w = workload_from(late, NULL);

  ck_assert_ptr_nonnull(w);
  ck_assert_uint_eq(ra_workload_trainer(w, 0), 0);
  ra_workload_free(w);
  g_free(late);
  g_free(text);
}
END_TEST

START_TEST(test_dtype_bytes)
{
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_BF16), 2);
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_FP16), 2);
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_FP32), 4);
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_FP8), 1);
}
END_TEST

#define CYCLE                                                                  \
  "[workload]\nalgorithm = x\ndataset = p\nprompts = 1\n"                      \
  "prompt-length = fixed(1)\nresponse-length = fixed(1)\n"                     \
  "[call tail]\nkind = host\nhost-time = 1 s\ninputs = c\n"                    \
  "[call one]\nkind = host\nhost-time = 1 s\ninputs = p, c\noutputs = a\n"     \
  "[call two]\nkind = host\nhost-time = 1 s\ninputs = a\noutputs = b\n"        \
  "[call three]\nkind = host\nhost-time = 1 s\ninputs = b\noutputs = c\n"

/* clang-format off */
static const RaFault faults[] = {
  /* Groups and keys. */
  {"[model actor]", "[modle actor]",
   "x.workload:11: unknown group 'modle', did you mean 'model'?"},
  {"[model ref]", "[model actor]",
   "x.workload:14: duplicate group [model actor], expected once, first at "
   "line 11"},
  {"[call check]", "[call 1st]",
   "x.workload:28: '1st' is no name, expected a letter, then at most 63 "
   "letters, digits, '_' or '-'"},
  {"algorithm = ppo\n", "",
   "x.workload:1: missing key 'algorithm' in [workload], expected a label "
   "such as ppo; nothing is derived from it"},
  {"prompts = 96", "promts = 96",
   "x.workload:5: unknown key 'promts' in [workload], did you mean "
   "'prompts'?"},
  {"prompts = 96", "prompts = 96\nprompts = 97",
   "x.workload:6: duplicate key 'prompts' in [workload], expected once, first "
   "at line 5"},
  {"prompts = 96", "prompts = -96",
   "x.workload:5: 'prompts' is -96, expected an integer in [1, 10000000]"},
  {"prompts = 96", "prompts = 99999999999999999999",
   "x.workload:5: 'prompts' is 99999999999999999999, expected an integer in "
   "[1, 10000000]"},
  /* 96 x 2 becomes 9,999,936 x 2. */
  {"prompts = 96", "prompts = 9999936",
   "x.workload:6: 'prompts' x 'samples-per-prompt' of 'actor_generate' is "
   "9999936 x 2 = 19999872, expected at most 10000000"},
  {"prompt-length = fixed(100)", "prompt-length = fixed(100 tokens)",
   "x.workload:7: 'prompt-length': length is '100 tokens', expected a whole "
   "number from 1 to 16777216"},
  {"response-length = uniform(1, 50)", "response-length = unifrm(1, 50)",
   "x.workload:8: 'response-length': unknown law 'unifrm', expected fixed(n), "
   "uniform(min, max), lognormal(mean, sd, max) or file(path:column), did you "
   "mean 'uniform'?"},
  /* Models. */
  {"trainable = true", "trainable = yes",
   "x.workload:13: 'trainable' is 'yes', expected true or false"},
  {"trainable = true", "trainable = false",
   "x.workload:19: 'actor_train' trains 'actor', expected 'trainable = true' "
   "in [model actor]"},
  {"head = value", "trainable = true",
   "x.workload:16: 'trainable' is true but no call trains 'ref', expected a "
   "call of kind train"},
  {"head = value", "optimizer = adamw",
   "x.workload:16: 'optimizer' is adamw, expected none as 'trainable' is "
   "false"},
  {"dtype = fp16", "dtype = fp61",
   "x.workload:17: 'dtype' is 'fp61', expected one of bf16, fp16, fp32, fp8, "
   "did you mean 'fp16'?"},
  {"[call actor_train]", "[model idle]\nconfig = gpt2.json\n[call actor_train]",
   "x.workload:18: no call uses [model idle], expected at least one"},
  {"model = ref\n", "model = reff\n",
   "x.workload:24: unknown model 'reff' of 'ref_inference', expected the name "
   "of a [model NAME], did you mean 'ref'?"},
  {"model = ref\n", "",
   "x.workload:23: missing key 'model' in [call ref_inference], expected the "
   "name of a [model NAME]"},
  {"model = actor\nkind = generate", "model = ref\nkind = generate",
   "x.workload:34: 'actor_generate' generates with the value head of 'ref', "
   "expected a model with 'head = lm'"},
  /* Legal: GPT-2 has learned 1,024 positions, 150 tokens are needed. */
  {"config = llama-3-8b.json\nhead = value\ndtype = fp16\n",
   "config = gpt2.json\nhead = value\ndtype = fp8\n", NULL},
  /* What a kind of call may not have. */
  {"kind = host\n", "kind = host\nmodel = ref\n",
   "x.workload:30: 'model' of the host call 'check', expected it on generate, "
   "inference and train calls only"},
  {"host-time = 250 ms\n", "",
   "x.workload:28: missing key 'host-time' in [call check], expected the time "
   "of an iteration, such as 5 s"},
  {"epochs = 3", "staleness = 3",
   "x.workload:22: 'staleness' of the train call 'actor_train', expected it on "
   "generate and inference calls only"},
  {"outputs = logprobs, scores\n", "outputs = logprobs, scores\nepochs = 2\n",
   "x.workload:28: 'epochs' of the inference call 'ref_inference', expected "
   "it on train calls only"},
  {"outputs = logprobs, scores\n",
   "outputs = logprobs, scores\nstaleness = 2\n",
   "x.workload:28: no call trains 'ref', expected 'staleness' on calls of "
   "trained models only"},
  {"outputs = logprobs, scores\n",
   "outputs = logprobs, scores\nsamples-per-prompt = 2\n",
   "x.workload:28: 'ref_inference' works on the sequences of "
   "'actor_generate', expected 'samples-per-prompt' there"},
  /* Edges. */
  {"inputs = sequences:whole", "inputs = sequenses",
   "x.workload:31: unknown input 'sequenses' of 'check', expected a name in "
   "'dataset' or in some call's 'outputs', did you mean 'sequences'?"},
  {"inputs = sequences:whole", "inputs = sequences:group",
   "x.workload:31: input 'sequences:group' cannot be read, expected name, "
   "name:whole or name:chunk(n), n from 1 to 65536"},
  {"inputs = sequences:whole", "inputs = sequences:chunk(0)",
   "x.workload:31: input 'sequences:chunk(0)' cannot be read, expected name, "
   "name:whole or name:chunk(n), n from 1 to 65536"},
  {"inputs = sequences:whole", "inputs = sequences, sequences",
   "x.workload:31: 'sequences' stands twice in the inputs of 'check', "
   "expected once"},
  {"inputs = prompts\noutputs", "inputs = prompts:chunk(2)\noutputs",
   "x.workload:36: 'prompts' comes whole from the dataset, expected no "
   "chunk(2)"},
  {"outputs = verdicts", "outputs = scores",
   "x.workload:32: 'scores' is made by 'ref_inference' already, expected one "
   "call to make it"},
  {"outputs = verdicts", "outputs = prompts",
   "x.workload:32: 'prompts' is in 'dataset', expected a name of its own for "
   "what 'check' makes"},
  {"dataset = prompts", "dataset = prompts, prompts",
   "x.workload:4: 'prompts' stands twice in 'dataset', expected once"},
  {"dataset = prompts", "dataset = prompts, images",
   "x.workload:4: no call reads 'images', expected it in some call's "
   "'inputs'"},
  {"inputs = prompts\noutputs = sequences\n",
   "inputs = prompts, scores\noutputs = sequences\n",
   "x.workload:26: calls wait for each other: ref_inference -> "
   "actor_generate -> ref_inference, expected a graph without a cycle"},
  /* Batches.  lcm(5, 6) = 30 does not divide 96. */
  {"chunk(4)", "chunk(5)",
   "x.workload:26: the chunks of 'ref_inference' cut it into 30 parts, "
   "expected a divisor of 96, the prompts"},
  {"chunk(6)", "chunk(32)",
   "x.workload:21: the chunks of 'actor_train' cut it into 32 parts, "
   "expected a divisor of 24, its mini-batches"},
  {"mini-batches = 24", "mini-batches = 36",
   "x.workload:9: 'mini-batches' of 'actor_train' is 36, expected a divisor "
   "of 192, its sequences"},
  {"epochs = 3", "mini-batches = 36",
   "x.workload:22: 'mini-batches' of 'actor_train' is 36, expected a divisor "
   "of 192, its sequences"},
  /* lcm(65536, 65535) is their product. */
  {"logprobs:chunk(6)\nepochs = 3\n[call ref_inference]\nmodel = ref\n"
   "kind = inference\ninputs = prompts, sequences : chunk(4)",
   "logprobs:chunk(65536)\nepochs = 3\n[call ref_inference]\nmodel = ref\n"
   "kind = inference\ninputs = prompts, sequences : chunk(65535)",
   "x.workload:26: chunk(65535) of 'sequences' leaves 'ref_inference' with "
   "too many parts, expected a common multiple of all its chunks of at most "
   "65536"},
};
/* clang-format on */

START_TEST(test_faults)
{
  RaFault plain[G_N_ELEMENTS(faults)];
  gsize n = 0;

  /* A row without a message is a legal edit, shown to be so. */
  for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
    if (faults[i].message) {
      plain[n++] = faults[i];
    } else {
      char *text = ra_edit(good, faults[i].from, faults[i].to);

      ck_assert(load(text, NULL));
      g_free(text);
    }
  }
  ra_check_faults(good, plain, n, load);
}
END_TEST

/* Faults that take a file of their own. */
START_TEST(test_other_faults)
{
  char *positions = ra_edit(good, "llama-3-8b.json", "gpt2.json");
  char *longer = ra_edit(positions, "uniform(1, 50)", "uniform(1, 1000)");
  char *lag = ra_edit(good, "inputs = prompts\noutputs",
                      "inputs = prompts\nstaleness = 0\noutputs");

  /* GPT-2 has learned 1,024 positions; 100 + 1,000 are more. */
  ck_assert(ra_gives(longer,
                     "x.workload:8: the longest prompt and response are 1100 "
                     "tokens, expected at most 1024, the positions that 'ref' "
                     "has learned",
                     load));
  /* The one generate call overrides the common staleness of 1. */
  ck_assert(ra_gives(lag,
                     "x.workload:10: 'staleness' is 1 but no generate call "
                     "has a trained model, expected 0",
                     load));
  /* tail waits for the cycle but is not in it; the walk from tail goes to
   * three, two, one and back to three; printed downstream from the first of
   * the file, `one`, whose inputs stand in line 14. */
  ck_assert(ra_gives(CYCLE,
                     "x.workload:14: calls wait for each other: one -> two "
                     "-> three -> one, expected a graph without a cycle",
                     load));
  ck_assert(ra_gives("[workload]\nalgorithm = x\ndataset = p\nprompts = 1\n"
                     "prompt-length = fixed(1)\nresponse-length = fixed(1)\n"
                     "[call a]\nkind = host\nhost-time = 1 s\n"
                     "inputs = p, b\noutputs = b\n",
                     "x.workload:10: calls wait for each other: a -> a, "
                     "expected a graph without a cycle",
                     load));
  ck_assert(ra_gives("[workload]\nalgorithm = x\ndataset = p\nprompts = 1\n"
                     "prompt-length = fixed(1)\nresponse-length = fixed(1)\n",
                     "x.workload:1: no calls, expected at least one [call "
                     "NAME]",
                     load));
  ck_assert(ra_gives("",
                     "x.workload:1: missing group '[workload]', expected "
                     "exactly one",
                     load));
  g_free(lag);
  g_free(longer);
  g_free(positions);
}
END_TEST

/* A config that is not there: the place, the key and where it was sought. */
START_TEST(test_config_missing)
{
  char *text = ra_edit(good, "llama-3-8b.json", "lama-3-8b.json");
  GError *error = NULL;

  ck_assert(!load(text, &error));
  ck_assert(g_str_has_prefix(error->message, "x.workload:15: 'config': "));
  ck_assert(strstr(error->message, "lama-3-8b.json") != NULL);
  ck_assert(strchr(error->message, '\n') == NULL);
  g_error_free(error);
  g_free(text);
}
END_TEST

/* Random acyclic graphs of host calls in random file order: every producer
 * precedes its consumers, and among the calls that are ready the first of the
 * file is taken, which the test decides by its own bookkeeping. */
START_TEST(test_order_random)
{
  RaRng rng = ra_rng_init(3, 0);

  for (guint trial = 0; trial < 200; trial++) {
    guint n = 1 + (guint)ra_rng_below(&rng, 12);
    guint rank[12]; /* of each call in a hidden topological order */
    gboolean edge[12][12] = {{FALSE}};
    gboolean done[12] = {FALSE};
    GString *text =
        g_string_new("[workload]\nalgorithm = x\ndataset = p\nprompts = 1\n"
                     "prompt-length = fixed(1)\nresponse-length = fixed(1)\n");

    for (guint i = 0; i < n; i++) {
      guint j = (guint)ra_rng_below(&rng, i + 1);

      rank[i] = rank[j];
      rank[j] = i;
    }
    for (guint i = 0; i < n; i++) {
      g_string_append_printf(text,
                             "[call c%u]\nkind = host\nhost-time = 1 s\n"
                             "outputs = d%u\ninputs = p",
                             i, i);
      for (guint j = 0; j < n; j++) {
        edge[j][i] = rank[j] < rank[i] && ra_rng_below(&rng, 3) == 0;
        if (edge[j][i])
          g_string_append_printf(text, ", d%u", j);
      }
      g_string_append_c(text, '\n');
    }
    RaWorkload *w = workload_from(text->str, NULL);

    ck_assert_ptr_nonnull(w);
    for (guint at = 0; at < n; at++) {
      guint first = n;

      for (guint i = n; i-- > 0;) {
        gboolean ready = !done[i];

        for (guint j = 0; j < n; j++)
          ready = ready && (!edge[j][i] || done[j]);
        if (ready)
          first = i;
      }
      ck_assert_uint_eq(w->order[at], first);
      done[first] = TRUE;
    }
    ra_workload_free(w);
    g_string_free(text, TRUE);
  }
}
END_TEST

/* --set reaches the workload, and a message about it names the flag. */
START_TEST(test_set)
{
  RaKeyFile *file = ra_key_file_parse("x.workload", good, strlen(good), NULL);
  GError *error = NULL;
  RaWorkload *w;

  ra_key_file_set(file, "workload", "", "prompts", "48");
  w = ra_workload_load(file, &error);
  ck_assert_ptr_nonnull(w);
  ck_assert_uint_eq(w->calls[0].n_sequences, 96);
  ra_workload_free(w);
  ra_key_file_set(file, "workload", "", "prompts", "0");
  ck_assert_ptr_null(ra_workload_load(file, &error));
  ck_assert_str_eq(error->message,
                   "--set 'workload.prompts=0': 'prompts' is 0, expected an "
                   "integer in [1, 10000000]");
  g_error_free(error);
  ra_key_file_unref(file);
}
END_TEST

/* (transfer full): a shipped workload. */
static RaWorkload *
shipped(const char *name)
{
  GError *error = NULL;
  char *path = ra_data_find("workloads", name, NULL, &error);
  RaKeyFile *file = path ? ra_key_file_load(path, &error) : NULL;
  RaWorkload *w = file ? ra_workload_load(file, &error) : NULL;

  ck_assert_msg(w != NULL, "%s: %s", name, error ? error->message : "");
  ra_key_file_unref(file);
  g_free(path);
  return w;
}

START_TEST(test_shipped)
{
  /* calls, trained models, sequences of the first train call: prompts times
   * samples as the files say. */
  static const struct {
    const char *name;
    guint n_calls;
    guint n_trained;
    uint32_t n_sequences;
  } all[] = {
      {"dpo-llama3-70b.workload", 2, 1, 128 * 2},
      {"grpo-qwen2.5-32b-async.workload", 5, 1, 128 * 16},
      {"grpo-qwen2.5-32b.workload", 5, 1, 128 * 16},
      {"grpo-qwen2.5-7b.workload", 5, 1, 1024 * 5},
      {"ppo-llama2-7b.workload", 6, 2, 256},
      {"ppo-llama3-70b-4k.workload", 6, 2, 4096},
      {"ppo-llama3-70b-stream.workload", 6, 2, 512},
      {"ppo-llama3-70b.workload", 6, 2, 512},
      {"remax-llama2-7b.workload", 6, 1, 512},
      {"rloo-llama3-8b.workload", 4, 1, 512 * 4},
      {"rm-llama3-8b.workload", 1, 1, 128 * 2},
      {"sft-llama3-8b.workload", 1, 1, 128},
  };

  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    RaWorkload *w = shipped(all[i].name);
    guint n_trained = 0;

    ck_assert_uint_eq(w->n_calls, all[i].n_calls);
    for (guint m = 0; m < w->n_models; m++)
      n_trained += ra_workload_trainer(w, m) != RA_NONE;
    ck_assert_uint_eq(n_trained, all[i].n_trained);
    for (guint c = 0; c < w->n_calls; c++) {
      if (w->calls[c].kind == RA_CALL_TRAIN)
        ck_assert_uint_eq(w->calls[c].n_sequences, all[i].n_sequences);
    }
    ra_workload_free(w);
  }
}
END_TEST

/* What makes each algorithm's graph what it is. */
START_TEST(test_shipped_graphs)
{
  RaWorkload *w = shipped("remax-llama2-7b.workload");
  uint32_t greedy = ra_workload_find_call(w, "greedy_generate");
  uint32_t sampled = ra_workload_find_call(w, "actor_generate");

  /* Two sets of sequences; training works on the sampled one. */
  ck_assert_uint_eq(w->calls[greedy].set, greedy);
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "greedy_reward_inference")].set,
      greedy);
  ck_assert_uint_eq(w->calls[ra_workload_find_call(w, "actor_train")].set,
                    sampled);
  ra_workload_free(w);

  w = shipped("dpo-llama3-70b.workload");
  /* The first call owns the set, training shares it through the edge. */
  ck_assert_uint_eq(w->calls[0].set, 0);
  ck_assert_uint_eq(w->calls[1].set, 0);
  ra_workload_free(w);

  w = shipped("ppo-llama3-70b-stream.workload");
  /* Four chunks on the edges from generation, none on those to training. */
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "actor_generate")].n_parts, 4);
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "reward_inference")].n_parts, 4);
  ck_assert_uint_eq(w->calls[ra_workload_find_call(w, "actor_train")].n_parts,
                    1);
  ra_workload_free(w);

  w = shipped("grpo-qwen2.5-32b-async.workload");
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "actor_generate")].staleness, 1);
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "actor_inference")].staleness, 0);
  ra_workload_free(w);
}
END_TEST

static Suite *
workload_suite(void)
{
  Suite *suite = suite_create("workload");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_good);
  tcase_add_test(tcase, test_trainer);
  tcase_add_test(tcase, test_dtype_bytes);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_other_faults);
  tcase_add_test(tcase, test_config_missing);
  tcase_add_test(tcase, test_order_random);
  tcase_add_test(tcase, test_set);
  tcase_add_test(tcase, test_shipped);
  tcase_add_test(tcase, test_shipped_graphs);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(workload_suite)
