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
#include "graph/input/plan_write.h"
#include "study/convert/recipe.h"

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
 * @error: %RA_ERROR_INPUT: an unknown target; the message lists the known;
 *   %RA_ERROR_NEGATIVE: the framework has no comparable configuration: the plan
 *   does not generate or train, or the configuration is no plan when read back
 *
 * Returns: (transfer full): free with ra_export_free()
 */
RaExport *ra_export_plan(const RaExportSource *from, const char *target,
                         GError **error);
void ra_export_free(RaExport *export);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExport, ra_export_free)

/**
 * ra_export_check:
 * @target: as for ra_export_plan()
 * @error: %RA_ERROR_INPUT: an unknown target; the message lists the known
 *
 * Returns: the framework; %RA_N_FRAMEWORKS with @error
 */
RaFramework ra_export_check(const char *target, GError **error);

/**
 * ra_export_closest:
 * @from: with a plan; borrowed during the call
 * @target: as for ra_export_plan()
 * @words: borrowed
 * @out_differs: (out) (nullable) (transfer full): the first key of the plan
 *   that comes back otherwise; %NULL: the framework says the plan whole
 * @error: as ra_export_plan(); %RA_ERROR_NEGATIVE also where the configuration
 *   learns otherwise than the workload: other staleness, batches, calls
 *
 * The plan that the framework runs if it is given the exported configuration:
 * that is read back, with the workload's length distributions.  What is
 * returned is  * itself exported and read back whole, but for roundings.
 *
 * Cost: an export and an import, some milliseconds.
 *
 * Returns: (transfer full): the plan's text, as ra_plan_write() has it
 */
char *ra_export_closest(const RaExportSource *from, const char *target,
                        const RaPlanWords *words, char **out_differs,
                        GError **error);

/* (transfer full) (element-type utf8): its settings as `key=value`, for keys
 * that have a value; `++key=value` where a configuration may lack the key. */
GPtrArray *ra_export_sets(const RaExport *export);

/* Launch script with a flag per line, and the same as YAML (transfer full). */
char *ra_export_script(const RaExport *export);
char *ra_export_yaml(const RaExport *export);

/* Table of what is lost (transfer full): a row each (where, key, plan,
 * exported). */
RaTable *ra_export_table(const RaExport *export);

#endif
