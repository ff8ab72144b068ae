/* The scanner of key files: text to index in one pass.
 *
 *     file  = line*
 *     line  = space* [header | entry] [space* '#' any*] ('\n' | '\r\n' | end)
 *     header = '[' space* word [space+ name] space* ']'
 *     entry = word space* '=' space* value
 *     word  = [A-Za-z0-9_-]+          name = [A-Za-z0-9_.:+/-]+
 *
 * A value ends at a '#' that follows white space outside double quotes.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/keyfile_impl.h"
#include "base/text.h"

#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
#define NAME WORD ".:+/"
#define SPACE " \t"
#define EXCERPT_CHARS 40 /* of a faulty line that a message quotes */

typedef struct {
  RaKeyFile *file; /* filled as lines come */
  guint line;      /* number of the present one, from 1 */
  int group;       /* open group, -1 before the first */
  GError **error;
} Scan;

/* Reports the fault with the beginning of the text that has it. */
static gboolean
fail_at(const Scan *scan, const char *what, const char *text)
{
  gboolean whole = g_utf8_strlen(text, -1) <= EXCERPT_CHARS;
  const char *end = whole ? text + strlen(text)
                          : g_utf8_offset_to_pointer(text, EXCERPT_CHARS);

  return ra_key_file_fail_line(scan->file, scan->line, scan->error,
                               "%s, found '%.*s%s'", what, (int)(end - text),
                               text, whole ? "" : "...");
}

/* Ends @text before a trailing comment and the white space around it;
 * FALSE where a quote stays open. */
static gboolean
strip_comment(char *text)
{
  gboolean quoted = FALSE;

  for (char *p = text + strcspn(text, "\"#"); *p; p++) {
    if (*p == '"') {
      quoted = !quoted;
    } else if (*p == '#' && !quoted && p > text && strchr(SPACE, p[-1])) {
      *p = '\0';
      break;
    }
  }
  g_strchomp(text);
  return !quoted;
}

/* Cuts the run of characters out of @set off the front of *@p and goes on to
 * the next character that is not white space, *@out_next; where no white space
 * parts the two, the cut lands on it.  An empty run is %NULL. */
static char *
take_word(char **p, const char *set, char *out_next)
{
  char *word = *p;
  char *end = word + strspn(word, set);

  *p = end + strspn(end, SPACE);
  *out_next = **p;
  if (end == word)
    return NULL;
  *end = '\0';
  return word;
}

/* @line begins with '['. */
static gboolean
scan_header(Scan *scan, char *line)
{
  static const char expected[] = "expected a group '[noun]' or '[noun name]'";
  g_autofree char *original = g_strdup(line);
  char *p = line + 1 + strspn(line + 1, SPACE);
  const char *noun, *name = "";
  char next;
  int found;

  noun = take_word(&p, WORD, &next);
  if (noun == NULL)
    return fail_at(scan, expected, original);
  if (next != ']')
    name = take_word(&p, NAME, &next);
  if (name == NULL || next != ']' || p[1] != '\0')
    return fail_at(scan, expected, original);
  found = ra_key_file_find_group(scan->file, noun, name);
  if (found >= 0) {
    g_autofree char *header = ra_key_file_header(scan->file, (guint)found);

    return ra_key_file_fail_line(
        scan->file, scan->line, scan->error,
        "duplicate group %s, expected once, first at line %u", header,
        ra_key_file_group(scan->file, (guint)found)->line);
  }
  scan->group = (int)ra_key_file_add_group(scan->file, noun, name, scan->line);
  return TRUE;
}

static gboolean
scan_entry(Scan *scan, char *line)
{
  static const char expected[] =
      "expected 'key = value', a '[group]' or a '# comment'";
  g_autofree char *original = g_strdup(line);
  char *p = line;
  const RaKeyEntry *first;
  const char *key;
  char next;

  key = take_word(&p, WORD, &next);
  if (key == NULL || next != '=')
    return fail_at(scan, expected, original);
  p++;
  /* The comment rule looks at the character before '#': strip it first. */
  if (!strip_comment(p))
    return fail_at(scan, "unterminated quote, expected a closing '\"'",
                   original);
  p += strspn(p, SPACE);
  if (scan->group < 0)
    return ra_key_file_fail_line(
        scan->file, scan->line, scan->error,
        "key '%s' stands before any group, expected '[noun]' first", key);
  first = ra_key_file_entry(scan->file, (guint)scan->group, key);
  if (first) {
    g_autofree char *header =
        ra_key_file_header(scan->file, (guint)scan->group);

    return ra_key_file_fail_line(
        scan->file, scan->line, scan->error,
        "duplicate key '%s' in %s, expected once, first at line %u", key,
        header, first->line);
  }
  ra_key_file_add_entry(scan->file, (guint)scan->group, key, p, scan->line);
  return TRUE;
}

/* @line without its end; modified. */
static gboolean
scan_line(Scan *scan, char *line, gsize n_bytes)
{
  if (n_bytes > 0 && line[n_bytes - 1] == '\r')
    line[--n_bytes] = '\0';
  for (gsize i = 0; i < n_bytes; i++) {
    if (g_ascii_iscntrl(line[i]) && line[i] != '\t')
      return ra_key_file_fail_line(
          scan->file, scan->line, scan->error,
          "control character 0x%02x, expected plain text", (guint)line[i]);
  }
  line += strspn(line, SPACE);
  if (*line == '\0' || *line == '#')
    return TRUE;
  if (*line != '[')
    return scan_entry(scan, line);
  strip_comment(line);
  return scan_header(scan, line);
}

/* NUL and invalid UTF-8, with the line where they stand. */
static gboolean
check_encoding(Scan *scan, const char *text, gsize n_bytes)
{
  const char *bad;
  guint line = 1;

  if (g_utf8_validate_len(text, n_bytes, &bad))
    return TRUE;
  for (const char *p = text; p < bad; p++)
    line += *p == '\n';
  return ra_key_file_fail_line(scan->file, line, scan->error, "%s",
                               *bad == '\0'
                                   ? "NUL byte, expected plain text"
                                   : "invalid UTF-8, expected plain text");
}

static gboolean
scan_text(Scan *scan, const char *text, gsize n_bytes)
{
  g_autofree char *copy = NULL;
  char *line, *end;

  if (n_bytes > RA_KEY_FILE_MAX_BYTES)
    return ra_key_file_fail_line(scan->file, 1, scan->error,
                                 "file is too large, expected at most 4 MiB");
  if (!check_encoding(scan, text, n_bytes))
    return FALSE;
  if (n_bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
    text += 3; /* byte order mark */
    n_bytes -= 3;
  }
  copy = g_strndup(text, n_bytes);
  end = copy + n_bytes;
  for (line = copy; line < end;) {
    char *stop = memchr(line, '\n', (gsize)(end - line));

    if (stop == NULL)
      stop = end;
    *stop = '\0';
    scan->line++;
    if (!scan_line(scan, line, (gsize)(stop - line)))
      return FALSE;
    line = stop + 1;
  }
  return TRUE;
}

RaKeyFile *
ra_key_file_parse(const char *name, const char *text, gsize n_bytes,
                  GError **error)
{
  g_return_val_if_fail(name != NULL, NULL);
  g_return_val_if_fail(text != NULL || n_bytes == 0, NULL);

  Scan scan = {ra_key_file_new_empty(name), 0, -1, error};

  if (!scan_text(&scan, text ? text : "", n_bytes)) {
    ra_key_file_unref(scan.file);
    return NULL;
  }
  return scan.file;
}

RaKeyFile *
ra_key_file_load(const char *path, GError **error)
{
  g_return_val_if_fail(path != NULL, NULL);

  g_autofree char *text = NULL;
  gsize n_bytes;

  if (!ra_file_read(path, RA_KEY_FILE_MAX_BYTES, &text, &n_bytes, error))
    return NULL;
  return ra_key_file_parse(path, text, n_bytes, error);
}
