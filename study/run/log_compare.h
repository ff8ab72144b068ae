/* A plan's prediction beside a trainer's log, and constants of a system from
 * it.
 *
 *     g_autoptr(RaStepLog) log = ra_step_log_load("train.log", &error);
 *     RaTable *phases = ra_step_log_compare("run.plan", log, FALSE, &error);
 *     char *text = ra_step_log_fit("run.plan", log, "mine", &table, &error);
 *
 * The plan is replayed with the lengths of the log: prompts of its mean;
 * responses lognormal of its mean, with the spread at which the longest of a
 * step's responses is the log's, cut at the plan's limit.  Phases are compared
 * with the median over steps, without the first one.
 *
 * Constants: decode-step (decode-layer of eager engines) so that generation is
 * as measured in the first third of the steps, compute-factor for update and
 * passes together, weight-sync for the weights' way, if the log has these.
 * Each is found by itself, as phases do not share constants.  Later steps, with
 * their own lengths, tell the error.
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

/* (transfer full): the plan @plan with the lengths of steps @first to
 * @last - 1 (indices) of @log. */
typedef RaSetup *(*RaLogSetup)(gconstpointer plan, const RaStepLog *log,
                               guint first, guint last, GError **error);

/* A later step, with its own lengths, under constants of the first ones. */
typedef struct {
  uint64_t step;
  double predicted_s, measured_s;
} RaLogLater;

/**
 * ra_step_log_constants:
 * @make: makes setups of @plan
 * @out_constants: (out): those of the setup's system, with the fitted ones
 * @out_keys: (element-type utf8): which are fitted, appended; static
 * @error: as @make and ra_step_times(); %RA_ERROR_INPUT: fewer than 6 steps, or
 *   no phase that a constant is of
 *
 * Fits constants on the first third of the steps, without the first one.
 *
 * Cost: 18 replays of each constant.
 */
gboolean ra_step_log_constants(RaLogSetup make, gconstpointer plan,
                               const RaStepLog *log,
                               RaSystemConstants *out_constants,
                               GPtrArray *out_keys, GError **error);

/* (transfer full) (element-type RaLogLater): at most 9 of the steps after the
 * first third, evenly spaced; NULL with @error set. */
GArray *ra_step_log_later(RaLogSetup make, gconstpointer plan,
                          const RaStepLog *log,
                          const RaSystemConstants *constants, GError **error);

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
