/* A profile of the data sheet alone. */
#include "config.h"

#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"
#include "traces/roofline.h"

/* 1e12 FLOP/s, 1e9 B/s, 1e8 B/s in the node (profile_text.h), and laws that
 * waste: a product of 1000 x 1000 x 1000 is 2e9 FLOP, 2 ms, or 6e6 bytes of 2,
 * 6 ms; a norm of 1e6 elements reads and writes 4e6 bytes, 4 ms; sending 1e6
 * bytes takes 10 ms.  With the losses each takes longer. */
START_TEST(test_losses)
{
  g_autoptr(Bench) lossy = bench_new(profile_text_load(
      "gemm.bf16.floor-s=1", "gemm.bf16.bandwidth-frac=0.5",
      "memory.norm.base-s=1", "send.high-latency-s=1", "send.low-latency-s=1",
      "send.mid-latency-s=1", "overlap.product-frac=0.5", NULL));
  g_autoptr(Bench) ideal = bench_new(ra_profile_roofline(lossy->profile, NULL));
  const struct {
    RaOpKind kind;
    uint64_t d[4];
    double s;
  } ops[] = {{RA_OP_GEMM, {1000, 1000, 1000, 1}, 6e-3},
             {RA_OP_NORM, {1000, 1000, 0, 0}, 4e-3},
             {RA_OP_SEND, {1000000, 0, 1, 0}, 10e-3}};

  for (guint i = 0; i < G_N_ELEMENTS(ops); i++) {
    const uint64_t *d = ops[i].d;

    bench_check(bench_s(ideal, ops[i].kind, d[0], d[1], d[2], d[3]), ops[i].s);
    bench_check_differs(bench_s(lossy, ops[i].kind, d[0], d[1], d[2], d[3]),
                        ops[i].s);
  }
}
END_TEST

/* Every shipped one has a roofline, and no op is quicker than its roofline: in
 * particular no table is left. */
START_TEST(test_shipped)
{
  static const char *const shipped[] = {"a100-sxm", "h100-sxm", "h200-sxm"};
  g_autoptr(Bench) real = bench_new(profile_text_shipped(shipped[_i]));
  g_autoptr(Bench) ideal = bench_new(ra_profile_roofline(real->profile, NULL));

  for (guint i = 0; i < ideal->profile->n_laws; i++)
    ck_assert_ptr_null(ideal->profile->laws[i].grid);
  ck_assert_double_lt(bench_s(ideal, RA_OP_GEMM, 4096, 4096, 4096, 1),
                      bench_s(real, RA_OP_GEMM, 4096, 4096, 4096, 1));
  bench_check(bench_s(ideal, RA_OP_GEMM, 4096, 4096, 4096, 1),
              2.0 * 4096 * 4096 * 4096 / real->profile->spec.bf16_flop_per_s);
}
END_TEST

static Suite *
roofline_suite(void)
{
  Suite *suite = suite_create("roofline");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_losses);
  tcase_add_loop_test(tcase, test_shipped, 0, 3);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(roofline_suite)
