/* Continuous batching over pipeline stages: step by step against laps written
 * out, one stage against the closed form, a closed form by hand. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/flop.h"
#include "sim/generate/serve_pipe.h"
#include "tests/support/check_main.h"
#include "tests/support/zero_run.h"

#define MAX_N 48
#define MAX_STAGES 4

/* Cost of a step on stage s: base_s[s] + sequence_s n + kv_s K + token_s chunk;
 * a send takes send_s and token_s a token. */
typedef struct {
  double base_s[MAX_STAGES], sequence_s, kv_s, chunk_s, send_s, token_s;
} Law;

static double
step_s(const Law *law, uint32_t stage, uint32_t n, uint64_t kv, uint64_t chunk)
{
  return law->base_s[stage] + law->sequence_s * n + law->kv_s * (double)kv +
         law->chunk_s * (double)chunk;
}

static void
law_line(gconstpointer context, uint32_t stage, uint32_t n, uint64_t kv,
         RaDecodeLine *out)
{
  const Law *law = context;
  double total_s = step_s(law, stage, n, kv, 0);

  *out = (RaDecodeLine){.cost = {.total_s = total_s, .compute_s = total_s},
                        .s_per_token = law->kv_s,
                        .compute_s_per_token = law->kv_s,
                        .from_tokens = kv,
                        .until_tokens = kv + 37};
}

static void
law_mixed(gconstpointer context, uint32_t stage, const RaBatchStretch *step,
          RaCost *out)
{
  double total_s = step_s(context, stage, step->n_decoding, step->kv_tokens,
                          step->chunk_tokens);

  *out = (RaCost){.total_s = total_s, .compute_s = total_s};
}

static double
law_send_s(gconstpointer context, uint64_t n_tokens)
{
  const Law *law = context;

  return law->send_s + law->token_s * (double)n_tokens;
}

typedef struct {
  Law law;
  RaDynamic dynamic;
  uint32_t prompt[MAX_N], response[MAX_N];
} Case;

static void
random_case(RaRng *rng, Case *c)
{
  RaDynamic *d = &c->dynamic;

  memset(c, 0, sizeof *c);
  c->law = (Law){.sequence_s = ra_rng_uniform(rng) / 50,
                 .kv_s = ra_rng_uniform(rng) / 500,
                 .chunk_s = ra_rng_uniform(rng) / 50,
                 .send_s = ra_rng_uniform(rng) * (double)ra_rng_below(rng, 3),
                 .token_s = ra_rng_uniform(rng) / 50};
  for (uint32_t s = 0; s < MAX_STAGES; s++)
    c->law.base_s[s] = ra_rng_uniform(rng);
  d->n_stages = 1 + (uint32_t)ra_rng_below(rng, MAX_STAGES);
  d->n_groups = 1 + (uint32_t)ra_rng_below(rng, 5);
  d->n_sequences = d->n_groups + (uint32_t)ra_rng_below(rng, 30);
  d->n_parts = 1 + (uint32_t)ra_rng_below(rng, 3);
  d->prompt = c->prompt;
  d->response = c->response;
  d->batching = (RaBatching){
      .max_sequences = 1 + (uint32_t)ra_rng_below(rng, 6),
      .step_tokens = 6 + (uint32_t)ra_rng_below(rng, 40),
      .block_tokens = 1 + (uint32_t)ra_rng_below(rng, 8),
      .group = 1,
  };
  for (uint32_t i = 0; i < d->n_sequences; i++) {
    c->prompt[i] = 1 + (uint32_t)ra_rng_below(rng, 30);
    c->response[i] = 1 + (uint32_t)ra_rng_below(rng, 60);
  }
  /* 90 tokens fit in 90 blocks of one token. */
  if (ra_rng_below(rng, 2))
    d->batching.n_blocks = 90 + ra_rng_below(rng, 60);
}

/* All laps (t, g) in order; begin on a stage when the lap before it there has
 * left and what the stage before sends is there.  @fault: sends are free. */
static void
naive(const Case *c, gboolean fault, double *end_s, double *part_end_s)
{
  const RaDynamic *d = &c->dynamic;
  RaBatcher *b[8];
  double free_s[MAX_STAGES] = {0}, link_s[MAX_STAGES] = {0}, ready_s[8] = {0};
  gboolean over[8] = {FALSE};
  uint32_t n_ended = 0, part = 0, n_over = 0;

  for (uint32_t g = 0; g < d->n_groups; g++) {
    b[g] = ra_dynamic_batcher_new(d, g);
    ra_batcher_arrive(b[g], ra_dynamic_size(d, g));
  }
  for (uint32_t g = 0; n_over < d->n_groups; g = (g + 1) % d->n_groups) {
    RaBatchStretch x;
    const uint32_t *ended;
    guint n;
    double at_s = ready_s[g];

    if (over[g])
      continue;
    if (!ra_batcher_next(b[g], &x)) {
      over[g] = TRUE;
      n_over++;
      continue;
    }
    for (uint32_t s = 0; s < d->n_stages; s++) {
      double send_s =
          fault ? 0 : law_send_s(&c->law, x.n_decoding + x.chunk_tokens);

      free_s[s] = fmax(at_s, free_s[s]) +
                  step_s(&c->law, s, x.n_decoding, x.kv_tokens, x.chunk_tokens);
      at_s = free_s[s];
      if (s + 1 < d->n_stages)
        at_s = link_s[s] = fmax(at_s, link_s[s]) + send_s;
    }
    ready_s[g] = at_s;
    ra_batcher_take(b[g], 1);
    ended = ra_batcher_ended(b[g], &n);
    for (guint i = 0; i < n; i++)
      end_s[ra_dynamic_begin(d, g) + ended[i]] = at_s;
    n_ended += n;
    for (; part < d->n_parts &&
           n_ended * d->n_parts >= (part + 1) * d->n_sequences;
         part++)
      part_end_s[part] = at_s;
  }
  for (uint32_t g = 0; g < d->n_groups; g++)
    ra_batcher_free(b[g]);
}

static double
furthest(const double *a, const double *b, uint32_t n)
{
  double most = 0;

  for (uint32_t i = 0; i < n; i++)
    most = fmax(most, fabs(a[i] - b[i]) / fmax(fabs(b[i]), 1e-3));
  return most;
}

/* 2,000 random replicas: every end and part to 1e-9, and where sends are
 * forgotten the times are others. */
START_TEST(test_laps)
{
  guint n_wrong = 0;

  for (uint64_t i = 0; i < 2000; i++) {
    RaRng rng = ra_rng_init(i, 11);
    Case c;
    double end_s[MAX_N], part_s[4], slow_s[MAX_N], slow_part_s[4], wrong_s[4];
    RaCost cost[4];
    RaServeResult result = {
        .end_s = end_s, .part_end_s = part_s, .part_cost = cost};
    RaServePipeSource source = {law_line, law_mixed, law_send_s, &c.law, NULL};

    random_case(&rng, &c);
    result.n_parts = c.dynamic.n_parts;
    ra_serve_pipe(&source, &c.dynamic, &result);
    naive(&c, FALSE, slow_s, slow_part_s);
    ck_assert_double_le(furthest(end_s, slow_s, c.dynamic.n_sequences), 1e-9);
    ck_assert_double_le(furthest(part_s, slow_part_s, result.n_parts), 1e-9);
    for (uint32_t p = 0; p < result.n_parts; p++) {
      double wall_s = part_s[p] - (p > 0 ? part_s[p - 1] : 0);

      ck_assert_double_le(cost[p].total_s, wall_s * (1 + 1e-9));
    }
    naive(&c, TRUE, slow_s, wrong_s);
    n_wrong += furthest(part_s, wrong_s, result.n_parts) > 1e-9;
  }
  ck_assert_uint_gt(n_wrong, 500);
}
END_TEST

static void
one_line(gconstpointer context, uint32_t n, uint64_t kv, RaDecodeLine *out)
{
  law_line(context, 0, n, kv, out);
}

static void
one_mixed(gconstpointer context, const RaBatchStretch *step, RaCost *out)
{
  law_mixed(context, 0, step, out);
}

/* One stage, one micro-batch: what ra_serve_run() jumps from event to event. */
START_TEST(test_events)
{
  for (uint64_t i = 0; i < 500; i++) {
    RaRng rng = ra_rng_init(i, 12);
    Case c;
    double end_s[MAX_N], part_s[4], jump_s[MAX_N], jump_part_s[4];
    RaCost cost[4], jump_cost[4];
    RaServeResult walked = {
        .end_s = end_s, .part_end_s = part_s, .part_cost = cost};
    RaServeResult jumped = {
        .end_s = jump_s, .part_end_s = jump_part_s, .part_cost = jump_cost};
    RaServePipeSource source = {law_line, law_mixed, law_send_s, &c.law, NULL};
    RaServeSource one = {one_line, one_mixed, &c.law};
    g_autoptr(RaBatcher) b = NULL;

    random_case(&rng, &c);
    c.dynamic.n_stages = c.dynamic.n_groups = 1;
    walked.n_parts = jumped.n_parts = c.dynamic.n_parts;
    b = ra_dynamic_batcher_new(&c.dynamic, 0);
    ra_serve_pipe(&source, &c.dynamic, &walked);
    ra_serve_run(&one, b, c.dynamic.n_sequences, NULL, &jumped);
    ck_assert_double_le(furthest(end_s, jump_s, c.dynamic.n_sequences), 1e-9);
    ck_assert_double_le(furthest(part_s, jump_part_s, walked.n_parts), 1e-9);
    for (uint32_t p = 0; p < walked.n_parts; p++)
      ck_assert_double_le(
          furthest(&cost[p].compute_s, &jump_cost[p].compute_s, 1), 1e-9);
  }
}
END_TEST

/* p stages of 1 s a step, sends of no time, m micro-batches of T steps each:
 * the first lap takes p, each further one of the busiest max(m, p) more, and
 * the last micro-batch is m - 1 behind the first:
 *
 *     (T - 1) max(m, p) + (m - 1) + p.                                      */
START_TEST(test_closed)
{
  static const uint32_t shapes[][2] = {{2, 2}, {4, 2}, {2, 4}, {3, 1}};

  for (guint k = 0; k < G_N_ELEMENTS(shapes); k++) {
    uint32_t p = shapes[k][0], m = shapes[k][1], t = 20;
    Case c = {.law = {.base_s = {1, 1, 1, 1}}};
    double part_s;
    RaCost cost;
    RaServeResult result = {
        .n_parts = 1, .part_end_s = &part_s, .part_cost = &cost};
    RaServePipeSource source = {law_line, law_mixed, law_send_s, &c.law, NULL};

    c.dynamic = (RaDynamic){.n_stages = p,
                            .n_groups = m,
                            .n_sequences = m,
                            .n_parts = 1,
                            .prompt = c.prompt,
                            .response = c.response,
                            .batching = {.max_sequences = 4,
                                         .step_tokens = 64,
                                         .block_tokens = 16,
                                         .group = 1}};
    for (uint32_t i = 0; i < m; i++)
      c.prompt[i] = 5, c.response[i] = t;
    ra_serve_pipe(&source, &c.dynamic, &result);
    ck_assert_double_eq_tol(part_s, (t - 1) * MAX(m, p) + (m - 1) + p, 1e-9);
    /* A stage computes m T seconds of it. */
    ck_assert_double_eq_tol(cost.compute_s, m * t, 1e-9);
  }
}
END_TEST

/* A tool of 10 s between two turns of 3 tokens: on 2 stages of 1 s the first
 * turn's three steps end at 6, the second begins at 16 and ends at 22; the
 * other micro-batch, of 30 steps, enters a stage at 1, is done after 2 x 30 + 1
 * unless the first holds it up, which it does not: they alternate. */
START_TEST(test_tool)
{
  static const uint32_t begin[] = {0, 2, 3}, turns[] = {3, 3, 30},
                        tool[] = {0, 4, 0};
  static const double latency_s[] = {0, 10, 0};
  Case c = {.law = {.base_s = {1, 1}}};
  double part_s, end_s[2];
  RaCost cost;
  RaServeResult result = {
      .end_s = end_s, .n_parts = 1, .part_end_s = &part_s, .part_cost = &cost};
  RaServePipeSource source = {law_line, law_mixed, law_send_s, &c.law, NULL};

  c.dynamic = (RaDynamic){.n_stages = 2,
                          .n_groups = 2,
                          .n_sequences = 2,
                          .n_parts = 1,
                          .prompt = c.prompt,
                          .response = c.response,
                          .batching = {.max_sequences = 4,
                                       .step_tokens = 64,
                                       .block_tokens = 16,
                                       .group = 1},
                          .turns = {begin, turns, tool, latency_s, TRUE}};
  c.prompt[0] = c.prompt[1] = 5;
  c.response[0] = 10, c.response[1] = 30;
  ra_serve_pipe(&source, &c.dynamic, &result);
  ck_assert_double_eq_tol(end_s[0], 22, 1e-9);
  ck_assert_double_eq_tol(end_s[1], 61, 1e-9);
}
END_TEST

static Run
run_with(const char *gen)
{
  const char *keys[3] = {gen, "dp = 8", "dp = 8"};

  return run_new(text_new("tiny.json", "uniform(1, 40)", keys),
                 profile_text_shipped("h100-sxm"), 4e11);
}

/* A plan with dp 4 and pp 2: as many tokens and the same FLOP of the model as
 * with pp 1, other seconds; half the keys a GPU. */
START_TEST(test_plan)
{
  Run flat = run_with("dp = 8\nbatching = continuous");
  Run piped = run_with("dp = 4\npp = 2\nbatching = continuous");
  g_autofree RaFlopShare *a = ra_flop_count(flat.graph, 0);
  g_autofree RaFlopShare *b = ra_flop_count(piped.graph, 0);

  ck_assert_uint_eq(piped.graph->dynamics[0].n_groups, 2);
  ck_assert_double_eq_tol(a[GENERATE].tokens, b[GENERATE].tokens, 1e-9);
  ck_assert_double_eq_tol(a[GENERATE].model_flop, b[GENERATE].model_flop,
                          1e-9 * a[GENERATE].model_flop);
  ck_assert_double_gt(fabs(ra_sim_result(flat.sim)->makespan_s -
                           ra_sim_result(piped.sim)->makespan_s),
                      1e-6);
  run_clear(&flat);
  run_clear(&piped);
}
END_TEST

/* Stages of layers 0, 1, 2 and 1: windows alternate, so that the third is the
 * second's kind by its number of layers alone (the fault); the first has no
 * stage before it.  Experts of layers that are alike are. */
START_TEST(test_like)
{
  static const struct {
    const char *model;
    uint32_t like[4];
  } cases[] = {{"run-gpt-oss.json", {0, 1, 2, 1}},
               {"run-mixtral.json", {0, 1, 1, 1}}};
  static const uint32_t layers[] = {0, 1, 2, 1};

  for (guint k = 0; k < G_N_ELEMENTS(cases); k++) {
    g_autofree char *path = g_build_filename(g_getenv("srcdir"), "tests",
                                             "data", cases[k].model, NULL);
    g_autoptr(RaModel) m = ra_model_load(path, NULL);
    RaPiece pieces[4];
    RaDynamic dynamic = {.pieces = pieces, .n_stages = 4};
    RaShard shard = {.model = m};
    RaServePipe replica = {NULL, &shard, &dynamic, NULL};
    RaServePipeSource source = ra_serve_pipe_source(&replica);

    ck_assert_ptr_nonnull(m);
    for (uint32_t i = 0; i < 4; i++)
      pieces[i] = (RaPiece){.first_layer = layers[i], .n_layers = 1};
    for (uint32_t i = 0; i < 4; i++)
      ck_assert_uint_eq(source.like(&replica, i), cases[k].like[i]);
  }
}
END_TEST

static Suite *
serve_pipe_suite(void)
{
  Suite *suite = suite_create("serve_pipe");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_laps);
  tcase_add_test(tcase, test_events);
  tcase_add_test(tcase, test_closed);
  tcase_add_test(tcase, test_tool);
  tcase_add_test(tcase, test_plan);
  tcase_add_test(tcase, test_like);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(serve_pipe_suite)
