/* Plans next to a plan: those that differ from it in one call.
 *
 *     g_autoptr(GArray) near = ra_neighbours(costs, &point, 2);
 *     for (guint i = 0; i < near->len; i++)
 *       use(&g_array_index(near, RaNeighbour, i).point);
 *
 * Who compares finalists needs more than the best plan, and the second best is
 * mostly the best but for one choice.  Only candidates whose costs are known
 * count: what a search has not asked for could not beat its bound.
 */
#ifndef RA_STUDY_CONTEST_NEIGHBOUR_H
#define RA_STUDY_CONTEST_NEIGHBOUR_H

#include "search/evaluate/evaluate.h"

typedef struct {
  RaPoint point;
  RaScore score; /* at call fidelity */
} RaNeighbour;

/**
 * ra_neighbours:
 * @costs: of the space of @point; borrowed
 * @point: a plan that fits
 * @n: how many are wanted
 *
 * Of every call each candidate is tried where another call begins, and at both
 * ends of the cluster.  Plans that take what @point or a better neighbour takes
 * are left out: they are the same with GPUs relabelled, or differ in nothing
 * that is waited for.
 *
 * Cost: a bound each, and a replay where that is among the best so far.
 *
 * Returns: (transfer full) (element-type RaNeighbour): the quickest first; at
 *   most @n
 */
GArray *ra_neighbours(RaCostTable *costs, const RaPoint *point, guint n);

/**
 * ra_neighbours_descend:
 * @point: (inout): a plan that fits; goes to its quickest neighbour while that
 *   is quicker
 * @residencies: models' parameters may also go elsewhere between calls, as
 *   limits allow
 * @out_score: (out): of it
 *
 * What is left of chance at the end of a search.  Cost: as many looks at all
 * neighbours as it takes, at most DESCENTS.
 *
 * Returns: how often it went
 */
guint ra_neighbours_descend(RaCostTable *costs, RaPoint *point,
                            gboolean residencies, RaScore *out_score);

#endif
