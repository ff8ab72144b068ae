/* Collectives measured over a double of NCCL whose operations take what a law
 * says of what they were really given. */
#include "config.h"

#include <math.h>

#include "exec/collective_probe.h"
#include "tests/check_main.h"
#include "tests/nccl_double_impl.h"
#include "traces/measured_trace.h"

#undef host
#undef d

/* A rank's clock: its operations move it. */
static _Thread_local double now_s;
static _Thread_local guint n_seen; /* operations since the last barrier */

static double
fake_clock(void)
{
  return now_s;
}

/* 10 us and 100 GB/s a rank and kind; the first of each point a second more, as
 * a library that is warming up. */
static double
law_s(guint kind, uint32_t n_ranks, gsize n_bytes)
{
  return 1e-5 * (1 + kind) * n_ranks + (double)n_bytes / 1e11;
}

static void
spend(RaOpKind kind, RaNcclHandle comm, gsize n_bytes)
{
  uint32_t n_ranks = ((Comm *)comm)->shared->n_ranks;

  now_s += law_s(kind, n_ranks, n_bytes) + (n_seen++ == 0 ? 1 : 0);
}

static int
all_reduce(const void *in, void *out, gsize n, RaCommType type, RaReduce reduce,
           RaNcclHandle comm, RaNcclStream stream)
{
  if (type == RA_COMM_BF16)
    spend(RA_OP_ALL_REDUCE, comm, 2 * n);
  else
    n_seen = 0; /* a barrier: a new point */
  return nccl_double()->all_reduce(in, out, n, type, reduce, comm, stream);
}

static int
reduce_scatter(const void *in, void *out, gsize n, RaCommType type,
               RaNcclHandle comm, RaNcclStream stream)
{
  spend(RA_OP_REDUCE_SCATTER, comm, 2 * n * ((Comm *)comm)->shared->n_ranks);
  return nccl_double()->reduce_scatter(in, out, n, type, comm, stream);
}

static int
all_gather(const void *in, void *out, gsize n_bytes, RaNcclHandle comm,
           RaNcclStream stream)
{
  spend(RA_OP_ALL_GATHER, comm, n_bytes * ((Comm *)comm)->shared->n_ranks);
  return nccl_double()->all_gather(in, out, n_bytes, comm, stream);
}

static int
broadcast(void *data, gsize n_bytes, uint32_t root, RaNcclHandle comm,
          RaNcclStream stream)
{
  spend(RA_OP_BROADCAST, comm, n_bytes);
  return nccl_double()->broadcast(data, n_bytes, root, comm, stream);
}

/* Of an all-to-all the part to itself says that it is one: it is charged for
 * all parts. */
static _Thread_local gboolean in_group;

static int
group_start(void)
{
  in_group = TRUE;
  return nccl_double()->group_start();
}

static int
group_end(void)
{
  in_group = FALSE;
  return nccl_double()->group_end();
}

static int
send_to(const void *data, gsize n_bytes, uint32_t to, RaNcclHandle comm,
        RaNcclStream stream)
{
  if (in_group && to == ((Comm *)comm)->rank)
    spend(RA_OP_ALL_TO_ALL, comm, n_bytes * ((Comm *)comm)->shared->n_ranks);
  else if (!in_group)
    spend(RA_OP_SEND, comm, n_bytes);
  return nccl_double()->send(data, n_bytes, to, comm, stream);
}

static int
recv_from(void *data, gsize n_bytes, uint32_t from, RaNcclHandle comm,
          RaNcclStream stream)
{
  if (!in_group)
    spend(RA_OP_SEND, comm, n_bytes);
  return nccl_double()->recv(data, n_bytes, from, comm, stream);
}

static RaNcclApi
timed_api(void)
{
  RaNcclApi api = *nccl_double();

  api.all_reduce = all_reduce;
  api.reduce_scatter = reduce_scatter;
  api.all_gather = all_gather;
  api.broadcast = broadcast;
  api.group_start = group_start;
  api.group_end = group_end;
  api.send = send_to;
  api.recv = recv_from;
  return api;
}

/* (transfer full): of a node of @n, up to 4 KiB. */
static GArray *
measure(uint32_t n, guint n_warm)
{
  RaNcclApi api = timed_api();
  RaCollectiveProbe probe;
  GError *error = NULL;
  GArray *rows;

  ra_collective_probe_init(&probe, &api, n);
  probe.most_bytes = 4096;
  probe.n_warm = n_warm;
  probe.n_repeats = 6;
  probe.clock = fake_clock;
  nccl_double_begin(n, n);
  rows = ra_collective_probe(&probe, &error);
  ck_assert_msg(rows != NULL, "%s", error ? error->message : "");
  ck_assert(!nccl_double_is_stuck());
  nccl_double_end();
  return rows;
}

/* Whether a row says what the law says of it. */
static gboolean
is_right(const RaMeasured *row)
{
  uint32_t n = row->op.kind == RA_OP_SEND ? 2 : (uint32_t)row->op.dim[1];
  double want_s = law_s(row->op.kind, n, row->op.dim[0]);

  return fabs(row->measured_s / want_s - 1) < 1e-6;
}

/* On 4 GPUs groups of 2 and 4; sizes 2^3 to 2^12 are 10 alone, and by 16, for
 * pairs, of which two go at a time, 2^3, 2^7, 2^11, 3: groups of 2 have 13 rows
 * of each of five collectives and of sends, groups of 4 have 10 of five.  Ranks
 * divide every size evenly: none is left out (reduce-scatter of 8 B over 4 is a
 * number each). */
START_TEST(test_rows)
{
  g_autoptr(GArray) rows = measure(4, 2);
  guint n_beside = 0;

  ck_assert_uint_eq(rows->len, 6 * 13 + 5 * 10);
  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    ck_assert(is_right(row));
    ck_assert_uint_eq(row->gpus_per_node, 4);
    ck_assert_uint_eq(row->samples.n, 2);
    n_beside += row->op.dim[row->op.kind == RA_OP_SEND ? 2 : 3] == 2;
  }
  ck_assert_uint_eq(n_beside, 6 * 3);
}
END_TEST

/* As a trace the rows are what calibrate reads: the same ops, each twice, their
 * seconds to the nanosecond that a trace has. */
START_TEST(test_trace)
{
  g_autoptr(GArray) rows = measure(4, 1);
  g_autoptr(GArray) read = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  const RaCollectiveProbe probe = {.gpus_per_node = 4};
  g_autoptr(RaTrace) trace = ra_collective_trace(&probe, rows);
  g_autoptr(GError) error = NULL;
  RaMeasuredTally tally;

  ck_assert_msg(ra_measured_trace(trace, "collectives", read, &tally, &error),
                "%s", error ? error->message : "");
  ck_assert_uint_eq(read->len, rows->len);
  ck_assert_uint_eq(tally.n_samples, 2 * rows->len);
  ck_assert_uint_eq(tally.n_beside, 0);
  for (guint i = 0; i < read->len; i++) {
    const RaMeasured *row = &g_array_index(read, RaMeasured, i);
    uint32_t n = row->op.kind == RA_OP_SEND ? 2 : (uint32_t)row->op.dim[1];
    double want_s = law_s(row->op.kind, n, row->op.dim[0]);

    ck_assert_double_le(fabs(row->measured_s - want_s), 2e-9);
  }
}
END_TEST

/* A fault that is seen: without operations that are left out the first's second
 * is in every row. */
START_TEST(test_cold)
{
  g_autoptr(GArray) rows = measure(2, 0);

  ck_assert_uint_gt(rows->len, 0);
  for (guint i = 0; i < rows->len; i++)
    ck_assert(!is_right(&g_array_index(rows, RaMeasured, i)));
}
END_TEST

/* What three ranks cannot share evenly is less, and what is too small for them
 * has no row: of reduce-scatter, whose unit is 6 B, 8 B are 6. */
START_TEST(test_uneven)
{
  g_autoptr(GArray) rows = measure(3, 1);
  uint64_t least = G_MAXUINT64;

  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    ck_assert(is_right(row));
    if (row->op.kind == RA_OP_REDUCE_SCATTER && row->op.dim[1] == 3)
      least = MIN(least, row->op.dim[0]);
  }
  ck_assert_uint_eq(least, 6);
}
END_TEST

static Suite *
collective_probe_suite(void)
{
  Suite *suite = suite_create("collective_probe");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_rows);
  tcase_add_test(tcase, test_trace);
  tcase_add_test(tcase, test_cold);
  tcase_add_test(tcase, test_uneven);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(collective_probe_suite)
