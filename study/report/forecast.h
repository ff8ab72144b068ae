/* Forecast: the predictions for a plan, as comments in its text.
 *
 *     g_autofree char *text = ra_forecast_text(setup, plan, head, 3, 0,
 *                                               NULL, &error);
 *
 * The text begins with @head.  A comment above every call tells when it begins,
 * how long it takes, and what its GPUs do meanwhile.  The numbers are of an
 * iteration of the steady state, at stage fidelity, as `reallot simulate`
 * prints them for the same file.
 */
#ifndef RA_STUDY_REPORT_FORECAST_H
#define RA_STUDY_REPORT_FORECAST_H

#include "base/until.h"
#include "study/setup.h"

/**
 * ra_forecast_text:
 * @setup: from ra_setup_load_pair(); its plan is replaced
 * @plan: text of a plan for it
 * @head: comments at the top: complete lines that begin with `#`
 * @n_iterations: >= 2, replayed
 * @seed: seed of the lengths
 * @until: (nullable): when over, there is no comment but @head
 * @until: (nullable): when over, the text has @head alone
 * @error: as ra_setup_read_plan(), ra_replay_new()
 *
 * Returns: (transfer full): text that parses as the same plan
 */
char *ra_forecast_text(RaSetup *setup, const char *plan, const char *head,
                       uint32_t n_iterations, uint64_t seed,
                       const RaUntil *until, GError **error);

#endif
