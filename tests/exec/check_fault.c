#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "kernels/cpu/cpu_pointwise.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(list) "mesh = node0:gpu[" list "]\n"

static const RunSpec spec = {.algorithm = "grpo",
                             .config = "run.json",
                             .all = GPUS("0-1") "tp = 2\n",
                             .n_iterations = 2,
                             .seed = 3};

/* Output of a run. */
typedef struct {
  char line[512];
  atomic_uint n;
} Said;

static void
hear(const char *line, uint64_t order, gpointer data)
{
  Said *said = data;

  g_strlcpy(said->line, line, sizeof said->line);
  atomic_fetch_add(&said->n, 1);
}

static RunFixture *
fixture_new(Said *said)
{
  RunFixture *f = run_fixture_new(&spec);

  f->options.fault = hear;
  f->options.fault_data = said;
  return f;
}

static void
assert_fails(RunFixture *f)
{
  g_autoptr(GError) error = NULL;

  ck_assert(!ra_run_go(f->run, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_DEVICE));
}

/* In the down projection of layer 1 of rank 1, which training begins with too:
 * of a layer's ops (norm, qkv, rope, attention, output, sum, addition, norm,
 * gate and up, activation, down) the eleventh, number 10, of the rank's own
 * part.  The other rank meets it in the sum after that.  Generation is first.
 */
START_TEST(test_first_op)
{
  Said said = {.n = 0};
  RunFixture *f = fixture_new(&said);
  g_autofree char *folder = g_dir_make_tmp("fault-XXXXXX", NULL);
  const RaParams *params;
  const RaParam *down;

  f->options.checkpoint = folder;
  f->run = ra_run_new(f->graph, &f->options, NULL);
  ck_assert_ptr_nonnull(f->run);
  params = ra_run_params(f->run, 0, 1);
  down = ra_params_find(params, RA_TENSOR_DOWN, 1, FALSE);
  ck_assert_ptr_nonnull(down);
  ra_host_floats(params->weights)[down->offset + 5] = (float)NAN;
  assert_fails(f);
  ck_assert_uint_eq(atomic_load(&said.n), 1);
  ck_assert_msg(strstr(said.line, "/l1/gemm.10 ") != NULL, "%s", said.line);
  ck_assert_msg(strstr(said.line, "rank 1, iteration 0)") != NULL, "%s",
                said.line);
  ck_assert_msg(strstr(said.line, "not finite: parameters") != NULL, "%s",
                said.line);
  /* Nothing of it is saved. */
  ck_assert(ra_folder_remove(folder));
  run_fixture_free(f);
}
END_TEST

static double
no_number(const uint32_t *prompt, uint32_t n_prompt, const uint32_t *response,
          uint32_t n_response, uint32_t vocab)
{
  return n_response % 2 ? (double)NAN : 1;
}

START_TEST(test_reward)
{
  Said said = {.n = 0};
  RunFixture *f = fixture_new(&said);

  f->options.rule = no_number;
  f->run = ra_run_new(f->graph, &f->options, NULL);
  assert_fails(f);
  ck_assert_msg(strstr(said.line, "a reward that is not finite") != NULL, "%s",
                said.line);
  run_fixture_free(f);
}
END_TEST

/* The rank of the host call hangs until somebody has noticed. */
static Said *noticed;

static double
hang(const uint32_t *prompt, uint32_t n_prompt, const uint32_t *response,
     uint32_t n_response, uint32_t vocab)
{
  while (atomic_load(&noticed->n) == 0)
    g_usleep(1000);
  return 0.5;
}

START_TEST(test_stall)
{
  Said said = {.n = 0};
  RunFixture *f = fixture_new(&said);

  noticed = &said;
  f->options.rule = hang;
  f->options.stall_s = 0.3;
  f->run = ra_run_new(f->graph, &f->options, NULL);
  assert_fails(f);
  ck_assert_msg(strstr(said.line, " on rank 0: no progress for 0.3 s") != NULL,
                "%s", said.line);
  run_fixture_free(f);
}
END_TEST

/* The fault that these must see: without one a run says nothing. */
START_TEST(test_sound)
{
  Said said = {.n = 0};
  RunFixture *f = fixture_new(&said);

  f->options.stall_s = 1000;
  run_fixture_go(f);
  ck_assert_uint_eq(atomic_load(&said.n), 0);
  run_fixture_free(f);
}
END_TEST

/* Whatever the place; the largest and the smallest numbers are finite. */
START_TEST(test_finite)
{
  float x[37], bad[] = {(float)NAN, (float)INFINITY, -(float)INFINITY};

  for (guint i = 0; i < G_N_ELEMENTS(x); i++)
    x[i] = i % 3 == 0 ? 3.4e38f : i % 3 == 1 ? -1e-45f : -3.4e38f;
  ck_assert(ra_cpu_is_finite(G_N_ELEMENTS(x), x));
  ck_assert(ra_cpu_is_finite(0, x));
  for (guint b = 0; b < G_N_ELEMENTS(bad); b++)
    for (guint i = 0; i < G_N_ELEMENTS(x); i++) {
      float was = x[i];

      x[i] = bad[b];
      ck_assert(!ra_cpu_is_finite(G_N_ELEMENTS(x), x));
      x[i] = was;
    }
}
END_TEST

static Suite *
fault_suite(void)
{
  Suite *suite = suite_create("fault");
  TCase *tcase = tcase_create("fault");

  tcase_add_test(tcase, test_first_op);
  tcase_add_test(tcase, test_reward);
  tcase_add_test(tcase, test_stall);
  tcase_add_test(tcase, test_sound);
  tcase_add_test(tcase, test_finite);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(fault_suite)
