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

#define WORD "_-" /* of a word, beside letters and digits */
#define NAME WORD ".:+/"
#define EXCERPT_CHARS 40 /* of a faulty line that a message quotes */

typedef struct {
  RaKeyFile *file; /* filled as lines come */
  guint line;      /* number of the present one, from 1 */
  int group;       /* open group, -1 before the first */
  gboolean plain;  /* the text has no byte that needs a check */
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

static gboolean
is_space(char c)
{
  return c == ' ' || c == '\t';
}

/* Behind the white space at its front. */
static char *
skip_space(char *text)
{
  while (is_space(*text))
    text++;
  return text;
}

/* Behind the letters, digits and characters out of @marks at its front. */
static char *
word_end(char *text, const char *marks)
{
  while (g_ascii_isalnum(*text) || (*text != '\0' && strchr(marks, *text)))
    text++;
  return text;
}

/* Where @text ends before a trailing comment and the white space around it;
 * @out_open: a quote stays open. */
static char *
text_end(char *text, gboolean *out_open)
{
  char *p = text + strcspn(text, "\"#");

  *out_open = FALSE;
  for (; *p; p++) {
    if (*p == '"')
      *out_open = !*out_open;
    else if (*p == '#' && !*out_open && p > text && is_space(p[-1]))
      break;
  }
  while (p > text && is_space(p[-1]))
    p--;
  return p;
}

/* Cuts @line, which begins with '[', into noun and name. */
static gboolean
cut_header(char *line, const char **out_noun, const char **out_name)
{
  char *noun = skip_space(line + 1), *noun_end = word_end(noun, WORD);
  char *name = skip_space(noun_end), *end = name;

  if (noun_end == noun)
    return FALSE;
  if (*name != ']') {
    end = word_end(name, NAME);
    if (end == name || name == noun_end)
      return FALSE;
  }
  if (strcmp(skip_space(end), "]") != 0)
    return FALSE;
  *noun_end = '\0';
  *end = '\0';
  *out_noun = noun;
  *out_name = name;
  return TRUE;
}

/* @line begins with '['. */
static gboolean
scan_header(Scan *scan, char *line)
{
  static const char expected[] = "expected a group '[noun]' or '[noun name]'";
  const char *noun, *name;
  gboolean open;
  int found;

  *text_end(line, &open) = '\0';
  if (!cut_header(line, &noun, &name))
    return fail_at(scan, expected, line);
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
  char *key_end = word_end(line, WORD);
  char *value = skip_space(key_end), *end;
  const RaKeyEntry *first;
  gboolean open;

  if (key_end == line || *value != '=')
    return fail_at(scan, expected, line);
  /* The comment rule looks at the character before '#'. */
  end = text_end(++value, &open);
  if (open)
    return fail_at(scan, "unterminated quote, expected a closing '\"'", line);
  *end = '\0';
  *key_end = '\0';
  if (scan->group < 0)
    return ra_key_file_fail_line(
        scan->file, scan->line, scan->error,
        "key '%s' stands before any group, expected '[noun]' first", line);
  first = ra_key_file_entry(scan->file, (guint)scan->group, line);
  if (first) {
    g_autofree char *header =
        ra_key_file_header(scan->file, (guint)scan->group);

    return ra_key_file_fail_line(
        scan->file, scan->line, scan->error,
        "duplicate key '%s' in %s, expected once, first at line %u", line,
        header, first->line);
  }
  ra_key_file_add_entry(scan->file, (guint)scan->group, line, skip_space(value),
                        scan->line);
  return TRUE;
}

/* @line without its end; modified. */
static gboolean
scan_line(Scan *scan, char *line, gsize n_bytes)
{
  if (n_bytes > 0 && line[n_bytes - 1] == '\r')
    line[--n_bytes] = '\0';
  for (gsize i = 0; !scan->plain && i < n_bytes; i++) {
    if (g_ascii_iscntrl(line[i]) && line[i] != '\t')
      return ra_key_file_fail_line(
          scan->file, scan->line, scan->error,
          "control character 0x%02x, expected plain text", (guint)line[i]);
  }
  line = skip_space(line);
  if (*line == '\0' || *line == '#')
    return TRUE;
  return *line == '[' ? scan_header(scan, line) : scan_entry(scan, line);
}

/* All bytes are printable ASCII, tabs or ends of lines.  Blocks of one length
 * without a branch, which compilers turn into vectors. */
static gboolean
is_plain(const char *text, gsize n_bytes)
{
  enum { BLOCK = 64 };
  char block[BLOCK];
  guint8 bad = 0;

  for (gsize at = 0; at < n_bytes && !bad; at += BLOCK) {
    gsize n = MIN(n_bytes - at, BLOCK);

    memset(block + n, ' ', BLOCK - n);
    memcpy(block, text + at, n);
    for (guint i = 0; i < BLOCK; i++) {
      guint8 byte = (guint8)block[i];

      bad |= (byte < ' ' || byte > '~') & (byte != '\n') & (byte != '\t');
    }
  }
  return !bad;
}

/* NUL and invalid UTF-8, with the line where they stand. */
static gboolean
check_encoding(Scan *scan, const char *text, gsize n_bytes)
{
  const char *bad;
  guint line = 1;

  scan->plain = is_plain(text, n_bytes);
  if (scan->plain || g_utf8_validate_len(text, n_bytes, &bad))
    return TRUE;
  for (const char *p = text; p < bad; p++)
    line += *p == '\n';
  return ra_key_file_fail_line(scan->file, line, scan->error, "%s",
                               *bad == '\0'
                                   ? "NUL byte, expected plain text"
                                   : "invalid UTF-8, expected plain text");
}

/* Cuts the file's text, of @n_bytes, into strings. */
static gboolean
scan_text(Scan *scan, gsize n_bytes)
{
  char *line = scan->file->text, *end = line + n_bytes;

  if (n_bytes > RA_KEY_FILE_MAX_BYTES)
    return ra_key_file_fail_line(scan->file, 1, scan->error,
                                 "file is too large, expected at most 4 MiB");
  if (!check_encoding(scan, line, n_bytes))
    return FALSE;
  if (g_str_has_prefix(line, "\xef\xbb\xbf"))
    line += 3; /* byte order mark */
  while (line < end) {
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

/* Takes @text, which has a NUL behind its @n_bytes. */
static RaKeyFile *
scan_file(const char *name, char *text, gsize n_bytes, GError **error)
{
  Scan scan = {
      .file = ra_key_file_new_empty(name), .group = -1, .error = error};

  scan.file->text = text;
  if (!scan_text(&scan, n_bytes)) {
    ra_key_file_unref(scan.file);
    return NULL;
  }
  return scan.file;
}

RaKeyFile *
ra_key_file_parse(const char *name, const char *text, gsize n_bytes,
                  GError **error)
{
  g_return_val_if_fail(name != NULL, NULL);
  g_return_val_if_fail(text != NULL || n_bytes == 0, NULL);

  char *copy = g_malloc(n_bytes + 1); /* g_strndup() ends at a NUL */

  if (n_bytes > 0)
    memcpy(copy, text, n_bytes);
  copy[n_bytes] = '\0';
  return scan_file(name, copy, n_bytes, error);
}

RaKeyFile *
ra_key_file_load(const char *path, GError **error)
{
  g_return_val_if_fail(path != NULL, NULL);

  char *text;
  gsize n_bytes;

  if (!ra_file_read(path, RA_KEY_FILE_MAX_BYTES, &text, &n_bytes, error))
    return NULL;
  return scan_file(path, text, n_bytes, error);
}
