/* Goodput: the share of a long run's time that is progress, where GPUs fail and
 * checkpoints cost time.
 *
 *     RaFailures failures = {.gpu_mtbf_s = 50675 * 3600.0, .checkpoint_s = 30,
 *                            .restart_s = 600};
 *     RaGoodput g = ra_goodput(&failures, 16384);
 *     g.frac, g.interval_s
 *
 * A run on n GPUs fails after M = gpu_mtbf / n on average, and then restarts
 * from the last checkpoint.  Let tau be the work between two checkpoints, C the
 * time of a checkpoint and R the time of a restart.  For exponential failures,
 * Daly's complete model (J. T. Daly, "A higher order estimate of the optimum
 * checkpoint interval for restart dumps", FGCS 22, 2006, eq.  20) gives
 *
 *     goodput = tau / (M e^(R / M) (e^((tau + C) / M) - 1))
 *
 * The best interval is near (eq.  37; the first term is J. W. Young's, CACM 17,
 * 1974)
 *
 *     tau = sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C,  C < 2 M
 *     tau = M,                                                      else
 */
#ifndef RA_STUDY_GOODPUT_H
#define RA_STUDY_GOODPUT_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  double gpu_mtbf_s;   /* mean time between failures of one GPU and everything
                          that stops a run with it, > 0 */
  double checkpoint_s; /* pause of the run for a checkpoint, >= 0 */
  double restart_s;    /* from a failure until the run continues, >= 0 */
  double interval_s;   /* work between two checkpoints; 0: the best interval */
} RaFailures;

typedef struct {
  double frac;       /* progress as a share of the time, in [0, 1] */
  double interval_s; /* work between two checkpoints */
  double mtbf_s;     /* mean time between failures of the run */
} RaGoodput;

/* Goodput of a run on @n_gpus, >= 1. */
RaGoodput ra_goodput(const RaFailures *failures, uint32_t n_gpus);

#endif
