/* The ops of a run by kind: predicted by a profile, and measured (run --ops; on
 * a GPU by its events).
 */
#ifndef RA_BENCH_LOOP_OPS_H
#define RA_BENCH_LOOP_OPS_H

#include "bench/loop_plan.h"
#include "estimator/estimator.h"
#include "traces/trace.h"

/* Prints sums over the op rows of @run, and the time of its tasks that is not
 * that of their ops. */
void loop_ops_print(const LoopCase *c, RaEstimator *estimator,
                    const RaTrace *run);

#endif
