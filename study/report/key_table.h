/* Key tables: every key of every file that users write, generated from the
 * tables that parse them.
 *
 *     g_autoptr(GPtrArray) tables = ra_key_tables(NULL);
 *     text = ra_key_markdown();          docs/keys.md
 *
 * A row per key: its form, its default (`required` if there is none), its
 * bounds, its meaning.
 */
#ifndef RA_STUDY_REPORT_KEY_TABLE_H
#define RA_STUDY_REPORT_KEY_TABLE_H

#include "base/keyfile.h"
#include "base/table.h"

/* Kinds of files that have keys, "workload" ...: NULL-terminated. */
extern const char *const ra_key_kinds[];

/* Tables of the keys (transfer full) (element-type RaTable), one per group of
 * @kind; %NULL: of all kinds. */
GPtrArray *ra_key_tables(const char *kind);

/* All tables as a Markdown page (transfer full). */
char *ra_key_markdown(void);

/**
 * ra_key_optional:
 * @kind: kind of file
 * @noun: noun of its group
 * @skip: (nullable): NULL-terminated keys that are left out
 *
 * Formats the optional keys as comment lines `# key = fallback   # what it is`.
 *
 * Returns: (transfer full): the lines
 */
char *ra_key_optional(const char *kind, const char *noun,
                      const char *const *skip);

#endif
