/* Trial: one plan replayed and reduced to its figures, or the reason why it
 * cannot be.
 *
 *     RaTrialSpec spec = {.plan = "ppo.plan", .flags = flags, .replay = run};
 *     RaTrial trial;
 *     ra_trial_run(&spec, &trial);
 *     if (!trial.refusal)
 *       use(trial.iteration_s, ra_trial_fits(&trial));
 *     ra_trial_clear(&trial);
 *
 * Sweeps consist of trials.  A trial reads its files anew, so any number of
 * threads may run trials, and no state passes from one to the next.
 *
 * Typical sizes: 10 to 10^4 trials of 0.1 s.
 */
#ifndef RA_STUDY_SWEEP_TRIAL_H
#define RA_STUDY_SWEEP_TRIAL_H

#include "study/model_error.h"
#include "study/replay.h"

/* Specification of a trial; borrows everything. */
typedef struct {
  const char *plan; /* file; NULL: made from the flags' workload and cluster, by
                       placement */
  const char *placement; /* a family of search/family/strategy.h, or "search" */
  uint64_t n_steps;      /* steps of the search's chains, >= 1 */
  const uint32_t *split; /* (n_split) nullable: for the disaggregated family */
  guint n_split;
  int batching; /* RaStrategyBatching, for a family */
  RaSetupFlags flags;
  RaReplayOptions replay;
} RaTrialSpec;

/* Result of a trial. */
typedef struct {
  char *refusal;     /* owned; NULL: it ran, and the rest is valid */
  gboolean is_fault; /* a file or flag cannot be read, rather than a plan
                        refused */
  double iteration_s;
  double tokens_per_s;
  double mfu_frac;       /* NAN: not known */
  double usd;            /* per iteration; NAN: no price */
  double peak_bytes;     /* of the fullest GPU */
  double capacity_bytes; /* of that GPU */
  RaModelError error;    /* of the iteration */
  uint32_t n_gpus;       /* used by the plan */
  uint64_t fingerprint;  /* of the replay */
  char **files; /* owned: all files that were read, NULL-terminated; NULL: not
                   known */
} RaTrial;

/* Runs @spec; never fails, as a refusal is a result.  Thread: any. */
void ra_trial_run(const RaTrialSpec *spec, RaTrial *out_trial);
void ra_trial_clear(RaTrial *trial);

/* TRUE if it ran and fits the memory of its GPUs. */
gboolean ra_trial_fits(const RaTrial *trial);

/* Callback at the end of a trial; called by one thread at a time. */
typedef void (*RaTrialDone)(guint index, const RaTrial *trial, void *data);

/* Trials that have ended, and how many there are; both atomic, as another
 * thread shows them. */
typedef struct {
  gint n_done, n;
} RaTrialCount;

/* A #RaTrialDone; @data: the #RaTrialCount, nullable. */
void ra_trial_count(guint index, const RaTrial *trial, void *data);

/**
 * ra_trials_run:
 * @specs: (array length=n)
 * @n_threads: 0: as many as processors
 * @stop: (nullable): non-zero: no further trial begins
 * @done: (nullable): called for each trial
 * @out_trials: (array length=n): clear each with ra_trial_clear(); all zero
 *   where not run
 *
 * Returns: number of trials that ran
 */
guint ra_trials_run(const RaTrialSpec *specs, guint n, guint n_threads,
                    const gint *stop, RaTrialDone done, void *data,
                    RaTrial *out_trials);

#endif
