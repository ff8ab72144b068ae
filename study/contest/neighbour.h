/* Neighbours of a plan: plans that differ from it in one call.
 *
 *     g_autoptr(GArray) near = ra_neighbours(costs, &point, 2);
 *     for (guint i = 0; i < near->len; i++)
 *       use(&g_array_index(near, RaNeighbour, i).point);
 *
 * A comparison of finalists needs more than the best plan, and the second best
 * is mostly the best with one other choice.  Only candidates with known costs
 * count: a candidate whose cost the search did not compute has a bound that
 * cannot beat the best.
 */
#ifndef RA_STUDY_CONTEST_NEIGHBOUR_H
#define RA_STUDY_CONTEST_NEIGHBOUR_H

#include "search/evaluate/evaluate.h"

typedef struct {
  RaPoint point;
  RaScore score; /* at call fidelity */
} RaNeighbour;

/* Seconds by which plans of @space are compared: of a run, which chains
 * minimize, by its iterations; where calls lag behind training, of an iteration
 * between the first and the last, as the first rollouts have nothing to overlap
 * with. */
double ra_neighbours_value_s(const RaSpace *space, const RaScore *score);

/**
 * ra_neighbours:
 * @costs: of the space of @point; borrowed
 * @point: a plan that fits
 * @n: number of neighbours wanted
 *
 * Tries each candidate of every call at the places where another call begins,
 * and at both ends of the cluster.  Plans with the time of @point or of a
 * better neighbour are left out: they are the same with GPUs relabelled, or
 * differ off the critical path.
 *
 * Cost: a bound per plan, and a replay where that is among the best so far.
 *
 * Returns: (transfer full) (element-type RaNeighbour): the fastest first; at
 * most @n
 */
GArray *ra_neighbours(RaCostTable *costs, const RaPoint *point, guint n);

/**
 * ra_neighbours_descend:
 * @point: (inout): a plan that fits; moves to its fastest neighbour while that
 *   is faster
 * @residencies: residencies of models may change, too, within the limits
 * @out_score: (out): score of the result
 *
 * Removes what is left to chance at the end of a search.  Cost: one evaluation
 * of all neighbours per step, at most DESCENTS.
 *
 * Returns: number of steps
 */
guint ra_neighbours_descend(RaCostTable *costs, RaPoint *point,
                            gboolean residencies, RaScore *out_score);

#endif
