/* Output of subcommands: text, TSV and JSON; errors. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"

#define PARAGRAPH_COLUMNS 78 /* fits the narrowest terminal in use */
#define HELP_COLUMNS 100     /* as tables have */
#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

/* TRUE if @fd is a terminal that shows colours, and its user wants them
 * (no-color.org). */
static gboolean
has_colors(int fd)
{
  const char *none = g_getenv("NO_COLOR"), *term = g_getenv("TERM");

  return isatty(fd) && !(none && *none) && term && !g_str_equal(term, "dumb");
}

gboolean
ra_output_print(const char *text, gsize n_bytes, GError **error)
{
  if (fwrite(text, 1, n_bytes, stdout) == n_bytes && fflush(stdout) == 0)
    return TRUE;
  if (errno == EPIPE) { /* the reader has what it wants, as `head` */
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
  }
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

/* Existing files are kept without --force. */
static gboolean
check_free(char *const *paths, gboolean force, GError **error)
{
  for (; *paths && !force; paths++) {
    if (!g_file_test(*paths, G_FILE_TEST_EXISTS))
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: exists already, expected a new name or --force", *paths);
    return FALSE;
  }
  return TRUE;
}

char **
ra_output_files(const char *folder, const char *name, const RaOutputFile *files,
                gboolean force, const char *input, GError **error)
{
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  g_auto(GStrv) paths = NULL;
  g_autofree char *into = NULL;

  for (guint i = 0; files[i].suffix; i++) {
    char *base = g_strconcat(name, files[i].suffix, NULL);

    if (!g_path_is_absolute(name)) {
      char *below = g_build_filename(folder, base, NULL);

      g_free(base);
      base = below;
    }
    g_ptr_array_add(all, base);
  }
  g_ptr_array_add(all, NULL);
  paths = (char **)g_ptr_array_steal(all, NULL);
  if (!check_free(paths, force, error) ||
      (input && !ra_file_keep(input, (const char *const *)paths, error)))
    return NULL;
  into = g_path_get_dirname(paths[0]); /* @name may have folders in it */
  if (g_mkdir_with_parents(into, 0777) != 0) {
    ra_error_file(error, into, errno, TRUE);
    return NULL;
  }
  for (guint i = 0; paths[i]; i++)
    if (!ra_file_write(paths[i], files[i].text, strlen(files[i].text), error))
      return NULL;
  return g_steal_pointer(&paths);
}

/* @title in place of the table's own. */
static void
append_titled(GString *out, const RaTable *table, const char *title,
              guint n_rows)
{
  g_autoptr(GString) text = g_string_new(NULL);

  ra_table_write_top(table, n_rows, text);
  g_string_append_printf(out, "%s%s", title, strchr(text->str, '\n'));
}

void
ra_output_titled(GString *out, const RaTable *table, const char *title)
{
  append_titled(out, table, title, ra_table_n_rows(table));
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
  g_string_append_c(out, '"');
  ra_table_json_key(table, out);
  g_string_append_printf(out, "\": %s", rows->str);
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
ra_output_top(GString *out, const RaTable *table, const char *title,
              guint n_rows, const char *rest)
{
  guint n = ra_table_n_rows(table);

  append_titled(out, table, title, n_rows);
  if (n > n_rows)
    g_string_append_printf(out, "... and %u %s ones (--format=tsv)\n",
                           n - n_rows, rest);
}

void
ra_output_wrapped(GString *out, const char *text)
{
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  gsize column = 0;

  for (guint i = 0; words[i]; i++) {
    gsize n = strlen(words[i]);

    if (column > 0 && column + 1 + n > PARAGRAPH_COLUMNS) {
      g_string_append_c(out, '\n');
      column = 0;
    }
    g_string_append_printf(out, "%s%s", column > 0 ? " " : "", words[i]);
    column += n + (column > 0);
  }
  g_string_append(out, ".\n");
}

/* Appends @line of a help text; an option's text goes on below its begin. */
static void
append_folded(GString *out, const char *line)
{
  gsize margin = strspn(line, " ");
  const char *gap = line[margin] == '-' ? strstr(line + margin, "  ") : NULL;
  const char *text = gap ? gap + strspn(gap, " ") : line;
  gsize column = (gsize)(text - line);
  const char *space;

  g_string_append_len(out, line, (gssize)column);
  while (
      gap && column + strlen(text) > HELP_COLUMNS &&
      (space = g_strrstr_len(text, (gssize)(HELP_COLUMNS - column + 1), " "))) {
    g_string_append_len(out, text, space - text);
    g_string_append_printf(out, "\n%*s", (int)column, "");
    text = space + 1;
  }
  g_string_append(out, text);
}

gboolean
ra_output_help(const char *help, GError **error)
{
  g_auto(GStrv) lines = g_strsplit(help, "\n", -1);
  g_autoptr(GString) out = g_string_new(NULL);

  for (guint i = 0; lines[i]; i++) {
    append_folded(out, lines[i]);
    g_string_append(out, lines[i + 1] ? "\n" : "");
  }
  return ra_output_print(out->str, out->len, error);
}

void
ra_output_verdict(GString *out, gsize begin, gboolean good)
{
  const char *colon = strchr(out->str + begin, ':');

  if (!has_colors(STDOUT_FILENO))
    return;
  g_string_insert(out, colon ? colon - out->str : (gssize)out->len - 1, PLAIN);
  g_string_insert(out, (gssize)begin, good ? GREEN : RED);
}

void
ra_output_error(const GError *error)
{
  /* The bytes of a file may stand in it. */
  g_autofree char *line = g_utf8_make_valid(error->message, -1);

  for (char *p = line; *p; p++) {
    if (g_ascii_iscntrl(*p))
      *p = ' ';
  }
  fprintf(stderr,
          has_colors(STDERR_FILENO) ? RED "reallot:" PLAIN " %s\n"
                                    : "reallot: %s\n",
          line);
}
