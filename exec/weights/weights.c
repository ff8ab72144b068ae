/* Opening, checking and reading of a folder of weights. */
#include "config.h"

#include <string.h>

#include "base/config_reader.h"
#include "base/error.h"
#include "base/text.h"
#include "exec/weights/stored.h"
#include "exec/weights/weights_impl.h"

/* Largest index that is read: 10^5 tensors of 150 bytes each. */
#define MAX_INDEX_BYTES ((gsize)16 << 20)

static const char only_file[] = "model.safetensors";
static const char index_file[] = "model.safetensors.index.json";
static const char config_file[] = "config.json";
static const char head_name[] = "lm_head.weight";

/* ---- the files -----------------------------------------------------------*/

static gboolean
open_file(RaWeights *w, const char *name, GError **error)
{
  g_autofree char *path = g_build_filename(w->folder, name, NULL);
  RaSafetensors *file = ra_safetensors_open(path, error);

  if (!file)
    return FALSE;
  g_ptr_array_add(w->files, file);
  for (uint32_t i = 0; i < ra_safetensors_n(file); i++) {
    const RaSafetensor *t = ra_safetensors_at(file, i);

    if (!g_hash_table_insert(w->tensors, t->name, (gpointer)t)) {
      g_set_error(
          error, RA_ERROR, RA_ERROR_INPUT,
          "%s: one of its tensors is in another file too, expected each once",
          path);
      return FALSE;
    }
  }
  return TRUE;
}

/* TRUE if @name is a file of the folder itself. */
static gboolean
is_plain_name(const char *name)
{
  return *name != '\0' && *name != '.' && !strchr(name, G_DIR_SEPARATOR);
}

/* The files that `weight_map` names, each once. */
static gboolean
open_mapped(RaWeights *w, const char *path, JsonObject *map, GError **error)
{
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  JsonObjectIter iter;
  const char *tensor;
  JsonNode *node;

  json_object_iter_init(&iter, map);
  while (json_object_iter_next(&iter, &tensor, &node)) {
    const char *name =
        JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;

    if (!name || !is_plain_name(name)) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: 'weight_map' has a value that is not the name of a file "
                  "next to it",
                  path);
      return FALSE;
    }
    if (g_hash_table_add(seen, (gpointer)name) && !open_file(w, name, error))
      return FALSE;
  }
  json_object_iter_init(&iter, map);
  while (json_object_iter_next(&iter, &tensor, &node))
    if (!g_hash_table_contains(w->tensors, tensor)) {
      g_autofree char *shown = g_strescape(tensor, NULL);

      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: tensor '%s' is in none of the files", path, shown);
      return FALSE;
    }
  return TRUE;
}

static gboolean
open_indexed(RaWeights *w, GError **error)
{
  g_autofree char *path = g_build_filename(w->folder, index_file, NULL);
  g_autofree char *text = NULL;
  RaConfigReader reader, saved;
  gsize n_bytes;
  gboolean ok;

  if (!ra_file_read(path, MAX_INDEX_BYTES, &text, &n_bytes, error))
    return FALSE;
  ok = ra_config_reader_init(&reader, path, text, n_bytes, error);
  if (ok && !ra_config_reader_enter(&reader, "weight_map", &saved)) {
    ra_config_reader_fail(&reader, "weight_map", "no object 'weight_map'");
    ok = FALSE;
  } else if (ok) {
    ok = open_mapped(w, path, reader.object, error);
    ra_config_reader_leave(&reader, &saved);
  }
  ra_config_reader_clear(&reader);
  return ok;
}

/* The corrections that routers with sigmoids add to the scores they choose by:
 * numbers of the checkpoint that are not trained. */
static gboolean
read_router_bias(RaWeights *w, GError **error)
{
  const RaModel *m = w->model;

  if (!w->numerics.sigmoid_router)
    return TRUE;
  w->router_bias = g_new0(float, (gsize)m->n_layers * m->n_experts);
  w->numerics.router_bias = w->router_bias;
  for (guint32 layer = 0; layer < m->n_layers; layer++) {
    g_autofree char *name = g_strdup_printf(RA_WEIGHTS_ROUTER_BIAS, layer);
    const RaSafetensor *t = g_hash_table_lookup(w->tensors, name);

    if (!ra_model_layer_is_moe(m, layer))
      continue;
    if (!t || t->n != m->n_experts || t->type > RA_SAFETENSOR_F64) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: no tensor '%s' of %u numbers, which the router of a %s "
                  "has",
                  w->folder, name, m->n_experts, ra_model_type(m));
      return FALSE;
    }
    ra_safetensor_floats(t, 0, t->n,
                         w->router_bias + (gsize)layer * m->n_experts);
  }
  return TRUE;
}

RaWeights *
ra_weights_open(const char *folder, GError **error)
{
  g_autoptr(RaWeights) w = g_new0(RaWeights, 1);
  g_autofree char *config = g_build_filename(folder, config_file, NULL);
  g_autofree char *only = g_build_filename(folder, only_file, NULL);
  gboolean is_one = g_file_test(only, G_FILE_TEST_EXISTS);

  w->folder = g_strdup(folder);
  w->files =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_safetensors_free);
  w->tensors = g_hash_table_new(g_str_hash, g_str_equal);
  w->model = ra_model_load(config, error);
  if (!w->model ||
      !ra_weights_read_config(config, w->model, &w->numerics, error) ||
      !(is_one ? open_file(w, only_file, error) : open_indexed(w, error)))
    return NULL;
  return read_router_bias(w, error) ? g_steal_pointer(&w) : NULL;
}

void
ra_weights_free(RaWeights *weights)
{
  if (!weights)
    return;
  g_free(weights->folder);
  ra_model_free(weights->model);
  g_free(weights->router_bias);
  g_ptr_array_unref(weights->files);
  g_hash_table_unref(weights->tensors);
  g_free(weights);
}

/* ---- against a model ------------------------------------------------------*/

/* The tensor in the files for @stored; NULL: none.  The Hub has gpt2 and bloom
 * without the class name as a prefix. */
static const RaSafetensor *
find(const RaWeights *w, const RaStored *stored)
{
  static const char prefix[] = "transformer.";
  const RaSafetensor *t = g_hash_table_lookup(w->tensors, stored->name);

  if (!t && g_str_has_prefix(stored->name, prefix))
    t = g_hash_table_lookup(w->tensors, stored->name + strlen(prefix));
  return t;
}

/* Tensors of older gpt2 checkpoints that are no weights: masks, which
 * transformers skips too. */
static gboolean
is_mask(const RaModel *model, const char *name)
{
  return model->family == RA_FAMILY_GPT2 &&
         (g_str_has_suffix(name, ".attn.bias") ||
          g_str_has_suffix(name, ".attn.masked_bias"));
}

/* Corrections of a router, which read_router_bias() reads, or a tensor of a
 * layer of GLM-4.5 that predicts tokens further ahead (MTP), which transformers
 * leaves out too. */
static gboolean
is_apart(const RaWeights *w, const char *name)
{
  static const char layers[] = "model.layers.";
  const RaModel *m = w->model;
  g_autofree char *bias = NULL, *prefix = NULL;
  guint64 layer;

  if (!w->numerics.sigmoid_router || !g_str_has_prefix(name, layers))
    return FALSE;
  layer = g_ascii_strtoull(name + strlen(layers), NULL, 10);
  if (layer > G_MAXUINT32)
    return FALSE;
  prefix = g_strdup_printf("%s%u.", layers, (guint32)layer);
  if (layer >= m->n_layers)
    return g_str_has_prefix(name, prefix);
  bias = g_strdup_printf(RA_WEIGHTS_ROUTER_BIAS, (guint32)layer);
  return ra_model_layer_is_moe(m, (guint32)layer) && strcmp(name, bias) == 0;
}

static gboolean fail(const RaWeights *w, GError **error, const char *format,
                     ...) G_GNUC_PRINTF(3, 4);

static gboolean
fail(const RaWeights *w, GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start(args, format);
  text = g_strdup_vprintf(format, args);
  va_end(args);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: %s", w->folder, text);
  return FALSE;
}

/* (transfer full): dimensions, "29 x 16". */
static char *
shape_text(uint32_t n_dims, const uint64_t *dims)
{
  GString *text = g_string_new(NULL);

  for (uint32_t i = 0; i < n_dims; i++)
    g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i > 0 ? " x " : "",
                           dims[i]);
  return g_string_free(text, FALSE);
}

/* Reports a shape that ra_stored_matches() refuses. */
static gboolean
fail_shape(const RaWeights *w, const RaModel *model, const RaSafetensor *t,
           const RaStored *stored, GError **error)
{
  uint64_t dims[RA_SAFETENSORS_MAX_DIMS];
  uint32_t n = ra_stored_shape(stored, dims);
  g_autofree char *found = shape_text(t->n_dims, t->dims);
  g_autofree char *wanted = shape_text(n, dims);

  return fail(w, error,
              "tensor '%s' has another shape than model '%s', %s, expected %s",
              stored->name, model->name, found, wanted);
}

/* @out_found: what it is in the files; NULL: a value head that has nothing. */
static gboolean
check_tensor(const RaWeights *w, const RaModel *model, const RaTensor *tensor,
             const RaSafetensor **out_found, GError **error)
{
  const RaSafetensor *t;
  RaStored stored;

  ra_stored_init(&stored, model, tensor);
  *out_found = t = find(w, &stored);
  if (!t)
    return (tensor->kind == RA_TENSOR_HEAD && model->head == RA_HEAD_VALUE) ||
           fail(w, error, "tensor '%s' of model '%s' is missing", stored.name,
                model->name);
  if (!ra_stored_matches(&stored, t))
    return fail_shape(w, model, t, &stored, error);
  if (t->type > RA_SAFETENSOR_F64)
    return fail(w, error,
                "tensor '%s' is of %s, expected F32, F16, BF16 or F64",
                stored.name, ra_safetensor_type_name(t->type));
  return TRUE;
}

gboolean
ra_weights_check(const RaWeights *weights, const RaModel *model, GError **error)
{
  g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
  uint32_t n = ra_model_n_tensors(model);
  GHashTableIter iter;
  gpointer name;

  if (!ra_stored_supports(model, error))
    return FALSE;
  if (weights->model->n_heads != model->n_heads ||
      weights->model->n_kv_heads != model->n_kv_heads)
    return fail(weights, error,
                "%u heads and %u of keys and values, model '%s' has %u and %u",
                weights->model->n_heads, weights->model->n_kv_heads,
                model->name, model->n_heads, model->n_kv_heads);
  for (uint32_t i = 0; i < n; i++) {
    const RaSafetensor *found;
    RaTensor tensor;

    ra_model_tensor(model, i, &tensor);
    if (!check_tensor(weights, model, &tensor, &found, error))
      return FALSE;
    if (found)
      g_hash_table_add(known, found->name);
  }
  g_hash_table_iter_init(&iter, weights->tensors);
  while (g_hash_table_iter_next(&iter, &name, NULL)) {
    g_autofree char *shown = NULL;

    /* A copy of a tied embedding, or what a value head stands in for. */
    if (g_hash_table_contains(known, name) || strcmp(name, head_name) == 0 ||
        is_mask(model, name) || is_apart(weights, name))
      continue;
    shown = g_strescape(name, NULL);
    return fail(weights, error, "tensor '%s' is none of model '%s'", shown,
                model->name);
  }
  return TRUE;
}

/* Elements at a time, of a tensor whose rows are not stored as rows. */
#define STRIP_ELEMENTS ((uint64_t)1 << 20)

static void
read_param(const RaWeights *weights, const RaParam *param, RaParams *params)
{
  RaRect rect = param->rect;
  uint64_t end = rect.row + rect.n_rows;
  uint64_t most = MAX(STRIP_ELEMENTS / MAX(rect.n_cols, 1), 1);
  gsize at = param->offset;
  g_autofree float *strip = NULL;
  const RaSafetensor *t;
  RaStored stored;

  ra_stored_init(&stored, params->model, &param->tensor);
  t = find(weights, &stored);
  if (!t)
    return; /* a value head that there is none of */
  strip = g_new(float, MIN(most, rect.n_rows) * rect.n_cols + 1);
  while (rect.row < end) {
    rect.n_rows = MIN(most, ra_stored_n_neighbours(&stored, rect.row));
    rect.n_rows = MIN(rect.n_rows, end - rect.row);
    ra_stored_read(&stored, t, &rect, strip);
    ra_params_write(params, RA_PARAMS_WEIGHTS, at, rect.n_rows * rect.n_cols,
                    strip);
    at += rect.n_rows * rect.n_cols;
    rect.row += rect.n_rows;
  }
}

void
ra_weights_read(const RaWeights *weights, RaParams *params)
{
  for (uint32_t i = 0; i < params->n_params; i++)
    read_param(weights, &params->params[i], params);
}
