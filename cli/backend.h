/* --backend of `run` and `calibrate`: what runs the ops.
 *
 * `host` is this machine's cores.  Any other is a device that `reallot` is not
 * linked with; it becomes the program that is (cli/helper.h) before it reads
 * anything, and so before MPI begins.
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
 *   processes, which a device does not serve
 *
 * Does not return where another program takes over.
 */
gboolean ra_cli_backend_begin(char **argv, GError **error);

/**
 * ra_cli_backend_option:
 * @flag: as messages name it
 * @text: (nullable): its value; %NULL: host
 * @out_device: (out) (transfer none) (nullable): open; %NULL: the host
 * @error: %RA_ERROR_INPUT: none of the names; as ra_accelerator_open()
 */
gboolean ra_cli_backend_option(const char *flag, const char *text,
                               const RaAccelerator **out_device,
                               GError **error);

/* The value of --communicator with which each rank has a GPU. */
#define RA_COMMUNICATOR_NCCL "nccl"

/* Whether it is wanted, as the command will read it. */
gboolean ra_cli_backend_wants_nccl(char **argv);

#endif
