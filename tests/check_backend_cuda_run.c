#include "config.h"

#include "exec/backend_cuda.h"
#include "tests/check_main.h"
#include "tests/run_fixture.h"

/* Ranks that share one emulated GPU run a whole plan: data and tensor
 * parallelism, generation, reallocation with its checksums, which are exact. */

#define GPUS(N) "mesh = node0:gpu[" N "]\n"

static RunFixture *
run(const char *algorithm, const char *all, const char *generate)
{
  RunSpec spec = {.algorithm = algorithm,
                  .config = "run-wide.json",
                  .all = all,
                  .generate = generate,
                  .train = "grad-dtype = fp32\n",
                  .n_iterations = 1,
                  .seed = 1,
                  .head = "[workload]\nformat = 1\nalgorithm = test\n"
                          "dataset = prompts\nprompts = 2\n"
                          "prompt-length = uniform(2, 4)\n"
                          "response-length = uniform(2, 4)\n"
                          "mini-batches = 1\n",
                  .dtype = "dtype = bf16"};
  RunFixture *f = run_fixture_new(&spec);

  f->options.backend = ra_backend_cuda();
  run_fixture_go(f);
  ck_assert_msg(!ra_backend_cuda()->failure(), "%s",
                ra_backend_cuda()->failure());
  return f;
}

/* A layout a call: what trains is resharded to what generates; ranks that hold
 * a parameter agree to the bit, as run_fixture_params() has it. */
START_TEST(test_grpo)
{
  RunFixture *f = run("grpo", GPUS("0-1") "tp = 2\n", GPUS("0-1") "dp = 2\n");
  g_autoptr(GArray) trained = run_fixture_params(f, "atrain");
  g_autoptr(GArray) read = run_fixture_params(f, "gen");

  ck_assert_uint_eq(trained->len, read->len);
  ck_assert_double_gt(ra_run_iteration(f->run, 0)->grad_norm, 0);
  run_fixture_free(f);
}
END_TEST

static Suite *
backend_cuda_run_suite(void)
{
  Suite *suite = suite_create("backend_cuda_run");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 900); /* some 20 s of a core that is free */
  tcase_add_test(tcase, test_grpo);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_run_suite)
