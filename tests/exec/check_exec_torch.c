#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "exec/comm/comm_local.h"
#include "exec/model/stage.h"
#include "kernels/cpu/cpu_preference.h"
#include "tests/support/check_main.h"
#include "tests/support/torch_fixture.h"

/* A gradient near zero is a sum that cancels, so it is taken relative to a
 * fortieth of the largest of its tensor.  The references are float64.
 *
 * Bound.  fp32 rounds by 2^-24 of a number at most.  On the longest way forward
 * a layer rounds some 265 times: norm 18, product 16, head norm 6, rotation 2,
 * probability 76 (70 keys), attention 70, product 16, sum 1; norm 18, product
 * 16, activation 1, product 24, sum 1.  Two layers, logits of 16 and a softmax
 * of 29 are 575; a gradient goes that way and twice as many back, then over 88
 * tokens: 1813.  In which direction one rounds is chance, and depends on the
 * order of sums, which is the BLAS's, so their squares add up: sqrt(1813) 2^-24
 * = 2.5e-6 of the largest, 1e-4 of its fortieth.  No op loses more than the
 * others: norms and D_i in double leave the worst where they are.  The fault
 * has 0.1. */
#define BAR 1e-4
#define SMALL (1.0 / 40)

/* A layout and what is run of it. */
typedef struct {
  TorchModel kind;
  uint32_t tp;
  uint32_t pp; /* 1 or 2 */
  uint32_t recompute;
  gboolean fault;   /* a weight off by a hundredth */
  const char *loss; /* another than the model's: its file */
} Case;

typedef struct {
  const Case *c;
  uint32_t rank; /* tensor-parallel */
  RaLocalGroup *group;
  double worst; /* of all that was compared */
} Rank;

static const char *
file_of(const Case *c)
{
  return c->loss ? c->loss : torch_file(c->kind);
}

/* Cross-entropy of all that has a successor. */
static void
sft_gradient(const RaTokens *tokens, const float *got, double *out_loss,
             float *out_d)
{
  double n = (double)(tokens->n_tokens - tokens->n_sequences);

  *out_loss = 0;
  for (uint32_t s = 0; s < tokens->n_sequences; s++)
    for (uint32_t i = tokens->begin[s]; i + 1 < tokens->begin[s + 1]; i++) {
      *out_loss -= (double)got[i] / n;
      out_d[i] = (float)(-1 / n);
    }
}

/* Texts 0 and 2 are chosen over 1 and 3: DPO with beta 0.1, or with a value
 * head the reward of the last token. */
static void
pair_gradient(const Case *c, const RaTokens *tokens, const float *got,
              double *out_loss, float *out_d)
{
  gboolean value = c->kind == TORCH_VALUE;
  g_autoptr(GArray) wanted = value ? NULL : torch_read(c->loss, "reference");
  double beta = value ? 1 : 0.1, sides[4];
  RaCpuLoss loss = {0};
  float reference[88];

  for (guint i = 0; wanted && i < wanted->len; i++)
    reference[i] = (float)g_array_index(wanted, double, i);
  for (uint32_t s = 0; s < 4; s++) {
    uint32_t at = tokens->begin[s], n = tokens->begin[s + 1] - at;

    sides[s] = value ? (double)got[at + n - 1]
                     : ra_cpu_log_ratio(n - 1, got + at, reference + at);
  }
  for (uint32_t s = 0; s < 4; s++) {
    uint32_t at = tokens->begin[s], n = tokens->begin[s + 1] - at;
    double d = ra_cpu_pair_loss(
        beta * (sides[s / 2 * 2] - sides[s / 2 * 2 + 1]), 0.5, &loss);
    float of_side = (float)(beta * (s % 2 == 0 ? d : -d));

    for (uint32_t i = 0; i < n; i++)
      out_d[at + i] = value == (i == n - 1) ? of_side : 0;
  }
  *out_loss = loss.loss / 4; /* each pair was met twice */
}

/* 1 / (tokens that have a successor), 0 for the last of a sequence. */
static void
loss_gradient(const Case *c, const RaTokens *tokens, const float *got,
              double *out_loss, float *out_d)
{
  uint32_t n = tokens->n_tokens;
  g_autoptr(GArray) old = torch_read(torch_file(c->kind), "old");
  g_autoptr(GArray) other = torch_read(
      torch_file(c->kind), c->kind == TORCH_VALUE ? "returns" : "reference");
  float scale = 1.0f / (float)(n - tokens->n_sequences);
  RaCpuLoss loss = {0};

  for (uint32_t s = 0; s < tokens->n_sequences; s++)
    for (uint32_t i = tokens->begin[s]; i < tokens->begin[s + 1]; i++) {
      float was = (float)g_array_index(old, double, i);
      float second = (float)g_array_index(other, double, i);
      float a = torch_value(903, i, 2);

      out_d[i] = 0;
      if (i + 1 == tokens->begin[s + 1])
        continue;
      if (c->kind == TORCH_VALUE)
        ra_cpu_value_loss(1, got + i, &was, &second, 0.2f, scale, out_d + i,
                          &loss);
      else
        ra_cpu_policy_loss(1, got + i, &was,
                           c->kind == TORCH_TIED ? &second : NULL, &a, 0.2f,
                           0.1f, scale, out_d + i, &loss);
    }
  *out_loss = loss.loss * (double)scale;
}

/* Size from which a gradient counts. Those of queries and keys are differences
 * of terms as large as the values' (ds = p (dp - D)): in a model of random
 * weights without turned keys they are a hundredth of them, and the bias of
 * keys, which adds the same to all scores of a query, has none at all. */
static double
floor_of(const Case *c, const RaParams *params, const RaParam *param,
         const GArray *wanted)
{
  g_autofree char *name = NULL;
  g_autoptr(GArray) values = NULL;

  if ((param->tensor.kind != RA_TENSOR_Q &&
       param->tensor.kind != RA_TENSOR_K) ||
      params->model->position == RA_POSITION_ROTARY)
    return torch_most(wanted);
  name = g_strdup_printf("grad:%s", param->tensor.name);
  name[strlen(name) - 2] = 'v'; /* of "...weight[q]" */
  values = torch_read(file_of(c), name);
  return torch_most(values);
}

/* Every gradient that is here against the script's. */
static double
worst_gradient(const Case *c, const RaParams *params)
{
  double worst = 0;

  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *param = &params->params[i];
    g_autofree char *name = g_strdup_printf("grad:%s", param->tensor.name);
    g_autoptr(GArray) wanted = torch_read(file_of(c), name);
    double floor = SMALL * floor_of(c, params, param, wanted);
    gsize cols = param->rect.n_cols;

    for (gsize row = 0; row < param->rect.n_rows; row++)
      worst = fmax(worst,
                   torch_worst(cols, params->grads + param->offset + row * cols,
                               &g_array_index(wanted, double,
                                              (param->rect.row + row) *
                                                      param->tensor.cols +
                                                  param->rect.col),
                               floor));
  }
  return worst;
}

static RaCallPlan
plan_of(const Case *c, uint32_t *stage_layers)
{
  stage_layers[0] = c->pp == 1 ? 2 : 1;
  stage_layers[1] = 1;
  return (RaCallPlan){.set = TRUE,
                      .dp = 1,
                      .tp = c->tp,
                      .pp = c->pp,
                      .cp = 1,
                      .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                      .n_virtual = 1,
                      .stage_layers = stage_layers};
}

/* Both stages of a tensor-parallel rank, one after the other. */
typedef struct {
  RaParams *params[2];
  RaStage *stages[2];
  RaPass *passes[2];
} Stages;

static Stages
stages_new(const Rank *r, const RaTensorTable *table, RaComm *comm,
           const RaTokens *tokens)
{
  const Case *c = r->c;
  uint32_t layers[2];
  RaCallPlan plan = plan_of(c, layers);
  RaNumerics numerics = torch_numerics(c->kind);
  Stages s = {0};

  for (uint32_t i = 0; i < c->pp; i++) {
    RaPiece piece = {.first_layer = i,
                     .n_layers = layers[i],
                     .has_embedding = i == 0,
                     .has_head = i + 1 == c->pp};

    s.params[i] = ra_params_new(table, &plan, i * c->tp + r->rank);
    ra_params_make_trainable(s.params[i]);
    torch_fill(s.params[i]);
    if (c->fault)
      ra_host_floats(s.params[i]->weights)[0] += 0.01f;
    s.stages[i] = ra_stage_new(ra_backend_host(NULL), s.params[i], c->tp, comm,
                               c->recompute, 128, &numerics);
    s.passes[i] = ra_pass_new(s.stages[i], &piece, tokens, TRUE);
  }
  return s;
}

static void
stages_clear(Stages *s)
{
  for (int i = 0; i < 2; i++) {
    ra_pass_free(s->passes[i]);
    ra_stage_free(s->stages[i]);
    ra_params_free(s->params[i]);
  }
}

/* A tied table is on both stages: the sum of its gradients. */
static void
sum_tied(const Case *c, Stages *s)
{
  const RaParam *first, *last;

  if (!s->params[0]->model->tied_embeddings || c->pp == 1 ||
      c->kind == TORCH_VALUE)
    return;
  first = ra_params_find(s->params[0], RA_TENSOR_EMBEDDING, RA_TENSOR_NO_LAYER,
                         FALSE);
  last = ra_params_find(s->params[1], RA_TENSOR_EMBEDDING, RA_TENSOR_NO_LAYER,
                        FALSE);
  for (gsize i = 0; i < ra_param_n(first); i++) {
    float *a = s->params[0]->grads + first->offset + i;
    float *b = s->params[1]->grads + last->offset + i;

    *a = *b = *a + *b;
  }
}

static void *
run_rank(void *data)
{
  Rank *r = data;
  const Case *c = r->c;
  g_autoptr(RaModel) model = torch_model(c->kind);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(RaTokens) tokens = torch_tokens();
  g_autoptr(RaComm) comm = ra_local_comm_new(r->group, r->rank);
  g_autoptr(GArray) wanted =
      torch_read(file_of(c), c->kind == TORCH_VALUE ? "values" : "log_prob");
  g_autoptr(GArray) wanted_loss = torch_read(file_of(c), "loss");
  g_autofree float *d = g_new0(float, tokens->n_tokens);
  Stages s = stages_new(r, table, comm, tokens);
  const RaElem *hidden = NULL;
  const float *made;
  double loss;

  for (uint32_t i = 0; i < c->pp; i++)
    hidden = ra_pass_forward(s.passes[i], hidden, NULL, NULL);
  made = s.passes[c->pp - 1]->log_prob; /* or values: one array */
  r->worst = torch_worst(tokens->n_tokens, made,
                         &g_array_index(wanted, double, 0), 0.01);
  if (!c->loss)
    loss_gradient(c, tokens, made, &loss, d);
  else if (strcmp(c->loss, "sft.txt") == 0)
    sft_gradient(tokens, made, &loss, d);
  else
    pair_gradient(c, tokens, made, &loss, d);
  r->worst =
      fmax(r->worst, fabs(loss / g_array_index(wanted_loss, double, 0) - 1));
  hidden = ra_pass_backward(s.passes[c->pp - 1], NULL, d);
  if (c->pp == 2)
    ra_pass_backward(s.passes[0], NULL, hidden);
  sum_tied(c, &s);
  for (uint32_t i = 0; i < c->pp; i++) {
    ra_stage_sum_shared_grads(s.stages[i]);
    r->worst = fmax(r->worst, worst_gradient(c, s.params[i]));
  }
  stages_clear(&s);
  return NULL;
}

/* The largest relative error of anything, over all ranks. */
static double
worst_of(const Case *c)
{
  g_autoptr(RaLocalGroup) group = ra_local_group_new(c->tp, FALSE);
  /* GObject registers its types with the first file that is parsed, and reads
   * their names without a lock that ThreadSanitizer could see: not on ranks. */
  g_autoptr(RaModel) types = torch_model(c->kind);
  pthread_t threads[4];
  Rank ranks[4];
  double worst = 0;

  ck_assert(types && ra_backend_host(NULL) != NULL);
  for (uint32_t i = 0; i < c->tp; i++) {
    ranks[i] = (Rank){.c = c, .rank = i, .group = group};
    pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
  }
  for (uint32_t i = 0; i < c->tp; i++) {
    pthread_join(threads[i], NULL);
    worst = fmax(worst, ranks[i].worst);
  }
  return worst;
}

/* clang-format off */
static const Case cases[] = {
    {TORCH_PLAIN, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_PLAIN, 1, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_PLAIN, 1, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_PLAIN, 2, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    /* 4 ranks, 2 key heads */
    {TORCH_PLAIN, 4, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_TIED, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_TIED, 2, 2, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_TIED, 4, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_VALUE, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_VALUE, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_QWEN3, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_QWEN3, 2, 2, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_QWEN3, 4, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_MIXTRAL, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_MIXTRAL, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_MIXTRAL, 4, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_QWEN3_MOE, 1, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_QWEN3_MOE, 2, 2, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_QWEN3_MOE, 2, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_GPT2, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_GPT2, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_GPT2, 4, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_BLOOM, 1, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_BLOOM, 2, 2, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_BLOOM, 4, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_MPT, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_MPT, 2, 2, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_QWEN2_MOE, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_QWEN2_MOE, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_QWEN2_MOE, 4, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_GLM4_MOE, 1, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_GLM4_MOE, 2, 2, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_GLM4_MOE, 4, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_MINISTRAL, 1, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_MINISTRAL, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_MINISTRAL, 4, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_GPT_OSS, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_GPT_OSS, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_GPT_OSS, 4, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_DEEPSEEK, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_DEEPSEEK, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_DEEPSEEK, 4, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_DEEPSEEK_WHOLE, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_DEEPSEEK_WHOLE, 2, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_LLAMA3, 1, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_LLAMA3, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_GPT_OSS_YARN, 1, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_GPT_OSS_YARN, 2, 2, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_DEEPSEEK_YARN, 1, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_DEEPSEEK_YARN, 2, 2, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_DEEPSEEK_V2, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_DEEPSEEK_V2, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_DEEPSEEK_V2_LITE, 1, 1, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_DEEPSEEK_V2_LITE, 4, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_KIMI, 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_KIMI, 2, 2, RA_RECOMPUTE_FULL, FALSE, NULL},
    {TORCH_GLM_LITE, 1, 1, RA_RECOMPUTE_SELECTIVE, FALSE, NULL},
    {TORCH_GLM_LITE, 2, 2, RA_RECOMPUTE_NONE, FALSE, NULL},
    {TORCH_PLAIN, 1, 1, RA_RECOMPUTE_NONE, FALSE, "sft.txt"},
    {TORCH_PLAIN, 2, 2, RA_RECOMPUTE_NONE, FALSE, "sft.txt"},
    {TORCH_PLAIN, 1, 1, RA_RECOMPUTE_NONE, FALSE, "dpo.txt"},
    {TORCH_PLAIN, 2, 2, RA_RECOMPUTE_FULL, FALSE, "dpo.txt"},
    {TORCH_VALUE, 1, 1, RA_RECOMPUTE_NONE, FALSE, "reward.txt"},
    {TORCH_VALUE, 2, 2, RA_RECOMPUTE_NONE, FALSE, "reward.txt"},
};
/* clang-format on */

START_TEST(test_layout)
{
  double worst = worst_of(&cases[_i]);

  printf("# %d: %.3g\n", _i, worst);
  ck_assert_msg(worst < BAR, "case %d: off by %g", _i, worst);
}
END_TEST

/* One weight of 2,000 off by 0.01 is seen. */
START_TEST(test_fault)
{
  Case c = cases[0];

  c.fault = TRUE;
  ck_assert_double_gt(worst_of(&c), 10 * BAR);
}
END_TEST

/* Logits of the first sequence of five: row by row of its prefixes, by a
 * prefill of the first three tokens and two steps from the cache. */
START_TEST(test_generate)
{
  static const TorchModel generators[] = {TORCH_PLAIN,
                                          TORCH_QWEN3,
                                          TORCH_MIXTRAL,
                                          TORCH_QWEN3_MOE,
                                          TORCH_GPT2,
                                          TORCH_BLOOM,
                                          TORCH_MPT,
                                          TORCH_QWEN2_MOE,
                                          TORCH_GLM4_MOE,
                                          TORCH_MINISTRAL,
                                          TORCH_GPT_OSS,
                                          TORCH_DEEPSEEK,
                                          TORCH_DEEPSEEK_WHOLE,
                                          TORCH_LLAMA3,
                                          TORCH_GPT_OSS_YARN,
                                          TORCH_DEEPSEEK_YARN,
                                          TORCH_DEEPSEEK_V2,
                                          TORCH_DEEPSEEK_V2_LITE,
                                          TORCH_KIMI,
                                          TORCH_GLM_LITE};
  const Case c = {generators[_i], 1, 1, RA_RECOMPUTE_NONE, FALSE, NULL};
  g_autoptr(RaModel) model = torch_model(c.kind);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(RaTokens) all = torch_tokens();
  const uint32_t length = 3, slot = 1, *text = all->tokens;
  g_autoptr(RaTokens) prompt = ra_tokens_new(1, &length, &text);
  g_autoptr(GArray) wanted = torch_read(file_of(&c), "logits");
  const Rank rank = {.c = &c};
  Stages s = stages_new(&rank, table, NULL, prompt);
  const RaCacheShape shape = {
      .n_layers = 2, .n_slots = 2, .n_positions = 8, .page_tokens = 2};
  g_autoptr(RaCache) cache = ra_stage_new_cache(s.stages[0], &shape);
  const RaPiece piece = s.passes[0]->piece;
  float logits[29];

  ra_pass_forward(s.passes[0], NULL, cache, &slot);
  ra_pass_last_logits(s.passes[0], logits);
  ck_assert_double_lt(
      torch_worst(29, logits, &g_array_index(wanted, double, 2 * 29), 0.01),
      BAR);
  for (uint32_t at = 3; at < 5; at++) {
    ra_stage_decode(s.stages[0], &piece, cache, 1, &slot, text + at, &at, NULL,
                    logits);
    ck_assert_double_lt(
        torch_worst(29, logits, &g_array_index(wanted, double, at * 29), 0.01),
        BAR);
  }
  stages_clear(&s);
}
END_TEST

/* Advantages of algorithms without a critic. */
START_TEST(test_without_critic)
{
  g_autoptr(RaTokens) tokens = torch_tokens();
  g_autoptr(GArray) left_out = torch_read("scalars.txt", "leave_one_out");
  g_autoptr(GArray) remax = torch_read("scalars.txt", "remax");
  float rewards[12], old[88], reference[88], out[88];

  for (uint32_t i = 0; i < 12; i++)
    rewards[i] = torch_value(920, i, 1);
  ra_cpu_leave_one_out(3, 4, rewards, rewards);
  ck_assert_double_lt(
      torch_worst(12, rewards, &g_array_index(left_out, double, 0), 0.01), BAR);
  for (uint32_t i = 0; i < 88; i++) {
    old[i] = torch_value(921, i, 1);
    reference[i] = torch_value(922, i, 1);
  }
  for (uint32_t s = 0; s < 4; s++) {
    uint32_t at = tokens->begin[s];

    ra_cpu_remax_advantages(tokens->begin[s + 1] - at, old + at, reference + at,
                            0.7 - 0.25, 0.01, out + at);
  }
  ck_assert_double_lt(
      torch_worst(88, out, &g_array_index(remax, double, 0), 0.01), BAR);
}
END_TEST

/* Advantages, and five clipped AdamW steps. */
START_TEST(test_scalars)
{
  const RaCpuAdamw adamw = {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f};
  g_autoptr(RaTokens) tokens = torch_tokens();
  g_autoptr(GArray) advantages = torch_read("scalars.txt", "advantages");
  g_autoptr(GArray) weights = torch_read("scalars.txt", "weights");
  float rewards[88], values[88], grad[100], w[100];
  float first[100] = {0}, second[100] = {0};

  for (uint32_t i = 0; i < 88; i++) {
    rewards[i] = torch_value(906, i, 1);
    values[i] = torch_value(907, i, 1);
  }
  ra_cpu_gae(4, tokens->begin, rewards, values, 0.99f, 0.95f, rewards, NULL);
  ck_assert_double_lt(
      torch_worst(88, rewards, &g_array_index(advantages, double, 0), 0.01),
      BAR);
  for (uint32_t i = 0; i < 100; i++)
    w[i] = torch_value(908, i, 1);
  for (uint32_t step = 0; step < 5; step++) {
    double norm;

    for (uint32_t i = 0; i < 100; i++)
      grad[i] = torch_value(910 + step, i, 0.3);
    norm = sqrt(ra_cpu_sum_squares(100, grad));
    ra_cpu_adamw(100, &adamw, step + 1, (float)fmin(1, 1 / (norm + 1e-6)), grad,
                 w, first, second);
  }
  ck_assert_double_lt(
      torch_worst(100, w, &g_array_index(weights, double, 0), 0.01), BAR);
}
END_TEST

static Suite *
exec_torch_suite(void)
{
  Suite *suite = suite_create("exec_torch");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_layout, 0, G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_fault);
  tcase_add_loop_test(tcase, test_generate, 0, 20);
  tcase_add_test(tcase, test_without_critic);
  tcase_add_test(tcase, test_scalars);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(exec_torch_suite)
