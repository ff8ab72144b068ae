/* Closed forms of collectives against their derivations, and what carries a
 * measurement by them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/collective_model.h"
#include "estimator/extrapolation.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* 8 NICs of 25 GB/s a node, as an A100's: L = 0.8 x 300 = 240 GB/s. */
static RaCollectiveModel
ampere(void)
{
  RaCollectiveModel m;

  ra_collective_model_init(&m, 8, 300e9, 32e9);
  m.node_bytes_per_s = 200e9;
  m.nics_per_node = 8;
  return m;
}

/* 8 NICs of 50 GB/s, switches that reduce: L = 0.8 x 450 = 360 GB/s. */
static RaCollectiveModel
hopper(void)
{
  RaCollectiveModel m;

  ra_collective_model_init(&m, 8, 450e9, 64e9);
  m.node_bytes_per_s = 400e9;
  m.nics_per_node = 8;
  return m;
}

static RaCollectiveChoice
find(const RaCollectiveModel *model, const RaOp *op, RaAlgorithm algorithm,
     RaProtocol protocol)
{
  RaCollectiveChoice all[RA_COLLECTIVE_CHOICES];
  guint n = ra_collective_model_candidates(model, op, all);

  for (guint i = 0; i < n; i++)
    if (all[i].algorithm == algorithm && all[i].protocol == protocol)
      return all[i];
  return (RaCollectiveChoice){.s = -1};
}

static void
check(const RaCollectiveModel *model, const RaOp *op, RaAlgorithm algorithm,
      RaProtocol protocol, double latency_s, double bytes_per_s)
{
  RaCollectiveChoice c = find(model, op, algorithm, protocol);

  bench_check(c.latency_s, latency_s);
  bench_check(c.bytes_per_s, bytes_per_s);
  bench_check(c.s, latency_s + (double)op->dim[0] / bytes_per_s);
}

#define GIB 1073741824

/* A ring of n = 8 in a node: an all-reduce has 2 (n - 1) = 14 steps, in each of
 * which a rank sends S / 8: S 14/8 bytes over L, so S / t = 240 x 8/14 GB/s.
 *
 *     Simple  8.4 + 14 x 3.4 us, that rate
 *     LL128   14 + 14 x 1.9 us, 120 of 128 bytes are data: 0.92 of it (16
 *             channels of 20 GB/s would be more)
 *     LL      6.6 + 14 x 0.6 us, min(240 / 2, 87.7) x 8/14
 *
 * A gather has 7 steps and half of the bytes; a broadcast sends every byte once
 * over each link, in 8 steps.  The fault: 13 steps. */
START_TEST(test_ring)
{
  RaCollectiveModel m = ampere();
  RaOp op = bench_op(RA_OP_ALL_REDUCE, GIB, 8, 8, 1);
  RaCollectiveChoice c;

  check(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 56e-6, 240e9 * 8 / 14);
  check(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_LL128, 40.6e-6,
        0.92 * 240e9 * 8 / 14);
  check(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_LL, 15e-6, 87.7e9 * 8 / 14);
  c = find(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE);
  bench_check_differs(c.latency_s, 8.4e-6 + 13 * 3.4e-6);
  op.kind = RA_OP_ALL_GATHER;
  check(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 32.2e-6, 240e9 * 8 / 7);
  op.kind = RA_OP_BROADCAST;
  check(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 35.6e-6, 240e9);
}
END_TEST

/* 16 ranks, 8 on each of two nodes: 30 steps, 2 of them between nodes, the
 * others at least as long as the host's part of a step (3 us; a hop is 3.4).  W
 * = 200 GB/s.  8.4 + 28 x 3.4 + 2 x 14 = 131.6 us; 200 x 16/30 GB/s.
 *
 * A tree of 8 nodes, 64 ranks: up and down 7 hops in the node and log2 8
 * between: 6.8 + 2 (7 x 0.6 + 3 x 5) = 45.2 us by LL.  Inner nodes send 2 S:
 * 0.92 / 2 of W; 8 channels of 17.8 are less: 142.4 / 2.  Simple at 1 GiB is
 * beyond the sizes of the correction.  On two nodes the way between is used by
 * one direction of each tree: 2 W, so L = 240 binds, and then 8 channels of
 * 23.6 GB/s: 188.8 / 2.
 *
 * Rails fewer than GPUs: 4 NICs of 25 are W = 100 and 4 channels; the ring has
 * half, the tree 0.92 x 200 or 4 x 23.6 / 2.  Two groups share NICs likewise.
 */
START_TEST(test_across)
{
  RaCollectiveModel m = ampere();
  RaOp two = bench_op(RA_OP_ALL_REDUCE, GIB, 16, 8, 1);
  RaOp eight = bench_op(RA_OP_ALL_REDUCE, GIB, 64, 8, 1);
  RaCollectiveChoice c;

  check(&m, &two, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 131.6e-6,
        200e9 * 16 / 30);
  c = find(&m, &eight, RA_ALGORITHM_TREE, RA_PROTOCOL_LL);
  bench_check(c.latency_s, 45.2e-6);
  check(&m, &eight, RA_ALGORITHM_TREE, RA_PROTOCOL_SIMPLE,
        8.4e-6 + 2 * (7 * 4e-6 + 3 * 14e-6), 8 * 17.8e9 / 2);
  check(&m, &two, RA_ALGORITHM_TREE, RA_PROTOCOL_SIMPLE,
        8.4e-6 + 2 * (7 * 4e-6 + 14e-6), 8 * 23.6e9 / 2);
  m.node_bytes_per_s = 100e9;
  m.nics_per_node = 4;
  check(&m, &two, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 131.6e-6,
        100e9 * 16 / 30);
  check(&m, &two, RA_ALGORITHM_TREE, RA_PROTOCOL_SIMPLE,
        8.4e-6 + 2 * (7 * 4e-6 + 14e-6), 4 * 23.6e9 / 2);
  m = ampere();
  two.dim[3] = 2;
  check(&m, &two, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 131.6e-6,
        100e9 * 16 / 30);
  bench_check_differs(c.latency_s, 45.2e-6 - 10e-6); /* log2 8 taken as 2 */
}
END_TEST

/* Switches of a node add up: 15 of 16 channels of 0.85 L, both directions at
 * once in an all-reduce: 2 x 0.85 x 15/16 x 360 = 573.75 GB/s of bus; of 8
 * ranks 8/14 of it.  One hop of 25 us whatever n.  An A100's do not.
 *
 * Trees of such nodes: log2 8 = 3 nets up and down; W = 400 and 8 channels of
 * 45.5 = 364 GB/s, 64 / 126 of it. */
START_TEST(test_nvls)
{
  RaCollectiveModel m = hopper(), old = ampere();
  RaOp op = bench_op(RA_OP_ALL_REDUCE, GIB, 8, 8, 1);
  RaOp eight = bench_op(RA_OP_ALL_REDUCE, GIB, 64, 8, 1);

  check(&m, &op, RA_ALGORITHM_NVLS, RA_PROTOCOL_SIMPLE, 25e-6,
        573.75e9 * 8 / 14);
  ck_assert_double_lt(find(&old, &op, RA_ALGORITHM_NVLS, RA_PROTOCOL_SIMPLE).s,
                      0);
  check(&m, &eight, RA_ALGORITHM_NVLS_TREE, RA_PROTOCOL_SIMPLE,
        25e-6 + 6 * 20.9e-6, 8 * 45.5e9 * 64 / 126);
  ck_assert_double_lt(find(&m, &eight, RA_ALGORITHM_NVLS, RA_PROTOCOL_SIMPLE).s,
                      0);
  op.kind = RA_OP_ALL_GATHER; /* one direction, 7/8 of the bytes arrive */
  check(&m, &op, RA_ALGORITHM_NVLS, RA_PROTOCOL_SIMPLE, 25e-6,
        573.75e9 / 2 * 7 / 8);
}
END_TEST

/* The network adds up: every byte leaves a node once, 0.9 W = 180 GB/s, but 8
 * A100s of a node scatter and gather at 240 x 8/14 = 137.1.  31 + 2 (3.7 + 7 x
 * 0.4) = 44 us on 2 nodes as on 128.  One rank a node has 1/8 of the NICs and
 * nothing to do in the node. */
START_TEST(test_sharp)
{
  RaCollectiveModel m = ampere();
  RaOp two = bench_op(RA_OP_ALL_REDUCE, GIB, 16, 8, 1);
  RaOp many = bench_op(RA_OP_ALL_REDUCE, GIB, 1024, 8, 1);
  RaOp one = bench_op(RA_OP_ALL_REDUCE, GIB, 128, 1, 1);
  RaCollectiveChoice without, with;

  ck_assert_double_lt(find(&m, &two, RA_ALGORITHM_SHARP, RA_PROTOCOL_SIMPLE).s,
                      0);
  ck_assert(ra_collective_model_choose(&m, &many, &without));
  m.sharp = TRUE;
  check(&m, &two, RA_ALGORITHM_SHARP, RA_PROTOCOL_SIMPLE, 44e-6,
        240e9 * 8 / 14);
  check(&m, &many, RA_ALGORITHM_SHARP, RA_PROTOCOL_SIMPLE, 44e-6,
        240e9 * 8 / 14);
  check(&m, &one, RA_ALGORITHM_SHARP, RA_PROTOCOL_SIMPLE, 31e-6,
        0.9 * 200e9 / 8);
  ck_assert(ra_collective_model_choose(&m, &many, &with));
  ck_assert_int_eq(with.algorithm, RA_ALGORITHM_SHARP);
  ck_assert_double_lt(with.s, without.s);
}
END_TEST

/* Over PCIe: L = 0.75 x 32 GB/s, hops of 5.7 us, no LL128, no NVLS.  Pairwise
 * exchanges: each rank sends 7/8 of its bytes; 3 doublings of a hop. */
START_TEST(test_pcie)
{
  RaCollectiveModel m;
  RaOp op = bench_op(RA_OP_ALL_REDUCE, GIB, 8, 8, 1);

  ra_collective_model_init(&m, 8, 32e9, 32e9);
  check(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 8.4e-6 + 14 * 5.7e-6,
        24e9 * 8 / 14);
  ck_assert_double_lt(find(&m, &op, RA_ALGORITHM_RING, RA_PROTOCOL_LL128).s, 0);
  ck_assert_double_lt(find(&m, &op, RA_ALGORITHM_NVLS, RA_PROTOCOL_SIMPLE).s,
                      0);
  op.kind = RA_OP_ALL_TO_ALL;
  check(&m, &op, RA_ALGORITHM_DIRECT, RA_PROTOCOL_SIMPLE, 8.4e-6 + 3 * 5.7e-6,
        24e9 * 8 / 7);
}
END_TEST

/* The k-th of sizes 1 B to 64 GiB, 16 an octave. */
static uint64_t
size_at(guint k)
{
  return (uint64_t)((16 + k % 16) * pow(2, k / 16 - 4.0)) + 1;
}

#define N_SIZES (36 * 16)

/* The least of all candidates by brute force, at every size, kind, number of
 * ranks and nodes; it never falls as bytes grow, and between two sizes a
 * sixteenth of an octave apart it rises by no more than that share, so that it
 * does not jump where the choice changes.  The fault: the first candidate. */
START_TEST(test_choice)
{
  static const uint64_t ranks[][2] = {{2, 2}, {5, 5},  {8, 8},   {16, 8},
                                      {4, 1}, {64, 8}, {512, 8}, {24, 8}};
  RaCollectiveModel models[] = {ampere(), hopper(), hopper()};
  RaCollectiveChoice all[RA_COLLECTIVE_CHOICES], c;
  guint n_chosen[RA_N_ALGORITHMS] = {0}, n_not_first = 0;

  models[2].sharp = TRUE;
  for (guint m = 0; m < G_N_ELEMENTS(models); m++)
    for (guint r = 0; r < G_N_ELEMENTS(ranks); r++)
      for (guint kind = RA_OP_ALL_REDUCE; kind <= RA_OP_BROADCAST; kind++) {
        double last_s = 0, last_bytes = 0;

        for (guint k = 0; k < N_SIZES; k++) {
          RaOp op =
              bench_op((RaOpKind)kind, size_at(k), ranks[r][0], ranks[r][1], 1);
          guint n = ra_collective_model_candidates(&models[m], &op, all);
          double least = INFINITY;

          for (guint i = 0; i < n; i++)
            least = MIN(least, all[i].s);
          ck_assert(ra_collective_model_choose(&models[m], &op, &c));
          ck_assert_double_eq(c.s, least);
          n_chosen[c.algorithm]++;
          n_not_first += all[0].s > least;
          ck_assert_double_ge(c.s, last_s);
          if (k > 0)
            ck_assert_double_le(c.s / last_s,
                                1.0001 * (double)op.dim[0] / last_bytes);
          last_s = c.s;
          last_bytes = (double)op.dim[0];
        }
      }
  for (guint a = 0; a < RA_N_ALGORITHMS; a++)
    ck_assert_msg(n_chosen[a] > 0, "%s is never taken", ra_algorithm_name(a));
  ck_assert_uint_gt(n_not_first, 0);
}
END_TEST

/* Quicker links never cost more: each rate doubled, at every size. */
START_TEST(test_faster)
{
  RaCollectiveModel slow = hopper(), fast = hopper();
  RaCollectiveChoice a, b;

  fast.node_bytes_per_s *= 2;
  fast.ring_bytes_per_s *= 2;
  for (guint k = 0; k < N_SIZES; k++)
    for (guint kind = RA_OP_ALL_REDUCE; kind <= RA_OP_BROADCAST; kind++) {
      RaOp op = bench_op((RaOpKind)kind, size_at(k), 64, 8, 1);

      ck_assert(ra_collective_model_choose(&slow, &op, &a));
      ck_assert(ra_collective_model_choose(&fast, &op, &b));
      ck_assert_double_le(b.s, a.s);
    }
  ck_assert(!ra_collective_model_choose(
      &slow, &(RaOp){.kind = RA_OP_ALL_REDUCE, .dim = {8, 1, 1, 1}}, &a));
}
END_TEST

/* The shipped A100 was measured on 8 NICs of 200 Gbit/s.  There the law has it
 * all; on NICs of half the rate it is carried by the closed forms' ratio; at
 * both the formula says what it takes.  SHARP is another fabric even at the
 * same rate and no slower.  The fault: NICs that differ by nothing. */
START_TEST(test_other_fabric)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("a100-sxm"));
  RaOp op = bench_op(RA_OP_ALL_REDUCE, GIB, 64, 8, 1);
  RaCollectiveModel own = ampere(), here = ampere();
  const RaLaw *fabric = ra_profile_law(b->profile, "inter-node.fabric");
  RaCollectiveChoice c, at_own, at_here;
  double measured_s, path = 0;

  ck_assert(fabric != NULL);
  ck_assert(ra_law_get(b->profile, fabric, "path-frac", &path, NULL));
  own.path_bytes_per_s = here.path_bytes_per_s = path * 32e9 * 8;
  here.node_bytes_per_s = 100e9;
  b->cluster.nic_bytes_per_s = 25e9;
  bench_remake(b);
  measured_s = ra_estimator_op_s(b->estimator, &op);
  ck_assert(!ra_estimator_formula(b->estimator, &op, &c));
  ck_assert(ra_collective_model_choose(&own, &op, &at_own));
  ck_assert(ra_collective_model_choose(&here, &op, &at_here));
  b->cluster.nic_bytes_per_s = 12.5e9;
  bench_remake(b);
  bench_check(ra_estimator_op_s(b->estimator, &op),
              measured_s * at_here.s / at_own.s);
  bench_check_differs(ra_estimator_op_s(b->estimator, &op), measured_s);
  ck_assert(ra_estimator_formula(b->estimator, &op, &c));
  ck_assert_int_eq(c.algorithm, at_here.algorithm);
  ck_assert_int_eq(c.protocol, at_here.protocol);
  b->cluster.nic_bytes_per_s = 25e9;
  b->cluster.sharp = TRUE;
  bench_remake(b);
  ck_assert(ra_estimator_formula(b->estimator, &op, &c));
  ck_assert_int_eq(c.algorithm, RA_ALGORITHM_SHARP);
  ck_assert_double_lt(ra_estimator_op_s(b->estimator, &op), measured_s);
}
END_TEST

/* A network whose messages take 20 us longer than InfiniBand's: a ring of 16
 * ranks on two nodes has 2 of its 30 steps between them, a tree of 8 nodes
 * crosses 2 log2 8 = 6 times; by LL once each, by Simple twice, for the flush:
 *
 *     ring    Simple  131.6 + 2 x 2 x 20 us      tree   LL  45.2 + 6 x 20 us
 *
 * Nothing changes within a node.  A send between nodes takes 20 us longer, two
 * steps of a reallocation between nodes 40, in a node none; an all-to-all of
 * experts 20; an all-reduce the ratio of the closed forms.  The fault: once
 * under Simple. */
START_TEST(test_latency)
{
  const double more_s = 20e-6;
  RaCollectiveModel m = ampere();
  RaOp two = bench_op(RA_OP_ALL_REDUCE, GIB, 16, 8, 1);
  RaOp eight = bench_op(RA_OP_ALL_REDUCE, GIB, 64, 8, 1);
  RaOp one = bench_op(RA_OP_ALL_REDUCE, GIB, 8, 8, 1);
  g_autoptr(Bench) b = bench_new(profile_text_shipped("h100-sxm"));
  const RaOp ops[] = {
      bench_op(RA_OP_SEND, 4096, 1, 1, 0),
      bench_op(RA_OP_SEND, 4096, 0, 1, 0),
      bench_op(RA_OP_REALLOC, 4096, 4096, 2, 0),
      bench_op(RA_OP_REALLOC, 4096, 0, 2, 0),
      bench_op(RA_OP_ALL_TO_ALL, 4096, 16, 8, 1),
      bench_op(RA_OP_ALL_REDUCE, 4096, 16, 8, 1),
  };
  const double differences[] = {more_s, 0, 2 * more_s, 0, more_s};
  double s[G_N_ELEMENTS(ops)];
  RaCollectiveChoice c;

  m.net_latency_s = more_s;
  c = find(&m, &two, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE);
  bench_check(c.latency_s, 131.6e-6 + 4 * more_s);
  bench_check_differs(c.latency_s, 131.6e-6 + 2 * more_s);
  c = find(&m, &eight, RA_ALGORITHM_TREE, RA_PROTOCOL_LL);
  bench_check(c.latency_s, 45.2e-6 + 6 * more_s);
  check(&m, &one, RA_ALGORITHM_RING, RA_PROTOCOL_SIMPLE, 56e-6, 240e9 * 8 / 14);
  b->cluster.nics_per_node = 8;
  b->cluster.nic_bytes_per_s = 50e9;
  bench_remake(b);
  for (guint i = 0; i < G_N_ELEMENTS(ops); i++)
    s[i] = ra_estimator_op_s(b->estimator, &ops[i]);
  b->cluster.nic_latency_s = more_s;
  bench_remake(b);
  for (guint i = 0; i < G_N_ELEMENTS(differences); i++)
    bench_check(ra_estimator_op_s(b->estimator, &ops[i]),
                s[i] + differences[i]);
  /* Two crossings of 20 us, beside 25 us that InfiniBand takes. */
  ck_assert_double_gt(ra_estimator_op_s(b->estimator, &ops[5]), s[5] + more_s);
  ck_assert(ra_estimator_formula(b->estimator, &ops[5], &c));
}
END_TEST

static Suite *
collective_model_suite(void)
{
  Suite *suite = suite_create("collective_model");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_ring);
  tcase_add_test(tcase, test_across);
  tcase_add_test(tcase, test_nvls);
  tcase_add_test(tcase, test_sharp);
  tcase_add_test(tcase, test_pcie);
  tcase_add_test(tcase, test_choice);
  tcase_add_test(tcase, test_faster);
  tcase_add_test(tcase, test_other_fabric);
  tcase_add_test(tcase, test_latency);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(collective_model_suite)
