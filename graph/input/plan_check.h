/* What a call's plan must satisfy beyond its single keys.
 *
 * Private to graph/input/plan.c: the call plan has its keys, this checks that
 * they fit together and fit the model, the mesh and the batch.
 *
 *     if (!ra_plan_check_call(plan, index, &error))
 *       return NULL;
 */
#ifndef RA_GRAPH_INPUT_PLAN_CHECK_H
#define RA_GRAPH_INPUT_PLAN_CHECK_H

#include "graph/input/plan.h"

/**
 * ra_plan_check_call:
 * @plan: with the keys of call @call read
 * @call: its index
 * @error: %RA_ERROR_INPUT `file:line: ...`: degrees that do not tile the
 *   mesh, heads or MLP width that do not divide by tp, more virtual stages
 *   than layers, an interleaved schedule that cannot be, a batch that does not
 *   divide, shards that do not divide dp
 *
 * Returns: %TRUE if the call can run
 */
gboolean ra_plan_check_call(const RaPlan *plan, uint32_t call, GError **error);

#endif
