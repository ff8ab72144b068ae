/* Tests of layouts of ranks that share an emulated GPU, against one rank. */
#include "config.h"

#include <math.h>

#include "exec/backend/backend_cuda.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

/* Layouts of one to eight ranks that share an emulated GPU against one rank of
 * it: AdamW's first moments after one step, which are the gradients times a
 * constant.  Ranks that hold the same moments have the same bits
 * (run_fixture_moments()).
 *
 * Bounds, of the distance of the moments in parts of their norm.  Ranks of a
 * tensor-parallel group make a row's hidden states as one rank does, rounded to
 * bf16 after a sum of parts that were rounded themselves.  A gradient of four
 * layers is made by 177 roundings to bf16 on its longest way, as
 * tests/device/check_backend_cuda.c counts them: 14 a layer and 3 forward,
 * twice that backward.  Those of two runs are independent of each other, 2^-9
 * each at most, so their squares add up: sqrt(2 x 177) 2^-9 = 0.037.  Every
 * other layout computes each sequence as one rank does and only adds fp32
 * gradients of at most 8 x 9 tokens in another order: 72 roundings of 2^-24.
 * Four sequences are enough for all but eight replicas, which have eight.
 * Ranks that share sequences attend to their keys in as many steps as they are,
 * of which each but the first rounds a layer's output, and backward its
 * gradients, once more: 12 on that way.
 */
#define WAY 177
#define RING_WAY 12
#define TENSOR 0.037
#define ORDER (72 * 0x1p-24)

typedef struct {
  uint32_t dp, tp, pp, cp;
  const char *lines; /* further ones of the train call */
} Layout;

/* clang-format off */
static const Layout layouts[] = {
    {2, 1, 1, 1, ""},
    {4, 1, 1, 1, "zero = 1\n"},
    {8, 1, 1, 1, "zero = 1\noverlap-grad-reduce = true\n"},
    {2, 1, 1, 1, "micro-batches = 2\noverlap-grad-reduce = true\n"},
    {1, 1, 1, 1, "micro-batches = 4\n"},
    {1, 1, 1, 1, "recompute = selective\n"},
    {1, 1, 1, 1, "recompute = full\n"},
    {1, 2, 1, 1, ""},
    {1, 4, 1, 1, "recompute = selective\n"},
    {1, 2, 1, 1, "sequence-parallel = true\n"},
    {1, 4, 1, 1, "sequence-parallel = true\nrecompute = full\n"},
    {2, 2, 1, 1, "sequence-parallel = true\nzero = 1\n"},
    {2, 4, 1, 1, "zero = 1\noverlap-grad-reduce = true\n"},
    {1, 1, 2, 1, "micro-batches = 2\n"},
    {1, 1, 2, 1, "micro-batches = 2\nschedule = gpipe\n"},
    {1, 1, 2, 1, "micro-batches = 2\nschedule = interleaved:2\n"},
    {1, 1, 2, 1, "micro-batches = 2\nstage-layers = 3,1\n"},
    {1, 1, 4, 1, "micro-batches = 4\nrecompute = full\n"},
    {1, 2, 2, 1, "micro-batches = 2\nsequence-parallel = true\n"},
    {2, 1, 2, 1, "micro-batches = 2\nzero = 1\noverlap-grad-reduce = true\n"},
    {2, 2, 2, 1, "micro-batches = 2\nrecompute = full\n"},
    {1, 2, 4, 1, "micro-batches = 4\nsequence-parallel = true\n"},
    {2, 2, 2, 1, "micro-batches = 2\nschedule = interleaved:2\nzero = 1\n"
              "sequence-parallel = true\n"},
    {1, 1, 1, 2, ""},
    {1, 1, 1, 4, "recompute = full\n"},
    {2, 1, 1, 2, "zero = 1\noverlap-grad-reduce = true\n"},
    {1, 2, 1, 2, "sequence-parallel = true\n"},
    {1, 1, 2, 4, "micro-batches = 2\nrecompute = selective\n"},
};

/* Layouts of a model with experts, two of eight a token.  Which two is no
 * continuous function of the states, so a choice that roundings change is not
 * in TENSOR: these tokens have none that shows, the worst is 0.0067.  Ranks
 * that share experts alone have the bits of one rank's states, and so its
 * choices. */
static const Layout of_experts[] = {
    {1, 1, 1, 1, "recompute = full\nmicro-batches = 2\n"},
    {2, 1, 1, 1, "ep = 2\n"},
    {4, 1, 1, 1, "ep = 4\nzero = 1\n"},
    {4, 1, 1, 1, "ep = 2\noverlap-grad-reduce = true\n"},
    {8, 1, 1, 1, "ep = 8\nrecompute = selective\n"},
    {2, 1, 2, 1, "ep = 2\nmicro-batches = 2\nrecompute = full\n"},
    {1, 2, 1, 1, ""},
    {2, 2, 1, 1, "ep = 2\n"},
    {2, 2, 1, 1, "ep = 2\nsequence-parallel = true\nzero = 1\n"},
};

/* Layouts of one with ALiBi, whose distances are of places in whole sequences,
 * and whose slopes of heads of all ranks. */
static const Layout of_distances[] = {
    {1, 1, 1, 4, "recompute = full\n"},
    {1, 2, 1, 2, ""},
};

/* Layouts of one whose 61 tokens are no whole vectors of a row of logits:
 * columns of a rank, or of two ranks 31 and 30, have a padding
 * (ra_logits_row()). */
static const Layout of_odd_tokens[] = {
    {2, 1, 1, 1, "micro-batches = 2\n"},
    {1, 2, 1, 1, ""},
    {1, 2, 2, 1, "micro-batches = 2\nsequence-parallel = true\n"},
};
/* clang-format on */

/* Models, all bf16's on the device. */
enum { DENSE, EXPERTS, DISTANCES, ODD_TOKENS, N_MODELS };

static const char *const configs[] = {"run-device.json", "run-device-moe.json",
                                      "run-device-bloom.json",
                                      "run-device-gpt2.json"};

/* (transfer full): the moments of a step on @n_prompts sequences. */
static GArray *
moments_of(const Layout *l, int model, uint32_t n_prompts,
           const RaBackend *backend)
{
  g_autofree char *head =
      g_strdup_printf("[workload]\nformat = 1\nalgorithm = test\n"
                      "dataset = prompts\nprompts = %u\n"
                      "prompt-length = uniform(2, 4)\n"
                      "response-length = uniform(2, 5)\n"
                      "mini-batches = 1\n",
                      n_prompts);
  g_autofree char *all = g_strdup_printf(
      "mesh = node0:gpu[0-%u]\ndp = %u\ntp = %u\npp = %u\n"
      "cp = %u\n%s",
      l->dp * l->tp * l->pp * l->cp - 1, l->dp, l->tp, l->pp, l->cp, l->lines);
  RunSpec spec = {.algorithm = "sft",
                  .config = configs[model],
                  .all = all,
                  .train = backend ? "grad-dtype = fp32\n" : NULL,
                  .n_iterations = 1,
                  .seed = 3,
                  .head = head,
                  .dtype = backend ? "dtype = bf16" : NULL};
  RunFixture *f = run_fixture_new(&spec);
  GArray *moments;

  f->options.backend = backend;
  run_fixture_go(f);
  if (backend)
    ck_assert_msg(!backend->failure(), "%s", backend->failure());
  moments = run_fixture_moments(f, "atrain");
  run_fixture_free(f);
  return moments;
}

/* |x - y| / |y| */
static double
apart(const GArray *x, const GArray *y)
{
  double a = 0, b = 0;

  ck_assert_uint_eq(x->len, y->len);
  for (guint i = 0; i < x->len; i++) {
    double v = (double)g_array_index(y, float, i);
    double d = (double)g_array_index(x, float, i) - v;

    a += d * d;
    b += v * v;
  }
  return sqrt(a / b);
}

static const Layout alone = {1, 1, 1, 1, ""};
enum { FEW = 4, MANY = 8 };
static GArray *one[N_MODELS]; /* of all tests: one rank, FEW sequences */

static void
setup(void)
{
  for (int i = 0; i < N_MODELS; i++)
    one[i] = moments_of(&alone, i, FEW, ra_backend_cuda());
}

static void
teardown(void)
{
  for (int i = 0; i < N_MODELS; i++)
    g_array_unref(one[i]);
}

/* A kernel's threads are fibers, which AddressSanitizer makes slow: there every
 * eighth layout runs. */
#define EVERY (RA_CHECK_SHARE > 1 ? 2 * RA_CHECK_SHARE : 1)

static double
bound_of(const Layout *l)
{
  if (l->cp > 1)
    return sqrt(2 * WAY + RING_WAY * (l->cp - 1.0)) * 0x1p-9;
  return l->tp > 1 ? TENSOR : ORDER;
}

static void
check_layout(const Layout *l, int model)
{
  uint32_t n = l->dp > FEW ? MANY : FEW;
  g_autoptr(GArray) many = moments_of(l, model, n, ra_backend_cuda());
  g_autoptr(GArray) single =
      n == FEW ? g_array_ref(one[model])
               : moments_of(&alone, model, n, ra_backend_cuda());
  double off = apart(many, single);

  ck_assert_msg(off <= bound_of(l),
                "dp %u tp %u pp %u cp %u %s: moments are %g apart", l->dp,
                l->tp, l->pp, l->cp, l->lines, off);
}

START_TEST(test_layouts)
{
  if (_i % EVERY == 0)
    check_layout(&layouts[_i], DENSE);
}
END_TEST

START_TEST(test_experts)
{
  if (_i % EVERY == 0)
    check_layout(&of_experts[_i], EXPERTS);
}
END_TEST

START_TEST(test_distances)
{
  if (_i % EVERY == 0)
    check_layout(&of_distances[_i], DISTANCES);
}
END_TEST

START_TEST(test_odd_tokens)
{
  if (_i % EVERY == 0)
    check_layout(&of_odd_tokens[_i], ODD_TOKENS);
}
END_TEST

/* The one rank against the host's fp32, whose roundings do not count; and the
 * fault, a sequence of four left out. */
START_TEST(test_one)
{
  g_autoptr(GArray) host = moments_of(&alone, _i, FEW, NULL);
  g_autoptr(GArray) fault = moments_of(&alone, _i, FEW - 1, ra_backend_cuda());

  ck_assert_double_le(apart(one[_i], host), TENSOR);
  ck_assert_double_gt(apart(one[_i], host), ORDER);
  ck_assert_double_gt(apart(fault, one[_i]), 2 * TENSOR);
}
END_TEST

static Suite *
backend_cuda_layouts_suite(void)
{
  Suite *suite = suite_create("backend_cuda_layouts");
  TCase *tcase = tcase_create("core");

  tcase_add_unchecked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 900);
  tcase_add_loop_test(tcase, test_layouts, 0, G_N_ELEMENTS(layouts));
  tcase_add_loop_test(tcase, test_experts, 0, G_N_ELEMENTS(of_experts));
  tcase_add_loop_test(tcase, test_distances, 0, G_N_ELEMENTS(of_distances));
  tcase_add_loop_test(tcase, test_odd_tokens, 0, G_N_ELEMENTS(of_odd_tokens));
  tcase_add_loop_test(tcase, test_one, 0, N_MODELS);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_layouts_suite)
