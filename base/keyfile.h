/* What people write: files in the form of GLib key files, with lines, strict.
 *
 * GKeyFile itself merges duplicate groups and keys silently, keeps trailing
 * comments in values and knows no lines.  RaKeyFile reads the text in one
 * pass that gives every (group, key) its line, refuses duplicates and strips
 * comments.  Groups are written `[noun]` or `[noun name]`, a noun and a key in
 * [A-Za-z0-9_-], a name also with `.:+/`.  `#` starts a comment at the start of
 * a line and after white space outside double quotes; `;` does not.  Values
 * have no escapes; one pair of quotes around a string is not part of it.
 *
 * Records are read by a table, so that bounds, units, unknown keys (with the
 * nearest known one suggested) and the reference in the manual come from one
 * place:
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
 * Strings read into a record are borrowed from the file, so a record keeps
 * its file as long as it lives; that also lets later checks say
 * `file:line:` about any key (ra_key_file_fail()).
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

/* One key that a group may have: how it is written and where it goes. */
typedef struct {
  const char *key;          /* as written, e.g. "gpus-per-node" */
  RaKeyType type;           /* C type at offset */
  gsize offset;             /* of the field in the record, bytes */
  gboolean required;        /* missing is an error */
  const char *fallback;     /* taken as if written; NULL: field left alone */
  double min, max;          /* inclusive bounds; both 0: for integers any
                               value of the type, for reals any finite one;
                               max of G_MAXDOUBLE: min alone */
  const char *const *names; /* RA_KEY_ENUM: NULL-terminated spellings */
  RaUnit unit;              /* RA_KEY_QUANTITY */
  const char *doc;          /* one line for the manual's key reference */
} RaKeySpec;

/**
 * ra_key_file_load:
 * @path: file to read, UTF-8 text
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT: `path:line: ...` for
 *   a line that is no group, key or comment, a duplicate group or key, a key
 *   before the first group, an open quote, a control character other than a
 *   tab, invalid UTF-8; `path: ...` for a file over 4 MiB
 *
 * Returns: (transfer full): the file; %NULL on error
 */
RaKeyFile *ra_key_file_load(const char *path, GError **error);

/**
 * ra_key_file_parse:
 * @name: what messages call the file
 * @text: (array length=n_bytes): need not end with NUL
 * @n_bytes: length of @text
 *
 * As ra_key_file_load(), from memory.
 */
RaKeyFile *ra_key_file_parse(const char *name, const char *text, gsize n_bytes,
                             GError **error);

RaKeyFile *ra_key_file_ref(RaKeyFile *file);
void ra_key_file_unref(RaKeyFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaKeyFile, ra_key_file_unref)

/* The name given at load, for messages and for paths relative to it. */
const char *ra_key_file_name(const RaKeyFile *file);

/* Groups in file order: @group is 0 to n-1. */
guint ra_key_file_n_groups(const RaKeyFile *file);
const char *ra_key_file_group_noun(const RaKeyFile *file, guint group);
/* The name after the noun; "" where the header has the noun alone. */
const char *ra_key_file_group_name(const RaKeyFile *file, guint group);
/* Index of `[noun name]` (@name "" for `[noun]`), or -1. */
int ra_key_file_find_group(const RaKeyFile *file, const char *noun,
                           const char *name);

/* Value of a key as written (comment and spaces stripped), or NULL. */
const char *ra_key_file_get(const RaKeyFile *file, guint group,
                            const char *key);

/* Keys of @group in file order; @index from 0; NULL past the end. */
const char *ra_key_file_key(const RaKeyFile *file, guint group, guint index);

/* The value of that key. */
const char *ra_key_file_value(const RaKeyFile *file, guint group, guint index);

/**
 * ra_key_file_set:
 * @value: as it would be written, without a comment
 *
 * Replaces or adds a value, as `--set 'call actor_train.tp=4'` does; messages
 * about it then name the flag instead of a line:
 * `--set 'call actor_train.tp=x': 'tp' is 'x', expected ...`.
 * Creates the group where it is missing.  Strings that were read before stay
 * valid and stay as they were.
 */
void ra_key_file_set(RaKeyFile *file, const char *noun, const char *name,
                     const char *key, const char *value);

/**
 * ra_key_file_read_group:
 * @file: the file
 * @group: its index
 * @specs: (array length=n_specs): all keys that the group may have; a
 *   `format = 1` is taken in any group without being among them
 * @record: written at the specs' offsets, all or (on error) nothing
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
 * @nouns: NULL-terminated list of the nouns this kind of file may have, each
 *   followed by `*` where it takes a name ("call *") and by `!` where exactly
 *   one must stand ("cluster!")
 *
 * Refuses unknown nouns (nearest suggested), a name where none may stand or
 * none where one must, and a missing required group (line 1).  For a required
 * group it reads the key `format`: absent means 1; anything but 1 is refused.
 */
gboolean ra_key_file_check_nouns(const RaKeyFile *file,
                                 const char *const *nouns, GError **error);

/**
 * ra_key_file_fail:
 * @key: (nullable): the key the message is about; %NULL, or a key that the
 *   group lacks, for the group itself
 * @error: set to %RA_ERROR_INPUT `file:line: message`
 * @format: message: lower case, subject in 'quotes', what was expected, no
 *   full stop
 *
 * Returns: %FALSE always, so that a check ends `return ra_key_file_fail(...)`
 */
gboolean ra_key_file_fail(const RaKeyFile *file, guint group, const char *key,
                          GError **error, const char *format, ...)
    G_GNUC_PRINTF(5, 6);

#endif
