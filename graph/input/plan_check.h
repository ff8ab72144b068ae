/* Consistency check of a call's plan.
 *
 * It is private to graph/input/plan.c.  It checks that the keys of a call fit
 * together and fit the model, the mesh and the batch.
 *
 *     if (!ra_plan_check_call(plan, index, &error))
 *       return NULL;
 */
#ifndef RA_GRAPH_INPUT_PLAN_CHECK_H
#define RA_GRAPH_INPUT_PLAN_CHECK_H

#include "graph/input/plan.h"

/**
 * ra_plan_check_call:
 * @plan: the keys of call @call have been read
 * @call: its index
 * @error: %RA_ERROR_INPUT `file:line: ...`: degrees that do not tile the
 *   mesh, heads or MLP width that do not divide by tp, more virtual stages
 *   than layers, an impossible interleaved schedule, a batch that does not
 *   divide, shards that do not divide dp
 *
 * Returns: %TRUE if the call can run
 */
gboolean ra_plan_check_call(const RaPlan *plan, uint32_t call, GError **error);

#endif
