/* Index of the lines of a JSON text, built by a strict syntax check.
 *
 * json-glib builds the tree but forgets lines, keeps the last of two equal
 * keys, recurses as deep as the text nests, and accepts comments, single quotes
 * and several roots.  RaJsonIndex is one pass over the text before json-glib
 * parses it.  The pass refuses all of these and stores the line of every key of
 * every object.
 *
 *     RaJsonIndex *index = ra_json_index_new("c.json", text, len, &error);
 *     guint line = ra_json_index_line(index, RA_JSON_ROOT, "hidden_size");
 *
 * Objects are numbered in the order of their opening braces; the root, which
 * must be an object, is RA_JSON_ROOT.  Typical sizes: 30 keys, 10^5 at most.
 */
#ifndef RA_BASE_JSON_INDEX_H
#define RA_BASE_JSON_INDEX_H

#include <glib.h>

#define RA_JSON_ROOT 1u      /* number of the outermost object */
#define RA_JSON_MAX_DEPTH 64 /* nested objects and arrays; published: 4 */

typedef struct _RaJsonIndex RaJsonIndex;

/**
 * ra_json_index_new:
 * @name: name of the file in messages
 * @text: (array length=len): need not end in NUL
 * @len: bytes
 * @error: set to RA_ERROR_INPUT, "name:line: ..."
 *
 * Refuses:
 * - an empty text, NUL bytes, broken UTF-8;
 * - a root that is not an object, anything after the root;
 * - brackets that do not match or nest deeper than %RA_JSON_MAX_DEPTH;
 * - control characters in strings, escapes in keys, a key twice in an object;
 * - numbers not of JSON's form or with more than 18 digits before the point;
 * - words other than true, false, null, Infinity and -Infinity; comments.
 * The parser checks commas and colons.
 *
 * Cost: O(len) time and memory.   Thread: any.
 *
 * Returns: (transfer full): the index, or %NULL
 */
RaJsonIndex *ra_json_index_new(const char *name, const char *text, gsize len,
                               GError **error);

void ra_json_index_free(RaJsonIndex *index);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaJsonIndex, ra_json_index_free)

/* The text for json-glib, of the same length: 1.0e+308 is where Infinity was.
 */
const char *ra_json_index_text(const RaJsonIndex *index);

/* Line, from 1, of @key in object @object; 1 if the key is absent. */
guint ra_json_index_line(const RaJsonIndex *index, guint object,
                         const char *key);

/* Number of the object that is the value of @key in object @object; 0 if there
 * is no such key or its value is not an object. */
guint ra_json_index_child(const RaJsonIndex *index, guint object,
                          const char *key);

#endif
