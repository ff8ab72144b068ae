/* Search by chains of random changes (MCMC as in ReaL, arXiv 2406.14088), with
 * parallel tempering.
 *
 *     RaMcmcOptions options = {.n_chains = 8, .n_steps = 1000000, .seed = 1};
 *     RaMcmcResult result;
 *     ra_mcmc_search(costs, &options, &result);
 *     use(result.point);
 *     ra_mcmc_result_clear(&result);
 *
 * A chain has a plan and a temperature T and proposes changes
 * (search/propose.h).  One that takes d seconds longer is accepted with
 * probability exp(-d / T): how much it may take is drawn first, so a proposal
 * whose bound (ra_evaluator_screen()) is above that is not replayed.  RA_LANES
 * chains are a group, which is screened and replayed side by side: their plans
 * are the lanes of one evaluator, and groups are what threads take.  A plan
 * that does not fit takes longer by the share of a GPU that it is over, so a
 * chain can leave it.
 *
 * Once a round a chain that may proposes another residency of a model.
 *
 * Costs that were not asked yet count with their bounds.  They are asked, one
 * by one, of plans that could be the best so far, and as long as they could: so
 * the best is exact and nothing that would beat it is passed over, while a
 * chain may stand on a plan that is somewhat slower than it believes.
 *
 * A quarter of the chains are a ladder: their temperatures are geometric, from
 * what changes of the first plan cost, the median, but no more than
 * HOTTEST_FRAC of the best time so far, down to COLDEST_FRAC of that.  After
 * every round of steps neighbours on the ladder exchange their plans with the
 * probability that keeps both distributions; every RESTART_ROUNDS rounds the
 * hottest begins anew.  The others quench: from a random plan, or from the
 * coldest chain's with some calls changed, down the same temperatures, again
 * and again, for as many rounds as Luby's sequence says; what is better than
 * the coldest chain's plan takes its place.
 *
 * Chains draw from streams of their own; groups meet only between rounds, what
 * they asked too: bounded by steps, the result for a seed and a table that was
 * not asked before does not depend on the number of threads.
 */
#ifndef RA_SEARCH_MCMC_H
#define RA_SEARCH_MCMC_H

#include "exec/comm/world.h"
#include "search/evaluate/evaluate.h"

/* Chains unless told: two groups of them; bounded by time alone as many groups
 * as threads, of all processes. */
#define RA_MCMC_CHAINS 16

/* Processes that search together: each has the groups whose number is its own
 * after division by theirs, and after every round all know of all.  All call
 * the same functions with the same tables; what they find is what one finds. */
typedef struct {
  RaWorld *world;
  const gint *asked; /* nullable: not 0 at process 0, atomically: all end */
  gint stop;         /* that, as of the last round: the same on all */
} RaMcmcPeers;

typedef struct {
  guint n_chains;        /* 0: as said */
  guint n_threads;       /* 0: as many as processors */
  uint64_t n_steps;      /* proposals of a chain, the mean; 0: no bound */
  double time_limit_s;   /* 0: none; one of the two is needed */
  uint64_t seed;         /* of all */
  const RaPoint *starts; /* nullable (n_starts): chains begin there in turn */
  guint n_starts;
  const uint8_t *residency; /* nullable (n_models): of random plans */
  int residency_most; /* RaResidency: chains also change residencies, up to
                         this, as the space's limits allow; RELEASE: plans keep
                         their own */
  const gint *stop;   /* nullable: not 0, atomically: end after a round */
  RaMcmcPeers *peers; /* nullable; @stop is theirs then */
  void (*progress)(double best_s, uint64_t n_steps, void *data); /* nullable */
  void *data;                                                    /* of it */
} RaMcmcOptions;

/* The best plan after so many proposals. */
typedef struct {
  uint64_t n_steps; /* of all chains */
  double seconds;
  double best_s;
} RaMcmcSample;

typedef struct {
  gboolean found;      /* some plan fits */
  RaPoint point;       /* the best that fits */
  RaScore score;       /* of it, exact */
  uint64_t n_steps;    /* proposals of all chains */
  uint64_t n_replayed; /* of them */
  uint64_t n_asked; /* costs that chains asked for, and what of the processor */
  double asked_cpu_s; /* that took */
  double seconds;     /* wall */
  GArray *curve;      /* RaMcmcSample, where the best has changed; owned */
} RaMcmcResult;

/**
 * ra_mcmc_search:
 * @costs: borrowed
 * @options: how long, and from where
 * @out_result: (out): ra_mcmc_result_clear() it
 *
 * Cost: 0.2 to 0.3 us a proposal, and what is asked of @costs the first time.
 */
void ra_mcmc_search(RaCostTable *costs, const RaMcmcOptions *options,
                    RaMcmcResult *out_result);
void ra_mcmc_result_clear(RaMcmcResult *result);

#endif
