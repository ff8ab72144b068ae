#include "config.h"

#include <string.h>

#include "graph/expand/dot.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

#define CALL(name, keys) "[call " name "]\n" keys "\n"

static PlanText *
make(void)
{
  g_autofree char *workload =
      g_strconcat("[workload]\nformat = 1\nalgorithm = ppo\n"
                  "dataset = prompts\nprompts = 8\n"
                  "prompt-length = fixed(16)\nresponse-length = fixed(48)\n"
                  "staleness = 1\n",
                  plan_text_ppo, NULL);
  g_autofree char *cluster = plan_text_cluster(1);
  return plan_text_new(
      workload, cluster,
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL(
          "gen", "mesh = node0\ndp = 1\ntp = 8")
          CALL("ref", "mesh = node0\ntp = 8")
              CALL("rew", "mesh = node0\ntp = 8") CALL("val", "mesh = node0\n"
                                                              "tp = 8")
                  CALL("atrain", "mesh = node0\ntp = 4\ndp = 2")
                      CALL("ctrain", "mesh = node0\ntp = 8"),
      3);
}

static guint
count(const char *text, const char *what)
{
  guint n = 0;
  for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
    n++;
  return n;
}

/* 6 calls, 1 dataset; edges: gen 1; ref, rew, val 1 each; atrain 5; ctrain 4 =
 * 13; versions: actor is read by gen, critic by val = 2, the first one
 * iteration late. */
START_TEST(test_workload)
{
  PlanText *t = make();
  g_autofree char *dot = ra_dot_workload(t->workload);

  ck_assert(g_str_has_prefix(dot, "digraph \"ppo\" {"));
  ck_assert_uint_eq(count(dot, "fillcolor"), 7);
  ck_assert_uint_eq(count(dot, " -> "), 13 + 2);
  ck_assert_uint_eq(count(dot, "dashed"), 2);
  ck_assert_uint_eq(count(dot, "version k-2"), 1);
  plan_text_free(t);
}
END_TEST

/* A box a node and an arrow an edge of the graph itself. */
START_TEST(test_augmented)
{
  PlanText *t = make();
  g_autofree char *dot = ra_dot_augmented(t->augmented);

  ck_assert_uint_eq(count(dot, "fillcolor"), t->augmented->n_nodes);
  ck_assert_uint_eq(count(dot, " -> "),
                    t->augmented->pred_begin[t->augmented->n_nodes]);
  ck_assert_uint_eq(count(dot, "subgraph"), 3);
  ck_assert_uint_ge(count(dot, "reallocation"), 1);
  plan_text_free(t);
}
END_TEST

static Suite *
dot_suite(void)
{
  Suite *suite = suite_create("dot");
  TCase *tcase = tcase_create("core");
  tcase_add_test(tcase, test_workload);
  tcase_add_test(tcase, test_augmented);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(dot_suite)
