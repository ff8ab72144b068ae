/* Inside the search by chains; only search/mcmc*.c include this. */
#ifndef RA_SEARCH_MCMC_IMPL_H
#define RA_SEARCH_MCMC_IMPL_H

#include "search/mcmc.h"
#include "search/propose.h"

/* Rounds of the shortest quench: down to a local optimum of a small space. */
#define RA_MCMC_QUENCH_ROUNDS 2

typedef struct {
  RaEvaluator *evaluator; /* owned */
  RaRng rng;
  double temperature_s;
  double now_s;  /* penalised time of the plan in the last lane */
  RaPoint point; /* that plan, between rounds */
  gboolean found;
  RaPoint best; /* that fits, of this chain */
  double best_s;
  double learn_s; /* what could take less is asked for: no more than best_s */
  gboolean hopes; /* some plan of this round could be the best: */
  RaPoint hope;   /* the quickest, if its calls take what their bounds say */
  double hope_s;
  guint age, span;  /* a quench: rounds so far, and in all */
  guint n_quenches; /* before this one */
  guint n_lanes;    /* that are worth replaying at once */
  uint64_t n_steps, n_replayed;
} RaMcmcChain;

typedef struct {
  RaCostTable *costs;
  const RaSpace *space;
  const RaMcmcOptions *options;
  RaProposer *proposer; /* owned */
  RaMcmcChain *chains;  /* (n_chains): the ladder, the hottest first, then those
                     that quench; owned */
  guint n_chains, n_ladder;
  gint next;     /* atomic: chain of the round that no thread has taken */
  gint64 end_us; /* of the time limit; 0: none */
} RaMcmcSearch;

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
