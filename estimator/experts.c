/* The law of expert layers. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/experts.h"
#include "estimator/resolve.h"

/* Names of dim[]. */
enum { TOKENS, HIDDEN, WIDTH, EXPERTS, CHOSEN, EP, SKEW };

/* Loads from a power law go up to this share of the tokens
 * (kernels_moe/SOURCE.md, the collector's sampler). */
#define MOST_FRAC 0.8

/* SKEW is in hundredths. */
#define SKEW_UNIT 100.0

gboolean
ra_experts_law_init(RaExpertsLaw *law, const RaProfile *profile,
                    const RaDevice *device, const char *name, double flop_per_s,
                    GError **error)
{
  double memory = device->memory_bytes_per_s;
  RaResolver r;

  ra_resolver_init(&r, profile, name, error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->expert_s = ra_resolve(&r, "expert-s");
  law->tile_rows = ra_resolve(&r, "tile-rows");
  law->s_per_flop = ra_rate_s(flop_per_s * ra_resolve(&r, "peak-frac"));
  law->s_per_byte = ra_rate_s(memory * ra_resolve(&r, "bandwidth-frac"));
  law->s_per_row = ra_resolve(&r, "row-bytes") * ra_rate_s(memory);
  law->serial_frac = ra_resolve(&r, "serial-frac");
  law->skew_frac = ra_resolve(&r, "skew-frac");
  return ra_resolver_ok(&r) &&
         ra_residual_init(&law->residual, profile, name, error);
}

/* Integral of x^(power - 1) from 1 to exp(@log_most). */
static double
moment(double power, double log_most)
{
  return fabs(power * log_most) < 1e-6 ? log_most
                                       : (ra_exp(power * log_most) - 1) / power;
}

/* Share of the even load that the heaviest of the ranks has. */
static double
heavy(const RaExpertsLaw *law, const RaOp *op, double local)
{
  double most = MOST_FRAC * (double)op->dim[TOKENS];
  double ep = (double)op->dim[EP], rest, log_most, mean, variance;

  if (op->dim[SKEW] == 0 || op->dim[EP] < 2 || most <= 1)
    return 1;
  log_most = ra_log(most);
  rest = 1 - (double)op->dim[SKEW] / SKEW_UNIT;
  mean = moment(1 + rest, log_most);
  variance = MAX(
      moment(2 + rest, log_most) * moment(rest, log_most) / (mean * mean) - 1,
      0);
  return MIN(1 + law->skew_frac * sqrt(variance * 2 * ra_log(ep) / local), ep);
}

/* Share of the experts that t tokens visit, of which each chooses @chosen_frac
 * of all; (1 - x)^t <= exp(-t x), which from t x = 40 on is lost in a double's
 * difference from 1. */
static double
visited_frac(double t, double chosen_frac)
{
  return chosen_frac >= 1 || t * chosen_frac >= 40
             ? 1
             : 1 - ra_exp(t * ra_log(1 - chosen_frac));
}

double
ra_experts_s(const RaExpertsLaw *law, const RaOp *op)
{
  double t = (double)op->dim[TOKENS], e = (double)op->dim[EXPERTS];
  double k = MIN((double)op->dim[CHOSEN], e), ep, local, visited, rows, area;
  double compute_s, memory_s, law_s;
  gboolean both =
      op->kind == RA_OP_EXPERTS_BACKWARD && !(op->flags & RA_OP_FROZEN);

  if (t < 1 || e < 1 || k < 1 || op->dim[WIDTH] == 0)
    return 0;
  ep = (double)MAX(op->dim[EP], 1);
  local = MAX(e / ep, 1);
  visited = local * visited_frac(t, k / e);
  rows = heavy(law, op, local) * t * k / ep;
  area = (double)op->dim[HIDDEN] * (double)op->dim[WIDTH] *
         (op->flags & RA_OP_PLAIN ? 2 : 3) * (both ? 2 : 1);
  compute_s =
      (rows + visited * law->tile_rows / 2) * area * 2 * law->s_per_flop;
  memory_s = visited * area * law->weight_bytes * law->s_per_byte;
  law_s = law->floor_s + visited * law->expert_s +
          rows * (double)op->dim[HIDDEN] * law->s_per_row +
          MAX(compute_s, memory_s) +
          law->serial_frac * MIN(compute_s, memory_s);
  return law_s * ra_residual_factor(&law->residual, op);
}
