/* Loads of experts by a power law. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "graph/op/routing.h"

#define MOST_FRAC 0.8
#define FEW_LEAST 0.01
#define FEW_MOST 2.0

#define SKEW_UNIT 100.0

RaRouting
ra_routing(guint64 skew, double n_tokens, double choices, double n_experts)
{
  double most = MOST_FRAC * n_tokens;
  gboolean few = choices <= n_experts;

  return (RaRouting){.exponent = (double)skew / SKEW_UNIT,
                     .log_least = few ? ra_log(FEW_LEAST) : 0,
                     .log_most = few ? ra_log(FEW_MOST) : ra_log(MAX(most, 1))};
}

/* Integral of x^(power - exponent) from exp(@log_least) to the most. */
static double
moment(const RaRouting *loads, double power, double log_least)
{
  double p = power + 1 - loads->exponent;

  return fabs(p) < 1e-6
             ? loads->log_most - log_least
             : (ra_exp(p * loads->log_most) - ra_exp(p * log_least)) / p;
}

double
ra_routing_imbalance(const RaRouting *loads, double n_ranks, double n_local,
                     double deviations)
{
  double mean, variance;

  if (n_ranks < 2 || loads->log_most <= loads->log_least)
    return 1;
  mean = moment(loads, 1, loads->log_least);
  variance = MAX(moment(loads, 2, loads->log_least) *
                         moment(loads, 0, loads->log_least) / (mean * mean) -
                     1,
                 0);
  return MIN(1 + deviations * sqrt(variance * 2 * ra_log(n_ranks) / n_local),
             n_ranks);
}

double
ra_routing_visited(const RaRouting *loads, double rows)
{
  double few = MIN(rows, 1), all, log_half;

  if (loads->log_most <= loads->log_least)
    return few;
  all = moment(loads, 0, loads->log_least);
  log_half = ra_log(moment(loads, 1, loads->log_least) / all / (2 * rows));
  log_half = CLAMP(log_half, loads->log_least, loads->log_most);
  return MAX(moment(loads, 0, log_half) / all, few * (1 - few / 2));
}
