/* The norm that gradients are clipped by: of all parameters of the model, each
 * counted once, however many ranks hold it.
 *
 * After one optimizer step from zero the first moment of AdamW is (1 - beta1)
 * times the clipped gradient, so the gradient itself can be put together from
 * the ranks, each element once, and its norm taken in double. */
#include "config.h"

#include <math.h>

#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"

/* One optimizer step. */
static const char head[] =
    "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"
    "prompts = 16\nprompt-length = uniform(4, 8)\n"
    "response-length = uniform(2, 4)\nmini-batches = 1\n";

/* Parameters that several ranks hold: norms (tp), key heads (8 ranks, 2 heads),
 * all (dp), a tied table (pp), all of it. */
static const struct {
  const char *config, *all;
} layouts[] = {
    {"run.json", GPUS("0")},
    {"run.json", GPUS("0-1") "tp = 2\n"},
    {"run.json", GPUS("0-7") "tp = 8\n"},
    {"run.json", GPUS("0-3") "dp = 4\n"},
    {"run-tied.json", GPUS("0-1") "pp = 2\n"},
    {"run-tied.json", GPUS("0-3") "tp = 2\npp = 2\n"},
    {"run.json", GPUS("0-7") "tp = 2\npp = 2\ndp = 2\n"},
    {"run-tied.json", GPUS("0-7") "tp = 2\npp = 2\ndp = 2\n"},
};

static RunFixture *
step(guint layout, float max_norm)
{
  RunSpec spec = {.algorithm = "sft",
                  .config = layouts[layout].config,
                  .all = layouts[layout].all,
                  .head = head,
                  .n_iterations = 1,
                  .seed = 3};
  RunFixture *f = run_fixture_new(&spec);

  f->options.max_grad_norm = max_norm;
  run_fixture_go(f);
  return f;
}

/* Norm of the gradient that the step took, each element once. */
static double
norm_once(const RunFixture *f)
{
  g_autoptr(GArray) moments = run_fixture_moments(f, "atrain");
  double sum = 0;

  for (guint i = 0; i < moments->len; i++)
    sum += pow((double)g_array_index(moments, float, i), 2);
  return sqrt(sum) / (1 - (double)f->options.policy.beta1);
}

/* The same of all that ranks hold: the fault. */
static double
norm_of_ranks(const RunFixture *f)
{
  uint32_t call = ra_workload_find_call(f->text->workload, "atrain");
  double sum = 0;

  for (uint32_t gpu = 0; gpu < 8; gpu++) {
    const RaParams *p = ra_run_params(f->run, call, gpu);

    for (gsize i = 0; p && i < p->n; i++)
      sum += pow((double)p->first[i], 2);
  }
  return sqrt(sum) / (1 - (double)f->options.policy.beta1);
}

/* Without clipping the run's norm is that of the gradient, and where ranks hold
 * the same it is not that of all they hold.  Clipped to a tenth of it, the
 * gradient has that norm, and the run still says what it was. */
START_TEST(test_norm)
{
  RunFixture *free_step = step((guint)_i, 0), *clipped;
  double norm = ra_run_iteration(free_step->run, 0)->grad_norm;

  ck_assert_double_gt(norm, 0);
  ck_assert_double_eq_tol(norm_once(free_step), norm, 1e-5 * norm);
  if (_i > 0)
    ck_assert_double_gt(norm_of_ranks(free_step), (1 + 2e-5) * norm);
  clipped = step((guint)_i, (float)(norm / 10));
  ck_assert_double_eq_tol(ra_run_iteration(clipped->run, 0)->grad_norm, norm,
                          1e-6 * norm);
  ck_assert_double_eq_tol(norm_once(clipped), norm / 10, 1e-4 * norm);
  run_fixture_free(free_step);
  run_fixture_free(clipped);
}
END_TEST

static Suite *
run_clip_suite(void)
{
  Suite *suite = suite_create("run_clip");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_norm, 0, G_N_ELEMENTS(layouts));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_clip_suite)
