/* Every key of every file that people write, from the tables that read them.
 *
 *     g_autoptr(GPtrArray) tables = ra_key_tables(NULL);
 *     text = ra_key_markdown();          docs/keys.md
 *
 * A row a key: how it is written, its value where it is left out (`required`
 * where it must stand), its bounds, what it means.
 */
#ifndef RA_STUDY_REPORT_KEY_TABLE_H
#define RA_STUDY_REPORT_KEY_TABLE_H

#include "base/keyfile.h"
#include "base/table.h"

/* Kinds of files that have keys, "workload" ...: NULL-terminated. */
extern const char *const ra_key_kinds[];

/* (transfer full) (element-type RaTable): a table a group of @kind, %NULL: of
 * all kinds. */
GPtrArray *ra_key_tables(const char *kind);

/* (transfer full): all of them as a page. */
char *ra_key_markdown(void);

/**
 * ra_key_optional:
 * @kind: of file
 * @noun: of its group
 * @skip: (nullable): NULL-terminated keys that are left out
 *
 * Returns: (transfer full): lines of comment `# key = fallback   # what it is`
 * of the keys that may be left out
 */
char *ra_key_optional(const char *kind, const char *noun,
                      const char *const *skip);

#endif
