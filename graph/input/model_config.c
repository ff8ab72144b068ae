/* Reads a model from JSON: a Hugging Face config.json, by its model_type (see
 * graph/input/model_family.c), or bare shape keys.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/model_family.h"
#include "graph/input/model_vision.h"

/* ---- bare shapes ----------------------------------------------------- */

/* The columns of published tables of training and inference runs. */
static const char *const shape_keys[] = {"name",
                                         "layers|n_layer",
                                         "hidden|n_embd",
                                         "seq",
                                         "heads|n_head",
                                         "kv_heads|n_kv_head",
                                         "head_dim",
                                         "ffn|n_expanded_embd",
                                         "vocab|vocab_size",
                                         "norm",
                                         "gated_mlp|use_gated_mlp",
                                         "position",
                                         "tied",
                                         "bias",
                                         "experts",
                                         "expert_ffn",
                                         "experts_per_token",
                                         NULL};

static void
read_shape_options(RaConfigReader *reader, RaModelShape *shape)
{
  static const char *const norms[] = {"rms", "layer", NULL};
  static const char *const positions[] = {"rotary", "learned", "alibi", NULL};
  gboolean gated =
      ra_config_reader_flag(reader, "gated_mlp|use_gated_mlp", TRUE);
  ra_model_shape_init(shape, gated ? RA_MLP_GATED : RA_MLP_PLAIN);
  shape->norm =
      (RaModelNorm)ra_config_reader_word(reader, "norm", norms, shape->norm);
  shape->position = (RaModelPosition)ra_config_reader_word(
      reader, "position", positions, shape->position);
  shape->tied = ra_config_reader_flag(reader, "tied", shape->tied);
  shape->bias = ra_config_reader_flag(reader, "bias", shape->bias);
}

static void
read_shape_sizes(RaConfigReader *reader, RaModelShape *shape)
{
  shape->layers =
      ra_config_reader_size(reader, "layers|n_layer", RA_MODEL_MAX_LAYERS);
  shape->hidden =
      ra_config_reader_size(reader, "hidden|n_embd", RA_MODEL_MAX_HIDDEN);
  shape->heads =
      ra_config_reader_size(reader, "heads|n_head", RA_MODEL_MAX_HIDDEN);
  shape->kv_heads = ra_config_reader_size_or(reader, "kv_heads|n_kv_head", 1,
                                             RA_MODEL_MAX_HIDDEN, shape->heads);
  shape->head_dim =
      ra_config_reader_size_or(reader, "head_dim", 1, RA_MODEL_MAX_HIDDEN, 0);
  shape->ffn = ra_config_reader_size_or(reader, "ffn|n_expanded_embd", 1,
                                        RA_MODEL_MAX_INNER, 0);
  shape->vocab =
      ra_config_reader_size(reader, "vocab|vocab_size", RA_MODEL_MAX_INNER);
  shape->seq =
      shape->position == RA_POSITION_LEARNED
          ? ra_config_reader_size(reader, "seq", RA_MODEL_MAX_INNER)
          : ra_config_reader_size_or(reader, "seq", 1, RA_MODEL_MAX_INNER, 0);
  shape->experts =
      ra_config_reader_size_or(reader, "experts", 0, RA_MODEL_MAX_EXPERTS, 0);
  if (shape->experts > 0)
    shape->experts_per_token =
        ra_config_reader_size(reader, "experts_per_token", shape->experts);
  if (shape->experts > 0)
    shape->expert_ffn = ra_config_reader_size_or(reader, "expert_ffn", 1,
                                                 RA_MODEL_MAX_INNER, 0);
}

static RaModel *
read_shape(RaConfigReader *reader, const char *name)
{
  g_autofree char *known = g_strjoinv(", ", (char **)shape_keys);
  g_autofree char *expected =
      g_strdup_printf("'model_type', or of a bare shape only %s", known);
  ra_config_reader_refuse_others(reader, shape_keys, expected);
  RaModelShape shape = {0};
  read_shape_options(reader, &shape);
  read_shape_sizes(reader, &shape);
  const char *given = ra_config_reader_text(reader, "name");
  shape.name = given ? given : name;
  RaModel sizes = {.hidden = shape.hidden,
                   .n_heads = shape.heads,
                   .n_kv_heads = shape.kv_heads};
  if (shape.head_dim == 0)
    shape.head_dim = ra_model_default_head_dim(reader, &sizes, "hidden|n_embd");
  ra_model_check_kv_heads(reader, &sizes, "kv_heads|n_kv_head");
  GError *problem = NULL;
  RaModel *model =
      reader->failed ? NULL : ra_model_from_shape(&shape, &problem);
  if (problem)
    ra_config_reader_take_error(reader, "hidden|n_embd", problem);
  return model;
}

/* ---- the whole file -------------------------------------------------- */

/* The file's base name without ".json"; of ".../NAME/config.json" NAME. */
static char *
name_of(const char *path)
{
  g_autofree char *base = g_path_get_basename(path);
  if (strcmp(base, "config.json") == 0) {
    g_autofree char *dir = g_path_get_dirname(path);
    g_autofree char *parent = g_path_get_basename(dir);
    if (strcmp(parent, ".") != 0 && strcmp(parent, "/") != 0)
      return g_steal_pointer(&parent);
  }
  if (g_str_has_suffix(base, ".json"))
    base[strlen(base) - strlen(".json")] = '\0';
  return g_steal_pointer(&base);
}

/* Text models of vision-language models, whose layers are a family's.  The
 * configurations of Qwen2-VL and Qwen2.5-VL were published without text_config.
 */
static const struct {
  const char *type;
  RaModelFamily family;
} text_types[] = {
    {"qwen2_vl", RA_FAMILY_QWEN2},
    {"qwen2_vl_text", RA_FAMILY_QWEN2},
    {"qwen2_5_vl", RA_FAMILY_QWEN2},
    {"qwen2_5_vl_text", RA_FAMILY_QWEN2},
    {"qwen3_vl_text", RA_FAMILY_QWEN3},
    {"qwen3_vl_moe_text", RA_FAMILY_QWEN3_MOE},
};

static RaModelFamily
read_type(RaConfigReader *reader)
{
  const char *words[RA_FAMILY_SHAPE + 128] = {NULL};
  const char *type = ra_config_reader_text(reader, "model_type");
  for (guint i = 0; type && i < G_N_ELEMENTS(text_types); i++)
    if (strcmp(type, text_types[i].type) == 0)
      return text_types[i].family;
  for (guint i = 0; i < RA_FAMILY_SHAPE; i++)
    words[i] = ra_model_family_name((RaModelFamily)i);
  for (guint i = 0;
       ra_model_other_type(i) && RA_FAMILY_SHAPE + i + 1 < G_N_ELEMENTS(words);
       i++)
    words[RA_FAMILY_SHAPE + i] = ra_model_other_type(i);
  if (!type)
    ra_config_reader_fail(reader, "model_type", "'model_type' is missing");
  return (RaModelFamily)ra_config_reader_word(reader, "model_type", words, 0);
}

/* TRUE if some layer's attention is said to be local. */
static gboolean
has_local_layers(RaConfigReader *reader)
{
  JsonArray *types = ra_config_reader_array(reader, "layer_types");
  for (guint i = 0; types && i < json_array_get_length(types); i++) {
    JsonNode *node = json_array_get_element(types, i);
    if (JSON_NODE_HOLDS_VALUE(node) &&
        g_strcmp0(json_node_get_string(node), "sliding_attention") == 0)
      return TRUE;
  }
  return FALSE;
}

/* Windows of families whose layers are read as alike.  Qwen's configurations
 * have one that use_sliding_window switches on. */
static void
note_window(RaConfigReader *reader, RaModel *model)
{
  gboolean is_switched = model->family == RA_FAMILY_QWEN2 ||
                         model->family == RA_FAMILY_QWEN3 ||
                         model->family == RA_FAMILY_QWEN3_MOE ||
                         model->family == RA_FAMILY_SMOLLM3;
  gboolean on = ra_config_reader_flag(reader, "use_sliding_window", FALSE);
  guint32 window =
      ra_config_reader_size_or(reader, "sliding_window", 0, G_MAXINT32, 0);
  if (window > 0 && !ra_model_has_window(model) &&
      (on || !is_switched || has_local_layers(reader)))
    ra_model_note(model,
                  "attention within windows of %u tokens is counted as "
                  "attention to all tokens",
                  window);
}

static void
note_quantization(RaConfigReader *reader, RaModel *model)
{
  RaConfigReader saved;
  const char *method;
  if (!ra_config_reader_enter(reader, "quantization_config", &saved))
    return;
  method = ra_config_reader_text(reader, "quant_method");
  if (g_strcmp0(method, "fp8") == 0 || g_strcmp0(method, "fbgemm_fp8") == 0)
    model->param_bytes = 1;
  ra_model_note(model, RA_MODEL_NOTE_WEIGHTS, method ? method : "another type");
  ra_config_reader_leave(reader, &saved);
}

/* Notes on what a family's file says and the record does not express. */
static void
read_notes(RaConfigReader *reader, RaModel *model)
{
  guint32 n = ra_config_reader_size_or(reader, "num_nextn_predict_layers", 0,
                                       RA_MODEL_MAX_LAYERS, 0);
  if (n > 0)
    ra_model_note(model, "%u layer%s for multi-token prediction %s not counted",
                  n, n > 1 ? "s" : "", n > 1 ? "are" : "is");
  note_window(reader, model);
  note_quantization(reader, model);
}

/* The model of the current object. */
static void
read_object(RaConfigReader *reader, RaModel *model)
{
  const char *type = ra_config_reader_text(reader, "model_type");
  gboolean other = type && ra_model_read_other(reader, type, model);

  if (!other)
    model->family = read_type(reader);
  if (!other && ra_config_reader_has(reader, "per_layer_config"))
    ra_config_reader_fail(reader, "per_layer_config",
                          "'per_layer_config' of this 'model_type', expected "
                          "none: its layers are alike");
  if (!reader->failed)
    ra_model_read_family(reader, model);
  if (!reader->failed)
    read_notes(reader, model);
}

/* The text model of a vision-language model: what the outer object says of the
 * element type and of tied embeddings holds, as in transformers. */
static void
read_text(RaConfigReader *reader, RaModel *model)
{
  RaConfigReader saved;
  if (!ra_config_reader_enter(reader, "text_config", &saved)) {
    read_object(reader, model);
  } else {
    read_object(reader, model);
    ra_config_reader_leave(reader, &saved);
    model->tied_embeddings = ra_config_reader_flag(
        reader, "tie_word_embeddings", model->tied_embeddings);
    note_quantization(reader, model);
    if (!ra_config_reader_has(reader, "vision_config"))
      ra_model_note(model, "only the text model is counted");
  }
  if (!ra_vision_read(reader, model))
    ra_model_note(model, "images and the vision tower are not counted");
}

static RaModel *
read_family(RaConfigReader *reader, const char *name)
{
  g_autoptr(RaModel) model = g_new0(RaModel, 1);
  model->name = g_strdup(name);
  read_text(reader, model);
  if (reader->failed)
    return NULL;
  GError *problem = NULL;
  if (!ra_model_validate(model, &problem)) {
    ra_config_reader_take_error(reader, "model_type", problem);
    return NULL;
  }
  return g_steal_pointer(&model);
}

RaModel *
ra_model_parse(const char *name, const char *text, gsize len, GError **error)
{
  g_return_val_if_fail(name && (text || len == 0), NULL);
  g_return_val_if_fail(!error || !*error, NULL);
  if (len > RA_MODEL_MAX_FILE_BYTES) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:1: the text has %" G_GSIZE_FORMAT
                " bytes, expected at most %" G_GSIZE_FORMAT,
                name, len, RA_MODEL_MAX_FILE_BYTES);
    return NULL;
  }
  RaConfigReader reader;
  RaModel *model = NULL;
  if (ra_config_reader_init(&reader, name, text, len, error)) {
    g_autofree char *model_name = name_of(name);
    model = ra_config_reader_has(&reader, "model_type")
                ? read_family(&reader, model_name)
                : read_shape(&reader, model_name);
  }
  ra_config_reader_clear(&reader);
  return model;
}

RaModel *
ra_model_load(const char *path, GError **error)
{
  g_return_val_if_fail(path && (!error || !*error), NULL);
  g_autofree char *text = NULL;
  gsize len = 0;
  if (!ra_file_read(path, RA_MODEL_MAX_FILE_BYTES, &text, &len, error))
    return NULL;
  RaModel *model = ra_model_parse(path, text, len, error);
  if (model)
    model->path = g_strdup(path);
  return model;
}
