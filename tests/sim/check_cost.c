/* Properties of every cost, whatever the profile, over random ops, and the line
 * of a decode step against direct evaluation. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/flash.h"
#include "estimator/roof.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

static const char *const shipped[] = {
    "a100-sxm",     "h100-sxm", "h200-sxm", "a40",  "rtx4090",
    "rtx-pro-6000", "b200-sxm", "h20",      "l40s", "h100-pcie"};

static Bench *
new_shipped(guint index)
{
  Bench *b = bench_new(profile_text_shipped(shipped[index]));

  b->cluster.nic_bytes_per_s = 50e9;
  bench_remake(b);
  return b;
}

/* 1 .. 2^@bits, spread evenly over its logarithm. */
static uint64_t
random_size(GRand *rand, guint bits)
{
  return (uint64_t)exp2(g_rand_double_range(rand, 0, bits));
}

/* An op that a model could have. */
static RaOp
random_op(GRand *rand)
{
  RaOpKind kind = (RaOpKind)g_rand_int_range(rand, 0, RA_N_OPS);
  uint64_t ranks = UINT64_C(1) << g_rand_int_range(rand, 0, 8);
  uint64_t tokens = random_size(rand, 16);

  switch (kind) {
  case RA_OP_ATTENTION:
  case RA_OP_ATTENTION_BACKWARD:
  case RA_OP_DECODE_ATTENTION:
    return bench_attention(kind, 1 + tokens / 512, tokens, tokens, tokens * 256,
                           1 + random_size(rand, 6), random_size(rand, 3), 128);
  case RA_OP_ALL_REDUCE:
  case RA_OP_REDUCE_SCATTER:
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
  case RA_OP_BROADCAST:
    return bench_op(kind, random_size(rand, 34), ranks, MIN(ranks, 8), 1);
  case RA_OP_SEND:
    return bench_op(kind, random_size(rand, 30),
                    (uint64_t)g_rand_int_range(rand, 0, 2), 4, 0);
  case RA_OP_GEMM:
    return bench_op(kind, tokens, random_size(rand, 16), random_size(rand, 16),
                    1 + random_size(rand, 3));
  default:
    return bench_op(kind, tokens, random_size(rand, 14), 1, 0);
  }
}

/* Cost that a property is about; a faulty one stands in to test the test. */
typedef double (*Cost)(const RaEstimator *estimator, const RaOp *op);

/* Faulty: quicker for more of the first dimension. */
static double
falling_cost(const RaEstimator *estimator, const RaOp *op)
{
  return ra_estimator_op_s(estimator, op) / ((double)op->dim[0] + 1);
}

/* Faulty: the slower, the faster the device is. */
static double
inverse_cost(const RaEstimator *estimator, const RaOp *op)
{
  double s = ra_estimator_op_s(estimator, op);

  return s > 0 ? 1 / s : 0;
}

static gboolean
is_at_most(double a, double b)
{
  return a <= b * (1 + 1e-12);
}

/* Room for a fall.  To a fabric that is not the law's own a factor leads, a
 * ratio of two closed forms that change protocols at other sizes each: it falls
 * by less than the forms' own steps, 2 %. */
static double
room(const RaOp *op)
{
  gboolean crosses = ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMM &&
                     op->dim[1] > op->dim[2];

  return crosses ? 1.02 : 1;
}

/* Dimensions in which a cost never falls: the work's.  (More sequences of the
 * same tokens are shorter ones, more queries of the same pairs see fewer keys,
 * more ranks share, more groups are neighbours.) */
static gboolean
is_work(RaOpKind kind, guint dim)
{
  switch (kind) {
  case RA_OP_ATTENTION:
  case RA_OP_ATTENTION_BACKWARD:
    return dim >= 2 && dim != 3;
  case RA_OP_DECODE_ATTENTION:
    return dim >= 1 && dim != 3;
  case RA_OP_LATENT:
  case RA_OP_INDEXER: /* steps and prompts are of other kernels */
    return dim >= 2 && dim != 3;
  case RA_OP_LATENT_DECODE:
    return dim >= 1 && dim != 3;
  case RA_OP_COMPRESSED: /* wide heads are another law's, where it has none */
    return dim == 2 || dim == 4;
  case RA_OP_SCAN:
    return dim == 1;
  case RA_OP_LATENT_BACKWARD: /* as much longer as another op's backward */
  case RA_OP_COMPRESSED_BACKWARD:
  case RA_OP_SCAN_BACKWARD:
    return FALSE;
  case RA_OP_GEMM:
    return dim < 4;
  case RA_OP_REALLOC:
    return dim < 4;
  case RA_OP_ALL_REDUCE:
  case RA_OP_REDUCE_SCATTER:
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
  case RA_OP_BROADCAST:
  case RA_OP_SEND:
    return dim < 1;
  default:
    return dim < 2;
  }
}

/* Takes the tables away: measured times do fall here and there. */
static void
forget_tables(Bench *b)
{
  for (guint i = 0; i < b->profile->n_laws; i++)
    g_clear_pointer(&b->profile->laws[i].grid, ra_grid_free);
  bench_remake(b);
}

/* TRUE if both have one law, and attention is cut alike: one that is split is
 * faster than one that is not yet, as measured. A decode step lies between two
 * lengths that are powers of two. */
static gboolean
is_cut_alike(const RaProfile *profile, const RaOp *a, const RaOp *b)
{
  double flash, sms, n = (double)MAX(MIN(a->dim[0], b->dim[0]), 1);
  int exponent;

  if (ra_roof_of(a) != ra_roof_of(b))
    return FALSE; /* small matrices of heads are no GEMMs */
  if (a->kind != RA_OP_ATTENTION && a->kind != RA_OP_ATTENTION_BACKWARD &&
      a->kind != RA_OP_DECODE_ATTENTION)
    return TRUE;
  if (ra_op_is_wide(a) != ra_op_is_wide(b))
    return FALSE;
  if (a->dim[0] == 0 || a->dim[1] == 0 || a->dim[4] == 0)
    return TRUE;
  ck_assert(ra_law_get(profile, ra_profile_law(profile, "attention"), "flash",
                       &flash, NULL));
  ck_assert(ra_law_get(profile, ra_profile_law(profile, "attention"), "sms",
                       &sms, NULL));
  (void)frexp((double)a->dim[2] / n, &exponent);
  for (guint i = 0; i < 3; i++) {
    RaFlash cut_a, cut_b;
    RaOp x = *a, y = *b;

    if (i > 0)
      x.dim[2] = y.dim[2] = (uint64_t)(ldexp(1, exponent - 2 + (int)i) * n);
    if (a->kind == RA_OP_DECODE_ATTENTION)
      x.dim[1] = y.dim[1] = x.dim[0];
    ra_flash_cut((guint)flash, sms, &x, &cut_a);
    ra_flash_cut((guint)flash, sms, &y, &cut_b);
    if (fabs(cut_a.n_splits - cut_b.n_splits) > 0 ||
        fabs(cut_a.tile_rows - cut_b.tile_rows) > 0 ||
        cut_a.n_tiles > cut_b.n_tiles || cut_a.copies != cut_b.copies)
      return FALSE;
  }
  return TRUE;
}

/* Random ops whose law falls where a dimension of work grows by up to a half,
 * or is not a number of seconds. */
static guint
n_not_monotone(Cost cost)
{
  guint n = 0, n_alike = 0;

  for (guint p = 0; p < G_N_ELEMENTS(shipped); p++) {
    g_autoptr(Bench) b = new_shipped(p);
    g_autoptr(GRand) rand = g_rand_new_with_seed(p);

    forget_tables(b);
    for (guint i = 0; i < 20000; i++) {
      RaOp op = random_op(rand), before = op;
      double s = cost(b->estimator, &op), more_s;
      guint dim = (guint)g_rand_int_range(rand, 0, RA_OP_DIMS);

      n += !isfinite(s) || s < 0;
      if (!is_work((RaOpKind)op.kind, dim))
        continue;
      op.dim[dim] += 1 + op.dim[dim] / (uint64_t)g_rand_int_range(rand, 2, 99);
      more_s = cost(b->estimator, &op);
      if (!is_cut_alike(b->profile, &before, &op))
        continue;
      n += !is_at_most(s, more_s * room(&op));
      n_alike += ra_op_class((RaOpKind)op.kind) == RA_OP_CLASS_COMPUTE &&
                 op.kind >= RA_OP_ATTENTION;
    }
  }
  ck_assert_uint_gt(n_alike, 1000);
  return n;
}

START_TEST(test_monotone)
{
  ck_assert_uint_eq(n_not_monotone(ra_estimator_op_s), 0);
  ck_assert_uint_gt(n_not_monotone(falling_cost), 0);
}
END_TEST

/* Random ops that take longer after one rate of the cluster was doubled. */
static guint
n_slowed(Cost cost, guint rate)
{
  guint n = 0;

  for (guint p = 0; p < G_N_ELEMENTS(shipped); p++) {
    g_autoptr(Bench) b = new_shipped(p);
    g_autoptr(Bench) quick = new_shipped(p);
    g_autoptr(GRand) rand = g_rand_new_with_seed(rate);
    double *rates[] = {&quick->cluster.nic_bytes_per_s,
                       &quick->cluster.device.memory_bytes_per_s,
                       &quick->cluster.device.bf16_flop_per_s,
                       &quick->cluster.device.fp8_flop_per_s,
                       &quick->cluster.device.intra_bytes_per_s,
                       &quick->cluster.device.host_bytes_per_s};

    *rates[rate] *= 2;
    bench_remake(quick);
    for (guint i = 0; i < 10000; i++) {
      RaOp op = random_op(rand);
      double s = cost(b->estimator, &op);
      double quick_s = cost(quick->estimator, &op);

      n += !is_at_most(quick_s, s);
    }
  }
  return n;
}

START_TEST(test_rates)
{
  for (guint rate = 0; rate < 6; rate++)
    ck_assert_uint_eq(n_slowed(ra_estimator_op_s, rate), 0);
  ck_assert_uint_gt(n_slowed(inverse_cost, 1), 0);
}
END_TEST

/* A shape as large as 64 bits hold costs something finite. */
START_TEST(test_huge)
{
  g_autoptr(Bench) b = new_shipped(0);

  for (guint kind = 0; kind < RA_N_OPS; kind++) {
    RaOp op = {.kind = (uint8_t)kind, .count = UINT32_MAX};
    RaCost cost;

    for (guint i = 0; i < RA_OP_DIMS; i++)
      op.dim[i] = UINT64_MAX;
    ra_estimator_ops(b->estimator, &op, 1, RA_LAUNCH_EAGER, &cost);
    ck_assert_msg(isfinite(cost.total_s) && cost.total_s >= 0, "kind %u", kind);
  }
}
END_TEST

/* --- the line of a decode step --- */

static RaModel *
llama_like(void)
{
  RaModelShape shape;
  RaModel *model;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 32;
  shape.hidden = 4096;
  shape.heads = 32;
  shape.kv_heads = 8;
  shape.ffn = 14336;
  shape.vocab = 128256;
  model = ra_model_from_shape(&shape, NULL);
  ck_assert_ptr_nonnull(model);
  return model;
}

/* The step's time without its line: the list at @kv_tokens, costed. */
static double
direct_s(const Bench *b, const RaShard *shard, const RaPiece *piece,
         uint32_t n_sequences, uint64_t kv_tokens)
{
  RaBatch batch = {n_sequences, n_sequences, kv_tokens, kv_tokens};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(shard, piece, RA_PHASE_DECODE, &batch, ops);
  RaCost cost;

  ra_estimator_ops(b->estimator, ops, n, shard->launch, &cost);
  return cost.total_s;
}

/* Walks the pieces of the line from @n_sequences tokens up to 2^24 and holds
 * each to direct evaluation, at both ends, inside, and one token past its end,
 * where the next begins: no step there but for a token's worth.  @slope_fault
 * is 1, or a fault that must show.
 * Returns: pieces, 0 if a value was off */
static guint
walk(const Bench *b, const RaShard *shard, const RaPiece *piece,
     uint32_t n_sequences, double slope_fault, GRand *rand)
{
  uint64_t k = n_sequences, last = UINT64_C(1) << 24;
  guint n_pieces = 0;

  while (k <= last) {
    RaDecodeLine line;
    uint64_t until;

    ra_estimator_decode(b->estimator, shard, piece, n_sequences, k, &line);
    ck_assert_uint_eq(line.from_tokens, k);
    ck_assert_uint_ge(line.until_tokens, k);
    ck_assert_double_ge(line.s_per_token, 0);
    until = MIN(line.until_tokens, last);
    for (guint i = 0; i < 20; i++) {
      uint64_t at =
          i == 0   ? k
          : i == 1 ? until
                   : k + (uint64_t)(g_rand_double(rand) * (double)(until - k));
      double s =
          line.cost.total_s + slope_fault * line.s_per_token * (double)(at - k);
      double expected = direct_s(b, shard, piece, n_sequences, at);

      if (fabs(s - expected) > 1e-12 * expected)
        return 0;
    }
    n_pieces++;
    ck_assert_uint_lt(n_pieces, 100);
    k = until + 1;
  }
  return n_pieces;
}

/* Eager steps of a few sequences are bound by the host, then by the device:
 * at least two pieces; in a graph the attention's own knot is left. */
START_TEST(test_decode_line)
{
  g_autoptr(RaModel) model = llama_like();
  g_autoptr(GRand) rand = g_rand_new_with_seed(0);

  for (guint p = 0; p < G_N_ELEMENTS(shipped); p++) {
    g_autoptr(Bench) b = new_shipped(p);

    for (guint i = 0; i < 40; i++) {
      RaShard shard = {.model = model,
                       .tp = 1u << g_rand_int_range(rand, 0, 4),
                       .tp_groups_per_node = 1,
                       .launch = (uint8_t)(i % 2),
                       .sampling = 1};
      RaPiece piece = {.n_layers = (uint32_t)g_rand_int_range(rand, 1, 33),
                       .has_head = 1};
      uint32_t n_sequences = (uint32_t)random_size(rand, 10);

      shard.tp_ranks_per_node = shard.tp;
      ck_assert_uint_ge(walk(b, &shard, &piece, n_sequences, 1, rand), 1);
      ck_assert_uint_eq(walk(b, &shard, &piece, n_sequences, 1.001, rand), 0);
    }
  }
}
END_TEST

/* DeepSeek-V4's caches grow by fractions of a token: within a piece of the line
 * a step is off by no more than the entry that is not whole yet, of 128 tokens;
 * a line twice as steep (the fault) is.  MiniMax-M3 sees no more than 2,048. */
START_TEST(test_entry_line)
{
  static const char *const texts[] = {
      "{\"model_type\": \"deepseek_v4\", \"hidden_size\": 4096,"
      " \"vocab_size\": 1000, \"num_attention_heads\": 64,"
      " \"num_hidden_layers\": 3, \"compress_ratios\": [0, 4, 128],"
      " \"moe_intermediate_size\": 2048}",
      "{\"model_type\": \"minimax_m3\", \"hidden_size\": 4096,"
      " \"vocab_size\": 1000, \"num_attention_heads\": 64,"
      " \"num_hidden_layers\": 2, \"intermediate_size\": 2048,"
      " \"layer_types\": [\"full_attention\", \"minimax_m3_sparse\"]}"};
  g_autoptr(RaModel) model =
      ra_model_parse("m.json", texts[_i], strlen(texts[_i]), NULL);
  g_autoptr(Bench) b = new_shipped(0);
  const RaShard shard = {.model = model,
                         .tp = 1,
                         .tp_ranks_per_node = 1,
                         .tp_groups_per_node = 1,
                         .launch = RA_LAUNCH_GRAPH};
  const RaPiece piece = {.n_layers = model ? model->n_layers : 0};
  guint n_off = 0, n_pieces = 0;

  ck_assert_ptr_nonnull(model);
  forget_tables(b);
  for (uint64_t k = 8; k < 1 << 22; n_pieces++) {
    RaDecodeLine line;
    uint64_t until;
    double s, entry_s;

    ra_estimator_decode(b->estimator, &shard, &piece, 8, k, &line);
    until = MIN(line.until_tokens, 1 << 22);
    s = line.s_per_token * (double)(until - k);
    entry_s = 128 * line.s_per_token + 1e-12;
    ck_assert_double_ge(line.s_per_token, 0);
    ck_assert_double_eq_tol(line.cost.total_s + s,
                            direct_s(b, &shard, &piece, 8, until), entry_s);
    n_off += fabs(line.cost.total_s + 2 * s -
                  direct_s(b, &shard, &piece, 8, until)) > entry_s;
    ck_assert_uint_lt(n_pieces, 200);
    k = until + 1;
  }
  ck_assert_uint_gt(n_off, _i == 0 ? 10 : 0);
}
END_TEST

/* By hand: one layer, one head of 64 and one of keys, ideal but for a floor of
 * 1 ms of the attention and 1 ms a launch.  A token is 2 * 64 * 2 = 256 bytes,
 * 0.256 us, and so are query and output: a line from there on.  Eager: the 11
 * launches of the layer take 11 ms, the device 1 ms and D of the rest: slope 0
 * until 10 ms - D of attention more. */
START_TEST(test_decode_knots)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(
      "decode-attention.floor-s=1e-3", "host.eager-launch-s=1e-3", NULL));
  RaModelShape shape;
  g_autoptr(RaModel) model = NULL;
  RaShard shard = {.tp = 1, .launch = RA_LAUNCH_GRAPH};
  RaPiece piece = {.n_layers = 1};
  RaDecodeLine line;
  double rest_s;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 1, shape.hidden = 64, shape.heads = 1, shape.vocab = 10;
  model = ra_model_from_shape(&shape, NULL);
  ck_assert_ptr_nonnull(model);
  shard.model = model;
  ra_estimator_decode(b->estimator, &shard, &piece, 1, 10, &line);
  rest_s = line.cost.compute_s - 1e-3 - 10 * 0.256e-6;
  ck_assert_double_gt(rest_s, 0.256e-6);
  bench_check(line.s_per_token, 0.256e-6);
  ck_assert(line.until_tokens == UINT64_MAX);
  shard.launch = RA_LAUNCH_EAGER;
  ra_estimator_decode(b->estimator, &shard, &piece, 1, 3907, &line);
  ck_assert_double_eq(line.s_per_token, 0);
  bench_check(line.cost.total_s, 11e-3);
  ck_assert_uint_eq(line.until_tokens, (uint64_t)((10e-3 - rest_s) / 0.256e-6));
  ra_estimator_decode(b->estimator, &shard, &piece, 1, line.until_tokens + 1,
                      &line);
  bench_check(line.s_per_token, 0.256e-6);
  ck_assert_double_eq(line.cost.host_s, 0);
}
END_TEST

static Suite *
cost_suite(void)
{
  Suite *suite = suite_create("cost");
  TCase *tcase = tcase_create("properties");

  tcase_add_test(tcase, test_monotone);
  tcase_add_test(tcase, test_rates);
  tcase_add_test(tcase, test_huge);
  suite_add_tcase(suite, tcase);
  tcase = tcase_create("decode");
  tcase_add_test(tcase, test_decode_line);
  tcase_add_loop_test(tcase, test_entry_line, 0, 2);
  tcase_add_test(tcase, test_decode_knots);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(cost_suite)
