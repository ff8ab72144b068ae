/* Uneven loads of experts: closed forms, draws, what exchanges then move. */
#include "config.h"

#include <math.h>

#include "graph/input/plan.h"
#include "graph/op/op.h"
#include "graph/op/routing.h"
#include "tests/support/check_main.h"

/* Exponent 0 is even between 1 and M = 0.8 x 1e6: the square of the relative
 * deviation is (M^3 - 1) (M - 1) / 3 / ((M^2 - 1) / 2)^2 - 1, 1/3 to 1e-5. */
START_TEST(test_even_density)
{
  RaRouting loads = ra_routing(0, 1e6, 8e6, 128);
  double cv = sqrt(1.0 / 3);

  ck_assert_double_eq_tol(ra_routing_imbalance(&loads, 8, 16, 1),
                          1 + cv * sqrt(2 * log(8) / 16), 1e-5);
  ck_assert_double_eq_tol(ra_routing_imbalance(&loads, 32, 4, 0.5),
                          1 + 0.5 * cv * sqrt(2 * log(32) / 4), 1e-5);
  /* One rank has all; no rank has more than all. */
  ck_assert_double_eq(ra_routing_imbalance(&loads, 1, 128, 1), 1);
  ck_assert_double_eq(ra_routing_imbalance(&loads, 2, 0.01, 1), 2);
  /* Half a row of a mean of 100 is 1/400 of the range. */
  ck_assert_double_eq_tol(ra_routing_visited(&loads, 100), 1 - 1.0 / 400, 1e-5);
}
END_TEST

/* Mean over draws of the fullest of @ranks, relative to the mean one. */
static double
drawn_fullest(double exponent, double most, guint ranks, guint local)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(ranks);
  double p = 1 - exponent, sum = 0;
  guint n_draws = 20000;

  for (guint d = 0; d < n_draws; d++) {
    double all = 0, fullest = 0;
    for (guint r = 0; r < ranks; r++) {
      double rank = 0;
      for (guint e = 0; e < local; e++)
        rank += pow(1 + (pow(most, p) - 1) * g_rand_double(rand), 1 / p);
      all += rank;
      fullest = fmax(fullest, rank);
    }
    sum += fullest * ranks / all;
  }
  return sum / n_draws;
}

/* The greatest of n normal draws lies sqrt(2 ln n) deviations above their mean
 * in the limit, and 0.70 (n = 8) to 0.79 (32) of that by their tables of order
 * statistics; sums of loads lean to the right, so lie above 0.65 of it, and not
 * above it, while they are sums. */
START_TEST(test_draws)
{
  static const struct {
    guint64 skew;
    guint ranks, local;
  } cases[] = {{60, 8, 16}, {60, 32, 4}, {120, 8, 16}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    guint ranks = cases[i].ranks, local = cases[i].local;
    RaRouting loads =
        ra_routing(cases[i].skew, 16384, 8 * 16384, ranks * local);
    double form = ra_routing_imbalance(&loads, ranks, local, 1) - 1;
    double drawn =
        drawn_fullest((double)cases[i].skew / 100, 0.8 * 16384, ranks, local) -
        1;

    ck_assert_msg(drawn > 0.65 * form && drawn < form, "%u: %g of %g", i, drawn,
                  form);
  }
}
END_TEST

/* Bytes of the exchanges of a layer that has experts. */
static double
exchanged(const RaModel *model, uint32_t ep, RaDispatch dispatch)
{
  const RaShard shard = {.model = model,
                         .tp = 1,
                         .cp = 1,
                         .ep = ep,
                         .ep_ranks_per_node = ep,
                         .ep_groups_per_node = 1,
                         .dispatch = dispatch,
                         .dtype = RA_DTYPE_BF16};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list_experts(&shard, 1000, ops);
  double bytes = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_ALL_TO_ALL)
      bytes += (double)ops[i].dim[0];
  return bytes;
}

/* An exchange ends with the fullest rank, which receives in a dispatch, and
 * sends in a combine, what it has of the copies. */
START_TEST(test_exchange)
{
  g_autofree char *path = g_build_filename(
      g_getenv("srcdir"), "share", "models", "qwen3-30b-a3b.json", NULL);
  RaModel *model = ra_model_load(path, NULL);

  ck_assert(model);
  for (uint32_t ep = 2; ep <= 32; ep *= 4) {
    RaRouting loads = ra_routing(60, 1000.0 * ep, 8000.0 * ep, 128);
    double fullest = ra_routing_imbalance(&loads, ep, 128.0 / ep, 1);

    for (int d = RA_DISPATCH_COPIES; d <= RA_DISPATCH_ONCE; d++) {
      double even;
      model->expert_skew = 0;
      even = exchanged(model, ep, (RaDispatch)d);
      model->expert_skew = 60;
      ck_assert_double_gt(fullest, 1.1);
      ck_assert_double_eq_tol(exchanged(model, ep, (RaDispatch)d),
                              even * fullest, 4); /* two are cut to a byte */
    }
  }
  ra_model_free(model);
}
END_TEST

static Suite *
routing_suite(void)
{
  Suite *suite = suite_create("routing");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_even_density);
  tcase_add_test(tcase, test_draws);
  tcase_add_test(tcase, test_exchange);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(routing_suite)
