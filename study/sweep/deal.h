/* Trials dealt to the processes of a world, each the next one when it is done
 * with one, so that none waits while there are any.
 *
 *     ra_deal_trials(world, specs, whose, n, ...);             process 0
 *     ra_deal_serve(world, specs, n_threads);                  the others
 *     ra_deal_share(world, trials, n_trials);                  all
 *
 * All have the same list of specs, in the same order; process 0 says which of
 * them are to run, by number, runs some itself and gets what came of the
 * others.  A trial is what it is whoever runs it, so results do not depend on
 * the number of processes.
 *
 * It goes by notes (exec/comm/world.h): a number there, the trial back, in as
 * many notes as it takes.
 */
#ifndef RA_STUDY_SWEEP_DEAL_H
#define RA_STUDY_SWEEP_DEAL_H

#include "exec/comm/world.h"
#include "study/sweep/trial.h"

/* Threads of a process of @world unless told: its share of the machine's
 * processors. */
guint ra_deal_threads(const RaWorld *world, guint n_threads);

/**
 * ra_deal_trials: by process 0
 * @specs: as all processes have them
 * @whose: (array length=n): numbers of those that are to run
 * @n_threads: of this process; 0: its share of the processors
 * @stop: (nullable): not 0: calls @stopped at once, while trials still run
 * @stopped: ends all processes, with what runs in them; does not return
 * @done: told of each, by its place in @whose; by the calling thread
 * @data: of both
 * @out_trials: (array length=n): ra_trial_clear() each; all zero where not run
 *
 * Returns when all have run; the others have returned from serving.
 */
void ra_deal_trials(RaWorld *world, const RaTrialSpec *specs,
                    const guint *whose, guint n, guint n_threads,
                    const gint *stop, void (*stopped)(void *data),
                    RaTrialDone done, void *data, RaTrial *out_trials);

/* By all: what process 0 has in @trials (array length=n), to all. */
void ra_deal_share(RaWorld *world, RaTrial *trials, guint n);

/* By the other processes: runs what process 0 deals, until there is no more. */
void ra_deal_serve(RaWorld *world, const RaTrialSpec *specs, guint n_threads);

#endif
