/* Synchronization of replicas that share experts: the all-to-all of every layer
 * makes each replica wait for the slowest.
 *
 * Private to graph/.  The tasks of a replica have its own time of a
 * micro-batch, with the exchange as if all replicas had equally many tokens.
 * This file adds a barrier of an expert-parallel group after every task of its
 * replicas' schedules, so that a micro-batch takes the time of the group's
 * largest.
 *
 * Simplifications: within a task, layer by layer, replicas do not wait.  Decode
 * steps of different replicas do not wait for each other: they begin with
 * equally many sequences, and where some end earlier the others continue alone.
 *
 *     ra_experts_meet(context, pipelines);
 */
#ifndef RA_GRAPH_EXPAND_EXPAND_EXPERTS_H
#define RA_GRAPH_EXPAND_EXPAND_EXPERTS_H

#include "graph/expand/expand_call.h"

/**
 * ra_experts_meet:
 * @pipelines: (array length=dp): pipelines of one mini-batch or part; NULL:
 *   folded into another one, which has the same times
 *
 * Adds the edges of the barriers; none if a replica has all experts within its
 * cp ranks.
 *
 * Cost: O(tasks of the pipelines x replicas of a group).
 */
void ra_experts_meet(RaCallContext *context, RaPipeline *const *pipelines);

#endif
