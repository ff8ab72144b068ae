/* Programs with the same commands and more libraries, which `reallot` becomes
 * where these are wanted, as git runs its helpers: `reallot-mpi` for processes
 * that mpirun or srun has started, `reallot-cuda` for a GPU. */
#ifndef RA_CLI_HELPER_H
#define RA_CLI_HELPER_H

#include <glib.h>

/**
 * ra_helper_run:
 * @name: "reallot-mpi"
 * @argv: of this program
 * @why: what wants it: "which --backend=cuda needs"
 * @code: of the error
 * @error: @code: there is none beside this program, nor in libexec
 *
 * Becomes @name: beside this program, else in ../libexec/reallot, else where it
 * was installed.
 *
 * Returns: %FALSE, if at all
 */
gboolean ra_helper_run(const char *name, char **argv, const char *why, int code,
                       GError **error);

#endif
