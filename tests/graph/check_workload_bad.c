/* Workloads: every fault of a file, and the fuzzer's corpus. */
#include "config.h"

#include "tests/support/check_corpus.h"
#include "tests/support/check_main.h"
#include "tests/support/workload_sample.h"

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
   "x.workload:28: '1st' is not a name, expected a letter, then at most 63 "
   "letters, digits, '_' or '-'"},
  {"algorithm = ppo\n", "",
   "x.workload:1: missing key 'algorithm' in [workload], expected label such "
   "as ppo; only `run` reads it, to tell rloo from grpo"},
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
  {"prompts = 96", "prompts = 96\nresponse-correlation = 1.5",
   "x.workload:6: 'response-correlation' is 1.5, expected a number in [0, 1]"},
  {"response-length = uniform(1, 50)", "response-length = unifrm(1, 50)",
   "x.workload:8: 'response-length': unknown length distribution 'unifrm', "
   "expected fixed(n), uniform(min, max), lognormal(mean, sd, max[, share at "
   "max]), file(path:column) or replay(path:column), did you mean 'uniform'?"},
  /* Images: a prompt has 100 tokens, and no model has a tower. */
  {"samples-per-prompt = 2", "samples-per-prompt = 2\nimages = 2",
   "x.workload:7: 'images' is 2 of 0 tokens, expected 'image-tokens' of at "
   "least one for each"},
  {"samples-per-prompt = 2", "samples-per-prompt = 2\nimage-tokens = 101",
   "x.workload:7: 'image-tokens' is 101, expected at most 100, the mean of "
   "'prompt-length', which they are part of"},
  {"samples-per-prompt = 2", "samples-per-prompt = 2\nimage-tokens = 80",
   "x.workload:7: 'image-tokens', but no model has a vision tower that is "
   "modelled, expected one such as Qwen/Qwen2.5-VL-7B-Instruct"},
  {"samples-per-prompt = 2", "samples-per-prompt = 2\nsandboxes = 8",
   "x.workload:7: 'sandboxes' alone, expected 'turns' too"},
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
  /* Keys that a kind of call may not have. */
  {"kind = host\n", "kind = host\nmodel = ref\n",
   "x.workload:30: 'model' of the host call 'check', expected it on generate, "
   "inference and train calls only"},
  {"host-time = 250 ms\n", "",
   "x.workload:28: missing key 'host-time' in [call check], expected the time "
   "of an iteration, such as 5 s"},
  {"epochs = 3", "staleness = 3",
   "x.workload:22: 'staleness' of the train call 'actor_train', expected it on "
   "generate and inference calls only"},
  {"epochs = 3", "draft-tokens = 3",
   "x.workload:22: 'draft-tokens' of the train call 'actor_train', expected it "
   "on generate calls only"},
  {"kind = generate", "kind = generate\ndraft-tokens = 3",
   "x.workload:33: missing key 'draft-accepted' in [call actor_generate], "
   "expected it beside 'draft-tokens'"},
  {"kind = generate", "kind = generate\ndraft = lookup",
   "x.workload:33: missing key 'draft-tokens' in [call actor_generate], "
   "expected it beside 'draft-accepted'"},
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
   "x.workload:31: 'sequences' occurs twice in the inputs of 'check', "
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
   "x.workload:4: 'prompts' occurs twice in 'dataset', expected once"},
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
  {"logprobs:chunk(6), sequences\nepochs = 3\n[call ref_inference]\n"
   "model = ref\n"
   "kind = inference\ninputs = prompts, sequences : chunk(4)",
   "logprobs:chunk(65536), sequences\nepochs = 3\n[call ref_inference]\n"
   "model = ref\n"
   "kind = inference\ninputs = prompts, sequences : chunk(65535)",
   "x.workload:26: chunk(65535) of 'sequences' leaves 'ref_inference' with "
   "too many parts, expected a common multiple of all its chunks of at most "
   "65536"},
};
/* clang-format on */

START_TEST(test_faults)
{
  ra_check_faults(good, faults, G_N_ELEMENTS(faults), load);
}
END_TEST

/* Faults that take a file of their own. */
START_TEST(test_other_faults)
{
  char *positions = ra_edit(good, "llama-3-8b.json", "gpt2.json");
  char *longer = ra_edit(positions, "uniform(1, 50)", "uniform(1, 1000)");
  char *lag = ra_edit(good, "inputs = prompts\noutputs",
                      "inputs = prompts\nstaleness = 0\noutputs");

  /* GPT-2 has learned 1,024 positions: 100 + 50 fit, 100 + 1,000 do not. */
  ck_assert(load(positions, NULL));
  ck_assert(ra_gives(longer,
                     "x.workload:8: the longest prompt and response are 1100 "
                     "tokens, expected at most 1024, the learned positions "
                     "of 'ref'",
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

START_TEST(test_corpus)
{
  ra_check_corpus("workload");
}
END_TEST

static Suite *
workload_bad_suite(void)
{
  Suite *suite = suite_create("workload_bad");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_other_faults);
  tcase_add_test(tcase, test_config_missing);
  tcase_add_test(tcase, test_corpus);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(workload_bad_suite)
