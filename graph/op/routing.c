/* Loads of experts by a power law. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "graph/op/routing.h"

#define MOST_FRAC 0.8
#define FEW_LEAST 0.01
#define FEW_MOST 2.0

#define SKEW_UNIT 100.0

/* exp(@log_x) to @power; most loads begin at 1. */
static double
raised(double log_x, double power)
{
  return log_x < 0 || log_x > 0 ? ra_exp(power * log_x) : 1;
}

/* Integral of x^(@power - 1) from exp(@log_least) to the most, which is
 * @most_power to that power. */
static double
integral(const RaRouting *loads, double power, double most_power,
         double log_least)
{
  return fabs(power) < 1e-6 ? loads->log_most - log_least
                            : (most_power - raised(log_least, power)) / power;
}

RaRouting
ra_routing(guint64 skew, double n_tokens, double choices, double n_experts)
{
  double most = MOST_FRAC * n_tokens;
  gboolean few = choices <= n_experts;
  RaRouting loads = {.exponent = (double)skew / SKEW_UNIT,
                     .log_least = few ? ra_log(FEW_LEAST) : 0,
                     .log_most = few ? ra_log(FEW_MOST) : ra_log(MAX(most, 1))};

  for (guint j = 0; j < G_N_ELEMENTS(loads.moments); j++) {
    double power = j + 1 - loads.exponent;
    double most_power = raised(loads.log_most, power);

    loads.moments[j] = integral(&loads, power, most_power, loads.log_least);
    if (j == 0)
      loads.most_power = most_power;
  }
  return loads;
}

double
ra_routing_imbalance(const RaRouting *loads, double n_ranks, double n_local,
                     double deviations)
{
  const double *moments = loads->moments;
  double variance;

  if (n_ranks < 2 || loads->log_most <= loads->log_least)
    return 1;
  variance = MAX(moments[2] * moments[0] / (moments[1] * moments[1]) - 1, 0);
  return MIN(1 + deviations * sqrt(variance * 2 * ra_log(n_ranks) / n_local),
             n_ranks);
}

double
ra_routing_visited(const RaRouting *loads, double rows)
{
  double few = MIN(rows, 1), all = loads->moments[0], log_half;

  if (loads->log_most <= loads->log_least)
    return few;
  log_half = ra_log(loads->moments[1] / all / (2 * rows));
  log_half = CLAMP(log_half, loads->log_least, loads->log_most);
  return MAX(integral(loads, 1 - loads->exponent, loads->most_power, log_half) /
                 all,
             few * (1 - few / 2));
}
