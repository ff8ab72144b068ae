/* Whole runs over NCCL, on a double of the library with sends that wait for
 * their receives and slow streams, against the same runs over threads. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec/comm/comm_peer.h"
#include "tests/double/nccl_double.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"
#define ALL GPUS("0-7")
#define ENDED 7 /* status of a run that was ended as it should */

/* Every kind of group and of message: tp, dp, pp with and without interleaving,
 * cp, zero 1, ep, tied embeddings, all-to-one reallocations and back. */
/* clang-format off */
static const struct {
  const char *algorithm, *config, *all, *generate, *train;
} layouts[] = {
    {"ppo", "run.json", GPUS("0"), NULL, NULL},
    {"ppo", "run.json", GPUS("0-1") "pp = 2\n", NULL, NULL},
    {"ppo", "run.json", ALL "dp = 8\n", NULL, "overlap-grad-reduce = true\n"},
    {"ppo", "run.json", ALL "tp = 2\npp = 2\ndp = 2\n", NULL,
     "micro-batches = 4\nrecompute = selective\n"},
    {"ppo", "run.json", GPUS("0-3") "pp = 2\ntp = 2\nmicro-batches = 4\n",
     NULL, "schedule = interleaved:2\n"},
    {"ppo", "run.json", ALL "tp = 4\ndp = 2\n", ALL "dp = 4\npp = 2\n", NULL},
    {"ppo", "run.json", GPUS("0-3") "dp = 2\npp = 2\nstage-layers = 3,1\n",
     GPUS("4-7") "tp = 4\nrealloc = all-gather\n", NULL},
    {"ppo", "run.json", GPUS("0-3") "tp = 4\n",
     GPUS("4-5") "pp = 2\nrealloc = p2p\nresidency = keep\n", NULL},
    {"ppo", "run.json", GPUS("0-3") "cp = 2\ntp = 2\n",
     GPUS("4-7") "dp = 2\npp = 2\n", "zero = 1\n"},
    {"grpo", "run.json", ALL "tp = 2\ndp = 2\npp = 2\n", GPUS("0-1") "dp = 2\n",
     NULL},
    {"grpo", "run-tied.json", ALL "tp = 2\ncp = 2\npp = 2\n",
     ALL "dp = 4\ntp = 2\n", "micro-batches = 2\n"},
};
/* clang-format on */

static RunSpec
spec_of(int i)
{
  return (RunSpec){.algorithm = layouts[i].algorithm,
                   .config = layouts[i].config,
                   .all = layouts[i].all,
                   .generate = layouts[i].generate,
                   .train = layouts[i].train,
                   .n_iterations = 2,
                   .seed = 6};
}

static uint32_t
n_ranks(const RunFixture *f)
{
  uint32_t n = 0;

  for (uint32_t gpu = 0; gpu < 8; gpu++)
    n += f->graph->lane_of_gpu[gpu] != RA_NONE;
  return n;
}

static const RaRunNccl *
nccl(void)
{
  static RaRunNccl nccl;

  nccl.api = nccl_double();
  return &nccl;
}

/* (transfer full): the run over the double; nobody was ever stuck. */
static RunFixture *
run_nccl(const RunSpec *spec, uint32_t seed)
{
  RunFixture *f = run_fixture_new(spec);

  nccl_double_begin(n_ranks(f), seed);
  f->options.nccl = nccl();
  run_fixture_go(f);
  ck_assert(!nccl_double_is_stuck());
  ck_assert_uint_eq(nccl_double_tally().n_aborted, 0);
  ck_assert_uint_gt(nccl_double_tally().n_ops, 0);
  return f;
}

static void
assert_same(const RunFixture *a, const RunFixture *b, const char *call)
{
  g_autoptr(GArray) x = run_fixture_params(a, call);
  g_autoptr(GArray) y = run_fixture_params(b, call);

  ck_assert_uint_eq(x->len, y->len);
  ck_assert_mem_eq(x->data, y->data, x->len * sizeof(float));
}

/* A library that adds in the order of `local` gives its bits: losses, and what
 * was trained, in the layout of training and where it was moved to. */
START_TEST(test_same_bits)
{
  RunSpec spec = spec_of(_i);
  RunFixture *a = run_fixture_new(&spec), *b;

  run_fixture_go(a);
  nccl_double_add_in_order(TRUE);
  b = run_nccl(&spec, 1 + (uint32_t)_i);
  nccl_double_add_in_order(FALSE);
  for (uint32_t k = 0; k < 2; k++) {
    const RaRunIteration *x = ra_run_iteration(a->run, k);
    const RaRunIteration *y = ra_run_iteration(b->run, k);

    ck_assert_uint_eq(x->n_steps, y->n_steps);
    ck_assert_mem_eq(&x->reward, &y->reward, sizeof x->reward);
    ck_assert_mem_eq(&x->grad_norm, &y->grad_norm, sizeof x->grad_norm);
  }
  assert_same(a, b, "gen");
  assert_same(a, b, "atrain");
  run_fixture_free(a);
  run_fixture_free(b);
  nccl_double_end();
}
END_TEST

/* One that adds in another order draws the same tokens (no tie falls
 * differently under this seed), and parameters differ by what rounding the sums
 * of 8 terms otherwise does: as tests/exec/check_run.c has it of layouts, 1e-4.
 *  */
START_TEST(test_other_order)
{
  RunSpec spec = spec_of(_i);
  RunFixture *a = run_fixture_new(&spec), *b;
  g_autoptr(GArray) x = NULL, y = NULL;

  run_fixture_go(a);
  b = run_nccl(&spec, 100 + (uint32_t)_i);
  x = run_fixture_params(a, "atrain");
  y = run_fixture_params(b, "atrain");
  ck_assert_double_le(run_fixture_worst(y, x), 1e-4);
  if (_i == 2) /* sums of 8: that the bits are compared would be seen */
    ck_assert_mem_ne(x->data, y->data, x->len * sizeof(float));
  run_fixture_free(a);
  run_fixture_free(b);
  nccl_double_end();
}
END_TEST

/* With one rank there is one communicator, that of all, and what a mesh sums is
 * asked of it: the norms of PPO's two models, two mini-batches, two
 * iterations. */
START_TEST(test_one_rank)
{
  RunSpec spec = spec_of(0);
  RunFixture *f = run_nccl(&spec, 1);

  ck_assert_uint_eq(nccl_double_tally().n_comms, 1);
  ck_assert_uint_eq(nccl_double_tally().n_splits, 0);
  ck_assert_uint_eq(nccl_double_tally().n_ops, 8);
  run_fixture_free(f);
  nccl_double_end();
}
END_TEST

/* Reallocations as copies between peers: the bits are those of threads.
 * Interleaved stages alone are a layout of their own. */
START_TEST(test_peers)
{
  RunSpec spec = spec_of(_i);
  RunFixture *a = run_fixture_new(&spec), *b = run_fixture_new(&spec);
  const RaRunNccl peers = {.api = nccl_double(), .by_peers = TRUE};

  run_fixture_go(a);
  nccl_double_add_in_order(TRUE);
  nccl_double_begin(n_ranks(b), 1 + (uint32_t)_i);
  b->options.nccl = &peers;
  run_fixture_go(b);
  nccl_double_add_in_order(FALSE);
  ck_assert_uint_eq(
      nccl_double_tally().n_peer_copies > 0,
      layouts[_i].generate ||
          (layouts[_i].train && strstr(layouts[_i].train, "interleaved")));
  assert_same(a, b, "gen");
  assert_same(a, b, "atrain");
  run_fixture_free(a);
  run_fixture_free(b);
  nccl_double_end();
}
END_TEST

/* ---- faults ---------------------------------------------------------------*/

/* In the reward's call, on the first rank of its mesh. */
static void (*fault)(void);

static double
faulty_rule(const uint32_t *prompt, uint32_t n_prompt, const uint32_t *response,
            uint32_t n_response, uint32_t vocab)
{
  fault();
  return 0;
}

static const char *must_begin, *must_have;

static void
end_run(const char *line, uint64_t order, gpointer data)
{
  fprintf(stderr, "# %s\n", line);
  _exit(g_str_has_prefix(line, must_begin) && strstr(line, must_have) &&
                !strchr(line, '\n')
            ? ENDED
            : 1);
}

static void
run_into_fault(int layout, const RaRunNccl *by)
{
  RunSpec spec = spec_of(layout);
  RunFixture *f = run_fixture_new(&spec);

  nccl_double_begin(n_ranks(f), 1);
  f->options.nccl = by;
  f->options.rule = fault ? faulty_rule : f->options.rule;
  f->options.fault = end_run;
  f->options.stall_s = 0.5;
  run_fixture_go(f);
}

static void
stall(void)
{
  for (;;)
    pause();
}

/* A rank that stalls is named, while its peers wait for it in NCCL. */
START_TEST(test_stall)
{
  fault = stall;
  must_begin = "it0/rew";
  must_have = " on rank 0: no progress for 0.5 s";
  run_into_fault(9, nccl());
}
END_TEST

static void
lose(void)
{
  nccl_double_fail(NULL, NCCL_DOUBLE_GONE);
}

/* The library finds that a peer is gone: one line of one rank ends the run. */
START_TEST(test_lost)
{
  fault = lose;
  must_begin = "nccl: ";
  must_have = "remote process exited";
  run_into_fault(9, nccl());
}
END_TEST

static int
copy_or_hang(void *to, uint32_t to_device, const void *from,
             uint32_t from_device, gsize n_bytes)
{
  if (to_device == 3)
    stall();
  return nccl_double()->copy_peer(to, to_device, from, from_device, n_bytes);
}

/* A copy from a peer that does not end is a stall of the rank that copies,
 * whom the others wait for. */
START_TEST(test_copy_hangs)
{
  RaNcclApi api = *nccl_double();
  const RaRunNccl peers = {.api = &api, .by_peers = TRUE};

  api.copy_peer = copy_or_hang;
  must_begin = "it0/";
  must_have = " on rank 3: no progress for 0.5 s";
  run_into_fault(5, &peers);
}
END_TEST

/* Devices of which one reaches no other are refused, and named. */
START_TEST(test_cut_off)
{
  const uint32_t devices[] = {1, 2, 0};
  g_autoptr(GError) error = NULL;

  ck_assert(ra_peers_check(nccl_double(), devices, 3, &error));
  nccl_double_cut_off(TRUE);
  ck_assert(ra_peers_check(nccl_double(), devices, 2, &error));
  ck_assert(!ra_peers_check(nccl_double(), devices, 3, &error));
  nccl_double_cut_off(FALSE);
  ck_assert_str_eq(error->message,
                   "copies between peers: device 1 of rank 0 does not reach "
                   "device 0 of rank 2, expected grouped messages");
}
END_TEST

static Suite *
run_nccl_suite(void)
{
  Suite *suite = suite_create("run_nccl");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_same_bits, 0, G_N_ELEMENTS(layouts));
  tcase_add_loop_test(tcase, test_other_order, 0,
                      RA_CHECK_SOME(G_N_ELEMENTS(layouts)));
  tcase_add_test(tcase, test_one_rank);
  tcase_add_loop_test(tcase, test_peers, 0,
                      RA_CHECK_SOME(G_N_ELEMENTS(layouts)));
  tcase_add_test(tcase, test_cut_off);
  tcase_add_exit_test(tcase, test_stall, ENDED);
  tcase_add_exit_test(tcase, test_lost, ENDED);
  tcase_add_exit_test(tcase, test_copy_hangs, ENDED);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_nccl_suite)
