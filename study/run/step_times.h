/* Seconds of the phases of an RL step, as trainers' logs divide it.
 *
 *     RaStepTimes times;
 *     if (ra_step_times(setup, &times, &error))
 *       use(times.s[RA_STEP_UPDATE], times.s[RA_STEP_TOTAL]);
 *
 * A phase is the wall time of one kind of call, from its first task to its
 * last, mean over the iterations that repeat.  Weights that move between
 * layouts, to and from host memory, and engines that wake are the sync phase:
 * what the step takes beyond its other phases.  If generation has GPUs of its
 * own and lags, phases overlap and the step is shorter than their sum; sync is
 * then what reallocation takes.
 */
#ifndef RA_STUDY_RUN_STEP_TIMES_H
#define RA_STUDY_RUN_STEP_TIMES_H

#include "study/odds.h"

typedef enum {
  RA_STEP_GENERATE,  /* rollout */
  RA_STEP_REWARD,    /* reward models, and what runs on hosts */
  RA_STEP_LOGPROB,   /* log-probabilities of the policy before the update */
  RA_STEP_REFERENCE, /* those of the reference */
  RA_STEP_VALUES,    /* the critic's values */
  RA_STEP_CRITIC,    /* update of the critic */
  RA_STEP_UPDATE,    /* update of the policy */
  RA_STEP_SYNC,      /* weights into the engines, wake, sleep */
  RA_STEP_TOTAL,     /* the whole step */
  RA_N_STEP_PHASES
} RaStepPhase;

/* "generate", "reward" ...: NULL-terminated. */
extern const char *const ra_step_phase_names[];

typedef struct {
  double s[RA_N_STEP_PHASES]; /* seconds; 0: the step has no such phase */
} RaStepTimes;

/**
 * ra_step_times:
 * @setup: with a plan
 * @doubt: (inout) (nullable): as in ra_doubt_take(), which fills it
 * @error: as ra_replay_new()
 *
 * Replays the plan at stage fidelity.
 *
 * Cost: a replay of 2 iterations; of 4 (staleness + 1) if generation lags, of
 * which the second half counts.
 *
 * Returns: %TRUE on success
 */
gboolean ra_step_times(const RaSetup *setup, RaStepTimes *out_times,
                       RaDoubt *doubt, GError **error);

#endif
