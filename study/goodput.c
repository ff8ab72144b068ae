/* Goodput and the best checkpoint interval, by Daly's model. */
#include "config.h"

#include <math.h>

#include "study/goodput.h"

/* Checkpoints that cost nothing are made all the time: a second of work. */
#define LEAST_INTERVAL_S 1.0

static double
best_interval_s(const RaFailures *f, double mtbf_s)
{
  double half = f->checkpoint_s / (2 * mtbf_s);
  double s = mtbf_s;

  if (half < 1)
    s = sqrt(2 * f->checkpoint_s * mtbf_s) * (1 + sqrt(half) / 3 + half / 9) -
        f->checkpoint_s;
  return fmax(s, LEAST_INTERVAL_S);
}

RaGoodput
ra_goodput(const RaFailures *f, uint32_t n_gpus)
{
  RaGoodput g = {.frac = 0};

  g_return_val_if_fail(f && f->gpu_mtbf_s > 0 && n_gpus > 0, g);
  g.mtbf_s = f->gpu_mtbf_s / n_gpus;
  g.interval_s =
      f->interval_s > 0 ? f->interval_s : best_interval_s(f, g.mtbf_s);
  g.frac = g.interval_s / (g.mtbf_s * exp(f->restart_s / g.mtbf_s) *
                           expm1((g.interval_s + f->checkpoint_s) / g.mtbf_s));
  return g;
}
