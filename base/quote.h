/* Quoting of text for other languages: gnuplot, shells, YAML, key files and
 * comments.
 *
 * Text from a file, a flag or a table goes into them only through these
 * functions, so that it cannot end a string, a comment or a line there.
 *
 *     ra_quote_gnuplot(out, "%s on %s", "it's", "h100")   'it''s on h100'
 *     ra_quote_comment(out, "From %s", "a\nb")            # From a\nb
 *     ra_quote_shell("a;b") -> 'a;b'     ra_quote_yaml("a: b") -> "a: b"
 *
 * Bytes that are not UTF-8 become U+FFFD, except in shell words, which keep
 * them.
 * Typical sizes: names of files, 10 to 200 bytes.
 */
#ifndef RA_BASE_QUOTE_H
#define RA_BASE_QUOTE_H

#include <glib.h>

/* Appends a formatted text as a gnuplot string in single quotes, in which only
 * single quotes are special; they are doubled.  A control character would end
 * the line, so it becomes a blank. */
void ra_quote_gnuplot(GString *out, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Appends `$name << WORD`, @data and WORD.  gnuplot does not read these lines
 * as commands, as none of them begins with WORD.  @data ends in a line feed or
 * is empty. */
void ra_quote_block(GString *out, const char *name, const char *data);

/* Appends a text as a column of a tab-separated table for gnuplot: in double
 * quotes, without its own double quotes and control characters. */
void ra_quote_column(GString *out, const char *text);

/* Appends `# ` and a formatted text as one line of a script, a key file or
 * YAML.  Control characters, and others that would end a line, are made
 * visible. */
void ra_quote_comment(GString *out, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* (transfer full): @text with escapes such as `\n`, `\x1b` or `\u2028` for
 * characters that are not visible or end a line. */
char *ra_quote_visible(const char *text);

/* (transfer full): @text as one word for a POSIX shell, in quotes unless all
 * its characters are in [A-Za-z0-9_./:=,+-]. */
char *ra_quote_shell(const char *text);

/* (transfer full): @text as a YAML string, in double quotes unless it is a path
 * or a word that YAML cannot read as anything else. */
char *ra_quote_yaml(const char *text);

/**
 * ra_quote_key:
 * @key: a key of a key file
 * @value: its value, a text
 * @error: %RA_ERROR_INPUT: a key file cannot have this value (it has a double
 *   quote or a control character)
 *
 * Appends `key = value`, the value in quotes if a comment could start in it or
 * a blank could be lost.
 *
 * Returns: %TRUE on success
 */
gboolean ra_quote_key(GString *out, const char *key, const char *value,
                      GError **error);

#endif
