/* Temperatures of chains, and their exchanges between rounds. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "search/mcmc_impl.h"

/* Share of the best time: less than differences of interest. */
#define COLDEST_FRAC 1e-3
/* Greatest share: above it a chain only wanders. */
#define HOTTEST_FRAC 0.03

/* One quench in so many begins anywhere, the others where the coldest chain is,
 * with so many calls somewhere else: that takes a fifth fewer proposals to the
 * optimum of 8 GPUs. */
#define ANYWHERE_ONE_IN 2
#define KICKED_CALLS 3

void
ra_mcmc_random_point(const RaMcmcSearch *s, RaRng *rng, RaPoint *out)
{
  memset(out, 0, sizeof *out);
  for (guint m = 0; s->options->residency && m < s->space->workload->n_models;
       m++)
    out->residency[m] = s->options->residency[m];
  ra_proposer_point(s->proposer, rng, out);
}

void
ra_mcmc_set_ladder(RaMcmcSearch *s, double hottest_s, double now_s)
{
  double coldest_s = COLDEST_FRAC * now_s;

  hottest_s = CLAMP(hottest_s, 2 * coldest_s, HOTTEST_FRAC * now_s);
  for (guint i = 0; i < s->n_chains; i++) {
    RaMcmcChain *c = &s->chains[i];
    double part = s->n_ladder > 1 ? (double)i / (s->n_ladder - 1) : 1;

    if (i >= s->n_ladder)
      part = (c->age + 1.0) / c->span;
    c->temperature_s = hottest_s * ra_exp(part * ra_log(coldest_s / hottest_s));
  }
}

/* 1, 1, 2, 1, 1, 2, 4, ...: no more than a logarithm from the best way to
 * restart (Luby, Sinclair, Zuckerman, Information Processing Letters 47, 1993).
 */
static guint
luby(guint i)
{
  guint power = 1;

  while (power - 1 < i)
    power *= 2;
  return power - 1 == i ? power / 2 : luby(i - (power / 2 - 1));
}

void
ra_mcmc_quench(RaMcmcSearch *s, RaRng *rng)
{
  RaMcmcChain *coldest = &s->chains[s->n_ladder - 1];

  for (guint i = s->n_ladder; i < s->n_chains; i++) {
    RaMcmcChain *c = &s->chains[i];

    if (++c->age < c->span)
      continue;
    if (c->now_s < coldest->now_s) {
      coldest->point = c->point;
      coldest->now_s = c->now_s;
    }
    if (ra_rng_below(rng, ANYWHERE_ONE_IN) == 0) {
      ra_mcmc_random_point(s, rng, &c->point);
    } else {
      c->point = coldest->point;
      ra_proposer_kick(s->proposer, rng, KICKED_CALLS, &c->point);
    }
    c->age = 0;
    c->span = RA_MCMC_QUENCH_ROUNDS * luby(++c->n_quenches + 1);
  }
}

/* a is hotter than b. */
void
ra_mcmc_exchange(RaMcmcSearch *s, RaRng *rng)
{
  for (guint i = 0; i + 1 < s->n_ladder; i++) {
    RaMcmcChain *a = &s->chains[i], *b = &s->chains[i + 1];
    double gain =
        (a->now_s - b->now_s) * (1 / a->temperature_s - 1 / b->temperature_s);
    RaPoint point = a->point;
    double now_s = a->now_s;

    if (ra_log(ra_rng_uniform(rng)) >= gain)
      continue;
    a->point = b->point;
    a->now_s = b->now_s;
    b->point = point;
    b->now_s = now_s;
  }
}
