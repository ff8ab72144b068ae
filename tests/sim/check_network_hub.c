/* Rates of flows that one link holds back, by its clock and by flow. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "sim/network/network.h"
#include "tests/support/check_main.h"

enum { N_HOSTS = 32, BUS = 2 * N_HOSTS, APART, N_LINKS, N_FLOWS = 800 };

typedef struct {
  uint32_t link[3];
  double weight[3];
  double amount, latency_s;
  uint32_t n;
} Flow;

/* From host to host over a bus; every tenth with weights of its own, and some
 * that do not cross the bus. */
static void
make_flows(RaRng *rng, Flow *flows, gboolean strangers)
{
  for (uint32_t i = 0; i < N_FLOWS; i++) {
    uint32_t from = (uint32_t)ra_rng_below(rng, N_HOSTS);
    uint32_t to = (uint32_t)ra_rng_below(rng, N_HOSTS);

    flows[i] = (Flow){.link = {from, N_HOSTS + to, BUS},
                      .weight = {1, 1, 1},
                      .amount = 1 + ra_rng_uniform(rng),
                      .latency_s = 60 * ra_rng_uniform(rng),
                      .n = strangers && i % 50 == 7 ? 2 : 3};
    if (i % 10 == 3)
      flows[i].weight[2] = 0.5 + ra_rng_uniform(rng);
  }
}

/* Ends of all flows where the bus has @bus times what a host's link has.
 * @apart: with a flow elsewhere, so that no link is the bottleneck of all. */
static RaNetworkWork
run(const Flow *flows, double bus, gboolean apart, double *out_end_s)
{
  double capacity[N_LINKS];
  static const uint32_t elsewhere = APART;
  RaNetwork *net;
  RaNetworkWork work;
  uint32_t n = 0;

  for (uint32_t l = 0; l < N_LINKS; l++)
    capacity[l] = l == BUS ? bus : 1;
  net = ra_network_new(capacity, N_LINKS);
  if (apart)
    ra_network_start(net, &elsewhere, NULL, 1, 1e6, 0, N_FLOWS);
  for (uint32_t i = 0; i < N_FLOWS; i++)
    ra_network_start(net, flows[i].link, flows[i].weight, flows[i].n,
                     flows[i].amount, flows[i].latency_s, i);
  while (ra_network_next_s(net) < 1e6) {
    uint32_t i = ra_network_pop(net);

    out_end_s[i] = ra_network_now_s(net);
    n++;
    if (n % 97 == 0 && apart)
      ck_assert_double_le(ra_network_used(net, BUS), bus * (1 + 1e-9));
  }
  ck_assert_uint_eq(n, N_FLOWS);
  work = *ra_network_work(net);
  ra_network_free(net);
  return work;
}

static double
apart_frac(const double *a, const double *b)
{
  double most = 0;

  for (uint32_t i = 0; i < N_FLOWS; i++)
    most = MAX(most, fabs(a[i] / b[i] - 1));
  return most;
}

/* Buses that are narrow always, now and then, and never; with and without flows
 * that do not cross: every end agrees to 1e-9, and a narrow bus costs a tenth
 * of the looks at flows.  A bus a thousandth wider shows: the deliberate fault.
 */
START_TEST(test_by_clock_and_by_flow)
{
  static const double buses[] = {2, 6, 8, 12, 40};
  RaRng rng = ra_rng_init(5, (uint64_t)_i);
  double bus = buses[_i % 5];
  g_autofree Flow *flows = g_new0(Flow, N_FLOWS);
  g_autofree double *clock = g_new0(double, N_FLOWS + 1);
  g_autofree double *flow = g_new0(double, N_FLOWS + 1);
  RaNetworkWork few, many;

  make_flows(&rng, flows, _i >= 5);
  many = run(flows, bus, TRUE, flow);
  few = run(flows, bus, FALSE, clock);
  ck_assert_double_le(apart_frac(clock, flow), 1e-9);
  if (_i == 0)
    ck_assert_uint_lt(10 * few.n_visited, many.n_visited);
  run(flows, bus * 1.001, FALSE, clock);
  if (bus < 12)
    ck_assert_double_gt(apart_frac(clock, flow), 1e-6);
}
END_TEST

static Suite *
network_hub_suite(void)
{
  Suite *suite = suite_create("network_hub");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_by_clock_and_by_flow, 0, 10);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(network_hub_suite)
