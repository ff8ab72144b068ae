/* Goodput: the part of a long run's time that is progress, where GPUs fail and
 * checkpoints cost time.
 *
 *     RaFailures failures = {.gpu_mtbf_s = 50675 * 3600.0, .checkpoint_s = 30,
 *                            .restart_s = 600};
 *     RaGoodput g = ra_goodput(&failures, 16384);
 *     g.frac, g.interval_s
 *
 * A run of n GPUs fails every M = gpu_mtbf / n in the mean, and then starts
 * anew from the last checkpoint.  With an interval tau of work between two
 * checkpoints that take C each, and a restart of R, Daly's complete model
 * (J. T. Daly, "A higher order estimate of the optimum checkpoint interval for
 * restart dumps", FGCS 22, 2006, eq. 20) has for exponential failures
 *
 *     goodput = tau / (M e^(R / M) (e^((tau + C) / M) - 1))
 *
 * and its best interval is near (eq. 37; the first term is J. W. Young's,
 * CACM 17, 1974)
 *
 *     tau = sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C,  C < 2 M
 *     tau = M,                                                      else
 */
#ifndef RA_STUDY_GOODPUT_H
#define RA_STUDY_GOODPUT_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  double gpu_mtbf_s;   /* mean time between failures of one GPU and all that
                          stops a run with it, > 0 */
  double checkpoint_s; /* that the run stands still for one, >= 0 */
  double restart_s;    /* from a failure until it goes on, >= 0 */
  double interval_s;   /* of work between two; 0: the best */
} RaFailures;

typedef struct {
  double frac;       /* of the time, in [0, 1] */
  double interval_s; /* of work between two checkpoints */
  double mtbf_s;     /* of the run */
} RaGoodput;

/* Of a run on @n_gpus, >= 1. */
RaGoodput ra_goodput(const RaFailures *failures, uint32_t n_gpus);

#endif
