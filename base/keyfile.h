/* Key files: a strict reader of the files that people write, with line numbers.
 *
 * The format is that of GLib key files.  GKeyFile itself merges duplicate
 * groups and keys silently, keeps trailing comments in values and has no line
 * numbers.  RaKeyFile reads the text in one pass that records the line of every
 * (group, key), refuses duplicates and strips comments.
 *
 *     group    `[noun]` or `[noun name]`
 *     noun     [A-Za-z0-9_-]; a key likewise, a name also with `.:+/`
 *     comment  from `#` at the start of a line, or after white space outside
 *              double quotes; `;` does not start one
 *     value    no escapes; one pair of quotes around a string is not part of it
 *
 * A table describes each record.  It is the one source of bounds, units, the
 * refusal of unknown keys (which suggests the nearest known one) and the key
 * reference in the manual:
 *
 *     static const RaKeySpec keys[] = {
 *         {"nodes", RA_KEY_UINT32, G_STRUCT_OFFSET(RaCluster, n_nodes),
 *          .required = TRUE, .min = 1, .max = 1e6, .doc = "number of nodes"},
 *         {"nic", RA_KEY_QUANTITY, G_STRUCT_OFFSET(RaCluster, nic_bytes_per_s),
 *          .unit = RA_UNIT_BYTES_PER_S, .required = TRUE, .doc = "..."},
 *     };
 *     ra_key_file_read_group(file, 0, keys, G_N_ELEMENTS(keys), cluster,
 *                            &error);
 *
 * Strings read into a record are borrowed from the file, so a record keeps a
 * reference to its file.  Later checks can therefore report any key as
 * `file:line:` (ra_key_file_fail()).
 *
 * Typical sizes: 10 groups of 10 keys; files over 4 MiB are refused.
 */
#ifndef RA_BASE_KEYFILE_H
#define RA_BASE_KEYFILE_H

#include <glib.h>
#include <stdint.h>

#include "base/units.h"

typedef struct _RaKeyFile RaKeyFile;

typedef enum {
  RA_KEY_STRING,  /* const char *, borrowed from the file, not empty */
  RA_KEY_STRINGS, /* const char *const *, comma separated, NULL-terminated;
                     commas in quotes, () or [] do not separate */
  RA_KEY_UINT32,  /* uint32_t within [min, max] */
  RA_KEY_UINT64,  /* uint64_t within [min, max] */
  RA_KEY_DOUBLE,  /* double within [min, max], finite */
  RA_KEY_BOOL,    /* gboolean: true or false */
  RA_KEY_ENUM,    /* int: index of the value in names */
  RA_KEY_QUANTITY /* double with a unit, within [min, max] in SI */
} RaKeyType;

/* One key that a group may have: its spelling, bounds and place in a record. */
typedef struct {
  const char *key;          /* as written, e.g. "gpus-per-node" */
  RaKeyType type;           /* C type at offset */
  gsize offset;             /* offset of the field in the record, bytes */
  gboolean required;        /* a missing key is an error */
  const char *fallback;     /* value if missing; NULL: field left unchanged */
  double min, max;          /* inclusive bounds; both 0: any integer of the
                               type, any finite real; max = G_MAXDOUBLE: no
                               upper bound */
  const char *const *names; /* RA_KEY_ENUM: NULL-terminated spellings */
  RaUnit unit;              /* RA_KEY_QUANTITY: kind of unit */
  const char *doc;          /* one line for the manual's key reference */
} RaKeySpec;

/**
 * ra_key_file_load:
 * @path: file to read, UTF-8 text
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT: `path:line: ...` for
 *   a line that is not a group, key or comment, a duplicate group or key, a key
 *   before the first group, an open quote, a control character other than a
 *   tab, invalid UTF-8; `path: ...` for a file over 4 MiB
 *
 * Returns: (transfer full): the file; %NULL on error
 */
RaKeyFile *ra_key_file_load(const char *path, GError **error);

/**
 * ra_key_file_parse:
 * @name: name of the file in messages
 * @text: (array length=n_bytes): need not end with NUL
 * @n_bytes: length of @text
 *
 * Like ra_key_file_load(), but from memory.
 */
RaKeyFile *ra_key_file_parse(const char *name, const char *text, gsize n_bytes,
                             GError **error);

RaKeyFile *ra_key_file_ref(RaKeyFile *file);
void ra_key_file_unref(RaKeyFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaKeyFile, ra_key_file_unref)

/* The name given at load, for messages and for paths relative to it. */
const char *ra_key_file_name(const RaKeyFile *file);

/* Number of groups; an index @group is in file order, 0 to n - 1. */
guint ra_key_file_n_groups(const RaKeyFile *file);
const char *ra_key_file_group_noun(const RaKeyFile *file, guint group);
/* The name after the noun; "" if the header is the noun alone. */
const char *ra_key_file_group_name(const RaKeyFile *file, guint group);
/* Index of `[noun name]` (@name "" for `[noun]`), or -1. */
int ra_key_file_find_group(const RaKeyFile *file, const char *noun,
                           const char *name);

/* The value of a key as written (comment and spaces stripped), or NULL. */
const char *ra_key_file_get(const RaKeyFile *file, guint group,
                            const char *key);

/* The key @index (from 0, in file order) of @group; NULL past the end. */
const char *ra_key_file_key(const RaKeyFile *file, guint group, guint index);

/* The value of the key @index of @group. */
const char *ra_key_file_value(const RaKeyFile *file, guint group, guint index);

/* Hash of groups, keys and values in their order, with the changes of
 * ra_key_file_set(), without comments and spaces. */
uint64_t ra_key_file_hash(const RaKeyFile *file);

/**
 * ra_key_file_set:
 * @value: as it would be written, without a comment
 *
 * Replaces or adds a value, as `--set 'call actor_train.tp=4'` does.  Messages
 * about it then name the flag instead of a line:
 * `--set 'call actor_train.tp=x': 'tp' is 'x', expected ...`.
 * Creates the group if it is missing.  Strings that were read before stay
 * valid and unchanged.
 */
void ra_key_file_set(RaKeyFile *file, const char *noun, const char *name,
                     const char *key, const char *value);

/**
 * ra_key_file_read_group:
 * @file: the file
 * @group: its index
 * @specs: (array length=n_specs): all keys that the group may have; any group
 *   may also have `format = 1`
 * @record: all fields are written at the offsets of @specs, or none on error
 * @error: %RA_ERROR_INPUT, `file:line: ...`: a required key is missing (line
 *   of the group header), a key unknown ("unknown key 'nodez' in [cluster],
 *   did you mean 'nodes'?"), a value empty, of the wrong type or unit, or out
 *   of bounds
 *
 * Returns: %TRUE on success
 */
gboolean ra_key_file_read_group(RaKeyFile *file, guint group,
                                const RaKeySpec *specs, gsize n_specs,
                                void *record, GError **error);

/**
 * ra_key_file_check_nouns:
 * @nouns: NULL-terminated list of the nouns that this kind of file may have,
 *   each with `*` if it has a name ("call *") and with `!` if exactly one such
 *   group is required ("cluster!")
 *
 * Refuses an unknown noun (suggesting the nearest), a name that is not allowed,
 * a name that is missing, and a missing required group (reported at line 1).
 * In a required group it checks the key `format`: absent means 1, and anything
 * but 1 is refused.
 */
gboolean ra_key_file_check_nouns(const RaKeyFile *file,
                                 const char *const *nouns, GError **error);

/**
 * ra_key_file_fail:
 * @key: (nullable): the key that the message is about; %NULL, or a key that the
 *   group lacks: the group itself
 * @error: set to %RA_ERROR_INPUT `file:line: message`
 * @format: message: lower case, subject in 'quotes', what was expected, no
 *   full stop
 *
 * Returns: %FALSE, so that a check can end `return ra_key_file_fail(...)`
 */
gboolean ra_key_file_fail(const RaKeyFile *file, guint group, const char *key,
                          GError **error, const char *format, ...)
    G_GNUC_PRINTF(5, 6);

#endif
