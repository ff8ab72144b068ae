#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"

gboolean
ra_output_print(const char *text, gsize n_bytes, GError **error)
{
  if (fwrite(text, 1, n_bytes, stdout) == n_bytes && fflush(stdout) == 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_IO, "standard output: %s",
              g_strerror(errno));
  return FALSE;
}

gboolean
ra_output_write(const char *path, const char *text, gsize n_bytes,
                GError **error)
{
  if (path && !g_str_equal(path, "-"))
    return ra_file_write(path, text, n_bytes, error);
  return ra_output_print(text, n_bytes, error);
}

void
ra_output_titled(GString *out, const RaTable *table, const char *title)
{
  g_autoptr(GString) text = g_string_new(NULL);

  ra_table_write(table, RA_FORMAT_TEXT, text);
  g_string_append_printf(out, "%s%s", title, strchr(text->str, '\n'));
}

void
ra_output_member(GString *out, const RaTable *table, gboolean one)
{
  g_autoptr(GString) rows = g_string_new(NULL);

  ra_table_write(table, RA_FORMAT_JSON, rows);
  if (one) { /* what stands between the brackets of the array */
    g_string_truncate(rows, rows->len - strlen("\n]"));
    g_string_erase(rows, 0, (gssize)strlen("[\n  "));
  }
  g_string_append_printf(out, "\"%s\": %s", ra_table_title(table), rows->str);
}

gboolean
ra_output_tables(const GPtrArray *tables, RaFormat format, GError **error)
{
  g_autoptr(GString) out = g_string_new(format == RA_FORMAT_JSON ? "{\n" : "");

  for (guint i = 0; i < tables->len; i++) {
    const RaTable *table = tables->pdata[i];

    if (format == RA_FORMAT_JSON) {
      ra_output_member(out, table, FALSE);
      g_string_append(out, i + 1 < tables->len ? ",\n" : "\n}\n");
      continue;
    }
    if (i > 0 && format == RA_FORMAT_TEXT)
      g_string_append_c(out, '\n');
    ra_table_write(table, format, out);
  }
  return ra_output_print(out->str, out->len, error);
}

void
ra_output_error(const GError *error)
{
  g_autofree char *line = g_strdup(error->message);

  for (char *p = line; *p; p++) {
    if (g_ascii_iscntrl(*p))
      *p = ' ';
  }
  fprintf(stderr, "reallot: %s\n", line);
}
