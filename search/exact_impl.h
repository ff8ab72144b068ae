/* Inside exact search; only search/exact*.c include this. */
#ifndef RA_SEARCH_EXACT_IMPL_H
#define RA_SEARCH_EXACT_IMPL_H

#include "base/rng.h"
#include "search/exact.h"

typedef struct {
  RaCostTable *costs;
  const RaSpace *space;
  const RaExactOptions *options;
  RaExactResult *result;
  RaEvaluator *evaluator;
  uint32_t n_calls;
  uint32_t order[RA_POINT_MAX]; /* calls with a choice, the longest first */
  uint32_t n_order;
  gint64 begin_us;
  gboolean is_late; /* the time is over */
  double open_s;    /* least bound of what was not explored then */
  RaRng rng;
} RaExact;

/* Since the search began. */
double ra_exact_elapsed_s(const RaExact *s);

/* A plan was replayed: perhaps the best so far. */
void ra_exact_take(RaExact *s, const RaPoint *point, const RaScore *score);

/* What a node must be below to be worth it. */
double ra_exact_limit_s(const RaExact *s);

/* --- search/exact_tree.c --- */

/* All plans that have @root's residencies; its calls are nowhere. */
void ra_exact_explore(RaExact *s, const RaPoint *root);

#endif
