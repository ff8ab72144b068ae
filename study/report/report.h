/* A report: all that is known of a plan as one HTML file that needs no other.
 *
 *     g_autofree char *html = ra_report_new("ppo.plan", &flags, &options,
 *                                           &error);
 *
 * Timeline, GPU time by cause, memory by holder over time, how the iteration
 * answers to each resource, the placement families on the same files, tables of
 * `reallot simulate`, the model's own errors, and the text of what was read.
 * Pictures are SVG with a text for the mouse on every box; nothing is a script
 * and nothing is fetched.  The error beside the time of an iteration is the
 * system's held-out median error, without a system the largest one of the laws
 * of the GPU's profile.
 *
 * Typical sizes: 200 kB; some 50 replays.
 */
#ifndef RA_STUDY_REPORT_REPORT_H
#define RA_STUDY_REPORT_REPORT_H

#include "study/replay.h"

typedef struct {
  RaReplayOptions replay; /* at least 2 iterations show what repeats */
  guint n_threads;        /* of the further replays; 0: as many as processors */
} RaReportOptions;

/**
 * ra_report_new:
 * @plan: file
 * @flags: borrowed during the call
 * @error: as ra_setup_load(), ra_replay_new()
 *
 * Returns: (transfer full): the HTML text
 */
char *ra_report_new(const char *plan, const RaSetupFlags *flags,
                    const RaReportOptions *options, GError **error);

#endif
