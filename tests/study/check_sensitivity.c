/* How an iteration answers to resources, where the answer is known. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "study/sweep/sensitivity.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"

/* Every rate but one is beyond all need. */
#define FREE_FLOP "device.bf16=1e90 FLOP/s"
#define FREE_MEMORY "device.memory-bandwidth=1e90 B/s"
#define FREE_NODE "device.intra-node=1e90 B/s"
#define FREE_HOST "device.host=1e90 B/s"

static const char workload_text[] =
    "[workload]\nformat = 1\nalgorithm = sft\ndataset = pairs\nprompts = 8\n"
    "prompt-length = fixed(32)\nresponse-length = fixed(32)\n"
    "[model actor]\nconfig = tiny-llama.json\ntrainable = true\n"
    "[call train]\nmodel = actor\nkind = train\ninputs = pairs\n";

/* A folder of files that name each other. */
typedef struct {
  char *folder; /* owned; goes with what is in it */
  char *plan;   /* owned: path */
} Files;

static void
put(const Files *files, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(files->folder, name, NULL);

  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

/* @n_nodes of one GPU each, data parallel, on a profile of @edits. */
static Files
make_files(guint n_nodes, const char *const *edits)
{
  Files files = {.folder = g_dir_make_tmp("reallot-XXXXXX", NULL)};
  g_autofree char *profile = profile_text(edits);
  g_autofree char *cluster = g_strdup_printf(
      "[cluster]\nformat = 1\nnodes = %u\ngpus-per-node = 1\ngpu = ideal\n"
      "nics-per-node = 1\nnic = 1 kB/s\n",
      n_nodes);
  g_autofree char *plan = g_strdup_printf(
      "[plan]\nformat = 1\nworkload = a.workload\ncluster = a.cluster\n"
      "[call train]\nmesh = all\ndp = %u\n",
      n_nodes);

  put(&files, "ideal.profile", profile);
  put(&files, "a.workload", workload_text);
  put(&files, "a.cluster", cluster);
  put(&files, "a.plan", plan);
  files.plan = g_build_filename(files.folder, "a.plan", NULL);
  return files;
}

static void
files_clear(Files *files)
{
  static const char *const names[] = {"ideal.profile", "a.workload",
                                      "a.cluster", "a.plan"};

  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = g_build_filename(files->folder, names[i], NULL);

    g_unlink(path);
  }
  g_rmdir(files->folder);
  g_free(files->folder);
  g_free(files->plan);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Files, files_clear)

static RaSensitivity *
run(const char *plan, double factor)
{
  RaSetupFlags flags = {.real = FALSE};
  RaSensitivityOptions options = {
      .factor = factor,
      .replay = {.n_iterations = 2, .fidelity = RA_FIDELITY_STAGE}};
  GError *error = NULL;
  RaSensitivity *s = ra_sensitivity_new(plan, &flags, &options, &error);

  if (!s)
    ck_abort_msg("%s", error->message);
  return s;
}

/* NULL: no such row. */
static const RaResponse *
find(const RaSensitivity *s, const char *name)
{
  for (guint i = 0; i < s->responses->len; i++) {
    const RaResponse *r = &g_array_index(s->responses, RaResponse, i);

    if (g_str_equal(r->name, name))
      return r;
  }
  return NULL;
}

static void
expect(const RaSensitivity *s, const char *name, double more, double less)
{
  const RaResponse *r = find(s, name);

  ck_assert_msg(r != NULL, "no %s", name);
  ck_assert_double_eq_tol(ra_response_frac(r, &r->more), more, 1e-9);
  ck_assert_double_eq_tol(ra_response_frac(r, &r->less), less, 1e-9);
}

/* All time is products: twice the FLOP/s half of it, half of them twice; one
 * GPU of 1.2 times the time, which is all there are, 1.2 times.  Nothing else
 * counts, and what one GPU does not have has no row: peers, lengths that
 * spread, latencies of a law that has none. */
START_TEST(compute_alone)
{
  const char *const edits[] = {FREE_MEMORY, FREE_NODE, FREE_HOST, NULL};
  g_auto(Files) files = make_files(1, edits);
  g_autoptr(RaSensitivity) s = run(files.plan, 2);
  const RaResponse *slow = find(s, "stragglers");

  expect(s, "flop", -0.5, 1);
  expect(s, "hbm", 0, 0);
  expect(s, "network", 0, 0);
  expect(s, "host-link", 0, 0);
  expect(s, "memory", 0, 0);
  ck_assert_ptr_nonnull(slow);
  ck_assert_double_eq_tol(ra_response_frac(slow, &slow->more), 0.2, 1e-9);
  ck_assert(slow->is_one_sided);
  ck_assert_ptr_null(find(s, "intra-node"));
  ck_assert_ptr_null(find(s, "spread"));
  ck_assert_ptr_null(find(s, "latency"));
  ck_assert_ptr_null(find(s, "launch"));
  /* the widest first */
  ck_assert_str_eq(g_array_index(s->responses, RaResponse, 0).name, "flop");
}
END_TEST

/* The same for memory's bandwidth, by a factor of 4.  The fault: with FLOP/s
 * that count too neither is all of it. */
START_TEST(memory_alone)
{
  const char *const edits[] = {FREE_FLOP, FREE_NODE, FREE_HOST, NULL};
  const char *const both[] = {"device.bf16=1e10 FLOP/s", FREE_NODE, FREE_HOST,
                              NULL};
  g_auto(Files) files = make_files(1, edits);
  g_auto(Files) mixed = make_files(1, both);
  g_autoptr(RaSensitivity) s = run(files.plan, 4);
  g_autoptr(RaSensitivity) m = run(mixed.plan, 4);
  const RaResponse *r = find(m, "hbm");

  expect(s, "hbm", -0.75, 3);
  expect(s, "flop", 0, 0);
  ck_assert(ra_response_frac(r, &r->more) > -0.75 + 1e-6);
  ck_assert(ra_response_frac(r, &r->more) < -1e-6);
}
END_TEST

/* Two nodes, gradients over cards that are the only thing that takes time. */
START_TEST(network_alone)
{
  const char *const edits[] = {FREE_FLOP, FREE_MEMORY, FREE_NODE, FREE_HOST,
                               NULL};
  g_auto(Files) files = make_files(2, edits);
  g_autoptr(RaSensitivity) s = run(files.plan, 2);

  expect(s, "network", -0.5, 1);
  expect(s, "flop", 0, 0);
  expect(s, "hbm", 0, 0);
}
END_TEST

/* More of a rate is never slower and less never quicker; of work and of what is
 * lost the reverse.  A larger factor moves no less. */
START_TEST(monotone)
{
  static const char *const rates[] = {"flop", "hbm", "intra-node", "network",
                                      "host-link"};
  static const char *const losses[] = {"latency", "launch", "prompts",
                                       "responses", "spread"};
  g_autoptr(RaSensitivity) two = run("ppo-llama3-70b-128.plan", 2);
  g_autoptr(RaSensitivity) four = run("ppo-llama3-70b-128.plan", 4);

  for (guint i = 0; i < G_N_ELEMENTS(rates) + G_N_ELEMENTS(losses); i++) {
    gboolean is_rate = i < G_N_ELEMENTS(rates);
    const char *name = is_rate ? rates[i] : losses[i - G_N_ELEMENTS(rates)];
    const RaResponse *a = find(two, name), *b = find(four, name);
    const RaTrial *good = is_rate ? &a->more : &a->less;
    const RaTrial *bad = is_rate ? &a->less : &a->more;

    ck_assert_msg(ra_response_frac(a, good) <= 1e-9, "%s", name);
    ck_assert_msg(ra_response_frac(a, bad) >= -1e-9, "%s", name);
    ck_assert_msg(ra_response_size(b) >= ra_response_size(a) - 1e-9, "%s",
                  name);
  }
  ck_assert(ra_trial_fits(&find(two, "memory")->more));
  ck_assert(!ra_trial_fits(&find(two, "memory")->less));
}
END_TEST

/* The profiles beside the plan's own, without it; H200 has the H100's FLOP/s
 * and more bandwidth (data sheets), so it is quicker. */
START_TEST(gpus)
{
  g_autoptr(RaSensitivity) s = run("ppo-llama2-7b-8.plan", 2);
  gboolean found = FALSE;

  ck_assert_uint_gt(s->gpus->len, 3);
  for (guint i = 0; i < s->gpus->len; i++) {
    const RaResponse *r = &g_array_index(s->gpus, RaResponse, i);

    ck_assert_str_ne(r->now, "h100-sxm");
    if (!g_str_equal(r->now, "h200-sxm"))
      continue;
    found = TRUE;
    ck_assert(ra_response_frac(r, &r->more) < -0.01);
  }
  ck_assert(found);
}
END_TEST

static Suite *
sensitivity_suite(void)
{
  Suite *suite = suite_create("sensitivity");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, compute_alone);
  tcase_add_test(tcase, memory_alone);
  tcase_add_test(tcase, network_alone);
  tcase_add_test(tcase, monotone);
  tcase_add_test(tcase, gpus);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(sensitivity_suite)
