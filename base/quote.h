/* Text as a word of another language: what a file, a flag or a table says
 * stands in gnuplot scripts, shell scripts, YAML, key files and comments only
 * through these functions, so that it can end no string, comment or line there.
 *
 *     ra_quote_gnuplot(out, "%s on %s", "it's", "h100")   'it''s on h100'
 *     ra_quote_comment(out, "From %s", "a\nb")            # From a\nb
 *     ra_quote_shell("a;b") -> 'a;b'     ra_quote_yaml("a: b") -> "a: b"
 *
 * Bytes that are no UTF-8 become U+FFFD, but in shell words, which keep theirs.
 * Typical sizes: names of files, 10 to 200 bytes.
 */
#ifndef RA_BASE_QUOTE_H
#define RA_BASE_QUOTE_H

#include <glib.h>

/* Appends a formatted text as gnuplot's string in single quotes, in which
 * nothing but they is special; they are doubled.  A control character would end
 * the line: it becomes a blank. */
void ra_quote_gnuplot(GString *out, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Appends `$name << WORD`, @data and WORD: lines that gnuplot does not read as
 * commands, as none of them begins with the WORD.  @data ends in a line feed or
 * is empty. */
void ra_quote_block(GString *out, const char *name, const char *data);

/* Appends a text as the column of a table that gnuplot reads, between tabs: in
 * double quotes, without those and control characters of its own. */
void ra_quote_column(GString *out, const char *text);

/* Appends `# ` and a formatted text as one line of a script, a key file or
 * YAML: control characters and what else would end a line are made visible. */
void ra_quote_comment(GString *out, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* (transfer full): @text with `\n`, `\x1b` or `\u2028` for what prints as
 * nothing or ends a line. */
char *ra_quote_visible(const char *text);

/* (transfer full): @text as one word for a POSIX shell, in quotes unless all of
 * it is in [A-Za-z0-9_./:=,+-]. */
char *ra_quote_shell(const char *text);

/* (transfer full): @text as a YAML string, in double quotes unless it is a path
 * or a word that YAML takes for nothing else. */
char *ra_quote_yaml(const char *text);

/**
 * ra_quote_key:
 * @key: of a key file
 * @value: its value, a text
 * @error: %RA_ERROR_INPUT: no key file can hold it (a double quote or a
 *   control character in it)
 *
 * Appends `key = value`, the value in quotes where a comment could begin in it
 * or a blank be lost.
 *
 * Returns: %TRUE if it could
 */
gboolean ra_quote_key(GString *out, const char *key, const char *value,
                      GError **error);

#endif
