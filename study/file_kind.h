/* What a file is: by its name, or by its first lines where the name is mute.
 *
 *     RaFileKind kind;
 *     if (ra_file_kind("ppo.plan", &kind, &error)) -> RA_FILE_PLAN
 *
 * Names: `.json` model, `.workload`, `.cluster`, `.plan`, `.profile`,
 * `.system`, `.tsv` trace, `.xml` machine.  Otherwise a file that begins with
 * `{` is a model, with `# reallot trace` a trace, one with a group
 * `[workload]`, `[cluster]`, `[plan]`, `[profile]` or `[system]` is what the
 * group says, and one that looks like a topology of `nvidia-smi` or NCCL a
 * machine.
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
  RA_FILE_MACHINE, /* its topology, by its own tools: study/convert/machine.h */
  RA_N_FILE_KINDS
} RaFileKind;

/* "model", "workload", ...: static. */
const char *ra_file_kind_name(RaFileKind kind);

/* The data folder that holds this kind, "plans"; NULL for traces: static. */
const char *ra_file_kind_folder(RaFileKind kind);

/**
 * ra_file_kind:
 * @path: read only where its name does not say what it is
 * @out_kind: (out): untouched on error
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT: none of them
 *
 * Returns: %TRUE on success
 */
gboolean ra_file_kind(const char *path, RaFileKind *out_kind, GError **error);

/**
 * ra_file_kind_expect:
 * @path: read only where its name does not say what it is
 * @expected: the only kind that will do
 * @error: %RA_ERROR_INPUT where it is seen to be another kind; a file that is
 *   not there, or in no known form, is left to its reader
 *
 * Returns: %FALSE if @path is of another kind
 */
gboolean ra_file_kind_expect(const char *path, RaFileKind expected,
                             GError **error);

#endif
