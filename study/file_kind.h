/* File kinds, recognised by the file's name, or by its first lines if the name
 * does not tell.
 *
 *     RaFileKind kind;
 *     if (ra_file_kind("ppo.plan", &kind, &error)) -> RA_FILE_PLAN
 *
 * Names: `.json` model, `.workload`, `.cluster`, `.plan`, `.profile`,
 * `.system`, `.tsv` trace, `.xml` machine.  Otherwise the content decides: `{`
 * begins a model and `# reallot trace` a trace.  A group `[workload]`,
 * `[cluster]`, `[plan]`, `[profile]` or `[system]` names the kind.  A topology
 * of `nvidia-smi` or NCCL is a machine.
 */
#ifndef RA_STUDY_FILE_KIND_H
#define RA_STUDY_FILE_KIND_H

#include <glib.h>

typedef enum {
  RA_FILE_MODEL,
  RA_FILE_WORKLOAD,
  RA_FILE_CLUSTER,
  RA_FILE_PLAN,
  RA_FILE_PROFILE,
  RA_FILE_SYSTEM,
  RA_FILE_TRACE,
  RA_FILE_MACHINE, /* topology as printed by the machine's own tools:
                      study/machine/machine.h */
  RA_N_FILE_KINDS
} RaFileKind;

/* "model", "workload", ...: static. */
const char *ra_file_kind_name(RaFileKind kind);

/* Data folder of this kind, such as "plans"; NULL for traces: static. */
const char *ra_file_kind_folder(RaFileKind kind);

/**
 * ra_file_kind:
 * @path: read only if its name does not tell the kind
 * @out_kind: (out): untouched on error
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT: no known kind
 *
 * Returns: %TRUE on success
 */
gboolean ra_file_kind(const char *path, RaFileKind *out_kind, GError **error);

/**
 * ra_file_kind_expect:
 * @path: read only if its name does not tell the kind
 * @expected: the only accepted kind
 * @error: %RA_ERROR_INPUT: the file is recognised as another kind.  A file that
 *   is missing or of unknown form is left to its reader.
 *
 * Returns: %FALSE if @path is of another kind
 */
gboolean ra_file_kind_expect(const char *path, RaFileKind expected,
                             GError **error);

#endif
