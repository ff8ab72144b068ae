/* A look at a JSON file before a parser builds it.
 *
 *     if (!ra_nesting_check("trace.json", &error))
 *       return NULL;
 *     json_parser_load_from_file(parser, "trace.json", ...);
 *
 * json-glib recurses as deep as a text nests, and holds what is no JSON whole
 * before it says so.  The file is read once, in pieces.
 */
#ifndef RA_BASE_NESTING_H
#define RA_BASE_NESTING_H

#include <glib.h>

#define RA_NESTING_MAX 64 /* nested objects and arrays; profilers': 8 */

/**
 * ra_nesting_check:
 * @error: %RA_ERROR_INPUT `path:line: reason`: @path has a NUL byte, begins
 *   with no bracket, nests deeper than %RA_NESTING_MAX or
 *   has a word of more than 4 KiB outside of strings; %RA_ERROR_IO
 *
 * Cost: O(length) time, O(1) memory.
 */
gboolean ra_nesting_check(const char *path, GError **error);

#endif
