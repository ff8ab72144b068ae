/* Continuous batching in seconds against the same step by step. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/generate/serve.h"
#include "tests/support/batcher_reference.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* A law whose every step can be added up: of a step without prompts
 *
 *     base + per_sequence n + slope_p (K - p bend) + ...
 *
 * with one slope below bend tokens and another beyond, the rest host time. */
typedef struct {
  double base_s, sequence_s, slope_s[2], chunk_s, pair_s;
  uint64_t bend;
} Law;

static double
law_step_s(const Law *law, const RaBatchStretch *s)
{
  double kv = (double)s->kv_tokens, bend = (double)law->bend;
  double growth = kv <= bend
                      ? law->slope_s[0] * kv
                      : law->slope_s[0] * bend + law->slope_s[1] * (kv - bend);

  return law->base_s + law->sequence_s * s->n_decoding + growth +
         law->chunk_s * (double)s->chunk_tokens +
         law->pair_s * (double)s->chunk_pairs;
}

static void
law_line(gconstpointer context, uint32_t n_sequences, uint64_t kv_tokens,
         RaDecodeLine *out_line)
{
  const Law *law = context;
  RaBatchStretch s = {.n_decoding = n_sequences, .kv_tokens = kv_tokens};
  gboolean beyond = kv_tokens > law->bend;
  double total_s = law_step_s(law, &s);

  *out_line = (RaDecodeLine){
      .cost = {.total_s = total_s,
               .compute_s = total_s - law->base_s,
               .host_s = law->base_s},
      .s_per_token = law->slope_s[beyond],
      .compute_s_per_token = law->slope_s[beyond],
      .from_tokens = kv_tokens,
      .until_tokens = beyond ? UINT64_MAX : law->bend,
  };
}

static void
law_mixed(gconstpointer context, const RaBatchStretch *step, RaCost *out_cost)
{
  const Law *law = context;
  double total_s = law_step_s(law, step);

  *out_cost = (RaCost){.total_s = total_s,
                       .compute_s = total_s - law->base_s,
                       .host_s = law->base_s};
}

typedef struct {
  Law law;
  Reference reference;
  double arrival_s[REFERENCE_MAX];
  gboolean timed; /* arrivals count */
  uint32_t n_parts;
} Case;

static void
random_case(RaRng *rng, Case *c)
{
  Reference *r = &c->reference;
  uint64_t most = 0;

  *c = (Case){
      .law = {.base_s = ra_rng_uniform(rng),
              .sequence_s = ra_rng_uniform(rng) / 10,
              .slope_s = {ra_rng_uniform(rng) / 100, ra_rng_uniform(rng) / 50},
              .chunk_s = ra_rng_uniform(rng) / 20,
              .pair_s = ra_rng_uniform(rng) / 1000,
              .bend = ra_rng_below(rng, 200)},
      .timed = ra_rng_below(rng, 2) == 1};
  r->n = 1 + (uint32_t)ra_rng_below(rng, 24);
  r->batching = (RaBatching){
      .max_sequences = 1 + (uint32_t)ra_rng_below(rng, 10),
      .block_tokens = 1 + (uint32_t)ra_rng_below(rng, 8),
      .group = 1 + (uint32_t)ra_rng_below(rng, 4),
  };
  r->batching.step_tokens =
      r->batching.max_sequences + (uint32_t)ra_rng_below(rng, 40);
  c->n_parts = 1 + (uint32_t)ra_rng_below(rng, 4);
  for (uint32_t i = 0; i < r->n; i++) {
    r->prompt[i] = i % r->batching.group ? r->prompt[i - 1]
                                         : 1 + (uint32_t)ra_rng_below(rng, 30);
    r->response[i] = 1 + (uint32_t)ra_rng_below(rng, 60);
    most = MAX(most,
               ra_batching_blocks(&r->batching, r->prompt[i], r->response[i]));
    c->arrival_s[i] = (i > 0 ? c->arrival_s[i - 1] : 0) +
                      (double)ra_rng_below(rng, 3) * ra_rng_uniform(rng) * 9;
  }
  if (ra_rng_below(rng, 2))
    r->batching.n_blocks = most + ra_rng_below(rng, 3 * most);
}

typedef struct {
  double first_s[REFERENCE_MAX], end_s[REFERENCE_MAX], part_end_s[8];
  double makespan_s, host_s;
} Times;

/* Step by step.  @late: a sequence that has arrived waits one step more, the
 * deliberate fault. */
static void
naive_run(Case *c, gboolean late, Times *out)
{
  Reference *r = &c->reference;
  gboolean fills[REFERENCE_MAX] = {FALSE};
  uint32_t n_ended = 0, n_arrived = c->timed ? 0 : r->n, part = 0;
  double now_s = 0;

  memset(out, 0, sizeof *out);
  for (;;) {
    uint32_t before = n_arrived;

    while (n_arrived < r->n && c->arrival_s[n_arrived] <= now_s)
      n_arrived++;
    reference_arrive(r, late && r->n_running > 0 ? before : n_arrived);
    if (!reference_step(r, fills)) {
      if (n_arrived == r->n)
        break;
      now_s = c->arrival_s[n_arrived];
      continue;
    }
    now_s += law_step_s(&c->law, &r->step);
    out->host_s += c->law.base_s;
    for (uint32_t k = 0; k < r->n_first; k++)
      out->first_s[r->first[k]] = now_s;
    for (uint32_t k = 0; k < r->n_ended; k++)
      out->end_s[r->ended[k]] = now_s;
    n_ended += r->n_ended;
    for (; part < c->n_parts && n_ended * c->n_parts >= (part + 1) * r->n;
         part++)
      out->part_end_s[part] = now_s;
  }
  out->makespan_s = now_s;
}

static double
furthest(const double *a, const double *b, uint32_t n)
{
  double most = 0;

  for (uint32_t i = 0; i < n; i++)
    most = fmax(most, fabs(a[i] - b[i]) / fmax(fabs(b[i]), 1));
  return most;
}

/* 3,000 random cases: first tokens, ends, parts and the sum of causes to 1e-9;
 * no more is asked of the law than an event needs: two pieces a stretch. */
START_TEST(test_steps)
{
  guint n_late = 0;

  for (uint64_t i = 0; i < 3000; i++) {
    RaRng rng = ra_rng_init(i, 7);
    Case c, again;
    Times times, late;
    double first_s[REFERENCE_MAX], end_s[REFERENCE_MAX], part_end_s[8];
    RaCost part_cost[8];
    RaServeSource source = {law_line, law_mixed, NULL};
    RaServeResult result = {.first_s = first_s,
                            .end_s = end_s,
                            .part_end_s = part_end_s,
                            .part_cost = part_cost};
    g_autoptr(RaBatcher) b = NULL;
    double host_s = 0;
    uint32_t n;

    random_case(&rng, &c);
    again = c;
    n = c.reference.n;
    source.context = &c.law;
    result.n_parts = c.n_parts;
    b = ra_batcher_new(&c.reference.batching, c.reference.prompt,
                       c.reference.response, n);
    ra_serve_run(&source, b, n, c.timed ? c.arrival_s : NULL, &result);
    naive_run(&c, FALSE, &times);
    ck_assert_double_le(furthest(first_s, times.first_s, n), 1e-9);
    ck_assert_double_le(furthest(end_s, times.end_s, n), 1e-9);
    ck_assert_double_le(furthest(part_end_s, times.part_end_s, c.n_parts),
                        1e-9);
    for (uint32_t p = 0; p < c.n_parts; p++)
      host_s += part_cost[p].host_s;
    ck_assert_double_le(furthest(&host_s, &times.host_s, 1), 1e-9);
    ck_assert_double_le(furthest(&result.cost.host_s, &times.host_s, 1), 1e-9);
    ck_assert_uint_le(result.n_evaluated,
                      2 * ra_batcher_work(b)->n_stretches + 2 * n);
    naive_run(&again, TRUE, &late);
    n_late += furthest(end_s, late.end_s, n) > 1e-9;
  }
  ck_assert_uint_gt(n_late, 300);
}
END_TEST

/* A step of a chunk of 96 tokens and 4 sequences that decode: products see 100
 * rows, the head 5 (the 4, and the chunk if it is a prompt's last), attention
 * each its own.  Of a model of one layer. */
START_TEST(test_mixed)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));
  RaModelShape shape;
  g_autoptr(RaModel) model = NULL;
  RaShard shard = {.tp = 1, .sampling = 1};
  RaPiece piece = {.n_layers = 1, .has_embedding = 1, .has_head = 1};
  RaMixedBatch batch = {.chunks = {1, 96, 96, 96 * 97 / 2},
                        .decode = {4, 4, 4000, 4000},
                        .n_sampled = 5};
  RaOp ops[RA_OP_LIST_MAX];
  RaCost cost;
  guint n, n_prefill = 0, n_decode = 0;
  double sum_s = 0;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 1, shape.hidden = 64, shape.heads = 1, shape.vocab = 10;
  model = ra_model_from_shape(&shape, NULL);
  ck_assert_ptr_nonnull(model);
  shard.model = model;
  n = ra_op_list_mixed(&shard, &piece, &batch, ops);
  for (guint i = 0; i < n; i++) {
    sum_s += ra_estimator_op_s(b->estimator, &ops[i]) * ops[i].count;
    if (ops[i].kind == RA_OP_ATTENTION) {
      n_prefill++;
      ck_assert(ops[i].dim[0] == 1 && ops[i].dim[1] == 96);
      ck_assert(ops[i].dim[2] == 96 && ops[i].dim[3] == 96 * 97 / 2);
    } else if (ops[i].kind == RA_OP_DECODE_ATTENTION) {
      n_decode++;
      ck_assert(ops[i].dim[0] == 4 && ops[i].dim[1] == 4);
      ck_assert(ops[i].dim[2] == 4000 && ops[i].dim[3] == 4000);
      ck_assert(ops[i].dim[4] == 1 && ops[i].dim[6] == 64);
    } else if (ops[i].kind == RA_OP_GEMM) {
      ck_assert_uint_eq(ops[i].dim[0], ops[i].dim[1] == 10 ? 5 : 100);
    }
  }
  ck_assert(n_prefill == 1 && n_decode == 1);
  ra_estimator_mixed(b->estimator, &shard, &piece, &batch, &cost);
  bench_check(cost.total_s, sum_s);
}
END_TEST

static Suite *
serve_suite(void)
{
  Suite *suite = suite_create("serve");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_steps);
  tcase_add_test(tcase, test_mixed);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(serve_suite)
