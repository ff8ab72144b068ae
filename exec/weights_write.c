#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "base/aside.h"
#include "base/error.h"
#include "base/text.h"
#include "exec/weights.h"

static const char only_name[] = "model.safetensors";
static const char index_name[] = "model.safetensors.index.json";

/* What is being written. */
typedef struct {
  const char *folder;
  const RaModel *model;
  const RaParams *const *parts;
  uint32_t n_parts;
  RaTensor *tensors; /* (n) of the model */
  uint32_t n;
  float *buffer; /* the largest of them */
} Writer;

/* How transformers names a model: by what it has, as a bare shape may have no
 * family. */
static const struct {
  const char *class_name, *type;
} namings[] = {{"Llama", "llama"},     {"Mistral", "mistral"},
               {"Qwen2", "qwen2"},     {"Qwen3", "qwen3"},
               {"Mixtral", "mixtral"}, {"Qwen3Moe", "qwen3_moe"}};

static guint
naming_of(const RaModel *m)
{
  if (m->n_experts > 0)
    return m->family == RA_FAMILY_MIXTRAL ? 4 : 5;
  if (m->qk_norm)
    return 3;
  if (m->qkv_bias && !m->out_bias)
    return 2; /* biases of q, k and v alone are Qwen2's */
  return m->family == RA_FAMILY_MISTRAL ? 1 : 0;
}

/* transformers' class of a causal model or of one with a single label. */
static void
add_names(JsonBuilder *b, const RaModel *m)
{
  guint naming = naming_of(m);
  g_autofree char *name = g_strconcat(
      namings[naming].class_name,
      m->head == RA_HEAD_VALUE ? "ForSequenceClassification" : "ForCausalLM",
      NULL);

  json_builder_set_member_name(b, "architectures");
  json_builder_begin_array(b);
  json_builder_add_string_value(b, name);
  json_builder_end_array(b);
  json_builder_set_member_name(b, "model_type");
  json_builder_add_string_value(b, namings[naming].type);
  if (m->head == RA_HEAD_VALUE) {
    json_builder_set_member_name(b, "id2label");
    json_builder_begin_object(b);
    json_builder_set_member_name(b, "0");
    json_builder_add_string_value(b, "value");
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

static gboolean
write_json(JsonBuilder *b, const char *folder, const char *name, GError **error)
{
  g_autoptr(JsonGenerator) generator = json_generator_new();
  g_autoptr(JsonNode) root = json_builder_get_root(b);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *text = NULL, *line = NULL;

  json_generator_set_root(generator, root);
  json_generator_set_pretty(generator, TRUE);
  text = json_generator_to_data(generator, NULL);
  line = g_strconcat(text, "\n", NULL);
  return ra_file_write(path, line, strlen(line), error);
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

static gboolean
write_config(const Writer *w, const RaNumerics *numerics, GError **error)
{
  const RaModel *m = w->model;
  g_autoptr(JsonBuilder) b = json_builder_new();

  json_builder_begin_object(b);
  add_names(b, m);
  add_count(b, "num_hidden_layers", m->n_layers);
  add_count(b, "hidden_size", m->hidden);
  add_count(b, "num_attention_heads", m->n_heads);
  add_count(b, "num_key_value_heads", m->n_kv_heads);
  add_count(b, "head_dim", m->head_dim);
  add_count(b, "intermediate_size", m->ffn);
  add_experts(b, m, numerics);
  add_count(b, "vocab_size", m->vocab);
  if (m->max_positions > 0)
    add_count(b, "max_position_embeddings", m->max_positions);
  add_flag(b, "tie_word_embeddings",
           m->head == RA_HEAD_LM && m->tied_embeddings);
  json_builder_set_member_name(b, "hidden_act");
  json_builder_add_string_value(b, "silu");
  add_real(b, "rms_norm_eps", decimal(numerics->norm_eps));
  add_real(b, "rope_theta", numerics->rope_theta);
  json_builder_set_member_name(b, "torch_dtype");
  json_builder_add_string_value(b, "float32");
  json_builder_end_object(b);
  return write_json(b, w->folder, "config.json", error);
}

/* Tensors @begin to @end less one to a file. */
static gboolean
write_file(const Writer *w, const char *name, uint32_t begin, uint32_t end,
           GError **error)
{
  static const char *const metadata[] = {"format", "pt", NULL};
  g_autofree char *path = g_build_filename(w->folder, name, NULL);
  g_autofree RaSafetensor *heads = g_new0(RaSafetensor, end - begin + 1);
  g_autoptr(GBytes) head = NULL;
  RaAside *aside = ra_aside_new(path);
  gsize n_bytes;
  const void *bytes;

  for (uint32_t i = begin; i < end; i++) {
    RaTensor *t = &w->tensors[i];
    gboolean vector = t->bias || t->kind == RA_TENSOR_NORM;

    heads[i - begin] = (RaSafetensor){.name = t->name,
                                      .type = RA_SAFETENSOR_F32,
                                      .n_dims = vector ? 1 : 2,
                                      .dims = {t->rows, vector ? 1 : t->cols}};
  }
  head = ra_safetensors_head(heads, end - begin, metadata);
  bytes = g_bytes_get_data(head, &n_bytes);
  ra_aside_put(aside, bytes, n_bytes);
  for (uint32_t i = begin; i < end; i++) {
    ra_params_gather(w->parts, w->n_parts, i, RA_PARAMS_WEIGHTS, w->buffer);
    ra_aside_put(aside, w->buffer, heads[i - begin].n_bytes);
  }
  return ra_aside_end(aside, error);
}

static uint64_t
tensor_bytes(const Writer *w, uint32_t i)
{
  return w->tensors[i].rows * w->tensors[i].cols * sizeof(float);
}

/* Where files end: (n_files + 1) bounds, each of @max_bytes or of one tensor.
 */
static GArray *
cut(const Writer *w, uint64_t max_bytes, uint64_t *out_bytes)
{
  GArray *bounds = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  uint64_t held = 0;
  uint32_t zero = 0;

  *out_bytes = 0;
  g_array_append_val(bounds, zero);
  for (uint32_t i = 0; i < w->n; i++) {
    if (held > 0 && held + tensor_bytes(w, i) > max_bytes) {
      g_array_append_val(bounds, i);
      held = 0;
    }
    held += tensor_bytes(w, i);
    *out_bytes += tensor_bytes(w, i);
  }
  g_array_append_val(bounds, w->n);
  return bounds;
}

static char *
file_name(uint32_t file, uint32_t n_files)
{
  if (n_files == 1)
    return g_strdup(only_name);
  return g_strdup_printf("model-%05u-of-%05u.safetensors", file + 1, n_files);
}

/* What an earlier write in the other form left: readers would take it. */
static void
drop_other(const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);

  g_unlink(path);
}

static gboolean
write_files(const Writer *w, uint64_t max_bytes, GError **error)
{
  uint64_t n_bytes;
  g_autoptr(GArray) bounds = cut(w, max_bytes, &n_bytes);
  uint32_t n_files = bounds->len - 1;
  g_autoptr(JsonBuilder) b = json_builder_new();

  json_builder_begin_object(b);
  json_builder_set_member_name(b, "metadata");
  json_builder_begin_object(b);
  add_count(b, "total_size", n_bytes);
  json_builder_end_object(b);
  json_builder_set_member_name(b, "weight_map");
  json_builder_begin_object(b);
  for (uint32_t file = 0; file < n_files; file++) {
    uint32_t begin = g_array_index(bounds, uint32_t, file);
    uint32_t end = g_array_index(bounds, uint32_t, file + 1);
    g_autofree char *name = file_name(file, n_files);

    if (!write_file(w, name, begin, end, error))
      return FALSE;
    for (uint32_t i = begin; i < end; i++) {
      json_builder_set_member_name(b, w->tensors[i].name);
      json_builder_add_string_value(b, name);
    }
  }
  json_builder_end_object(b);
  json_builder_end_object(b);
  if (n_files > 1 && !write_json(b, w->folder, index_name, error))
    return FALSE;
  drop_other(w->folder, n_files > 1 ? only_name : index_name);
  return TRUE;
}

gboolean
ra_weights_write(const char *folder, const RaModel *model,
                 const RaNumerics *numerics, const RaParams *const *parts,
                 uint32_t n_parts, uint64_t max_bytes, GError **error)
{
  Writer w = {.folder = folder,
              .model = model,
              .parts = parts,
              .n_parts = n_parts,
              .n = ra_model_n_tensors(model)};
  uint64_t most = 0;
  gboolean ok;

  if (g_mkdir_with_parents(folder, 0777) != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_IO, "%s: %s", folder,
                g_strerror(errno));
    return FALSE;
  }
  w.tensors = g_new(RaTensor, w.n);
  for (uint32_t i = 0; i < w.n; i++) {
    ra_model_tensor(model, i, &w.tensors[i]);
    most = MAX(most, tensor_bytes(&w, i));
  }
  w.buffer = g_malloc0(most + 1);
  ok = write_files(&w, max_bytes ? max_bytes : RA_WEIGHTS_SHARD_BYTES, error) &&
       write_config(&w, numerics, error);
  g_free(w.tensors);
  g_free(w.buffer);
  return ok;
}
