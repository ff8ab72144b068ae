/* Memory that a run holds against the account of its graph. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "graph/memory/memory_peak.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

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
    {"sft", "run-glm4-moe.json", GPUS("0"), NULL},
    {"sft", "run-gpt-oss.json", GPUS("0"), NULL},
    {"sft", "run-deepseek-v3.json", GPUS("0"), NULL},
    {"sft", "run-latent.json", GPUS("0-1") "tp = 2\n", "recompute = full\n"},
    {"grpo", "run-latent.json", GPUS("0-3") "dp = 2\ntp = 2\n", NULL},
    {"ppo", "run-latent.json", GPUS("0"), NULL},
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
 * has, or up to a fifth less: gradients of logits come in their place, where
 * the account has an fp32 softmax beside them, of this small model a sixth.
 * What sequence parallelism gathers again stands in no op list, and rings and
 * the host's attention have room that no device needs. */
START_TEST(test_account)
{
  gboolean gathers =
      layouts[_i].train && strstr(layouts[_i].train, "sequence-parallel");
  double states, passes, most = gathers ? 1.2 : 1.15;
  RaRunMemory held;

  held_by(_i, &held, &states, &passes);
  ck_assert_double_eq((double)held.states_bytes, states);
  ck_assert_double_ge((double)held.passes_bytes, 0.8 * passes);
  ck_assert_double_le((double)held.passes_bytes, most * passes);
  ck_assert_uint_eq(held.host_bytes, 0);
}
END_TEST

/* --- host memory --- */

/* States that wait in host memory: parameters and optimizer of one rank, of
 * two; of a generation in another layout, to which training's are moved and
 * then offloaded. */
static const struct {
  const char *all, *generate;
} places[] = {
    {GPUS("0"), NULL},
    {GPUS("0-1") "tp = 2\n", NULL},
    {GPUS("0-1") "tp = 2\n", GPUS("0-1") "dp = 2\n"},
    {GPUS("0-3") "dp = 2\npp = 2\nmicro-batches = 2\n", GPUS("0-3") "tp = 4\n"},
};

/* @host: lines that say what is there; @train: likewise of train calls. */
static RunFixture *
run_at(int place, const char *host, const char *train)
{
  g_autofree char *all = g_strconcat(places[place].all, host, NULL);
  g_autofree char *generate =
      places[place].generate ? g_strconcat(places[place].generate, host, NULL)
                             : NULL;
  RunSpec spec = {.algorithm = "ppo",
                  .config = "run.json",
                  .all = all,
                  .generate = generate,
                  .train = train,
                  .n_iterations = 3,
                  .seed = 5};
  RunFixture *f = run_fixture_new(&spec);

  run_fixture_go(f);
  return f;
}

static void
check_same(const RunFixture *a, const RunFixture *b, const char *call)
{
  g_autoptr(GArray) x = run_fixture_params(a, call);
  g_autoptr(GArray) y = run_fixture_params(b, call);
  g_autoptr(GArray) m = run_fixture_moments(a, call);
  g_autoptr(GArray) n = run_fixture_moments(b, call);

  ck_assert_uint_eq(x->len, y->len);
  ck_assert_mem_eq(x->data, y->data, x->len * sizeof(float));
  ck_assert_mem_eq(m->data, n->data, m->len * sizeof(float));
}

/* Bits come back as they went, through three iterations of training: what is
 * learnt is the same.  All states of a rank are 4 models, 2 of them with
 * gradients and moments; in host memory are the weights of all and the moments
 * of both; on the GPU at a time no more than the account has.  On one GPU each
 * of the five calls finds another's weights there, and two train: of 7 states
 * an iteration all but the very first are asked for while another call runs. */
START_TEST(test_host)
{
  RunFixture *here = run_at(_i, "residency = keep\n", NULL);
  RunFixture *away =
      run_at(_i, "residency = host\n", "optimizer-residency = host\n");
  RaRunMemory held, kept;

  check_same(here, away, "atrain");
  check_same(here, away, "ctrain");
  for (uint32_t k = 0; k < 3; k++)
    ck_assert_double_eq_tol(ra_run_iteration(here->run, k)->policy_loss,
                            ra_run_iteration(away->run, k)->policy_loss,
                            1e-12); /* ranks sum in the order they come */
  ra_run_memory(here->run, 0, &kept);
  ra_run_memory(away->run, 0, &held);
  ck_assert_uint_eq(kept.host_bytes, 0);
  ck_assert_uint_gt(held.host_bytes, kept.states_bytes / 2);
  ck_assert_uint_lt(held.states_bytes, kept.states_bytes);
  ck_assert_uint_le(held.states_bytes, held.account_bytes);
  ck_assert_uint_lt(held.slab_bytes, kept.slab_bytes);
  if (_i == 0)
    ck_assert_uint_eq(ra_run_n_ahead(away->run, RA_AHEAD_RELOADS), 3 * 7 - 1);
  run_fixture_free(here);
  run_fixture_free(away);
}
END_TEST

/* Gradients that exist while training runs: what is learnt is the same, and a
 * rank needs no more than with those that stay; on one GPU, where two models
 * train in turn, less by the smaller's gradients. */
START_TEST(test_grads)
{
  RunFixture *kept = run_at(_i, "residency = keep\n", NULL);
  RunFixture *freed =
      run_at(_i, "residency = keep\n", "grad-residency = release\n");
  RaRunMemory held, before;

  check_same(kept, freed, "atrain");
  check_same(kept, freed, "ctrain");
  ra_run_memory(kept->run, 0, &before);
  ra_run_memory(freed->run, 0, &held);
  ck_assert_uint_eq(held.host_bytes, 0);
  ck_assert_uint_lt(held.states_bytes, before.states_bytes);
  ck_assert_uint_le(held.slab_bytes, before.slab_bytes);
  run_fixture_free(kept);
  run_fixture_free(freed);
}
END_TEST

/* The fault: bits that change while they are away are seen. */
START_TEST(test_host_fault)
{
  RunFixture *here = run_at(0, "residency = keep\n", NULL);
  RunFixture *away =
      run_at(0, "residency = host\n", "optimizer-residency = host\n");
  uint32_t call = ra_workload_find_call(away->text->workload, "atrain");
  const RaParams *params = ra_run_params(away->run, call, 0);
  g_autoptr(GArray) x = run_fixture_params(here, "atrain"), y = NULL;

  ck_assert_ptr_null(params->weights);
  ((guint8 *)params->away[RA_STATE_WEIGHTS])[5] ^= 1;
  y = run_fixture_params(away, "atrain");
  ck_assert_mem_ne(x->data, y->data, x->len * sizeof(float));
  run_fixture_free(here);
  run_fixture_free(away);
}
END_TEST

/* --- the slab --- */

/* The slab is the account's peak in the order of tasks, within 3 %, where no
 * copy of another layout is dropped (which stays); beside it are the host's
 * rooms for attention, and of rings. */
START_TEST(test_slab)
{
  double states, passes;
  RaRunMemory held;

  held_by(_i, &held, &states, &passes);
  fprintf(stderr,
          "# layout %d: account %.3f MiB, slab %.3f, beside it %.3f, states "
          "%.3f, passes %.3f\n",
          _i, (double)held.account_bytes / 0x1p20,
          (double)held.slab_bytes / 0x1p20, (double)held.beyond_bytes / 0x1p20,
          (double)held.states_bytes / 0x1p20,
          (double)held.passes_bytes / 0x1p20);
  ck_assert_double_le((double)held.slab_bytes,
                      1.03 * (double)held.account_bytes);
  ck_assert_uint_ge(held.slab_bytes, held.states_bytes);
  ck_assert_double_le((double)held.beyond_bytes,
                      0.06 * (double)held.account_bytes);
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

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_account, 0, G_N_ELEMENTS(layouts));
  tcase_add_test(tcase, test_fault);
  tcase_add_loop_test(tcase, test_host, 0, G_N_ELEMENTS(places));
  tcase_add_loop_test(tcase, test_grads, 0, G_N_ELEMENTS(places));
  tcase_add_test(tcase, test_host_fault);
  tcase_add_loop_test(tcase, test_slab, 0, G_N_ELEMENTS(layouts));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_memory_suite)
