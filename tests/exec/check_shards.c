/* ZeRO-1: shards of what a rank has, and runs on them. */
#include "config.h"

#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(list) "mesh = node0:gpu[" list "]\n"
#define ALL GPUS("0-7")

typedef struct {
  const char *algorithm, *config, *all, *train;
} Case;

/* clang-format off */
static const Case cases[] = {
    {"ppo", "run.json", GPUS("0-1") "dp = 2\n", ""},
    {"ppo", "run.json", ALL "dp = 8\n", "overlap-grad-reduce = true\n"},
    {"grpo", "run.json", ALL "dp = 4\ntp = 2\n", ""},
    {"sft", "run-tied.json", ALL "dp = 2\ntp = 2\npp = 2\n",
     "micro-batches = 2\noverlap-grad-reduce = true\n"},
    {"grpo", "run.json", ALL "dp = 4\npp = 2\n",
     "micro-batches = 2\nschedule = interleaved:2\n"
     "overlap-grad-reduce = true\n"},
    {"grpo", "run-qwen3.json", ALL "dp = 2\ntp = 4\n", ""},
    {"grpo", "run-mixtral.json", ALL "dp = 4\ntp = 2\nep = 2\n", ""},
};
/* clang-format on */

static RunFixture *
run_of(const Case *c, gboolean zero, float max_norm, uint64_t seed)
{
  g_autofree char *train =
      g_strconcat(c->train, zero ? "zero = 1\n" : "", NULL);
  RunSpec spec = {.algorithm = c->algorithm,
                  .config = c->config,
                  .all = c->all,
                  .train = train,
                  .n_iterations = 3,
                  .seed = seed};
  RunFixture *f = run_fixture_new(&spec);

  f->options.max_grad_norm = max_norm;
  run_fixture_go(f);
  return f;
}

static gboolean
same_bits(const RunFixture *a, const RunFixture *b, gboolean moments)
{
  g_autoptr(GArray) x = moments ? run_fixture_moments(a, "atrain")
                                : run_fixture_params(a, "atrain");
  g_autoptr(GArray) y = moments ? run_fixture_moments(b, "atrain")
                                : run_fixture_params(b, "atrain");

  ck_assert_uint_gt(x->len, 1000);
  ck_assert_uint_eq(x->len, y->len);
  return memcmp(x->data, y->data, x->len * sizeof(float)) == 0;
}

/* Gradients are summed in the order of ranks, scattered or not, and a step is
 * element by element: without clipping parameters and moments after three
 * iterations are those of zero 0 to the bit. */
START_TEST(test_same_bits)
{
  RunFixture *whole = run_of(&cases[_i], FALSE, 0, 5);
  RunFixture *shards = run_of(&cases[_i], TRUE, 0, 5);
  RunFixture *other = run_of(&cases[_i], TRUE, 0, 6);

  ck_assert(same_bits(whole, shards, FALSE));
  ck_assert(same_bits(whole, shards, TRUE));
  ck_assert(!same_bits(whole, other, FALSE)); /* it can fail */
  run_fixture_free(whole);
  run_fixture_free(shards);
  run_fixture_free(other);
}
END_TEST

/* The norm adds the same squares in another order, in double precision, and
 * sums of ranks in single: within a few 2^-24 of it.  Clipped to a tenth (the
 * norm is above 0.1 in every case) parameters are within the bar of layouts,
 * 1e-4. */
START_TEST(test_clipped)
{
  RunFixture *whole = run_of(&cases[_i], FALSE, 0.1f, 5);
  RunFixture *shards = run_of(&cases[_i], TRUE, 0.1f, 5);
  g_autoptr(GArray) x = run_fixture_params(whole, "atrain");
  g_autoptr(GArray) y = run_fixture_params(shards, "atrain");
  double norm = ra_run_iteration(whole->run, 0)->grad_norm;

  ck_assert_double_gt(norm, 0.1);
  ck_assert_double_eq_tol(ra_run_iteration(shards->run, 0)->grad_norm, norm,
                          1e-6 * norm);
  ck_assert_double_lt(run_fixture_worst(y, x), 1e-4);
  run_fixture_free(whole);
  run_fixture_free(shards);
}
END_TEST

/* Each element is stepped by one of the ranks that have it: eight replicas of
 * all have an eighth of the moments each, or one element more a run. */
START_TEST(test_shares)
{
  RunFixture *f = run_of(&cases[1], TRUE, 1, 5);
  uint32_t call = ra_workload_find_call(f->text->workload, "atrain");
  const RaParams *p = ra_run_params(f->run, call, 0);
  gsize sum = 0, whole = p->n;

  for (uint32_t gpu = 0; gpu < 8; gpu++) {
    p = ra_run_params(f->run, call, gpu);
    sum += p->n_moments;
    ck_assert_uint_le(p->n_moments, whole / 8 + p->n_runs);
    ck_assert_uint_ge(p->n_moments + p->n_runs, whole / 8);
    for (uint32_t i = 0; i < p->n_runs; i++)
      ck_assert_uint_eq(p->runs[i].all.begin,
                        i == 0 ? 0 : p->runs[i - 1].all.end);
  }
  ck_assert_uint_eq(sum, whole);
  run_fixture_free(f);
}
END_TEST

static Suite *
shards_suite(void)
{
  Suite *suite = suite_create("shards");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_same_bits, 0, G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_clipped, 0, G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_shares);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(shards_suite)
