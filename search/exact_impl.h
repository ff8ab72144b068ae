/* Private parts of exact search; only search/exact*.c include this. */
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
  gboolean is_late; /* the time limit has passed */
  double open_s;    /* least bound of the nodes unexplored at that time */
  RaRng rng;
} RaExact;

/* Wall time since the search began. */
double ra_exact_elapsed_s(const RaExact *s);

/* Records a replayed plan if it is the best so far. */
void ra_exact_take(RaExact *s, const RaPoint *point, const RaScore *score);

/* Bound below which a node is worth exploring. */
double ra_exact_limit_s(const RaExact *s);

/* --- search/exact_tree.c --- */

/* Explores all plans with @root's residencies; calls of @root have no place. */
void ra_exact_explore(RaExact *s, const RaPoint *root);

#endif
