/* Models: invariants, numbers of parameters, models from bare shapes. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

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
                                      [RA_FAMILY_SHAPE] = "shape",
                                      [RA_FAMILY_OTHER] = "other"};
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
  g_free(model->layer_kind);
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

const char *
ra_model_type(const RaModel *model)
{
  return model->family == RA_FAMILY_OTHER && model->type
             ? model->type
             : ra_model_family_name(model->family);
}

/* ---- kinds of layers ------------------------------------------------- */

guint32
ra_model_n_kinds(const RaModel *model)
{
  return MAX(model->n_kinds, 1);
}

guint32
ra_model_layer_kind(const RaModel *model, guint32 layer)
{
  g_return_val_if_fail(model && layer < model->n_layers, 0);
  return model->layer_kind ? model->layer_kind[layer] : 0;
}

void
ra_model_count_kinds(const RaModel *model, guint32 first_layer,
                     guint32 n_layers, guint32 *out_n)
{
  memset(out_n, 0, RA_MODEL_MAX_KINDS * sizeof *out_n);
  if (!model->layer_kind)
    out_n[0] = n_layers;
  for (guint32 i = 0; model->layer_kind && i < n_layers; i++)
    out_n[model->layer_kind[first_layer + i]]++;
}

guint32
ra_model_kind_heads(const RaModel *model, guint32 kind)
{
  guint32 n = model->kinds[kind].n_heads;

  return n > 0 ? n : model->n_heads;
}

guint32
ra_model_kind_kv_heads(const RaModel *model, guint32 kind)
{
  guint32 n = model->kinds[kind].n_kv_heads;

  return n > 0 ? n : model->n_kv_heads;
}

guint32
ra_model_kind_head_dim(const RaModel *model, guint32 kind)
{
  guint32 n = model->kinds[kind].head_dim;

  return n > 0 ? n : model->head_dim;
}

char *
ra_model_kind_text(const RaModel *model, guint32 kind)
{
  static const char *const mixers[RA_N_MIXERS] = {"attention",
                                                  "latent attention",
                                                  "gated delta net",
                                                  "kimi delta attention",
                                                  "mamba-2",
                                                  "convolution",
                                                  "compressed attention",
                                                  NULL};
  const RaLayerKind *k = &model->kinds[kind];
  GString *text = g_string_new(mixers[k->mixer]);

  if (k->window > 0)
    g_string_append_printf(text, " to %u tokens", k->window);
  if (k->compress > 0)
    g_string_append_printf(text, ", %u:1", k->compress);
  if (k->nope)
    g_string_append(text, " without positions");
  if (k->indexer)
    g_string_append_printf(text, ", indexer of %u%s", model->index_top_k,
                           model->index_block > 0 ? " in blocks" : "");
  if (text->len > 0 && k->ffn != RA_FFN_NONE)
    g_string_append(text, " + ");
  if (k->ffn == RA_FFN_DENSE)
    g_string_append(text, "mlp");
  if (k->ffn == RA_FFN_EXPERTS)
    g_string_append_printf(text, "%u experts%s", model->n_experts,
                           model->shared_ffn > 0 ? " and shared" : "");
  return g_string_free(text, FALSE);
}

static gboolean
is_moe_kind(const RaModel *model, guint32 kind)
{
  return model->kinds[kind].ffn == RA_FFN_EXPERTS;
}

gboolean
ra_model_layer_is_moe(const RaModel *model, guint32 layer)
{
  return is_moe_kind(model, ra_model_layer_kind(model, layer));
}

guint32
ra_model_n_moe_layers(const RaModel *model)
{
  guint32 n_of[RA_MODEL_MAX_KINDS], n = 0;

  g_return_val_if_fail(model, 0);
  ra_model_count_kinds(model, 0, model->n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++)
    n += is_moe_kind(model, k) ? n_of[k] : 0;
  return n;
}

gboolean
ra_model_set_layer(RaModel *model, guint32 layer, const RaLayerKind *kind)
{
  guint32 k = 0;

  while (k < model->n_kinds &&
         memcmp(&model->kinds[k], kind, sizeof *kind) != 0)
    k++;
  if (k == RA_MODEL_MAX_KINDS)
    return FALSE;
  model->kinds[k] = *kind;
  model->n_kinds = MAX(model->n_kinds, k + 1);
  if (k > 0 && !model->layer_kind)
    model->layer_kind = g_malloc0(model->n_layers);
  if (model->layer_kind)
    model->layer_kind[layer] = (guint8)k;
  return TRUE;
}

void
ra_model_set_moe_layers(RaModel *model, const guint8 *is_moe)
{
  guint32 n = 0;

  for (guint32 i = 0; i < model->n_layers; i++)
    n += is_moe[i] != 0;
  g_clear_pointer(&model->layer_kind, g_free);
  memset(model->kinds, 0, sizeof model->kinds);
  model->n_kinds = 1;
  if (n == model->n_layers)
    model->kinds[0].ffn = RA_FFN_EXPERTS;
  if (n == 0 || n == model->n_layers)
    return;
  model->n_kinds = 2;
  model->kinds[1].ffn = RA_FFN_EXPERTS;
  model->layer_kind = g_memdup2(is_moe, model->n_layers);
}

gboolean
ra_model_has_window(const RaModel *model)
{
  gboolean any = FALSE;

  for (guint32 k = 0; k < ra_model_n_kinds(model); k++)
    any |= model->kinds[k].window > 0;
  return any;
}

gboolean
ra_model_is_plain(const RaModel *model)
{
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++) {
    const RaLayerKind *kind = &model->kinds[k];

    if (kind->mixer != RA_MIXER_ATTENTION || kind->ffn == RA_FFN_NONE ||
        kind->window > 0 || kind->nope || kind->n_heads > 0 ||
        kind->n_kv_heads > 0 || kind->head_dim > 0)
      return FALSE;
  }
  return model->family != RA_FAMILY_OTHER;
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
ra_model_mixer_n_params(const RaModel *model, guint32 layer)
{
  return ra_model_kind_n_params(model, ra_model_layer_kind(model, layer),
                                RA_PART_MIXER, 1);
}

guint64
ra_model_expert_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  for (guint32 k = 0; model->n_experts > 0 && k < ra_model_n_kinds(model); k++)
    if (is_moe_kind(model, k))
      return ra_model_kind_n_params(model, k, RA_PART_EXPERTS, 1) /
             model->n_experts;
  return 0;
}

guint64
ra_model_mlp_n_params(const RaModel *model, guint32 layer)
{
  return ra_model_kind_n_params(model, ra_model_layer_kind(model, layer),
                                RA_PART_FFN | RA_PART_EXPERTS, 1);
}

guint64
ra_model_layer_n_params(const RaModel *model, guint32 layer)
{
  return ra_model_kind_n_params(model, ra_model_layer_kind(model, layer),
                                RA_PART_ALL, 1);
}

guint64
ra_model_final_norm_n_params(const RaModel *model)
{
  guint64 streams = model ? model->n_streams : 0;

  g_return_val_if_fail(model, 0);
  return norm_n_params(model) +
         (streams > 0 ? streams * streams * model->hidden + streams + 1 : 0);
}

guint32
ra_model_kind_window(const RaModel *model, guint32 kind)
{
  const RaLayerKind *k = &model->kinds[kind];
  gboolean chosen = k->mixer == RA_MIXER_ATTENTION && k->indexer;

  return chosen || (k->mixer == RA_MIXER_LATENT && model->index_top_k > 0)
             ? model->index_top_k
             : k->window;
}

gboolean
ra_model_kind_has_ring(const RaModel *model, guint32 kind)
{
  return model->kinds[kind].mixer == RA_MIXER_ATTENTION &&
         ra_model_kind_window(model, kind) == 0;
}

guint64
ra_model_stream_width(const RaModel *model)
{
  return (guint64)MAX(model->n_streams, 1) * model->hidden;
}

guint32
ra_model_kind_overlap(const RaModel *model, guint32 kind)
{
  return model->kinds[kind].indexer ? 2 : 1;
}

guint64
ra_model_head_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  if (model->head == RA_HEAD_VALUE)
    return model->hidden;
  return (model->tied_embeddings ? 0 : ra_model_embedding_n_params(model)) +
         (model->head_bias ? model->vocab : 0);
}

/* ---- sums ------------------------------------------------------------ */

/* The sum; RA_MODEL_MAX_PARAMS + 1 if the layers of one kind alone have more:
 * the layers of all kinds then fit 64 bits. */
static guint64
sum_params(const RaModel *model)
{
  guint64 n =
      ra_model_vision_n_params(model, 1) + ra_model_embedding_n_params(model) +
      ra_model_position_n_params(model) +
      ra_model_embedding_norm_n_params(model) +
      ra_model_final_norm_n_params(model) + ra_model_head_n_params(model);
  guint32 n_of[RA_MODEL_MAX_KINDS];
  ra_model_count_kinds(model, 0, model->n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++) {
    guint64 of_layer = ra_model_kind_n_params(model, k, RA_PART_ALL, 1);

    if (n_of[k] > 0 && of_layer > RA_MODEL_MAX_PARAMS / n_of[k])
      return RA_MODEL_MAX_PARAMS + 1;
    n += n_of[k] * of_layer;
  }
  n += ra_lora_n_params(model, 0, model->n_layers, 1);
  return n;
}

guint64
ra_model_n_params(const RaModel *model)
{
  g_return_val_if_fail(model, 0);
  if (model->lora_only)
    return ra_lora_n_params(model, 0, model->n_layers, 1);
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

/* ---- caches and states ----------------------------------------------- */

/* Elements that share a scale in the fp8 cache of an indexer, and its bytes. */
#define INDEX_SCALE_ELEMENTS 128
#define INDEX_SCALE_BYTES 4
/* Element of a recurrent state: fp32. */
#define STATE_BYTES 4

static guint64
ceil_div(guint64 a, guint64 b)
{
  return (a + b - 1) / b;
}

/* Key of an indexer of layers of kind @k. */
static guint64
index_bytes(const RaModel *model, const RaLayerKind *k, guint element_bytes)
{
  if (k->indexer && model->index_block > 0)
    return (guint64)model->index_dim * MAX(element_bytes, 2);
  return k->indexer ? model->index_dim +
                          INDEX_SCALE_BYTES *
                              ceil_div(model->index_dim, INDEX_SCALE_ELEMENTS)
                    : 0;
}

/* Cache of one token in one layer of kind @kind; of compressed attention in its
 * window. */
static guint64
kv_layer_bytes(const RaModel *model, guint32 kind, guint32 tp,
               guint element_bytes)
{
  const RaLayerKind *k = &model->kinds[kind];
  guint64 n = 0;

  if (k->mixer == RA_MIXER_COMPRESSED)
    return (guint64)model->head_dim * element_bytes;

  if (k->mixer == RA_MIXER_ATTENTION)
    n = 2 * ceil_div(ra_model_kind_kv_heads(model, kind), tp) *
        ra_model_kind_head_dim(model, kind) * element_bytes;
  if (k->mixer == RA_MIXER_LATENT)
    n = ((guint64)model->kv_rank + model->rope_dim) * element_bytes;
  return n + index_bytes(model, k, element_bytes);
}

guint64
ra_model_conv_width(const RaModel *model, guint32 kind)
{
  switch ((RaMixer)model->kinds[kind].mixer) {
  case RA_MIXER_DELTA:
  case RA_MIXER_KIMI:
  case RA_MIXER_MAMBA:
    return 2 * (guint64)model->n_key_heads * model->key_dim +
           (guint64)model->n_value_heads * model->state_dim;
  case RA_MIXER_CONV:
    return model->hidden;
  default:
    return 0;
  }
}

/* State of one sequence in one layer of kind @kind. */
static guint64
state_layer_bytes(const RaModel *model, guint32 kind, guint32 tp,
                  guint element_bytes)
{
  const RaLayerKind *k = &model->kinds[kind];
  guint64 width = ra_model_conv_width(model, kind);
  guint64 overlap = ra_model_kind_overlap(model, kind);
  guint64 n = width == 0 ? 0
                         : ((guint64)model->conv_taps - 1) *
                               ceil_div(width, tp) * element_bytes;

  if (width > 0 && k->mixer != RA_MIXER_CONV)
    n += ceil_div(model->n_value_heads, tp) * model->key_dim *
         model->state_dim * STATE_BYTES;
  if (k->compress > 0)
    n += 2 * overlap * overlap * k->compress *
         ((guint64)model->head_dim + (k->indexer ? model->index_dim : 0)) *
         STATE_BYTES;
  return n;
}

void
ra_model_cache_bytes(const RaModel *model, guint32 first_layer,
                     guint32 n_layers, guint32 tp, guint element_bytes,
                     guint64 n_tokens, guint64 *out_token,
                     guint64 *out_sequence)
{
  guint32 n_of[RA_MODEL_MAX_KINDS];

  *out_token = *out_sequence = 0;
  ra_model_count_kinds(model, first_layer, n_layers, n_of);
  for (guint32 k = 0; k < ra_model_n_kinds(model); k++) {
    const RaLayerKind *kind = &model->kinds[k];
    guint64 kept = MIN(kind->window, n_tokens);
    guint64 token = n_of[k] * kv_layer_bytes(model, k, tp, element_bytes);

    *out_token += kind->window == 0 ? token : 0;
    if (kind->compress > 0)
      *out_token +=
          ceil_div(token + n_of[k] * index_bytes(model, kind, element_bytes),
                   kind->compress);
    *out_sequence +=
        kept * token + n_of[k] * state_layer_bytes(model, k, tp, element_bytes);
  }
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
  model->kinds[0].ffn = RA_FFN_EXPERTS;
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
