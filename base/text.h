/* Small text helpers: nearest word, numbers, atomic file writing.
 *
 *     ra_text_nearest("gennerate", names)  -> "generate"
 *     ra_file_write("plan.svg", text, n, &error)   write aside, then rename
 */
#ifndef RA_BASE_TEXT_H
#define RA_BASE_TEXT_H

#include <glib.h>
#include <stdint.h>

/**
 * ra_text_nearest:
 * @word: what was written
 * @names: NULL-terminated candidates
 *
 * The candidate with the least Damerau-Levenshtein distance (of which no
 * substring is edited twice), if that is at most a third of the longer word's
 * length rounded up; ties go to the first.  Words over 256 bytes have none.
 *
 * Returns: (nullable) (transfer none): an element of @names
 */
const char *ra_text_nearest(const char *word, const char *const *names);

/* Bytes of the first whole characters of @text, UTF-8, that are @max bytes
 * together at most: for `%.*s` of a message. */
int ra_text_head(const char *text, int max);

/**
 * ra_text_ranges:
 * @in: (array length=n): which of 0 to n - 1, as bytes that are not 0
 *
 * Returns: (transfer full): "0-3,8,10-11"; "" of none
 */
char *ra_text_ranges(const guint8 *in, uint32_t n);

/* Strict decimal integer (digits only, no sign, no space); FALSE and
 * untouched where @text is none or overflows. */
gboolean ra_text_uint64(const char *text, uint64_t *out_value);

/* Strict finite decimal real, all of @text used: no space, inf, nan or
 * hexadecimal; FALSE and untouched otherwise. */
gboolean ra_text_double(const char *text, double *out_value);

/**
 * ra_file_write:
 * @path: file to make or replace
 * @text: (array length=n_bytes)
 * @error: %RA_ERROR_IO `path: reason`
 *
 * ra_atomic_file_new(), _put() and _end() (base/atomic_file.h): a reader or a
 * failure never sees half a file.
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
 * @max_bytes: larger files are refused
 * @out_text: (out) (transfer full): NUL appended after the n bytes
 * @error: `path: reason`; %RA_ERROR_IO: cannot be read, %RA_ERROR_INPUT: too
 *   large
 */
gboolean ra_file_read(const char *path, gsize max_bytes, char **out_text,
                      gsize *out_n_bytes, GError **error);

/**
 * ra_data_find:
 * @kind: folder under a data directory: "models", "clusters", "profiles" ...
 * @name: file as the user wrote it
 * @relative_to: (nullable): a file; its folder is looked in first
 * @error: %RA_ERROR_INPUT listing where it was looked for
 *
 * Where a file named in a file or flag is, first match of: @name as it is if
 * absolute; beside @relative_to; `../@kind` beside @relative_to; the current
 * folder (only where @relative_to is %NULL); each folder of $RA_DATA_PATH
 * (colon separated) + /@kind; `share` and `traces` + /@kind of the source tree
 * that the running program was built in, or in a folder of; the installed data
 * directory + /@kind.
 *
 * Returns: (transfer full): path; %NULL on error
 */
char *ra_data_find(const char *kind, const char *name, const char *relative_to,
                   GError **error);

#endif
