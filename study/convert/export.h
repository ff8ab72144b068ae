/* A plan as the configuration of a framework that could run it.
 *
 *     g_autoptr(RaExport) x = ra_export_verl(&from, &error);
 *     script = ra_export_script(x);
 *     table = ra_export_table(x);     what verl cannot say
 *
 * What cannot be expressed is found by reading the configuration back
 * (study/convert/recipe.h): every key of the plan and every line of the
 * workload that comes back another is a row, so that nothing is lost in
 * silence.
 */
#ifndef RA_STUDY_CONVERT_EXPORT_H
#define RA_STUDY_CONVERT_EXPORT_H

#include "base/table.h"
#include "graph/input/plan.h"
#include "study/convert/setting.h"

typedef struct _RaExport RaExport;

/* What is exported, and where it was read; all of it borrowed. */
typedef struct {
  const RaPlan *plan;
  const char *plan_path;
  const char *workload_path;
  const char *system_path; /* nullable: the plan runs under none */
} RaExportSource;

/**
 * ra_export_verl:
 * @from: with a plan; borrowed during the call
 * @error: %RA_ERROR_NEGATIVE: no configuration of verl is anything like it: it
 *   does not generate or train, or what it says is no plan when read back
 *
 * Returns: (transfer full): ra_export_free() it
 */
RaExport *ra_export_verl(const RaExportSource *from, GError **error);
void ra_export_free(RaExport *export);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExport, ra_export_free)

/* (transfer full): a launch script with a flag a line; the same as YAML. */
char *ra_export_script(const RaExport *export);
char *ra_export_yaml(const RaExport *export);

/* (transfer full): what is lost: a row each (where, key, plan, verl). */
RaTable *ra_export_table(const RaExport *export);

#endif
