#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/folder.h"
#include "exec/checkpoint.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(list) "mesh = node0:gpu[" list "]\n"

enum { N_ITERATIONS = 5 };

/* Two models that are trained, of which generation lags or not, in layouts that
 * reallocate, alone or in copies that stay. */
static const RunSpec specs[] = {
    {.algorithm = "ppo",
     .config = "run.json",
     .all = GPUS("0-1") "dp = 2\n",
     .generate = GPUS("2-3") "tp = 2\nresidency = keep\n"},
    {.algorithm = "ppo",
     .config = "run-tied.json",
     .all = GPUS("0-3") "tp = 2\npp = 2\n",
     .staleness = 2},
    {.algorithm = "grpo",
     .config = "run.json",
     .all = GPUS("0-3") "tp = 2\npp = 2\n",
     .generate = GPUS("4-7") "dp = 4\n",
     .staleness = 2},
    {.algorithm = "sft",
     .config = "run-tied.json",
     .all = GPUS("0-1") "pp = 2\n"},
    {.algorithm = "grpo",
     .config = "run-mixtral.json",
     .all = GPUS("0-3") "dp = 4\nep = 2\n",
     .generate = GPUS("0-3") "dp = 2\ntp = 2\nep = 2\n"},
    {.algorithm = "ppo",
     .config = "run-tied.json",
     .all = GPUS("0-3") "dp = 2\npp = 2\n",
     .train = "zero = 1\nmicro-batches = 2\n",
     .staleness = 1},
};

static RunFixture *
fixture_new(const RunSpec *base, uint32_t n_iterations)
{
  RunSpec spec = *base;

  spec.n_iterations = n_iterations;
  spec.seed = 7;
  return run_fixture_new(&spec);
}

/* The first @n_iterations, with checkpoints in @folder. */
static void
run_first(const RunSpec *spec, uint32_t n_iterations, const char *folder,
          uint32_t every, uint32_t keep)
{
  RunFixture *f = fixture_new(spec, n_iterations);

  f->options.checkpoint = folder;
  f->options.every = every;
  f->options.keep = keep;
  run_fixture_go(f);
  run_fixture_free(f);
}

/* (transfer full): a run of all iterations that goes on from @folder; NULL: it
 * is refused. */
static RunFixture *
run_rest_or_not(const RunSpec *spec, const char *folder, gboolean anyway,
                GError **error)
{
  RunFixture *f = fixture_new(spec, N_ITERATIONS);

  f->options.anyway = anyway;
  f->run = ra_run_new(f->graph, &f->options, NULL);
  ck_assert_ptr_nonnull(f->run);
  if (ra_checkpoint_load(f->run, folder, error)) {
    ck_assert(ra_run_go(f->run, NULL));
    return f;
  }
  run_fixture_free(f);
  return NULL;
}

static RunFixture *
run_rest(const RunSpec *spec, const char *folder, GError **error)
{
  return run_rest_or_not(spec, folder, FALSE, error);
}

/* Results of training, of the actor and, in ppo, of the critic. */
static void
assert_same(const RunFixture *a, const RunFixture *b, const RunSpec *spec)
{
  static const char *const calls[] = {"atrain", "ctrain", NULL};

  for (guint i = 0; calls[i]; i++) {
    g_autoptr(GArray) x = NULL, y = NULL;

    if (i > 0 && strcmp(spec->algorithm, "ppo") != 0)
      break;
    x = run_fixture_params(a, calls[i]);
    y = run_fixture_params(b, calls[i]);
    ck_assert_uint_eq(x->len, y->len);
    ck_assert_mem_eq(x->data, y->data, x->len * sizeof(float));
  }
}

/* After every number of iterations: to stop there and go on gives the bits of a
 * run that did not stop, the losses that it reports too. */
START_TEST(test_resume)
{
  const RunSpec *spec = &specs[_i];
  RunFixture *whole = fixture_new(spec, N_ITERATIONS);

  run_fixture_go(whole);
  for (uint32_t n = 1; n < N_ITERATIONS; n++) {
    g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
    g_autoptr(GError) error = NULL;
    RunFixture *rest;

    run_first(spec, n, folder, 1, 1);
    rest = run_rest(spec, folder, &error);
    ck_assert_msg(rest != NULL, "%s", error ? error->message : "");
    ck_assert_uint_eq(ra_run_first_iteration(rest->run), n);
    assert_same(whole, rest, spec);
    for (uint32_t k = n; k < N_ITERATIONS; k++) {
      const RaRunIteration *a = ra_run_iteration(whole->run, k);
      const RaRunIteration *b = ra_run_iteration(rest->run, k);

      /* Sums over ranks in the order in which these came. */
      ck_assert_double_eq_tol(a->policy_loss, b->policy_loss, 1e-12);
      ck_assert_double_eq_tol(a->reward, b->reward, 1e-12);
    }
    run_fixture_free(rest);
    ra_folder_remove(folder);
  }
  run_fixture_free(whole);
}
END_TEST

/* The fault: a run that is not loaded, or whose moments are not, ends with
 * other parameters. */
START_TEST(test_moments_matter)
{
  const RunSpec *spec = &specs[0];
  g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
  RunFixture *good, *bad = fixture_new(spec, N_ITERATIONS);
  g_autoptr(GArray) x = NULL, y = NULL;

  run_first(spec, 2, folder, 1, 1);
  good = run_rest(spec, folder, NULL);
  bad->run = ra_run_new(bad->graph, &bad->options, NULL);
  ck_assert(ra_checkpoint_load(bad->run, folder, NULL));
  for (uint32_t gpu = 0; gpu < 2; gpu++) {
    uint32_t call = ra_workload_find_call(bad->text->workload, "atrain");
    RaParams *params = (RaParams *)ra_run_params(bad->run, call, gpu);

    memset(params->first, 0, params->n * sizeof *params->first);
  }
  ck_assert(ra_run_go(bad->run, NULL));
  x = run_fixture_params(good, "atrain");
  y = run_fixture_params(bad, "atrain");
  ck_assert_double_gt(run_fixture_worst(x, y), 1e-4);
  run_fixture_free(good);
  run_fixture_free(bad);
  ra_folder_remove(folder);
}
END_TEST

/* Another layout goes on where one stopped, shards of the moments or all: as
 * far from the whole run as layouts are from each other
 * (tests/exec/check_run.c's bar). */
START_TEST(test_other_layout)
{
  static const char *const shards[][2] = {
      {NULL, NULL}, {"zero = 1\n", NULL}, {NULL, "zero = 1\n"}};
  RunSpec first = specs[0], other = specs[0];
  g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
  RunFixture *whole = fixture_new(&specs[0], N_ITERATIONS), *rest;
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) x = NULL, y = NULL;

  other.all = _i == 2 ? GPUS("0-7") "tp = 2\ndp = 2\npp = 2\n"
                      : GPUS("0-3") "tp = 2\npp = 2\n";
  other.generate = GPUS("0-3") "dp = 4\n";
  first.train = shards[_i][0];
  other.train = shards[_i][1];
  run_fixture_go(whole);
  run_first(&first, 3, folder, 1, 1);
  rest = run_rest(&other, folder, &error);
  ck_assert_msg(rest != NULL, "%s", error ? error->message : "");
  x = run_fixture_params(whole, "atrain");
  y = run_fixture_params(rest, "atrain");
  ck_assert_double_lt(run_fixture_worst(x, y), 1e-4);
  run_fixture_free(whole);
  run_fixture_free(rest);
  ra_folder_remove(folder);
}
END_TEST

/* Five iterations with a checkpoint every two: after 2, 4, the last; the newest
 * two stay. */
START_TEST(test_keep)
{
  g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
  g_autofree char *second = g_build_filename(folder, "iteration-000004", NULL);
  g_autofree char *last = NULL;
  uint32_t n = 0, n_there = 0;
  GDir *dir;

  run_first(&specs[3], N_ITERATIONS, folder, 2, 2);
  last = ra_checkpoint_last(folder, &n);
  ck_assert_uint_eq(n, 5);
  ck_assert(g_str_has_suffix(last, "/iteration-000005"));
  ck_assert(g_file_test(second, G_FILE_TEST_IS_DIR));
  dir = g_dir_open(folder, 0, NULL);
  while (g_dir_read_name(dir))
    n_there++;
  g_dir_close(dir);
  ck_assert_uint_eq(n_there, 2);
  ra_folder_remove(folder);
}
END_TEST

static void
assert_refused(const RunSpec *spec, const char *folder, gboolean anyway,
               const char *wanted)
{
  g_autoptr(GError) error = NULL;

  ck_assert_ptr_null(run_rest_or_not(spec, folder, anyway, &error));
  ck_assert_msg(strstr(error->message, wanted) != NULL, "%s", error->message);
  ck_assert(!strpbrk(error->message, "\n\r"));
}

/* Nothing there, all iterations there, another workload; where that is allowed,
 * another model, a lag that no version is
 * kept for, a file that is cut, gone, or of another checkpoint. */
START_TEST(test_refused)
{
  g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
  g_autofree char *at = g_build_filename(folder, "iteration-000003", NULL);
  g_autofree char *file = g_build_filename(at, "actor.safetensors", NULL);
  g_autofree char *moved = g_build_filename(folder, "iteration-000004", NULL);
  g_autofree char *bytes = NULL;
  RunSpec lagging = specs[0];
  gsize n;

  assert_refused(&specs[0], folder, FALSE, "there is no checkpoint");
  run_first(&specs[0], 3, folder, 1, 1);
  lagging.staleness = 2;
  assert_refused(&lagging, folder, FALSE, "it is of another workload");
  assert_refused(&lagging, folder, TRUE, "no array 'behind-");
  assert_refused(&specs[1], folder, TRUE, "no array 'model.layers.0.self_");
  ck_assert(g_file_get_contents(file, &bytes, &n, NULL));
  ck_assert(g_file_set_contents(file, bytes, (gssize)n - 1, NULL));
  assert_refused(&specs[0], folder, FALSE, "actor.safetensors: ");
  ck_assert_int_eq(g_unlink(file), 0);
  assert_refused(&specs[0], folder, FALSE, "cannot be read");
  ck_assert(g_file_set_contents(file, bytes, (gssize)n, NULL));
  ck_assert_int_eq(g_rename(at, moved), 0);
  assert_refused(&specs[0], folder, FALSE,
                 "it has 3 iterations, its folder is named 4");
  ra_folder_remove(folder);
  run_first(&specs[3], N_ITERATIONS, folder, 1, 1);
  assert_refused(&specs[3], folder, FALSE,
                 "it has 5 iterations, expected fewer");
  ra_folder_remove(folder);
}
END_TEST

/* A reference of which a bit is another than when the run began; another
 * seed. */
START_TEST(test_frozen)
{
  const RunSpec *spec = &specs[0];
  g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
  RunFixture *f = fixture_new(spec, N_ITERATIONS);
  uint32_t call = ra_workload_find_call(f->text->workload, "ref");
  g_autoptr(GError) frozen = NULL, seed = NULL;
  RaParams *params;

  run_first(spec, 1, folder, 1, 1);
  f->run = ra_run_new(f->graph, &f->options, NULL);
  for (uint32_t gpu = 0; gpu < 2; gpu++) {
    params = (RaParams *)ra_run_params(f->run, call, gpu);
    ra_host_floats(params->weights)[3] *= -1;
  }
  ck_assert(!ra_checkpoint_load(f->run, folder, &frozen));
  ck_assert(strstr(frozen->message, "'ref', which is not trained, has other"));
  ra_run_free(f->run);
  f->options.seed = 8;
  f->run = ra_run_new(f->graph, &f->options, NULL);
  ck_assert(!ra_checkpoint_load(f->run, folder, &seed));
  ck_assert(strstr(seed->message, "it was written with seed 7, expected 8"));
  run_fixture_free(f);
  ra_folder_remove(folder);
}
END_TEST

/* Another run has written the checkpoint meanwhile. */
START_TEST(test_shared)
{
  g_autofree char *folder = g_dir_make_tmp("checkpoint-XXXXXX", NULL);
  g_autofree char *theirs =
      g_build_filename(folder, "iteration-000001", "theirs", NULL);
  RunFixture *f = fixture_new(&specs[3], 1);
  g_autoptr(GError) error = NULL;

  f->options.checkpoint = folder;
  f->run = ra_run_new(f->graph, &f->options, NULL);
  ck_assert_int_eq(g_mkdir_with_parents(theirs, 0777), 0);
  ck_assert(!ra_run_go(f->run, &error));
  ck_assert(strstr(error->message, "another run writes to this folder"));
  ck_assert(g_file_test(theirs, G_FILE_TEST_IS_DIR));
  run_fixture_free(f);
  ra_folder_remove(folder);
}
END_TEST

/* Nowhere to write: the run says so in one line. */
START_TEST(test_no_room)
{
  RunFixture *f = fixture_new(&specs[3], 1);
  g_autoptr(GError) error = NULL;

  f->options.checkpoint = "/dev/null/here";
  f->run = ra_run_new(f->graph, &f->options, NULL);
  ck_assert(!ra_run_go(f->run, &error));
  ck_assert(strstr(error->message, "/dev/null/here/iteration-000001"));
  run_fixture_free(f);
}
END_TEST

static Suite *
checkpoint_suite(void)
{
  Suite *suite = suite_create("checkpoint");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_resume, 0, (int)G_N_ELEMENTS(specs));
  tcase_add_test(tcase, test_moments_matter);
  tcase_add_loop_test(tcase, test_other_layout, 0, 3);
  tcase_add_test(tcase, test_keep);
  tcase_add_test(tcase, test_refused);
  tcase_add_test(tcase, test_frozen);
  tcase_add_test(tcase, test_shared);
  tcase_add_test(tcase, test_no_room);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(checkpoint_suite)
