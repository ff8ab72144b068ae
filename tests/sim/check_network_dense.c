/* Rates solved by link, from counts and from lists, against rates solved by
 * flow. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "sim/network/network.h"
#include "tests/support/check_main.h"

enum {
  N_LINKS = 24,
  MANY_LINKS = 400, /* unused ones keep a network from solving by counts */
  N_FLOWS = 1500
};

typedef struct {
  uint32_t link[3];
  uint32_t n;
  double amount, latency_s;
} Flow;

static void
make_flows(RaRng *rng, Flow *flows, uint32_t n_three)
{
  for (uint32_t i = 0; i < N_FLOWS; i++) {
    uint32_t a = (uint32_t)ra_rng_below(rng, N_LINKS);

    flows[i].n = i % 10 == 0 ? 1 : 2;
    flows[i].link[0] = a;
    flows[i].link[1] =
        (a + 1 + (uint32_t)ra_rng_below(rng, N_LINKS - 2)) % N_LINKS;
    flows[i].amount = 1 + ra_rng_uniform(rng);
    /* two thirds at once, the others while these move */
    flows[i].latency_s = i % 3 == 0 ? 100 * ra_rng_uniform(rng) : 0;
    if (i >= N_FLOWS - n_three) {
      flows[i].n = 3;
      flows[i].link[2] = (flows[i].link[1] + 1) % N_LINKS;
      if (flows[i].link[2] == a)
        flows[i].n = 2;
      flows[i].latency_s = 20;
    }
  }
}

/* Ends of all flows on @n_links links, the first N_LINKS used; one of capacity
 * 1 + @wrong.  Asks for a rate every @ask ends.  Weights of one, @by_flow, keep
 * a network from solving by link. */
static RaNetworkWork
run(const Flow *flows, uint32_t n_links, double wrong, uint32_t ask,
    gboolean by_flow, double *out_end_s)
{
  static const double ones[] = {1, 1, 1};

  double capacity[MANY_LINKS];
  RaNetwork *net;
  RaNetworkWork work;
  uint32_t n = 0;

  for (uint32_t l = 0; l < n_links; l++)
    capacity[l] = 1 + 0.1 * (l % 7) + (l == 3 ? wrong : 0);
  net = ra_network_new(capacity, n_links);
  for (uint32_t i = 0; i < N_FLOWS; i++)
    ra_network_start(net, flows[i].link, by_flow ? ones : NULL, flows[i].n,
                     flows[i].amount, flows[i].latency_s, i);
  while (ra_network_next_s(net) < (double)INFINITY) {
    uint32_t i = ra_network_pop(net);

    out_end_s[i] = ra_network_now_s(net);
    n++;
    if (ask > 0 && n % ask == 0)
      for (uint32_t l = 0; l < N_LINKS; l++)
        ck_assert_double_le(ra_network_used(net, l), capacity[l] * (1 + 1e-9));
  }
  ck_assert_uint_eq(n, N_FLOWS);
  work = *ra_network_work(net);
  ra_network_free(net);
  return work;
}

static double
apart(const double *a, const double *b)
{
  double most = 0;

  for (uint32_t i = 0; i < N_FLOWS; i++)
    most = MAX(most, fabs(a[i] / b[i] - 1));
  return most;
}

/* The same sets by lists, over three links too. */
START_TEST(test_by_list)
{
  RaRng rng = ra_rng_init(11, (uint64_t)_i);
  g_autofree Flow *flows = g_new0(Flow, N_FLOWS);
  g_autofree double *by_list = g_new0(double, N_FLOWS);
  g_autofree double *by_flow = g_new0(double, N_FLOWS);
  RaNetworkWork few, many;

  make_flows(&rng, flows, _i % 2 ? N_FLOWS / 2 : 0);
  many = run(flows, MANY_LINKS, 0, 0, TRUE, by_flow);
  few = run(flows, MANY_LINKS, 0, 0, FALSE, by_list);
  ck_assert_double_le(apart(by_list, by_flow), 1e-9);
  ck_assert_uint_gt(few.n_listed, few.n_solved / 2);
  ck_assert_uint_eq(many.n_listed, 0);
  run(flows, MANY_LINKS, 0, 100, FALSE, by_list);
  ck_assert_double_le(apart(by_list, by_flow), 1e-9);
  run(flows, MANY_LINKS, 1e-3, 0, FALSE, by_list);
  ck_assert_double_gt(apart(by_list, by_flow), 1e-6);
}
END_TEST

/* 12 sets of flows over one and two links that come and go; in half of them
 * some over three come midway, so that solving by link must stop.  Ends agree
 * to 1e-9 whether rates are asked for midway or not, for less than half of the
 * looks at flows.  A link that is a thousandth wider shows: the deliberate
 * fault. */
START_TEST(test_by_link_and_by_flow)
{
  RaRng rng = ra_rng_init(11, (uint64_t)_i);
  uint32_t n_three = _i % 2 ? 40 : 0;
  g_autofree Flow *flows = g_new0(Flow, N_FLOWS);
  g_autofree double *by_link = g_new0(double, N_FLOWS);
  g_autofree double *by_flow = g_new0(double, N_FLOWS);
  RaNetworkWork few, many;

  make_flows(&rng, flows, n_three);
  many = run(flows, MANY_LINKS, 0, 0, TRUE, by_flow);
  few = run(flows, N_LINKS, 0, 0, FALSE, by_link);
  ck_assert_double_le(apart(by_link, by_flow), 1e-9);
  if (n_three == 0)
    ck_assert_uint_lt(2 * few.n_visited, many.n_visited);
  run(flows, N_LINKS, 0, 100, FALSE, by_link);
  ck_assert_double_le(apart(by_link, by_flow), 1e-9);
  run(flows, N_LINKS, 1e-3, 0, FALSE, by_link);
  ck_assert_double_gt(apart(by_link, by_flow), 1e-6);
}
END_TEST

static Suite *
network_dense_suite(void)
{
  Suite *suite = suite_create("network_dense");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_by_link_and_by_flow, 0, 12);
  tcase_add_loop_test(tcase, test_by_list, 0, 12);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(network_dense_suite)
