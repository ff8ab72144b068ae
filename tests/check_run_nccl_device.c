/* Runs over NCCL whose data lie on devices: the emulated one, and a double of
 * the library. */
#include "config.h"

#include "exec/backend_cuda.h"
#include "exec/cuda_device.h"
#include "kernels/bf16.h"
#include "tests/check_main.h"
#include "tests/emulator/memory.h"
#include "tests/nccl_double.h"
#include "tests/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"

static const RaRunNccl *
nccl(gboolean by_peers)
{
  static const NcclDoubleMemory memory = {ra_emu_enter, ra_emu_leave,
                                          ra_device_alloc, ra_device_free};
  static RaRunNccl nccl;

  nccl_double_set_memory(&memory);
  nccl.api = nccl_double();
  nccl.by_peers = by_peers;
  return &nccl;
}

/* Two ranks, tensor-parallel in training, replicas in generation; or replicas
 * that share experts in both, or sequences in training. */
typedef struct {
  const char *config, *all, *generate;
} Ranks;

static const Ranks ranks[] = {
    {"run-wide.json", GPUS("0-1") "tp = 2\n", GPUS("0-1") "dp = 2\n"},
    {"run-device-moe.json", GPUS("0-1") "dp = 2\nep = 2\n", NULL},
    {"run-device.json", GPUS("0-1") "cp = 2\n", GPUS("0-1") "dp = 2\n"},
};

static RunFixture *
fixture_new(const Ranks *of, const char *dtype, float rate)
{
  RunSpec spec = {.algorithm = "grpo",
                  .config = of->config,
                  .all = of->all,
                  .generate = of->generate,
                  .train = "grad-dtype = fp32\n",
                  .n_iterations = 2,
                  .seed = 1,
                  .head = "[workload]\nformat = 1\nalgorithm = test\n"
                          "dataset = prompts\nprompts = 2\n"
                          "prompt-length = fixed(2)\n"
                          "response-length = fixed(2)\n"
                          "mini-batches = 1\n",
                  .dtype = dtype};
  RunFixture *f = run_fixture_new(&spec);

  f->options.policy.rate = rate;
  return f;
}

/* (transfer full): run on the device; @carrier: NULL: threads carry. */
static RunFixture *
run_device(const Ranks *of, float rate, const RaRunNccl *carrier)
{
  RunFixture *f = fixture_new(of, "dtype = bf16", rate);

  if (carrier)
    nccl_double_begin(2, 1);
  f->options.nccl = carrier;
  f->options.backend = ra_backend_cuda();
  run_fixture_go(f);
  ck_assert_msg(!ra_backend_cuda()->failure(), "%s",
                ra_backend_cuda()->failure());
  return f;
}

static uint16_t
bf16_at(const GArray *x, guint i)
{
  return ra_bf16_from_f32(g_array_index(x, float, i));
}

/* At a learning rate of 0 weights are what the host has of the same seed,
 * rounded to the nearest bf16, in the layout of training and in that where
 * a reallocation moved them. */
START_TEST(test_seeded)
{
  static const char *const calls[] = {"atrain", "gen"};
  RunFixture *host = fixture_new(&ranks[_i], NULL, 0), *device;

  run_fixture_go(host);
  device = run_device(&ranks[_i], 0, nccl(FALSE));
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    g_autoptr(GArray) x = run_fixture_params(host, calls[i]);
    g_autoptr(GArray) y = run_fixture_params(device, calls[i]);

    ck_assert_uint_eq(x->len, y->len);
    for (guint k = 0; k < x->len; k++)
      ck_assert_uint_eq(bf16_at(x, k), bf16_at(y, k));
  }
  run_fixture_free(host);
  run_fixture_free(device);
  nccl_double_end();
}
END_TEST

/* What the first iteration trained, which is not the seed's, is bit for bit
 * what the second generates with when threads carry: with two ranks there is
 * one order of a sum.  The slabs are enrolled in the groups that sum in them,
 * and withdrawn before they are freed.  Once with messages, once with copies
 * between peers; experts, which stay where they are, with messages, and ranks
 * whose keys go round. */
static const struct {
  guint ranks;
  gboolean by_peers;
} moves[] = {{0, TRUE}, {1, FALSE}, {2, FALSE}, {0, FALSE}};

START_TEST(test_moved)
{
  const Ranks *of = &ranks[moves[_i].ranks];
  RunFixture *seeded = run_device(of, 0, NULL);
  RunFixture *local = run_device(of, 1e-2f, NULL);
  RunFixture *device = run_device(of, 1e-2f, nccl(moves[_i].by_peers));
  g_autoptr(GArray) before = run_fixture_params(seeded, "gen");
  g_autoptr(GArray) x = run_fixture_params(local, "gen");
  g_autoptr(GArray) y = run_fixture_params(device, "gen");
  NcclDoubleTally tally;
  guint n_changed = 0;

  ck_assert_uint_eq(x->len, y->len);
  ck_assert_mem_eq(x->data, y->data, x->len * sizeof(float));
  for (guint i = 0; i < x->len; i++)
    n_changed += bf16_at(x, i) != bf16_at(before, i);
  ck_assert_uint_gt(n_changed, x->len / 2);
  run_fixture_free(seeded);
  run_fixture_free(local);
  run_fixture_free(device);
  tally = nccl_double_tally();
  ck_assert_uint_eq(tally.n_peer_copies > 0, moves[_i].by_peers);
  ck_assert_uint_gt(tally.n_enrolled, 0);
  ck_assert_uint_eq(tally.n_enrolled, tally.n_withdrawn);
  ck_assert_uint_gt(tally.n_shown, 0);
  ck_assert_uint_eq(tally.n_misuses, 0);
  nccl_double_end();
}
END_TEST

/* A kernel's threads are fibers, which AddressSanitizer makes slow: what it
 * looks for, the first half of the tests shows as well as all. */
#ifdef __SANITIZE_ADDRESS__
#define TESTS(n) (((int)(n) + 1) / 2)
#else
#define TESTS(n) ((int)(n))
#endif

static Suite *
run_nccl_device_suite(void)
{
  Suite *suite = suite_create("run_nccl_device");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 900);
  tcase_add_loop_test(tcase, test_seeded, 0, TESTS(2));
  tcase_add_loop_test(tcase, test_moved, 0, TESTS(G_N_ELEMENTS(moves)));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_nccl_device_suite)
