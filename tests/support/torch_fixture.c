/* Models, weights and results of the PyTorch scripts. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/torch_fixture.h"

#define VOCAB 29
#define N_TEXTS 4

#define DEEPSEEK                                                               \
  " \"model_type\": \"deepseek_v3\", \"hidden_size\": 16,"                     \
  " \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"                     \
  " \"kv_lora_rank\": 6, \"qk_nope_head_dim\": 3,"                             \
  " \"v_head_dim\": 5, \"intermediate_size\": 24, \"vocab_size\": 29,"         \
  " \"max_position_embeddings\": 128, \"n_routed_experts\": 8,"                \
  " \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 12,"                \
  " \"first_k_dense_replace\": 1, \"n_shared_experts\": 2}"
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
    [TORCH_DEEPSEEK] =
        {NULL, "deepseek_v3.txt",
         "{\"q_lora_rank\": 7, \"qk_rope_head_dim\": 4," DEEPSEEK},
    [TORCH_DEEPSEEK_WHOLE] = {NULL, "deepseek_v3_whole.txt",
                              "{\"q_lora_rank\": null,"
                              " \"qk_rope_head_dim\": 4," DEEPSEEK},
    [TORCH_DEEPSEEK_YARN] = {NULL, "deepseek_v3_yarn.txt",
                             "{\"q_lora_rank\": 7,"
                             " \"qk_rope_head_dim\": 8," DEEPSEEK},
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

/* Those of families.py, where they are keys of config.json; what follows from
 * these is in tests/exec/check_rope.c. */
static void
set_rope(TorchModel kind, RaNumerics *numerics)
{
  RaCpuRope *rope = &numerics->rope;

  if (kind == TORCH_LLAMA3)
    *rope = (RaCpuRope){.theta = 10000,
                        .kind = RA_CPU_ROPE_LLAMA3,
                        .factor = 8,
                        .length = 128,
                        .low = 1,
                        .high = 4};
  if (kind != TORCH_GPT_OSS_YARN && kind != TORCH_DEEPSEEK_YARN)
    return;
  *rope = (RaCpuRope){.theta = 100,
                      .kind = RA_CPU_ROPE_YARN,
                      .factor = 32,
                      .length = 64,
                      .low = 0.5,
                      .high = 4,
                      .amplitude = 0.1 * log(32) + 1,
                      .exact_pairs = TRUE};
  if (kind == TORCH_GPT_OSS_YARN)
    return;
  rope->factor = 40;
  rope->exact_pairs = FALSE;
  rope->amplitude = (0.07 * log(40) + 1) / (0.13 * log(40) + 1);
  numerics->score_scale = pow(0.13 * log(40) + 1, 2) / sqrt(3 + 8);
}

/* The router of DeepSeek-V3 and GLM-4.5. */
static void
set_router(TorchModel kind, RaNumerics *numerics)
{
  static float bias[2][8];

  for (uint32_t i = 0; i < 8; i++)
    bias[1][i] = torch_value(951, i, 0.2); /* layer 0 is dense */
  numerics->sigmoid_router = TRUE;
  numerics->router_scale = kind == TORCH_DEEPSEEK ? 1.5f : 2.5f;
  numerics->router_groups = 4;
  numerics->open_groups = 2;
  numerics->router_bias = bias[0];
}

RaNumerics
torch_numerics(TorchModel kind)
{
  RaNumerics numerics = RA_NUMERICS_DEFAULT;
  gboolean deepseek = kind == TORCH_DEEPSEEK || kind == TORCH_DEEPSEEK_WHOLE ||
                      kind == TORCH_DEEPSEEK_YARN;

  numerics.raw_top_k = kind == TORCH_QWEN3_MOE || kind == TORCH_QWEN2_MOE;
  numerics.clamped_swiglu = kind == TORCH_GPT_OSS || kind == TORCH_GPT_OSS_YARN;
  numerics.rope_pairs = deepseek && kind != TORCH_DEEPSEEK_WHOLE;
  if (kind == TORCH_GLM4_MOE)
    numerics.rotary_dim = 4; /* of 8 */
  if (kind == TORCH_GLM4_MOE || deepseek)
    set_router(kind, &numerics);
  set_rope(kind, &numerics);
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
