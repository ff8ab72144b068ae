/* Distribution of trials among the processes of a world.  Each process gets the
 * next trial when it finishes one, so none idles while trials are left.
 *
 *     ra_deal_trials(world, specs, whose, n, ...);             process 0
 *     ra_deal_serve(world, specs, n_threads);                  the others
 *     ra_deal_share(world, trials, n_trials);                  all
 *
 * All processes have the same list of specs, in the same order.  Process 0
 * sends the numbers of the trials to run, runs some itself and receives the
 * results of the others.  A trial's result does not depend on the process, so
 * results do not depend on the number of processes.
 *
 * It uses notes (exec/comm/world.h): a number to the process, the trial back,
 * in as many notes as needed.
 */
#ifndef RA_STUDY_SWEEP_DEAL_H
#define RA_STUDY_SWEEP_DEAL_H

#include "exec/comm/world.h"
#include "study/sweep/trial.h"

/* Default number of threads of a process of @world: its share of the machine's
 * processors. */
guint ra_deal_threads(const RaWorld *world, guint n_threads);

/**
 * ra_deal_trials: by process 0
 * @specs: the same in all processes
 * @whose: (array length=n): numbers of the trials to run
 * @n_threads: of this process; 0: its share of the processors
 * @stop: (nullable): non-zero: calls @stopped at once, while trials still run
 * @stopped: ends all processes, with what runs in them; does not return
 * @done: called for each trial, with its index in @whose, by the calling thread
 * @data: argument of both
 * @out_trials: (array length=n): clear each with ra_trial_clear(); all zero
 *   where not run
 *
 * Returns when all trials have run; the other processes have then returned from
 * serving.
 */
void ra_deal_trials(RaWorld *world, const RaTrialSpec *specs,
                    const guint *whose, guint n, guint n_threads,
                    const gint *stop, void (*stopped)(void *data),
                    RaTrialDone done, void *data, RaTrial *out_trials);

/* Copies process 0's @trials (array length=n) to all processes; called by all.
 */
void ra_deal_share(RaWorld *world, RaTrial *trials, guint n);

/* Runs the trials that process 0 distributes, until there are no more; called
 * by the other processes. */
void ra_deal_serve(RaWorld *world, const RaTrialSpec *specs, guint n_threads);

#endif
