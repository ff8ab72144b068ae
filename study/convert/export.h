/* Export: a plan as the configuration of a framework that could run it.
 *
 *     g_autoptr(RaExport) x = ra_export_plan(&from, "verl@2026-01", &error);
 *     script = ra_export_script(x);
 *     table = ra_export_table(x);     what it cannot say
 *
 * The exported configuration is read back (study/convert/recipe.h) to find what
 * it cannot express.  Every key of the plan and every line of the workload that
 * comes back different is a row of the table, so nothing is lost silently.
 */
#ifndef RA_STUDY_CONVERT_EXPORT_H
#define RA_STUDY_CONVERT_EXPORT_H

#include "base/table.h"
#include "graph/input/plan.h"
#include "study/convert/setting.h"

typedef struct _RaExport RaExport;

/* Source of an export: the plan, and the files that it was read from; all
 * borrowed. */
typedef struct {
  const RaPlan *plan;
  const char *plan_path;
  const char *workload_path;
  const char *system_path; /* nullable: the plan names no system */
} RaExportSource;

/**
 * ra_export_plan:
 * @from: with a plan; borrowed during the call
 * @target: a framework, and after `@` one of its versions (default: the newest)
 * @error: %RA_ERROR_INPUT: an unknown target, the known ones are told;
 *   %RA_ERROR_NEGATIVE: the framework has no comparable configuration: the plan
 *   does not generate or train, or the configuration is no plan when read back
 *
 * Returns: (transfer full): free with ra_export_free()
 */
RaExport *ra_export_plan(const RaExportSource *from, const char *target,
                         GError **error);
void ra_export_free(RaExport *export);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExport, ra_export_free)

/* Launch script with a flag per line, and the same as YAML (transfer full). */
char *ra_export_script(const RaExport *export);
char *ra_export_yaml(const RaExport *export);

/* Table of what is lost (transfer full): a row each (where, key, plan,
 * exported). */
RaTable *ra_export_table(const RaExport *export);

#endif
