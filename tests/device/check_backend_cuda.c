/* Tests of the CUDA back end on the emulated device, against the host's. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "exec/backend/backend_cuda.h"
#include "exec/comm/comm_local.h"
#include "exec/comm/device_comm.h"
#include "exec/model/stage.h"
#include "kernels/cpu/bf16.h"
#include "tests/emulator/gemm.h"
#include "tests/emulator/memory.h"
#include "tests/support/check_main.h"

/* The table of a GPU on the emulated device, beside the host's, through the
 * executor: the same model, weights that bf16 holds exactly, the same tokens.
 * The device's memory ends the program where the host looks into it, so what
 * passes here reads and writes through the table alone.
 *
 * Bound.  A value that goes through R roundings to bf16, each 2^-9 of it at
 * most, is off by R 2^-9 of the norm of its row to first order, if no op on the
 * way makes errors larger than it makes values: products with random weights
 * and norms do not.  On the longest way forward a layer rounds 14 times (norm,
 * product, bias, head norm, rotation, probability, attention, product, sum;
 * norm, product, activation, product, sum), the table, the last norm and the
 * logits once each: 31 of two layers.  A gradient goes that way and, each
 * forward op having one or two backward, twice as many back: 93.  Experts
 * round as often (gate and up, activation, down, the weighted sum); tokens go
 * to all, as which are the largest is no continuous function of what is rounded
 * (tests/device/check_backend_cuda_layouts.c has fewer).  Rows of logits are
 * padded.
 */
#define ROUNDING 0x1p-9
#define FORWARD (31 * ROUNDING)
#define BACKWARD (93 * ROUNDING)

enum { HIDDEN = 128, LAYERS = 2, VOCAB = 45, SEQUENCES = 4 };

static const uint32_t lengths[SEQUENCES] = {5, 70, 1, 12};

typedef struct {
  const char *family; /* llama; qwen2: biases; qwen3: norms of heads; gpt2:
                         LayerNorm, GELU, learned positions, biases; mixtral,
                         qwen3_moe: experts */
  const char *tied;
  gboolean is_value;
  uint32_t tp;
  gboolean sequence_parallel;
  uint32_t recompute;
  double theta; /* of the host; 10000 of the device: else a fault */
} Case;

static const Case cases[] = {
    {"llama", "false", FALSE, 1, FALSE, RA_RECOMPUTE_NONE, 10000},
    {"qwen2", "true", FALSE, 1, FALSE, RA_RECOMPUTE_SELECTIVE, 10000},
    {"qwen3", "false", FALSE, 1, FALSE, RA_RECOMPUTE_FULL, 10000},
    {"llama", "false", TRUE, 1, FALSE, RA_RECOMPUTE_NONE, 10000},
    {"qwen2", "false", FALSE, 2, FALSE, RA_RECOMPUTE_NONE, 10000},
    {"qwen3", "true", FALSE, 2, TRUE, RA_RECOMPUTE_FULL, 10000},
    {"gpt2", "true", FALSE, 1, FALSE, RA_RECOMPUTE_NONE, 10000},
    {"gpt2", "true", FALSE, 2, TRUE, RA_RECOMPUTE_SELECTIVE, 10000},
    {"gpt2", "false", TRUE, 2, FALSE, RA_RECOMPUTE_FULL, 10000},
    {"mixtral", "false", FALSE, 1, FALSE, RA_RECOMPUTE_NONE, 10000},
    {"mixtral", "false", FALSE, 2, FALSE, RA_RECOMPUTE_FULL, 10000},
    {"qwen3_moe", "true", FALSE, 2, TRUE, RA_RECOMPUTE_SELECTIVE, 10000},
};

typedef struct {
  const Case *c;
  uint32_t rank;
  RaLocalGroup *groups[2]; /* of the host, of the device */
  double forward;          /* worst, in parts of its bound */
  double backward;
  double decode;
} Rank;

/* One back end's side of a rank. */
typedef struct {
  RaParams *params;
  RaComm *comm;
  RaStage *stage;
} Side;

static const RaPiece whole = {
    .n_layers = LAYERS, .has_embedding = TRUE, .has_head = TRUE};

static RaModel *
new_model(const Case *c)
{
  g_autoptr(GError) error = NULL;
  gboolean gpt2 = strcmp(c->family, "gpt2") == 0;
  const char *experts =
      strcmp(c->family, "mixtral") == 0
          ? "\"num_local_experts\": 8, \"num_experts_per_tok\": 8, "
      : strcmp(c->family, "qwen3_moe") == 0
          ? "\"num_experts\": 16, \"num_experts_per_tok\": 16, "
            "\"moe_intermediate_size\": 32, \"norm_topk_prob\": true, "
          : "";
  g_autofree char *text = g_strdup_printf(
      "{\"model_type\": \"%s\", \"hidden_size\": %d, "
      "\"num_hidden_layers\": %d, \"num_attention_heads\": %d, "
      "\"num_key_value_heads\": 2, \"head_dim\": 64, "
      "\"%s\": 64, \"vocab_size\": %d, "
      "\"hidden_act\": \"silu\", \"max_position_embeddings\": 128, "
      "%s\"tie_word_embeddings\": %s}",
      c->family, HIDDEN, LAYERS, gpt2 ? 2 : 4,
      gpt2 ? "n_inner" : "intermediate_size", VOCAB, experts, c->tied);
  RaModel *model = ra_model_parse("tiny.json", text, strlen(text), &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  if (c->is_value)
    ra_model_set_head(model, RA_HEAD_VALUE);
  return model;
}

static RaTokens *
new_tokens(void)
{
  static uint32_t text[128];
  const uint32_t *texts[SEQUENCES] = {text, text + 5, text + 75, text + 76};

  for (uint32_t i = 0; i < G_N_ELEMENTS(text); i++)
    text[i] = (i * 31 + i * i / 7) % VOCAB;
  return ra_tokens_new(SEQUENCES, lengths, texts);
}

/* Seeded weights, matrices eight times as large: a product then makes numbers
 * of the size of its input; biases of 1/4, -1/4; rounded to bf16. */
static void
fill(RaParams *params)
{
  ra_params_seed(params, 7);
  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *p = &params->params[i];
    gsize n = ra_param_n(p);
    g_autofree float *x = g_new(float, n + 1);

    ra_params_read(params, RA_PARAMS_WEIGHTS, p->offset, n, x);
    for (gsize k = 0; k < n; k++) {
      if (p->tensor.bias)
        x[k] = (p->rect.row + p->rect.col + k) % 2 ? 0.25f : -0.25f;
      else if (p->tensor.kind != RA_TENSOR_NORM)
        x[k] *= 8;
      x[k] = ra_bf16_to_f32(ra_bf16_from_f32(x[k]));
    }
    ra_params_write(params, RA_PARAMS_WEIGHTS, p->offset, n, x);
  }
}

static Side
side_new(const Rank *r, const RaBackend *backend, const RaTensorTable *table,
         RaLocalGroup *group, double theta)
{
  uint32_t layers = LAYERS;
  RaCallPlan plan = {.set = TRUE,
                     .dp = 1,
                     .tp = r->c->tp,
                     .pp = 1,
                     .cp = 1,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                     .n_virtual = 1,
                     .stage_layers = &layers};
  RaNumerics numerics = RA_NUMERICS_DEFAULT;
  Side s;

  numerics.rope.theta = theta;
  s.params = ra_params_new_on(backend, table, &plan, r->rank);
  s.comm = ra_local_comm_new(group, r->rank);
  fill(s.params);
  ra_params_make_trainable(s.params);
  s.stage = ra_stage_new(backend, s.params, r->c->tp, s.comm, r->c->recompute,
                         128, &numerics);
  ra_stage_share_rows(s.stage, r->c->sequence_parallel);
  return s;
}

static void
side_clear(Side *s)
{
  ra_stage_free(s->stage);
  ra_params_free(s->params);
  ra_comm_free(s->comm);
}

/* |x - y| / |y|, of @y without its mean where @centred. */
static double
distance(gsize n, const float *x, const float *y, gboolean centred)
{
  double mean = 0, apart = 0, size = 0;

  for (gsize i = 0; i < n && centred; i++)
    mean += (double)y[i] / (double)n;
  for (gsize i = 0; i < n; i++) {
    double d = (double)x[i] - (double)y[i], v = (double)y[i] - mean;

    ck_assert(isfinite(d));
    apart += d * d;
    size += v * v;
  }
  return size > 0 ? sqrt(apart / size) : apart > 0 ? 1 : 0;
}

/* The squares of all gradients of the device cost one wait and have the bits of
 * a wait a tensor, which the count must see; of no part there is none.  The
 * fault: without the table it is another number. */
static void
check_squares(const Rank *r, const RaStage *stage, const RaParams *params)
{
  const RaBackend *backend = ra_backend_cuda();
  RaGradParts parts = {TRUE, TRUE, TRUE}, none = {FALSE, FALSE, FALSE};
  size_t before = ra_emu_n_waits();
  double sum = ra_stage_grad_squares(stage, &parts), one_by_one = 0;

  ck_assert_uint_eq(ra_emu_n_waits() - before, 1);
  ck_assert_double_eq(ra_stage_grad_squares(stage, &none), 0);
  ck_assert_uint_eq(ra_emu_n_waits() - before, 1);
  if (r->c->tp > 1)
    return; /* of what both ranks hold, one counts it */
  before = ra_emu_n_waits();
  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *p = &params->params[i];
    const float *grad = params->grads + p->offset;
    gsize n = ra_param_n(p);

    one_by_one += backend->sum_squares(1, &n, &grad);
  }
  ck_assert_uint_eq(ra_emu_n_waits() - before, params->n_params);
  ck_assert(sum > 0 && sum == one_by_one);
  parts.embedding = FALSE;
  ck_assert(ra_stage_grad_squares(stage, &parts) < sum);
}

static void
train(Rank *r, const Side *sides, const RaTokens *tokens)
{
  RaPass *passes[2];
  g_autofree float *d = g_new(float, tokens->n_tokens);
  g_autofree float *grads = g_new(float, sides[1].params->n + 1);

  for (uint32_t i = 0; i < tokens->n_tokens; i++)
    d[i] = (i * 7 % 5 - 2.0f) / 8;
  for (int i = 0; i < 2; i++) {
    passes[i] = ra_pass_new(sides[i].stage, &whole, tokens, TRUE);
    ra_pass_forward(passes[i], NULL, NULL, NULL);
    ra_pass_backward(passes[i], NULL, d);
    ra_stage_sum_shared_grads(sides[i].stage);
  }
  r->forward =
      distance(tokens->n_tokens, passes[1]->numbers, passes[0]->numbers, TRUE) /
      FORWARD;
  sides[1].params->backend->read(grads, sides[1].params->grads,
                                 sides[1].params->n * sizeof *grads);
  check_squares(r, sides[1].stage, sides[1].params);
  for (uint32_t i = 0; i < sides[0].params->n_params; i++) {
    const RaParam *p = &sides[0].params->params[i];
    double apart = distance(ra_param_n(p), grads + p->offset,
                            sides[0].params->grads + p->offset, FALSE);

    /* A bias of keys moves all scores of a query alike: its gradient is 0, and
     * what is there are roundings. */
    if (p->tensor.bias && p->tensor.kind == RA_TENSOR_K)
      continue;
    if (apart / BACKWARD > r->backward)
      r->backward = apart / BACKWARD;
  }
  for (int i = 0; i < 2; i++) {
    ck_assert(!sides[i].stage->bad.is_set);
    ra_pass_free(passes[i]);
  }
}

/* A prefill of the sequence of 70 and three tokens more, which are given. */
static void
generate(Rank *r, const Side *sides)
{
  static uint32_t text[128];
  static const RaCacheShape shape = {LAYERS, 2, 80, 16, 0, 0, FALSE};
  const uint32_t *texts[1] = {text}, n = 70, slot = 1;
  g_autoptr(RaTokens) tokens = NULL;
  float logits[2][VOCAB];

  for (uint32_t i = 0; i < G_N_ELEMENTS(text); i++)
    text[i] = i * 13 % VOCAB;
  tokens = ra_tokens_new(1, &n, texts);
  for (uint32_t step = 0; step < 4; step++) {
    static RaCache *caches[2][2]; /* by rank */

    for (int i = 0; i < 2; i++) {
      uint32_t at = n + step - 1;

      if (step == 0) {
        g_autoptr(RaPass) pass =
            ra_pass_new(sides[i].stage, &whole, tokens, FALSE);

        caches[r->rank][i] = ra_stage_new_cache(sides[i].stage, &shape);
        ra_pass_forward(pass, NULL, caches[r->rank][i], &slot);
        ra_pass_last_logits(pass, logits[i]);
      } else {
        ra_stage_decode(sides[i].stage, &whole, caches[r->rank][i], 1, &slot,
                        &text[at], &at, NULL, logits[i]);
      }
      if (step == 3)
        ra_cache_free(caches[r->rank][i]);
    }
    r->decode =
        fmax(r->decode, distance(VOCAB, logits[1], logits[0], TRUE) / FORWARD);
  }
}

static void *
run_rank(void *data)
{
  Rank *r = data;
  g_autoptr(RaModel) model = new_model(r->c);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(RaTokens) tokens = new_tokens();
  Side sides[2] = {
      side_new(r, ra_backend_host(NULL), table, r->groups[0], r->c->theta),
      side_new(r, ra_backend_cuda(), table, r->groups[1], 10000)};

  ck_assert(ra_backend_cuda()->supports(model, r->c->tp, NULL));
  train(r, sides, tokens);
  if (!r->c->is_value && !r->c->sequence_parallel) /* generation shares none */
    generate(r, sides);
  for (int i = 0; i < 2; i++)
    side_clear(&sides[i]);
  return NULL;
}

static void
run_case(const Case *c, Rank *ranks)
{
  g_autoptr(RaLocalGroup) host = ra_local_group_new(c->tp, FALSE);
  g_autoptr(RaLocalGroup) device = ra_local_group_new(c->tp, FALSE);
  pthread_t threads[2];

  for (uint32_t i = 0; i < c->tp; i++) {
    ranks[i] = (Rank){.c = c, .rank = i, .groups = {host, device}};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
  }
  for (uint32_t i = 0; i < c->tp; i++)
    pthread_join(threads[i], NULL);
  ck_assert_msg(ra_backend_cuda()->failure() == NULL, "%s",
                ra_backend_cuda()->failure());
}

START_TEST(test_model)
{
  Rank ranks[2];

  run_case(&cases[_i], ranks);
  for (uint32_t i = 0; i < cases[_i].tp; i++) {
    ck_assert_msg(ranks[i].forward <= 1, "forward: %g", ranks[i].forward);
    ck_assert_msg(ranks[i].backward <= 1, "backward: %g", ranks[i].backward);
    ck_assert_msg(ranks[i].decode <= 1, "decode: %g", ranks[i].decode);
    ck_assert(ranks[i].forward > 0); /* bf16 is not fp32 */
  }
}
END_TEST

/* Products that have a bias in one pass forward, and its gradient in one back:
 * q, k and v of each layer; of GPT-2, whose ranks sum o and down before their
 * biases, those too on one rank, and up.  Without an algorithm for it, none,
 * and the same model within the same bound. */
START_TEST(test_bias)
{
  static const struct {
    guint which, n_forward;
  } with[] = {{0, 0}, {1, LAYERS}, {4, 2 * LAYERS}, {6, 4 * LAYERS}};
  const Case *c = &cases[with[_i].which];
  guint n_passes = c->recompute == RA_RECOMPUTE_FULL ? 2 : 1;
  Rank ranks[2];

  for (int fuses = 0; fuses < 2; fuses++) {
    ra_emu_set_fuses(fuses);
    run_case(c, ranks);
    /* a training, a prefill and three steps */
    ck_assert_uint_eq(ra_emu_n_fused(RA_CUDA_BIAS),
                      fuses ? (n_passes + 4) * with[_i].n_forward : 0);
    ck_assert_uint_eq(ra_emu_n_fused(RA_CUDA_BIAS_GRADIENT),
                      fuses ? with[_i].n_forward : 0);
    for (uint32_t i = 0; i < c->tp; i++)
      ck_assert_msg(ranks[i].forward <= 1 && ranks[i].backward <= 1 &&
                        ranks[i].decode <= 1,
                    "%g %g %g", ranks[i].forward, ranks[i].backward,
                    ranks[i].decode);
  }
}
END_TEST

/* The fault: positions that turn by other angles. */
START_TEST(test_fault)
{
  Case c = cases[0];
  Rank rank;

  c.theta = 100;
  run_case(&c, &rank);
  ck_assert_msg(rank.forward > 1 && rank.backward > 1 && rank.decode > 1,
                "%g %g %g", rank.forward, rank.backward, rank.decode);
}
END_TEST

/* All numbers of weights and moments, as they are read. */
static GArray *
numbers_of(const RaParams *p)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(float));
  guint at = 0;

  for (int which = 0; which < RA_N_PARAMS_ARRAYS; which++) {
    guint n = (guint)ra_params_array_n(p, (RaParamsArray)which);

    g_array_set_size(all, at + n);
    ra_params_read(p, (RaParamsArray)which, 0, n,
                   &g_array_index(all, float, at));
    at += n;
  }
  return all;
}

static void
check_same(const RaParams *p, const GArray *was)
{
  g_autoptr(GArray) now = numbers_of(p);

  ck_assert_uint_eq(now->len, was->len);
  ck_assert_mem_eq(now->data, was->data, now->len * sizeof(float));
}

/* States go to pinned memory, are read and written while they are there, and
 * come back to another place bit for bit.  What they leave is poisoned when it
 * is taken, so a reload that is left out is seen. */
START_TEST(test_away)
{
  const RaBackend *b = ra_backend_cuda();
  g_autoptr(RaModel) model = new_model(&cases[0]);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  uint32_t layers = LAYERS;
  RaCallPlan plan = {.set = TRUE,
                     .dp = 1,
                     .tp = 1,
                     .pp = 1,
                     .cp = 1,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                     .n_virtual = 1,
                     .stage_layers = &layers};
  g_autoptr(RaParams) p = ra_params_new_on(b, table, &plan, 0);
  g_autoptr(GArray) was = NULL, poisoned = NULL;
  void *memory[2];

  fill(p);
  ra_params_make_trainable(p);
  for (int which = RA_PARAMS_FIRST; which <= RA_PARAMS_SECOND; which++)
    for (gsize i = 0; i < p->n_moments; i += 97) {
      float x = (float)(i % 89) / (which == RA_PARAMS_FIRST ? 7.0f : 3.0f);

      ra_params_write(p, (RaParamsArray)which, i, 1, &x);
    }
  was = numbers_of(p);
  for (int state = 0; state < RA_STATE_GRADS; state++) {
    ra_params_offload(p, (RaParamsState)state);
    ra_params_place(p, (RaParamsState)state, NULL);
  }
  ck_assert(!p->weights && !p->first && !p->second && !p->master);
  check_same(p, was);
  ra_params_write(p, RA_PARAMS_SECOND, 5, 1, &(float){0.3f});
  g_array_index(was, float, p->n + p->n_moments + 5) = 0.3f;
  for (int state = 0; state < RA_STATE_GRADS; state++) {
    memory[state] = b->alloc(ra_params_state_bytes(p, (RaParamsState)state));
    ra_params_place(p, (RaParamsState)state, memory[state]);
  }
  poisoned = numbers_of(p);
  ck_assert_mem_ne(poisoned->data, was->data, was->len * sizeof(float));
  for (int state = 0; state < RA_STATE_GRADS; state++)
    ra_params_reload(p, (RaParamsState)state);
  check_same(p, was);
  ck_assert(!b->failure());
  for (int state = 0; state < RA_STATE_GRADS; state++)
    b->free(memory[state]);
}
END_TEST

static Suite *
backend_cuda_suite(void)
{
  Suite *suite = suite_create("backend_cuda");
  TCase *tcase = tcase_create("core"), *away = tcase_create("away");

  tcase_set_timeout(tcase, 300);
  tcase_add_loop_test(tcase, test_model, 0, G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_bias, 0, 4);
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  tcase_add_test(away, test_away);
  suite_add_tcase(suite, away);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_suite)
