/* Runs whose states wait in host memory, on the emulated device: copies go on
 * beside calls, and what is learnt is the same to the bit. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda.h"
#include "tests/emulator/queue.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"

/* PPO, so that five calls follow each other on the GPUs. */
static RunFixture *
new_run(const char *gpus, gboolean is_away)
{
  g_autofree char *all =
      g_strconcat(gpus, is_away ? "residency = host\n" : NULL, NULL);
  RunSpec spec = {.algorithm = "ppo",
                  .config = "run-wide.json",
                  .all = all,
                  .train = is_away ? "grad-dtype = fp32\n"
                                     "optimizer-residency = host\n"
                                   : "grad-dtype = fp32\n",
                  .n_iterations = 2,
                  .seed = 1,
                  .head = "[workload]\nformat = 1\nalgorithm = test\n"
                          "dataset = prompts\nprompts = 2\n"
                          "prompt-length = uniform(2, 4)\n"
                          "response-length = uniform(2, 4)\n"
                          "mini-batches = 1\n",
                  .dtype = "dtype = bf16"};
  RunFixture *f = run_fixture_new(&spec);

  f->options.backend = ra_backend_cuda();
  return f;
}

static RunFixture *
run(const char *gpus, gboolean is_away)
{
  RunFixture *f = new_run(gpus, is_away);

  run_fixture_go(f);
  ck_assert_msg(!ra_backend_cuda()->failure(), "%s",
                ra_backend_cuda()->failure());
  return f;
}

/* TRUE if both have learnt the same, with the same moments. */
static gboolean
is_same(const RunFixture *a, const RunFixture *b)
{
  static const char *const trained[] = {"atrain", "ctrain"};
  gboolean same = TRUE;

  for (guint i = 0; i < G_N_ELEMENTS(trained); i++) {
    g_autoptr(GArray) x = run_fixture_params(a, trained[i]);
    g_autoptr(GArray) y = run_fixture_params(b, trained[i]);
    g_autoptr(GArray) m = run_fixture_moments(a, trained[i]);
    g_autoptr(GArray) n = run_fixture_moments(b, trained[i]);

    same &= memcmp(x->data, y->data, x->len * sizeof(float)) == 0 &&
            memcmp(m->data, n->data, m->len * sizeof(float)) == 0;
  }
  return same;
}

/* An iteration has 7 states (tests/exec/check_run_memory.c).  All but the first
 * are requested while another call runs; each is followed by the ops of its
 * reload, and copies follow each other where a state or bytes go and come.
 * With ops over as they are begun, and late. */
START_TEST(test_bits)
{
  static const char *const gpus[] = {GPUS("0"), GPUS("0-1") "tp = 2\n"};
  RunFixture *here = run(gpus[_i], FALSE);

  for (uint64_t seed = 0; seed < 4; seed++) {
    RunFixture *away;

    ra_emu_seed_queues(seed, seed % 2 == 1);
    ra_emu_late_ops(seed >= 2);
    away = run(gpus[_i], TRUE);
    ck_assert(is_same(here, away));
    ck_assert_uint_eq(ra_run_n_ahead(away->run, RA_AHEAD_RELOADS),
                      (2 * 7 - 1) * (1 + _i));
    ck_assert_uint_ge(ra_emu_n_follows(RA_EMU_OPS_AFTER_COPY),
                      2 * 7 * (1 + (uint64_t)_i));
    ck_assert_uint_ge(ra_emu_n_follows(RA_EMU_COPIES_AFTER_COPY), 1);
    run_fixture_free(away);
  }
  ra_emu_late_ops(FALSE);
  run_fixture_free(here);
}
END_TEST

/* Copies of the trace that go on while a task computes. */
static guint
n_beside(const RaRun *r)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  guint n = 0;

  ra_run_trace(r, trace);
  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *copy = ra_trace_row(trace, i);
    gboolean is_beside = FALSE;

    if (strcmp(copy->kind, "reload") != 0 && strcmp(copy->kind, "offload") != 0)
      continue;
    ck_assert_double_gt(copy->begin_s, 0);
    ck_assert_double_gt(copy->end_s, copy->begin_s);
    for (guint k = 0; k < ra_trace_n_rows(trace); k++) {
      const RaTraceRow *task = ra_trace_row(trace, k);

      is_beside |= strcmp(task->stream, "compute") == 0 &&
                   task->begin_s < copy->end_s && copy->begin_s < task->end_s;
    }
    n += is_beside;
  }
  return n;
}

/* Copies are tasks of the trace with seconds of their own, beside those of
 * calls: an iteration has 5 reloads and 2 offloads, and of 14 only that of the
 * first call and of the last cannot be beside one.  Where none goes on before
 * it must, only those are that an array waits for as it is freed. */
START_TEST(test_trace)
{
  for (int late = 0; late < 2; late++) {
    RunFixture *away;

    ra_emu_seed_queues(7, late);
    away = run(GPUS("0"), TRUE);
    ck_assert((n_beside(away->run) >= 7) == !late);
    run_fixture_free(away);
  }
}
END_TEST

/* Runs, of @n that each forget one of what is told @kind, that learn something
 * else or meet what is not a number. */
static guint
n_caught(const RunFixture *here, RaEmuFollow kind, guint n)
{
  guint n_caught = 0;

  for (guint i = 0; i < n; i++) {
    RunFixture *away = new_run(GPUS("0"), TRUE);

    away->run = ra_run_new(away->graph, &away->options, NULL);
    ck_assert_ptr_nonnull(away->run);
    ra_emu_seed_queues(7, TRUE);
    ra_emu_forget_follow(kind, i);
    n_caught += !ra_run_go(away->run, NULL) || !is_same(here, away);
    run_fixture_free(away);
  }
  return n_caught;
}

/* The faults: of what copies must follow, and of what must follow them, one is
 * left out.  Not each is seen: what a reload brings may lie there still. */
START_TEST(test_fault)
{
  RunFixture *here = run(GPUS("0"), FALSE);

  ck_assert_uint_ge(n_caught(here, RA_EMU_COPIES_AFTER_COPY, 3), 1);
  ck_assert_uint_ge(n_caught(here, RA_EMU_OPS_AFTER_COPY, 6), 3);
  run_fixture_free(here);
}
END_TEST

static Suite *
run_away_suite(void)
{
  Suite *suite = suite_create("run_away");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600); /* some 20 s of a core that is free */
  tcase_add_loop_test(tcase, test_bits, 0, 2);
  tcase_add_test(tcase, test_trace);
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_away_suite)
