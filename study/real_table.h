/* Table of ReaL's estimates for the calls of a plan.
 *
 *     RaTable *table = ra_real_table_new(setup->plan, setup->estimator);
 *
 * It has a row per call with a model: its strategy, its time, and the memory of
 * a GPU by ReaL's account (estimator/real.h).
 */
#ifndef RA_STUDY_REAL_TABLE_H
#define RA_STUDY_REAL_TABLE_H

#include "base/table.h"
#include "estimator/estimator.h"
#include "graph/input/plan.h"

/* (transfer full): "real_calls": call, strategy, time_s, memory_bytes. */
RaTable *ra_real_table_new(const RaPlan *plan, const RaEstimator *estimator);

#endif
