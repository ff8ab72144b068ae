/* Output of subcommands: results to standard output or a file, errors to
 * standard error.
 *
 *     if (!ra_output_tables(tables, options.format, &error))
 *       return ra_error_exit_status(error);
 */
#ifndef RA_CLI_OUTPUT_H
#define RA_CLI_OUTPUT_H

#include <glib.h>

#include "base/table.h"

/**
 * ra_output_print:
 * @text: (array length=n_bytes)
 * @error: %RA_ERROR_IO `standard output: reason`
 *
 * Prints to standard output and flushes every buffer, so that a full disk or a
 * closed pipe is an error and not a silent loss.
 */
gboolean ra_output_print(const char *text, gsize n_bytes, GError **error);

/* Writes the file @path atomically; NULL or "-": to standard output. */
gboolean ra_output_write(const char *path, const char *text, gsize n_bytes,
                         GError **error);

/**
 * ra_output_tables:
 * @tables: (element-type RaTable): with different titles
 *
 * Prints tables.  text: separated by empty lines; tsv: one after the other,
 * each after a line `# title`; json: one object with a member per table.
 */
gboolean ra_output_tables(const GPtrArray *tables, RaFormat format,
                          GError **error);

/* A file of a set: its ending and its text. */
typedef struct {
  const char *suffix, *text; /* suffix NULL: the end */
} RaOutputFile;

/**
 * ra_output_files:
 * @folder: is made if it is not there
 * @name: of the files, without suffix; an absolute one stands for itself
 * @files: up to one without a suffix
 * @force: files that are there are replaced
 * @input: (nullable): read, and never replaced
 * @error: %RA_ERROR_INPUT `path: reason`: it is there already
 *
 * Writes all, or none where one may not be.
 *
 * Returns: (transfer full) (nullable): their paths
 */
char **ra_output_files(const char *folder, const char *name,
                       const RaOutputFile *files, gboolean force,
                       const char *input, GError **error);

/* Appends `  "title": [rows]`; @one: the object of the only row instead. */
void ra_output_member(GString *out, const RaTable *table, gboolean one);

/* Appends the text form under another title. */
void ra_output_titled(GString *out, const RaTable *table, const char *title);

/* Appends the text form of its first @n_rows rows, and how many @rest
 * ("smaller") ones are left out. */
void ra_output_top(GString *out, const RaTable *table, const char *title,
                   guint n_rows, const char *rest);

/* Prints GLib's @help, its options folded to the width of tables. */
gboolean ra_output_help(const char *help, GError **error);

/* Appends the words of @text as a paragraph, with a full stop. */
void ra_output_wrapped(GString *out, const char *text);

/**
 * ra_output_verdict:
 * @begin: where the verdict begins, a paragraph at the end of @out, which goes
 *   to standard output
 *
 * Colours the verdict to its first colon, green if @good, else red, where
 * standard output is a terminal, unless NO_COLOR is set or TERM is dumb.
 */
void ra_output_verdict(GString *out, gsize begin, gboolean good);

/* Prints `reallot: message` on standard error, always as one line. */
void ra_output_error(const GError *error);

#endif
