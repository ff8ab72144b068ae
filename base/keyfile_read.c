/* Typed reading of a group by a table of keys.
 *
 * All values of a group are converted into temporaries first and stored only
 * when every one of them is good, so a record is written whole or not at all.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/keyfile_impl.h"
#include "base/text.h"

/* A converted value before it is stored. */
typedef struct {
  gboolean present; /* FALSE: leave the field as it is */
  union {
    const char *string;         /* RA_KEY_STRING */
    const char *const *strings; /* RA_KEY_STRINGS */
    uint64_t integer;           /* RA_KEY_UINT32, RA_KEY_UINT64 */
    double real;                /* RA_KEY_DOUBLE, RA_KEY_QUANTITY (SI) */
    int index;                  /* RA_KEY_ENUM, RA_KEY_BOOL */
  };
} Value;

/* State of one conversion; its messages are about (group, spec->key). */
typedef struct {
  RaKeyFile *file;
  guint group;
  const RaKeySpec *spec;
  const char *text; /* as written */
  GError **error;
} Item;

/* A number reads better bare, anything else in quotes. */
static char *
shown(const char *text)
{
  double unused;

  if (ra_text_double(text, &unused))
    return g_strdup(text);
  return g_strdup_printf("'%s'", text);
}

static gboolean
fail_expected(const Item *item, const char *expected)
{
  g_autofree char *text = shown(item->text);

  return ra_key_file_fail(item->file, item->group, item->spec->key, item->error,
                          "'%s' is %s, expected %s", item->spec->key, text,
                          expected);
}

static gboolean
is_bounded(const RaKeySpec *spec)
{
  return spec->min != 0 || spec->max != 0;
}

/* A bound as its key would be written. */
static char *
bound_text(const RaKeySpec *spec, double bound)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (spec->type == RA_KEY_QUANTITY)
    return ra_quantity_format(bound, spec->unit);
  g_ascii_formatd(text, sizeof text,
                  spec->type == RA_KEY_DOUBLE ? "%.9g" : "%.0f", bound);
  return g_strdup(text);
}

/* "an integer in [1, 8]", "a number of at least 0", "a number". */
static gboolean
fail_range(const Item *item, const char *what)
{
  const RaKeySpec *spec = item->spec;
  g_autofree char *low = bound_text(spec, spec->min);
  g_autofree char *high = bound_text(spec, spec->max);
  g_autofree char *expected = NULL;

  if (!is_bounded(spec))
    expected = g_strdup(what);
  else if (spec->max >= G_MAXDOUBLE)
    expected = g_strdup_printf("%s of at least %s", what, low);
  else
    expected = g_strdup_printf("%s in [%s, %s]", what, low, high);
  return fail_expected(item, expected);
}

static gboolean
is_in_range(const RaKeySpec *spec, double value)
{
  return !is_bounded(spec) || (value >= spec->min && value <= spec->max);
}

/* One pair of quotes around the whole of the @n bytes at @text is not part of
 * the value. */
static const char *
keep_unquoted(RaKeyFile *file, const char *text, gsize n)
{
  if (n >= 2 && text[0] == '"' && text[n - 1] == '"' &&
      memchr(text + 1, '"', n - 2) == NULL)
    return g_string_chunk_insert_len(file->texts, text + 1, (gssize)n - 2);
  return g_string_chunk_insert_len(file->texts, text, (gssize)n);
}

static gboolean
read_string(const Item *item, Value *out)
{
  out->string = keep_unquoted(item->file, item->text, strlen(item->text));
  return *out->string != '\0' || fail_expected(item, "a text");
}

/* The first comma at or after @p outside quotes and parentheses, or the end:
 * `uniform(1, 2), fixed(3)` is a list of two. */
static const char *
list_item_end(const char *p)
{
  gboolean quoted = FALSE;
  guint depth = 0;

  for (; *p; p++) {
    if (*p == '"')
      quoted = !quoted;
    else if (quoted)
      continue;
    else if (*p == '(' || *p == '[')
      depth++;
    else if ((*p == ')' || *p == ']') && depth > 0)
      depth--;
    else if (*p == ',' && depth == 0)
      break;
  }
  return p;
}

static gboolean
read_strings(const Item *item, Value *out)
{
  GPtrArray *list = g_ptr_array_new();
  const char *p = item->text;
  gboolean ok = TRUE;

  for (;;) {
    const char *end = list_item_end(p);
    const char *last = end;
    const char *text;

    while (p < last && g_ascii_isspace(*p))
      p++;
    while (last > p && g_ascii_isspace(last[-1]))
      last--;
    text = keep_unquoted(item->file, p, (gsize)(last - p));
    ok = ok && *text != '\0';
    g_ptr_array_add(list, (char *)text);
    if (*end == '\0')
      break;
    p = end + 1;
  }
  g_ptr_array_add(list, NULL);
  out->strings = (const char *const *)g_ptr_array_free(list, FALSE);
  g_ptr_array_add(item->file->lists, (gpointer)out->strings);
  return ok || fail_expected(item, "a comma-separated list without gaps");
}

static gboolean
read_integer(const Item *item, Value *out)
{
  const RaKeySpec *spec = item->spec;
  uint64_t limit = spec->type == RA_KEY_UINT32 ? UINT32_MAX : UINT64_MAX;
  RaKeySpec whole = *spec;

  if (ra_text_uint64(item->text, &out->integer) && out->integer <= limit &&
      is_in_range(spec, (double)out->integer))
    return TRUE;
  /* The type's own range is a bound too. */
  if (!is_bounded(spec) || spec->max > (double)limit)
    whole.max = (double)limit;
  if (limit == UINT64_MAX && whole.max >= (double)limit)
    whole.max = G_MAXDOUBLE;
  return fail_range(
      &(Item){item->file, item->group, &whole, item->text, item->error},
      "an integer");
}

static gboolean
read_real(const Item *item, Value *out)
{
  return (ra_text_double(item->text, &out->real) &&
          is_in_range(item->spec, out->real)) ||
         fail_range(item, "a number");
}

static gboolean
read_quantity(const Item *item, Value *out)
{
  GError *cause = NULL;

  if (!ra_quantity_parse(item->text, item->spec->unit, &out->real, &cause)) {
    ra_key_file_fail(item->file, item->group, item->spec->key, item->error,
                     "'%s': %s", item->spec->key, cause->message);
    g_error_free(cause);
    return FALSE;
  }
  return is_in_range(item->spec, out->real) || fail_range(item, "a quantity");
}

static gboolean
read_bool(const Item *item, Value *out)
{
  out->index = strcmp(item->text, "true") == 0;
  return out->index || strcmp(item->text, "false") == 0 ||
         fail_expected(item, "true or false");
}

static gboolean
read_enum(const Item *item, Value *out)
{
  const char *const *names = item->spec->names;
  const char *nearest = ra_text_nearest(item->text, names);
  g_autofree char *all = NULL;
  g_autofree char *expected = NULL;

  for (out->index = 0; names[out->index]; out->index++) {
    if (strcmp(item->text, names[out->index]) == 0)
      return TRUE;
  }
  all = g_strjoinv(", ", (char **)names);
  expected =
      nearest ? g_strdup_printf("one of %s, did you mean '%s'?", all, nearest)
              : g_strdup_printf("one of %s", all);
  return fail_expected(item, expected);
}

static gboolean
read_value(const Item *item, Value *out)
{
  if (*item->text == '\0')
    return ra_key_file_fail(item->file, item->group, item->spec->key,
                            item->error, "'%s' has no value, expected %s",
                            item->spec->key,
                            item->spec->doc ? item->spec->doc : "one");
  switch (item->spec->type) {
  case RA_KEY_STRING:
    return read_string(item, out);
  case RA_KEY_STRINGS:
    return read_strings(item, out);
  case RA_KEY_UINT32:
  case RA_KEY_UINT64:
    return read_integer(item, out);
  case RA_KEY_DOUBLE:
    return read_real(item, out);
  case RA_KEY_BOOL:
    return read_bool(item, out);
  case RA_KEY_ENUM:
    return read_enum(item, out);
  case RA_KEY_QUANTITY:
    return read_quantity(item, out);
  }
  g_return_val_if_reached(FALSE);
}

static void
store_value(const RaKeySpec *spec, const Value *value, void *record)
{
  void *field = G_STRUCT_MEMBER_P(record, spec->offset);

  switch (spec->type) {
  case RA_KEY_STRING:
    *(const char **)field = value->string;
    break;
  case RA_KEY_STRINGS:
    *(const char *const **)field = value->strings;
    break;
  case RA_KEY_UINT32:
    *(uint32_t *)field = (uint32_t)value->integer;
    break;
  case RA_KEY_UINT64:
    *(uint64_t *)field = value->integer;
    break;
  case RA_KEY_DOUBLE:
  case RA_KEY_QUANTITY:
    *(double *)field = value->real;
    break;
  case RA_KEY_BOOL:
    *(gboolean *)field = value->index;
    break;
  case RA_KEY_ENUM:
    *(int *)field = value->index;
    break;
  }
}

/* Also true for the `format = 1` that any group may state. */
static gboolean
is_known(const RaKeyEntry *entry, const RaKeySpec *specs, gsize n_specs)
{
  for (gsize i = 0; i < n_specs; i++) {
    if (strcmp(specs[i].key, entry->key) == 0)
      return TRUE;
  }
  return strcmp(entry->key, "format") == 0 && strcmp(entry->value, "1") == 0;
}

static gboolean
check_keys(const RaKeyFile *file, guint group, const RaKeySpec *specs,
           gsize n_specs, GError **error)
{
  const GArray *entries = ra_key_file_group(file, group)->entries;

  for (guint i = 0; entries && i < entries->len; i++) {
    const RaKeyEntry *entry = &g_array_index(entries, RaKeyEntry, i);
    g_autofree const char **names = NULL;
    g_autofree char *header = NULL;
    const char *nearest;

    if (is_known(entry, specs, n_specs))
      continue;
    names = g_new0(const char *, n_specs + 1);
    for (gsize j = 0; j < n_specs; j++)
      names[j] = specs[j].key;
    header = ra_key_file_header(file, group);
    nearest = ra_text_nearest(entry->key, names);
    if (nearest)
      return ra_key_file_fail(file, group, entry->key, error,
                              "unknown key '%s' in %s, did you mean '%s'?",
                              entry->key, header, nearest);
    g_autofree char *all = g_strjoinv(", ", (char **)names);
    return ra_key_file_fail(file, group, entry->key, error,
                            "unknown key '%s' in %s, expected one of %s",
                            entry->key, header, all);
  }
  return TRUE;
}

static gboolean
read_key(RaKeyFile *file, guint group, const RaKeySpec *spec, Value *out,
         GError **error)
{
  const RaKeyEntry *entry = ra_key_file_entry(file, group, spec->key);
  Item item = {file, group, spec, entry ? entry->value : spec->fallback, error};

  if (item.text != NULL) {
    out->present = TRUE;
    return read_value(&item, out);
  }
  if (spec->required) {
    g_autofree char *header = ra_key_file_header(file, group);

    return ra_key_file_fail(file, group, NULL, error,
                            "missing key '%s' in %s, expected %s", spec->key,
                            header, spec->doc ? spec->doc : "a value");
  }
  return TRUE;
}

gboolean
ra_key_file_read_group(RaKeyFile *file, guint group, const RaKeySpec *specs,
                       gsize n_specs, void *record, GError **error)
{
  g_return_val_if_fail(file != NULL && group < file->groups->len, FALSE);
  g_return_val_if_fail(specs != NULL || n_specs == 0, FALSE);
  g_return_val_if_fail(record != NULL, FALSE);

  g_autofree Value *values = g_new0(Value, n_specs);

  if (!check_keys(file, group, specs, n_specs, error))
    return FALSE;
  for (gsize i = 0; i < n_specs; i++) {
    if (!read_key(file, group, &specs[i], &values[i], error))
      return FALSE;
  }
  for (gsize i = 0; i < n_specs; i++) {
    if (values[i].present)
      store_value(&specs[i], &values[i], record);
  }
  return TRUE;
}
