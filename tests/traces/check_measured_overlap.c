/* Parts of a trace that ran beside the other kind, and the overlap law of them.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/calibrate/calibrate.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"
#include "traces/measured_overlap.h"

#define PRODUCT "m=4096,n=4096,k=4096,batch=1"
#define NORM "tokens=16384,width=4096"
#define SUM "bytes=4194304,ranks=2,ranks_per_node=2,groups_per_node=1"

/* A trace in the making; the next row begins later than all before. */
typedef struct {
  RaTrace *trace;
  double now_s;
  guint n;
} Maker;

static void
add(Maker *m, const char *op, const char *shape, const char *ranks,
    const char *stream, double begin_s, double end_s)
{
  g_autofree char *name = g_strdup_printf("task/%s.%u", op ? op : "x", m->n++);

  ra_trace_add(m->trace, &(RaTraceRow){.name = name,
                                       .call = "call",
                                       .kind = "op",
                                       .ranks = ranks,
                                       .stream = stream,
                                       .op = op,
                                       .shape = shape,
                                       .begin_s = m->now_s + begin_s,
                                       .end_s = m->now_s + end_s});
}

static void
later(Maker *m)
{
  m->now_s += 1;
}

/* (transfer full): sorts @trace first. */
static GArray *
read_trace(RaTrace *trace)
{
  GError *error = NULL;
  GArray *found;

  ra_trace_sort(trace);
  found = ra_measured_overlap(trace, "it", &error);
  ck_assert_msg(found != NULL, "%s", error ? error->message : "");
  return found;
}

static const RaMeasuredOverlap *
find(const GArray *found, RaOpKind kind)
{
  for (guint i = 0; i < found->len; i++)
    if (g_array_index(found, RaMeasuredOverlap, i).op.kind == kind)
      return &g_array_index(found, RaMeasuredOverlap, i);
  return NULL;
}

static void
alone(Maker *m)
{
  add(m, "gemm", PRODUCT, "0", "compute", 0, 0.010);
  later(m);
  add(m, "all_reduce", SUM, "0-1", "tp", 0, 0.020);
  later(m);
}

/* A product of 10 ms alone takes 13, 8 of it beside a sum of the same GPU that
 * takes 26 in place of 20 ms, of which the product is there for 8. */
START_TEST(test_part)
{
  Maker m = {ra_trace_new(), 0, 0};
  g_autoptr(RaTrace) trace = m.trace;
  g_autoptr(GArray) found = NULL;
  const RaMeasuredOverlap *b;

  alone(&m);
  add(&m, "gemm", PRODUCT, "0", "compute", 0, 0.013);
  add(&m, "all_reduce", SUM, "0-1", "dp", 0.005, 0.031);
  found = read_trace(trace);
  ck_assert_uint_eq(found->len, 2);
  b = find(found, RA_OP_GEMM);
  ck_assert_uint_eq(b->n, 1);
  ck_assert_double_le(fabs(b->alone_s - 0.010), 1e-9);
  ck_assert_double_le(fabs(b->beside_s - 0.013), 1e-9);
  ck_assert_double_le(fabs(b->together_s - 0.008), 1e-9);
  /* of two GPUs one has company for 8 ms: 4 in the mean */
  b = find(found, RA_OP_ALL_REDUCE);
  ck_assert_double_le(fabs(b->alone_s - 0.020), 1e-9);
  ck_assert_double_le(fabs(b->together_s - 0.004), 1e-9);
}
END_TEST

/* Two products on one GPU slow each other, a copy, the host's work and another
 * GPU's slow nobody that this asks about, and what never ran alone says
 * nothing; a task is not the company of its own ops. */
START_TEST(test_none)
{
  Maker m = {ra_trace_new(), 0, 0};
  g_autoptr(RaTrace) trace = m.trace;
  g_autoptr(GArray) found = NULL;

  alone(&m);
  add(&m, "gemm", PRODUCT, "0", "compute", 0, 0.020);
  add(&m, "gemm", PRODUCT, "0", "compute", 0.005, 0.020);
  add(&m, "all_reduce", SUM, "0-1", "tp", 0.001, 0.021);
  later(&m);
  add(&m, "gemm", PRODUCT, "0", "compute", 0, 0.010);
  add(&m, "reload", "bytes=1024", "0", "copy-in", 0, 0.010);
  add(&m, "host", "nanoseconds=1000", "0", "host", 0, 0.010);
  add(&m, "gemm", PRODUCT, "1", "compute", 0, 0.010);
  later(&m);
  add(&m, "norm", NORM, "0", "compute", 0, 0.010);
  add(&m, NULL, NULL, "0", "tp", 0, 0.010);
  found = read_trace(trace);
  ck_assert_ptr_null(find(found, RA_OP_GEMM));
  ck_assert_ptr_null(find(found, RA_OP_NORM));
}
END_TEST

/* A collective of a row a rank: from the last to come, 3 ms late, to the last
 * end; what its company on that GPU shares with that is what counts. */
START_TEST(test_rows)
{
  Maker m = {ra_trace_new(), 0, 0};
  g_autoptr(RaTrace) trace = m.trace;
  g_autoptr(GArray) found = NULL;
  const RaMeasuredOverlap *b;
  RaTraceRow row = {.name = "sum",
                    .call = "call",
                    .kind = "op",
                    .stream = "dp",
                    .op = "all_reduce",
                    .shape = SUM};

  alone(&m);
  row.ranks = "0";
  row.begin_s = m.now_s;
  row.end_s = m.now_s + 0.028;
  ra_trace_add(trace, &row);
  row.ranks = "1";
  row.begin_s = m.now_s + 0.003;
  ra_trace_add(trace, &row);
  add(&m, NULL, NULL, "0-1", "compute", 0, 0.018);
  found = read_trace(trace);
  b = find(found, RA_OP_ALL_REDUCE);
  ck_assert_uint_eq(b->n, 1);
  ck_assert_double_le(fabs(b->beside_s - 0.025), 1e-9);
  ck_assert_double_le(fabs(b->together_s - 0.015), 1e-9);
}
END_TEST

/* Products of 10 ms alone take 30 %, norms of 8 ms 60 %, sums of 20 ms 20 %
 * longer in that half of their work that has company. */
static RaCalibration *
fit(guint n_sums, gboolean forgets, RaProfile **out_profile)
{
  Maker m = {ra_trace_new(), 0, 0};
  g_autoptr(RaTrace) trace = m.trace;
  g_autoptr(GArray) found = NULL;
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, 1);
  g_autofree char *base = profile_text(NULL);
  RaCalibration *c;
  GError *error = NULL;

  alone(&m);
  add(&m, "norm", NORM, "0", "compute", 0, 0.008);
  for (guint i = 0; i < 12; i++) {
    later(&m);
    add(&m, NULL, NULL, "0", "tp", 0, 0.005 * (forgets ? 1 : 1.3));
    add(&m, "gemm", PRODUCT, "0", "compute", 0, 0.005 * 1.3 + 0.005);
    later(&m);
    add(&m, NULL, NULL, "0", "tp", 0, 0.004 * (forgets ? 1 : 1.6));
    add(&m, "norm", NORM, "0", "compute", 0, 0.004 * 1.6 + 0.004);
  }
  for (guint i = 0; i < n_sums; i++) {
    later(&m);
    add(&m, NULL, NULL, "0-1", "compute", 0, 0.010 * 1.2);
    add(&m, "all_reduce", SUM, "0-1", "tp", 0, 0.010 * 1.2 + 0.010);
  }
  found = read_trace(trace);
  c = ra_calibrate_rows("t.profile", base, NULL, rows, found, "a test", NULL,
                        &error);
  ck_assert_msg(c != NULL, "%s", error ? error->message : "");
  *out_profile = profile_text_parse(c->text->str);
  return c;
}

static double
frac(const RaProfile *p, const char *name)
{
  double value;

  ck_assert(ra_law_get(p, ra_profile_law(p, "overlap"), name, &value, NULL));
  return value;
}

/* The fit finds the law; too few sums leave their coefficient as it was. */
START_TEST(test_fit)
{
  g_autoptr(RaProfile) base = profile_text_load(NULL, NULL);
  g_autoptr(RaProfile) p = NULL;
  g_autoptr(RaCalibration) c = fit(_i ? 9 : 10, FALSE, &p);
  double was = ra_profile_law(base, "overlap") ? frac(base, "comm-frac") : 0;

  ck_assert_double_le(fabs(frac(p, "product-frac") - 0.3), 1e-3);
  ck_assert_double_le(fabs(frac(p, "memory-frac") - 0.6), 1e-3);
  ck_assert_double_le(fabs(frac(p, "comm-frac") - (_i ? was : 0.2)), 1e-3);
  ck_assert_uint_eq(c->notes->len, _i ? 2 : 3);
}
END_TEST

/* Four products, 12 runs each, all beside a sum, that take 20, 30, 50 and 60 %
 * longer, of equal weight.  Without one of them the median of the others is
 * 0.5, 0.5, 0.3, 0.3: off by 1.5 / 1.2 - 1, 1.5 / 1.3 - 1, 1 - 1.3 / 1.5 and
 * 1 - 1.3 / 1.6; in order 0.133, 0.154, 0.188, 0.25, of which the second and
 * the last are the quantiles.  The fault: a law that has seen them, 0.3 or 0.5,
 * has 0.083 or 0.063 as the second.  One norm, which no other predicts, is
 * fitted and counts for no error. */
START_TEST(test_held_out)
{
  static const double slower[] = {0.2, 0.3, 0.5, 0.6};
  Maker m = {ra_trace_new(), 0, 0};
  g_autoptr(RaTrace) trace = m.trace;
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, 1);
  g_autofree char *base = profile_text(NULL);
  g_autoptr(RaCalibration) c = NULL;
  g_autoptr(GArray) found = NULL;
  g_autoptr(RaProfile) p = NULL;
  const RaLaw *law;

  for (guint k = 0; k < G_N_ELEMENTS(slower); k++) {
    g_autofree char *shape =
        g_strdup_printf("m=4096,n=4096,k=%u,batch=1", 4096 << k);

    for (guint i = 0; i < 13; i++) {
      double s = 0.010 * (i == 0 ? 1 : 1 + slower[k]);

      if (i > 0)
        add(&m, NULL, NULL, "0", "tp", 0, s);
      add(&m, "gemm", shape, "0", "compute", 0, s);
      later(&m);
    }
  }
  for (guint i = 0; i < 13; i++) {
    if (i > 0)
      add(&m, NULL, NULL, "0", "tp", 0, 0.012);
    add(&m, "norm", NORM, "0", "compute", 0, i > 0 ? 0.012 : 0.008);
    later(&m);
  }
  found = read_trace(trace);
  c = ra_calibrate_rows("t.profile", base, NULL, rows, found, "a test", NULL,
                        NULL);
  p = profile_text_parse(c->text->str);
  law = ra_profile_law(p, "overlap");
  ck_assert_double_le(fabs(frac(p, "product-frac") - 0.4), 0.101);
  ck_assert_double_le(fabs(frac(p, "memory-frac") - 0.5), 1e-3);
  ck_assert_double_le(fabs(law->error_median_frac - 0.2 / 1.3), 1e-3);
  ck_assert_double_le(fabs(law->error_p90_frac - 0.3 / 1.2), 1e-3);
}
END_TEST

/* The fault: company that is taken to end before it does. */
START_TEST(test_forgets)
{
  g_autoptr(RaProfile) p = NULL;
  g_autoptr(RaCalibration) c = fit(10, TRUE, &p);

  ck_assert_double_gt(fabs(frac(p, "product-frac") - 0.3), 0.05);
}
END_TEST

static Suite *
measured_beside_suite(void)
{
  Suite *suite = suite_create("measured_beside");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_part);
  tcase_add_test(tcase, test_none);
  tcase_add_test(tcase, test_rows);
  tcase_add_loop_test(tcase, test_fit, 0, 2);
  tcase_add_test(tcase, test_held_out);
  tcase_add_test(tcase, test_forgets);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(measured_beside_suite)
