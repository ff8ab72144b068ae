/* Typed access to the keys of one JSON object, with one error at the end.
 *
 * A reader is for readers of files whose keys are many and whose mistakes
 * are few: the first mistake sticks, later calls return 0 and change
 * nothing, so that the code which reads thirty keys has one check after them.
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
#ifndef RA_GRAPH_INPUT_CONFIG_READER_H
#define RA_GRAPH_INPUT_CONFIG_READER_H

#include <json-glib/json-glib.h>

#include "graph/input/json_index.h"

typedef struct {
  const char *name;   /* in messages, borrowed */
  JsonParser *parser; /* owned, has the tree */
  RaJsonIndex *index; /* owned, has the lines */
  JsonObject *object; /* being read, in parser's tree */
  guint number;       /* of object, as in index */
  gboolean failed;    /* error is set */
  GError **error;     /* where the first mistake goes */
} RaConfigReader;

/**
 * ra_config_reader_init:
 * @reader: (out): may be cleared whether or not this succeeds
 * @name: stands for the file in messages; must outlive @reader
 * @text: (array length=len): need not end in NUL
 * @error: set to RA_ERROR_INPUT, now or later; must outlive @reader
 *
 * Returns: whether @text is one JSON object; @reader is then at it
 */
gboolean ra_config_reader_init(RaConfigReader *reader, const char *name,
                               const char *text, gsize len, GError **error);

void ra_config_reader_clear(RaConfigReader *reader);

/* Sets the error at the line of the first of @keys that is there, or 1, unless
 * there is an error already. */
void ra_config_reader_fail(RaConfigReader *reader, const char *keys,
                           const char *format, ...) G_GNUC_PRINTF(3, 4);

/* The same with a message that somebody else made; takes @problem. */
void ra_config_reader_take_error(RaConfigReader *reader, const char *keys,
                                 GError *problem);

/* Whether one of @keys is there and is not null. */
gboolean ra_config_reader_has(const RaConfigReader *reader, const char *keys);

/* A size from 1 to @max that must be there. */
guint32 ra_config_reader_size(RaConfigReader *reader, const char *keys,
                              guint32 max);

/* A size from @min to @max; @fallback, which may be any, if absent. */
guint32 ra_config_reader_size_or(RaConfigReader *reader, const char *keys,
                                 guint32 min, guint32 max, guint32 fallback);

/* true, false, 1 or 0; @fallback if absent. */
gboolean ra_config_reader_flag(RaConfigReader *reader, const char *keys,
                               gboolean fallback);

/* The position in @words (ends in NULL) of a string; @fallback if absent. */
guint ra_config_reader_word(RaConfigReader *reader, const char *keys,
                            const char *const *words, guint fallback);

/* A string, borrowed from the tree; NULL if absent. */
const char *ra_config_reader_text(RaConfigReader *reader, const char *keys);

/* An array, borrowed from the tree; NULL if absent. */
JsonArray *ra_config_reader_array(RaConfigReader *reader, const char *keys);

/**
 * ra_config_reader_enter:
 * @saved: (out): pass it to ra_config_reader_leave()
 *
 * Goes to the object that is the value of @key.
 *
 * Returns: whether it is there; if not, there is nothing to leave
 */
gboolean ra_config_reader_enter(RaConfigReader *reader, const char *key,
                                RaConfigReader *saved);

void ra_config_reader_leave(RaConfigReader *reader,
                            const RaConfigReader *saved);

/* Fails at the first key of the object that is none of @known (each "a|b");
 * @expected ends the message. */
void ra_config_reader_refuse_others(RaConfigReader *reader,
                                    const char *const *known,
                                    const char *expected);

#endif
