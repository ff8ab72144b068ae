/* The index of a scanned key file, private to keyfile*.c.
 *
 * Invariants: groups are in file order, followed by those that
 * ra_key_file_set() created.  The line of an entry is 0 exactly if --set gave
 * its value.  Strings live as long as the file, also values that were replaced:
 * what was read lies in `text`, which the scanner cuts, all else in `texts`.
 */
#ifndef RA_BASE_KEYFILE_IMPL_H
#define RA_BASE_KEYFILE_IMPL_H

#include "base/keyfile.h"

#define RA_KEY_FILE_MAX_BYTES (4u << 20) /* larger files are refused */

typedef struct {
  const char *key;   /* as written */
  const char *value; /* comment and outer white space stripped, may be "" */
  guint line;        /* from 1; 0: set by a flag */
} RaKeyEntry;

typedef struct {
  const char *noun; /* first word of the header */
  const char *name; /* second word or "" */
  guint line;       /* line of the header, from 1; 0: created by a flag */
  /* NULL while it is empty. */
  GArray *entries;      /* RaKeyEntry in file order */
  GHashTable *by_entry; /* key -> index in entries + 1 */
} RaKeyGroup;

struct _RaKeyFile {
  gatomicrefcount n_refs;
  const char *name;    /* for messages */
  char *text;          /* the file, cut into strings; owned; NULL: none */
  GStringChunk *texts; /* owns every other string */
  GPtrArray *lists;    /* owns the arrays of RA_KEY_STRINGS values */
  GArray *groups;      /* RaKeyGroup */
  GHashTable *by_name; /* "noun name" -> group index + 1 */
};

RaKeyFile *ra_key_file_new_empty(const char *name);
RaKeyGroup *ra_key_file_group(const RaKeyFile *file, guint group);
RaKeyEntry *ra_key_file_entry(const RaKeyFile *file, guint group,
                              const char *key);

/* Append a group or a key; the caller has checked that it does not exist.  The
 * strings live as long as @file. */
guint ra_key_file_add_group(RaKeyFile *file, const char *noun, const char *name,
                            guint line);
void ra_key_file_add_entry(RaKeyFile *file, guint group, const char *key,
                           const char *value, guint line);

/* "[noun name]" or "[noun]"; (transfer full). */
char *ra_key_file_header(const RaKeyFile *file, guint group);

/* Sets RA_ERROR_INPUT `name:line: message`.  Control characters of the message
 * and the name become '?', so that it stays one line. */
gboolean ra_key_file_fail_line(const RaKeyFile *file, guint line,
                               GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

#endif
