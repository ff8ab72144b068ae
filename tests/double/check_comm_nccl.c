/* The communicator `nccl` on a double of the library: collectives against those
 * of `local`, messages, faults. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/comm/nccl_impl.h"
#include "tests/double/nccl_peers.h"
#include "tests/support/check_main.h"

#define LENGTH 1003 /* floats: ragged over 2 to 8 ranks */

/* ---- collectives ----------------------------------------------------------*/

/* Rank @rank's numbers of place @i, of about 1 and both signs. */
static float
number(uint32_t rank, gsize i)
{
  return sinf((float)(i * 7 + rank * 131 + 1));
}

static void
fill(float *x, gsize n, uint32_t rank)
{
  for (gsize i = 0; i < n; i++)
    x[i] = number(rank, i);
}

/* Sums of 8 terms of at most 1 in any two orders: 2 * 7 roundings of at most
 * 8 * 2^-24 are 6.7e-6 at the very worst, and 1e-6 of what such sums are met
 * here; 1e-6 * 8 is asked. */
static void
assert_near(const float *x, const float *want, gsize n)
{
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat(fabsf(x[i] - want[i]), <=, 8e-6f);
}

static void
sums(Peer *p)
{
  uint32_t n_ranks = p->group->n_ranks;
  g_autofree float *x = g_new(float, n_ranks *LENGTH);
  g_autofree float *y = g_new(float, n_ranks *LENGTH);
  float part[LENGTH], want[LENGTH];

  for (guint round = 0; round < 3; round++) {
    fill(x, LENGTH, p->rank);
    fill(y, LENGTH, p->rank);
    p->group->table->all_reduce(p->group, RA_REDUCE_SUM, x, LENGTH);
    p->local->table->all_reduce(p->local, RA_REDUCE_SUM, y, LENGTH);
    assert_near(x, y, LENGTH);
    /* A maximum has no order: bit for bit. */
    fill(x, LENGTH, p->rank);
    fill(y, LENGTH, p->rank);
    p->group->table->all_reduce(p->group, RA_REDUCE_MAX, x, LENGTH);
    p->local->table->all_reduce(p->local, RA_REDUCE_MAX, y, LENGTH);
    g_assert_cmpmem(x, LENGTH * sizeof *x, y, LENGTH * sizeof *y);
    fill(x, (gsize)n_ranks * LENGTH, p->rank);
    p->group->table->reduce_scatter(p->group, x, part, LENGTH);
    p->local->table->reduce_scatter(p->local, x, want, LENGTH);
    assert_near(part, want, LENGTH);
  }
}

/* Two at a time, waited for in the other order; parts of like and of unlike
 * sizes; what is not a rank's part stays. */
static void
started(Peer *p)
{
  uint32_t n_ranks = p->group->n_ranks;

  for (gsize n = LENGTH; n >= LENGTH - MOST_RANKS; n--) {
    gsize begin = n * p->rank / n_ranks, end = n * (p->rank + 1) / n_ranks;
    float x[LENGTH], y[LENGTH], z[LENGTH], all[LENGTH], before[LENGTH];
    RaCommRequest *first, *second;

    fill(x, n, p->rank);
    fill(y, n, p->rank);
    fill(all, n, p->rank);
    fill(z, n, p->rank);
    fill(before, n, p->rank);
    first = p->group->table->start_reduce_scatter(p->group, x, n);
    second = p->group->table->start_all_reduce(p->group, RA_REDUCE_SUM, all, n);
    g_assert_cmpfloat(p->group->table->wait(p->group, second), >, 0);
    p->group->table->wait(p->group, first);
    p->local->table->wait(
        p->local, p->local->table->start_reduce_scatter(p->local, y, n));
    p->local->table->all_reduce(p->local, RA_REDUCE_SUM, z, n);
    assert_near(all, z, n);
    assert_near(x + begin, y + begin, end - begin);
    g_assert_cmpmem(x, begin * sizeof *x, before, begin * sizeof *x);
    g_assert_cmpmem(x + end, (n - end) * sizeof *x, before + end,
                    (n - end) * sizeof *x);
  }
}

/* Ops that only move bytes: bit for bit. */
static void
moves(Peer *p)
{
  uint32_t n_ranks = p->group->n_ranks;
  gsize n = (gsize)n_ranks * LENGTH, part = LENGTH * sizeof(float);
  g_autofree float *in = g_new(float, n);
  g_autofree float *out = g_new(float, n);
  g_autofree float *want = g_new(float, n);

  fill(in, n, p->rank);
  p->group->table->all_to_all(p->group, in, out, part);
  p->local->table->all_to_all(p->local, in, want, part);
  g_assert_cmpmem(out, n_ranks * part, want, n_ranks * part);
  p->group->table->all_gather(p->group, in, out, part);
  p->local->table->all_gather(p->local, in, want, part);
  g_assert_cmpmem(out, n_ranks * part, want, n_ranks * part);
  /* Its own place. */
  fill(out + p->rank * LENGTH, LENGTH, p->rank);
  p->group->table->all_gather(p->group, out + p->rank * LENGTH, out, part);
  g_assert_cmpmem(out, n_ranks * part, want, n_ranks * part);
  for (uint32_t root = 0; root < n_ranks; root++) {
    float x[LENGTH], y[LENGTH];

    fill(x, LENGTH, p->rank);
    fill(y, LENGTH, root);
    p->group->table->broadcast(p->group, root, x, sizeof x);
    g_assert_cmpmem(x, sizeof x, y, sizeof y);
  }
}

START_TEST(test_collectives)
{
  static const WorkFunc works[] = {sums, started, moves};

  for (guint i = 0; i < G_N_ELEMENTS(works); i++)
    for (uint32_t n = 2; n <= MOST_RANKS; n += n < 4 ? 1 : 4) {
      NcclDoubleTally tally = run_all(n, 60, 10 * i + n, works[i]);

      ck_assert_uint_eq(tally.n_aborted, 0);
      /* All ranks make all calls: that of all, and where pairs share a rank
       * further ones. */
      ck_assert_uint_eq(tally.n_splits % n, 0);
      ck_assert_uint_ge(tally.n_splits, 3 * n);
    }
}
END_TEST

/* Nobody passes a barrier before all have come. */
static atomic_uint n_came;

static void
meet(Peer *p)
{
  for (guint round = 1; round <= 20; round++) {
    if (p->rank == round % p->group->n_ranks)
      usleep(200);
    atomic_fetch_add(&n_came, 1);
    p->group->table->barrier(p->group);
    g_assert_cmpuint(atomic_load(&n_came), >=, round * p->group->n_ranks);
  }
}

START_TEST(test_barrier)
{
  run_all(4, 60, 1, meet);
}
END_TEST

/* ---- messages -------------------------------------------------------------*/

/* All send first, a hundred, into sends that wait for their receives: nobody
 * waits, as a pair has a stream of its own; in order. */
static void
ring(Peer *p)
{
  uint32_t n = p->group->n_ranks;
  uint32_t to = (p->rank + 1) % n, from = (p->rank + n - 1) % n;
  uint32_t data[2];

  for (uint32_t i = 0; i < 100; i++) {
    data[0] = p->rank;
    data[1] = i;
    p->pairs->table->send(p->pairs, to, data, sizeof data);
  }
  for (uint32_t i = 0; i < 100; i++) {
    p->pairs->table->recv(p->pairs, from, data, sizeof data);
    g_assert_cmpuint(data[0], ==, from);
    g_assert_cmpuint(data[1], ==, i);
  }
}

/* One forward, one backward, as stages do: each way asks ahead. */
static void
both_ways(Peer *p)
{
  uint32_t n = p->group->n_ranks;
  uint32_t next = (p->rank + 1) % n, before = (p->rank + n - 1) % n;

  for (uint32_t i = 0; i < 30; i++) {
    uint32_t there = 100 * p->rank + i, back = 1000 + there, got[2];
    RaCommRequest *first, *second;

    first = p->pairs->table->start_recv(p->pairs, before, &got[0], 4);
    second = p->pairs->table->start_recv(p->pairs, next, &got[1], 4);
    p->pairs->table->send(p->pairs, before, &back, 4);
    p->pairs->table->send(p->pairs, next, &there, 4);
    p->pairs->table->wait(p->pairs, second);
    p->pairs->table->wait(p->pairs, first);
    g_assert_cmpuint(got[0], ==, 100 * before + i);
    g_assert_cmpuint(got[1], ==, 1000 + 100 * next + i);
  }
}

/* Within a group, as experts exchange rows: all ask, all send, all wait; then a
 * collective behind it. */
static void
experts(Peer *p)
{
  uint32_t n = p->group->n_ranks;

  for (uint32_t i = 0; i < 20; i++) {
    uint32_t got[MOST_RANKS];
    RaCommRequest *requests[MOST_RANKS];
    float one = 1;

    for (uint32_t r = 0; r < n; r++)
      if (r != p->rank)
        requests[r] = p->group->table->start_recv(p->group, r, &got[r], 4);
    for (uint32_t r = 0; r < n; r++) {
      uint32_t data = 10000 * i + 100 * p->rank + r;

      if (r != p->rank)
        p->group->table->send(p->group, r, &data, 4);
    }
    for (uint32_t r = n; r-- > 0;)
      if (r != p->rank) {
        p->group->table->wait(p->group, requests[r]);
        g_assert_cmpuint(got[r], ==, 10000 * i + 100 * r + p->rank);
      }
    p->group->table->all_reduce(p->group, RA_REDUCE_SUM, &one, 1);
    g_assert_cmpfloat(one, ==, (float)n);
  }
}

START_TEST(test_messages)
{
  NcclDoubleTally tally;

  run_all(4, 60, 1, ring);
  run_all(2, 60, 2, ring);
  run_all(4, 60, 3, both_ways);
  tally = run_all(4, 60, 4, experts);
  ck_assert_uint_ge(tally.n_groups, 20 * 4); /* messages left at a time */
}
END_TEST

static void
enrolled(Peer *p)
{
  float x[LENGTH];

  g_assert_true(ra_nccl_enrol(p->group, x, sizeof x));
  fill(x, LENGTH, p->rank);
  p->group->table->all_reduce(p->group, RA_REDUCE_MAX, x, LENGTH);
}

START_TEST(test_enrolled)
{
  NcclDoubleTally tally = run_all(3, 60, 1, enrolled);

  ck_assert_uint_eq(tally.n_enrolled, 3);
  ck_assert_uint_eq(tally.n_withdrawn, 3);
  ck_assert_uint_eq(tally.n_misuses, 0);
}
END_TEST

/* Half of what is summed, and what is freed too early: the double counts each
 * on every rank; with a sum that stays within, which is shown. */
static void
misused(Peer *p)
{
  float x[LENGTH];
  void *freed;

  g_assert_true(ra_nccl_enrol(p->group, x, sizeof x / 2));
  fill(x, LENGTH, p->rank);
  p->group->table->device->all_reduce(p->group, RA_COMM_F32, x, LENGTH / 2);
  p->group->table->device->all_reduce(p->group, RA_COMM_F32, x, LENGTH);
  g_assert_cmpint(nccl_double()->alloc_shown(&freed, 64), ==, RA_NCCL_OK);
  g_assert_true(ra_nccl_enrol(p->group, freed, 64));
  nccl_double()->free_shown(freed);
}

START_TEST(test_misused)
{
  NcclDoubleTally tally = run_all(3, 60, 1, misused);

  ck_assert_uint_eq(tally.n_shown, 3);
  ck_assert_uint_eq(tally.n_misuses, 6);
}
END_TEST

/* ---- faults ---------------------------------------------------------------*/

/* Rank 2 sleeps in place of its all-reduce: the three others say so and end. */
static void
stall(Peer *p)
{
  float x = 1;

  p->group->table->all_reduce(p->group, RA_REDUCE_SUM, &x, 1);
  if (p->rank == 2)
    for (;;)
      pause();
  p->group->table->all_reduce(p->group, RA_REDUCE_SUM, &x, 1);
}

START_TEST(test_stalled)
{
  must_say[0] = "an all-reduce on rank";
  must_say[1] = "no other rank arrived within 0.3 s: one has died or stalled";
  n_to_fail = 3;
  run_all(4, 0.3, 1, stall);
}
END_TEST

/* A message that is never sent ends who waits for it. */
static void
no_message(Peer *p)
{
  uint32_t got;

  if (p->rank == 0)
    p->pairs->table->recv(p->pairs, 1, &got, sizeof got);
  else
    for (;;)
      pause();
}

START_TEST(test_no_message)
{
  must_say[0] = "a receive on rank 0 (pair, 2 ranks from rank 1)";
  must_say[1] = "no other rank";
  n_to_fail = 1;
  run_all(2, 0.2, 1, no_message);
}
END_TEST

/* The library finds on every rank that a peer is gone, with a minute of
 * patience left. */
static void
lose(Peer *p)
{
  float x = 1;

  p->group->table->all_reduce(p->group, RA_REDUCE_SUM, &x, 1);
  nccl_double_fail(((RaNcclEnd *)p->group)->handle, NCCL_DOUBLE_STUCK - 4);
  if (p->rank == 1)
    for (;;)
      pause();
  p->group->table->all_reduce(p->group, RA_REDUCE_SUM, &x, 1);
}

START_TEST(test_async_error)
{
  must_say[0] = "an all-reduce on rank";
  must_say[1] = "(world, 3 ranks from rank 0): remote process exited";
  n_to_fail = 2;
  run_all(3, 60, 1, lose);
}
END_TEST

/* Who has failed has dropped all its communicators. */
static void
check_dropped(const char *line, gpointer data)
{
  _exit(nccl_double_tally().n_aborted == 4 ? ENDED : 1);
}

START_TEST(test_dropped)
{
  RaNcclOptions options = {nccl_double(), 60, check_dropped, NULL, 0};
  g_autoptr(RaCommGroups) splits = ra_comm_groups_new(1);
  RaCommGroup alone = {.n = 1, .stream = RA_STREAM_TP};
  uint32_t zero = 0;
  RaNcclId id;
  RaNccl *nccl;
  float x = 1;
  RaComm *comm;

  /* Three groups of one, as no plan has them, in a split each. */
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t *taken = g_new(uint32_t, 1);

    *taken = alone.split = i;
    g_array_append_val(splits->groups, alone);
    g_ptr_array_add(splits->taken, taken);
  }
  g_array_append_val(splits->members, zero);
  splits->n_splits = 3;
  nccl_double_begin(1, 1);
  nccl_double_enter();
  ck_assert(ra_nccl_id(nccl_double(), &id, NULL));
  nccl = ra_nccl_new(&options, &id, 1, 0, NULL);
  ck_assert(ra_nccl_split(nccl, splits, NULL, NULL));
  comm = ra_nccl_comm_new(nccl, 1);
  comm->table->all_reduce(comm, RA_REDUCE_SUM, &x, 1);
  ck_assert(x >= 1 && x <= 1);
  nccl_double_fail(((RaNcclEnd *)comm)->handle, 2);
  comm->table->recv(comm, 0, &x, sizeof x); /* that nobody sends */
}
END_TEST

/* Who has not come when the communicator of all is made is an error, in time.
 */
START_TEST(test_absent)
{
  RaNcclOptions options = {nccl_double(), 0.1, end_run, NULL, 0};
  g_autoptr(GError) error = NULL;
  RaNcclId id;

  nccl_double_begin(2, 1);
  nccl_double_enter();
  ck_assert(ra_nccl_id(nccl_double(), &id, NULL));
  ck_assert_ptr_null(ra_nccl_new(&options, &id, 2, 0, &error));
  ck_assert_ptr_nonnull(error);
  ck_assert_str_eq(error->message,
                   "nccl: the communicator of all ranks on rank 0: no other "
                   "rank arrived within 0.1 s: one has died or stalled");
  ck_assert_uint_eq(nccl_double_tally().n_aborted, 0); /* nobody has it yet */
  nccl_double_leave();
  nccl_double_end();
}
END_TEST

static Suite *
comm_nccl_suite(void)
{
  Suite *suite = suite_create("comm_nccl");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_collectives);
  tcase_add_test(tcase, test_barrier);
  tcase_add_test(tcase, test_messages);
  tcase_add_test(tcase, test_enrolled);
  tcase_add_test(tcase, test_misused);
  tcase_add_exit_test(tcase, test_stalled, ENDED);
  tcase_add_exit_test(tcase, test_no_message, ENDED);
  tcase_add_exit_test(tcase, test_async_error, ENDED);
  tcase_add_exit_test(tcase, test_dropped, ENDED);
  tcase_add_test(tcase, test_absent);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(comm_nccl_suite)
