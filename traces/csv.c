/* Reading comma-separated tables, and finding their files. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "traces/csv.h"

#define FIELDS_MAX 64
#define BYTES_MAX (32u << 20) /* the largest of the project has 4 MB */

/* Cuts a line at its commas.  Returns: fields, at most FIELDS_MAX + 1 */
static guint
cut(char *line, char **fields)
{
  guint n = 0;

  g_strchomp(line);
  for (char *at = line; at; n++) {
    if (n == FIELDS_MAX)
      return n + 1;
    fields[n] = at;
    at = strchr(at, ',');
    if (at)
      *at++ = '\0';
  }
  return n;
}

/* Where each of @columns stands in the head. */
static gboolean
find_columns(const RaCsvLine *line, char **head, guint n_head, guint *out_at,
             GError **error)
{
  for (guint c = 0; line->columns[c]; c++) {
    gboolean optional = *line->columns[c] == '?';
    guint at = 0;

    while (at < n_head && strcmp(head[at], line->columns[c] + optional) != 0)
      at++;
    if (at == n_head && !optional) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s:1: there is no column '%s'", line->path,
                  line->columns[c]);
      return FALSE;
    }
    out_at[c] = at;
  }
  return TRUE;
}

static gboolean
read_lines(char *text, RaCsvLine *line, RaCsvRow read, gpointer data,
           GError **error)
{
  char *fields[FIELDS_MAX];
  guint at[RA_CSV_COLUMNS], n_head = 0;

  for (char *next, *start = text; start && *start; start = next) {
    guint n;

    next = strchr(start, '\n');
    if (next)
      *next++ = '\0';
    line->number++;
    if (strspn(start, "\r") == strlen(start))
      continue;
    n = cut(start, fields);
    if (n_head == 0) {
      n_head = n;
      if (!find_columns(line, fields, MIN(n, FIELDS_MAX), at, error))
        return FALSE;
      continue;
    }
    if (n != n_head || n > FIELDS_MAX) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s:%u: the line has %u fields, expected %u as in the head",
                  line->path, line->number, n, n_head);
      return FALSE;
    }
    for (guint c = 0; line->columns[c]; c++)
      line->field[c] = at[c] < n_head ? fields[at[c]] : "";
    if (!read(line, data, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_csv_read(const char *path, const char *const *columns, RaCsvRow read,
            gpointer data, GError **error)
{
  RaCsvLine line = {.path = path, .columns = columns};
  g_autofree char *text = NULL;
  gsize n_bytes;

  g_return_val_if_fail(g_strv_length((char **)columns) <= RA_CSV_COLUMNS,
                       FALSE);
  if (!ra_file_read(path, BYTES_MAX, &text, &n_bytes, error))
    return FALSE;
  if (!g_utf8_validate(text, (gssize)n_bytes, NULL)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s:1: not text, expected comma separated values", path);
    return FALSE;
  }
  return read_lines(text, &line, read, data, error);
}

gboolean
ra_csv_number(const RaCsvLine *line, guint column, double *out_value,
              GError **error)
{
  const char *text = line->field[column];

  *out_value = 0;
  if (*text == '\0')
    return TRUE;
  if (ra_text_double(text, out_value) && *out_value >= 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s:%u: '%s' is '%s', expected a number of at least 0",
              line->path, line->number,
              line->columns[column] + (*line->columns[column] == '?'), text);
  return FALSE;
}

gboolean
ra_csv_numbers(const RaCsvLine *line, guint first, guint n, double *out_values,
               GError **error)
{
  for (guint i = 0; i < n; i++)
    if (!ra_csv_number(line, first + i, &out_values[i], error))
      return FALSE;
  return TRUE;
}

static int
compare_paths(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *
ra_csv_find(const char *folder, const char *prefix)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir)))
    if (g_str_has_prefix(name, prefix) && g_str_has_suffix(name, ".csv"))
      g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
  if (dir)
    g_dir_close(dir);
  g_ptr_array_sort(paths, compare_paths);
  return paths;
}

GPtrArray *
ra_csv_find_all(const char *const *data, const char *folder, const char *prefix)
{
  GPtrArray *all = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; data[i]; i++) {
    g_autofree char *path = g_build_filename(data[i], folder, NULL);

    g_ptr_array_extend_and_steal(all, ra_csv_find(path, prefix));
  }
  return all;
}
