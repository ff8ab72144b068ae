/* Test of a whole GRPO plan by ranks that share an emulated GPU. */
#include "config.h"

#include "exec/backend/backend_cuda.h"
#include "kernels/cpu/bf16.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

/* Ranks that share one emulated GPU run a whole plan: data and tensor
 * parallelism, generation, reallocation with its checksums, which are exact. */

#define GPUS(N) "mesh = node0:gpu[" N "]\n"

static RunFixture *
run(const char *algorithm, const char *all, const char *generate,
    uint32_t n_iterations, const RaBackend *backend, gboolean check)
{
  RunSpec spec = {.algorithm = algorithm,
                  .config = "run-wide.json",
                  .all = all,
                  .generate = generate,
                  .train = "grad-dtype = fp32\n",
                  .n_iterations = n_iterations,
                  .seed = 1,
                  .head = "[workload]\nformat = 1\nalgorithm = test\n"
                          "dataset = prompts\nprompts = 2\n"
                          "prompt-length = uniform(2, 4)\n"
                          "response-length = uniform(2, 4)\n"
                          "mini-batches = 1\n",
                  .dtype = "dtype = bf16"};
  RunFixture *f = run_fixture_new(&spec);

  f->options.backend = backend;
  f->options.check = check;
  run_fixture_go(f);
  ck_assert_msg(!ra_backend_cuda()->failure(), "%s",
                ra_backend_cuda()->failure());
  return f;
}

/* A layout a call: the second iteration generates with what the first has
 * trained, to the bit of bf16 (trained are masters in fp32); ranks that hold a
 * parameter agree, as run_fixture_params() has it.  Were nothing moved it would
 * be what the first generates with, which is something else; one iteration
 * cannot tell. */
START_TEST(test_grpo)
{
  const RaBackend *b = ra_backend_cuda();
  RunFixture *one =
      run("grpo", GPUS("0-1") "tp = 2\n", GPUS("0-1") "dp = 2\n", 1, b, TRUE);
  RunFixture *two =
      run("grpo", GPUS("0-1") "tp = 2\n", GPUS("0-1") "dp = 2\n", 2, b, TRUE);
  g_autoptr(GArray) trained = run_fixture_params(one, "atrain");
  g_autoptr(GArray) unmoved = run_fixture_params(one, "gen");
  g_autoptr(GArray) read = run_fixture_params(two, "gen");

  ck_assert_uint_eq(trained->len, read->len);
  for (guint i = 0; i < read->len; i++)
    ck_assert_uint_eq(ra_bf16_from_f32(g_array_index(trained, float, i)),
                      ra_bf16_from_f32(g_array_index(read, float, i)));
  ck_assert_mem_ne(unmoved->data, read->data, read->len * sizeof(float));
  ck_assert_double_gt(ra_run_iteration(one->run, 0)->grad_norm, 0);
  run_fixture_free(one);
  run_fixture_free(two);
}
END_TEST

/* Steps of two replicas, op by op or as graphs, whose tokens stay on the device
 * until the generation ends: one wait each, and the bits of steps that are
 * waited for one by one, down to the weights that they train. */
START_TEST(test_drawn)
{
  const char *generate =
      _i == 0 ? GPUS("0-1") "dp = 2\n" : GPUS("0-1") "dp = 2\nlaunch = graph\n";
  RaBackend waits = *ra_backend_cuda();
  RunFixture *ahead = run("grpo", GPUS("0-1") "tp = 2\n", generate, 1,
                          ra_backend_cuda(), FALSE);
  RunFixture *beside;
  g_autoptr(GArray) trained = run_fixture_params(ahead, "atrain");
  g_autoptr(GArray) expected = NULL;

  waits.draw = NULL;
  beside = run("grpo", GPUS("0-1") "tp = 2\n", generate, 1, &waits, FALSE);
  expected = run_fixture_params(beside, "atrain");
  ck_assert_uint_eq(trained->len, expected->len);
  ck_assert_mem_eq(trained->data, expected->data, trained->len * sizeof(float));
  ck_assert_uint_eq(ra_run_iteration(ahead->run, 0)->n_step_waits, 2);
  ck_assert_uint_eq(ra_run_iteration(beside->run, 0)->n_step_waits,
                    ra_run_iteration(beside->run, 0)->n_steps);
  ck_assert_uint_gt(ra_run_iteration(beside->run, 0)->n_steps, 2);
  run_fixture_free(ahead);
  run_fixture_free(beside);
}
END_TEST

static Suite *
backend_cuda_run_suite(void)
{
  Suite *suite = suite_create("backend_cuda_run");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 900); /* some 60 s of a core that is free */
  tcase_add_test(tcase, test_grpo);
  tcase_add_loop_test(tcase, test_drawn, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_run_suite)
