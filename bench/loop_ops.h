/* The ops of a run, kind by kind: what a profile says of them, and what they
 * took (run --ops; on a GPU by its events).
 */
#ifndef RA_BENCH_LOOP_OPS_H
#define RA_BENCH_LOOP_OPS_H

#include "bench/loop_plan.h"
#include "estimator/estimator.h"
#include "traces/trace.h"

/* Prints sums over the op rows of @run, and what its tasks take that no op of
 * theirs does. */
void loop_ops_print(const LoopCase *c, RaEstimator *estimator,
                    const RaTrace *run);

#endif
