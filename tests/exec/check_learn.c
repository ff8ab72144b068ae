#include "config.h"

#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"
#define N_ITERATIONS 60

/* clang-format off */
static const struct {
  const char *algorithm, *all, *generate;
} plans[] = {
    /* co-located */
    {"ppo", GPUS("0-3") "tp = 2\ndp = 2\n", NULL},
    /* a layout a call */
    {"ppo", GPUS("0-3") "tp = 2\npp = 2\n", GPUS("0-3") "dp = 4\n"},
    /* disaggregated */
    {"ppo", GPUS("0-1") "tp = 2\n", GPUS("2-3") "dp = 2\n"},
    {"grpo", GPUS("0-3") "tp = 2\ndp = 2\n", NULL},
    {"grpo", GPUS("0-1") "pp = 2\n", GPUS("2-3") "tp = 2\n"},
};
/* clang-format on */

/* The mean reward of iterations [@from, @from + 10). */
static double
mean_reward(const RunFixture *f, uint32_t from)
{
  double sum = 0;

  for (uint32_t k = from; k < from + 10; k++)
    sum += ra_run_iteration(f->run, k)->reward;
  return sum / 10;
}

/* Even tokens are rewarded: a model that knows nothing gets 31/61 = 0.508 (its
 * tokens are all but uniform), a perfect one 1.
 *
 * By chance an answer of l tokens is 0.5 +- 0.5 / sqrt(l): l uniform in 3..9
 * has a variance of 0.25 (1/3 + ... + 1/9) / 7 = 0.0475, the mean of sixteen
 * answers or more 0.0545^2, that of ten iterations 0.0172^2.  4.75 standard
 * deviations are 1 in 1e6: CHANCE_ONE for an iteration, CHANCE_TEN for ten.
 * LEARNT is half way from chance to a perfect model. */
#define CHANCE_ONE 0.77
#define CHANCE_TEN 0.59
#define LEARNT 0.75

START_TEST(test_learns)
{
  RunSpec spec = {.algorithm = plans[_i].algorithm,
                  .config = "run.json",
                  .all = plans[_i].all,
                  .generate = plans[_i].generate,
                  .n_iterations = N_ITERATIONS,
                  .seed = 1};
  RunFixture *f = run_fixture_new(&spec);

  f->options.policy.rate = f->options.value.rate = 3e-3f;
  run_fixture_go(f);
  ck_assert_double_lt(ra_run_iteration(f->run, 0)->reward, CHANCE_ONE);
  ck_assert_double_gt(mean_reward(f, N_ITERATIONS - 10), LEARNT);
  run_fixture_free(f);
}
END_TEST

/* Without a learning rate nothing is learnt. */
START_TEST(test_fault)
{
  RunSpec spec = {.algorithm = "grpo",
                  .config = "run.json",
                  .all = GPUS("0"),
                  .n_iterations = N_ITERATIONS,
                  .seed = 1};
  RunFixture *f = run_fixture_new(&spec);

  f->options.policy.rate = 0;
  run_fixture_go(f);
  ck_assert_double_lt(mean_reward(f, N_ITERATIONS - 10), CHANCE_TEN);
  run_fixture_free(f);
}
END_TEST

static Suite *
learn_suite(void)
{
  Suite *suite = suite_create("learn");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_learns, 0, G_N_ELEMENTS(plans));
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(learn_suite)
