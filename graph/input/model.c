/* Models: invariants, numbers of parameters, models from bare shapes. */
#include "config.h"

#include <stdarg.h>

#include "base/error.h"
#include "graph/input/lora.h"
#include "graph/input/model.h"

const char *
ra_model_family_name(RaModelFamily family)
{
  static const char *const names[] = {[RA_FAMILY_LLAMA] = "llama",
                                      [RA_FAMILY_MISTRAL] = "mistral",
                                      [RA_FAMILY_QWEN2] = "qwen2",
                                      [RA_FAMILY_QWEN3] = "qwen3",
                                      [RA_FAMILY_MIXTRAL] = "mixtral",
                                      [RA_FAMILY_QWEN3_MOE] = "qwen3_moe",
                                      [RA_FAMILY_GPT2] = "gpt2",
                                      [RA_FAMILY_BLOOM] = "bloom",
                                      [RA_FAMILY_MPT] = "mpt",
                                      [RA_FAMILY_NEMOTRON] = "nemotron",
                                      [RA_FAMILY_SEED_OSS] = "seed_oss",
                                      [RA_FAMILY_SMOLLM3] = "smollm3",
                                      [RA_FAMILY_GRANITE] = "granite",
                                      [RA_FAMILY_PHI3] = "phi3",
                                      [RA_FAMILY_MINISTRAL] = "ministral",
                                      [RA_FAMILY_MINISTRAL3] = "ministral3",
                                      [RA_FAMILY_SHAPE] = "shape"};
  g_return_val_if_fail((guint)family < G_N_ELEMENTS(names), NULL);
  return names[family];
}

void
ra_model_free(RaModel *model)
{
  if (!model)
    return;
  g_free(model->name);
  g_free(model->path);
  g_free(model->layer_is_moe);
  g_clear_pointer(&model->notes, g_ptr_array_unref);
  g_free(model);
}

void
ra_model_note(RaModel *model, const char *format, ...)
{
  va_list arguments;

  if (!model->notes)
    model->notes = g_ptr_array_new_with_free_func(g_free);
  va_start(arguments, format);
  g_ptr_array_add(model->notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

gboolean
ra_model_layer_is_moe(const RaModel *model, guint32 layer)
{
  g_return_val_if_fail(model && layer < model->n_layers, FALSE);
  return model->layer_is_moe && model->layer_is_moe[layer];
}

guint32
ra_model_n_moe_layers(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  guint32 n = 0;
  for (guint32 i = 0; model->layer_is_moe && i < model->n_layers; i++)
    n += model->layer_is_moe[i] != 0;
  return n;
}

void
ra_model_set_head(RaModel *model, RaModelHead head)
{
  g_return_if_fail(model);
  g_return_if_fail(head == RA_HEAD_LM || head == RA_HEAD_VALUE);
  model->head = head;
}

/* ---- pieces ---------------------------------------------------------- */

/* Parameters of a norm of the residual stream: a scale and maybe an offset. */
static guint64
norm_n_params(const RaModel *model)
{
  return (guint64)model->hidden * (model->norm_bias ? 2 : 1);
}

guint64
ra_model_embedding_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  return (guint64)model->vocab * model->hidden;
}

guint64
ra_model_position_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  if (model->position != RA_POSITION_LEARNED)
    return 0;
  return (guint64)model->max_positions * model->hidden;
}

guint64
ra_model_embedding_norm_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  return model->embedding_norm ? norm_n_params(model) : 0;
}

guint64
ra_model_attention_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  guint64 q = (guint64)model->n_heads * model->head_dim;
  guint64 kv = (guint64)model->n_kv_heads * model->head_dim;
  guint64 n = (2 * q + 2 * kv) * model->hidden;
  if (model->qkv_bias)
    n += q + 2 * kv;
  if (model->out_bias)
    n += model->hidden;
  if (model->qk_norm)
    n += 2 * (guint64)model->head_dim;
  return n;
}

guint64
ra_model_expert_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  guint64 n_matrices = model->mlp == RA_MLP_GATED ? 3 : 2;
  return n_matrices * model->hidden * model->expert_ffn;
}

guint64
ra_model_mlp_n_params(const RaModel *model, guint32 layer)
{
  g_return_val_if_fail(model && layer < model->n_layers, 0);
  if (ra_model_layer_is_moe(model, layer))
    return model->n_experts *
           ((guint64)model->hidden + ra_model_expert_n_params(model));
  guint64 n_wide = model->mlp == RA_MLP_GATED ? 2 : 1; /* hidden to ffn */
  guint64 n = (n_wide + 1) * model->hidden * model->ffn;
  if (model->mlp_bias)
    n += n_wide * model->ffn + model->hidden;
  return n;
}

guint64
ra_model_layer_norms_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  return 2 * norm_n_params(model);
}

guint64
ra_model_layer_n_params(const RaModel *model, guint32 layer)
{
  g_return_val_if_fail(model && layer < model->n_layers, 0);
  return ra_model_attention_n_params(model) +
         ra_model_mlp_n_params(model, layer) +
         ra_model_layer_norms_n_params(model);
}

guint64
ra_model_final_norm_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  return norm_n_params(model);
}

guint64
ra_model_head_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  if (model->head == RA_HEAD_VALUE)
    return model->hidden;
  return model->tied_embeddings ? 0 : ra_model_embedding_n_params(model);
}

/* ---- sums ------------------------------------------------------------ */

/* The sum, which stops growing once it is past RA_MODEL_MAX_PARAMS: one more
 * layer then still fits 64 bits. */
static guint64
sum_params(const RaModel *model)
{
  guint64 n =
      ra_model_embedding_n_params(model) + ra_model_position_n_params(model) +
      ra_model_embedding_norm_n_params(model) +
      ra_model_final_norm_n_params(model) + ra_model_head_n_params(model);
  for (guint32 i = 0; i < model->n_layers && n <= RA_MODEL_MAX_PARAMS; i++)
    n += ra_model_layer_n_params(model, i);
  n += model->n_layers * ra_lora_layer_n_params(model);
  return n;
}

guint64
ra_model_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  if (model->lora_only)
    return model->n_layers * ra_lora_layer_n_params(model);
  return sum_params(model);
}

guint64
ra_model_n_active_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  guint64 idle = model->n_experts - model->experts_per_token;
  return sum_params(model) - (guint64)ra_model_n_moe_layers(model) * idle *
                                 ra_model_expert_n_params(model);
}

guint64
ra_model_kv_layer_bytes(const RaModel *model, guint32 tp, guint element_bytes)
{
  guint64 heads = (model->n_kv_heads + tp - 1) / tp;

  return 2 * heads * model->head_dim * element_bytes;
}

/* ---- validation ------------------------------------------------------ */

static gboolean
check_size(const char *what, guint64 value, guint64 min, guint64 max,
           GError **error)
{
  if (value >= min && value <= max)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "'%s' is %" G_GUINT64_FORMAT ", expected %" G_GUINT64_FORMAT
              " to %" G_GUINT64_FORMAT,
              what, value, min, max);
  return FALSE;
}

static gboolean
check_sizes(const RaModel *model, GError **error)
{
  gboolean moe = ra_model_n_moe_layers(model) > 0;
  guint64 least_positions = model->position == RA_POSITION_LEARNED ? 1 : 0;
  guint32 experts = model->n_experts;
  return check_size("hidden", model->hidden, 1, RA_MODEL_MAX_HIDDEN, error) &&
         check_size("heads", model->n_heads, 1, RA_MODEL_MAX_HIDDEN, error) &&
         check_size("kv_heads", model->n_kv_heads, 1, model->n_heads, error) &&
         check_size("head_dim", model->head_dim, 1, RA_MODEL_MAX_HIDDEN,
                    error) &&
         check_size("heads * head_dim",
                    (guint64)model->n_heads * model->head_dim, 1,
                    RA_MODEL_MAX_INNER, error) &&
         check_size("ffn", model->ffn, 1, RA_MODEL_MAX_INNER, error) &&
         check_size("vocab", model->vocab, 1, RA_MODEL_MAX_INNER, error) &&
         check_size("positions", model->max_positions, least_positions,
                    RA_MODEL_MAX_INNER, error) &&
         check_size("experts", experts, moe, moe ? RA_MODEL_MAX_EXPERTS : 0,
                    error) &&
         check_size("experts per token", model->experts_per_token, moe, experts,
                    error) &&
         check_size("expert ffn", model->expert_ffn, moe,
                    moe ? RA_MODEL_MAX_INNER : 0, error);
}

gboolean
ra_model_validate(const RaModel *model, GError **error)
{
  g_return_val_if_fail(model && (!error || !*error), FALSE);
  if (!check_size("layers", model->n_layers, 1, RA_MODEL_MAX_LAYERS, error) ||
      !check_sizes(model, error))
    return FALSE;
  if (model->n_heads % model->n_kv_heads != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%u heads are not divisible by %u key/value heads",
                model->n_heads, model->n_kv_heads);
    return FALSE;
  }
  RaModel lm = *model; /* an untied lm head is the larger one */
  lm.head = RA_HEAD_LM;
  if (sum_params(&lm) + model->hidden > RA_MODEL_MAX_PARAMS) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "the model has more than 2^56 parameters");
    return FALSE;
  }
  return TRUE;
}

/* ---- bare shapes ----------------------------------------------------- */

void
ra_model_shape_init(RaModelShape *shape, RaModelMlp mlp)
{
  g_return_if_fail(shape);
  gboolean gated = mlp == RA_MLP_GATED;
  *shape = (RaModelShape){
      .mlp = mlp,
      .norm = gated ? RA_NORM_RMS : RA_NORM_LAYER,
      .position = gated ? RA_POSITION_ROTARY : RA_POSITION_LEARNED,
      .tied = !gated,
      .bias = !gated,
  };
}

/* Every layer of a shape with experts is a MoE layer. */
static void
shape_experts(const RaModelShape *shape, RaModel *model)
{
  model->n_experts = shape->experts;
  model->experts_per_token = shape->experts_per_token;
  model->expert_ffn = shape->expert_ffn;
  if (shape->experts == 0)
    return;
  if (shape->expert_ffn == 0)
    model->expert_ffn = model->ffn;
  model->layer_is_moe = g_malloc(model->n_layers);
  for (guint32 i = 0; i < model->n_layers; i++)
    model->layer_is_moe[i] = 1;
}

RaModel *
ra_model_from_shape(const RaModelShape *shape, GError **error)
{
  g_return_val_if_fail(shape && (!error || !*error), NULL);
  if (!check_size("layers", shape->layers, 1, RA_MODEL_MAX_LAYERS, error) ||
      !check_size("hidden", shape->hidden, 1, RA_MODEL_MAX_HIDDEN, error) ||
      !check_size("heads", shape->heads, 1, RA_MODEL_MAX_HIDDEN, error))
    return NULL;
  if (shape->head_dim == 0 && shape->hidden % shape->heads != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'hidden' %u is not divisible by 'heads' %u and there is no "
                "'head_dim'",
                shape->hidden, shape->heads);
    return NULL;
  }
  g_autoptr(RaModel) model = g_new0(RaModel, 1);
  model->name = g_strdup(shape->name ? shape->name : "shape");
  model->family = RA_FAMILY_SHAPE;
  model->n_layers = shape->layers;
  model->hidden = shape->hidden;
  model->n_heads = shape->heads;
  model->n_kv_heads = shape->kv_heads ? shape->kv_heads : shape->heads;
  model->head_dim =
      shape->head_dim ? shape->head_dim : shape->hidden / shape->heads;
  model->ffn = shape->ffn ? shape->ffn : 4 * shape->hidden;
  model->vocab = shape->vocab;
  model->max_positions = shape->seq;
  model->norm = shape->norm;
  model->mlp = shape->mlp;
  model->position = shape->position;
  model->tied_embeddings = shape->tied;
  model->qkv_bias = model->out_bias = model->mlp_bias = shape->bias;
  model->norm_bias = shape->bias && shape->norm == RA_NORM_LAYER;
  model->param_bytes = 2;
  shape_experts(shape, model);
  if (!ra_model_validate(model, error))
    return NULL;
  return g_steal_pointer(&model);
}
