/* A lower bound of what a call costs by itself, without simulating it.
 *
 * Lengths fixed, so that all micro-batches are alike.  A stage computes one
 * after the other what it computes, and a token passes through all stages:
 *
 *     inference, train   N x most of a stage of (forward + backward), N
 *                        micro-batches in all
 *     generate           prefill likewise, then (R - 1) steps, each at least
 *                        that of the first one: the most of a stage for all
 *                        groups, or one group through all stages
 *
 * Of passes only what they compute counts, which does not change with how they
 * are cut.  What rounding could add is taken off.
 *
 *     double bound_s = ra_call_bound_s(estimator, memory, call, load, &work);
 */
#ifndef RA_SEARCH_CALL_BOUND_H
#define RA_SEARCH_CALL_BOUND_H

#include "estimator/estimator.h"
#include "graph/memory_peak.h"

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
