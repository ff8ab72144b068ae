/* Private parts of the MCMC search; only search/mcmc*.c include this. */
#ifndef RA_SEARCH_MCMC_IMPL_H
#define RA_SEARCH_MCMC_IMPL_H

#include "search/mcmc.h"
#include "search/propose.h"

/* Rounds of the shortest quench: enough for a local optimum of a small space.
 */
#define RA_MCMC_QUENCH_ROUNDS 2

/* A chain; during a round it is a lane of its group's evaluator. */
typedef struct {
  RaRng rng;
  double temperature_s;
  double now_s;     /* penalised time of its plan */
  RaPoint point;    /* its plan, valid between rounds */
  guint age, span;  /* of a quench: rounds so far, and in all */
  guint n_quenches; /* quenches before the present one */
} RaMcmcChain;

/* A group of chains.  Chain k n_groups + i of the search is lane k of group i,
 * so each group has hot and cold chains. */
typedef struct {
  RaEvaluator *evaluator; /* owned */
  RaMcmcChain *chains[RA_LANES];
  guint n;        /* chains of the group */
  gboolean found; /* one of its chains found a plan that fits */
  RaPoint best;   /* the best plan that fits */
  double best_s;
  double learn_s; /* exact costs are computed for plans whose bound is below; at
                     most best_s */
  gboolean hopes; /* a plan since the last exact evaluation could be the best:
                     the candidate */
  RaPoint hope;   /* the candidate: the plan with the least bound */
  double hope_s;
  double asks_from; /* value of n_steps from which expensive exact costs are
                       computed again */
  double owes;      /* cost of the exact evaluation in progress, in proposals */
  guint pending;    /* bits of lanes whose proposal passed its bound */
  RaProposal before[RA_LANES]; /* change that undoes the proposal */
  double limits[RA_LANES];     /* greatest time at which it is accepted */
  RaScore scores[RA_LANES];
  uint64_t n_steps, n_replayed; /* sums over all its chains */
  uint64_t n_asked;
  double asked_cpu_s; /* CPU time of the exact evaluations, in any thread */
} RaMcmcGroup;

typedef struct {
  RaCostTable *costs;
  const RaSpace *space;
  const RaMcmcOptions *options;
  RaProposer *proposer; /* owned */
  RaMcmcChain *chains;  /* (n_chains): the ladder, the hottest first, then the
                           quenching chains; owned */
  RaMcmcGroup *groups;  /* (n_groups), owned */
  guint n_chains, n_ladder, n_groups;
  gint64 end_us; /* monotonic time of the limit; 0: none */
} RaMcmcSearch;

/* --- search/mcmc_meet.c --- */

/* Shares process 0's number of chains, before any cost is computed. */
guint ra_mcmc_meet_first(RaMcmcSearch *s, guint n_chains);

/* TRUE if group @i belongs to this process. */
gboolean ra_mcmc_is_mine(const RaMcmcSearch *s, guint i);

/* Exchanges the groups of all processes and the costs that they computed, after
 * a round.  @seconds: elapsed so far; returns that of process 0. */
double ra_mcmc_meet(RaMcmcSearch *s, double seconds);

/* --- search/mcmc_group.c --- */

/* Median cost of changes of the plan of @group's first chain; @out_now_s: time
 * of that plan. */
double ra_mcmc_probe(const RaMcmcSearch *s, RaMcmcGroup *group,
                     double *out_now_s);

/* Runs the group's chains for @n_steps proposals in all, or until the search
 * must stop. */
void ra_mcmc_run_group(const RaMcmcSearch *s, RaMcmcGroup *group,
                       uint64_t n_steps);

/* --- search/mcmc_ladder.c --- */

/* A random plan with the requested residencies. */
void ra_mcmc_random_point(const RaMcmcSearch *s, RaRng *rng, RaPoint *out);

/* Sets geometric temperatures from @hottest_s to the coldest for plans of
 * @now_s; quenches go down the same range. */
void ra_mcmc_set_ladder(RaMcmcSearch *s, double hottest_s, double now_s);

/* Exchanges plans between neighbours on the ladder. */
void ra_mcmc_exchange(RaMcmcSearch *s, RaRng *rng);

/* Passes the results of finished quenches to the coldest chain of the ladder
 * and restarts them. */
void ra_mcmc_quench(RaMcmcSearch *s, RaRng *rng);

#endif
