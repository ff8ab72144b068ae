/* Typed access to the keys of one JSON object, with one error at the end.
 *
 * The reader suits files with many keys and few mistakes.  It keeps the first
 * mistake; later calls return 0 and change nothing.  Code that reads thirty
 * keys therefore needs one check after them.
 *
 *     RaConfigReader reader;
 *     if (ra_config_reader_init(&reader, "c.json", text, len, &error)) {
 *       shape.layers = ra_config_reader_size(&reader, "n_layer|layers", 99);
 *       shape.tied = ra_config_reader_flag(&reader, "tied", FALSE);
 *       ok = !reader.failed;
 *     }
 *     ra_config_reader_clear(&reader);
 *
 * Keys are given as "a|b|c": spellings of one key.  A file may have several,
 * as some published ones do, if they agree.  A null value is an absent key,
 * as in Python's configuration classes.
 */
#ifndef RA_BASE_CONFIG_READER_H
#define RA_BASE_CONFIG_READER_H

#include <json-glib/json-glib.h>

#include "base/json_index.h"

typedef struct {
  const char *name;   /* in messages, borrowed */
  JsonParser *parser; /* owned; contains the tree */
  RaJsonIndex *index; /* owned; contains the line numbers */
  JsonObject *object; /* current object, in parser's tree */
  guint number;       /* number of the current object in index */
  gboolean failed;    /* error is set */
  GError **error;     /* receives the first mistake */
} RaConfigReader;

/**
 * ra_config_reader_init:
 * @reader: (out): may be cleared after success and after failure
 * @name: name of the file in messages; must outlive @reader
 * @text: (array length=len): need not end in NUL
 * @error: set to RA_ERROR_INPUT, now or later; must outlive @reader
 *
 * Returns: %TRUE if @text is one JSON object, which is then the current one
 */
gboolean ra_config_reader_init(RaConfigReader *reader, const char *name,
                               const char *text, gsize len, GError **error);

void ra_config_reader_clear(RaConfigReader *reader);

/* Sets the error, unless one is set already, at the line of the first of @keys
 * that is present, or at line 1. */
void ra_config_reader_fail(RaConfigReader *reader, const char *keys,
                           const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Like ra_config_reader_fail(), with the message of @problem (transfer full).
 */
void ra_config_reader_take_error(RaConfigReader *reader, const char *keys,
                                 GError *problem);

/* TRUE if one of @keys is present and is not null. */
gboolean ra_config_reader_has(const RaConfigReader *reader, const char *keys);

/* Required size from 1 to @max. */
guint32 ra_config_reader_size(RaConfigReader *reader, const char *keys,
                              guint32 max);

/* Size from @min to @max; @fallback, which may have any value, if absent. */
guint32 ra_config_reader_size_or(RaConfigReader *reader, const char *keys,
                                 guint32 min, guint32 max, guint32 fallback);

/* Boolean, written true, false, 1 or 0; @fallback if absent. */
gboolean ra_config_reader_flag(RaConfigReader *reader, const char *keys,
                               gboolean fallback);

/* Position of a string in @words, which ends in NULL; @fallback if absent. */
guint ra_config_reader_word(RaConfigReader *reader, const char *keys,
                            const char *const *words, guint fallback);

/* String, borrowed from the tree; NULL if absent. */
const char *ra_config_reader_text(RaConfigReader *reader, const char *keys);

/* Array, borrowed from the tree; NULL if absent. */
JsonArray *ra_config_reader_array(RaConfigReader *reader, const char *keys);

/**
 * ra_config_reader_enter:
 * @saved: (out): pass it to ra_config_reader_leave()
 *
 * Makes the object that is the value of @key the current one.
 *
 * Returns: %TRUE if it is present; if not, do not call
 *   ra_config_reader_leave()
 */
gboolean ra_config_reader_enter(RaConfigReader *reader, const char *key,
                                RaConfigReader *saved);

void ra_config_reader_leave(RaConfigReader *reader,
                            const RaConfigReader *saved);

/* Fails at the first key of the current object that is not in @known (each
 * "a|b"); @expected ends the message. */
void ra_config_reader_refuse_others(RaConfigReader *reader,
                                    const char *const *known,
                                    const char *expected);

#endif
