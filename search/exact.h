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
 * Each call first gets a number of GPUs, the longest call first.  In the same
 * order it then gets a candidate of that size and a place.  The bound of a node
 * is the maximum of two bounds:
 *
 *   sizes   (search/exact_bound.h) the minimum duration of each call on its
 *           number of GPUs, the order of calls that must share a GPU, and the
 *           GPU-seconds between any two moments.  Of the million ways to divide
 *           64 GPUs among six calls it leaves some hundreds.
 *   replay  replays the plan as far as it is placed.  An unplaced call costs
 *           the least of its candidates, runs on GPUs of its own and moves
 *           nothing.  A replay is monotone (graph/expand/task.h), so later
 *           placements can only add time.
 *
 * Unknown costs are replaced by a lower bound.  A candidate is simulated when
 * its bound alone would let it be the best, with others on several threads; a
 * reallocation is, when a plan's bound would.  Descents, too, simulate nothing
 * for a plan whose bound is too high.  Bounds for which there was no time when
 * the table was made are computed first.  A node is pruned when its bound is
 * not below the best plan so far, or when the memory that it certainly needs
 * exceeds some GPU.  Children are visited in the order of their bounds.  The
 * initial best plan is the best of the given points and of descents from random
 * ones.
 *
 * Certificate: when every node was explored or pruned, the best plan is optimal
 * (up to gap_frac if that is set). When the search stops early, bound_s is the
 * least bound of the unexplored nodes.
 *
 * Residencies are those requested: parameters are released, or kept.
 */
#ifndef RA_SEARCH_EXACT_H
#define RA_SEARCH_EXACT_H

#include "search/evaluate/evaluate.h"

typedef struct {
  double time_limit_s;   /* 0: none */
  double gap_frac;       /* proven to within this of the optimum; 0: optimal */
  guint n_descents;      /* descents from random starting points */
  uint64_t seed;         /* seed of the random starting points */
  guint n_threads;       /* that simulate calls; 0: as many as processors */
  const RaPoint *starts; /* nullable (n_starts) */
  guint n_starts;
  const uint8_t *residency; /* nullable (n_models): RELEASE or KEEP */
} RaExactOptions;

typedef struct {
  gboolean found; /* some plan fits */
  RaPoint point;
  RaScore score;      /* its exact score */
  double bound_s;     /* no plan that fits has a lower run_s */
  gboolean is_proven; /* no plan has a lower run_s, up to gap_frac */
  uint64_t n_bounded; /* nodes of the tree whose bound was computed */
  uint64_t n_scored;  /* plans that were replayed in full */
  double seconds;     /* wall time */
} RaExactResult;

/**
 * ra_exact_search:
 * @costs: borrowed
 * @options: limits, starting points and residencies
 * @out_result: (out): the best plan and its certificate
 *
 * Cost: one replay of a lane per node, 0.2 us, and 2 us for each node that
 * passes it.  The number of nodes is exponential in the number of calls in the
 * worst case.
 */
void ra_exact_search(RaCostTable *costs, const RaExactOptions *options,
                     RaExactResult *out_result);

#endif
