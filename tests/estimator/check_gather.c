/* A decode step whose weights are in shards: its line against the schedule
 * played event by event. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/estimator_impl.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

#define MAX_UNITS 64

/* A unit that is gathered at once, by its ops. */
typedef struct {
  double compute_s, gather_s;
  guint64 n_launches;
} Unit;

typedef struct {
  RaModel *model; /* owned */
  RaShard shard;
  RaPiece piece;
  uint32_t n_sequences;
  uint64_t kv_tokens;
} Case;

static RaModel *
random_model(RaRng *rng)
{
  RaModelShape shape;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 1 + (uint32_t)ra_rng_below(rng, 12);
  shape.hidden = 1024u << ra_rng_below(rng, 3);
  shape.heads = 16;
  shape.kv_heads = 8;
  shape.head_dim = shape.hidden / 16;
  shape.ffn = 4 * shape.hidden;
  shape.vocab = 32000;
  shape.seq = 4096;
  if (ra_rng_below(rng, 3) == 0) {
    shape.experts = 8;
    shape.experts_per_token = 2;
    shape.expert_ffn = shape.hidden;
  }
  return ra_model_from_shape(&shape, NULL);
}

static Case
random_case(RaRng *rng)
{
  Case c = {.model = random_model(rng)};
  uint32_t n_layers;

  ck_assert_ptr_nonnull(c.model);
  n_layers = c.model->n_layers;
  if (c.model->n_experts > 0 && n_layers > 1) {
    /* every other layer is dense */
    g_autofree guint8 *is_moe = g_new0(guint8, n_layers);

    for (uint32_t i = 0; i < n_layers; i++)
      is_moe[i] = (guint8)(i % 2);
    ra_model_set_moe_layers(c.model, is_moe);
    c.model->ffn = 4 * c.model->hidden;
  }
  c.shard = (RaShard){.model = c.model,
                      .tp = 1u << ra_rng_below(rng, 2),
                      .dtype = RA_DTYPE_BF16,
                      .launch = (uint8_t)ra_rng_below(rng, 2),
                      .sampling = 1};
  c.shard.tp_ranks_per_node = c.shard.tp;
  c.shard.tp_groups_per_node = 8 / c.shard.tp;
  c.shard.zero_ranks = 2u << ra_rng_below(rng, 4);
  c.shard.zero_ranks_per_node = MIN(c.shard.zero_ranks, 8 / c.shard.tp);
  c.shard.zero_groups_per_node = 8 / c.shard.zero_ranks_per_node;
  c.piece.first_layer = (uint32_t)ra_rng_below(rng, n_layers);
  c.piece.n_layers =
      1 + (uint32_t)ra_rng_below(rng, n_layers - c.piece.first_layer);
  c.piece.has_embedding = c.piece.first_layer == 0;
  c.piece.has_head = c.piece.first_layer + c.piece.n_layers == n_layers;
  c.n_sequences = 1u << ra_rng_below(rng, 11);
  c.kv_tokens = c.n_sequences * (1 + ra_rng_below(rng, 4096));
  return c;
}

static Unit
unit_of(const Bench *b, const Case *c, const RaPiece *part, uint64_t kv_tokens)
{
  RaBatch batch = {c->n_sequences, c->n_sequences, kv_tokens, kv_tokens};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&c->shard, part, RA_PHASE_DECODE, &batch, ops);
  Unit unit = {.n_launches = 1};

  for (guint i = 0; i < n; i++) {
    double s = ra_estimator_op_s(b->estimator, &ops[i]);
    unit.compute_s += ops[i].count * s;
    if (s > 0 || ops[i].flags & RA_OP_ROUTED)
      unit.n_launches += ops[i].count * ra_op_n_launches(&ops[i]);
  }
  unit.gather_s =
      bench_s(b, RA_OP_ALL_GATHER, 2 * ra_piece_n_params(&c->shard, part),
              c->shard.zero_ranks, c->shard.zero_ranks_per_node,
              c->shard.zero_groups_per_node);
  return unit;
}

/* Embedding, layers, head: those that the piece has. */
static guint
list_units(const Bench *b, const Case *c, uint64_t kv_tokens, Unit *out)
{
  guint n = 0;
  RaPiece part = {.has_embedding = 1};

  if (c->piece.has_embedding)
    out[n++] = unit_of(b, c, &part, kv_tokens);
  for (uint32_t i = 0; i < c->piece.n_layers; i++) {
    part = (RaPiece){.first_layer = c->piece.first_layer + i, .n_layers = 1};
    out[n++] = unit_of(b, c, &part, kv_tokens);
  }
  part = (RaPiece){.has_head = 1};
  if (c->piece.has_head)
    out[n++] = unit_of(b, c, &part, kv_tokens);
  return n;
}

/* Seconds of a computation of @compute_s whose first @beside_s, of the time
 * that it then takes, are beside a gather. */
static double
slowed_s(const Bench *b, double compute_s, double beside_s)
{
  double stretch = 1 + b->estimator->overlap.memory_frac;
  double done_s = MAX(beside_s, 0) / stretch;

  return MIN(done_s, compute_s) * (stretch - 1);
}

/* Seconds of the step: gathers follow each other, and so do computations; unit
 * i computes when it is whole; i is gathered once i - 2 has been dropped, or
 * with @ahead units of place for those not needed yet. A unit that computes
 * while the next one is gathered is slowed by the overlap law's memory_frac.
 * Then the host: eager launches, or one graph. */
static double
play(const Bench *b, const Case *c, uint64_t kv_tokens, guint ahead)
{
  Unit units[MAX_UNITS];
  double computed_s[MAX_UNITS], gathered_s[MAX_UNITS], launch_s;
  guint n = list_units(b, c, kv_tokens, units);
  guint64 n_launches = 0;

  for (guint i = 0; i < n; i++) {
    double free_s = i > ahead ? computed_s[i - 1 - ahead] : 0;
    double begin_s = MAX(free_s, i > 0 ? gathered_s[i - 1] : 0);
    gathered_s[i] = begin_s + units[i].gather_s;
    begin_s = MAX(gathered_s[i], i > 0 ? computed_s[i - 1] : 0);
    computed_s[i] = begin_s + units[i].compute_s;
    if (i + 1 < n && ahead > 0)
      computed_s[i] +=
          slowed_s(b, units[i].compute_s,
                   MAX(gathered_s[i], i >= ahead ? computed_s[i - ahead] : 0) +
                       units[i + 1].gather_s - begin_s);
    n_launches += units[i].n_launches;
  }
  launch_s = (double)n_launches * b->estimator->eager_launch_s;
  if (c->shard.launch == RA_LAUNCH_GRAPH)
    return computed_s[n - 1] + b->estimator->graph_launch_s +
           (double)n_launches * b->estimator->graph_gap_s;
  return MAX(computed_s[n - 1], launch_s);
}

static gboolean
close_to(double a, double b)
{
  return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The line at its begin, at its end and between, 1000 random pieces on real
 * laws and links from slow to fast; its causes sum to its total.  Faults: no
 * unit is fetched ahead, or all are; weights that are in place. */
START_TEST(test_line)
{
  RaRng rng = ra_rng_init(17, 0);
  guint n_late = 0, n_early = 0, n_whole = 0, n_bound = 0;

  for (guint i = 0; i < 1000; i++) {
    g_autoptr(Bench) b = bench_new(profile_text_shipped("h100-sxm"));
    Case c = random_case(&rng), whole;
    RaDecodeLine line, in_place;
    b->cluster.nic_bytes_per_s = 50e9;
    b->cluster.device.intra_bytes_per_s *=
        pow(10, (double)ra_rng_below(&rng, 4) - 1);
    bench_remake(b);
    ra_estimator_decode(b->estimator, &c.shard, &c.piece, c.n_sequences,
                        c.kv_tokens, &line);
    ck_assert_uint_eq(line.from_tokens, c.kv_tokens);
    ck_assert_uint_ge(line.until_tokens, c.kv_tokens);
    ck_assert(
        close_to(line.cost.compute_s + line.cost.comm_s + line.cost.host_s,
                 line.cost.total_s));
    for (guint k = 0; k <= 4; k++) {
      uint64_t last = MIN(line.until_tokens, 4 * c.kv_tokens);
      uint64_t kv = c.kv_tokens + (last - c.kv_tokens) * k / 4;
      double s = line.cost.total_s +
                 line.s_per_token * (double)(kv - line.from_tokens);
      ck_assert_msg(close_to(s, play(b, &c, kv, 1)), "case %u: %g, %g", i, s,
                    play(b, &c, kv, 1));
    }
    n_late += !close_to(line.cost.total_s, play(b, &c, c.kv_tokens, 0));
    n_early +=
        !close_to(line.cost.total_s, play(b, &c, c.kv_tokens, MAX_UNITS));
    whole = c;
    whole.shard.zero_ranks = 0;
    ra_estimator_decode(b->estimator, &whole.shard, &c.piece, c.n_sequences,
                        c.kv_tokens, &in_place);
    ck_assert_double_ge(line.cost.total_s, in_place.cost.total_s);
    n_whole += line.cost.total_s > in_place.cost.total_s;
    n_bound += line.cost.comm_s > line.cost.compute_s;
    ra_model_free(c.model);
  }
  ck_assert_uint_gt(n_late, 500);
  ck_assert_uint_gt(n_early, 0); /* only where neighbours differ much */
  ck_assert_uint_gt(n_whole, 750);
  ck_assert(n_bound > 125 && n_bound < 875);
}
END_TEST

static Suite *
gather_suite(void)
{
  Suite *suite = suite_create("gather");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_line);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(gather_suite)
