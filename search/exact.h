/* Exact search: branch and bound over the points of a space.
 *
 *     RaExactOptions options = {.time_limit_s = 60};
 *     RaExactResult result;
 *     ra_exact_search(costs, &options, &result);
 *     if (result.is_proven)
 *       no point that fits runs in less than result.score.run_s
 *     else
 *       none in less than result.bound_s
 *
 * First each call gets a number of GPUs, the longest call first; then, in the
 * same order, a candidate of that size and a place.  The bound of a node is the
 * most of
 *
 *   sizes    search/exact_bound.h: how long calls take at least on so many
 *            GPUs, the order of those that cannot but share some, and the
 *            GPU-seconds between any two moments.  Of a million ways to divide
 *            64 GPUs among six calls it leaves some hundred
 *   replay   of the plan as far as it is placed: a call that is not takes the
 *            least that a candidate of it does, on GPUs of its own, and moves
 *            nothing.  A replay is monotone (graph/expand/task.h): whatever is
 *            placed
 *            later can only add
 *
 * and of what was never asked before a bound counts: a candidate is simulated
 * when its bound alone would let it be the best, a reallocation when a plan
 * would.  A node is left out where its bound is not below the best plan so far,
 * or some GPU is too small for what certainly stands on it.  Children are taken
 * in the order of their bounds.  The start is the best of the given points and
 * of descents from random ones.
 *
 * The certificate: with everything explored or left out the best plan is
 * optimal (up to gap_frac, if that is asked); stopped early, bound_s is the
 * least bound of what was not explored.
 *
 * Residencies are those asked: parameters are released, or kept.
 */
#ifndef RA_SEARCH_EXACT_H
#define RA_SEARCH_EXACT_H

#include "search/evaluate/evaluate.h"

typedef struct {
  double time_limit_s;   /* 0: none */
  double gap_frac;       /* proven to within this of the optimum; 0: optimal */
  guint n_descents;      /* random starts */
  uint64_t seed;         /* of these */
  const RaPoint *starts; /* nullable (n_starts) */
  guint n_starts;
  const uint8_t *residency; /* nullable (n_models): RELEASE or KEEP */
} RaExactOptions;

typedef struct {
  gboolean found; /* some plan fits */
  RaPoint point;
  RaScore score;      /* of it, exact */
  double bound_s;     /* no plan that fits has a lower run_s */
  gboolean is_proven; /* score.run_s is the least, up to gap_frac */
  uint64_t n_bounded; /* nodes of the tree that were bounded */
  uint64_t n_scored;  /* plans that were replayed in full */
  double seconds;     /* wall */
} RaExactResult;

/**
 * ra_exact_search:
 * @costs: borrowed
 * @options: what and how long
 * @out_result: (out)
 *
 * Cost: a replay of a lane each node, 0.2 us, and 2 us of those that pass it;
 * the number of nodes is exponential in the calls at worst.
 */
void ra_exact_search(RaCostTable *costs, const RaExactOptions *options,
                     RaExactResult *out_result);

#endif
