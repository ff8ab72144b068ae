/* The families of Hugging Face models that are one table of features. */
#include "config.h"

#include "graph/input/model_family.h"

/* clang-format off */
static const Other others[] = {
  /* type, features, kv, head, period, dense, experts, chosen */
  {"deepseek_v2", LATENT | MOE | BIAS, 0, 0, 0, 0, 64, 6},
  {"deepseek_v3", LATENT | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"kimi_k2", LATENT | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"deepseek_v32", LATENT | INDEXER | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"glm_moe_dsa", LATENT | INDEXER | MOE | BIAS, 0, 0, 0, 3, 256, 8},
  {"glm4_moe_lite", LATENT | MOE | BIAS, 0, 0, 0, 1, 64, 4},
  {"youtu", LATENT | BIAS | TIED, 0, 0, 0, 0, 0, 0},
  {"minicpm3", LATENT | BIAS | TIED, 0, 0, 0, 0, 0, 0},
  {"sarvam_mla", LATENT | MOE | BIAS, 0, 0, 0, 1, 128, 8},
  {"deepseek_v4", MOE, 1, 512, 0, 0, 256, 6},
  {"kimi_linear", LATENT | KIMI | MOE | BIAS, 0, 0, 4, 1, 256, 8},
  {"glm4_moe", MOE | BIAS | NO_OUT | QK_HEAD | QK_KEY, 8, 0, 0, 1, 128, 8},
  {"glm4v_moe_text", MOE | BIAS | BIAS_ON | NO_OUT, 8, 0, 0, 1, 128, 8},
  {"solar_open", MOE | BIAS | NO_OUT, 8, 128, 0, 0, 128, 8},
  {"sarvam_moe", MOE | BIAS | NO_OUT | QK_HEAD | QK_KEY, 4, 0, 0, 1, 128, 6},
  {"dots1", MOE | BIAS | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"hy_v3", MOE | BIAS | QK_HEAD, 8, 128, 0, 1, 192, 8},
  {"qwen2_moe", MOE | BIAS | BIAS_ON | NO_OUT | SHARED_GATE, 16, 0, 0, 0, 60,
   4},
  {"qwen3_next", MOE | BIAS | QK_HEAD | GATE | DELTA | SHARED_GATE, 2, 256, 4,
   0, 512, 10},
  {"qwen3_5_text", BIAS | QK_HEAD | GATE | DELTA, 4, 256, 4, 0, 0, 0},
  {"qwen3_5_moe_text", MOE | BIAS | QK_HEAD | GATE | DELTA | SHARED_GATE, 2,
   256, 4, 0, 256, 8},
  {"gpt_oss", MOE | BIAS | BIAS_ON | SINKS | ROUTER_BIAS | EXPERT_BIAS, 8, 64,
   2, 0, 128, 4},
  {"minimax_m2", MOE | QK_WIDE, 8, 128, 0, 0, 256, 8},
  {"minimax_m3_vl_text", MOE | QK_HEAD, 4, 128, 0, 0, 128, 4},
  {"minimax_m3", MOE | QK_HEAD, 4, 128, 0, 0, 128, 4},
  {"olmoe", MOE | BIAS | QK_WIDE, 0, 0, 0, 0, 64, 8},
  {"flex_olmo", MOE | BIAS | QK_WIDE, 0, 0, 0, 0, 7, 5},
  {"granitemoe", MOE | BIAS, 0, 0, 0, 0, 8, 2},
  {"granitemoeshared", MOE | BIAS, 0, 0, 0, 0, 8, 2},
  {"granitemoe_swa", MOE | BIAS | SINKS, 0, 0, 0, 0, 8, 2},
  {"granitemoehybrid", MOE | BIAS | MAMBA, 0, 0, 0, 0, 8, 2},
  {"phimoe", MOE | BIAS | LAYER | HEAD_BIAS, 8, 0, 0, 0, 16, 2},
  {"ernie4_5_moe", MOE | TIED | ROUTER_BIAS, 4, 0, 0, 1, 64, 6},
  {"exaone_moe", MOE | QK_HEAD, 0, 0, 4, 1, 64, 8},
  {"afmoe", MOE | BIAS | QK_HEAD | FOUR_NORMS | GATE | ROUTER_BIAS, 0, 128, 4,
   1, 64, 6},
  {"llama4_text", MOE | BIAS | NOPE | CHUNKED, 8, 128, 4, 0, 16, 1},
  {"hunyuan_v1_moe", MOE | BIAS | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"cohere2_moe", MOE | BIAS | NO_OFFSET | ONE_NORM | TIED, 0, 128, 4, 0, 8,
   2},
  {"nemotron_h", MOE | MAMBA | PLAIN | BLOCKS, 8, 128, 0, 0,
   8, 2},
  {"bamba", MAMBA | BIAS | MLP_BIAS, 8, 0, 0, 0, 0, 0},
  {"lfm2", CONV | QK_HEAD | TIED, 8, 0, 0, 0, 0, 0},
  {"lfm2_moe", CONV | MOE | QK_HEAD | TIED | ROUTER_BIAS, 8, 0, 0, 2, 0, 0},
  {"gemma", BIAS | TIED, 16, 256, 0, 0, 0, 0},
  {"gemma2", BIAS | TIED | FOUR_NORMS, 4, 256, 2, 0, 0, 0},
  {"vaultgemma", BIAS | TIED, 4, 256, 2, 0, 0, 0},
  {"gemma4_text", MOE | BIAS | TIED | FOUR_NORMS | QK_HEAD, 4, 256, 6, 0, 0,
   0},
  {"gemma3_text", BIAS | TIED | FOUR_NORMS | QK_HEAD, 4, 256, 6, 0, 0, 0},
  {"olmo2", BIAS | QK_WIDE, 0, 0, 0, 0, 0, 0},
  {"olmo3", BIAS | QK_WIDE, 0, 0, 4, 0, 0, 0},
  {"cohere", BIAS | NO_OFFSET | ONE_NORM | TIED, 0, 0, 0, 0, 0, 0},
  {"cohere2", BIAS | NO_OFFSET | ONE_NORM | TIED, 0, 128, 4, 0, 0, 0},
  {"phi", ALL_BIAS | LAYER | ONE_NORM | PLAIN | HEAD_BIAS, 0, 0, 0, 0, 0, 0},
  {"ernie4_5", USE_BIAS | TIED, 2, 128, 0, 0, 0, 0},
  {"hunyuan_v1_dense", BIAS | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"arcee", BIAS | MLP_BIAS | PLAIN, 0, 0, 0, 0, 0, 0},
  {"glm", BIAS | BIAS_ON | NO_OUT, 2, 128, 0, 0, 0, 0},
  {"glm4", BIAS | BIAS_ON | NO_OUT | FOUR_NORMS, 2, 128, 0, 0, 0, 0},
  {"glm4v_text", BIAS | BIAS_ON | NO_OUT | FOUR_NORMS, 2, 0, 0, 0, 0, 0},
  {"exaone", BIAS | MLP_BIAS, 8, 0, 0, 0, 0, 0},
  {"exaone4", QK_HEAD, 0, 0, 4, 0, 0, 0},
  {"starcoder2", USE_BIAS | BIAS_ON | LAYER | PLAIN | TIED, 2, 0, 0, 0, 0, 0},
  {"stablelm", BIAS | NO_OUT | LAYER, 0, 0, 0, 0, 0, 0},
  {"gpt_neox", BIAS | BIAS_ON | ALL_BIAS | LAYER | PLAIN, 0, 0, 0, 0, 0, 0},
  {"persimmon", ALL_BIAS | LAYER | PLAIN | QK_HEAD, 0, 0, 0, 0, 0, 0},
  {"internlm3", BIAS | MLP_BIAS, 2, 128, 0, 0, 0, 0},
  {"helium", BIAS | NO_OUT | MLP_BIAS, 0, 128, 0, 0, 0, 0},
  {"cwm", MLP_BIAS, 8, 128, 4, 0, 0, 0},
  {"iquestcoder", BIAS | MLP_BIAS, 8, 128, 0, 0, 0, 0},
  {"olmo_hybrid", BIAS | QK_WIDE | DELTA, 0, 0, 4, 0, 0, 0},
  {"granite_swa", BIAS | MLP_BIAS | TIED | SINKS, 4, 0, 0, 0, 0, 0},
};
/* clang-format on */

const char *
ra_model_other_type(guint index)
{
  return index < G_N_ELEMENTS(others) ? others[index].type : NULL;
}

const Other *
ra_model_other(const char *type)
{
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    if (g_str_equal(others[i].type, type))
      return &others[i];
  return NULL;
}
