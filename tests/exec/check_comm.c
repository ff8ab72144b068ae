#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "exec/comm/comm_local.h"
#include "tests/support/check_main.h"

#define N 4
#define LENGTH 1000 /* floats: more than a tile a rank's part, and ragged */

typedef struct {
  RaLocalGroup *group;
  uint32_t rank;
  void (*work)(RaComm *comm);
} Rank;

static void *
run_rank(void *data)
{
  Rank *rank = data;
  RaComm *comm = ra_local_comm_new(rank->group, rank->rank);

  rank->work(comm);
  ra_comm_free(comm);
  return NULL;
}

static void
run_all(uint32_t n_ranks, void (*work)(RaComm *comm))
{
  g_autoptr(RaLocalGroup) group = ra_local_group_new(n_ranks, n_ranks == 2);
  pthread_t threads[8];
  Rank ranks[8];

  for (uint32_t i = 0; i < n_ranks; i++) {
    ranks[i] = (Rank){.group = group, .rank = i, .work = work};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
  }
  for (uint32_t i = 0; i < n_ranks; i++)
    pthread_join(threads[i], NULL);
}

/* Rank r brings (r + 1) i in place i: the sum over n ranks is n (n + 1) / 2 i,
 * exact in fp32; the maximum n i. */
static void
all_reduce(RaComm *comm)
{
  uint32_t n = comm->n_ranks;
  float data[LENGTH], most[LENGTH];

  for (uint32_t round = 0; round < 20; round++) {
    for (uint32_t i = 0; i < LENGTH; i++)
      most[i] = data[i] = (float)((comm->rank + 1) * i);
    comm->table->all_reduce(comm, RA_REDUCE_SUM, data, LENGTH);
    comm->table->all_reduce(comm, RA_REDUCE_MAX, most, LENGTH);
    for (uint32_t i = 0; i < LENGTH; i++) {
      g_assert_cmpfloat(data[i], ==, (float)(n * (n + 1) / 2 * i));
      g_assert_cmpfloat(most[i], ==, (float)(n * i));
    }
  }
}

START_TEST(test_all_reduce)
{
  run_all(2, all_reduce);
  run_all(3, all_reduce);
  run_all(8, all_reduce);
}
END_TEST

/* 1e8, -1e8, 1, 1 in the order of the ranks is 2 in fp32; in any order that
 * adds a 1 to 1e8 first it is less. */
static void
ordered(RaComm *comm)
{
  static const float terms[N] = {1e8f, -1e8f, 1, 1};
  float data[LENGTH];

  for (uint32_t i = 0; i < LENGTH; i++)
    data[i] = terms[comm->rank];
  comm->table->all_reduce(comm, RA_REDUCE_SUM, data, LENGTH);
  for (uint32_t i = 0; i < LENGTH; i++)
    g_assert_cmpfloat(data[i], ==, 2);
}

START_TEST(test_order)
{
  run_all(N, ordered);
}
END_TEST

/* Started twice before either is waited for, then in the other order. */
static void
started(RaComm *comm)
{
  float a[LENGTH], b[LENGTH];

  for (uint32_t round = 0; round < 50; round++) {
    RaCommRequest *first, *second;

    for (uint32_t i = 0; i < LENGTH; i++) {
      a[i] = (float)(comm->rank + i);
      b[i] = (float)(comm->rank * i);
    }
    first = comm->table->start_all_reduce(comm, RA_REDUCE_SUM, a, LENGTH);
    second = comm->table->start_all_reduce(comm, RA_REDUCE_MAX, b, LENGTH);
    comm->table->wait(comm, second);
    comm->table->wait(comm, first);
    /* 0 + 1 + 2 + 3 = 6 and 4 i; 3 i */
    for (uint32_t i = 0; i < LENGTH; i++) {
      g_assert_cmpfloat(a[i], ==, (float)(6 + 4 * i));
      g_assert_cmpfloat(b[i], ==, (float)(3 * i));
    }
  }
}

START_TEST(test_started)
{
  run_all(N, started);
}
END_TEST

/* Rank 0 has started, and gone on, before any other rank starts: a start that
 * waited for them would never return.  More than a chunk, so that those who
 * wait help. */
static atomic_uint went_on;

static void
ahead(RaComm *comm)
{
  gsize n = 100000;
  g_autofree float *data = g_new(float, n);
  RaCommRequest *request;

  for (gsize i = 0; i < n; i++)
    data[i] = (float)(comm->rank + i % 100);
  while (comm->rank > 0 && atomic_load(&went_on) == 0)
    sched_yield();
  request = comm->table->start_all_reduce(comm, RA_REDUCE_SUM, data, n);
  atomic_store(&went_on, 1);
  g_assert_cmpfloat(comm->table->wait(comm, request), >, 0);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat(data[i], ==, (float)(6 + 4 * (i % 100)));
}

START_TEST(test_ahead)
{
  run_all(N, ahead);
}
END_TEST

/* Rank r brings 100 r + i in place i of N parts of LENGTH. */
static void
others(RaComm *comm)
{
  uint32_t rank = comm->rank;
  float in[N * LENGTH], out[N * LENGTH], part[LENGTH];

  for (uint32_t i = 0; i < N * LENGTH; i++)
    in[i] = (float)(100 * rank + i);
  comm->table->reduce_scatter(comm, in, part, LENGTH);
  /* 100 (0 + 1 + 2 + 3) + 4 (rank LENGTH + i) */
  for (uint32_t i = 0; i < LENGTH; i++)
    g_assert_cmpfloat(part[i], ==, (float)(600 + 4 * (rank * LENGTH + i)));
  comm->table->all_to_all(comm, in, out, LENGTH * sizeof *in);
  for (uint32_t from = 0; from < N; from++)
    g_assert_cmpfloat(out[from * LENGTH + 7], ==,
                      (float)(100 * from + rank * LENGTH + 7));
  comm->table->all_gather(comm, in, out, LENGTH * sizeof *in);
  for (uint32_t from = 0; from < N; from++)
    g_assert_cmpfloat(out[from * LENGTH + 7], ==, (float)(100 * from + 7));
  comm->table->broadcast(comm, 2, in, LENGTH * sizeof *in);
  g_assert_cmpfloat(in[5], ==, 205);
}

START_TEST(test_others)
{
  run_all(N, others);
}
END_TEST

/* A ring, all sending first: a send does not wait for its receiver; and the
 * messages of one rank arrive in order. */
static void
ring(RaComm *comm)
{
  uint32_t to = (comm->rank + 1) % N, from = (comm->rank + N - 1) % N;
  float data[2];

  for (uint32_t i = 0; i < 100; i++) {
    data[0] = (float)comm->rank;
    data[1] = (float)i;
    comm->table->send(comm, to, data, sizeof data);
  }
  for (uint32_t i = 0; i < 100; i++) {
    comm->table->recv(comm, from, data, sizeof data);
    g_assert_cmpfloat(data[0], ==, (float)from);
    g_assert_cmpfloat(data[1], ==, (float)i);
  }
}

START_TEST(test_ring)
{
  run_all(N, ring);
}
END_TEST

/* Messages 0 to 5 of rank 0.  Rank 1 has asked for 0 and 1 before they are
 * sent: they are in its memory when it has met the sender, and it has waited
 * for neither.  2 and 3 are sent before anybody asks, 4 and 5 race with who
 * asks; all arrive in order, also those that are waited for in another. */
static void
expected(RaComm *comm)
{
  float data[6] = {-1, -1, -1, -1, -1, -1};
  RaCommRequest *requests[6];

  if (comm->rank == 1)
    for (uint32_t i = 0; i < 2; i++)
      requests[i] = comm->table->start_recv(comm, 0, &data[i], sizeof *data);
  ra_comm_barrier(comm);
  for (uint32_t i = 0; comm->rank == 0 && i < 4; i++) {
    float number = (float)i;

    comm->table->send(comm, 1, &number, sizeof number);
  }
  ra_comm_barrier(comm);
  if (comm->rank == 0) {
    for (uint32_t i = 4; i < 6; i++) {
      float number = (float)i;

      comm->table->send(comm, 1, &number, sizeof number);
    }
    return;
  }
  g_assert_cmpfloat(data[0], ==, 0);
  g_assert_cmpfloat(data[1], ==, 1);
  g_assert_cmpfloat(data[2], ==, -1);
  for (uint32_t i = 2; i < 6; i++)
    requests[i] = comm->table->start_recv(comm, 0, &data[i], sizeof *data);
  for (uint32_t i = 6; i-- > 0;) {
    comm->table->wait(comm, requests[i]);
    g_assert_cmpfloat(data[i], ==, (float)i);
  }
}

START_TEST(test_expected)
{
  for (guint round = 0; round < 200; round++)
    run_all(2, expected);
}
END_TEST

static Suite *
comm_suite(void)
{
  Suite *suite = suite_create("comm");
  TCase *tcase = tcase_create("local");

  tcase_add_test(tcase, test_all_reduce);
  tcase_add_test(tcase, test_order);
  tcase_add_test(tcase, test_started);
  tcase_add_test(tcase, test_ahead);
  tcase_add_test(tcase, test_others);
  tcase_add_test(tcase, test_ring);
  tcase_add_test(tcase, test_expected);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(comm_suite)
