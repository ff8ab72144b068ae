/* The table of published models: reading, names, shapes. */
#include "config.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/model_hub.h"
#include "graph/input/model_vision.h"

#define HEAD "# reallot models 1"
#define MAX_NEAREST 3

struct _RaModelHub {
  char *path;
  char **heads;  /* of columns, NULL-terminated */
  GArray *rows;  /* of RaModelHubRow */
  GArray *cells; /* of char **: one a row */
};

/* Suffixes of names for the same shape in another type or layout. */
static const struct {
  const char *suffix; /* any letter case; longer ones first */
  const char *format;
  guint32 parameter_bytes;
} suffixes[] = {
    {"-unsloth-bnb-4bit", "4 bits (bitsandbytes)", 0},
    {"-bnb-4bit", "4 bits (bitsandbytes)", 0},
    {"-FP8-dynamic", "fp8", 1},
    {"-FP8", "fp8", 1},
    {"-GPTQ-Int4", "4 bits (GPTQ)", 0},
    {"-GPTQ-Int8", "8 bits (GPTQ)", 1},
    {"-AWQ", "4 bits (AWQ)", 0},
    {"-INT4", "4 bits", 0},
    {"-MXFP4", "mxfp4", 0},
    {"-NVFP4", "nvfp4", 0},
    {"-BF16", NULL, 0},
    {"-mcore", NULL, 0}, /* Megatron's layouts of the same weights */
    {"_torch_dist", NULL, 0},
};

void
ra_model_hub_free(RaModelHub *hub)
{
  if (!hub)
    return;
  for (guint i = 0; i < hub->rows->len; i++) {
    g_strfreev(g_array_index(hub->rows, RaModelHubRow, i).names);
    g_strfreev(g_array_index(hub->cells, char **, i));
  }
  g_array_unref(hub->rows);
  g_array_unref(hub->cells);
  g_strfreev(hub->heads);
  g_free(hub->path);
  g_free(hub);
}

guint
ra_model_hub_n_rows(const RaModelHub *hub)
{
  return hub->rows->len;
}

const RaModelHubRow *
ra_model_hub_row(const RaModelHub *hub, guint index)
{
  g_return_val_if_fail(index < hub->rows->len, NULL);
  return &g_array_index(hub->rows, RaModelHubRow, index);
}

/* ---- Reading --------------------------------------------------------- */

static gboolean
fail(const RaModelHub *hub, guint line, GError **error, const char *what)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: %s", hub->path, line,
              what);
  return FALSE;
}

static const char *
cell(const RaModelHub *hub, char **cells, const char *head)
{
  for (guint c = 0; hub->heads[c]; c++) {
    if (g_str_equal(hub->heads[c], head))
      return g_str_equal(cells[c], "-") ? NULL : cells[c];
  }
  return NULL;
}

/* Index of the row among the first @n whose main name is @name; -1: none. */
static int
row_of(const RaModelHub *hub, const char *name, guint n)
{
  for (guint i = 0; i < n; i++) {
    if (g_str_equal(ra_model_hub_row(hub, i)->name, name))
      return (int)i;
  }
  return -1;
}

static gboolean
read_row(RaModelHub *hub, const char *text, guint line, GError **error)
{
  char **cells = g_strsplit(text, "\t", -1);
  g_autofree char *names = NULL;
  RaModelHubRow row = {.line = line};
  const char *also, *parameters;

  if (g_strv_length(cells) != g_strv_length(hub->heads)) {
    g_strfreev(cells);
    return fail(hub, line, error, "expected a cell for every column");
  }
  also = cell(hub, cells, "also");
  parameters = cell(hub, cells, "parameters");
  row.name = cell(hub, cells, "name");
  row.like = cell(hub, cells, "like");
  row.note = cell(hub, cells, "note");
  row.vision = cell(hub, cells, "vision");
  names = g_strconcat(row.name ? row.name : "", also ? ", " : "",
                      also ? also : "", NULL);
  row.names = g_strsplit(names, ", ", -1);
  g_array_append_val(hub->rows, row);
  g_array_append_val(hub->cells, cells);
  if (!row.name || g_strv_contains((const char *const *)row.names, ""))
    return fail(hub, line, error, "expected a name");
  if (parameters &&
      !ra_text_uint64(parameters, &g_array_index(hub->rows, RaModelHubRow,
                                                 hub->rows->len - 1)
                                       .n_parameters))
    return fail(hub, line, error, "'parameters' is no whole number");
  if (row.like && !g_str_has_suffix(row.like, ".json") &&
      row_of(hub, row.like, hub->rows->len - 1) < 0)
    return fail(hub, line, error,
                "'like' is neither an earlier row's name nor a .json file");
  if (row.vision && !ra_vision_named(row.vision, &(RaVision){.kind = 0}))
    return fail(hub, line, error,
                "'vision' is none of the towers of graph/input/model_vision.c");
  return TRUE;
}

static gboolean
read_lines(RaModelHub *hub, const char *text, GError **error)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

  if (!g_str_equal(lines[0] ? lines[0] : "", HEAD))
    return fail(hub, 1, error, "expected '" HEAD "'");
  for (guint i = 1; lines[i]; i++) {
    if (*lines[i] == '#' || *lines[i] == '\0')
      continue;
    if (!hub->heads)
      hub->heads = g_strsplit(lines[i], "\t", -1);
    else if (!read_row(hub, lines[i], i + 1, error))
      return FALSE;
  }
  return hub->heads || fail(hub, 1, error, "expected a line of column names");
}

RaModelHub *
ra_model_hub_parse(const char *path, const char *text, gsize n_bytes,
                   GError **error)
{
  g_autoptr(RaModelHub) hub = g_new0(RaModelHub, 1);
  g_autofree char *own = g_strndup(text, n_bytes);

  g_return_val_if_fail(path != NULL, NULL);
  hub->path = g_strdup(path);
  hub->rows = g_array_new(FALSE, FALSE, sizeof(RaModelHubRow));
  hub->cells = g_array_new(FALSE, FALSE, sizeof(char **));
  if (!g_utf8_validate(text, (gssize)n_bytes, NULL)) {
    fail(hub, 1, error, "broken UTF-8");
    return NULL;
  }
  return read_lines(hub, own, error) ? g_steal_pointer(&hub) : NULL;
}

RaModelHub *
ra_model_hub_load(const char *path, GError **error)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  g_return_val_if_fail(path != NULL, NULL);
  if (!ra_file_read(path, RA_MODEL_MAX_FILE_BYTES, &text, &n_bytes, error))
    return NULL;
  return ra_model_hub_parse(path, text, n_bytes, error);
}

/* ---- Names ----------------------------------------------------------- */

/* Last part of a model's name or path, borrowed from @name with @out_n bytes:
 * `Qwen3-8B` of `/data/Qwen/Qwen3-8B/` and of
 * `.../models--Qwen--Qwen3-8B/snapshots/HASH`. */
static const char *
base_of(const char *name, gsize *out_n)
{
  const char *cached = strstr(name, "models--");
  gsize n = strlen(name);
  const char *base;

  if (cached && (cached == name || cached[-1] == '/')) {
    cached += strlen("models--");
    n = strcspn(cached, "/");
    base = g_strrstr_len(cached, (gssize)n, "--");
    base = base ? base + 2 : cached;
    *out_n = (gsize)(cached + n - base);
    return base;
  }
  while (n > 0 && name[n - 1] == '/')
    n--;
  base = g_strrstr_len(name, (gssize)n, "/");
  base = base ? base + 1 : name;
  *out_n = (gsize)(name + n - base);
  return base;
}

/* Looks for the @n bytes at @base. */
static gboolean
find_base(const RaModelHub *hub, const char *base, gsize n,
          RaModelHubMatch *match)
{
  for (guint i = 0; i < hub->rows->len; i++) {
    const RaModelHubRow *row = ra_model_hub_row(hub, i);

    for (guint k = 0; row->names[k]; k++) {
      gsize n_known;
      const char *known = base_of(row->names[k], &n_known);

      if (n_known == n && g_ascii_strncasecmp(known, base, n) == 0) {
        match->row = row;
        match->name = row->names[k];
        return TRUE;
      }
    }
  }
  return FALSE;
}

RaModelHubMatch
ra_model_hub_find(const RaModelHub *hub, const char *name)
{
  RaModelHubMatch match = {.suffix = ""};
  gsize n;
  const char *base = base_of(name, &n);

  if (find_base(hub, base, n, &match))
    return match;
  for (guint i = 0; i < G_N_ELEMENTS(suffixes); i++) {
    gsize n_suffix = strlen(suffixes[i].suffix);

    if (n > n_suffix &&
        g_ascii_strncasecmp(base + n - n_suffix, suffixes[i].suffix,
                            n_suffix) == 0 &&
        find_base(hub, base, n - n_suffix, &match)) {
      match.suffix = suffixes[i].suffix;
      match.format = suffixes[i].format;
      match.parameter_bytes = suffixes[i].parameter_bytes;
      return match;
    }
  }
  return match;
}

char *
ra_model_hub_nearest(const RaModelHub *hub, const char *name)
{
  gsize n;
  const char *start = base_of(name, &n);
  g_autofree char *base = g_ascii_strdown(start, (gssize)n);
  g_autoptr(GPtrArray) bases = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GString) near = g_string_new(NULL);
  const char *found;

  for (guint i = 0; i < hub->rows->len; i++) {
    for (char **at = ra_model_hub_row(hub, i)->names; *at; at++) {
      start = base_of(*at, &n);
      g_ptr_array_add(bases, g_ascii_strdown(start, (gssize)n));
      g_ptr_array_add(names, *at);
    }
  }
  g_ptr_array_add(bases, NULL);
  for (guint k = 0; k < MAX_NEAREST; k++) {
    guint i = 0;

    found = ra_text_nearest(base, (const char *const *)bases->pdata);
    if (!found)
      break;
    while (bases->pdata[i] != found)
      i++;
    g_string_append_printf(near, "%s%s", k > 0 ? ", " : "",
                           (const char *)names->pdata[i]);
    g_ptr_array_remove_index(bases, i);
    g_ptr_array_remove_index(names, i);
  }
  return near->len > 0 ? g_string_free(g_steal_pointer(&near), FALSE) : NULL;
}

/* ---- Shapes ---------------------------------------------------------- */

static void
add_value(JsonBuilder *builder, const char *text)
{
  uint64_t number;

  if (ra_text_uint64(text, &number) && number <= G_MAXINT64)
    json_builder_add_int_value(builder, (gint64)number);
  else if (g_str_equal(text, "true") || g_str_equal(text, "false"))
    json_builder_add_boolean_value(builder, *text == 't');
  else
    json_builder_add_string_value(builder, text);
}

/* The keys of a row as a config file. */
static char *
json_of(const RaModelHub *hub, guint index)
{
  static const char *const own[] = {"name", "like",   "also", "parameters",
                                    "note", "vision", NULL};
  char **cells = g_array_index(hub->cells, char **, index);
  g_autoptr(JsonBuilder) builder = json_builder_new();
  g_autoptr(JsonNode) root = NULL;

  json_builder_begin_object(builder);
  for (guint c = 0; hub->heads[c]; c++) {
    if (g_strv_contains(own, hub->heads[c]) || g_str_equal(cells[c], "-"))
      continue;
    json_builder_set_member_name(builder, hub->heads[c]);
    add_value(builder, cells[c]);
  }
  json_builder_end_object(builder);
  root = json_builder_get_root(builder);
  return json_to_string(root, FALSE);
}

/* The shape of row @index, which may be that of an earlier one. */
static RaModel *
shape_of(const RaModelHub *hub, guint index, GError **error)
{
  const RaModelHubRow *row = ra_model_hub_row(hub, index);
  RaModel *model;

  if (row->like && g_str_has_suffix(row->like, ".json")) {
    g_autofree char *path =
        ra_share_find("models", row->like, hub->path, error);

    model = path ? ra_model_load(path, error) : NULL;
  } else if (row->like) {
    model = shape_of(hub, (guint)row_of(hub, row->like, index), error);
  } else {
    g_autofree char *place = g_strdup_printf("%s:%u", hub->path, row->line);
    g_autofree char *text = json_of(hub, index);

    model = ra_model_parse(place, text, strlen(text), error);
    if (model && model->position != RA_POSITION_LEARNED)
      model->max_positions = 0; /* the table does not state it */
    if (model)
      model->path = g_strdup(hub->path);
  }
  if (model && row->note)
    ra_model_note(model, "%s", row->note);
  if (model && row->vision)
    ra_vision_named(row->vision, &model->vision);
  return model;
}

RaModel *
ra_model_hub_model(const RaModelHub *hub, const RaModelHubMatch *match,
                   GError **error)
{
  RaModel *model;

  g_return_val_if_fail(match->row != NULL, NULL);
  model = shape_of(hub, (guint)(match->row - ra_model_hub_row(hub, 0)), error);
  if (!model)
    return NULL;
  g_free(model->name);
  model->name = g_strconcat(match->name, match->suffix, NULL);
  if (match->parameter_bytes > 0)
    model->param_bytes = match->parameter_bytes;
  if (match->format)
    ra_model_note(model, RA_MODEL_NOTE_WEIGHTS, match->format);
  return model;
}
