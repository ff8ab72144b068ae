/* File kinds, recognised by name or content. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/file_kind.h"
#include "study/machine/machine.h"
#include "traces/kineto.h"

/* As much as the largest key file; a trace is told by its first line. */
#define MAX_BYTES ((gsize)4 << 20)

static const struct {
  const char *name;   /* also the noun of the group that only it has */
  const char *suffix; /* of the file's name */
  const char *folder; /* of the data directory */
} kinds[RA_N_FILE_KINDS] = {
    [RA_FILE_MODEL] = {"model", ".json", "models"},
    [RA_FILE_WORKLOAD] = {"workload", ".workload", "workloads"},
    [RA_FILE_CLUSTER] = {"cluster", ".cluster", "clusters"},
    [RA_FILE_PLAN] = {"plan", ".plan", "plans"},
    [RA_FILE_PROFILE] = {"profile", ".profile", "profiles"},
    [RA_FILE_SYSTEM] = {"system", ".system", "systems"},
    [RA_FILE_TRACE] = {"trace", ".tsv", NULL},
    [RA_FILE_MACHINE] = {"machine", ".xml", NULL},
};

const char *
ra_file_kind_name(RaFileKind kind)
{
  return kinds[kind].name;
}

const char *
ra_file_kind_folder(RaFileKind kind)
{
  return kinds[kind].folder;
}

/* TRUE if some line of @text is `[noun]`, perhaps with a comment. */
static gboolean
has_group(const char *text, const char *noun)
{
  g_autofree char *header = g_strdup_printf("[%s]", noun);

  for (const char *at = strstr(text, header); at; at = strstr(at + 1, header)) {
    if (at == text || at[-1] == '\n')
      return TRUE;
  }
  return FALSE;
}

gboolean
ra_file_kind(const char *path, RaFileKind *out_kind, GError **error)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  g_return_val_if_fail(path != NULL && out_kind != NULL, FALSE);
  if (ra_kineto_is(path)) {
    *out_kind = RA_FILE_TRACE;
    return TRUE;
  }
  for (guint k = 0; k < RA_N_FILE_KINDS; k++) {
    if (g_str_has_suffix(path, kinds[k].suffix)) {
      *out_kind = (RaFileKind)k;
      return TRUE;
    }
  }
  if (!ra_file_read(path, MAX_BYTES, &text, &n_bytes, error))
    return FALSE;
  if (text[strspn(text, " \t\r\n")] == '{') {
    *out_kind = RA_FILE_MODEL;
    return TRUE;
  }
  if (g_str_has_prefix(text, "# reallot trace ")) {
    *out_kind = RA_FILE_TRACE;
    return TRUE;
  }
  for (guint k = RA_FILE_WORKLOAD; k <= RA_FILE_SYSTEM; k++) {
    if (has_group(text, kinds[k].name)) {
      *out_kind = (RaFileKind)k;
      return TRUE;
    }
  }
  if (ra_machine_is(text)) {
    *out_kind = RA_FILE_MACHINE;
    return TRUE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: unknown kind of file, expected a model's config.json, a "
              "workload, cluster, plan, profile, system, trace or topology",
              path);
  return FALSE;
}

gboolean
ra_file_kind_expect(const char *path, RaFileKind expected, GError **error)
{
  RaFileKind kind;

  g_return_val_if_fail(path != NULL, FALSE);
  if (!ra_file_kind(path, &kind, NULL) || kind == expected)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: is a %s, expected a %s",
              path, kinds[kind].name, kinds[expected].name);
  return FALSE;
}
