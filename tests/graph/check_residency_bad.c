/* Residency: what a plan may not say. */
#include "config.h"

#include <string.h>

#include "graph/input/plan.h"
#include "tests/support/check_edit.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/residency_sample.h"

static RaWorkload *workload;
static RaCluster *cluster;

static RaKeyFile *
key_file(const char *name, const char *text)
{
  RaKeyFile *file = ra_key_file_parse(name, text, strlen(text), NULL);
  ck_assert_ptr_nonnull(file);
  return file;
}

static gboolean
load(const char *text, GError **error)
{
  g_autoptr(RaKeyFile) file = key_file("x.plan", text);
  RaPlan *plan = ra_plan_load(file, workload, cluster, error);

  ra_plan_free(plan);
  return plan != NULL;
}

/* clang-format off */
static const RaFault faults[] = {
  {"tp = 4\n#gen", "tp = 4\nresidency = away",
   "x.plan:9: 'residency' is 'away', expected one of release, keep, host"},
  {"tp = 4\n#gen", "tp = 4\noptimizer-residency = host",
   "x.plan:9: 'optimizer-residency' of 'gen', expected it on train calls only"},
  {"tp = 2\n#atrain", "tp = 2\nrealloc = p2p",
   "x.plan:29: 'realloc' of the train call 'atrain', expected it on calls that "
   "read what training wrote"},
  {"tp = 4\n#gen", "tp = 4\nrealloc = p3p",
   "x.plan:9: 'realloc' is 'p3p', expected one of broadcast, p2p, all-gather, "
   "did you mean 'p2p'?"},
  {"dp = 2\ntp = 4\n#gen", "dp = 4\ntp = 2\nresidency = host",
   "x.plan:9: 'residency' of 'gen' is host, expected release, that of "
   "'atrain', which has the same model and layout"},
  {"dp = 4\ntp = 2\n#atrain", "dp = 2\ntp = 4\nresidency = host",
   "x.plan:29: 'residency' of 'atrain' is host, expected release, that of "
   "'gen', which has the same model and layout"},
};
/* clang-format on */

START_TEST(test_faults)
{
  g_autofree char *text = g_strconcat(HEAD, plan_text_ppo, NULL);
  g_autofree char *nodes = plan_text_cluster(1);
  g_autofree char *plan = plan_text("#gen\n", "#ref\n", "#rew\n", "#atrain\n");
  g_autofree char *name = g_build_filename(g_getenv("srcdir"), "tests", "data",
                                           "in-memory.workload", NULL);
  g_autoptr(RaKeyFile) w = key_file(name, text);
  g_autoptr(RaKeyFile) c = key_file("c.cluster", nodes);

  workload = ra_workload_load(w, NULL);
  cluster = ra_cluster_load(c, NULL);
  ra_check_faults(plan, faults, G_N_ELEMENTS(faults), load);
  ra_workload_free(workload);
  ra_cluster_free(cluster);
}
END_TEST

/* A shadow model that lags is refitted when training is over and its
 * parameters, in host memory, are gone from the GPUs. */
START_TEST(test_keep_and_host)
{
  g_autofree char *text =
      g_strconcat(HEAD "staleness = 1\n", plan_text_ppo, NULL);
  g_autofree char *nodes = plan_text_cluster(1);
  g_autofree char *plan = plan_text(KEEP, "", "", HOST);
  g_autofree char *name = g_build_filename(g_getenv("srcdir"), "tests", "data",
                                           "in-memory.workload", NULL);
  g_autoptr(RaKeyFile) w = key_file(name, text);
  g_autoptr(RaKeyFile) c = key_file("c.cluster", nodes);

  workload = ra_workload_load(w, NULL);
  cluster = ra_cluster_load(c, NULL);
  ck_assert(ra_gives(
      plan,
      "x.plan:27: 'residency' of 'atrain' is host, expected release or keep, "
      "as 'gen' keeps a copy that is updated long after training",
      load));
  ra_workload_free(workload);
  ra_cluster_free(cluster);
}
END_TEST

static Suite *
residency_bad_suite(void)
{
  Suite *suite = suite_create("residency_bad");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_keep_and_host);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(residency_bad_suite)
