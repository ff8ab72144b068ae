/* Results of PyTorch and their models (tests/torch/fixtures.py; for gpt2, bloom
 * and mpt tests/torch/classic.py; what
 * follows them tests/torch/families.py).
 *
 *     g_autoptr(RaModel) model = torch_model(TORCH_TIED);
 *     torch_fill(params);                   the weights that the script had
 *     GArray *logits = torch_read("actor-tied.txt", "logits");     of double
 */
#ifndef RA_TESTS_SUPPORT_TORCH_FIXTURE_H
#define RA_TESTS_SUPPORT_TORCH_FIXTURE_H

#include "exec/model/params.h"
#include "exec/model/stage.h"
#include "exec/model/tokens.h"

typedef enum {
  TORCH_PLAIN,
  TORCH_TIED,      /* tied embeddings, biases of q, k and v */
  TORCH_VALUE,     /* value head */
  TORCH_QWEN3,     /* norms of q and k */
  TORCH_MIXTRAL,   /* experts in each layer, weights divided */
  TORCH_QWEN3_MOE, /* experts in the second layer, weights not divided, and
                      norms of q and k */
  TORCH_GPT2,      /* LayerNorm, learned positions, tanh GELU, biases, tied */
  TORCH_BLOOM,     /* ALiBi instead of positions, a norm of the embedding */
  TORCH_MPT,       /* ALiBi, GELU, no bias anywhere */
  TORCH_QWEN2_MOE, /* shared experts with a gate, biases of q, k and v */
  TORCH_GLM4_MOE,  /* groups of experts by sigmoids, a corrected choice, shared
                      experts, heads half of which rotates */
  TORCH_MINISTRAL, /* attention within windows of 3 in the first layer */
  TORCH_GPT_OSS,   /* the same, sinks, experts and a router with biases, a
                      clamped SwiGLU */
  TORCH_DEEPSEEK,  /* latent attention, neighbours that rotate, GLM's experts */
  TORCH_DEEPSEEK_WHOLE, /* without latent queries; halves that rotate */
  TORCH_LLAMA3,         /* the first with frequencies of kind llama3 */
  TORCH_GPT_OSS_YARN,   /* frequencies of kind yarn */
  TORCH_DEEPSEEK_YARN,  /* likewise, and scores that are scaled */
  TORCH_DEEPSEEK_V2, /* weights of a softmax, scaled; groups by their largest */
  TORCH_DEEPSEEK_V2_LITE, /* without groups and latent queries; yarn */
  TORCH_KIMI,    /* DeepSeek-V3 with one group and a yarn of one step */
  TORCH_GLM_LITE /* latent attention, one group by sigmoids */
} TorchModel;

/* (transfer full) */
RaModel *torch_model(TorchModel kind);

/* The file of the model's results. */
const char *torch_file(TorchModel kind);
RaNumerics torch_numerics(TorchModel kind);

/* Number @i of the script's value(stream, ..., scale). */
float torch_value(uint32_t stream, uint32_t i, double scale);

/* Fills @params with its part of the script's parameters(). */
void torch_fill(RaParams *params);

/* (transfer full): the script's texts(). */
RaTokens *torch_tokens(void);

/* (transfer full): line @name of tests/data/torch/@file, doubles. */
GArray *torch_read(const char *file, const char *name);

/* The largest |got - wanted| / (|wanted| + floor); numbers below @floor count
 * as small. */
double torch_worst(gsize n, const float *got, const double *wanted,
                   double floor);

/* The largest magnitude of @values. */
double torch_most(const GArray *values);

#endif
