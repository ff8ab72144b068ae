#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "exec/weights.h"
#include "graph/config_reader.h"

/* Largest index that is read: 10^5 tensors of 150 bytes each. */
#define MAX_INDEX_BYTES ((gsize)16 << 20)

static const char only_file[] = "model.safetensors";
static const char index_file[] = "model.safetensors.index.json";
static const char config_file[] = "config.json";
static const char head_name[] = "lm_head.weight";

/* ---- config.json: what the shape leaves open ------------------------------*/

/* A number above 0; @fallback where there is none. */
static double
read_number(RaConfigReader *reader, const char *key, double fallback)
{
  JsonNode *node = json_object_get_member(reader->object, key);
  double value;

  if (reader->failed || !node || JSON_NODE_HOLDS_NULL(node))
    return fallback;
  value = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_double(node) : 0;
  if (value > 0 && isfinite(value))
    return value;
  ra_config_reader_fail(reader, key, "'%s' is no number above 0", key);
  return fallback;
}

/* Of `rope_scaling` and of `rope_parameters`: only the plain frequencies. */
static void
read_rope(RaConfigReader *reader, const char *key, RaNumerics *out)
{
  static const char *const plain[] = {"default", NULL};
  RaConfigReader saved;

  if (!ra_config_reader_enter(reader, key, &saved))
    return;
  ra_config_reader_word(reader, "rope_type|type", plain, 0);
  out->rope_theta = read_number(reader, "rope_theta", out->rope_theta);
  ra_config_reader_leave(reader, &saved);
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
static gboolean
read_numerics(const char *path, RaNumerics *out, GError **error)
{
  static const char *const activations[] = {"silu", NULL};
  g_autofree char *text = NULL;
  gsize n_bytes;
  RaConfigReader reader;
  gboolean ok, mixtral;

  if (!ra_file_read(path, RA_MODEL_MAX_FILE_BYTES, &text, &n_bytes, error))
    return FALSE;
  ok = ra_config_reader_init(&reader, path, text, n_bytes, error);
  if (ok) {
    ra_config_reader_word(&reader, "hidden_act", activations, 0);
    out->raw_top_k = reads_raw_top_k(&reader);
    if (ra_config_reader_has(&reader, "sliding_window") &&
        ra_config_reader_flag(&reader, "use_sliding_window", TRUE))
      ra_config_reader_fail(&reader, "sliding_window",
                            "'sliding_window' is set, expected null: the host "
                            "back end attends to all tokens");
    mixtral = ra_config_reader_has(&reader, "num_local_experts");
    out->norm_eps =
        (float)read_number(&reader, "rms_norm_eps", mixtral ? 1e-5 : 1e-6);
    out->rope_theta = read_number(&reader, "rope_theta", mixtral ? 1e6 : 10000);
    read_rope(&reader, "rope_scaling", out);
    read_rope(&reader, "rope_parameters", out);
    ok = !reader.failed;
  }
  ra_config_reader_clear(&reader);
  return ok;
}

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
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: a tensor of it is in another file too, expected each "
                  "once",
                  path);
      return FALSE;
    }
  }
  return TRUE;
}

/* Whether @name is a file of the folder itself. */
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
                  "%s: 'weight_map' has a value that is no name of a file "
                  "beside it",
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
    ra_config_reader_fail(&reader, "weight_map",
                          "there is no object 'weight_map'");
    ok = FALSE;
  } else if (ok) {
    ok = open_mapped(w, path, reader.object, error);
    ra_config_reader_leave(&reader, &saved);
  }
  ra_config_reader_clear(&reader);
  return ok;
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
  if (!w->model || !read_numerics(config, &w->numerics, error) ||
      !(is_one ? open_file(w, only_file, error) : open_indexed(w, error)))
    return NULL;
  return g_steal_pointer(&w);
}

void
ra_weights_free(RaWeights *weights)
{
  if (!weights)
    return;
  g_free(weights->folder);
  ra_model_free(weights->model);
  g_ptr_array_unref(weights->files);
  g_hash_table_unref(weights->tensors);
  g_free(weights);
}

/* ---- against a model ------------------------------------------------------*/

/* What stands in the files for @tensor; NULL: nothing. */
static const RaSafetensor *
find(const RaWeights *w, const RaTensor *tensor)
{
  return g_hash_table_lookup(w->tensors, tensor->name);
}

static gboolean
has_shape(const RaSafetensor *t, const RaTensor *tensor)
{
  uint64_t rows = tensor->transposed ? tensor->cols : tensor->rows;
  uint64_t cols = tensor->transposed ? tensor->rows : tensor->cols;

  if (tensor->bias || tensor->kind == RA_TENSOR_NORM)
    return t->n_dims == 1 && t->dims[0] == tensor->rows;
  return t->n_dims == 2 && t->dims[0] == rows && t->dims[1] == cols;
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

/* (transfer full): its dimensions, "29 x 16". */
static char *
shape_of(const RaSafetensor *t)
{
  GString *text = g_string_new(NULL);

  for (uint32_t i = 0; i < t->n_dims; i++)
    g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i > 0 ? " x " : "",
                           t->dims[i]);
  return g_string_free(text, FALSE);
}

/* Of what has_shape() does not find. */
static gboolean
fail_shape(const RaWeights *w, const RaModel *model, const RaSafetensor *t,
           const RaTensor *tensor, GError **error)
{
  g_autofree char *found = shape_of(t);
  uint64_t rows = tensor->transposed ? tensor->cols : tensor->rows;
  uint64_t cols = tensor->transposed ? tensor->rows : tensor->cols;

  if (tensor->bias || tensor->kind == RA_TENSOR_NORM)
    return fail(w, error,
                "tensor '%s' has another shape than model '%s', %s, expected "
                "%" G_GUINT64_FORMAT,
                tensor->name, model->name, found, tensor->rows);
  return fail(w, error,
              "tensor '%s' has another shape than model '%s', %s, expected "
              "%" G_GUINT64_FORMAT " x %" G_GUINT64_FORMAT,
              tensor->name, model->name, found, rows, cols);
}

static gboolean
check_tensor(const RaWeights *w, const RaModel *model, const RaTensor *tensor,
             GError **error)
{
  const RaSafetensor *t = find(w, tensor);

  if (!t)
    return (tensor->kind == RA_TENSOR_HEAD && model->head == RA_HEAD_VALUE) ||
           fail(w, error, "tensor '%s' of model '%s' is missing", tensor->name,
                model->name);
  if (!has_shape(t, tensor))
    return fail_shape(w, model, t, tensor, error);
  if (t->type > RA_SAFETENSOR_F64)
    return fail(w, error,
                "tensor '%s' is of %s, expected F32, F16, BF16 or F64",
                tensor->name, ra_safetensor_type_name(t->type));
  return TRUE;
}

gboolean
ra_weights_check(const RaWeights *weights, const RaModel *model, GError **error)
{
  g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
  uint32_t n = ra_model_n_tensors(model);
  g_autofree RaTensor *tensors = g_new(RaTensor, n);
  GHashTableIter iter;
  gpointer name;

  if (weights->model->n_heads != model->n_heads ||
      weights->model->n_kv_heads != model->n_kv_heads)
    return fail(weights, error,
                "%u heads and %u of keys and values, model '%s' has %u and %u",
                weights->model->n_heads, weights->model->n_kv_heads,
                model->name, model->n_heads, model->n_kv_heads);
  for (uint32_t i = 0; i < n; i++) {
    ra_model_tensor(model, i, &tensors[i]);
    if (!check_tensor(weights, model, &tensors[i], error))
      return FALSE;
    g_hash_table_add(known, tensors[i].name);
  }
  g_hash_table_iter_init(&iter, weights->tensors);
  while (g_hash_table_iter_next(&iter, &name, NULL)) {
    g_autofree char *shown = NULL;

    /* A copy of a tied embedding, or what a value head stands in for. */
    if (g_hash_table_contains(known, name) || strcmp(name, head_name) == 0)
      continue;
    shown = g_strescape(name, NULL);
    return fail(weights, error, "tensor '%s' is none of model '%s'", shown,
                model->name);
  }
  return TRUE;
}

void
ra_weights_read(const RaWeights *weights, RaParams *params)
{
  for (uint32_t i = 0; i < params->n_params; i++) {
    const RaParam *param = &params->params[i];
    const RaRect *r = &param->rect;
    const RaSafetensor *t = find(weights, &param->tensor);
    g_autofree float *row_of = g_new(float, r->n_cols + 1);

    if (!t)
      continue; /* a value head that there is none of */
    g_return_if_fail(!param->tensor.transposed);
    for (uint64_t row = 0; row < r->n_rows; row++) {
      ra_safetensor_floats(t, (r->row + row) * param->tensor.cols + r->col,
                           r->n_cols, row_of);
      ra_params_write(params, RA_PARAMS_WEIGHTS,
                      param->offset + row * r->n_cols, r->n_cols, row_of);
    }
  }
}
