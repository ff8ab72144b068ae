/* Collectives, sends, reallocation and copies against their formulas. */
#include "config.h"

#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* Three lines for 2, 4 and 8 ranks of an all-reduce; the ideal link has 1e8
 * B/s.  Small: 1 ms and a tenth of the link; middling: 3 ms and a fifth;
 * large: 9 ms and all of it; with 8 ranks half of each rate and twice each
 * latency. */
#define LINES                                                                  \
  "all-reduce.low-latency-2-s=1e-3", "all-reduce.low-bandwidth-2-frac=0.1",    \
      "all-reduce.mid-latency-2-s=3e-3",                                       \
      "all-reduce.mid-bandwidth-2-frac=0.2",                                   \
      "all-reduce.high-latency-2-s=9e-3",                                      \
      "all-reduce.high-bandwidth-2-frac=1", "all-reduce.low-latency-4-s=1e-3", \
      "all-reduce.low-bandwidth-4-frac=0.1",                                   \
      "all-reduce.mid-latency-4-s=3e-3",                                       \
      "all-reduce.mid-bandwidth-4-frac=0.2",                                   \
      "all-reduce.high-latency-4-s=9e-3",                                      \
      "all-reduce.high-bandwidth-4-frac=1", "all-reduce.low-latency-8-s=2e-3", \
      "all-reduce.low-bandwidth-8-frac=0.05",                                  \
      "all-reduce.mid-latency-8-s=6e-3",                                       \
      "all-reduce.mid-bandwidth-8-frac=0.1",                                   \
      "all-reduce.high-latency-8-s=18e-3",                                     \
      "all-reduce.high-bandwidth-8-frac=0.5"

static double
all_reduce_s(const Bench *b, uint64_t bytes, uint64_t ranks)
{
  return bench_s(b, RA_OP_ALL_REDUCE, bytes, ranks, ranks, 1);
}

/* Two ranks: f = 2 (2-1)/2 = 1.  10^4 bytes: 1 ms + 1e4/1e7 = 2 ms; 10^5: the
 * lines give 11, 3 + 5 = 8 and 9 + 1 = 10 ms; 10^6: 101, 53 and 19 ms. */
START_TEST(test_lines)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(LINES, NULL));
  g_autoptr(Bench) wrong = bench_new(
      profile_text_load(LINES, "all-reduce.mid-bandwidth-2-frac=0.21", NULL));

  bench_check(all_reduce_s(b, 10000, 2), 2e-3);
  bench_check(all_reduce_s(b, 100000, 2), 8e-3);
  bench_check_differs(all_reduce_s(wrong, 100000, 2), 8e-3);
  bench_check(all_reduce_s(b, 1000000, 2), 19e-3);
  ck_assert_double_eq(all_reduce_s(b, 0, 2), 0);
  ck_assert_double_eq(all_reduce_s(b, 1000000, 1), 0);
  ck_assert_double_eq(all_reduce_s(b, 1000000, 0), 0);
}
END_TEST

/* The large line at 10^7 bytes.  4 ranks: f = 1.5, 9 ms + 150; 8: f = 1.75 and
 * half the rate, 18 + 350 ms.  Between, log2 6 taken as 2.5: 13.5 ms and 0.75
 * of the link, f = 5/3.  Beyond 8, the coefficients of 8: f = 1.875. */
START_TEST(test_ranks)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(LINES, NULL));

  bench_check(all_reduce_s(b, 10000000, 4), 159e-3);
  bench_check(all_reduce_s(b, 10000000, 8), 368e-3);
  bench_check(all_reduce_s(b, 10000000, 6), 13.5e-3 + 5.0 / 3 / 7.5);
  bench_check(all_reduce_s(b, 10000000, 16), 18e-3 + 1.875 / 5);
  bench_check_differs(all_reduce_s(b, 10000000, 8), 367e-3);
}
END_TEST

/* Ideal links, 8 ranks, 8e5 bytes: f / 1e8 of them.  7/8 for a gather, a
 * scatter, an all-to-all; the whole vector for a broadcast. */
START_TEST(test_kinds)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));

  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 800000, 8, 8, 1), 14e-3);
  bench_check(bench_s(b, RA_OP_ALL_GATHER, 800000, 8, 8, 1), 7e-3);
  bench_check(bench_s(b, RA_OP_REDUCE_SCATTER, 800000, 8, 8, 1), 7e-3);
  bench_check(bench_s(b, RA_OP_ALL_TO_ALL, 800000, 8, 8, 1), 7e-3);
  bench_check(bench_s(b, RA_OP_BROADCAST, 800000, 8, 8, 1), 8e-3);
}
END_TEST

/* Each law is its own: the latency of one does not move the others. */
START_TEST(test_law_of_kind)
{
  static const char *const names[] = {"all-reduce", "reduce-scatter",
                                      "all-gather", "all-to-all", "broadcast"};

  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *low = g_strdup_printf("%s.low-latency-8-s=1", names[i]);
    g_autofree char *mid = g_strdup_printf("%s.mid-latency-8-s=1", names[i]);
    g_autofree char *high = g_strdup_printf("%s.high-latency-8-s=1", names[i]);
    g_autoptr(Bench) b = bench_new(profile_text_load(low, mid, high, NULL));

    for (guint j = 0; j < G_N_ELEMENTS(names); j++)
      ck_assert_int_eq(bench_s(b, RA_OP_ALL_REDUCE + j, 800, 8, 8, 1) > 0.5,
                       i == j);
  }
}
END_TEST

#define INTER                                                                  \
  "inter-node.low-latency-s=1e-3", "inter-node.low-latency-hop-s=1e-4",        \
      "inter-node.low-bandwidth-frac=0.1", "inter-node.high-latency-s=1e-2",   \
      "inter-node.high-latency-hop-s=1e-3",                                    \
      "inter-node.high-bandwidth-frac=0.5"

/* 32 ranks, 8 on each of 4 nodes, a node's NICs 8e6 B/s; two doublings.  One
 * ring: F = 2 * 31/32.  800 bytes: 1.2 ms + F 800 / 0.8e6.  8e6 bytes: 12 ms +
 * F 8e6 / 4e6.  Reduced in the node first: F = 2 * 3/4. */
START_TEST(test_across)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(INTER, NULL));
  g_autoptr(Bench) tree = bench_new(
      profile_text_load(INTER, "inter-node.hierarchical-frac=1", NULL));
  g_autoptr(Bench) half = bench_new(
      profile_text_load(INTER, "inter-node.hierarchical-frac=0.5", NULL));
  double ring = 2 * 31.0 / 32;

  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 800, 32, 8, 1),
              1.2e-3 + ring * 800 / 0.8e6);
  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 8000000, 32, 8, 1),
              12e-3 + ring * 2);
  bench_check(bench_s(tree, RA_OP_ALL_REDUCE, 8000000, 32, 8, 1),
              12e-3 + 1.5 * 2);
  bench_check(bench_s(half, RA_OP_ALL_REDUCE, 8000000, 32, 8, 1),
              12e-3 + (ring + 1.5) / 2 * 2);
  bench_check_differs(bench_s(b, RA_OP_ALL_REDUCE, 8000000, 32, 8, 1),
                      12e-3 + 1.5 * 2);
  /* The same gather moves half of that. */
  bench_check(bench_s(b, RA_OP_ALL_GATHER, 8000000, 32, 8, 1),
              12e-3 + ring / 2 * 2);
}
END_TEST

/* Who shares the NICs, at all of their rate.  4 groups of one rank a node: one
 * GPU's share each, 1e6 B/s; alone it has no more.  4 groups of 2 ranks: a
 * fourth of the node, 2e6.  16 groups (more than GPUs, overlapping) of 8: a
 * sixteenth.  Two ranks on two nodes: F = 1. */
START_TEST(test_sharing)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));

  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 2, 1, 4), 1.0);
  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 2, 1, 1), 1.0);
  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 4, 2, 4), 1.5 / 2);
  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 16, 8, 16),
              2 * 15.0 / 16 / 0.5);
  bench_check_differs(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 4, 2, 8), 1.5 / 2);
}
END_TEST

/* All-to-all of 16 ranks on two nodes: each rank sends 8/16 of its 1e6 bytes
 * out, 8 ranks through 8e6 B/s. */
START_TEST(test_all_to_all_across)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));

  bench_check(bench_s(b, RA_OP_ALL_TO_ALL, 1000000, 16, 8, 1), 0.5);
}
END_TEST

/* With the law of its own, in which frac is linear between 2 and 8 nodes: of
 * 1e6 bytes a rank, at the NICs' full rate 2 nodes take 0.5 s, 4 take 0.75, 8
 * 0.875 and 16 0.9375 s.
 *
 *     2 nodes   min(0.1 + 0.5 / 0.25, 0.7 + 0.5 / 0.5)       = 1.7
 *     4         min(0.15 + 0.75 / 0.1875, 0.8 + 0.75 / 0.375) = 2.8
 *     8         min(0.2 + 0.875 / 0.125, 0.9 + 0.875 / 0.25)  = 4.4
 *     16        min(0.2 + 0.9375 / 0.125, 0.9 + 0.9375 / 0.25) = 4.65
 *
 * What it says of its bytes across takes their place: 0.1e6 a rank of 2 nodes
 * are 0.1 s: min(0.1 + 0.1 / 0.25, 0.7 + 0.1 / 0.5) = 0.5.  An all-reduce does
 * not see it: 2 x 15/16 x 1e6 at 8e6.  On A100, where nothing was measured, an
 * all-to-all follows the law of the others.  The fault: the law of the others.
 */
START_TEST(test_all_to_all_law)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "inter-node.all-to-all.low-latency-2-s=0.1",
      "inter-node.all-to-all.low-bandwidth-2-frac=0.25",
      "inter-node.all-to-all.high-latency-2-s=0.7",
      "inter-node.all-to-all.high-bandwidth-2-frac=0.5",
      "inter-node.all-to-all.low-latency-8-s=0.2",
      "inter-node.all-to-all.low-bandwidth-8-frac=0.125",
      "inter-node.all-to-all.high-latency-8-s=0.9",
      "inter-node.all-to-all.high-bandwidth-8-frac=0.25", NULL));
  g_autoptr(Bench) a100 = bench_new(profile_text_shipped("a100-sxm"));
  RaOp once = bench_op(RA_OP_ALL_TO_ALL, 1000000, 16, 8, 1);

  bench_check(bench_s(b, RA_OP_ALL_TO_ALL, 1000000, 16, 8, 1), 1.7);
  bench_check(bench_s(b, RA_OP_ALL_TO_ALL, 1000000, 32, 8, 1), 2.8);
  bench_check(bench_s(b, RA_OP_ALL_TO_ALL, 1000000, 64, 8, 1), 4.4);
  bench_check(bench_s(b, RA_OP_ALL_TO_ALL, 1000000, 128, 8, 1), 4.65);
  once.dim[4] = 100000;
  bench_check(ra_estimator_op_s(b->estimator, &once), 0.5);
  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 16, 8, 1), 15.0 / 64);
  bench_check_differs(bench_s(b, RA_OP_ALL_TO_ALL, 1000000, 16, 8, 1), 0.5);
  ck_assert(!ra_profile_law(a100->profile, "inter-node.all-to-all"));
  ck_assert_double_gt(bench_s(a100, RA_OP_ALL_TO_ALL, 1000000, 16, 8, 1), 0);
}
END_TEST

/* Tokens that DeepEP's kernels exchange over a node's link of 1e8 B/s, with
 * half of it: 1e6 bytes of 1,000 tokens of 200 bytes take 0.1 s, 0.02 for the
 * bytes, 0.01 for two and a half rows a token beside them and 0.03 for the
 * tokens; the last three are twice as long by 10 multiprocessors as by 20.
 * Those back, those of low latency (no multiprocessors) and those of a domain,
 * of more than 8 ranks, have laws of their own; without the last they are the
 * node's.
 * Over nodes it is an all-to-all, and on an A100, which has no such law (the
 * faults). */
START_TEST(test_tokens)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "tokens.dispatch.floor-s=0.1", "tokens.dispatch.token-s=3e-5",
      "tokens.dispatch.bandwidth-frac=0.5", "tokens.dispatch.row-frac=2.5",
      "tokens.dispatch-low.floor-s=0.01", "tokens.dispatch-low.token-s=0",
      "tokens.dispatch-low.bandwidth-frac=1", "tokens.dispatch-low.row-frac=0",
      "tokens.combine.floor-s=0.2", "tokens.combine.token-s=0",
      "tokens.combine.bandwidth-frac=0.25", "tokens.combine.row-frac=0",
      "tokens.dispatch-domain.floor-s=0.3", "tokens.dispatch-domain.token-s=0",
      "tokens.dispatch-domain.bandwidth-frac=0.5",
      "tokens.dispatch-domain.row-frac=0", NULL));
  g_autoptr(Bench) a100 = bench_new(profile_text_shipped("a100-sxm"));
  g_autoptr(Bench) h100 = bench_new(profile_text_shipped("h100-sxm"));
  RaOp op = bench_op(RA_OP_ALL_TO_ALL, 1000000, 8, 8, 1), wide;
  double usual_s = ra_estimator_op_s(a100->estimator, &op);

  op.dim[4] = 200;
  op.dim[5] = 1000;
  op.dim[6] = 20;
  bench_check(ra_estimator_op_s(a100->estimator, &op), usual_s);
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.1 + 0.02 + 0.01 + 0.03);
  wide = op;
  wide.dim[1] = wide.dim[2] = 16;
  bench_check(ra_estimator_op_s(b->estimator, &wide), 0.3 + 0.02);
  bench_check(ra_estimator_op_s(h100->estimator, &wide),
              ra_estimator_op_s(h100->estimator, &op));
  op.dim[6] = 10;
  bench_check(ra_estimator_op_s(b->estimator, &op),
              0.1 + 2 * (0.02 + 0.01 + 0.03));
  op.dim[6] = 0;
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.01 + 0.01);
  op.flags = RA_OP_ROUTED;
  op.dim[6] = 20;
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.2 + 0.04);
  op.dim[1] = 16;
  bench_check_differs(ra_estimator_op_s(b->estimator, &op), 0.2 + 0.04);
}
END_TEST

/* An engine's own all-reduce, here of all of a link of 1e8 B/s: 1e4 bytes over
 * 2 ranks take 0.1 ms where NCCL's LINES take 2.  Over 16, which no engine was
 * measured with, and over nodes they are NCCL's, as are those of a GPU without
 * such a law and of calls that do not generate, a reduction of gradients among
 * them (the faults). */
START_TEST(test_own_sums)
{
  const RaSystemConstants vllm = {
      .compute_factor = 1, .comm_factor = 1, .kernels = RA_KERNELS_VLLM};
  g_autoptr(Bench) b = bench_new(profile_text_load(LINES, NULL));
  g_autoptr(Bench) l40s = bench_new(profile_text_shipped("l40s"));
  RaOp op = bench_op(RA_OP_ALL_REDUCE, 10000, 2, 2, 1), wide = op, out = op;
  RaWork work = {.shard = RA_NONE, .op = op};
  RaTaskGraph graph = {.works = &work, .n_works = 1};
  double wide_s, out_s, l40s_s = ra_estimator_op_s(l40s->estimator, &op);
  RaCost cost;
  RaLinkUse use;

  wide.dim[1] = wide.dim[2] = 16;
  out.dim[2] = 1;
  wide_s = ra_estimator_op_s(b->estimator, &wide);
  out_s = ra_estimator_op_s(b->estimator, &out);
  bench_check(ra_estimator_op_s(b->estimator, &op), 2e-3);
  ra_estimator_set_system(b->estimator, &vllm);
  ra_estimator_set_system(l40s->estimator, &vllm);
  bench_check(ra_estimator_op_s(b->estimator, &op), 0.1e-3);
  bench_check(ra_estimator_op_s(b->estimator, &wide), wide_s);
  bench_check(ra_estimator_op_s(b->estimator, &out), out_s);
  bench_check(ra_estimator_op_s(l40s->estimator, &op), l40s_s);
  ra_estimator_work(b->estimator, &graph, 0, &cost);
  bench_check(cost.comm_s, 2e-3);
  ra_estimator_link_use(b->estimator, &op, TRUE, &use);
  bench_check(use.total_s, 0.1e-3);
  bench_check(use.intra_s, 0.1e-3);
  ra_estimator_link_use(b->estimator, &op, FALSE, &use);
  bench_check(use.total_s, 2e-3);
}
END_TEST

/* The part in the node is the longer one where NICs are quick: 8 ranks of a
 * node at 2 * 7/8 * 1e6 / 1e8. */
START_TEST(test_node_bound)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));

  b->cluster.nic_bytes_per_s = 1e9;
  bench_remake(b);
  bench_check(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 16, 8, 1), 17.5e-3);
}
END_TEST

/* Sends of 1e5 bytes: in a node the least of 1 + 10, 3 + 5 and 9 + 1 ms; to
 * another 2 ms and 1e5 at half of 1e6 B/s; 16 pairs of a node have half of
 * that each, 4 no more than one GPU's share. */
START_TEST(test_send)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "send.low-latency-s=1e-3", "send.low-bandwidth-frac=0.1",
      "send.mid-latency-s=3e-3", "send.mid-bandwidth-frac=0.2",
      "send.high-latency-s=9e-3", "send.inter-latency-s=2e-3",
      "send.inter-bandwidth-frac=0.5", NULL));

  bench_check(bench_s(b, RA_OP_SEND, 100000, 0, 1, 0), 8e-3);
  bench_check(bench_s(b, RA_OP_SEND, 100000, 1, 1, 0), 202e-3);
  bench_check(bench_s(b, RA_OP_SEND, 100000, 1, 4, 0), 202e-3);
  bench_check(bench_s(b, RA_OP_SEND, 100000, 1, 16, 0), 402e-3);
  bench_check_differs(bench_s(b, RA_OP_SEND, 100001, 1, 16, 0), 402e-3);
  ck_assert_double_eq(bench_s(b, RA_OP_SEND, 0, 1, 16, 0), 0);
}
END_TEST

/* 3 steps of 1 ms; 1e6 bytes at half of 1e8 are 20 ms, 1e5 at half of one
 * GPU's 1e6 are 200 ms.  A copy: 1 ms and 1e5 at half of 1e7, 20 ms.
 *
 * A cast of 10 blocks of 128 x 128 weights reads 2 bytes a weight and writes 1,
 * and 4 for a block: 491,560 bytes at 1e9, after the transfer or without one.
 * The fault: a scale each 128 values, 5,120 bytes in place of 40. */
START_TEST(test_realloc_and_copies)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "realloc.step-s=1e-3", "realloc.intra-bandwidth-frac=0.5",
      "realloc.inter-bandwidth-frac=0.5", "host-copy.latency-s=1e-3",
      "host-copy.bandwidth-frac=0.5", NULL));

  bench_check(bench_s(b, RA_OP_REALLOC, 1000000, 0, 3, 0), 23e-3);
  bench_check(bench_s(b, RA_OP_REALLOC, 1000000, 100000, 3, 0), 203e-3);
  ck_assert_double_eq(bench_s(b, RA_OP_REALLOC, 0, 0, 3, 0), 0);
  bench_check(bench_s(b, RA_OP_REALLOC, 0, 0, 0, 163840), 491560e-9);
  bench_check(bench_s(b, RA_OP_REALLOC, 1000000, 0, 3, 163840),
              23e-3 + 491560e-9);
  bench_check_differs((3 * 163840 + 5120) * 1e-9, 491560e-9);
  bench_check(bench_s(b, RA_OP_OFFLOAD, 100000, 0, 0, 0), 21e-3);
  bench_check(bench_s(b, RA_OP_RELOAD, 100000, 0, 0, 0), 21e-3);
  bench_check_differs(bench_s(b, RA_OP_RELOAD, 100001, 0, 0, 0), 21e-3);
  ck_assert_double_eq(bench_s(b, RA_OP_RELOAD, 0, 0, 0, 0), 0);
}
END_TEST

/* Rates of 1e100 and no latency: everything that moves between GPUs takes
 * exactly no time, which the simulator's closed forms rest on.  A reallocation
 * casts nothing here. */
START_TEST(test_ideal)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "device.intra-node=1e100 B/s", "device.host=1e100 B/s", NULL));

  b->cluster.nic_bytes_per_s = 1e101;
  bench_remake(b);
  for (guint kind = RA_OP_ALL_REDUCE; kind <= RA_OP_RELOAD; kind++)
    ck_assert_double_eq(bench_s(b, kind, 1000000, 16, 8, kind != RA_OP_REALLOC),
                        0);
  ck_assert_double_eq(bench_s(b, RA_OP_ALL_REDUCE, 1000000, 6, 6, 1), 0);
}
END_TEST

/* Without NICs an op across nodes has a cost, finite and absurd: 1 B/s for
 * the node, an eighth for a rank. */
START_TEST(test_no_nic)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));

  b->cluster.nics_per_node = 0;
  bench_remake(b);
  bench_check(bench_s(b, RA_OP_SEND, 1000, 1, 1, 0), 8000);
}
END_TEST

static Suite *
collective_suite(void)
{
  Suite *suite = suite_create("collective");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_lines);
  tcase_add_test(tcase, test_ranks);
  tcase_add_test(tcase, test_kinds);
  tcase_add_test(tcase, test_law_of_kind);
  tcase_add_test(tcase, test_across);
  tcase_add_test(tcase, test_sharing);
  tcase_add_test(tcase, test_all_to_all_across);
  tcase_add_test(tcase, test_all_to_all_law);
  tcase_add_test(tcase, test_tokens);
  tcase_add_test(tcase, test_own_sums);
  tcase_add_test(tcase, test_node_bound);
  tcase_add_test(tcase, test_send);
  tcase_add_test(tcase, test_realloc_and_copies);
  tcase_add_test(tcase, test_ideal);
  tcase_add_test(tcase, test_no_nic);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(collective_suite)
