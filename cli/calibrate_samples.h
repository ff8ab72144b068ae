/* What calibrations of this machine say while they take samples. */
#ifndef RA_CLI_CALIBRATE_SAMPLES_H
#define RA_CLI_CALIBRATE_SAMPLES_H

#include "study/run/samples.h"

/* (transfer full) (nullable): "host.samples.trace.tsv" beside "host.profile".
 */
char *ra_cli_samples_path(const char *output);

/* The same of collectives: "mine.collectives.trace.tsv". */
char *ra_collectives_path(const char *output);

/* A RaSampleProgress; @data: gint64, the monotonic microseconds of its begin.
 */
void ra_cli_samples_show(guint n_done, guint n_points, const char *op,
                         gpointer data);

/* How many were measured @on what, and whether it is too noisy. */
void ra_cli_samples_say(const RaSampleTally *tally, const char *on,
                        const char *path, gint64 begin_us);

#endif
