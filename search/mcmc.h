/* MCMC search: Markov chains of random plan changes (as in ReaL, arXiv
 * 2406.14088), with parallel tempering.
 *
 *     RaMcmcOptions options = {.n_chains = 8, .n_steps = 1000000, .seed = 1};
 *     RaMcmcResult result;
 *     ra_mcmc_search(costs, &options, &result);
 *     use(result.point);
 *     ra_mcmc_result_clear(&result);
 *
 * A chain has a plan and a temperature T, and proposes changes of the plan
 * (search/propose.h). A change that takes d seconds longer is accepted with
 * probability exp(-d / T).  The accepted increase is sampled first, so a
 * proposal whose bound (ra_evaluator_screen()) exceeds it is never replayed.
 *
 * RA_LANES chains form a group.  The plans of a group are the lanes of one
 * evaluator, so they are screened and replayed together.  Threads take groups
 * from a common queue.  The time of a plan that does not fit is multiplied by a
 * penalty that grows with the missing share of a GPU, so a chain can leave such
 * a plan.
 *
 * A chain that may change residencies proposes one such change per round.
 *
 * Unknown costs are replaced by lower bounds.  The exact costs of a plan are
 * computed one by one, for as long as the plan could be the best so far.  The
 * best plan is therefore exact and no better plan is passed over.  A chain,
 * however, may keep a plan that is somewhat slower than its bound says.
 *
 * A quarter of the chains form a ladder of geometric temperatures.  The hottest
 * is the median cost of a change of the first plan, at most HOTTEST_FRAC of the
 * best time so far; the coldest is COLDEST_FRAC of that time.  After every
 * round of steps, neighbours on the ladder exchange their plans with the
 * probability that preserves both distributions.  Every RESTART_ROUNDS rounds
 * the hottest chain restarts.
 *
 * The other chains quench: they start from a random plan, or from the coldest
 * chain's plan with some calls changed, and go down the same temperatures.
 * Each quench lasts as many rounds as Luby's sequence says.  A result better
 * than the coldest chain's plan replaces it.
 *
 * Each chain has its own random stream.  Groups exchange plans and costs only
 * between rounds.  With a bound on steps, the result for a seed and a new cost
 * table is therefore independent of the number of threads.
 */
#ifndef RA_SEARCH_MCMC_H
#define RA_SEARCH_MCMC_H

#include "exec/comm/world.h"
#include "search/evaluate/evaluate.h"

/* Default number of chains: two groups.  A search bounded by time alone has as
 * many groups as there are threads in all processes. */
#define RA_MCMC_CHAINS 16

/* Processes that search together.  Process p of n has the groups whose number
 * is p modulo n.  After every round, all processes exchange the state of all
 * groups.  All call the same functions with the same tables and find what one
 * process finds. */
typedef struct {
  RaWorld *world;
  const gint *asked; /* nullable: set atomically to non-zero at process 0: all
                        stop */
  gint stop; /* @asked as of the last round: the same in all processes */
} RaMcmcPeers;

typedef struct {
  guint n_chains;        /* 0: the default */
  guint n_threads;       /* 0: the number of processors */
  uint64_t n_steps;      /* mean number of proposals of a chain; 0: no bound */
  double time_limit_s;   /* 0: none; n_steps or this must be set */
  uint64_t seed;         /* seed of all random streams */
  const RaPoint *starts; /* nullable (n_starts): start points, used in turn */
  guint n_starts;
  const RaPoint *best; /* nullable: a plan that fits, which the result is not
                          behind */
  const uint8_t *residency; /* nullable (n_models): residencies of random
                               plans */
  int residency_most; /* RaResidency: largest residency to which chains may
                         change a model, as the space's limits allow; RELEASE:
                         plans keep their own */
  const gint *stop;   /* nullable: set atomically to non-zero: stop after the
                         round */
  RaMcmcPeers *peers; /* nullable; @stop is then &peers->stop */
  void (*progress)(double best_s, uint64_t n_steps, void *data); /* nullable */
  void *data; /* argument of progress */
} RaMcmcOptions;

/* Time of the best plan after a number of proposals. */
typedef struct {
  uint64_t n_steps; /* of all chains */
  double seconds;
  double best_s;
} RaMcmcSample;

typedef struct {
  gboolean found;      /* some plan fits */
  RaPoint point;       /* the best plan that fits */
  RaScore score;       /* its exact score */
  uint64_t n_steps;    /* proposals of all chains */
  uint64_t n_replayed; /* proposals that were replayed */
  uint64_t n_asked;    /* exact costs that chains requested */
  double asked_cpu_s;  /* CPU time spent on them */
  double seconds;      /* wall time */
  GArray *curve; /* RaMcmcSample for each improvement of the best; owned */
} RaMcmcResult;

/**
 * ra_mcmc_search:
 * @costs: borrowed
 * @options: limits, seed and starting points
 * @out_result: (out): clear it with ra_mcmc_result_clear()
 *
 * Cost: 0.2 to 0.3 us per proposal, plus the costs that @costs computes for the
 * first time.
 */
void ra_mcmc_search(RaCostTable *costs, const RaMcmcOptions *options,
                    RaMcmcResult *out_result);
void ra_mcmc_result_clear(RaMcmcResult *result);

#endif
