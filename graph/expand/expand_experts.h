/* Replicas that share experts: an all-to-all in every layer holds each of them
 * to the slowest.
 *
 * Private to graph/.  A replica's own time of a micro-batch is in its tasks,
 * the exchange as if all had as many tokens; here the replicas of an
 * expert-parallel group meet after every task of their schedule, so that a
 * micro-batch takes as long as the largest of the group's, not as its own.
 * Layers are not told apart: within a task replicas are not held up.  Decode
 * steps of different replicas do not meet: their sequences are as many, but
 * where some end sooner the others are taken to go on alone.
 *
 *     ra_experts_meet(context, pipelines);
 */
#ifndef RA_GRAPH_EXPAND_EXPAND_EXPERTS_H
#define RA_GRAPH_EXPAND_EXPAND_EXPERTS_H

#include "graph/expand/expand_call.h"

/**
 * ra_experts_meet:
 * @pipelines: (array length=dp): of one mini-batch or part; NULL: folded into
 *   another, with which it is equally far by itself
 *
 * Adds the edges of the meetings; none where a replica has all experts within
 * its cp ranks.
 *
 * Cost: O(tasks of the pipelines x replicas of a group).
 */
void ra_experts_meet(RaCallContext *context, RaPipeline *const *pipelines);

#endif
