/* Folding: replicas that do the same work at the same times are expanded once.
 *
 * Replicas d and d' of a call are *twins*, and so are two lanes, if
 *
 *   1. d and d' work on sequences of the same lengths in the same order, in
 *      every iteration, and their stages are equally distant (a send stays
 *      within the node for both or for neither);
 *   2. stage s of d and stage s of d' run on the same classes of lanes, and
 *      where zero has sets of shards, d's set and d''s have equally many
 *      replicas of each class;
 *   3. twin lanes are in the same calls, and there in the same stage of twin
 *      replicas.
 *
 * Refinement finds the coarsest such classes: it starts with (1), then applies
 * (3) and (2) in turn until nothing splits.
 *
 * Proof that folding is exact.  Two tasks of the unfolded graph are twins if
 * they differ only in the replica and their replicas are twins.  They have the
 * same duration, by (1).  A task has three kinds of predecessors:
 *
 *   a. Those given by its position in its pipeline, equal for twins.
 *   b. Joins and collectives of its node.  These are one task for all replicas
 *      or, with sets of shards, one per set; twins' sets have the same classes
 *      by (2).
 *   c. The preceding task in the queue of each of its lanes.  Queues are
 *      static: a lane's queue has, call by call in program order, the stage's
 *      tasks of the one replica to which the lane belongs.  By (3) the k-th
 *      tasks of twin lanes' queues are twins.
 *
 * By (2), the sets of predecessors of twins are thus equal up to twins.  A task
 * begins at the maximum of the ends of its predecessors, and a maximum does not
 * depend on how often a value occurs.  By induction over the order of
 * expansion, twins begin and end at the same instants, to the last bit.  In the
 * folded graph one task represents its twins and waits for the representatives
 * of their predecessors, so by the same induction it has their times.  Totals
 * over GPUs are weighted sums without rounding (base/sum.h), so they are equal
 * too.
 *
 * Folding approximates nothing: with sampled lengths the replicas of a call
 * differ and only lanes fold.
 *
 * Cost: O((GPUs + sequences) x calls), plus O(lanes log lanes) for each of 2 or
 * 3 rounds of refinement; never O(tasks of the unfolded graph).
 */
#ifndef RA_GRAPH_EXPAND_FOLD_H
#define RA_GRAPH_EXPAND_FOLD_H

#include "graph/expand/builder.h"

/* Part of the plan that the graph will contain. */
typedef struct {
  uint32_t only_call;   /* this call, in `iteration`; RA_NONE: all calls */
  uint32_t iteration;   /* with only_call */
  gboolean whole_calls; /* call fidelity: tasks have no replicas */
} RaFoldScope;

/**
 * ra_fold_apply:
 * @builder: (inout): must not have a task or group yet
 * @scope: scope of the graph
 *
 * Replaces the lanes of @builder by classes of lanes, and sets the weights of
 * replicas.
 */
void ra_fold_apply(RaBuilder *builder, const RaFoldScope *scope);

#endif
