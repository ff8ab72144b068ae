/* A plan's prediction beside a trainer's log, and constants of a system from
 * it.
 *
 *     g_autoptr(RaStepLog) log = ra_step_log_load("train.log", &error);
 *     RaTable *phases = ra_step_log_compare("run.plan", log, FALSE, &error);
 *     char *text = ra_step_log_fit("run.plan", log, "mine", &table, &error);
 *
 * The plan is replayed with the lengths of the log: prompts of its mean;
 * answers lognormal of its mean, with the spread at which the longest of a
 * step's answers is the log's, cut at the plan's limit.  Phases are compared
 * with the median over steps, without the first one.
 *
 * Constants: decode-step (decode-layer of eager engines) so that generation is
 * as measured in the first third of the steps, compute-factor for the update,
 * weight-sync for the weights' way, if the log has these.  Each is found by
 * itself, as phases do not share constants.  Later steps, with their own
 * lengths, tell the error.
 */
#ifndef RA_STUDY_RUN_LOG_COMPARE_H
#define RA_STUDY_RUN_LOG_COMPARE_H

#include "study/run/step_log.h"

/**
 * ra_step_log_compare:
 * @plan: file of a plan
 * @anyway: also where GPUs or tokens of a step are not the plan's
 * @error: as ra_setup_load() and ra_replay_new(); %RA_ERROR_INPUT: the log is
 *   of another plan
 *
 * Returns: (transfer full): a row a phase: predicted, measured, error, what
 * most likely explains it
 */
RaTable *ra_step_log_compare(const char *plan, const RaStepLog *log,
                             gboolean anyway, GError **error);

/**
 * ra_step_log_fit:
 * @name: of the installation, for people
 * @out_errors: (out) (transfer full): later steps, predicted and measured
 * @error: as ra_step_log_compare(); %RA_ERROR_INPUT: fewer than 6 steps, or no
 *   phase that a constant is of
 *
 * Returns: (transfer full): text of a system profile
 */
char *ra_step_log_fit(const char *plan, const RaStepLog *log, const char *name,
                      gboolean anyway, RaTable **out_errors, GError **error);

#endif
