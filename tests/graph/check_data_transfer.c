/* Data between calls carry what was drawn, in simulation and in search. */
#include "config.h"

#include "graph/expand/data_transfer.h"
#include "tests/support/plan_text.h"
#include "tests/support/search_case.h"

enum { N = 8 };

/* Sequences of @tokens in this order of arrival. */
static RaSequenceSet
set_of(const uint64_t *tokens, uint32_t n, uint64_t *sums)
{
  RaSequenceSet set = {.n_sequences = n, .tokens = sums};

  for (uint32_t i = 0; i < n; i++)
    sums[i + 1] = sums[i] + tokens[i];
  return set;
}

/* Eight sequences of 1, 2, 4 .. 128 tokens, all at once.
 *
 * From 4 replicas in one piece, {1 2} {4 8} {16 32} {64 128}, to one: it gets
 * all 255.  To 2: {1 2 4 8} {16 .. 128}, 240.  From 2 to 2 in two pieces: the
 * reader's second replica has {4 8} and {64 128}, 204, its maker's {16 .. 128},
 * 240, the most of both.  The second of two parts from 4 replicas in two
 * pieces: {16} {32} {64} {128} to 2 in two pieces, {16 32} {64 128}: 192. */
START_TEST(test_by_hand)
{
  static const uint64_t tokens[N] = {1, 2, 4, 8, 16, 32, 64, 128};
  static const struct {
    RaDataTransfer transfer;
    uint64_t all, most;
  } cases[] = {{{0, 1, {1, 4}, {1, 1}}, 255, 255},
               {{0, 1, {1, 4}, {1, 2}}, 255, 240},
               {{0, 1, {1, 2}, {2, 2}}, 255, 240},
               {{0, 1, {2, 2}, {2, 2}}, 255, 204},
               {{1, 2, {2, 4}, {2, 2}}, 240, 192}};
  uint64_t sums[N + 1] = {0};
  RaSequenceSet set = set_of(tokens, N, sums);

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    ck_assert_uint_eq(ra_data_transfer_tokens(&cases[i].transfer, &set),
                      cases[i].all);
    ck_assert_uint_eq(ra_data_transfer_most_tokens(&cases[i].transfer, &set),
                      cases[i].most);
  }
}
END_TEST

/* Who has sequence @i: the @late fault gives it to the next replica. */
static uint32_t
owner(uint32_t i, uint32_t n, RaDataEnd end, uint32_t late)
{
  uint32_t piece = n / end.n_pieces, block = piece / end.dp;

  return (i % piece / block + late) % end.dp;
}

static uint64_t
most_of(const uint64_t *tokens, uint32_t n, const RaDataTransfer *t,
        guint fault)
{
  RaDataEnd ends[2] = {t->from, t->to};
  uint64_t most = 0;

  for (guint k = 0; k < 2; k++) {
    uint64_t sums[8] = {0};

    for (uint32_t i = 0; i < n; i++)
      if (i / (n / t->n_parts) == t->part)
        sums[owner(i, n, ends[k], fault > 0 && i == 0)] += tokens[i];
    for (guint d = 0; d < ends[k].dp; d++)
      most = MAX(most, sums[d]);
  }
  return most;
}

/* Against each sequence asked for its replica; with the fault that one is at
 * another's they differ. */
START_TEST(test_each_sequence)
{
  enum { SEQUENCES = 192 };
  RaRng rng = ra_rng_init(3, 0);
  guint n_found = 0;

  for (guint i = 0; i < 500; i++) {
    uint64_t tokens[SEQUENCES], sums[SEQUENCES + 1] = {0};
    RaDataTransfer t = {.n_parts = 1u << ra_rng_below(&rng, 4)};
    RaSequenceSet set;

    t.part = (uint32_t)ra_rng_below(&rng, t.n_parts);
    t.from =
        (RaDataEnd){1u << ra_rng_below(&rng, 3), 1u << ra_rng_below(&rng, 4)};
    t.to =
        (RaDataEnd){3u << ra_rng_below(&rng, 2), 1u << ra_rng_below(&rng, 4)};
    for (guint k = 0; k < SEQUENCES; k++)
      tokens[k] = 1 + ra_rng_below(&rng, 1000);
    set = set_of(tokens, SEQUENCES, sums);
    ck_assert_uint_eq(ra_data_transfer_most_tokens(&t, &set),
                      most_of(tokens, SEQUENCES, &t, 0));
    n_found += ra_data_transfer_most_tokens(&t, &set) !=
               most_of(tokens, SEQUENCES, &t, 1);
  }
  ck_assert_uint_ge(n_found, 20);
}
END_TEST

/* The task of a transfer has the bytes of its iteration's draw, the graph those
 * of all: of 4 bytes a token, from 4 replicas to one on another node, all of
 * them.  Iterations differ, as they draw anew. */
START_TEST(test_task)
{
  static const char workload[] =
      "[workload]\nformat = 1\nalgorithm = test\ndataset = prompts\n"
      "prompts = 16\nprompt-length = uniform(8, 64)\n"
      "response-length = uniform(1, 100)\n"
      "[model m]\nconfig = tiny.json\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\noutputs = a\n"
      "[call score]\nmodel = m\nkind = inference\ninputs = a\n";
  static const char plan[] = "[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                             "[call gen]\nmesh = node0:gpu[0-3]\ndp = 4\n"
                             "[call score]\nmesh = node1:gpu[0]\ndp = 1\n";
  g_autofree char *cluster = plan_text_cluster(2);
  PlanText *t = plan_text_new(workload, cluster, plan, 2);
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 5, NULL);
  uint64_t bytes[2] = {0};
  guint n = 0;

  for (RaTaskId i = 0; i < g->n_tasks; i++) {
    const RaNode *node = &t->augmented->nodes[g->node[i]];
    uint64_t tokens = 0;

    if (g->kind[i] != RA_TASK_TRANSFER)
      continue;
    for (uint32_t d = 0; d < g->n_dynamics; d++)
      if (t->augmented->nodes[g->dynamics[d].node].iteration == node->iteration)
        for (uint32_t k = 0; k < g->dynamics[d].n_sequences; k++)
          tokens += g->dynamics[d].prompt[k] + g->dynamics[d].response[k];
    ck_assert_uint_eq(g->transfer_bytes[g->node[i]], 4 * tokens);
    ck_assert_uint_eq(g->works[g->work[i]].op.dim[0], 0);
    ck_assert_uint_eq(g->works[g->work[i]].op.dim[1], 4 * tokens);
    bytes[n++] = 4 * tokens;
  }
  ck_assert_uint_eq(n, 2);
  ck_assert_uint_ne(bytes[0], bytes[1]);
  g_clear_pointer(&g, ra_task_graph_free);
  plan_text_free(t);
}
END_TEST

/* Drawn lengths in search: every plan evaluates to what simulate says, to the
 * last bit; were every iteration's transfers the first's, some would not. */
START_TEST(test_search)
{
  static const char *const sets[] = {"cluster.nodes=2", "workload.prompts=16",
                                     "workload.prompt-length=uniform(8, 256)",
                                     "workload.response-length=uniform(1, 64)",
                                     NULL};
  SearchCase c;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_FULL, NULL);
  ck_assert_uint_eq(ra_cost_table_n_like(c.costs), SEARCH_CASE_ITERATIONS);
  for (guint i = 0; i < 25; i++) {
    RaPoint point = search_case_point(&c, i % 2);

    search_case_compare(&c, &point);
  }
  search_case_clear(&c);
}
END_TEST

static Suite *
data_transfer_suite(void)
{
  Suite *suite = suite_create("data_transfer");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_each_sequence);
  tcase_add_test(tcase, test_task);
  tcase_add_test(tcase, test_search);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(data_transfer_suite)
