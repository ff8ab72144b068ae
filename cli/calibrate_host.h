/* Calibration of this machine's cores: reallot calibrate --backend=host. */
#ifndef RA_CLI_CALIBRATE_HOST_H
#define RA_CLI_CALIBRATE_HOST_H

#include <glib.h>

/**
 * ra_calibrate_host:
 * @ranks: (nullable): value of --ranks; %NULL: as many as cores
 * @device: name of the machine in the profile
 * @output: (nullable): profile file; samples are kept next to it; %NULL:
 *   standard output, and samples are not kept
 *
 * Measures, fits and writes the profile; reports progress, time and noise on
 * standard error.
 */
gboolean ra_calibrate_host(const char *ranks, gboolean quick,
                           const char *device, const char *output,
                           GError **error);

#endif
