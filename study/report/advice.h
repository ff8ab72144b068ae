/* Advice: placement strategies beside a plan, on the plan's own files.
 *
 *     RaTrial trials[RA_N_STRATEGIES] = {0};
 *     ra_advice_trials(setup, &flags, &replay, n_threads, NULL, trials);
 *     ... ra_trial_clear() of each
 *
 * Overrides of calls and of the plan are left out: they are the plan's.
 *
 * Typical sizes: 6 strategies, a replay each.
 */
#ifndef RA_STUDY_REPORT_ADVICE_H
#define RA_STUDY_REPORT_ADVICE_H

#include "search/family/strategy.h"
#include "study/sweep/trial.h"

/**
 * ra_advice_trials:
 * @setup: of a plan; borrowed
 * @flags: flags that it was loaded with
 * @replay: options of the replays
 * @n_threads: 0: as many as processors
 * @count: (nullable): trials that have ended are added
 * @out_trials: (out): #RA_N_STRATEGIES cleared trials, in the order of
 *   ra_strategy_names; ra_trial_clear() each
 */
void ra_advice_trials(const RaSetup *setup, const RaSetupFlags *flags,
                      const RaReplayOptions *replay, guint n_threads,
                      RaTrialCount *count, RaTrial *out_trials);

/**
 * ra_advice_sentence:
 * @setup, @flags, @replay: as ra_advice_trials()
 * @iteration_s: of the plan; infinite: the plan does not fit
 *
 * Cost: a plan and a replay of each strategy, as `reallot plan` and `simulate`.
 *
 * Returns: (transfer full): in lines, whether a strategy's plan that fits takes
 * less time, how much less, and the command that writes it
 */
char *ra_advice_sentence(const RaSetup *setup, const RaSetupFlags *flags,
                         const RaReplayOptions *replay, double iteration_s);

#endif
