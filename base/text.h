/* Nearest word, strict numbers, and reading, writing and finding whole files.
 *
 *     ra_text_nearest("gennerate", names)  -> "generate"
 *     ra_file_write("plan.svg", text, n, &error)   atomic
 */
#ifndef RA_BASE_TEXT_H
#define RA_BASE_TEXT_H

#include <glib.h>
#include <stdint.h>

/**
 * ra_text_nearest:
 * @word: the word as written
 * @names: NULL-terminated candidates
 *
 * The first candidate that begins with a @word of four bytes or more; else that
 * at the smallest Damerau-Levenshtein distance (the restricted
 * one: no substring is edited twice).  The distance must be at most a third of
 * the longer word's length, rounded up.  Ties go to the first candidate.
 * Words over 256 bytes have none.
 *
 * Returns: (nullable) (transfer none): an element of @names
 */
const char *ra_text_nearest(const char *word, const char *const *names);

/* Length in bytes, at most @max, of the longest prefix of @text (UTF-8) that
 * has only whole characters: for `%.*s` in a message. */
int ra_text_head(const char *text, int max);

/**
 * ra_text_ranges:
 * @in: (array length=n): set of numbers below @n; nonzero bytes are members
 *
 * Returns: (transfer full): "0-3,8,10-11"; "" for the empty set
 */
char *ra_text_ranges(const guint8 *in, uint32_t n);

/* Strict decimal integer: digits only, no sign, no space.  Returns FALSE and
 * leaves @out_value unchanged if @text is not one or overflows. */
gboolean ra_text_uint64(const char *text, uint64_t *out_value);

/* Strict finite decimal real that is the whole of @text: no space, inf, nan or
 * hexadecimal.  Otherwise returns FALSE and leaves @out_value unchanged. */
gboolean ra_text_double(const char *text, double *out_value);

/**
 * ra_file_write:
 * @path: file to make or replace
 * @text: (array length=n_bytes): compressed if @path ends in `.gz`
 * @error: %RA_ERROR_IO `path: reason`
 *
 * Writes an atomic file (base/atomic_file.h): readers never see a part of it,
 * also after a crash.
 */
gboolean ra_file_write(const char *path, const char *text, gsize n_bytes,
                       GError **error);

/**
 * ra_file_keep:
 * @input: a file that is read
 * @outputs: (nullable): NULL-terminated: files that will be written
 * @error: %RA_ERROR_INPUT `input: reason`: it is one of them, by device and
 *   inode
 *
 * Returns: %TRUE if nothing that is written replaces it
 */
gboolean ra_file_keep(const char *input, const char *const *outputs,
                      GError **error);

/**
 * ra_file_read:
 * @path: a file; what ends in `.gz` is decompressed
 * @max_bytes: larger files are refused, and larger text
 * @out_text: (out) (transfer full): NUL appended after the n bytes
 * @error: `path: reason`; %RA_ERROR_IO: cannot be read, %RA_ERROR_INPUT: too
 *   large, or not compressed
 */
gboolean ra_file_read(const char *path, gsize max_bytes, char **out_text,
                      gsize *out_n_bytes, GError **error);

/* Names of the files of @kind that end in @suffix, in all folders of data that
 * ra_share_find() looks in but that of the file that names one: sorted, each
 * once (transfer full); g_strfreev() it. */
char **ra_share_list(const char *kind, const char *suffix);

/**
 * ra_share_find:
 * @kind: folder under a data directory: "models", "clusters", "profiles" ...
 * @name: file as the user wrote it
 * @relative_to: (nullable): a file whose folder is searched first
 * @error: %RA_ERROR_INPUT that lists the folders searched
 *
 * Finds a file that is named in another file or in a flag; a pipe or a device
 * that a file names does not count.  The first match of:
 *
 *     1. @name itself, if it is absolute
 *     2. the folder of @relative_to
 *     3. `../@kind` from the folder of @relative_to
 *     4. the current folder, only if @relative_to is %NULL
 *     5. /@kind in each folder of $RA_DATA_PATH (colon separated)
 *     6. share/@kind and traces/@kind of the source tree in which, or in a
 *        folder of which, the running program was built
 *     7. share/reallot/@kind beside the folder of the running program, or
 *        beside that folder's own: an installed tree that was moved
 *     8. /@kind in the installed data directory
 *
 * A profile is found by its GPU's name in any case and without "-sxm" too.
 *
 * Returns: (transfer full): path; %NULL on error
 */
char *ra_share_find(const char *kind, const char *name, const char *relative_to,
                    GError **error);

#endif
