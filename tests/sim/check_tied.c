/* Tied embeddings: one table, two copies, one gradient. */
#include "config.h"

#include "tests/support/check_main.h"
#include "tests/support/zero_run.h"

/* Over 2 or more stages every replica sums the two copies' gradients of 512 x
 * 64 elements (of its tp rank, of its shard) before the norm is taken; untied
 * or on one stage nobody does. */
START_TEST(test_tied_embeddings)
{
  static const struct {
    const char *keys;
    gboolean tied;
    guint n;
    uint64_t bytes;
  } cases[] = {
      {"dp = 4\npp = 2\nmicro-batches = 2", FALSE, 0, 0},
      {"dp = 8", TRUE, 0, 0},
      {"dp = 4\npp = 2\nmicro-batches = 2\ngrad-dtype = bf16", TRUE, 8,
       512 * 64 * 2},
      {"dp = 2\npp = 2\ntp = 2\nmicro-batches = 2\ngrad-dtype = fp32", TRUE, 4,
       512 * 64 / 2 * 4},
      {"dp = 4\npp = 2\nmicro-batches = 2\ngrad-dtype = bf16\nzero = 2", TRUE,
       8, 512 * 64 / 4 * 2},
      {"dp = 1\ntp = 2\npp = 4\nmicro-batches = 4\ngrad-dtype = fp32", TRUE, 2,
       512 * 64 / 2 * 4},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const char *keys[3] = {"dp = 8", "dp = 8", cases[i].keys};
    PlanText *t = text_new("tiny.json", "fixed(16)", keys);
    double clip_s = 0, backward_s = 0;
    guint n = 0;
    Run r;
    t->workload->models[0].model->tied_embeddings = cases[i].tied;
    r = run_new(t, profile_text_load(NULL, NULL), 1e8);
    for (RaTaskId k = 0; k < r.graph->n_tasks; k++) {
      double begin_s = ra_sim_result(r.sim)->begin_s[k];
      if (r.graph->mini_batch[k] > 0)
        continue;
      if (r.graph->kind[k] == RA_TASK_CLIP)
        clip_s = begin_s;
      if (r.graph->kind[k] == RA_TASK_BACKWARD)
        backward_s = MAX(backward_s, begin_s);
    }
    for (RaTaskId k = 0; k < r.graph->n_tasks; k++) {
      const RaOp *op = &r.graph->works[r.graph->work[k]].op;
      if (r.graph->kind[k] != RA_TASK_EMBEDDING_REDUCE)
        continue;
      n++;
      ck_assert_uint_eq(op->dim[0], cases[i].bytes);
      ck_assert_uint_eq(op->dim[1], 2);
      ck_assert_uint_eq(op->dim[2], 2); /* one node */
      if (r.graph->mini_batch[k] > 0)
        continue;
      ck_assert_double_le(ra_sim_result(r.sim)->end_s[k], clip_s);
      ck_assert_double_ge(ra_sim_result(r.sim)->begin_s[k], backward_s);
    }
    ck_assert_uint_eq(n, cases[i].n);
    run_clear(&r);
  }
}
END_TEST

/* On one stage a micro-batch gathers the table of T bytes twice, for the
 * embedding and for the head, but it has one gradient: with P now without a
 * head of its own 2 (P + T) + P, times (d - 1) / d. */
START_TEST(test_tied_bytes)
{
  const char *keys[3] = {"dp = 8", "dp = 8",
                         ("dp = 8\nmicro-batches = 2\nzero = 3\n"
                          "grad-dtype = bf16")};
  PlanText *t = text_new("tiny.json", "fixed(16)", keys);
  double table = 2.0 * 512 * 64, p = P_BYTES - table, expected;

  t->workload->models[0].model->tied_embeddings = TRUE;
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  expected = N_MINI_BATCHES * 2 * (2 * (p + table) + p) * 7 / 8;
  ck_assert_double_eq_tol(sent_bytes(g, TRAIN, RA_N_TASK_KINDS), expected, 1);
  plan_text_free(t);
}
END_TEST

static Suite *
tied_suite(void)
{
  Suite *suite = suite_create("tied");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_tied_embeddings);
  tcase_add_test(tcase, test_tied_bytes);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(tied_suite)
