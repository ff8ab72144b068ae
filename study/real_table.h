/* What ReaL's estimator takes for the calls of a plan, as a table.
 *
 *     RaTable *table = ra_real_table_new(setup->plan, setup->estimator);
 *
 * A row a call with a model: its strategy, what it takes, and what it holds of
 * a GPU's memory by ReaL's account (estimator/real.h).
 */
#ifndef RA_STUDY_REAL_TABLE_H
#define RA_STUDY_REAL_TABLE_H

#include "base/table.h"
#include "estimator/estimator.h"
#include "graph/input/plan.h"

/* (transfer full): "real_calls": call, strategy, time_s, memory_bytes. */
RaTable *ra_real_table_new(const RaPlan *plan, const RaEstimator *estimator);

#endif
