/* Offsets of blocks in a slab, against the best that there is, and the account
 * of a plan as blocks, against the account itself. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "graph/memory/memory_blocks.h"
#include "graph/memory/slab_order.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

/* 100 for four moments, 50 for the first two, 50 for the last two: the short
 * ones share a place, so 150, and rounded up to 64: 128 + 64. */
START_TEST(test_by_hand)
{
  RaSlabBlock blocks[] = {{100, 0, 4, 0}, {50, 0, 2, 0}, {50, 2, 4, 0}};

  ck_assert_uint_eq(ra_slab_load(3, blocks, 1), 150);
  ck_assert_uint_eq(ra_slab_plan(3, blocks, 1), 150);
  ck_assert(!ra_slab_overlaps(3, blocks, 150));
  ck_assert_uint_eq(blocks[1].offset, blocks[2].offset);
  ck_assert_uint_eq(ra_slab_plan(3, blocks, 64), 192);
  ck_assert_uint_eq(blocks[0].offset % 64, 0);
  ck_assert_uint_eq(ra_slab_plan(0, blocks, 64), 0);
}
END_TEST

enum { MOST_BLOCKS = 7, INSTANCES = 400 };

/* The lowest slab when those placed so far (bit set @placed) stay and the rest
 * come in any order, each as low as it can.  Of the best slab the order of
 * offsets is one of these, and none of its blocks gets higher by it: each comes
 * to rest on blocks that are no higher than they were. */
static uint64_t
best_of(uint32_t n, RaSlabBlock *blocks, uint32_t placed, uint64_t bytes,
        uint64_t best)
{
  if (placed == (1u << n) - 1)
    return MIN(bytes, best);
  for (uint32_t i = 0; i < n; i++) {
    RaSlabBlock *b = &blocks[i];
    gboolean moved = TRUE;

    if (placed >> i & 1)
      continue;
    for (b->offset = 0; moved;) {
      moved = FALSE;
      for (uint32_t k = 0; k < n; k++)
        if ((placed >> k & 1) && blocks[k].begin < b->end &&
            b->begin < blocks[k].end &&
            blocks[k].offset < b->offset + b->bytes &&
            b->offset < blocks[k].offset + blocks[k].bytes) {
          b->offset = blocks[k].offset + blocks[k].bytes;
          moved = TRUE;
        }
    }
    if (b->offset + b->bytes < best)
      best = best_of(n, blocks, placed | 1u << i,
                     MAX(bytes, b->offset + b->bytes), best);
  }
  return best;
}

static uint32_t
draw(RaRng *rng, RaSlabBlock *blocks)
{
  uint32_t n = 3 + (uint32_t)ra_rng_below(rng, MOST_BLOCKS - 2);

  for (uint32_t i = 0; i < n; i++) {
    blocks[i].bytes = 1 + ra_rng_below(rng, 9);
    blocks[i].begin = (uint32_t)ra_rng_below(rng, 6);
    blocks[i].end = blocks[i].begin + 1 + (uint32_t)ra_rng_below(rng, 4);
  }
  return n;
}

/* Never better than the best, hardly ever worse. */
START_TEST(test_against_best)
{
  RaRng rng = ra_rng_init(11, 0);
  double sum = 0;
  uint32_t n_worse = 0;

  for (uint32_t k = 0; k < INSTANCES; k++) {
    RaSlabBlock blocks[MOST_BLOCKS], room[MOST_BLOCKS];
    uint32_t n = draw(&rng, blocks);
    uint64_t load = ra_slab_load(n, blocks, 1), bytes, best;

    memcpy(room, blocks, sizeof room);
    bytes = ra_slab_plan(n, blocks, 1);
    best = best_of(n, room, 0, 0, UINT64_MAX);
    ck_assert(!ra_slab_overlaps(n, blocks, bytes));
    ck_assert_uint_ge(best, load);
    ck_assert_uint_ge(bytes, best);
    n_worse += bytes > best;
    sum += (double)bytes / (double)best - 1;
  }
  fprintf(stderr, "# %u of %u slabs larger than the best, mean %.4f\n", n_worse,
          INSTANCES, sum / INSTANCES);
  ck_assert_double_le(sum / INSTANCES, 0.01);
}
END_TEST

/* The fault: lifetimes that end one moment early make slabs in which blocks
 * that are there together share bytes, and that is seen. */
START_TEST(test_fault)
{
  RaRng rng = ra_rng_init(12, 0);
  uint32_t n_seen = 0;

  for (uint32_t k = 0; k < INSTANCES; k++) {
    RaSlabBlock blocks[MOST_BLOCKS];
    uint32_t n = draw(&rng, blocks);
    uint64_t bytes;

    bytes = ra_slab_plan(n, blocks, 1);
    for (uint32_t i = 0; i < n; i++)
      blocks[i].end++;
    n_seen += ra_slab_overlaps(n, blocks, bytes);
  }
  ck_assert_uint_gt(n_seen, INSTANCES / 4);
}
END_TEST

enum { ORDERED = 40, MOVES = 60 };

/* Where blocks lie after a move in their order is where they lie when all are
 * placed in the new order; the move back brings the old. */
START_TEST(test_moves)
{
  RaRng rng = ra_rng_init(13, 0);

  for (uint32_t k = 0; k < INSTANCES / 10; k++) {
    RaSlabBlock blocks[ORDERED];
    uint32_t order[ORDERED];
    uint64_t was[ORDERED];
    RaSlabOrder moved, anew;

    for (uint32_t i = 0; i < ORDERED; i++) {
      order[i] = i;
      blocks[i] = (RaSlabBlock){1 + ra_rng_below(&rng, 30),
                                (uint32_t)ra_rng_below(&rng, 40), 0, 0};
      blocks[i].end = blocks[i].begin + 1 + (uint32_t)ra_rng_below(&rng, 12);
    }
    ra_slab_order_init(&moved, ORDERED, blocks, 1);
    ra_slab_order_init(&anew, ORDERED, blocks, 1);
    ra_slab_order_place(&moved, order, k % 2);
    for (uint32_t m = 0; m < MOVES; m++) {
      uint32_t from = (uint32_t)ra_rng_below(&rng, ORDERED);
      uint32_t to = (uint32_t)ra_rng_below(&rng, ORDERED);
      uint64_t bytes;

      memcpy(was, moved.offset, sizeof was);
      bytes = ra_slab_order_move(&moved, from, to);
      ck_assert_uint_eq(bytes, ra_slab_order_place(&anew, moved.order, k % 2));
      ck_assert_mem_eq(moved.offset, anew.offset, sizeof was);
      if (m % 2 == 0)
        continue;
      ra_slab_order_move(&moved, to, from);
      ck_assert_mem_eq(moved.offset, was, sizeof was);
    }
    ra_slab_order_clear(&moved);
    ra_slab_order_clear(&anew);
  }
}
END_TEST

/* --- the account as blocks --- */

static const char head[] = "[workload]\nformat = 1\nalgorithm = x\n"
                           "dataset = prompts\nprompts = 32\n"
                           "prompt-length = fixed(64)\n"
                           "response-length = uniform(16, 64)\n"
                           "mini-batches = 2\n";

#define CALL(NAME, KEYS) "[call " NAME "]\nmesh = node0\n" KEYS

static const char *const plans[] = {
    CALL("gen", "dp = 8\n") CALL("ref", "dp = 8\n") CALL("rew", "dp = 8\n")
        CALL("val", "dp = 8\n") CALL("atrain", "dp = 8\n")
            CALL("ctrain", "dp = 8\n"),
    CALL("gen", "dp = 4\ntp = 2\n") CALL("ref", "dp = 8\n")
        CALL("rew", "dp = 8\n") CALL("val", "dp = 8\n")
            CALL("atrain", "dp = 4\npp = 2\nmicro-batches = 4\n")
                CALL("ctrain", "dp = 4\ntp = 2\nzero = 1\n"),
    CALL("gen", "dp = 4\ntp = 2\n") CALL("ref", "dp = 8\nresidency = host\n")
        CALL("rew", "dp = 8\nresidency = host\n") CALL("val", "dp = 8\n")
            CALL("atrain", "dp = 4\npp = 2\nmicro-batches = 4\n"
                           "recompute = full\n") CALL("ctrain", "dp = 8\n"),
};

/* Blocks at a time are the account's at that time: items are exact, passes are,
 * and a cache has its most throughout, which may fall together with another
 * call's nothing. */
START_TEST(test_account)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *text = g_strconcat(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n", plans[_i], NULL);
  g_autofree char *workload = g_strconcat(head, plan_text_ppo, NULL);
  PlanText *t = plan_text_new(workload, cluster, text, 2);
  g_autoptr(GError) error = NULL;
  g_autoptr(RaTaskGraph) graph =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 1, &error);
  g_autoptr(RaMemoryTable) table = NULL;

  ck_assert_msg(graph != NULL, "%s", error ? error->message : "");
  table = ra_memory_table_new(graph);
  for (uint32_t lane = 0; lane < graph->n_lanes; lane++) {
    g_autoptr(GArray) blocks = ra_memory_blocks(table, lane);
    uint64_t peak = ra_memory_order_peak(table, lane), bytes;
    g_autofree RaSlabBlock *slab = g_new(RaSlabBlock, blocks->len + 1);

    bytes = ra_memory_blocks_plan(blocks, 1);
    for (guint i = 0; i < blocks->len; i++) {
      const RaMemoryBlock *b = &g_array_index(blocks, RaMemoryBlock, i);

      slab[i] = (RaSlabBlock){b->bytes, b->begin, b->end, b->offset};
    }
    ck_assert(!ra_slab_overlaps(blocks->len, slab, bytes));
    ck_assert_uint_eq(ra_slab_load(blocks->len, slab, 1), peak);
    ck_assert_double_le((double)bytes, 1.03 * (double)peak);
  }
  plan_text_free(t);
}
END_TEST

#define N_ITERATIONS 4

/* Calls of the second model as which begin the optimizer of the first is there.
 */
static guint
n_going(const GArray *blocks)
{
  guint n = 0;

  for (guint i = 0; i < blocks->len; i++)
    for (guint k = 0; k < blocks->len; k++) {
      const RaMemoryBlock *goes = &g_array_index(blocks, RaMemoryBlock, i);
      const RaMemoryBlock *next = &g_array_index(blocks, RaMemoryBlock, k);

      n += goes->holder == ra_holder(RA_HOLD_OPTIMIZER, 0) &&
           next->holder == ra_holder(RA_HOLD_WORKSPACE, 1) &&
           goes->begin <= next->begin && next->begin < goes->end;
    }
  return n;
}

/* The peak of three models of tiny.json on one GPU, one after the other, of
 * which the first is trained or judges as the others do; @first, @others: lines
 * of their calls. */
static uint64_t
three_peak(gboolean trains, const char *first, const char *others,
           uint64_t *out_slab, guint *out_going)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"
      "[model a]\nconfig = tiny.json\n%s"
      "[model b]\nconfig = tiny.json\n[model c]\nconfig = tiny.json\n"
      "[call one]\nmodel = a\nkind = %s\ninputs = prompts\noutputs = x\n"
      "[call two]\nmodel = b\nkind = inference\ninputs = x\noutputs = y\n"
      "[call three]\nmodel = c\nkind = inference\ninputs = y\n",
      trains ? "trainable = true\n" : "", trains ? "train" : "inference");
  g_autofree char *text = g_strdup_printf(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n"
      "[call one]\nmesh = node0:gpu0\n%s[call two]\nmesh = node0:gpu0\n%s"
      "[call three]\nmesh = node0:gpu0\n%s",
      first, others, others);
  PlanText *t = plan_text_new(workload, cluster, text, N_ITERATIONS);
  g_autoptr(RaTaskGraph) graph =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 1, NULL);
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(graph);
  g_autoptr(GArray) blocks = ra_memory_blocks(table, 0);
  uint64_t peak = ra_memory_order_peak(table, 0);

  *out_going = n_going(blocks);
  *out_slab = ra_memory_blocks_plan(blocks, 1);
  plan_text_free(t);
  return peak;
}

/* Parameters of tiny.json in bf16: tests/graph/check_reload.c. */
#define MODEL_BYTES (2 * (16 * 41088 + 2 * 32768 + 64))

/* With all in host memory there are, while a call runs, its model and either
 * what goes or what comes, so the fullest call holds less than where all stay,
 * by so many models of 2 bytes a parameter:
 *
 *   1  all judge: the third model
 *   1  the first trains and holds most: the third, as the second comes
 *   3  the first trains one sequence at a time, so the second holds most: the
 *      third, and the gradients, which are not there now; 14 bytes a parameter
 *      are on their way out
 *
 * With nothing beside a call it would be one more, in the last case seven; with
 * what comes beside what goes, one less there. */
static const struct {
  gboolean trains;
  const char *keys;
  uint64_t n_less;
} beside[] = {
    {FALSE, "", 1},
    {TRUE, "grad-dtype = fp32\n", 1},
    {TRUE, "grad-dtype = fp32\nmicro-batches = 32\nrecompute = full\n", 3},
};

START_TEST(test_beside)
{
  g_autofree char *goes = g_strconcat(
      beside[_i].keys, "residency = host\n",
      beside[_i].trains ? "optimizer-residency = host\n" : NULL, NULL);
  uint64_t slab, all_go, all_stay;
  guint going;

  all_stay = three_peak(beside[_i].trains, beside[_i].keys, "", &slab, &going);
  all_go =
      three_peak(beside[_i].trains, goes, "residency = host\n", &slab, &going);
  ck_assert_uint_eq(all_go, all_stay - beside[_i].n_less * MODEL_BYTES);
  ck_assert_uint_eq(going, beside[_i].trains ? N_ITERATIONS : 0);
  ck_assert_uint_ge(slab, all_go);
  ck_assert_double_le((double)slab, 1.03 * (double)all_go);
}
END_TEST

static Suite *
slab_plan_suite(void)
{
  Suite *suite = suite_create("slab_plan");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_against_best);
  tcase_add_test(tcase, test_fault);
  tcase_add_test(tcase, test_moves);
  tcase_add_loop_test(tcase, test_account, 0, G_N_ELEMENTS(plans));
  tcase_add_loop_test(tcase, test_beside, 0, G_N_ELEMENTS(beside));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(slab_plan_suite)
