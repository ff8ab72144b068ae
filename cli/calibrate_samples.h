/* Messages of calibrations while they take samples. */
#ifndef RA_CLI_CALIBRATE_SAMPLES_H
#define RA_CLI_CALIBRATE_SAMPLES_H

#include "study/run/samples.h"

/* Path of the samples of the profile @output (transfer full) (nullable):
 * "host.samples.trace.tsv" for "host.profile". */
char *ra_cli_samples_path(const char *output);

/* Likewise for collectives: "mine.collectives.trace.tsv". */
char *ra_collectives_path(const char *output);

/* A RaSampleProgress; @data: gint64, the monotonic time of its begin,
 * microseconds. */
void ra_cli_samples_show(guint n_done, guint n_points, const char *op,
                         gpointer data);

/* Reports the number of samples measured @on a device, and excessive noise. */
void ra_cli_samples_say(const RaSampleTally *tally, const char *on,
                        const char *path, gint64 begin_us);

#endif
