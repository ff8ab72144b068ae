/* Models, weights and results of the PyTorch scripts. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/torch_fixture.h"

#define VOCAB 29
#define N_TEXTS 4

#define LATENT(type, q_rank, nope, rope, shared)                               \
  "{\"model_type\": \"" type "\", \"q_lora_rank\": " q_rank                    \
  ", \"qk_nope_head_dim\": " nope ", \"qk_rope_head_dim\": " rope              \
  ", \"n_shared_experts\": " shared ", \"hidden_size\": 16,"                   \
  " \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"                     \
  " \"kv_lora_rank\": 6, \"v_head_dim\": 5, \"intermediate_size\": 24,"        \
  " \"vocab_size\": 29, \"max_position_embeddings\": 128,"                     \
  " \"n_routed_experts\": 8, \"num_experts_per_tok\": 2,"                      \
  " \"moe_intermediate_size\": 12, \"first_k_dense_replace\": 1}"
#define GPT_OSS                                                                \
  " \"model_type\": \"gpt_oss\", \"hidden_size\": 16,"                         \
  " \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"                     \
  " \"num_key_value_heads\": 2, \"intermediate_size\": 12,"                    \
  " \"vocab_size\": 29, \"max_position_embeddings\": 128,"                     \
  " \"num_local_experts\": 4, \"num_experts_per_tok\": 2,"                     \
  " \"sliding_window\": 3, \"layer_types\":"                                   \
  " [\"sliding_attention\", \"full_attention\"]}"

static const struct {
  const char *type, *file;
  const char *more; /* further keys; without a type all of the config */
} kinds[] = {
    [TORCH_PLAIN] = {"llama", "actor.txt", ""},
    [TORCH_TIED] = {"qwen2", "actor-tied.txt",
                    ", \"tie_word_embeddings\": true"},
    [TORCH_VALUE] = {"llama", "critic.txt", ""},
    [TORCH_QWEN3] = {"qwen3", "qwen3.txt", ""},
    [TORCH_MIXTRAL] = {"mixtral", "mixtral.txt",
                       ", \"intermediate_size\": 12, \"num_local_experts\": 4,"
                       " \"num_experts_per_tok\": 2"},
    [TORCH_QWEN3_MOE] = {"qwen3_moe", "qwen3_moe.txt",
                         ", \"moe_intermediate_size\": 12, \"num_experts\": 4,"
                         " \"num_experts_per_tok\": 2,"
                         " \"mlp_only_layers\": [0]"},
    [TORCH_GPT2] = {NULL, "gpt2.txt",
                    "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 16,"
                    " \"n_head\": 4, \"n_inner\": 24, \"vocab_size\": 29,"
                    " \"n_positions\": 128}"},
    [TORCH_BLOOM] = {NULL, "bloom.txt",
                     "{\"model_type\": \"bloom\", \"n_layer\": 2,"
                     " \"hidden_size\": 16, \"n_head\": 4,"
                     " \"vocab_size\": 29}"},
    [TORCH_MPT] = {NULL, "mpt.txt",
                   "{\"model_type\": \"mpt\", \"n_layers\": 2, \"d_model\": 16,"
                   " \"n_heads\": 4, \"vocab_size\": 29,"
                   " \"max_seq_len\": 128}"},
    [TORCH_QWEN2_MOE] = {"qwen2_moe", "qwen2_moe.txt",
                         ", \"moe_intermediate_size\": 12, \"num_experts\": 4,"
                         " \"num_experts_per_tok\": 2,"
                         " \"shared_expert_intermediate_size\": 20,"
                         " \"mlp_only_layers\": [0]"},
    [TORCH_MINISTRAL] = {"ministral", "ministral.txt",
                         ", \"sliding_window\": 3, \"layer_types\":"
                         " [\"sliding_attention\", \"full_attention\"]"},
    [TORCH_GPT_OSS] = {NULL, "gpt_oss.txt", "{\"head_dim\": 4," GPT_OSS},
    [TORCH_GPT_OSS_YARN] = {NULL, "gpt_oss_yarn.txt",
                            "{\"head_dim\": 8," GPT_OSS},
    [TORCH_DEEPSEEK] = {NULL, "deepseek_v3.txt",
                        LATENT("deepseek_v3", "7", "3", "4", "2")},
    [TORCH_DEEPSEEK_WHOLE] = {NULL, "deepseek_v3_whole.txt",
                              LATENT("deepseek_v3", "null", "3", "4", "2")},
    [TORCH_DEEPSEEK_YARN] = {NULL, "deepseek_v3_yarn.txt",
                             LATENT("deepseek_v3", "7", "3", "8", "2")},
    [TORCH_DEEPSEEK_V2] = {NULL, "deepseek_v2.txt",
                           LATENT("deepseek_v2", "7", "4", "4", "2")},
    [TORCH_DEEPSEEK_V2_LITE] = {NULL, "deepseek_v2_lite.txt",
                                LATENT("deepseek_v2", "null", "4", "8", "2")},
    [TORCH_KIMI] = {NULL, "kimi_k2.txt", LATENT("kimi_k2", "7", "3", "4", "2")},
    [TORCH_GLM_LITE] = {NULL, "glm4_moe_lite.txt",
                        LATENT("glm4_moe_lite", "7", "3", "4", "1")},
    [TORCH_LLAMA3] = {NULL, "llama3.txt",
                      "{\"model_type\": \"llama\", \"hidden_size\": 16,"
                      " \"num_hidden_layers\": 2,"
                      " \"num_attention_heads\": 4,"
                      " \"num_key_value_heads\": 2, \"head_dim\": 8,"
                      " \"intermediate_size\": 24, \"vocab_size\": 29,"
                      " \"max_position_embeddings\": 128}"},
    [TORCH_GLM4_MOE] =
        {NULL, "glm4_moe.txt",
         "{\"model_type\": \"glm4_moe\", \"hidden_size\": 16,"
         " \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
         " \"num_key_value_heads\": 2, \"head_dim\": 8,"
         " \"intermediate_size\": 24, \"vocab_size\": 29,"
         " \"max_position_embeddings\": 128, \"n_routed_experts\": 8,"
         " \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 12,"
         " \"first_k_dense_replace\": 1, \"n_shared_experts\": 2,"
         " \"use_qk_norm\": true, \"attention_bias\": true}"},
};

RaModel *
torch_model(TorchModel kind)
{
  g_autofree char *text = g_strdup_printf(
      "{\"model_type\": \"%s\", \"hidden_size\": 16, \"num_hidden_layers\": 2,"
      " \"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
      " \"head_dim\": 4, %s\"vocab_size\": %d,"
      " \"max_position_embeddings\": 128%s}",
      kinds[kind].type,
      kind == TORCH_MIXTRAL ? "" : "\"intermediate_size\": 24, ", VOCAB,
      kinds[kind].more);
  const char *config = kinds[kind].type ? text : kinds[kind].more;
  g_autoptr(GError) error = NULL;
  RaModel *model = ra_model_parse("torch.json", config, strlen(config), &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  if (kind == TORCH_VALUE)
    ra_model_set_head(model, RA_HEAD_VALUE);
  return model;
}

const char *
torch_file(TorchModel kind)
{
  return kinds[kind].file;
}

/* Numbers of families.py, where they are keys of config.json; what follows from
 * these is in tests/exec/check_rope.c. */
static RaCpuRope
rope_of(TorchModel kind)
{
  RaCpuRope rope = {.theta = kind == TORCH_GLM_LITE ? 1000 : 10000};

  if (kind == TORCH_LLAMA3)
    return (RaCpuRope){.theta = 10000,
                       .kind = RA_CPU_ROPE_LLAMA3,
                       .factor = 8,
                       .length = 128,
                       .low = 1,
                       .high = 4};
  if (kind != TORCH_GPT_OSS_YARN && kind != TORCH_DEEPSEEK_YARN &&
      kind != TORCH_DEEPSEEK_V2_LITE && kind != TORCH_KIMI)
    return rope;
  rope = (RaCpuRope){.theta = 100,
                     .kind = RA_CPU_ROPE_YARN,
                     .factor = 40,
                     .length = 64,
                     .low = 0.5,
                     .high = 4};
  if (kind == TORCH_GPT_OSS_YARN) {
    rope.factor = 32;
    rope.exact_pairs = TRUE;
    rope.amplitude = 0.1 * log(32) + 1;
  } else if (kind == TORCH_DEEPSEEK_YARN) {
    rope.amplitude = (0.07 * log(40) + 1) / (0.13 * log(40) + 1);
  } else if (kind == TORCH_KIMI) {
    rope.theta = 50000;
    rope.factor = 32;
    rope.low = rope.high = 1;
  }
  return rope;
}

/* With `mscale_all_dim` of 1.3, 0.707 and 1; of nope and rope elements. */
static double
score_scale_of(TorchModel kind)
{
  return kind == TORCH_DEEPSEEK_YARN ? pow(0.13 * log(40) + 1, 2) / sqrt(3 + 8)
         : kind == TORCH_DEEPSEEK_V2_LITE
             ? pow(0.0707 * log(40) + 1, 2) / sqrt(4 + 8)
         : kind == TORCH_KIMI ? pow(0.1 * log(32) + 1, 2) / sqrt(3 + 4)
                              : 0;
}

/* Softmax, one group or four that compare by their largest. */
static void
set_v2_router(TorchModel kind, RaNumerics *numerics)
{
  numerics->raw_top_k = TRUE;
  if (kind == TORCH_DEEPSEEK_V2_LITE)
    return;
  numerics->router_scale = 3;
  numerics->router_groups = 4;
  numerics->open_groups = 2;
  numerics->groups_by_largest = TRUE;
}

/* Sigmoids, and a bias of the choice. */
static void
set_sigmoids(TorchModel kind, RaNumerics *numerics)
{
  static float bias[2][8];

  for (uint32_t i = 0; i < 8; i++)
    bias[1][i] = torch_value(951, i, 0.2); /* layer 0 is dense */
  numerics->sigmoid_router = TRUE;
  numerics->router_scale = kind == TORCH_DEEPSEEK   ? 1.5f
                           : kind == TORCH_KIMI     ? 2.827f
                           : kind == TORCH_GLM_LITE ? 1.8f
                                                    : 2.5f;
  numerics->router_bias = bias[0];
  if (kind == TORCH_KIMI || kind == TORCH_GLM_LITE)
    return;
  numerics->router_groups = 4;
  numerics->open_groups = 2;
}

RaNumerics
torch_numerics(TorchModel kind)
{
  RaNumerics numerics = RA_NUMERICS_DEFAULT;
  gboolean v2 = kind == TORCH_DEEPSEEK_V2 || kind == TORCH_DEEPSEEK_V2_LITE;
  gboolean v3 = kind == TORCH_DEEPSEEK || kind == TORCH_DEEPSEEK_WHOLE ||
                kind == TORCH_DEEPSEEK_YARN || kind == TORCH_KIMI ||
                kind == TORCH_GLM_LITE;

  numerics.raw_top_k = kind == TORCH_QWEN3_MOE || kind == TORCH_QWEN2_MOE;
  numerics.clamped_swiglu = kind == TORCH_GPT_OSS || kind == TORCH_GPT_OSS_YARN;
  numerics.rope_pairs = (v2 || v3) && kind != TORCH_DEEPSEEK_WHOLE;
  if (kind == TORCH_GLM4_MOE)
    numerics.rotary_dim = 4; /* of 8 */
  if (v2)
    set_v2_router(kind, &numerics);
  else if (kind == TORCH_GLM4_MOE || v3)
    set_sigmoids(kind, &numerics);
  numerics.rope = rope_of(kind);
  numerics.score_scale = score_scale_of(kind);
  return numerics;
}

float
torch_value(uint32_t stream, uint32_t i, double scale)
{
  uint32_t x = i * 2654435761u + stream * 40503u + 12345u;

  x = (x ^ (x >> 15)) * 2246822519u;
  x = (x ^ (x >> 13)) * 3266489917u;
  x ^= x >> 16;
  return (float)(scale * (((double)x + 0.5) / 0x1p31 - 1));
}

void
torch_fill(RaParams *params)
{
  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *param = &params->params[i];
    float *out = ra_host_floats(params->weights) + param->offset;

    for (uint64_t row = 0; row < param->rect.n_rows; row++)
      for (uint64_t col = 0; col < param->rect.n_cols; col++) {
        uint64_t at = (param->rect.row + row) * param->tensor.cols +
                      param->rect.col + col;
        float value = torch_value(param->index, (uint32_t)at, 0.3);

        *out++ = param->tensor.kind == RA_TENSOR_NORM ? 1 + value : value;
      }
  }
}

RaTokens *
torch_tokens(void)
{
  static const uint32_t lengths[N_TEXTS] = {5, 70, 1, 12};
  uint32_t tokens[88];
  const uint32_t *texts[N_TEXTS];
  uint32_t at = 0;

  for (uint32_t i = 0; i < G_N_ELEMENTS(tokens); i++)
    tokens[i] = (uint32_t)(((double)torch_value(900, i, 1) + 1) / 2 * VOCAB);
  for (uint32_t s = 0; s < N_TEXTS; s++) {
    texts[s] = tokens + at;
    at += lengths[s];
  }
  return ra_tokens_new(N_TEXTS, lengths, texts);
}

GArray *
torch_read(const char *file, const char *name)
{
  const char *srcdir = g_getenv("srcdir");
  g_autofree char *path = g_build_filename(srcdir ? srcdir : ".", "tests",
                                           "data", "torch", file, NULL);
  g_autofree char *text = NULL;
  g_autofree char *key = g_strdup_printf("%s ", name);
  g_auto(GStrv) lines = NULL;
  GArray *values = g_array_new(FALSE, FALSE, sizeof(double));

  ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "no %s", path);
  lines = g_strsplit(text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    const char *at = lines[i];

    if (!g_str_has_prefix(at, key))
      continue;
    for (at += strlen(name); *at == ' ';) {
      char *end;
      double value = g_ascii_strtod(at, &end);

      g_array_append_val(values, value);
      at = end;
    }
  }
  ck_assert_msg(values->len > 0, "no %s in %s", name, path);
  return values;
}

double
torch_worst(gsize n, const float *got, const double *wanted, double floor)
{
  double worst = 0;

  for (gsize i = 0; i < n; i++) {
    double error = fabs((double)got[i] - wanted[i]);

    worst = fmax(worst, error / (fabs(wanted[i]) + floor));
  }
  return worst;
}

double
torch_most(const GArray *values)
{
  double most = 0;

  for (guint i = 0; i < values->len; i++)
    most = fmax(most, fabs(g_array_index(values, double, i)));
  return most;
}
