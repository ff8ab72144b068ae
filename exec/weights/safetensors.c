/* Reader of safetensors files, which checks every field, and their header. */
#include "config.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_index.h"
#include "exec/weights/safetensors.h"
#include "kernels/cpu/bf16.h"

enum { LENGTH_BYTES = 8, ALIGN_BYTES = 8 };

static const char metadata_key[] = "__metadata__";

struct _RaSafetensors {
  char *name;            /* for messages */
  GMappedFile *map;      /* NULL: of memory */
  RaSafetensor *tensors; /* (n_tensors) by begin */
  uint32_t n_tensors;
  GHashTable *by_name;  /* RaSafetensor *, keys borrowed */
  GHashTable *metadata; /* strings */
};

/* All types of the format, those that are not read among OTHER. */
static const struct {
  const char *name;
  RaSafetensorType type;
  uint8_t n_bytes;
} types[] = {
    {"F32", RA_SAFETENSOR_F32, 4},       {"F16", RA_SAFETENSOR_F16, 2},
    {"BF16", RA_SAFETENSOR_BF16, 2},     {"F64", RA_SAFETENSOR_F64, 8},
    {"U32", RA_SAFETENSOR_U32, 4},       {"U64", RA_SAFETENSOR_U64, 8},
    {"BOOL", RA_SAFETENSOR_OTHER, 1},    {"U8", RA_SAFETENSOR_OTHER, 1},
    {"I8", RA_SAFETENSOR_OTHER, 1},      {"F8_E5M2", RA_SAFETENSOR_OTHER, 1},
    {"F8_E4M3", RA_SAFETENSOR_OTHER, 1}, {"I16", RA_SAFETENSOR_OTHER, 2},
    {"U16", RA_SAFETENSOR_OTHER, 2},     {"I32", RA_SAFETENSOR_OTHER, 4},
    {"I64", RA_SAFETENSOR_OTHER, 8},
};

const char *
ra_safetensor_type_name(RaSafetensorType type)
{
  return type < RA_SAFETENSOR_OTHER ? types[type].name : "other";
}

static G_GNUC_PRINTF(3, 4) gboolean
    fail(const RaSafetensors *file, GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  g_autofree char *valid = NULL;
  va_list args;

  va_start(args, format);
  text = g_strdup_vprintf(format, args);
  va_end(args);
  /* A name may hold what would break the line. */
  valid = g_strescape(text, "\"'\\");
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: %s", file->name, valid);
  return FALSE;
}

/* TRUE if @node is a whole number from 0. */
static gboolean
read_count(JsonNode *node, uint64_t *out)
{
  gint64 value;

  if (!node || !JSON_NODE_HOLDS_VALUE(node) ||
      json_node_get_value_type(node) != G_TYPE_INT64)
    return FALSE;
  value = json_node_get_int(node);
  *out = (uint64_t)value;
  return value >= 0;
}

static JsonArray *
member_array(JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member(object, key);

  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static const char *
member_string(JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member(object, key);

  return node && JSON_NODE_HOLDS_VALUE(node) &&
                 json_node_get_value_type(node) == G_TYPE_STRING
             ? json_node_get_string(node)
             : NULL;
}

/* Reads dims and n; FALSE if the product exceeds 63 bits. */
static gboolean
read_shape(JsonArray *shape, RaSafetensor *t)
{
  guint n = shape ? json_array_get_length(shape) : 0;

  if (!shape || n > RA_SAFETENSORS_MAX_DIMS)
    return FALSE;
  t->n_dims = n;
  t->n = 1;
  for (guint i = 0; i < n; i++) {
    if (!read_count(json_array_get_element(shape, i), &t->dims[i]) ||
        (t->dims[i] > 0 && t->n > (uint64_t)G_MAXINT64 / t->dims[i]))
      return FALSE;
    t->n *= t->dims[i];
  }
  return TRUE;
}

/* One member of the head. */
static gboolean
read_tensor(RaSafetensors *file, const char *name, JsonNode *node,
            const uint8_t *arrays, uint64_t n_bytes, RaSafetensor *t,
            GError **error)
{
  JsonObject *object =
      JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
  const char *dtype = object ? member_string(object, "dtype") : NULL;
  JsonArray *ends = object ? member_array(object, "data_offsets") : NULL;
  guint type = 0;
  uint64_t end;

  t->name = g_strdup(name);
  while (dtype && type < G_N_ELEMENTS(types) &&
         strcmp(types[type].name, dtype) != 0)
    type++;
  if (!dtype || type == G_N_ELEMENTS(types))
    return fail(file, error, "tensor '%s' has no dtype of the format", name);
  t->type = types[type].type;
  if (!read_shape(member_array(object, "shape"), t))
    return fail(file, error,
                "tensor '%s' has no shape, expected up to %d whole numbers",
                name, RA_SAFETENSORS_MAX_DIMS);
  if (!ends || json_array_get_length(ends) != 2 ||
      !read_count(json_array_get_element(ends, 0), &t->begin) ||
      !read_count(json_array_get_element(ends, 1), &end) || t->begin > end ||
      end > n_bytes)
    return fail(
        file, error,
        "the data_offsets of tensor '%s' are not within the %" G_GUINT64_FORMAT
        " bytes of arrays",
        name, n_bytes);
  if (t->n > (uint64_t)G_MAXINT64 / 8 ||
      end - t->begin != t->n * types[type].n_bytes)
    return fail(file, error,
                "tensor '%s' has %" G_GUINT64_FORMAT
                " bytes, but its shape and dtype say otherwise",
                name, end - t->begin);
  t->bytes = arrays + t->begin;
  t->n_bytes = end - t->begin;
  return TRUE;
}

static gboolean
read_metadata(RaSafetensors *file, JsonNode *node, GError **error)
{
  JsonObjectIter iter;
  const char *key;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT(node))
    return fail(file, error, "'%s' is not an object", metadata_key);
  json_object_iter_init(&iter, json_node_get_object(node));
  while (json_object_iter_next(&iter, &key, &value)) {
    if (!JSON_NODE_HOLDS_VALUE(value) ||
        json_node_get_value_type(value) != G_TYPE_STRING)
      return fail(file, error, "'%s' of '%s' is not a string", key,
                  metadata_key);
    g_hash_table_insert(file->metadata, g_strdup(key),
                        json_node_dup_string(value));
  }
  return TRUE;
}

/* By place; of equal places the empty one first. */
static int
compare_tensors(const void *a, const void *b)
{
  const RaSafetensor *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->n > 0) - (y->n > 0);
}

/* The arrays lie one behind the other and fill @n_bytes. */
static gboolean
check_cover(const RaSafetensors *file, uint64_t n_bytes, GError **error)
{
  uint64_t at = 0;

  for (uint32_t i = 0; i < file->n_tensors; i++) {
    const RaSafetensor *t = &file->tensors[i];

    if (t->begin != at)
      return fail(file, error,
                  "tensor '%s' begins at byte %" G_GUINT64_FORMAT
                  " of the arrays, expected %" G_GUINT64_FORMAT,
                  t->name, t->begin, at);
    at += t->n_bytes;
  }
  if (at != n_bytes)
    return fail(file, error,
                "the tensors end at byte %" G_GUINT64_FORMAT
                " of %" G_GUINT64_FORMAT " of arrays",
                at, n_bytes);
  return TRUE;
}

/* All members of the head, and that they fill what is behind it. */
static gboolean
read_head(RaSafetensors *file, JsonObject *head, const uint8_t *arrays,
          uint64_t n_bytes, GError **error)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;

  file->tensors = g_new0(RaSafetensor, json_object_get_size(head) + 1);
  json_object_iter_init(&iter, head);
  while (json_object_iter_next(&iter, &name, &node)) {
    if (strcmp(name, metadata_key) == 0) {
      if (!read_metadata(file, node, error))
        return FALSE;
    } else if (!read_tensor(file, name, node, arrays, n_bytes,
                            &file->tensors[file->n_tensors++], error)) {
      return FALSE;
    }
  }
  if (file->n_tensors > 0)
    qsort(file->tensors, file->n_tensors, sizeof *file->tensors,
          compare_tensors);
  for (uint32_t i = 0; i < file->n_tensors; i++)
    g_hash_table_insert(file->by_name, file->tensors[i].name,
                        &file->tensors[i]);
  return check_cover(file, n_bytes, error);
}

static gboolean
read_bytes(RaSafetensors *file, const uint8_t *bytes, gsize n_bytes,
           GError **error)
{
  g_autoptr(RaJsonIndex) index = NULL;
  g_autoptr(JsonParser) parser = json_parser_new();
  const char *text = (const char *)bytes + LENGTH_BYTES;
  uint64_t n_head;

  if (G_BYTE_ORDER != G_LITTLE_ENDIAN)
    return fail(file, error, "this machine is not little endian");
  if (n_bytes < LENGTH_BYTES)
    return fail(file, error,
                "%" G_GSIZE_FORMAT
                " bytes are not a safetensors file, expected at least 8",
                n_bytes);
  memcpy(&n_head, bytes, sizeof n_head);
  if (n_head > RA_SAFETENSORS_MAX_HEAD_BYTES || n_head > n_bytes - LENGTH_BYTES)
    return fail(file, error,
                "its head says that it has %" G_GUINT64_FORMAT
                " bytes, the file has %" G_GSIZE_FORMAT,
                n_head, n_bytes - LENGTH_BYTES);
  /* The index refuses what the parser would take or choke on. */
  index = ra_json_index_new(file->name, text, n_head, error);
  if (!index)
    return FALSE;
  if (!json_parser_load_from_data(parser, text, (gssize)n_head, NULL))
    return fail(file, error, "its head is not JSON");
  return read_head(file, json_node_get_object(json_parser_get_root(parser)),
                   bytes + LENGTH_BYTES + n_head,
                   n_bytes - LENGTH_BYTES - n_head, error);
}

RaSafetensors *
ra_safetensors_parse(const char *name, const uint8_t *bytes, gsize n_bytes,
                     GError **error)
{
  g_autoptr(RaSafetensors) file = g_new0(RaSafetensors, 1);

  g_return_val_if_fail(name != NULL && (bytes != NULL || n_bytes == 0), NULL);
  file->name = g_strdup(name);
  file->by_name = g_hash_table_new(g_str_hash, g_str_equal);
  file->metadata =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  return read_bytes(file, bytes, n_bytes, error) ? g_steal_pointer(&file)
                                                 : NULL;
}

RaSafetensors *
ra_safetensors_open(const char *path, GError **error)
{
  GMappedFile *map = NULL;
  RaSafetensors *file;

  /* Opening a pipe would wait for whoever writes to it. */
  if (g_file_test(path, G_FILE_TEST_EXISTS) &&
      !g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: no regular file", path);
    return NULL;
  }
  map = g_mapped_file_new(path, FALSE, NULL);
  if (!map) {
    g_set_error(
        error, RA_ERROR, RA_ERROR_IO, "%s: cannot be read: %s", path,
        g_strerror(g_file_test(path, G_FILE_TEST_EXISTS) ? EIO : ENOENT));
    return NULL;
  }
  file = ra_safetensors_parse(path, (uint8_t *)g_mapped_file_get_contents(map),
                              g_mapped_file_get_length(map), error);
  if (file)
    file->map = map;
  else
    g_mapped_file_unref(map);
  return file;
}

void
ra_safetensors_free(RaSafetensors *file)
{
  if (!file)
    return;
  for (uint32_t i = 0; i < file->n_tensors; i++)
    g_free(file->tensors[i].name);
  g_free(file->tensors);
  g_hash_table_unref(file->by_name);
  g_hash_table_unref(file->metadata);
  if (file->map)
    g_mapped_file_unref(file->map);
  g_free(file->name);
  g_free(file);
}

uint32_t
ra_safetensors_n(const RaSafetensors *file)
{
  return file->n_tensors;
}

const RaSafetensor *
ra_safetensors_at(const RaSafetensors *file, uint32_t i)
{
  g_return_val_if_fail(i < file->n_tensors, NULL);
  return &file->tensors[i];
}

const RaSafetensor *
ra_safetensors_find(const RaSafetensors *file, const char *name)
{
  return g_hash_table_lookup(file->by_name, name);
}

const char *
ra_safetensors_metadata(const RaSafetensors *file, const char *key)
{
  return g_hash_table_lookup(file->metadata, key);
}

/* IEEE 754 binary16: 5 bits of exponent, 10 of fraction. */
static float
half_to_float(uint16_t bits)
{
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value;

  if (exponent == 31)
    value = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    value = ldexpf((float)fraction, -24);
  else
    value = ldexpf((float)(1024 + fraction), exponent - 25);
  return bits >> 15 ? -value : value;
}

void
ra_safetensor_floats(const RaSafetensor *tensor, uint64_t first, uint64_t n,
                     float *out)
{
  const uint8_t *at;
  uint16_t word;
  double wide;

  g_return_if_fail(first <= tensor->n && n <= tensor->n - first);
  switch (tensor->type) {
  case RA_SAFETENSOR_F32:
    memcpy(out, tensor->bytes + 4 * first, 4 * n);
    break;
  case RA_SAFETENSOR_F16:
  case RA_SAFETENSOR_BF16:
    at = tensor->bytes + 2 * first;
    for (uint64_t i = 0; i < n; i++, at += 2) {
      memcpy(&word, at, sizeof word);
      out[i] = tensor->type == RA_SAFETENSOR_F16 ? half_to_float(word)
                                                 : ra_bf16_to_f32(word);
    }
    break;
  case RA_SAFETENSOR_F64:
    at = tensor->bytes + 8 * first;
    for (uint64_t i = 0; i < n; i++, at += 8) {
      memcpy(&wide, at, sizeof wide);
      out[i] = (float)wide;
    }
    break;
  default:
    g_return_if_reached();
  }
}

static void
append_member(JsonBuilder *builder, const RaSafetensor *t)
{
  json_builder_set_member_name(builder, t->name);
  json_builder_begin_object(builder);
  json_builder_set_member_name(builder, "dtype");
  json_builder_add_string_value(builder, types[t->type].name);
  json_builder_set_member_name(builder, "shape");
  json_builder_begin_array(builder);
  for (uint32_t d = 0; d < t->n_dims; d++)
    json_builder_add_int_value(builder, (gint64)t->dims[d]);
  json_builder_end_array(builder);
  json_builder_set_member_name(builder, "data_offsets");
  json_builder_begin_array(builder);
  json_builder_add_int_value(builder, (gint64)t->begin);
  json_builder_add_int_value(builder, (gint64)(t->begin + t->n_bytes));
  json_builder_end_array(builder);
  json_builder_end_object(builder);
}

static char *
head_text(const RaSafetensor *tensors, uint32_t n_tensors,
          const char *const *metadata)
{
  g_autoptr(JsonBuilder) builder = json_builder_new();
  g_autoptr(JsonGenerator) generator = json_generator_new();
  g_autoptr(JsonNode) root = NULL;

  json_builder_begin_object(builder);
  if (metadata) {
    json_builder_set_member_name(builder, metadata_key);
    json_builder_begin_object(builder);
    for (guint i = 0; metadata[i]; i += 2) {
      json_builder_set_member_name(builder, metadata[i]);
      json_builder_add_string_value(builder, metadata[i + 1]);
    }
    json_builder_end_object(builder);
  }
  for (uint32_t i = 0; i < n_tensors; i++)
    append_member(builder, &tensors[i]);
  json_builder_end_object(builder);
  root = json_builder_get_root(builder);
  json_generator_set_root(generator, root);
  return json_generator_to_data(generator, NULL);
}

GBytes *
ra_safetensors_head(RaSafetensor *tensors, uint32_t n_tensors,
                    const char *const *metadata)
{
  g_autofree char *text = NULL;
  uint64_t at = 0, n;
  GByteArray *out = g_byte_array_new();

  for (uint32_t i = 0; i < n_tensors; i++) {
    RaSafetensor *t = &tensors[i];

    g_assert(t->type < RA_SAFETENSOR_OTHER);
    t->n = 1;
    for (uint32_t d = 0; d < t->n_dims; d++)
      t->n *= t->dims[d];
    t->begin = at;
    t->n_bytes = t->n * types[t->type].n_bytes;
    at += t->n_bytes;
  }
  text = head_text(tensors, n_tensors, metadata);
  n = strlen(text);
  n += (ALIGN_BYTES - (LENGTH_BYTES + n) % ALIGN_BYTES) % ALIGN_BYTES;
  g_byte_array_append(out, (const guint8 *)&n, sizeof n);
  g_byte_array_append(out, (const guint8 *)text, (guint)strlen(text));
  while (out->len < LENGTH_BYTES + n)
    g_byte_array_append(out, (const guint8 *)" ", 1);
  return g_byte_array_free_to_bytes(out);
}
