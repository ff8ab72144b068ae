/* Writing of a folder of weights. */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"
#include "exec/weights/stored.h"
#include "exec/weights/weights_impl.h"

static const char only_name[] = "model.safetensors";
static const char index_name[] = "model.safetensors.index.json";

/* Content of a file under one name: a tensor, or the parts of a fused one. */
typedef struct {
  RaStored stored; /* of the first part */
  uint32_t first;  /* tensor of the model */
  uint32_t n;      /* from the first part to the last, others between them */
  const float *numbers; /* its numbers, which are no tensor of the model; NULL:
                           they are */
} Entry;

/* State of writing. */
typedef struct {
  const char *folder;
  const RaModel *model;
  const RaParams *const *parts;
  uint32_t n_parts;
  Entry *entries;     /* (n) in the order of the model */
  uint32_t *entry_of; /* (tensors of the model) index of its entry */
  uint32_t n;
  float *tensor; /* room for the largest tensor of the model */
  float *whole;  /* for the largest entry */
} Writer;

gboolean
ra_weights_write_json(JsonBuilder *b, const char *folder, const char *name,
                      GError **error)
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

static uint64_t
entry_bytes(const Writer *w, uint32_t i)
{
  const RaStored *s = &w->entries[i].stored;

  return MAX(s->n_experts, 1) * s->dims[0] * s->dims[1] * sizeof(float);
}

/* The numbers of an entry, in their order. */
static const float *
collect(const Writer *w, const Entry *entry)
{
  if (entry->numbers)
    return entry->numbers;
  for (uint32_t i = entry->first; i < entry->first + entry->n; i++) {
    RaTensor tensor;
    RaStored stored;

    if (&w->entries[w->entry_of[i]] != entry)
      continue;
    ra_params_gather(w->parts, w->n_parts, i, RA_PARAMS_WEIGHTS, w->tensor);
    if (entry->n == 1 && !entry->stored.transposed)
      return w->tensor;
    ra_model_tensor(w->model, i, &tensor);
    ra_stored_init(&stored, w->model, &tensor);
    ra_stored_place(&stored, w->tensor, w->whole);
  }
  return w->whole;
}

/* Entries @begin to @end less one to a file. */
static gboolean
write_file(const Writer *w, const char *name, uint32_t begin, uint32_t end,
           GError **error)
{
  static const char *const metadata[] = {"format", "pt", NULL};
  g_autofree char *path = g_build_filename(w->folder, name, NULL);
  g_autofree RaSafetensor *heads = g_new0(RaSafetensor, end - begin + 1);
  g_autoptr(GBytes) head = NULL;
  RaAtomicFile *aside = ra_atomic_file_new(path);
  gsize n_bytes;
  const void *bytes;

  for (uint32_t i = begin; i < end; i++) {
    RaStored *s = &w->entries[i].stored;

    heads[i - begin] =
        (RaSafetensor){.name = s->name, .type = RA_SAFETENSOR_F32};
    heads[i - begin].n_dims = ra_stored_shape(s, heads[i - begin].dims);
  }
  head = ra_safetensors_head(heads, end - begin, metadata);
  bytes = g_bytes_get_data(head, &n_bytes);
  ra_atomic_file_put(aside, bytes, n_bytes);
  for (uint32_t i = begin; i < end; i++)
    ra_atomic_file_put(aside, collect(w, &w->entries[i]),
                       heads[i - begin].n_bytes);
  return ra_atomic_file_end(aside, error);
}

/* Where files end: (n_files + 1) bounds, each of @max_bytes or of one entry.
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
    if (held > 0 && held + entry_bytes(w, i) > max_bytes) {
      g_array_append_val(bounds, i);
      held = 0;
    }
    held += entry_bytes(w, i);
    *out_bytes += entry_bytes(w, i);
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

/* Removes the result of an earlier write in the other form, which readers would
 * use. */
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
  json_builder_set_member_name(b, "total_size");
  json_builder_add_int_value(b, (gint64)n_bytes);
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
      json_builder_set_member_name(b, w->entries[i].stored.name);
      json_builder_add_string_value(b, name);
    }
  }
  json_builder_end_object(b);
  json_builder_end_object(b);
  if (n_files > 1 && !ra_weights_write_json(b, w->folder, index_name, error))
    return FALSE;
  drop_other(w->folder, n_files > 1 ? only_name : index_name);
  return TRUE;
}

/* The corrections of the router of layer @layer. */
static void
add_bias(Writer *w, uint32_t layer, const float *numbers)
{
  Entry *e = &w->entries[w->n++];

  *e = (Entry){.stored = {.n_dims = 1, .dims = {w->model->n_experts, 1}},
               .numbers = numbers};
  g_snprintf(e->stored.name, sizeof e->stored.name, RA_WEIGHTS_ROUTER_BIAS,
             layer);
}

/* The entry of tensor @i, a new one if it is the first of its name; @seen: name
 * to entry. */
static void
list_tensor(Writer *w, uint32_t i, const Entry *entry, GHashTable *seen)
{
  Entry *of = g_hash_table_lookup(seen, entry->stored.name);

  if (!of) {
    of = &w->entries[w->n++];
    *of = *entry;
    g_hash_table_insert(seen, of->stored.name, of);
  }
  of->n = i + 1 - of->first;
  w->entry_of[i] = (uint32_t)(of - w->entries);
}

/* @bias: of routers, nullable. */
static void
list_entries(Writer *w, const float *bias)
{
  uint32_t n = ra_model_n_tensors(w->model);
  uint64_t most = 0, most_whole = 0;
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

  w->entries = g_new(Entry, n + w->model->n_layers + 1);
  w->entry_of = g_new(uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    Entry e = {.first = i, .n = 1};
    RaTensor tensor;

    ra_model_tensor(w->model, i, &tensor);
    ra_stored_init(&e.stored, w->model, &tensor);
    most = MAX(most, tensor.rows * tensor.cols);
    most_whole = MAX(most_whole, MAX(e.stored.n_experts, 1) * e.stored.dims[0] *
                                     e.stored.dims[1]);
    list_tensor(w, i, &e, seen);
  }
  for (uint32_t i = 0; bias && i < w->model->n_layers; i++)
    if (ra_model_layer_is_moe(w->model, i))
      add_bias(w, i, bias + (gsize)i * w->model->n_experts);
  w->tensor = g_new0(float, most + 1);
  w->whole = g_new0(float, most_whole + 1);
}

gboolean
ra_weights_write(const char *folder, const RaModel *model,
                 const RaNumerics *numerics, const RaParams *const *parts,
                 uint32_t n_parts, uint64_t max_bytes, GError **error)
{
  g_autofree float *none = NULL;
  const float *bias = numerics->router_bias;
  Writer w = {
      .folder = folder, .model = model, .parts = parts, .n_parts = n_parts};
  gboolean ok;

  if (!ra_stored_supports(model, error))
    return FALSE;
  if (numerics->sigmoid_router && !bias) /* of a seeded model */
    bias = none = g_new0(float, (gsize)model->n_layers * model->n_experts);
  if (g_mkdir_with_parents(folder, 0777) != 0)
    return ra_error_file(error, folder, errno, TRUE);
  list_entries(&w, bias);
  ok = write_files(&w, max_bytes ? max_bytes : RA_WEIGHTS_SHARD_BYTES, error) &&
       ra_weights_write_config(folder, model, numerics, error);
  g_free(w.entries);
  g_free(w.entry_of);
  g_free(w.tensor);
  g_free(w.whole);
  return ok;
}
