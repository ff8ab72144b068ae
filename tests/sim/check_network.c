/* Max-min fair flows against progressive filling from scratch, the criterion
 * itself, and closed forms. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/network/network.h"
#include "tests/support/check_main.h"

enum { MAX_LINKS = 24, MAX_FLOWS = 40, MAX_REFS = 8 };

/* A flow as the oracle knows it; its payload is its index. */
typedef struct {
  uint32_t link[MAX_REFS];
  double weight[MAX_REFS];
  uint32_t n;
  double left; /* amount */
  double rate; /* of the last filling; amount per second */
  double begin_s, end_s;
  gboolean active;
} Flow;

typedef struct {
  double capacity[MAX_LINKS];
  uint32_t n_links;
  Flow flows[MAX_FLOWS];
  uint32_t n_flows;
} Case;

static double
uniform(RaRng *rng)
{
  return ra_rng_uniform(rng);
}

static uint32_t
below(RaRng *rng, uint32_t n)
{
  return (uint32_t)ra_rng_below(rng, n);
}

/* The definition, from scratch: raise all rates together; when a link is full
 * its flows stop; go on with the rest. */
static void
progressive_filling(Case *c)
{
  double free[MAX_LINKS];
  gboolean open[MAX_FLOWS];
  uint32_t n_open = 0;

  memcpy(free, c->capacity, sizeof free);
  for (uint32_t f = 0; f < c->n_flows; f++) {
    open[f] = c->flows[f].active;
    n_open += open[f];
  }
  while (n_open > 0) {
    double weight[MAX_LINKS] = {0}, least = (double)INFINITY;
    uint32_t full = 0;

    for (uint32_t f = 0; f < c->n_flows; f++)
      for (uint32_t i = 0; open[f] && i < c->flows[f].n; i++)
        weight[c->flows[f].link[i]] += c->flows[f].weight[i];
    for (uint32_t l = 0; l < c->n_links; l++) {
      if (weight[l] > 0 && free[l] / weight[l] < least) {
        least = free[l] / weight[l];
        full = l;
      }
    }
    for (uint32_t f = 0; f < c->n_flows; f++) {
      gboolean here = FALSE;

      for (uint32_t i = 0; open[f] && i < c->flows[f].n; i++)
        here = here || c->flows[f].link[i] == full;
      if (!here)
        continue;
      open[f] = FALSE;
      n_open--;
      c->flows[f].rate = least;
      for (uint32_t i = 0; i < c->flows[f].n; i++)
        free[c->flows[f].link[i]] -= c->flows[f].weight[i] * least;
    }
  }
}

/* Ends of all flows by filling from scratch at every begin and end. */
static void
oracle_run(Case *c)
{
  double now_s = 0;

  for (;;) {
    double next_s = (double)INFINITY;
    gboolean waiting = FALSE;

    progressive_filling(c);
    for (uint32_t f = 0; f < c->n_flows; f++) {
      Flow *flow = &c->flows[f];

      if (flow->active && flow->rate > 0)
        next_s = MIN(next_s, now_s + flow->left / flow->rate);
      if (!flow->active && flow->left > 0 && flow->begin_s > now_s) {
        next_s = MIN(next_s, flow->begin_s);
        waiting = TRUE;
      }
    }
    if (next_s == (double)INFINITY && !waiting)
      return;
    for (uint32_t f = 0; f < c->n_flows; f++) {
      Flow *flow = &c->flows[f];

      if (flow->active) {
        flow->left -= flow->rate * (next_s - now_s);
        if (flow->left <= 1e-9) {
          flow->left = 0;
          flow->active = FALSE;
          flow->end_s = next_s;
        }
      } else if (flow->left > 0 && flow->begin_s <= next_s) {
        flow->active = TRUE;
      }
    }
    now_s = next_s;
  }
}

static void
draw(Case *c, RaRng *rng, gboolean weighted)
{
  c->n_links = 1 + below(rng, MAX_LINKS);
  c->n_flows = 1 + below(rng, MAX_FLOWS);
  for (uint32_t l = 0; l < c->n_links; l++)
    c->capacity[l] = below(rng, 3) == 0 ? 10 : 1 + 20 * uniform(rng);
  for (uint32_t f = 0; f < c->n_flows; f++) {
    Flow *flow = &c->flows[f];
    uint32_t most = below(rng, 8) == 0 ? MAX_REFS : 4;

    most = MIN(most, c->n_links);
    *flow = (Flow){.left = 1 + 50 * uniform(rng)};
    flow->begin_s = below(rng, 3) == 0 ? 0 : 10 * uniform(rng);
    flow->active = flow->begin_s == 0;
    for (uint32_t want = 1 + below(rng, most); flow->n < want;) {
      uint32_t link = below(rng, c->n_links);
      gboolean twice = FALSE;

      for (uint32_t i = 0; i < flow->n; i++)
        twice = twice || flow->link[i] == link;
      if (twice)
        continue;
      flow->link[flow->n] = link;
      flow->weight[flow->n++] = weighted ? 0.25 + 2 * uniform(rng) : 1;
    }
  }
}

typedef struct {
  const Case *c;
  double rate[MAX_FLOWS];
  uint32_t bottleneck[MAX_FLOWS];
} Seen;

static void
see(uint32_t payload, double rate, uint32_t bottleneck, const uint32_t *links,
    uint32_t n, void *data)
{
  Seen *seen = data;

  ck_assert_uint_eq(n, seen->c->flows[payload].n);
  ck_assert_uint_eq(links[0], seen->c->flows[payload].link[0]);
  seen->rate[payload] = rate;
  seen->bottleneck[payload] = bottleneck;
}

/* No link above its capacity; every flow's bottleneck is full and carries
 * nobody who is faster. */
static gboolean
criterion_holds(const Case *c, const Seen *seen)
{
  for (uint32_t l = 0; l < c->n_links; l++) {
    double used = 0, fastest = 0;

    for (uint32_t f = 0; f < c->n_flows; f++)
      for (uint32_t i = 0; i < c->flows[f].n; i++)
        if (c->flows[f].link[i] == l && seen->rate[f] > 0) {
          used += c->flows[f].weight[i] * seen->rate[f];
          fastest = MAX(fastest, seen->rate[f]);
        }
    if (used > c->capacity[l] * (1 + 1e-9))
      return FALSE;
    for (uint32_t f = 0; f < c->n_flows; f++)
      if (seen->rate[f] > 0 && seen->bottleneck[f] == l &&
          (used < c->capacity[l] * (1 - 1e-9) ||
           seen->rate[f] < fastest * (1 - 1e-9)))
        return FALSE;
  }
  return TRUE;
}

/* 10^4 networks, half with weights: the criterion after every event, and each
 * end as filling from scratch has it, to 1e-9. */
START_TEST(test_random_networks)
{
  RaRng rng = ra_rng_init(7, (uint64_t)_i);

  for (int k = 0; k < 1000; k++) {
    Case c;
    g_autoptr(RaNetwork) net = NULL;
    uint32_t n_ended = 0;

    draw(&c, &rng, k % 2);
    net = ra_network_new(c.capacity, c.n_links);
    for (uint32_t f = 0; f < c.n_flows; f++)
      ra_network_start(net, c.flows[f].link, c.flows[f].weight, c.flows[f].n,
                       c.flows[f].left, c.flows[f].begin_s, f);
    oracle_run(&c);
    while (ra_network_next_s(net) < (double)INFINITY) {
      Seen seen = {.c = &c};
      uint32_t f = ra_network_pop(net);

      ck_assert_double_eq_tol(ra_network_now_s(net), c.flows[f].end_s,
                              1e-9 * c.flows[f].end_s);
      n_ended++;
      ra_network_visit(net, see, &seen);
      ck_assert(criterion_holds(&c, &seen));
    }
    ck_assert_uint_eq(n_ended, c.n_flows);
  }
}
END_TEST

/* The criterion finds rates that are feasible but not fair, fair but too low,
 * and too high: two flows on one link of 10 have 5 each. */
START_TEST(test_criterion_finds_faults)
{
  Case c = {.capacity = {10}, .n_links = 1, .n_flows = 2};
  Seen seen = {.c = &c, .rate = {5, 5}};

  for (uint32_t f = 0; f < 2; f++)
    c.flows[f] = (Flow){.weight = {1}, .n = 1};
  ck_assert(criterion_holds(&c, &seen));
  seen.rate[0] = 6;
  ck_assert(!criterion_holds(&c, &seen));
  seen.rate[1] = 4;
  ck_assert(!criterion_holds(&c, &seen));
  seen.rate[0] = 4;
  ck_assert(!criterion_holds(&c, &seen));
}
END_TEST

/* The textbook's parking lot: a long flow over 3 links of 1, and one short flow
 * on each.  All have 1/2.  Amounts 1: the short ones end at 2, as the long one
 * does.  With the last short one's amount 1/2 it ends at 1, but the other links
 * still hold the long one at 1/2: the rest ends at 2 all the same. */
START_TEST(test_parking_lot)
{
  const double capacity[3] = {1, 1, 1};
  const uint32_t all[3] = {0, 1, 2};
  g_autoptr(RaNetwork) net = ra_network_new(capacity, 3);

  ra_network_start(net, all, NULL, 3, 1, 0, 9);
  for (uint32_t l = 0; l < 3; l++)
    ra_network_start(net, &l, NULL, 1, l == 2 ? 0.5 : 1, 0, l);
  ck_assert(ra_network_next_s(net) == 1);
  ck_assert_uint_eq(ra_network_pop(net), 2);
  ck_assert(ra_network_used(net, 2) == 0.5);
  ck_assert(ra_network_used(net, 0) == 1);
  ck_assert(ra_network_next_s(net) == 2);
  ck_assert_uint_eq(ra_network_pop(net), 9);
  ck_assert_uint_eq(ra_network_pop(net), 0);
  ck_assert_uint_eq(ra_network_pop(net), 1);
  ck_assert(ra_network_next_s(net) == (double)INFINITY);
}
END_TEST

/* A change reaches only its own region: 1,000 links with two flows each, of
 * different amounts.  2,000 starts at one time are one solution; each first end
 * of a link is one more of the single flow left there, two if the region were
 * its neighbours'.  So all in all 2,000 + 1,000 flows are visited by filling,
 * counted once a round. */
START_TEST(test_work_is_local)
{
  enum { N = 1000 };
  g_autofree double *capacity = g_new(double, N);
  g_autoptr(RaNetwork) net = NULL;

  for (uint32_t l = 0; l < N; l++)
    capacity[l] = 1;
  net = ra_network_new(capacity, N);
  for (uint32_t l = 0; l < N; l++) {
    ra_network_start(net, &l, NULL, 1, 1 + l, 0, l);
    ra_network_start(net, &l, NULL, 1, 1e6 + l, 0, N + l);
  }
  while (ra_network_next_s(net) < (double)INFINITY)
    ra_network_pop(net);
  ck_assert_uint_eq(ra_network_work(net)->n_solved, 1 + N);
  ck_assert_uint_eq(ra_network_work(net)->n_visited, 2 * N + N);
  /* the last: 1 + 999 at 1/2, the rest of 1e6 + 999 alone */
  ck_assert_double_eq_tol(ra_network_now_s(net), 1e6 + 999 + 1000, 1e-6);
}
END_TEST

/* Flows that never share are never solved, and the caller's events come in
 * order of time, then of asking; no links, no amount: the latency alone. */
START_TEST(test_alone_and_own)
{
  const double capacity[2] = {2, 0};
  const uint32_t link = 0, failed = 1;
  g_autoptr(RaNetwork) net = ra_network_new(capacity, 2);

  ra_network_at(net, 3, 100);
  ra_network_start(net, &link, NULL, 1, 4, 1, 101); /* 1 + 4/2 = 3 */
  ra_network_start(net, NULL, NULL, 0, 4, 0.5, 102);
  ra_network_start(net, &link, NULL, 1, 0, 0.25, 103);
  ra_network_start(net, &failed, NULL, 1, 1, 0, 104); /* never */
  ck_assert_uint_eq(ra_network_pop(net), 103);
  ck_assert(ra_network_now_s(net) == 0.25);
  ck_assert_uint_eq(ra_network_pop(net), 102);
  ck_assert_uint_eq(ra_network_pop(net), 100);
  ck_assert_uint_eq(ra_network_pop(net), 101);
  ck_assert(ra_network_now_s(net) == 3);
  ck_assert(ra_network_next_s(net) == (double)INFINITY);
  ck_assert_uint_eq(ra_network_work(net)->n_solved, 0);
}
END_TEST

/* A flow of 7 on a link of 1 begins after 6 and ends at 13.  A caller with
 * something of its own at 5 is told that no end is so early, and moves on to 5:
 * time has not gone on to 6, as it has when nobody says so (the fault). */
START_TEST(test_limit)
{
  const double capacity[] = {1};
  const uint32_t link = 0;
  g_autoptr(RaNetwork) net = ra_network_new(capacity, 1);

  ra_network_start(net, &link, NULL, 1, 7, 6, 0);
  ck_assert_double_gt(ra_network_next_by_s(net, 5), 5);
  ra_network_advance(net, 5);
  ck_assert_double_eq(ra_network_now_s(net), 5);
  ck_assert_double_eq(ra_network_next_s(net), 13);
  ck_assert_double_gt(ra_network_now_s(net), 5);
}
END_TEST

/* On a link of 1 a flow of 2 from 0 on, one of 1 that begins after 1: each has
 * half until the second ends at 3, then the first ends: 3 too.  A caller who
 * asks with a limit before 1 must not be told later that the first ends at 2,
 * as it does alone (the fault). */
START_TEST(test_limit_before_start)
{
  const double capacity[] = {1};
  const uint32_t link = 0;
  g_autoptr(RaNetwork) net = ra_network_new(capacity, 1);

  ra_network_start(net, &link, NULL, 1, 2, 0, 0);
  ra_network_start(net, &link, NULL, 1, 1, 1, 1);
  ck_assert_double_eq(ra_network_next_by_s(net, 0.5), 1);
  ck_assert_double_eq(ra_network_next_s(net), 3);
  ck_assert_uint_eq(ra_network_pop(net), 0);
  ck_assert_uint_eq(ra_network_pop(net), 1);
  ck_assert_double_eq(ra_network_now_s(net), 3);
}
END_TEST

static Suite *
network_suite(void)
{
  Suite *suite = suite_create("network");
  TCase *tcase = tcase_create("fair");

  tcase_add_loop_test(tcase, test_random_networks, 0, 10);
  tcase_add_test(tcase, test_criterion_finds_faults);
  tcase_add_test(tcase, test_parking_lot);
  tcase_add_test(tcase, test_work_is_local);
  tcase_add_test(tcase, test_alone_and_own);
  tcase_add_test(tcase, test_limit);
  tcase_add_test(tcase, test_limit_before_start);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(network_suite)
