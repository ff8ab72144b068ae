/* Private parts of exports, shared by study/convert/export*.c. */
#ifndef RA_STUDY_CONVERT_EXPORT_IMPL_H
#define RA_STUDY_CONVERT_EXPORT_IMPL_H

#include "study/convert/export.h"
#include "study/convert/recipe_impl.h"

typedef struct {
  char *key, *value; /* owned */
  gboolean is_text;  /* somebody's; else a number, a list of ours ... */
} RaExportPair;

struct _RaExport {
  char *source;     /* owned: the plan's file */
  GPtrArray *pairs; /* (element-type RaExportPair) owned, in order */
  RaTable *lost;    /* owned until it is taken */
};

RaExport *ra_export_new(const char *source);

/* Adds PREFIX + KEY = a value of ours: a number, True, a list of modules. */
void ra_export_put(RaExport *export, const char *prefix, const char *key,
                   const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Adds PREFIX + KEY = @text, which comes from a file and may be anything. */
void ra_export_put_text(RaExport *export, const char *prefix, const char *key,
                        const char *text);

/* Adds a row to the table of losses; %NULL: nothing. */
void ra_export_lose(RaExport *export, const char *where, const char *key,
                    const char *plan, const char *exported);

/* Calls of a workload by the kinds of a recipe; %RA_NONE: no such call. */
typedef struct {
  uint32_t call[RA_N_RECIPE_CALLS];
} RaExportRoles;

RaExportRoles ra_export_roles(const RaWorkload *workload);

/* Reads @script back and adds a row for everything that differs.  FALSE with
 * @error: it is no plan. */
gboolean ra_export_compare(RaExport *export, const RaExportSource *from,
                           const RaExportRoles *roles, const char *script,
                           GError **error);

#endif
