/* Quoted text, and escapes of characters that are not visible. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define WORD LETTERS "0123456789_./-"

/* TRUE if @c is not visible, or ends a line of YAML. */
static gboolean
is_hidden(gunichar c)
{
  GUnicodeType type = g_unichar_type(c);

  return !g_unichar_isprint(c) || type == G_UNICODE_LINE_SEPARATOR ||
         type == G_UNICODE_PARAGRAPH_SEPARATOR;
}

/* `\n`, or the number: escapes that C and YAML share. */
static void
append_escape(GString *out, gunichar c)
{
  if (c == '\n')
    g_string_append(out, "\\n");
  else if (c == '\t')
    g_string_append(out, "\\t");
  else if (c == '\r')
    g_string_append(out, "\\r");
  else
    g_string_append_printf(out,
                           c < 0x100     ? "\\x%02x"
                           : c < 0x10000 ? "\\u%04x"
                                         : "\\U%08x",
                           c);
}

/* @text with escapes; also of the ASCII characters in @more, behind `\`. */
static void
append_escaped(GString *out, const char *text, const char *more)
{
  g_autofree char *valid = g_utf8_make_valid(text, -1);

  for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
    gunichar c = g_utf8_get_char(p);

    if (is_hidden(c)) {
      append_escape(out, c);
      continue;
    }
    if (c < 0x80 && strchr(more, (int)c))
      g_string_append_c(out, '\\');
    g_string_append_unichar(out, c);
  }
}

void
ra_quote_gnuplot(GString *out, const char *format, ...)
{
  g_autofree char *text = NULL, *valid = NULL;
  va_list arguments;

  va_start(arguments, format);
  text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  valid = g_utf8_make_valid(text, -1);
  g_string_append_c(out, '\'');
  for (const char *p = valid; *p; p++) {
    if (*p == '\'')
      g_string_append(out, "''");
    else
      g_string_append_c(out, g_ascii_iscntrl(*p) ? ' ' : *p);
  }
  g_string_append_c(out, '\'');
}

/* TRUE if a line of @data begins with @word. */
static gboolean
has_line(const char *data, const char *word)
{
  for (const char *line = data; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (g_str_has_prefix(line, word))
      return TRUE;
  }
  return FALSE;
}

void
ra_quote_block(GString *out, const char *name, const char *data)
{
  g_autoptr(GString) word = g_string_new("EOD");

  while (has_line(data, word->str))
    g_string_append_c(word, '_');
  g_string_append_printf(out, "$%s << %s\n%s%s\n", name, word->str, data,
                         word->str);
}

void
ra_quote_column(GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid(text, -1);

  g_string_append_c(out, '"');
  for (const char *p = valid; *p; p++)
    g_string_append_c(out, *p == '"' ? '\'' : g_ascii_iscntrl(*p) ? ' ' : *p);
  g_string_append_c(out, '"');
}

void
ra_quote_comment(GString *out, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start(arguments, format);
  text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_string_append(out, "# ");
  append_escaped(out, text, "");
  g_string_append_c(out, '\n');
}

char *
ra_quote_visible(const char *text)
{
  GString *out = g_string_new(NULL);

  append_escaped(out, text, "");
  return g_string_free(out, FALSE);
}

char *
ra_quote_shell(const char *text)
{
  gboolean is_plain = *text && text[strspn(text, WORD ":=,+")] == '\0';

  return is_plain ? g_strdup(text) : g_shell_quote(text);
}

char *
ra_quote_yaml(const char *text)
{
  static const char *const words[] = {"true", "false", "yes", "no", "on",
                                      "off",  "null",  "y",   "n"};
  gboolean is_plain =
      *text && strchr(LETTERS "/", *text) && text[strspn(text, WORD)] == '\0';
  GString *out;

  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    is_plain = is_plain && g_ascii_strcasecmp(text, words[i]) != 0;
  if (is_plain)
    return g_strdup(text);
  out = g_string_new("\"");
  append_escaped(out, text, "\"\\");
  g_string_append_c(out, '"');
  return g_string_free(out, FALSE);
}

gboolean
ra_quote_key(GString *out, const char *key, const char *value, GError **error)
{
  gsize n = strlen(value);
  gboolean quote = strchr(value, '#') || g_ascii_isspace(*value) ||
                   (n > 0 && g_ascii_isspace(value[n - 1]));

  for (const char *p = value; *p; p++) {
    if (*p == '"' || g_ascii_iscntrl(*p)) {
      g_autofree char *shown = ra_quote_visible(value);

      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s: '%s' cannot stand in a file of keys, expected it "
                  "without double quotes and control characters",
                  key, shown);
      return FALSE;
    }
  }
  g_string_append_printf(out, "%s = %s%s%s\n", key, quote ? "\"" : "", value,
                         quote ? "\"" : "");
  return TRUE;
}
