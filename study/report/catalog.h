/* Catalog: the files that are shipped or that RA_DATA_PATH adds, by kind.
 *
 *     g_autoptr(GPtrArray) tables = ra_catalog("gpus", &error);
 *
 * Typical sizes: 20 GPUs, 50 plans, 350 models; a second for all.
 */
#ifndef RA_STUDY_REPORT_CATALOG_H
#define RA_STUDY_REPORT_CATALOG_H

#include <glib.h>

/* NULL-terminated: gpus, models, clusters, workloads, plans, studies,
 * systems. */
extern const char *const ra_catalog_kinds[];

/**
 * ra_catalog:
 * @kind: (nullable): one of ra_catalog_kinds; NULL: all
 * @error: errors of the readers of a file that is listed
 *
 * Returns: (transfer full) (element-type RaTable): a table a kind, whose rows
 * are files by their names as other commands take them, sorted
 */
GPtrArray *ra_catalog(const char *kind, GError **error);

#endif
