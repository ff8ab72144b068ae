/* Tuning as one self-contained HTML file.
 *
 *     g_autofree char *html =
 *         ra_report_tuning(tune, "run.sh", diff, seed, &error);
 *
 * It shows what an iteration takes now and then, the keys to change, the
 * difference of the two files, the critical path of both by cause, and of each
 * the timeline, GPU time and memory.  As study/report/report.h, it has no
 * scripts and fetches nothing.
 *
 * Typical sizes: 100 kB; two replays.
 */
#ifndef RA_STUDY_REPORT_TUNE_PAGE_H
#define RA_STUDY_REPORT_TUNE_PAGE_H

#include "study/contest/tune.h"

/**
 * ra_report_tuning:
 * @config: name of the configuration: the title
 * @diff: (nullable): the difference of the two files
 * @seed: of the sampled lengths
 * @error: as ra_replay_new()
 *
 * Returns: (transfer full): the HTML text
 */
char *ra_report_tuning(const RaTune *tune, const char *config, const char *diff,
                       uint64_t seed, GError **error);

#endif
