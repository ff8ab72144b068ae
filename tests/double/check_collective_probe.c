/* Collectives measured over a double of NCCL, whose operations take the time of
 * a law for their actual arguments. */
#include "config.h"

#include <math.h>

#include "exec/measure/collective_probe.h"
#include "tests/double/nccl_double_impl.h"
#include "tests/support/check_main.h"
#include "traces/measured_overlap.h"
#include "traces/measured_trace.h"

#undef host
#undef d

/* A rank's clock, and what its GPU has been given and not yet done, in seconds
 * that it takes alone. */
static _Thread_local double now_s, comm_s, computing_s;
static _Thread_local double computing_frac, first_mark_s, computed_s;
static _Thread_local guint n_marks;
static _Thread_local guint n_seen; /* operations since the last barrier */

/* How much longer each takes beside the other. */
static double comm_frac;
#define GEMM_FRAC 0.25
#define NORM_FRAC 0.75
#define GEMM_S 3e-4
#define NORM_S 2e-4

/* Until the collectives, or the computations, are done: while there are both,
 * each goes on at 1 / (1 + frac) of its pace. */
static void
go_on(const double *until)
{
  while (*until > 0) {
    double a_s = comm_s * (1 + comm_frac);
    double b_s = computing_s * (1 + computing_frac);
    double step_s = fmin(a_s, b_s);

    if (step_s > 0) {
      now_s += step_s;
      comm_s = a_s <= b_s ? 0 : comm_s - step_s / (1 + comm_frac);
      computing_s =
          b_s <= a_s ? 0 : computing_s - step_s / (1 + computing_frac);
      computed_s = b_s <= a_s ? now_s : computed_s;
    } else {
      now_s += comm_s + computing_s;
      computed_s = computing_s > 0 ? now_s : computed_s;
      comm_s = computing_s = 0;
    }
  }
}

static double
fake_clock(void)
{
  return now_s;
}

/* Marks on which a rank waits over NCCL. */
static int
mark_look(RaNcclMark mark)
{
  int result = nccl_double()->mark_look(mark);

  if (result == RA_NCCL_OK)
    go_on(&comm_s);
  return result;
}

static void *
alloc(gsize n_bytes)
{
  return g_malloc(1);
}

static void
zero(void *to, gsize n_bytes)
{
}

static uint32_t
mark(void)
{
  if (n_marks == 0)
    first_mark_s = now_s;
  return n_marks++;
}

static void
read_marks(double *out_s)
{
  go_on(&computing_s);
  out_s[0] = 0;
  out_s[1] = computed_s - first_mark_s;
  n_marks = 0;
}

static void
gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n, size_t k,
     const RaElem *a, size_t lda, const RaElem *b, size_t ldb, float beta,
     RaElem *c, size_t ldc)
{
  computing_frac = GEMM_FRAC;
  computing_s += GEMM_S;
}

static void
norm(size_t n_rows, size_t n, float eps, const RaElem *x, const RaElem *weight,
     RaElem *out, float *out_inv)
{
  computing_frac = NORM_FRAC;
  computing_s += NORM_S;
}

static const RaBackend backend = {.name = "clock",
                                  .elem_bytes = 2,
                                  .n_marks = 2,
                                  .alloc = alloc,
                                  .free = g_free,
                                  .zero = zero,
                                  .mark = mark,
                                  .read_marks = read_marks,
                                  .gemm = gemm,
                                  .norm = norm};

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

  comm_s += law_s(kind, n_ranks, n_bytes) + (n_seen++ == 0 ? 1 : 0);
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

/* The part of an all-to-all to itself says that it is one: it is charged for
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
  api.mark_look = mark_look;
  return api;
}

/* (transfer full): of a node of @n, up to 4 KiB; @beside (nullable) computation
 * too. */
static GArray *
measure_both(uint32_t n, guint n_warm, GArray *beside)
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
  probe.backend = beside ? &backend : NULL;
  nccl_double_begin(n, n);
  rows = ra_collective_probe(&probe, beside, &error);
  ck_assert_msg(rows != NULL, "%s", error ? error->message : "");
  ck_assert(!nccl_double_is_stuck());
  nccl_double_end();
  return rows;
}

static GArray *
measure(uint32_t n, guint n_warm)
{
  return measure_both(n, n_warm, NULL);
}

/* TRUE if a row is what the law says. */
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
  g_autoptr(RaTrace) trace = ra_collective_trace(&probe, rows, NULL);
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

/* Sizes that three ranks cannot share evenly become less, and those too small
 * for them have no row: of reduce-scatter, whose unit is 6 B, 8 B are 6. */
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

static GArray *
measure_beside(double frac, GArray **out_rows)
{
  GArray *beside = g_array_new(FALSE, FALSE, sizeof(RaCollectiveBeside));

  comm_frac = frac;
  *out_rows = measure_both(2, 1, beside);
  return beside;
}

/* Seconds of an op of @b that had company all the while. */
static double
beside_s(const RaCollectiveBeside *b)
{
  const uint64_t *d = b->op.dim;

  if (b->op.kind == RA_OP_GEMM)
    return GEMM_S * (1 + GEMM_FRAC);
  if (b->op.kind == RA_OP_NORM)
    return NORM_S * (1 + NORM_FRAC);
  return law_s(b->op.kind, 2, d[0]) * (1 + comm_frac);
}

/* A pair of GPUs: 3 sizes up to 4 KiB of 6 operations, beside two computations,
 * and each the other way round.  That both really ran together is the point: a
 * pass whose company ended before it, or began after it, would be shorter. */
START_TEST(test_beside)
{
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GArray) beside = measure_beside(0.4, &rows);
  guint n_computed = 0;

  ck_assert_uint_eq(beside->len, 3 * 6 * 2 * 2);
  for (guint i = 0; i < beside->len; i++) {
    const RaCollectiveBeside *b = &g_array_index(beside, RaCollectiveBeside, i);

    n_computed += b->op.kind == RA_OP_GEMM || b->op.kind == RA_OP_NORM;
    for (guint pass = 0; pass < RA_COLLECTIVE_PASSES; pass++) {
      ck_assert_double_le(fabs(b->op_s[pass] / beside_s(b) - 1), 1e-6);
      ck_assert_double_ge(b->company_s[pass], b->n * b->op_s[pass] * 0.999999);
    }
  }
  ck_assert_uint_eq(n_computed, 3 * 6 * 2);
  /* alone, behind the collectives */
  ck_assert_uint_eq(rows->len, 6 * 10 + 2);
  ck_assert_double_le(
      fabs(g_array_index(rows, RaMeasured, 60).measured_s / GEMM_S - 1), 1e-6);
  ck_assert_double_le(
      fabs(g_array_index(rows, RaMeasured, 61).measured_s / NORM_S - 1), 1e-6);
}
END_TEST

/* Collectives that take four times as long beside computation outlive a company
 * of twice their time alone: nothing is said of them, as of the last part of
 * them it would be wrong. */
START_TEST(test_outlived)
{
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GArray) beside = measure_beside(3, &rows);
  guint n_computed = 0;

  for (guint i = 0; i < beside->len; i++) {
    const RaCollectiveBeside *b = &g_array_index(beside, RaCollectiveBeside, i);

    for (guint pass = 0; pass < RA_COLLECTIVE_PASSES; pass++)
      ck_assert_double_le(fabs(b->op_s[pass] / beside_s(b) - 1), 1e-6);
    n_computed += b->op.kind == RA_OP_GEMM || b->op.kind == RA_OP_NORM;
  }
  ck_assert_uint_eq(n_computed, 3 * 6 * 2);
  ck_assert_uint_lt(beside->len - n_computed, 3 * 6);
}
END_TEST

/* As a trace `calibrate --from` finds in it what the clock was told: the
 * fractions are those of computation and communication beside each other, all
 * of the time that is timed. */
START_TEST(test_beside_trace)
{
  static const RaCollectiveProbe probe = {.gpus_per_node = 2};
  g_autoptr(GArray) rows = NULL;
  g_autoptr(GArray) beside = measure_beside(0.4, &rows);
  g_autoptr(RaTrace) trace = ra_collective_trace(&probe, rows, beside);
  g_autoptr(GArray) found = ra_measured_overlap(trace, "collectives", NULL);

  ck_assert_uint_eq(found->len, 5 * 3 + 2); /* sends are left out */
  for (guint i = 0; i < found->len; i++) {
    const RaMeasuredOverlap *b = &g_array_index(found, RaMeasuredOverlap, i);
    double frac = b->op.kind == RA_OP_GEMM   ? GEMM_FRAC
                  : b->op.kind == RA_OP_NORM ? NORM_FRAC
                                             : comm_frac;

    ck_assert_double_le(fabs(b->beside_s / b->alone_s - 1 - frac), 1e-4);
    ck_assert_double_le(fabs(b->together_s / b->beside_s - 1), 1e-6);
  }
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
  tcase_add_test(tcase, test_beside);
  tcase_add_test(tcase, test_outlived);
  tcase_add_test(tcase, test_beside_trace);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(collective_probe_suite)
