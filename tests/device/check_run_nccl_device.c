/* Runs over NCCL with data on devices: the emulated device, and a double of the
 * library. */
#include "config.h"

#include "base/error.h"
#include "exec/backend/backend_cuda.h"
#include "exec/backend/cuda_measure.h"
#include "exec/comm/device_comm.h"
#include "exec/comm/nccl_impl.h"
#include "kernels/cpu/bf16.h"
#include "tests/double/nccl_peers.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/nccl.h"
#include "tests/emulator/queue.h"
#include "tests/support/check_main.h"
#include "tests/support/run_fixture.h"

#define GPUS(N) "mesh = node0:gpu[" N "]\n"

static const RaRunNccl *
nccl(gboolean by_peers)
{
  static RaRunNccl nccl;

  nccl_double_set_memory(ra_emu_nccl_memory());
  nccl.api = nccl_double();
  nccl.by_peers = by_peers;
  return &nccl;
}

/* Two ranks, tensor-parallel in training, replicas in generation; or replicas
 * that share experts in both, where some step has no row to exchange; or
 * sequences in training. */
typedef struct {
  const char *config, *all, *generate;
  guint n;
} Ranks;

enum { PIPELINE = 3 };

static const Ranks ranks[] = {
    {"run-wide.json", GPUS("0-1") "tp = 2\n", GPUS("0-1") "dp = 2\n", 2},
    {"run-device-moe.json", GPUS("0-1") "dp = 2\nep = 2\n", NULL, 2},
    {"run-device.json", GPUS("0-1") "cp = 2\n", GPUS("0-1") "dp = 2\n", 2},
    {"run-device.json", GPUS("0-1") "pp = 2\nmicro-batches = 2\n",
     GPUS("0-1") "dp = 2\n", 2},
    {"run-device.json", GPUS("0-3") "pp = 4\nmicro-batches = 4\n", NULL, 4},
    {"run-device.json", GPUS("0-3") "pp = 2\ntp = 2\nmicro-batches = 4\n",
     GPUS("0-3") "dp = 4\n", 4},
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
                  .pairs = TRUE,
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

/* Seed of runs whose ops are late, which NCCL's are not behind by themselves.
 */
static guint seed = 1;

static void
begin(guint of_seed, guint n_hosts)
{
  ra_emu_seed_queues(of_seed, of_seed % 2 == 1);
  ra_emu_late_ops(n_hosts > 0);
  if (n_hosts > 0)
    nccl_double_begin(n_hosts, of_seed);
}

/* (transfer full): run on the device; @carrier: NULL: threads carry. */
static RunFixture *
run_device(const Ranks *of, float rate, const RaRunNccl *carrier)
{
  RunFixture *f = fixture_new(of, "dtype = bf16", rate);

  begin(seed, carrier ? of->n : 0);
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

/* (transfer full): weights of the seed where generation has them, which
 * test_seeded() compares with the device's. */
static GArray *
seeded_params(const Ranks *of)
{
  RunFixture *host = fixture_new(of, NULL, 0);
  GArray *params;

  run_fixture_go(host);
  params = run_fixture_params(host, "gen");
  run_fixture_free(host);
  return params;
}

/* The weights that the first iteration trained, which are not the seed's, are
 * bit for bit those that the second generates with when threads carry: with two
 * ranks there is one order of a sum.  The slabs are enrolled in the groups that
 * sum in them, and withdrawn before they are freed.  Once with messages, once
 * with copies between peers; experts, which stay where they are, with messages,
 * and ranks whose keys go round; stages of a pipeline, which receive nothing
 * ahead. */
static const struct {
  guint ranks;
  gboolean by_peers;
} moves[] = {{0, TRUE}, {1, FALSE}, {2, FALSE}, {0, FALSE}, {PIPELINE, FALSE}};

START_TEST(test_moved)
{
  const Ranks *of = &ranks[moves[_i].ranks];
  g_autoptr(GArray) before = seeded_params(of);
  RunFixture *local = run_device(of, 1e-2f, NULL);
  RunFixture *device = run_device(of, 1e-2f, nccl(moves[_i].by_peers));
  g_autoptr(GArray) x = run_fixture_params(local, "gen");
  g_autoptr(GArray) y = run_fixture_params(device, "gen");
  NcclDoubleTally tally;
  guint n_changed = 0;

  ck_assert_uint_eq(x->len, y->len);
  ck_assert_mem_eq(x->data, y->data, x->len * sizeof(float));
  for (guint i = 0; i < x->len; i++)
    n_changed += bf16_at(x, i) != bf16_at(before, i);
  ck_assert_uint_gt(n_changed, x->len / 2);
  ck_assert_uint_eq(ra_run_n_ahead(device->run, RA_AHEAD_STAGES), 0);
  run_fixture_free(local);
  run_fixture_free(device);
  tally = nccl_double_tally();
  ck_assert_uint_eq(tally.n_peer_copies > 0, moves[_i].by_peers);
  ck_assert_uint_gt(tally.n_enrolled, 0);
  ck_assert_uint_eq(tally.n_enrolled, tally.n_withdrawn);
  if (moves[_i].ranks != PIPELINE) /* without sums in the slab */
    ck_assert_uint_gt(tally.n_shown, 0);
  ck_assert_uint_eq(tally.n_misuses, 0);
  nccl_double_end();
}
END_TEST

/* The faults: NCCL's streams do not follow ops, or ops do not follow those.
 * Some seed shows it: what is read too early may have been there.  Six in a row
 * did not, once, and the first that does ends the search. */
START_TEST(test_order_fault)
{
  enum { MOST = 24 };
  RunFixture *local = run_device(&ranks[0], 1e-2f, NULL);
  g_autoptr(GArray) x = run_fixture_params(local, "gen");
  gboolean is_caught = FALSE;

  for (guint i = 0; i < MOST && !is_caught; i++) {
    RunFixture *device = fixture_new(&ranks[0], "dtype = bf16", 1e-2f);

    begin(1 + i, ranks[0].n);
    nccl_double_forget((NcclDoubleFollow)_i);
    device->options.nccl = nccl(FALSE);
    device->options.backend = ra_backend_cuda();
    device->run = ra_run_new(device->graph, &device->options, NULL);
    ck_assert_ptr_nonnull(device->run);
    is_caught = !ra_run_go(device->run, NULL);
    if (!is_caught) {
      g_autoptr(GArray) y = run_fixture_params(device, "gen");

      is_caught = memcmp(x->data, y->data, x->len * sizeof(float)) != 0;
    }
    ck_assert_uint_gt(nccl_double_n_follows((NcclDoubleFollow)_i), 0);
    run_fixture_free(device);
    nccl_double_end();
  }
  ck_assert(is_caught);
  run_fixture_free(local);
}
END_TEST

/* Each kernel is loaded as it is begun, which waits for all that its rank has
 * begun: receives, and sends that nobody has received yet.  A GPU loads some of
 * these kernels late, and then waits for less.  (Fault: with receives posted
 * ahead the pipelines stand still.) */
START_TEST(test_late_loads)
{
  RunFixture *f = fixture_new(&ranks[_i], "dtype = bf16", 1e-2f);

  begin(seed, ranks[_i].n);
  f->options.nccl = nccl(FALSE);
  f->options.backend = ra_backend_cuda();
  ra_emu_load_late(nccl_double_wait_device);
  run_fixture_go(f);
  ra_emu_load_late(NULL);
  ck_assert(!nccl_double_is_stuck());
  ck_assert_uint_eq(ra_run_n_ahead(f->run, RA_AHEAD_STAGES), 0);
  ck_assert_uint_eq(ra_run_n_ahead(f->run, RA_AHEAD_STEPS), 0);
  run_fixture_free(f);
  nccl_double_end();
}
END_TEST

/* ---- memory ---------------------------------------------------------------*/

/* Taken in whole pages of 4 KiB. */
#define MADE_BYTES ((gsize)1 << 20)
#define CONNECTED_BYTES ((gsize)2 << 20)
/* An emulated device without an array has these (tests/emulator/measure.cc). */
#define CONTEXT_BYTES ((guint64)64 << 20)

static guint64 device_bytes; /* size of each rank's device */

static gboolean
device_memory(uint64_t *out_free, uint64_t *out_all)
{
  size_t free_bytes, all_bytes;

  ra_device_memory(&free_bytes, &all_bytes);
  *out_all = device_bytes;
  *out_free = device_bytes - (all_bytes - free_bytes);
  return TRUE;
}

/* (transfer full): two tensor-parallel ranks, each on a device of @n_bytes. */
static RunFixture *
fixture_of_devices(guint64 n_bytes)
{
  static const RaProbeMachine probe = {.memory = device_memory};
  static const RaAccelerator device = {.probe = &probe};
  RunFixture *f = fixture_new(&ranks[0], "dtype = bf16", 1e-2f);

  device_bytes = n_bytes;
  begin(seed, ranks[0].n);
  nccl_double_take(MADE_BYTES - 1, CONNECTED_BYTES - 1);
  f->options.nccl = nccl(FALSE);
  f->options.backend = ra_backend_cuda();
  f->options.accelerator = &device;
  return f;
}

/* Both ranks are in every group, and in the communicator that these are split
 * from, of which the double takes nothing.  So a rank's communicators have a
 * part for being made and one for the one peer, a group.  What a rank needs is
 * its account, a workspace and what the device had before; a byte less is
 * refused.  (Faults: without the first operations the run's account has the
 * made parts alone; without the test of the room the second run goes.) */
START_TEST(test_communicators_memory)
{
  g_autoptr(GError) error = NULL;
  RunFixture *f = fixture_of_devices(RA_EMU_MEMORY_BYTES);
  guint64 n_groups, needed_bytes;
  RaRunMemory m;

  run_fixture_go(f);
  n_groups = nccl_double_tally().n_comms / 2 - 1;
  ck_assert_uint_gt(n_groups, 0);
  for (uint32_t gpu = 0; gpu < 2; gpu++) {
    ra_run_memory(f->run, gpu, &m);
    ck_assert_uint_eq(m.communicators_bytes,
                      n_groups * (MADE_BYTES + CONNECTED_BYTES));
  }
  needed_bytes = CONTEXT_BYTES + m.communicators_bytes + m.account_bytes +
                 ra_backend_cuda()->workspace_bytes();
  run_fixture_free(f);
  nccl_double_end();
  for (guint64 less = 0; less < 2; less++) {
    f = fixture_of_devices(needed_bytes - less);
    f->run = ra_run_new(f->graph, &f->options, &error);
    ck_assert_int_eq(f->run != NULL, less == 0);
    run_fixture_free(f);
    nccl_double_end();
  }
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE));
  ck_assert_ptr_nonnull(strstr(error->message, "needs"));
}
END_TEST

/* A rank begins all-reduces whose peer has stalled: the host goes on, and
 * where it waits for the device, or as many are under way as may be, it says so
 * and ends the run. */
static guint n_begun;

static void
begin_sums(Peer *p)
{
  const RaBackend *b = ra_backend_cuda();
  float *x = b->alloc(4 * sizeof *x);

  if (p->rank == 1)
    for (;;)
      pause();
  b->zero(x, 4 * sizeof *x);
  for (guint i = 0; i < n_begun; i++) {
    if (i + 1 == MIN(n_begun, RA_NCCL_MOST_UNDER_WAY))
      must_say[0] = "an all-reduce on rank 0"; /* and none before said so */
    ra_device_comm_all_reduce_f32(b, p->group, x, 4);
  }
  b->wait();
}

START_TEST(test_stalled)
{
  n_begun = _i == 0 ? 3 : RA_NCCL_MOST_UNDER_WAY + 1;
  must_say[0] = "nothing yet";
  must_say[1] = "no other rank arrived within 0.3 s: one has died or stalled";
  n_to_fail = 1;
  ra_emu_late_ops(TRUE);
  nccl(FALSE);
  run_all(2, 0.3, 1, begin_sums);
}
END_TEST

/* The same of all-reduces that are captured: of the graph that holds them. */
static void
begin_graphs(Peer *p)
{
  const RaBackend *b = ra_backend_cuda();
  float *x = b->alloc(4 * sizeof *x);
  RaBackendGraph *graph;

  b->zero(x, 4 * sizeof *x);
  ra_device_comm_all_reduce_f32(b, p->group, x, 4);
  ra_device_comm_capture(b, p->group, RA_COMM_CAPTURE);
  b->begin_capture(TRUE);
  for (guint i = 0; i < 3; i++)
    ra_device_comm_all_reduce_f32(b, p->group, x, 4);
  graph = b->end_capture();
  ra_device_comm_capture(b, p->group, RA_COMM_CAPTURED);
  for (guint i = 0; i < 3; i++) {
    if (p->rank == 1 && i == 2)
      for (;;)
        pause();
    if (p->rank == 0 && i == 2)
      must_say[0] = "the collectives of a step on rank 0";
    ra_device_comm_capture(b, p->group, RA_COMM_BEGINS);
    b->begin_graph(graph);
    ra_device_comm_capture(b, p->group, RA_COMM_BEGUN);
    b->wait();
  }
}

START_TEST(test_stalled_graph)
{
  must_say[0] = "nothing yet";
  must_say[1] = "no other rank arrived within 0.3 s: one has died or stalled";
  n_to_fail = 1;
  ra_emu_late_ops(TRUE);
  nccl(FALSE);
  run_all(2, 0.3, 1, begin_graphs);
}
END_TEST

static Suite *
run_nccl_device_suite(void)
{
  Suite *suite = suite_create("run_nccl_device");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 900);
  tcase_add_loop_test(tcase, test_seeded, 0, RA_CHECK_SOME(2));
  tcase_add_loop_test(tcase, test_moved, 0, RA_CHECK_SOME(G_N_ELEMENTS(moves)));
  tcase_add_test(tcase, test_communicators_memory);
  tcase_add_loop_test(tcase, test_late_loads, 0, G_N_ELEMENTS(ranks));
  tcase_add_loop_test(tcase, test_order_fault, 0, NCCL_DOUBLE_N_FOLLOWS);
  tcase_add_loop_exit_test(tcase, test_stalled, ENDED, 0, 2);
  tcase_add_exit_test(tcase, test_stalled_graph, ENDED);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(run_nccl_device_suite)
