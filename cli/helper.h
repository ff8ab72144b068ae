/* Helper programs: the same commands, linked with more libraries.  `reallot`
 * becomes one of them when these are needed, as git runs its helpers:
 * `reallot-mpi` for processes started by mpirun or srun, `reallot-cuda` for a
 * GPU.
 */
#ifndef RA_CLI_HELPER_H
#define RA_CLI_HELPER_H

#include <glib.h>

/**
 * ra_helper_run:
 * @name: "reallot-mpi"
 * @argv: of this program
 * @why: reason in the message: "which --backend=cuda needs"
 * @code: code of the error
 * @error: @code: the helper is neither in the folder of this program nor in
 *   libexec
 *
 * Becomes @name, from the folder of this program, else from ../libexec/reallot,
 * else from where it was installed.
 *
 * Returns: %FALSE; does not return on success
 */
gboolean ra_helper_run(const char *name, char **argv, const char *why, int code,
                       GError **error);

#endif
