/* What is predicted of a plan, as comments in its text.
 *
 *     g_autofree char *text = ra_forecast_text(setup, plan, head, 0, &error);
 *
 * On top @head, and above every call when it begins, what it takes, and what
 * its GPUs do meanwhile: of an iteration of the window that repeats, at stage
 * fidelity, as `reallot simulate` says it of the same file.
 */
#ifndef RA_STUDY_REPORT_FORECAST_H
#define RA_STUDY_REPORT_FORECAST_H

#include "study/setup.h"

/**
 * ra_forecast_text:
 * @setup: of ra_setup_load_pair(); a plan that it has is replaced
 * @plan: text of a plan for it
 * @head: comments on top, lines that begin with `#` and end
 * @n_iterations: >= 2, replayed
 * @seed: of the lengths
 * @error: as ra_setup_read_plan(), ra_replay_new()
 *
 * Returns: (transfer full): text that reads as the same plan
 */
char *ra_forecast_text(RaSetup *setup, const char *plan, const char *head,
                       uint32_t n_iterations, uint64_t seed, GError **error);

#endif
