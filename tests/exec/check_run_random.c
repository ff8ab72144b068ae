#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define N_CASES 16

static uint32_t
pick(RaRng *rng, uint32_t n)
{
  return (uint32_t)ra_rng_below(rng, n);
}

/* (transfer full): the plan of a call on an aligned slice of eight GPUs, with
 * degrees that the fixture's model (4 layers, 8 heads) and batches (8 sequences
 * a mini-batch) allow. */
static char *
random_plan(RaRng *rng, gboolean train, gboolean generates)
{
  static const char *const recomputes[] = {"none", "selective", "full"};
  uint32_t n = 1u << pick(rng, 4), first = pick(rng, 8 / n) * n;
  uint32_t left = n, pp, tp, cp = 1, dp, micro;
  GString *text = g_string_new(NULL);

  pp = 1u << pick(rng, 3);
  pp = MIN(pp, left);
  left /= pp;
  tp = 1u << pick(rng, 4); /* MIN looks at its arguments twice */
  tp = MIN(tp, left);
  left /= tp;
  if (!generates) { /* a decode step has no sequence to share */
    cp = 1u << pick(rng, 3);
    cp = MIN(cp, left);
  }
  dp = left / cp;
  micro = 1u << pick(rng, 3);
  micro = MIN(8 / dp, MAX(pp, micro));
  g_string_printf(text,
                  "mesh = node0:gpu[%u-%u]\ndp = %u\ntp = %u\npp = %u\n"
                  "cp = %u\nmicro-batches = %u\n",
                  first, first + n - 1, dp, tp, pp, cp, micro);
  if (tp > 1 && pick(rng, 2))
    g_string_append(text, "sequence-parallel = true\n");
  if (!generates && pick(rng, 2))
    g_string_append(text, "balance = tokens\n");
  if (pick(rng, 2))
    g_string_append(text, "rank-order = dp-pp-cp-tp\n");
  if (pp == 2 && pick(rng, 2))
    g_string_append(text, train && micro % 2 == 0 && pick(rng, 2)
                              ? "schedule = interleaved:2\n"
                              : "stage-layers = 1,3\n");
  if (train)
    g_string_append_printf(text, "recompute = %s\n", recomputes[pick(rng, 3)]);
  return g_string_free(text, FALSE);
}

static void
compare_runs(const RunFixture *one, const RunFixture *many, const char *plans)
{
  g_autoptr(GArray) a = run_fixture_params(many, "atrain");
  g_autoptr(GArray) b = run_fixture_params(one, "atrain");

  for (uint32_t k = 0; k < 2; k++) {
    const RaRunIteration *x = ra_run_iteration(one->run, k);
    const RaRunIteration *y = ra_run_iteration(many->run, k);

    ck_assert_msg(fabs(y->reward - x->reward) < 1e-7 || x->n_ties > 0,
                  "reward %g, not %g:\n%s", y->reward, x->reward, plans);
    ck_assert_msg(fabs(y->policy_loss - x->policy_loss) < 1e-4,
                  "loss %g, not %g:\n%s", y->policy_loss, x->policy_loss,
                  plans);
  }
  ck_assert_msg(run_fixture_worst(a, b) < 1e-4, "parameters off by %g:\n%s",
                run_fixture_worst(a, b), plans);
}

/* Any layout of training and any of generation give what one rank gives. */
START_TEST(test_random)
{
  RaRng rng = ra_rng_init(77, (uint64_t)_i);
  g_autofree char *train = random_plan(&rng, TRUE, FALSE);
  g_autofree char *generate = random_plan(&rng, FALSE, TRUE);
  g_autofree char *all = random_plan(&rng, FALSE, FALSE);
  g_autofree char *plans =
      g_strdup_printf("train\n%sgenerate\n%sothers\n%s", train, generate, all);
  RunSpec spec = {.algorithm = "grpo",
                  .config = _i % 2 ? "run-tied.json" : "run.json",
                  .all = "mesh = node0:gpu[0]\n",
                  .n_iterations = 2,
                  .seed = 11};
  RunFixture *one = run_fixture_new(&spec), *many;

  run_fixture_go(one);
  spec.all = all;
  spec.generate = generate;
  spec.train_alone = train;
  many = run_fixture_new(&spec);
  run_fixture_go(many);
  compare_runs(one, many, plans);
  run_fixture_free(one);
  run_fixture_free(many);
}
END_TEST

static Suite *
run_random_suite(void)
{
  Suite *suite = suite_create("run_random");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_random, 0, N_CASES);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_random_suite)
