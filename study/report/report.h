/* Report: everything about a plan in one self-contained HTML file.
 *
 *     g_autofree char *html = ra_report_new("ppo.plan", &flags, &options,
 *                                           &error);
 *
 * It shows the timeline, GPU time by cause, memory by holder over time, the
 * sensitivity to each resource, the placement strategies on the same files, the
 * tables of `reallot simulate`, the model's own errors, and the text of the
 * input files.  Pictures are SVG with a tooltip on every box; there are no
 * scripts and nothing is fetched.  The error shown with the time of an
 * iteration is the system's held-out median error or, without a system, the
 * largest one of the laws of the GPU's profile.
 *
 * Typical sizes: 200 kB; some 50 replays.
 */
#ifndef RA_STUDY_REPORT_REPORT_H
#define RA_STUDY_REPORT_REPORT_H

#include "study/replay.h"
#include "study/sweep/trial.h"

typedef struct {
  RaReplayOptions replay; /* at least 2 iterations are needed for a steady
                             state */
  guint n_threads;        /* threads of the further replays; 0: as many as
                             processors */
  RaTrialCount *count;    /* nullable: those replays */
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
