/* Depth of a JSON file, counted without building it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/nesting.h"

#define READ_STEP_BYTES 65536
#define WORD_MAX_BYTES 4096 /* a number or literal */

const char *
ra_nesting_step(RaNesting *scan, char c)
{
  scan->line += c == '\n';
  if (c == '\0')
    return "a NUL byte, expected JSON";
  if (scan->in_string) {
    scan->in_string = scan->escapes || c != '"';
    scan->escapes = !scan->escapes && c == '\\';
    return NULL;
  }
  if (!g_ascii_isspace(c) && !scan->has_begun && c != '{' && c != '[')
    return "expected JSON, '{' or '['";
  scan->has_begun = scan->has_begun || !g_ascii_isspace(c);
  scan->word = strchr(" \t\r\n,:{}[]\"", c) ? 0 : scan->word + 1;
  if (scan->word > WORD_MAX_BYTES)
    return "a word of more than 4 KiB, expected JSON";
  scan->in_string = c == '"';
  if ((c == '}' || c == ']') && scan->depth > 0)
    scan->depth--;
  if ((c == '{' || c == '[') && scan->depth++ == RA_NESTING_MAX)
    return "nested deeper than 64";
  return NULL;
}

static gboolean
scan_file(const char *path, FILE *file, char *step, GError **error)
{
  RaNesting scan = {.line = 1};
  gsize n;

  while ((n = fread(step, 1, READ_STEP_BYTES, file)) > 0) {
    for (gsize i = 0; i < n; i++) {
      const char *wrong = ra_nesting_step(&scan, step[i]);

      if (wrong) {
        g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                    "%s:%" G_GUINT64_FORMAT ": %s", path, scan.line, wrong);
        return FALSE;
      }
    }
  }
  if (!ferror(file))
    return TRUE;
  return ra_error_file(error, path, errno, FALSE);
}

gboolean
ra_nesting_check(const char *path, GError **error)
{
  g_return_val_if_fail(path != NULL, FALSE);

  g_autofree char *step = NULL;
  FILE *file = fopen(path, "re");
  gboolean ok;

  if (!file)
    return ra_error_file(error, path, errno, FALSE);
  step = g_malloc(READ_STEP_BYTES);
  ok = scan_file(path, file, step, error);
  fclose(file);
  return ok;
}
