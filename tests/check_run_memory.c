/* What a run holds against what the graph's account says it holds. */
#include "config.h"

#include <string.h>

#include "graph/memory_peak.h"
#include "tests/check_main.h"
#include "tests/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"
#define N_ITERATIONS 2

/* Layouts in which every GPU of the mesh has as much as any. */
/* clang-format off */
static const struct {
  const char *algorithm, *config, *all, *train;
} layouts[] = {
    {"ppo", "run.json", GPUS("0"), NULL},
    {"ppo", "run.json", GPUS("0-3") "dp = 4\n", NULL},
    {"ppo", "run.json", GPUS("0-3") "tp = 4\n", NULL},
    {"grpo", "run-tied.json", GPUS("0-1") "dp = 2\n", NULL},
    {"grpo", "run.json", GPUS("0-3") "dp = 2\ntp = 2\n", "recompute = full\n"},
    {"sft", "run.json", GPUS("0-1") "tp = 2\n", "micro-batches = 4\n"},
    {"ppo", "run.json", GPUS("0-3") "dp = 4\n", "zero = 1\n"},
    {"sft", "run.json", GPUS("0-1") "tp = 2\n",
     "micro-batches = 4\nsequence-parallel = true\n"},
    {"grpo", "run-tied.json", GPUS("0-3") "dp = 2\ntp = 2\n", "zero = 1\n"},
    {"sft", "run.json", GPUS("0-1") "cp = 2\n", NULL},
    {"sft", "run.json", GPUS("0-3") "cp = 4\n", "recompute = full\n"},
    {"sft", "run.json", GPUS("0-3") "cp = 2\ntp = 2\n", "micro-batches = 4\n"},
};
/* clang-format on */

/* The account at its peak: of states, and of what passes hold. */
static void
account(const RunFixture *f, double *out_states, double *out_passes)
{
  const RaPlan *plan = f->graph->augmented->plan;
  g_autoptr(RaMemory) memory = ra_memory_new(plan);
  g_autofree RaCallLoad *loads =
      ra_call_loads_new(plan, N_ITERATIONS, f->graph->seed);
  RaMemoryPeak peak;

  *out_states = *out_passes = 0;
  ra_memory_peak(memory, f->graph->augmented, loads, &peak);
  for (uint32_t i = 0; i < ra_memory_n_holders(memory); i++)
    switch (ra_holder_kind(i)) {
    case RA_HOLD_PARAMS:
    case RA_HOLD_GRADS:
    case RA_HOLD_OPTIMIZER:
    case RA_HOLD_COPY:
      *out_states += (double)peak.bytes[i];
      break;
    case RA_HOLD_ACTIVATIONS:
    case RA_HOLD_WORKSPACE:
    case RA_HOLD_KV:
    case RA_HOLD_BUFFERS:
      *out_passes += (double)peak.bytes[i];
      break;
    default:
      break;
    }
  ra_memory_peak_clear(&peak);
}

/* A run of layout @layout: what GPU 0 held, and the account. */
static void
held_by(int layout, RaRunMemory *out_held, double *out_states,
        double *out_passes)
{
  RunSpec spec = {.algorithm = layouts[layout].algorithm,
                  .config = layouts[layout].config,
                  .all = layouts[layout].all,
                  .train = layouts[layout].train,
                  .n_iterations = N_ITERATIONS,
                  .seed = 3};
  RunFixture *f = run_fixture_new(&spec);

  run_fixture_go(f);
  account(f, out_states, out_passes);
  ra_run_memory(f->run, 0, out_held);
  run_fixture_free(f);
}

/* Weights, gradients and moments to the byte.  Passes hold what the account
 * has and, of this small model, up to 15 % more: what a row keeps beside its
 * vectors (inverse norms, log-sums) is nothing beside a hidden size of
 * hundreds, where the two agree within 1 % (docs/executor.md).  What sequence
 * parallelism gathers again stands in no op list, so its rows, once, come to
 * that. */
START_TEST(test_account)
{
  gboolean gathers =
      layouts[_i].train && strstr(layouts[_i].train, "sequence-parallel");
  double states, passes, most = gathers ? 1.2 : 1.15;
  RaRunMemory held;

  held_by(_i, &held, &states, &passes);
  ck_assert_double_eq((double)held.states_bytes, states);
  ck_assert_double_ge((double)held.passes_bytes, 0.9 * passes);
  ck_assert_double_le((double)held.passes_bytes, most * passes);
  ck_assert_uint_eq(held.host_bytes, 0);
}
END_TEST

/* The account of another layout is seen to be wrong. */
START_TEST(test_fault)
{
  double states, passes, other_states, other_passes;
  RaRunMemory held, other;

  held_by(1, &held, &states, &passes);
  held_by(2, &other, &other_states, &other_passes);
  ck_assert_double_gt((double)held.states_bytes, 2 * other_states);
}
END_TEST

static Suite *
run_memory_suite(void)
{
  Suite *suite = suite_create("run_memory");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_account, 0, G_N_ELEMENTS(layouts));
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_memory_suite)
