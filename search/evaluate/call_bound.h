/* A lower bound of what a call costs by itself, without simulating it.
 *
 * Lengths fixed, so that all micro-batches are alike.  With f and b the passes
 * of one through a stage, c the sends to the next, p stages:
 *
 *     inference   sum of (f + c) of all stages, (N - 1) x most f, N
 *                 micro-batches in all
 *     train       a mini-batch of M: the most of a stage i of M (f + b) of it
 *                 and sum of (f + b + 2 c) of the stages before it; then what
 *                 the first stage's last gradients, which end the pass, are
 *                 reduced, clipped and stepped in, and parameters gathered
 *     generate    prefill as inference; then the most of a stage, all its steps
 *                 in closed form, and of one group, (R - 1) times through all
 *                 stages
 *
 * and with zero 3 no less than what stands in a stage's queue of collectives.
 * Passes that are cut take no less than whole; what rounding could add is taken
 * off.  Interference, reductions between passes, waits for sends only add.
 *
 *     double bound_s = ra_call_bound_s(estimator, memory, call, load, &work);
 */
#ifndef RA_SEARCH_EVALUATE_CALL_BOUND_H
#define RA_SEARCH_EVALUATE_CALL_BOUND_H

#include "estimator/estimator.h"
#include "graph/memory/memory_peak.h"

/**
 * ra_call_bound_s:
 * @memory: of a plan with @call
 * @call: with a model
 * @load: of the call
 * @out_n_tasks: (out): about how many tasks simulating it takes
 *
 * Cost: the estimate of a pass each stage.
 *
 * Returns: seconds of all parts; 0 where lengths are drawn
 */
double ra_call_bound_s(const RaEstimator *estimator, const RaMemory *memory,
                       uint32_t call, const RaCallLoad *load,
                       double *out_n_tasks);

#endif
