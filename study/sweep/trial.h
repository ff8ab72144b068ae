/* A trial: one plan replayed and boiled down to its numbers, or why it cannot
 * be.
 *
 *     RaTrialSpec spec = {.plan = "ppo.plan", .flags = flags, .replay = run};
 *     RaTrial trial;
 *     ra_trial_run(&spec, &trial);
 *     if (!trial.refusal)
 *       use(trial.iteration_s, ra_trial_fits(&trial));
 *     ra_trial_clear(&trial);
 *
 * What sweeps are made of: a trial reads its files anew, so any number of
 * threads may run them, and nothing of one is left for the next.
 *
 * Typical sizes: 10 to 10^4 trials of 0.1 s.
 */
#ifndef RA_STUDY_SWEEP_TRIAL_H
#define RA_STUDY_SWEEP_TRIAL_H

#include "study/replay.h"

/* What is tried; borrows all of it. */
typedef struct {
  const char *plan;      /* file; NULL: of the flags' workload and cluster by */
  const char *placement; /* a family of search/family/strategy.h, or "search" */
  uint64_t n_steps;      /* of the search's chains, >= 1 */
  const uint32_t *split; /* (n_split) nullable: of the disaggregated family */
  guint n_split;
  int batching; /* RaStrategyBatching, of a family */
  RaSetupFlags flags;
  RaReplayOptions replay;
} RaTrialSpec;

/* What came of it. */
typedef struct {
  char *refusal;     /* owned; NULL: it ran, and the rest counts */
  gboolean is_fault; /* the refusal is of a file or flag that cannot be read,
                        not of a plan that cannot be */
  double iteration_s;
  double tokens_per_s;
  double mfu_frac;       /* NAN: not known */
  double usd;            /* of an iteration; NAN: no price */
  double peak_bytes;     /* of the fullest GPU */
  double capacity_bytes; /* of it */
  double error_frac;     /* ra_model_error() of the iteration; NAN: not known */
  uint32_t n_gpus;       /* that the plan uses */
  uint64_t fingerprint;  /* of the replay */
  char **files; /* owned: all that was read, NULL-terminated; NULL: not known */
} RaTrial;

/* Runs @spec; never fails, as a refusal is a result.  Thread: any. */
void ra_trial_run(const RaTrialSpec *spec, RaTrial *out_trial);
void ra_trial_clear(RaTrial *trial);

/* Whether it ran and fits the memory of its GPUs. */
gboolean ra_trial_fits(const RaTrial *trial);

/* A trial of @trials has ended; of one thread at a time. */
typedef void (*RaTrialDone)(guint index, const RaTrial *trial, void *data);

/**
 * ra_trials_run:
 * @specs: (array length=n)
 * @n_threads: 0: as many as processors
 * @stop: (nullable): not 0: no further trial is begun
 * @done: (nullable): told of each
 * @out_trials: (array length=n): ra_trial_clear() each; all zero where not run
 *
 * Returns: how many have run
 */
guint ra_trials_run(const RaTrialSpec *specs, guint n, guint n_threads,
                    const gint *stop, RaTrialDone done, void *data,
                    RaTrial *out_trials);

#endif
