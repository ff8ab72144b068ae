/* Inside the search by chains; only search/mcmc*.c include this. */
#ifndef RA_SEARCH_MCMC_IMPL_H
#define RA_SEARCH_MCMC_IMPL_H

#include "search/mcmc.h"
#include "search/propose.h"

/* Rounds of the shortest quench: down to a local optimum of a small space. */
#define RA_MCMC_QUENCH_ROUNDS 2

/* A chain: in a round it is a lane of its group's evaluator. */
typedef struct {
  RaRng rng;
  double temperature_s;
  double now_s;     /* penalised time of its plan */
  RaPoint point;    /* that plan, between rounds */
  guint age, span;  /* a quench: rounds so far, and in all */
  guint n_quenches; /* before this one */
} RaMcmcChain;

/* Chains side by side: chain k n_groups + i of the search is lane k of group i,
 * so each has hot and cold ones. */
typedef struct {
  RaEvaluator *evaluator; /* owned */
  RaMcmcChain *chains[RA_LANES];
  guint n;        /* of them */
  gboolean found; /* by any of them */
  RaPoint best;   /* that fits */
  double best_s;
  double learn_s; /* what could take less is asked for: no more than best_s */
  gboolean hopes; /* some plan since the last that was asked for could be the
                     best: */
  RaPoint hope;   /* the quickest, if its calls take what their bounds say */
  double hope_s;
  double asks_from; /* proposals from which on what takes long is asked */
  double owes;      /* proposals in the time of what is being asked */
  guint pending;    /* bits of lanes with a proposal that passed its bound */
  RaProposal before[RA_LANES]; /* what undoes it */
  double limits[RA_LANES];     /* what it may take */
  RaScore scores[RA_LANES];
  uint64_t n_steps, n_replayed; /* of all its chains */
  uint64_t n_asked;
  double asked_cpu_s; /* of the threads that it ran on */
} RaMcmcGroup;

typedef struct {
  RaCostTable *costs;
  const RaSpace *space;
  const RaMcmcOptions *options;
  RaProposer *proposer; /* owned */
  RaMcmcChain *chains;  /* (n_chains): the ladder, the hottest first, then those
                     that quench; owned */
  RaMcmcGroup *groups;  /* (n_groups), owned */
  guint n_chains, n_ladder, n_groups;
  gint next;     /* atomic: group of the round that no thread has taken */
  gint64 end_us; /* of the time limit; 0: none */
} RaMcmcSearch;

/* --- search/mcmc_meet.c --- */

/* Before anything is asked: what process 0 has as number of chains. */
guint ra_mcmc_meet_first(RaMcmcSearch *s, guint n_chains);

/* Whether group @i is this process's. */
gboolean ra_mcmc_is_mine(const RaMcmcSearch *s, guint i);

/* After a round: the groups of all processes, and what they asked.  @seconds:
 * so far; returns those of process 0. */
double ra_mcmc_meet(RaMcmcSearch *s, double seconds);

/* --- search/mcmc_group.c --- */

/* What changes of the plan of @group's first chain cost, the median; and its
 * time. */
double ra_mcmc_probe(const RaMcmcSearch *s, RaMcmcGroup *group,
                     double *out_now_s);

/* The group's chains go on for @n_steps proposals in all, or until it is time.
 */
void ra_mcmc_run_group(const RaMcmcSearch *s, RaMcmcGroup *group,
                       uint64_t n_steps);

/* --- search/mcmc_ladder.c --- */

/* Some plan, with the residencies that were asked. */
void ra_mcmc_random_point(const RaMcmcSearch *s, RaRng *rng, RaPoint *out);

/* A geometric ladder from @hottest_s to the coldest for plans of @now_s, which
 * a quench goes down. */
void ra_mcmc_set_ladder(RaMcmcSearch *s, double hottest_s, double now_s);

/* Neighbours on the ladder exchange plans. */
void ra_mcmc_exchange(RaMcmcSearch *s, RaRng *rng);

/* Quenches that have ended tell the coldest of the ladder and begin anew. */
void ra_mcmc_quench(RaMcmcSearch *s, RaRng *rng);

#endif
