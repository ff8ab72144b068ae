/* Models beside the plain ones, in layouts, against one rank: norms of the
 * heads of q and k, experts that ranks share, LayerNorm with biases, learned
 * positions, ALiBi. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

/* Two iterations of five optimizer steps of eight sequences. */
static const char head[] =
    "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"
    "prompts = 10\nprompt-length = uniform(2, 4)\n"
    "response-length = uniform(2, 6)\nmini-batches = 5\n";

typedef struct {
  const char *config;
  const char *all;      /* lines of every call, "gpus = n" first */
  const char *train;    /* further lines of training */
  const char *generate; /* NULL: as all */
} Case;

#define QWEN3 "run-qwen3.json"
#define MIXTRAL "run-mixtral.json"
#define QWEN3_MOE "run-qwen3-moe.json"
#define QWEN2_MOE "run-qwen2-moe.json"
#define GLM4_MOE "run-glm4-moe.json"
#define MINISTRAL "run-ministral.json"
#define GPT_OSS "run-gpt-oss.json"
#define DEEPSEEK "run-deepseek-v3.json"
#define GPT2 "run-gpt2.json"
#define BLOOM "run-bloom.json"

/* clang-format off */
static const Case cases[] = {
    {QWEN3, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\n",
     "micro-batches = 2\nrecompute = full\n", NULL},
    {QWEN3, "mesh = node0:gpu[0-7]\ntp = 8\n", "recompute = selective\n", NULL},
    {QWEN3, "mesh = node0:gpu[0-3]\ndp = 4\n",
     "", "mesh = node0:gpu[0-3]\ntp = 4\n"},
    {MIXTRAL, "mesh = node0:gpu[0-3]\ntp = 4\n", "", NULL},
    {MIXTRAL, "mesh = node0:gpu[0-1]\ndp = 2\nep = 2\n", "", NULL},
    {MIXTRAL, "mesh = node0:gpu[0-3]\ndp = 4\nep = 4\n",
     "recompute = full\n", NULL},
    {MIXTRAL, "mesh = node0:gpu[0-3]\ndp = 4\nep = 2\n", "", NULL},
    {MIXTRAL, "mesh = node0:gpu[0-7]\ndp = 4\ntp = 2\nep = 2\n",
     "overlap-grad-reduce = true\n", NULL},
    {MIXTRAL, "mesh = node0:gpu[0-7]\ndp = 4\npp = 2\nep = 2\n",
     "micro-batches = 2\noverlap-grad-reduce = true\n", NULL},
    {MIXTRAL, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\nep = 2\n",
     "micro-batches = 2\nrecompute = selective\n", NULL},
    /* experts move between layouts after every training */
    {MIXTRAL, "mesh = node0:gpu[0-3]\ndp = 4\nep = 4\n", "",
     "mesh = node0:gpu[0-3]\ndp = 2\ntp = 2\nep = 2\n"},
    {MIXTRAL, "mesh = node0:gpu[0-3]\ndp = 2\npp = 2\nep = 2\n", "",
     "mesh = node0:gpu[0-3]\ndp = 4\n"},
    /* sequences shared, and rows */
    {QWEN3, "mesh = node0:gpu[0-7]\ncp = 4\ntp = 2\n", "recompute = full\n",
     "mesh = node0:gpu[0-7]\ndp = 4\ntp = 2\n"},
    {MIXTRAL, "mesh = node0:gpu[0-7]\ncp = 2\ndp = 2\ntp = 2\nep = 4\n",
     "recompute = selective\n", "mesh = node0:gpu[0-7]\ntp = 8\n"},
    {MIXTRAL,
     "mesh = node0:gpu[0-3]\ndp = 2\ntp = 2\nep = 2\n"
     "sequence-parallel = true\n",
     "", "mesh = node0:gpu[0-3]\ndp = 4\n"},
    {MIXTRAL,
     "mesh = node0:gpu[0-7]\ncp = 2\ntp = 2\npp = 2\nep = 2\n"
     "sequence-parallel = true\n",
     "micro-batches = 2\nrecompute = full\n",
     "mesh = node0:gpu[0-7]\ndp = 4\ntp = 2\n"},
    {QWEN3_MOE,
     "mesh = node0:gpu[0-7]\ndp = 2\ntp = 4\nep = 2\n"
     "sequence-parallel = true\n",
     "zero = 1\n", "mesh = node0:gpu[0-7]\ntp = 8\n"},
    {QWEN3_MOE, "mesh = node0:gpu[0-7]\ndp = 8\nep = 8\n", "", NULL},
    {QWEN3_MOE, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 4\nep = 2\n",
     "recompute = full\n", NULL},
    /* shared experts: beside those of all ranks, beside rows that ranks share,
     * which they gather on their own; a gate, or sigmoids and groups */
    {QWEN2_MOE, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\nep = 2\n",
     "micro-batches = 2\nrecompute = full\n",
     "mesh = node0:gpu[0-3]\ntp = 4\n"},
    {QWEN2_MOE,
     "mesh = node0:gpu[0-7]\ndp = 4\ntp = 2\nep = 4\n"
     "sequence-parallel = true\n",
     "zero = 1\n", "mesh = node0:gpu[0-7]\ndp = 8\nep = 2\n"},
    {QWEN2_MOE,
     "mesh = node0:gpu[0-3]\ndp = 2\ntp = 2\nsequence-parallel = true\n",
     "recompute = selective\n", NULL},
    {GLM4_MOE, "mesh = node0:gpu[0-7]\ncp = 2\ndp = 2\ntp = 2\nep = 4\n",
     "recompute = full\n", "mesh = node0:gpu[0-7]\ntp = 8\n"},
    {GLM4_MOE,
     "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\nep = 2\n"
     "sequence-parallel = true\n",
     "micro-batches = 2\n", "mesh = node0:gpu[0-3]\ndp = 4\n"},
    /* windows in every other layer */
    {MINISTRAL, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\n",
     "micro-batches = 2\nrecompute = selective\n",
     "mesh = node0:gpu[0-3]\ntp = 4\n"},
    {MINISTRAL, "mesh = node0:gpu[0-3]\ntp = 4\nsequence-parallel = true\n",
     "recompute = full\n", "mesh = node0:gpu[0-3]\ndp = 2\npp = 2\n"},
    /* sinks of the heads of a rank, biases of experts that tensor-parallel
     * ranks have in part, alone and beside rows that they share */
    {GPT_OSS, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\nep = 2\n",
     "micro-batches = 2\nrecompute = selective\n",
     "mesh = node0:gpu[0-3]\ntp = 4\n"},
    {GPT_OSS,
     "mesh = node0:gpu[0-7]\ndp = 4\ntp = 2\nep = 4\n"
     "sequence-parallel = true\n",
     "zero = 1\nrecompute = full\n", "mesh = node0:gpu[0-7]\ndp = 8\nep = 2\n"},
    /* latents that every tensor-parallel rank makes, of all rows */
    {DEEPSEEK, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\nep = 2\n",
     "micro-batches = 2\nrecompute = selective\n",
     "mesh = node0:gpu[0-3]\ntp = 4\n"},
    {DEEPSEEK,
     "mesh = node0:gpu[0-7]\ndp = 2\ntp = 4\nsequence-parallel = true\n",
     "zero = 1\nrecompute = full\n", "mesh = node0:gpu[0-7]\ntp = 8\n"},
    /* biases that are added once, tables and norms of rows that ranks share */
    {GPT2, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\n",
     "micro-batches = 2\nrecompute = full\n", NULL},
    {GPT2, "mesh = node0:gpu[0-3]\ntp = 4\nsequence-parallel = true\n", "",
     "mesh = node0:gpu[0-3]\ndp = 2\npp = 2\n"},
    {GPT2, "mesh = node0:gpu[0-7]\ncp = 2\ndp = 2\ntp = 2\n", "zero = 1\n",
     "mesh = node0:gpu[0-7]\ntp = 8\n"},
    {BLOOM, "mesh = node0:gpu[0-7]\ndp = 2\ntp = 2\npp = 2\n",
     "micro-batches = 2\nrecompute = selective\n", NULL},
    {BLOOM,
     "mesh = node0:gpu[0-3]\ntp = 2\npp = 2\nsequence-parallel = true\n", "",
     "mesh = node0:gpu[0-3]\ntp = 4\n"},
    /* distances to keys that come round a ring */
    {BLOOM, "mesh = node0:gpu[0-7]\ncp = 4\ntp = 2\n", "recompute = full\n",
     "mesh = node0:gpu[0-7]\ndp = 4\ntp = 2\n"},
};
/* clang-format on */

static RunFixture *
new_run(const Case *c, uint64_t seed)
{
  g_autofree char *train = g_strconcat(c->all, c->train, NULL);
  RunSpec spec = {.algorithm = "grpo",
                  .config = c->config,
                  .all = c->all,
                  .generate = c->generate,
                  .train_alone = train,
                  .head = head,
                  .n_iterations = 2,
                  .seed = seed};

  return run_fixture_new(&spec);
}

static RunFixture *
run_of(const Case *c, uint64_t seed)
{
  RunFixture *f = new_run(c, seed);

  run_fixture_go(f);
  return f;
}

static const RaColumn *
column(const RunFixture *f, uint32_t iteration, const char *call,
       gboolean tokens)
{
  return ra_experience_column(ra_run_experience(f->run, iteration),
                              ra_workload_find_call(f->text->workload, call),
                              tokens, RA_NONE);
}

/* The reference's log-probabilities of the first iteration. */
static double
forward_error(const RunFixture *x, const RunFixture *y)
{
  const RaColumn *a = column(x, 0, "ref", FALSE);
  const RaColumn *b = column(y, 0, "ref", FALSE);
  double worst = 0;

  ck_assert_uint_gt(a->n, 40);
  ck_assert_uint_eq(a->n, b->n);
  for (gsize i = 0; i < a->n; i++)
    worst = fmax(worst, fabs((double)a->values[i] - (double)b->values[i]));
  return worst;
}

static guint
tokens_apart(const RunFixture *x, const RunFixture *y)
{
  guint n = 0;

  for (uint32_t k = 0; k < 2; k++) {
    const RaColumn *a = column(x, k, "gen", TRUE);
    const RaColumn *b = column(y, k, "gen", TRUE);

    ck_assert_uint_eq(a->n, b->n);
    for (gsize i = 0; i < a->n; i++)
      n += a->tokens[i] != b->tokens[i];
  }
  return n;
}

/* Layouts add in other orders.  fp32 roundings on the longest way to a logit,
 * four layers of 32 hidden and at most 128 inner elements: 32 each for two
 * norms, q, k and v, the output and the gate, 128 down, 8 for a score, 10 each
 * for softmax and values, 4 for the activation: 320 a layer, 64 for the last
 * norm and the head; 1,344, and as many on the other side.
 *
 * FORWARD_BAR: if all had one sign, 2,688 u of logits of at most 0.5 (of 32
 * normed elements and weights of 0.02): 8e-5, and some 10 u of the sum's ln 61.
 * NORM_BAR: the gradient's way is twice as long: 5,376 u.
 *
 * PARAMS_BAR of the largest parameter, 1: a tenth of one step of one element
 * (rate 1e-3), so that an update left out shows tenfold.  Roundings have no
 * such bound, as AdamW divides by the gradient's size: an element whose
 * gradient is 0 but for them may step either way.  The worst of the cases is
 * 1e-5, and the seed is one that draws no token at a tie, else a layout may
 * draw another and is another run. */
#define FORWARD_BAR 1e-4
#define NORM_BAR (5376 * 0x1p-24)
#define PARAMS_BAR 1e-4

START_TEST(test_one_rank)
{
  const Case *c = &cases[_i];
  const Case alone = {c->config, "mesh = node0:gpu[0-0]\n", "", NULL};
  RunFixture *one = run_of(&alone, 8), *many = run_of(c, 8);
  g_autoptr(GArray) a = run_fixture_params(one, "atrain");
  g_autoptr(GArray) b = run_fixture_params(many, "atrain");
  double forward = forward_error(one, many), off = run_fixture_worst(b, a);

  printf("# %d: forward %.2g, parameters %.2g, %u ties\n", _i, forward, off,
         ra_run_iteration(one->run, 0)->n_ties);
  ck_assert_uint_eq(tokens_apart(one, many), 0);
  ck_assert_msg(forward < FORWARD_BAR, "%d: forward off by %g", _i, forward);
  ck_assert_msg(off < PARAMS_BAR, "%d: parameters off by %g", _i, off);
  ck_assert_double_eq_tol(ra_run_iteration(one->run, 1)->grad_norm /
                              ra_run_iteration(many->run, 1)->grad_norm,
                          1, NORM_BAR);
  run_fixture_free(one);
  run_fixture_free(many);
}
END_TEST

/* The faults: another seed is another run; the log-probability of the next
 * token is another one. */
START_TEST(test_fault)
{
  const Case alone = {MIXTRAL, "mesh = node0:gpu[0-0]\n", "", NULL};
  RunFixture *one = run_of(&alone, 8), *many = run_of(&cases[4], 9);
  g_autoptr(GArray) a = run_fixture_params(one, "atrain");
  g_autoptr(GArray) b = run_fixture_params(many, "atrain");

  const RaColumn *column_one = column(one, 0, "ref", FALSE);
  double worst = 0;

  ck_assert_double_gt(run_fixture_worst(b, a), 10 * PARAMS_BAR);
  for (gsize i = 1; i < column_one->n; i++)
    worst = fmax(worst, fabs((double)column_one->values[i] -
                             (double)column_one->values[i - 1]));
  ck_assert_double_gt(worst, 10 * FORWARD_BAR);
  run_fixture_free(one);
  run_fixture_free(many);
}
END_TEST

/* The same layout twice: the same bits. */
START_TEST(test_twice)
{
  RunFixture *x = run_of(&cases[7], 8), *y = run_of(&cases[7], 8);
  g_autoptr(GArray) a = run_fixture_params(x, "atrain");
  g_autoptr(GArray) b = run_fixture_params(y, "atrain");

  ck_assert_mem_eq(a->data, b->data, a->len * sizeof(float));
  run_fixture_free(x);
  run_fixture_free(y);
}
END_TEST

/* Four ranks that share experts: an exchange asks for the rows of the other
 * three before it packs any, forward and backward, in steps too; so often as a
 * rank records one.  One that received in turn (the fault) would ask for none
 * ahead. */
START_TEST(test_rows_ahead)
{
  RunFixture *f = new_run(&cases[5], 8);
  g_autoptr(RaTrace) trace = ra_trace_new();
  uint32_t n = 0;

  f->options.ops = TRUE;
  run_fixture_go(f);
  ra_run_trace(f->run, trace);
  for (guint i = 0; i < ra_trace_n_rows(trace); i++)
    n += g_strcmp0(ra_trace_row(trace, i)->op, ra_op_name(RA_OP_ALL_TO_ALL)) ==
         0;
  ck_assert_uint_gt(n, 100);
  ck_assert_uint_eq(ra_run_n_ahead(f->run, RA_AHEAD_EXPERTS), 3 * n);
  run_fixture_free(f);
}
END_TEST

/* Shipped models that the host runs, and what keeps it from others: the key of
 * config.json that decides. */
static const struct {
  const char *name, *refusal;
} shipped[] = {
    {"qwen3-30b-a3b", NULL},
    {"qwen1.5-moe-a2.7b", NULL},
    {"glm-4.5", NULL},
    {"glm-4.5-air", NULL},
    {"deepseek-v3", NULL},
    {"moonlight-16b-a3b", NULL},
    {"kimi-k2", NULL},
    {"glm-4.7-flash", NULL},
    {"glm-5", "an indexer of keys ('index_topk')"},
    {"deepseek-v4-flash",
     "compressed attention ('layer_types', 'compress_ratios')"},
    {"qwen3-next-80b-a3b", "gated delta nets ('layer_types')"},
    {"nemotron-nano-9b-v2", "Mamba-2 ('layer_types', "},
    {"gpt-oss-20b", NULL},
    {"gemma-3-1b", "layers of a family for plans alone ('model_type')"},
    {"minimax-m2", "layers of a family for plans alone ('model_type')"},
    {"minimax-m3", "an indexer of blocks ('layer_types', "},
    {"pythia-1b", "layers of a family for plans alone ('model_type')"},
    {"nemotron-4-15b", "norms whose scale is stored less one"},
};

START_TEST(test_shipped)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path = g_strdup_printf(
      "%s/share/models/%s.json", srcdir ? srcdir : ".", shipped[_i].name);
  g_autoptr(GError) error = NULL;
  g_autoptr(RaModel) model = ra_model_load(path, &error);
  RaNumerics numerics = RA_NUMERICS_DEFAULT;

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  if (!shipped[_i].refusal) {
    ck_assert(ra_stage_supports(model, NULL));
    ck_assert(ra_weights_model_numerics(model, &numerics, NULL));
    return;
  }
  ck_assert(!ra_stage_supports(model, &error) ||
            !ra_weights_model_numerics(model, &numerics, &error));
  ck_assert_msg(strstr(error->message, shipped[_i].refusal) != NULL, "%s",
                error->message);
}
END_TEST

static Suite *
families_suite(void)
{
  Suite *suite = suite_create("families");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_one_rank, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_fault);
  tcase_add_test(tcase, test_twice);
  tcase_add_test(tcase, test_rows_ahead);
  tcase_add_loop_test(tcase, test_shipped, 0, (int)G_N_ELEMENTS(shipped));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(families_suite)
