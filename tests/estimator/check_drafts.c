/* Speculative decoding: the time of a token beside that of its passes. */
#include "config.h"

#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

static RaShard
shard_of(const RaModel *model, int launch)
{
  return (RaShard){.model = model,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16,
                   .sampling = 1,
                   .launch = (uint8_t)launch};
}

/* Device and host seconds of a list of decode, op by op. */
static double
list_s(const Bench *b, const RaShard *shard, const RaPiece *piece, uint32_t n,
       uint64_t kv)
{
  RaBatch batch = {n, n, kv, kv};
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops = ra_op_list(shard, piece, RA_PHASE_DECODE, &batch, ops);
  RaCost cost;

  ra_estimator_ops(b->estimator, ops, n_ops, shard->launch, &cost);
  return cost.total_s;
}

/* A pass over four positions and three passes of one layer with its ends make
 * 1 + 3 x 0.6 = 2.8 tokens of a sequence, at any batch, eager or as a graph;
 * looked up, the passes of the layer are saved.  Faults: drafts that cost
 * nothing, or a pass of one position. */
START_TEST(test_passes)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("h100-sxm"));
  g_autoptr(RaModel) m = bench_small_model();
  RaPiece whole = {.n_layers = 4, .has_embedding = 1, .has_head = 1};
  RaPiece layer = {
      .first_layer = 3, .n_layers = 1, .has_embedding = 1, .has_head = 1};

  for (guint i = 0; i < 10; i++) {
    RaShard plain = shard_of(m, i % 2 ? RA_LAUNCH_EAGER : RA_LAUNCH_GRAPH);
    RaShard drafts = plain;
    uint32_t n = 1u << i;
    double pass_s, draft_s;
    RaDecodeLine line;

    drafts.draft_tokens = 3;
    drafts.draft_accepted_frac = 0.6f;
    drafts.draft_layer = 1;
    pass_s = list_s(b, &drafts, &whole, n, n * 1000ull);
    draft_s = list_s(b, &plain, &layer, n, n * 1000ull);
    ra_estimator_decode(b->estimator, &drafts, &whole, n, n * 1000ull, &line);
    ck_assert_double_eq_tol(line.cost.total_s, (pass_s + 3 * draft_s) / 2.8,
                            1e-6 * pass_s);
    ck_assert_double_eq_tol(line.cost.total_s,
                            line.cost.compute_s + line.cost.comm_s +
                                line.cost.host_s,
                            1e-9 * pass_s);
    ck_assert_double_gt(draft_s, 1e-2 * pass_s);
    drafts.draft_layer = 0;
    ra_estimator_decode(b->estimator, &drafts, &whole, n, n * 1000ull, &line);
    ck_assert_double_eq_tol(line.cost.total_s, pass_s / 2.8, 1e-6 * pass_s);
  }
}
END_TEST

/* The line of a token's time is the passes' at both ends of a stretch. */
START_TEST(test_line)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("h100-sxm"));
  g_autoptr(RaModel) m = bench_small_model();
  RaPiece whole = {.n_layers = 4, .has_embedding = 1, .has_head = 1};
  RaShard drafts = shard_of(m, RA_LAUNCH_GRAPH);
  RaDecodeLine line, end;
  double grown_s;

  drafts.draft_tokens = 2;
  drafts.draft_accepted_frac = 0.5f;
  drafts.draft_layer = 1;
  ra_estimator_decode(b->estimator, &drafts, &whole, 256, 256 * 1100, &line);
  ck_assert_uint_gt(line.until_tokens, line.from_tokens);
  ra_estimator_decode(b->estimator, &drafts, &whole, 256, line.until_tokens,
                      &end);
  grown_s = (double)(line.until_tokens - line.from_tokens) * line.s_per_token;
  ck_assert_double_gt(grown_s, 0);
  ck_assert_double_eq_tol(line.cost.total_s + grown_s, end.cost.total_s,
                          1e-6 * end.cost.total_s);
}
END_TEST

/* Many sequences are bound by arithmetic, where positions cost what they hold:
 * drafts of which none is accepted then take several times as long, and of a
 * lone sequence, which waits for the weights, less than half as much more. */
START_TEST(test_batch)
{
  g_autoptr(Bench) b = bench_new(profile_text_shipped("h20"));
  g_autoptr(RaModel) m = bench_small_model();
  RaPiece whole = {.n_layers = 4, .has_embedding = 1, .has_head = 1};
  RaShard plain = shard_of(m, RA_LAUNCH_GRAPH), drafts = plain;
  double many, one;
  RaDecodeLine line, other;

  drafts.draft_tokens = 3;
  ra_estimator_decode(b->estimator, &plain, &whole, 4096, 4096 * 10, &line);
  ra_estimator_decode(b->estimator, &drafts, &whole, 4096, 4096 * 10, &other);
  many = other.cost.total_s / line.cost.total_s;
  ra_estimator_decode(b->estimator, &plain, &whole, 1, 10, &line);
  ra_estimator_decode(b->estimator, &drafts, &whole, 1, 10, &other);
  one = other.cost.total_s / line.cost.total_s;
  ck_assert_double_gt(many, 2);
  ck_assert_double_lt(one, 1.5);
}
END_TEST

static Suite *
drafts_suite(void)
{
  Suite *suite = suite_create("drafts");
  TCase *tcase = tcase_create("drafts");

  tcase_add_test(tcase, test_passes);
  tcase_add_test(tcase, test_line);
  tcase_add_test(tcase, test_batch);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(drafts_suite)
