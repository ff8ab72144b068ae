/* World: the other processes of this command, if mpirun or srun started it.
 *
 * `reallot` is not linked with MPI.  Started by a launcher, it becomes
 * `reallot-mpi`, which is in the same folder and has the same commands.  All
 * processes load the files of the command; process 0 prints and writes files.
 */
#ifndef RA_CLI_WORLD_H
#define RA_CLI_WORLD_H

#include "exec/comm/world.h"

/**
 * ra_cli_world_begin:
 * @command: of the command line
 * @argv: of the program
 * @error: %RA_ERROR_INPUT: no reallot-mpi; as ra_world_open()
 *
 * Does not return if another program takes over.  Processes other than 0 print
 * nothing from now on.
 */
gboolean ra_cli_world_begin(const char *command, char **argv, GError **error);

/* (nullable) (transfer none): %NULL: this process is alone. */
RaWorld *ra_cli_world_current(void);

/* Ends the command at once, on all processes: exit status 4. */
void ra_cli_world_fail(const char *line, uint64_t order);

/* Ends the command with @error (nullable), which process 0 then prints.
 * Returns only without an error, or if this process is alone. */
void ra_cli_world_end(const GError *error);

#endif
