/* reallot calibrate --backend=host. */
#ifndef RA_CLI_CALIBRATE_HOST_H
#define RA_CLI_CALIBRATE_HOST_H

#include <glib.h>

/**
 * ra_calibrate_host:
 * @ranks: (nullable): of --ranks; %NULL: as many as cores
 * @device: what the profile calls the machine
 * @output: (nullable): of the profile; samples are kept beside it; %NULL:
 *   standard output, and nothing is kept
 *
 * Measures, fits, writes; tells of progress, time and noise on standard error.
 */
gboolean ra_calibrate_host(const char *ranks, gboolean quick,
                           const char *device, const char *output,
                           GError **error);

#endif
