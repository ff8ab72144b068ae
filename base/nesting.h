/* Depth of a JSON text, counted before a parser builds it.
 *
 *     if (!ra_nesting_check("meta.json", &error))
 *       return NULL;
 *     json_parser_load_from_file(parser, "meta.json", ...);
 *
 * json-glib recurses as deep as a text nests, and holds what is no JSON whole
 * before it says so.  The file is read once, in pieces.
 */
#ifndef RA_BASE_NESTING_H
#define RA_BASE_NESTING_H

#include <glib.h>

#define RA_NESTING_MAX 64 /* nested objects and arrays; profilers': 8 */

/* Where a scan is; zeros but for @line = 1 at the beginning. */
typedef struct {
  guint64 line;
  guint depth; /* open brackets */
  gsize word;  /* bytes of a number or literal so far */
  gboolean in_string, escapes, has_begun;
} RaNesting;

/* Takes the next byte.  Returns: (nullable): why it cannot be JSON's, a static
 * text: a NUL, no bracket at the beginning, deeper than %RA_NESTING_MAX, a word
 * of more than 4 KiB outside of strings. */
const char *ra_nesting_step(RaNesting *scan, char c);

/**
 * ra_nesting_check:
 * @error: %RA_ERROR_INPUT `path:line: reason`: ra_nesting_step() refuses a
 *   byte of @path; %RA_ERROR_IO
 *
 * Cost: O(length) time, O(1) memory.
 */
gboolean ra_nesting_check(const char *path, GError **error);

#endif
