/* Reading and writing of config.json. */
#include "config.h"

#include <math.h>

#include "base/config_reader.h"
#include "base/text.h"
#include "exec/weights/weights_impl.h"

/* LayerNorm, GELU and fused q, k and v. */
static gboolean
is_classic(const RaModel *model)
{
  return model->family == RA_FAMILY_GPT2 || model->family == RA_FAMILY_BLOOM ||
         model->family == RA_FAMILY_MPT;
}

/* ---- what the shape leaves open ------------------------------------------*/

double
ra_weights_read_number(RaConfigReader *reader, const char *key, double fallback)
{
  JsonNode *node = json_object_get_member(reader->object, key);
  double value;

  if (reader->failed || !node || JSON_NODE_HOLDS_NULL(node))
    return fallback;
  value = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_double(node) : 0;
  if (value > 0 && isfinite(value))
    return value;
  ra_config_reader_fail(reader, key, "'%s' is not a number above 0", key);
  return fallback;
}

/* configuration_qwen3_moe.py of transformers 4.52: norm_topk_prob False;
 * Mixtral has no such key and always divides. */
static gboolean
reads_raw_top_k(RaConfigReader *reader)
{
  return ra_config_reader_has(reader, "num_experts") &&
         !ra_config_reader_flag(reader, "norm_topk_prob", FALSE);
}

/* Defaults: configuration_llama.py, _mistral.py, _qwen2.py, _qwen3.py and
 * _qwen3_moe.py of transformers 4.52: rms_norm_eps 1e-6, rope_theta 10000,
 * hidden_act silu; Mixtral's (configuration_mixtral.py) 1e-5 and 1e6. */
static void
read_llama(RaConfigReader *reader, const RaModel *model, RaNumerics *out)
{
  static const char *const activations[] = {"silu", NULL};
  gboolean mixtral = ra_config_reader_has(reader, "num_local_experts");

  ra_config_reader_word(reader, "hidden_act", activations, 0);
  out->raw_top_k = reads_raw_top_k(reader);
  if (model->family != RA_FAMILY_MINISTRAL && /* its layers have them */
      ra_config_reader_has(reader, "sliding_window") &&
      ra_config_reader_flag(reader, "use_sliding_window", TRUE))
    ra_config_reader_fail(reader, "sliding_window",
                          "'sliding_window' is set, expected null: layers of "
                          "this family attend to all tokens");
  out->norm_eps = (float)ra_weights_read_number(reader, "rms_norm_eps",
                                                mixtral ? 1e-5 : 1e-6);
  out->rope.theta =
      ra_weights_read_number(reader, "rope_theta", mixtral ? 1e6 : 10000);
  ra_weights_read_rope(reader, "rope_scaling", model, out, NULL);
  ra_weights_read_rope(reader, "rope_parameters", model, out, NULL);
}

/* Requires the default of the class. */
static void
expect_flag(RaConfigReader *reader, const char *key, gboolean wanted)
{
  if (ra_config_reader_flag(reader, key, wanted) != wanted)
    ra_config_reader_fail(
        reader, key, "'%s' is %s, expected %s: the executor has no other", key,
        wanted ? "false" : "true", wanted ? "true" : "false");
}

static void
expect_null(RaConfigReader *reader, const char *key)
{
  if (ra_config_reader_has(reader, key))
    ra_config_reader_fail(
        reader, key, "'%s' is set, expected null: the executor has none", key);
}

/* gpt2's names of RaActivation; the first of each is written. */
static const char *const activation_names[] = {
    "gelu_new", "gelu", "relu2", "gelu_pytorch_tanh", "gelu_fast", NULL};
static const RaActivation activations[] = {
    RA_ACTIVATION_GELU_TANH, RA_ACTIVATION_GELU, RA_ACTIVATION_RELU2,
    RA_ACTIVATION_GELU_TANH, RA_ACTIVATION_GELU_TANH};

/* configuration_gpt2.py: layer_norm_epsilon 1e-5, activation_function gelu_new,
 * scale_attn_weights True, scale_attn_by_inverse_layer_idx False. */
static void
read_gpt2(RaConfigReader *reader, RaNumerics *out)
{
  out->activation = activations[ra_config_reader_word(
      reader, "activation_function", activation_names, 0)];
  expect_flag(reader, "scale_attn_weights", TRUE);
  expect_flag(reader, "scale_attn_by_inverse_layer_idx", FALSE);
}

/* configuration_mpt.py: clip_qkv, softmax_scale and logit_scale None, prefix_lm
 * False, alibi_bias_max 8. */
static void
read_mpt(RaConfigReader *reader)
{
  RaConfigReader saved;

  expect_null(reader, "logit_scale");
  if (!ra_config_reader_enter(reader, "attn_config", &saved))
    return;
  expect_null(reader, "clip_qkv");
  expect_null(reader, "softmax_scale");
  expect_flag(reader, "prefix_lm", FALSE);
  if (ra_weights_read_number(reader, "alibi_bias_max", 8) != 8)
    ra_config_reader_fail(reader, "alibi_bias_max",
                          "'alibi_bias_max' is not 8, which the executor has");
  ra_config_reader_leave(reader, &saved);
}

static void
read_numerics(RaConfigReader *reader, const RaModel *model, RaNumerics *out)
{
  *out = RA_NUMERICS_DEFAULT;
  if (model->family == RA_FAMILY_OTHER) {
    ra_weights_read_family(reader, model, out);
    return;
  }
  if (!is_classic(model)) {
    read_llama(reader, model, out);
    return;
  }
  out->norm_eps =
      (float)ra_weights_read_number(reader, "layer_norm_epsilon", 1e-5);
  if (model->family == RA_FAMILY_GPT2)
    read_gpt2(reader, out);
  else if (model->family == RA_FAMILY_BLOOM)
    expect_flag(reader, "apply_residual_connection_post_layernorm", FALSE);
  else
    read_mpt(reader);
}

gboolean
ra_weights_read_config(const char *path, const RaModel *model, RaNumerics *out,
                       GError **error)
{
  g_autofree char *text = NULL;
  gsize n_bytes;
  RaConfigReader reader;
  gboolean ok;

  if (!ra_file_read(path, RA_MODEL_MAX_FILE_BYTES, &text, &n_bytes, error))
    return FALSE;
  ok = ra_config_reader_init(&reader, path, text, n_bytes, error);
  if (ok) {
    read_numerics(&reader, model, out);
    ok = !reader.failed;
  }
  ra_config_reader_clear(&reader);
  return ok;
}

/* ---- written --------------------------------------------------------------*/

/* How transformers names a model: by what it has, as a bare shape may have no
 * family. */
static const struct {
  const char *class_name, *type;
} namings[] = {{"Llama", "llama"},         {"Mistral", "mistral"},
               {"Qwen2", "qwen2"},         {"Qwen3", "qwen3"},
               {"Mixtral", "mixtral"},     {"Qwen3Moe", "qwen3_moe"},
               {"Ministral", "ministral"}, {"GPT2", "gpt2"},
               {"Bloom", "bloom"},         {"Mpt", "mpt"}};

static guint
naming_of(const RaModel *m)
{
  if (is_classic(m))
    return m->family == RA_FAMILY_GPT2    ? 7
           : m->family == RA_FAMILY_BLOOM ? 8
                                          : 9;
  if (m->family == RA_FAMILY_MINISTRAL)
    return 6;
  if (m->n_experts > 0)
    return m->family == RA_FAMILY_MIXTRAL ? 4 : 5;
  if (m->qk_norm)
    return 3;
  if (m->qkv_bias && !m->out_bias)
    return 2; /* biases of q, k and v alone are Qwen2's */
  return m->family == RA_FAMILY_MISTRAL ? 1 : 0;
}

static void
add_word(JsonBuilder *b, const char *key, const char *value)
{
  json_builder_set_member_name(b, key);
  json_builder_add_string_value(b, value);
}

/* transformers' class of a causal model or of one with a single label. */
static void
add_names(JsonBuilder *b, const RaModel *m)
{
  guint naming = naming_of(m);
  g_autofree char *name =
      g_strconcat(namings[naming].class_name,
                  m->head == RA_HEAD_VALUE      ? "ForSequenceClassification"
                  : m->family == RA_FAMILY_GPT2 ? "LMHeadModel"
                                                : "ForCausalLM",
                  NULL);

  json_builder_set_member_name(b, "architectures");
  json_builder_begin_array(b);
  json_builder_add_string_value(b, name);
  json_builder_end_array(b);
  add_word(b, "model_type", namings[naming].type);
  if (m->head == RA_HEAD_VALUE) {
    json_builder_set_member_name(b, "id2label");
    json_builder_begin_object(b);
    add_word(b, "0", "value");
    json_builder_end_object(b);
  }
}

static void
add_count(JsonBuilder *b, const char *key, uint64_t value)
{
  json_builder_set_member_name(b, key);
  json_builder_add_int_value(b, (gint64)value);
}

static void
add_flag(JsonBuilder *b, const char *key, gboolean value)
{
  json_builder_set_member_name(b, key);
  json_builder_add_boolean_value(b, value);
}

static void
add_real(JsonBuilder *b, const char *key, double value)
{
  json_builder_set_member_name(b, key);
  json_builder_add_double_value(b, value);
}

/* The shortest decimal that is @value: 1e-05 and not 9.99999974737875e-06. */
static double
decimal(float value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  double found = (double)value;

  for (int digits = 1; digits <= 9; digits++) {
    g_autofree char *format = g_strdup_printf("%%.%dg", digits);

    found = g_ascii_strtod(
        g_ascii_formatd(text, sizeof text, format, (double)value), NULL);
    if ((float)found == value)
      break;
  }
  return found;
}

/* Mixtral's intermediate_size is that of an expert. */
static void
add_experts(JsonBuilder *b, const RaModel *m, const RaNumerics *numerics)
{
  gboolean mixtral = m->family == RA_FAMILY_MIXTRAL;

  if (m->n_experts == 0)
    return;
  add_count(b, mixtral ? "num_local_experts" : "num_experts", m->n_experts);
  add_count(b, "num_experts_per_tok", m->experts_per_token);
  if (mixtral)
    return;
  add_count(b, "moe_intermediate_size", m->expert_ffn);
  add_flag(b, "norm_topk_prob", !numerics->raw_top_k);
  json_builder_set_member_name(b, "mlp_only_layers");
  json_builder_begin_array(b);
  for (guint32 i = 0; i < m->n_layers; i++)
    if (!ra_model_layer_is_moe(m, i))
      json_builder_add_int_value(b, i);
  json_builder_end_array(b);
}

/* Layers with windows, and without. */
static void
add_windows(JsonBuilder *b, const RaModel *m)
{
  guint32 window = 0;

  if (m->family != RA_FAMILY_MINISTRAL)
    return;
  json_builder_set_member_name(b, "layer_types");
  json_builder_begin_array(b);
  for (guint32 i = 0; i < m->n_layers; i++) {
    guint32 own = m->kinds[ra_model_layer_kind(m, i)].window;

    json_builder_add_string_value(b, own > 0 ? "sliding_attention"
                                             : "full_attention");
    window = MAX(window, own);
  }
  json_builder_end_array(b);
  json_builder_set_member_name(b, "sliding_window");
  if (window > 0)
    json_builder_add_int_value(b, window);
  else
    json_builder_add_null_value(b);
}

/* Keys of Llama and what follows it. */
static void
add_llama(JsonBuilder *b, const RaModel *m, const RaNumerics *numerics)
{
  add_count(b, "num_hidden_layers", m->n_layers);
  add_count(b, "hidden_size", m->hidden);
  add_count(b, "num_attention_heads", m->n_heads);
  add_count(b, "num_key_value_heads", m->n_kv_heads);
  add_count(b, "head_dim", m->head_dim);
  add_count(b, "intermediate_size", m->ffn);
  add_experts(b, m, numerics);
  add_windows(b, m);
  if (m->max_positions > 0)
    add_count(b, "max_position_embeddings", m->max_positions);
  if (m->out_bias)
    add_flag(b, "attention_bias", TRUE);
  if (m->mlp_bias)
    add_flag(b, "mlp_bias", TRUE);
  add_word(b, "hidden_act", "silu");
  add_real(b, "rms_norm_eps", decimal(numerics->norm_eps));
  ra_weights_add_rope(b, &numerics->rope);
}

static const char *
activation_name(RaActivation activation)
{
  for (guint i = 0; i < G_N_ELEMENTS(activations); i++)
    if (activations[i] == activation)
      return activation_names[i];
  return activation_names[0]; /* gpt2's own */
}

/* Adds the keys of gpt2, bloom and mpt; ra_stored_supports() has checked that
 * mpt's other keys are at their defaults. */
static void
add_classic(JsonBuilder *b, const RaModel *m, const RaNumerics *numerics)
{
  gboolean mpt = m->family == RA_FAMILY_MPT;

  add_count(b, mpt ? "n_layers" : "n_layer", m->n_layers);
  add_count(b, mpt ? "n_heads" : "n_head", m->n_heads);
  if (m->family == RA_FAMILY_GPT2) {
    add_count(b, "n_embd", m->hidden);
    add_count(b, "n_inner", m->ffn);
    add_count(b, "n_positions", m->max_positions);
    add_word(b, "activation_function", activation_name(numerics->activation));
  } else if (mpt) {
    add_count(b, "d_model", m->hidden);
    add_count(b, "expansion_ratio", 4);
    add_count(b, "max_seq_len", m->max_positions);
  } else {
    add_count(b, "hidden_size", m->hidden);
  }
  add_real(b, "layer_norm_epsilon", decimal(numerics->norm_eps));
}

gboolean
ra_weights_write_config(const char *folder, const RaModel *model,
                        const RaNumerics *numerics, GError **error)
{
  g_autoptr(JsonBuilder) b = NULL;

  if (model->family == RA_FAMILY_OTHER)
    return ra_weights_write_family(folder, model, error);
  b = json_builder_new();
  json_builder_begin_object(b);
  add_names(b, model);
  if (is_classic(model))
    add_classic(b, model, numerics);
  else
    add_llama(b, model, numerics);
  add_count(b, "vocab_size", model->vocab);
  add_flag(b, "tie_word_embeddings",
           model->head == RA_HEAD_LM && model->tied_embeddings);
  add_word(b, "torch_dtype", "float32");
  json_builder_end_object(b);
  return ra_weights_write_json(b, folder, "config.json", error);
}
