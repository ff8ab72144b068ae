/* Plans: every fault of a file, and the fuzzer's corpus. */
#include "config.h"

#include "tests/support/check_corpus.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_sample.h"

#define SYNTAX "expected tp, cp, dp and pp in some order, as tp-cp-dp-pp"

/* clang-format off */
static const RaFault faults[] = {
  /* Groups and keys. */
  {"[plan]\n", "[plam]\n",
   "x.plan:1: unknown group 'plam', did you mean 'plan'?"},
  {"format = 1\n", "format = 1.0\n",
   "x.plan:2: 'format' is '1.0', expected 1"},
  {"workload = w.workload\n", "",
   "x.plan:1: missing key 'workload' in [plan], expected .workload file to "
   "run"},
  {"[call score]", "[call scores]",
   "x.plan:11: unknown call 'scores', expected a call of 'w.workload', did "
   "you mean 'score'?"},
  {"[call score]\nmesh = node2\ntp = 8\nmicro-batches = 16\n", "",
   "x.plan:1: missing group [call score], expected one for every call of "
   "'w.workload' that runs on GPUs"},
  {"[call score]", "[call train]",
   "x.plan:15: duplicate group [call train], expected once, first at line 11"},
  {"micro-batches = 6", "microbatches = 6",
   "x.plan:20: unknown key 'microbatches' in [call train], did you mean "
   "'micro-batches'?"},
  {"micro-batches = 6", "dp = 6",
   "x.plan:20: duplicate key 'dp' in [call train], expected once, first at "
   "line 17"},
  {"dp = 4", "dp = 0",
   "x.plan:7: 'dp' is 0, expected an integer in [1, 1048576]"},
  {"dp = 4", "dp = -4",
   "x.plan:7: 'dp' is -4, expected an integer in [1, 1048576]"},
  {"dp = 4", "dp = 4294967297",
   "x.plan:7: 'dp' is 4294967297, expected an integer in [1, 1048576]"},
  {"dp = 4", "dp = 4 GB",
   "x.plan:7: 'dp' is '4 GB', expected an integer in [1, 1048576]"},
  {"zero = 1", "zero = 4",
   "x.plan:24: 'zero' is 4, expected an integer in [0, 3]"},
  {"zero = 1\n", "zero = 1\nzero-group = 3\n",
   "x.plan:25: 'zero-group' is 3, expected a divisor of 2, 'dp'"},
  {"zero = 1\n", "zero-group = 2\n",
   "x.plan:24: 'zero-group' with 'zero' 0, expected 'zero' of at least 1 to "
   "shard"},
  {"recompute = selective", "recompute = seletive",
   "x.plan:23: 'recompute' is 'seletive', expected one of none, selective, "
   "full, did you mean 'selective'?"},
  {"grad-dtype = fp32",
   "optimizer-residency = cpu\nmaster-weights = none",
   "x.plan:26: 'master-weights' is none, expected fp32 where the CPU steps "
   "('optimizer-residency')"},
  {"grad-dtype = fp32", "grad-dtype = fp8",
   "x.plan:25: 'grad-dtype' is 'fp8', expected one of bf16, fp16, fp32, did "
   "you mean 'fp16'?"},
  {"launch = graph\n", "launch = graph\nbalance = tokens\n",
   "x.plan:11: 'balance' of the generate call 'generate', expected it on train "
   "and inference calls"},
  {"launch = graph\n", "launch = graph\ngemm-dtype = fp8\n",
   "x.plan:11: 'gemm-dtype' of the generate call 'generate', expected it on "
   "train and inference calls"},
  {"zero = 1\n", "zero = 1\ngemm-dtype = fp16\n",
   "x.plan:25: 'gemm-dtype' is 'fp16', expected one of fp8, did you mean "
   "'fp8'?"},
  {"zero = 1\n",
   "zero = 1\ngemm-dtype = fp8\nbf16-first-layers = 1\n"
   "bf16-last-layers = 39\n",
   "x.plan:26: 'bf16-first-layers' and 'bf16-last-layers' of 'train' are 40 of "
   "40 layers, expected fewer: none computes in fp8"},
  {"zero = 1\n", "zero = 1\nbf16-last-layers = 1\n",
   "x.plan:25: 'bf16-last-layers' of 'train', expected it beside 'gemm-dtype = "
   "fp8'"},
  {"zero = 1\n", "zero = 1\nfp8-scaling = delayed\n",
   "x.plan:25: 'fp8-scaling' of 'train', expected it beside 'gemm-dtype = "
   "fp8'"},
  {"zero = 1\n", "zero = 3\ngemm-dtype = fp8\n",
   "x.plan:25: 'gemm-dtype' of 'train' is fp8 with 'zero' 3, expected at most "
   "2: 8-bit copies of weights last a step"},
  {"launch = graph\n", "launch = graph\npadding = batch\n",
   "x.plan:11: 'padding' of the generate call 'generate', expected it on train "
   "and inference calls"},
  {"launch = graph\n", "launch = graph\npadded-length = 9\n",
   "x.plan:11: 'padded-length' of the generate call 'generate', expected it on "
   "train and inference calls"},
  {"launch = graph\n", "launch = graph\nmaster-weights = remainders\n",
   "x.plan:11: 'master-weights' of 'generate', expected it on train calls "
   "only"},
  {"launch = graph\n", "launch = graph\nmoments-dtype = bf16\n",
   "x.plan:11: 'moments-dtype' of 'generate', expected it on train calls "
   "only"},
  {"launch = graph\n", "launch = graph\nzero = 1\n",
   "x.plan:11: 'zero' of 'generate' is 1, expected 0 or 3: only train calls "
   "have gradients and optimizer state"},
  {"[call score]\n", "[call verify]\nmesh = node0\ntp = 8\n[call score]\n",
   "x.plan:13: 'tp' of the host call 'verify', expected 'mesh' only"},
  /* Meshes and tiling. */
  {"mesh = node2\n", "mesh = node4\n",
   "x.plan:12: 'mesh': node 4 is outside the cluster, expected 0 to 3"},
  {"mesh = node2\n", "mesh = node2:gpu[0-8]\n",
   "x.plan:12: 'mesh': gpu 0-8 is outside a node, expected a range in 0-7"},
  {"mesh = node2\n", "mesh = nod2\n",
   "x.plan:12: 'mesh': 'nod2' is not a mesh, expected all, node[0-3], "
   "node[0-3,8-11], node5 or node0:gpu[0-3]"},
  {"mesh = node2\n", "",
   "x.plan:11: missing key 'mesh' in [call score], expected GPUs of the "
   "call, such as all, node[0-3] or node0:gpu[0-3]"},
  {"dp = 4", "dp = 8",
   "x.plan:7: 'dp' x 'tp' x 'pp' is 8 x 2 x 2 = 32, expected 16, the GPUs of "
   "'mesh'"},
  {"mesh = node2\ntp = 8\n", "mesh = node2\n",
   "x.plan:11: 'dp' x 'tp' x 'pp' is 1 x 1 x 1 = 1, expected 8, the GPUs of "
   "'mesh'"},
  {"mesh = node2\ntp = 8\n", "mesh = node2\ntp = 4\n",
   "x.plan:13: 'dp' x 'tp' x 'pp' is 1 x 4 x 1 = 4, expected 8, the GPUs of "
   "'mesh'"},
  /* 2^40 is beyond 32 bits but not beyond the product's 64. */
  {"dp = 4\ntp = 2\n", "dp = 1048576\ntp = 1048576\n",
   "x.plan:7: 'dp' x 'tp' x 'pp' is 1048576 x 1048576 x 2 = 2199023255552, "
   "expected 16, the GPUs of 'mesh'"},
  {"dp = 4\ntp = 2\npp = 2\n", "dp = 1048576\ntp = 1048576\npp = 1048576\n",
   "x.plan:7: 'dp' x 'tp' x 'pp' is 1048576 x 1048576 x 1048576 = "
   "1152921504606846976, expected 16, the GPUs of 'mesh'"},
  /* The model: 40 heads do not divide by 16. */
  {"dp = 4\ntp = 2\npp = 2\n", "tp = 16\n",
   "x.plan:7: 'tp' is 16, expected a divisor of 40, the attention heads of "
   "'llama-2-13b'"},
  /* 40 layers are fewer than 16 x 3 virtual stages. */
  {"dp = 2\ntp = 4  # of a node\npp = 2\nmicro-batches = 6\n"
   "schedule = interleaved:2\nsequence-parallel = true\n",
   "dp = 1\npp = 16\nmicro-batches = 6\nschedule = interleaved:3\n",
   "x.plan:18: 'pp' x virtual stages is 16 x 3 = 48, expected at most 40, the "
   "layers of 'llama-2-13b'"},
  /* Context and experts. */
  {"launch = graph\n", "launch = graph\ncp = 0\n",
   "x.plan:11: 'cp' is 0, expected an integer in [1, 1048576]"},
  {"dp = 4\n", "dp = 2\ncp = 2\n",
   "x.plan:8: 'cp' is 2 for the generate call 'generate', expected 1: a decode "
   "step has no sequence to share"},
  {"dp = 2\n", "dp = 2\ncp = 2\n",
   "x.plan:17: 'dp' x 'tp' x 'pp' x 'cp' is 2 x 4 x 2 x 2 = 32, expected 16, "
   "the GPUs of 'mesh'"},
  {"launch = graph\n", "dispatch = twice\n",
   "x.plan:10: 'dispatch' is 'twice', expected one of copies, once"},
  {"zero = 1", "ep = 2",
   "x.plan:24: 'ep' is 2, expected 1: 'llama-2-13b' is dense and has no "
   "experts to share"},
  {"launch = graph\n", "launch = graph\nsequence-parallel = no\n",
   "x.plan:11: 'sequence-parallel' is 'no', expected true or false"},
  {"dp = 4\ntp = 2\n", "dp = 8\nsequence-parallel = true\n",
   "x.plan:8: 'sequence-parallel' is true with 'tp' 1, expected 'tp' of at "
   "least 2 to share a sequence"},
  /* A service. */
  {"launch = graph\n", "service = drain\n",
   "x.plan:10: 'service' of 'generate', expected 'batching = continuous'"},
  {"launch = graph\n", "service = draining\n",
   "x.plan:10: 'service' is 'draining', expected one of none, drain, "
   "interrupt, in-flight, did you mean 'drain'?"},
  {"dp = 4\ntp = 2\npp = 2\n",
   "dp = 8\ntp = 2\npp = 1\nbatching = continuous\nservice = drain\n",
   "x.plan:11: 'service' of 'generate', expected a 'staleness' of at least 1 "
   "in the workload"},
  {"mesh = node2\ntp = 8\n", "mesh = node2\ntp = 8\nservice = drain\n",
   "x.plan:14: 'service' of 'score', expected it on generate calls only"},
  /* Long tails. */
  {"dp = 4\ntp = 2\npp = 2\n",
   "dp = 8\ntp = 2\npp = 1\nzero = 3\nassignment = length\n",
   "x.plan:11: 'assignment' with 'zero' 3, expected 0"},
  {"launch = graph\n", "length-prediction = 0.5\n",
   "x.plan:10: 'length-prediction' alone, expected 'assignment = length' too"},
  {"launch = graph\n", "unfinished = carry\n",
   "x.plan:10: 'unfinished' alone, expected 'over-sample' too"},
  {"launch = graph\n", "migrate-to = 3\n",
   "x.plan:10: 'migrate-to' alone, expected 'migrate-at' too"},
  {"launch = graph\n", "moved-kv = copy\n",
   "x.plan:10: 'moved-kv' alone, expected 'respread' or 'migrate-at' too"},
  {"launch = graph\n", "over-sample = 0.5\n",
   "x.plan:10: 'over-sample' is 0.5, expected a number in [1, 16]"},
  {"launch = graph\n", "migrate-at = 1\n",
   "x.plan:10: 'migrate-at' is 1, expected a number in [0, 0.999]"},
  {"launch = graph\n", "respread = 2\nmigrate-at = 0.5\n",
   "x.plan:10: 'respread' with 'migrate-at', expected one of the two: one "
   "spreads sequences, the other gathers them"},
  {"dp = 4\ntp = 2\npp = 2\n",
   "dp = 8\ntp = 2\npp = 1\nbatching = continuous\nmicro-batches = 2\n",
   "x.plan:10: 'batching' is continuous with 'micro-batches' 2 and 'pp' 1, "
   "expected 1"},
  {"dp = 4\ntp = 2\npp = 2\n",
   "dp = 8\ntp = 2\npp = 1\nmigrate-at = 0.5\nmigrate-to = 8\n",
   "x.plan:11: 'migrate-to' is 8, expected less than 8, 'dp'"},
  {"mesh = node2\ntp = 8\n", "mesh = node2\ntp = 8\nover-sample = 2\n",
   "x.plan:14: 'over-sample' of 'score', expected it on generate calls only"},
  {"mesh = node2\ntp = 8\n", "mesh = node2\ntp = 8\nexpert-dtype = mxfp4\n",
   "x.plan:14: 'expert-dtype' of 'score', expected it on generate calls only"},
  {"launch = graph\n", "launch = graph\nexpert-dtype = mxfp4\n",
   "x.plan:11: 'expert-dtype' of 'generate', expected a model with experts: "
   "'actor' has none"},
  {"launch = graph\n", "launch = graph\nexpert-dtype = fp4\n",
   "x.plan:11: 'expert-dtype' is 'fp4', expected one of mxfp4, nvfp4, did you "
   "mean 'mxfp4'?"},
  {"zero = 1\n", "zero = 1\ngemm-dtype = mxfp4\n",
   "x.plan:25: 'gemm-dtype' is 'mxfp4', expected one of fp8"},
  {"mesh = node2\ntp = 8\n", "mesh = node2\ntp = 8\nkv-dtype = fp8\n",
   "x.plan:14: 'kv-dtype' of 'score', expected it on generate calls only"},
  /* Mini-batches: 96 sequences. */
  {"micro-batches = 6\n", "micro-batches = 6\nmini-batches = 7\n",
   "x.plan:21: 'mini-batches' of 'train' is 7, expected a divisor of 96, its "
   "sequences, a multiple of 1, its parts, and at most 65535 steps of all "
   "epochs"},
  {"launch = graph\n", "launch = graph\nmini-batches = 2\n",
   "x.plan:11: 'mini-batches' of 'generate', expected it on train calls only"},
  /* Schedules. */
  {"interleaved:2", "interleaved",
   "x.plan:21: 'schedule' is 'interleaved', expected gpipe, 1f1b or "
   "interleaved:v with v virtual stages from 2 to 1000"},
  {"interleaved:2", "interleaved:1",
   "x.plan:21: 'schedule' is 'interleaved:1', expected gpipe, 1f1b or "
   "interleaved:v with v virtual stages from 2 to 1000"},
  {"interleaved:2", "1f1b:2",
   "x.plan:21: 'schedule' is '1f1b:2', expected gpipe, 1f1b or "
   "interleaved:v with v virtual stages from 2 to 1000"},
  {"interleaved:2", "gpip",
   "x.plan:21: 'schedule' is 'gpip', expected gpipe, 1f1b or interleaved:v "
   "with v virtual stages from 2 to 1000, did you mean 'gpipe'?"},
  {"dp = 2\ntp = 4  # of a node\npp = 2\n",
   "dp = 4\ntp = 4  # of a node\n",
   "x.plan:20: 'schedule' is interleaved with 'pp' 1, expected 'pp' of at "
   "least 2"},
  {"micro-batches = 6", "micro-batches = 3",
   "x.plan:20: 'micro-batches' is 3, expected a multiple of 2, 'pp', for an "
   "interleaved 'schedule'"},
  /* Batches: 96 / (4 x 2) = 12 sequences, 96 / (3 x 4) = 8. */
  {"micro-batches = 6", "micro-batches = 8",
   "x.plan:20: mini-batches x 'dp' x 'micro-batches' is 4 x 2 x 8, expected a "
   "divisor of 96, the sequences of 'train'"},
  {"launch = graph\n", "micro-batches = 3\n",
   "x.plan:10: parts x 'dp' x 'micro-batches' is 3 x 4 x 3, expected a "
   "divisor of 96, the sequences of 'generate'"},
  /* The default of 2 pp = 8 micro-batches: 96 / (4 x 4) = 6 sequences. */
  {"dp = 2\ntp = 4  # of a node\npp = 2\nmicro-batches = 6\n"
   "schedule = interleaved:2\nsequence-parallel = true\n",
   "dp = 4\npp = 4\n",
   "x.plan:17: mini-batches x 'dp' x 'micro-batches' is 4 x 4 x 8, expected a "
   "divisor of 96, the sequences of 'train'"},
  {"micro-batches = 16", "micro-batches = 1048576",
   "x.plan:14: parts x 'dp' x 'micro-batches' is 3 x 1 x 1048576, expected a "
   "divisor of 96, the sequences of 'score'"},
  /* Ranks and stages. */
  {"dp-tp-pp", "dp-tp", "x.plan:27: 'rank-order' is 'dp-tp', " SYNTAX},
  {"dp-tp-pp", "dp-tp-tp", "x.plan:27: 'rank-order' is 'dp-tp-tp', " SYNTAX},
  {"dp-tp-pp", "dp-tp-cp", "x.plan:27: 'rank-order' is 'dp-tp-cp', " SYNTAX},
  {"dp-tp-pp", "dp-tp-pp-cp-ep",
   "x.plan:27: 'rank-order' is 'dp-tp-pp-cp-ep', " SYNTAX},
  {"11, 10, 10, 9", "11, 10, 10",
   "x.plan:28: 'stage-layers' has 3 numbers, expected 4, 'pp' x virtual "
   "stages"},
  {"11, 10, 10, 9", "11, 10, 10, 10",
   "x.plan:28: 'stage-layers' sum to 41, expected 40, the layers of "
   "'llama-2-13b'"},
  {"11, 10, 10, 9", "21, 10, 9, 0",
   "x.plan:28: 'stage-layers': a stage is '0', expected a whole number from 1 "
   "to 40"},
};
/* clang-format on */

START_TEST(test_faults)
{
  ra_check_faults(good, faults, G_N_ELEMENTS(faults), load);
}
END_TEST

/* Faults that one edit of `good` cannot show: GQA and widths. */
START_TEST(test_model_faults)
{
  /* LLaMA-2-70B: 8 kv heads; tp = 16 shares each between two ranks, fine. */
  char *shared =
      ra_edit(good, "mesh = node2\ntp = 8\n", "mesh = node[2-3]\ntp = 16\n");
  /* 40 heads divide by 20 and the 40 kv heads do too, 13,824 does not. */
  char *narrow =
      ra_edit(cluster_text, "gpus-per-node = 8", "gpus-per-node = 5");
  char *text = ra_edit(good, "mesh = node[0-1]\ndp = 4\ntp = 2\npp = 2\n",
                       "mesh = node[0-3]\ntp = 20\n");
  RaKeyFile *file = key_file("c.cluster", narrow);
  RaCluster *wide = cluster;

  ck_assert(load(shared, NULL));
  cluster = ra_cluster_load(file, NULL);
  ck_assert(ra_gives(text,
                     "x.plan:7: 'tp' is 20, expected a divisor of 13824, the "
                     "MLP width of 'llama-2-13b'",
                     load));
  ra_cluster_free(cluster);
  cluster = wide;
  ra_key_file_unref(file);
  g_free(text);
  g_free(narrow);
  g_free(shared);
}
END_TEST

START_TEST(test_corpus)
{
  ra_check_corpus("plan");
}
END_TEST

static Suite *
plan_bad_suite(void)
{
  Suite *suite = suite_create("plan_bad");
  TCase *tcase = tcase_create("core");

  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_model_faults);
  tcase_add_test(tcase, test_corpus);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(plan_bad_suite)
