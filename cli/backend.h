/* Option --backend of `run` and `calibrate`: the device that runs the ops.
 *
 * `host` is this machine's cores.  Any other value is a device that `reallot`
 * is not linked with.  The process then becomes the program that is
 * (cli/helper.h), before it reads any file, and so before MPI begins.
 *
 *     if (!ra_cli_backend_option("--backend", text, &device, &error)) ...
 *     device ? device->backend : the host's
 */
#ifndef RA_CLI_BACKEND_H
#define RA_CLI_BACKEND_H

#include "exec/accelerator.h"

/**
 * ra_cli_backend_begin:
 * @argv: of the program, NULL-terminated
 * @error: %RA_ERROR_NO_DEVICE: no reallot-cuda; %RA_ERROR_INPUT: several
 *   processes, which a device does not support
 *
 * Does not return if another program takes over.
 */
gboolean ra_cli_backend_begin(char **argv, GError **error);

/**
 * ra_cli_backend_option:
 * @flag: name in messages
 * @text: (nullable): value of the flag; %NULL: host
 * @out_device: (out) (transfer none) (nullable): the opened device; %NULL: the
 *   host
 * @error: %RA_ERROR_INPUT: unknown name; as ra_accelerator_open()
 */
gboolean ra_cli_backend_option(const char *flag, const char *text,
                               const RaAccelerator **out_device,
                               GError **error);

/* Value of --communicator that gives each rank a GPU. */
#define RA_COMMUNICATOR_NCCL "nccl"

/* TRUE if @argv requests it, parsed as the command will. */
gboolean ra_cli_backend_wants_nccl(char **argv);

#endif
