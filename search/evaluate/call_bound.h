/* Lower bound of the time of an isolated call, without a simulation.
 *
 * Where lengths are fixed, all micro-batches are alike.  f and b are the
 * forward and backward pass of one micro-batch through a stage, c the send to
 * the next stage, and N the number of micro-batches:
 *
 *     inference   the sum of (f + c) over all stages, plus (N - 1) times the
 *                 greatest f
 *     train       for a mini-batch of M micro-batches, the maximum over the
 *                 stages i of M (f + b) of stage i plus the sum of
 *                 (f + b + 2 c) of the stages before it; then the reduction of
 *                 the first stage's last gradients, which end the pass, their
 *                 clipping, the optimizer step and the gather of parameters
 *     generate    prefill as inference; then the maximum of two terms: all
 *                 steps of one stage, in closed form, and (R - 1) rounds of
 *                 one group through all stages
 *
 * Where lengths are sampled, the bound is that of one replica, as a call ends
 * when all replicas have ended.  Its micro-batches are those that the seed
 * samples:
 *
 *     inference   per stage all of its forwards, and the shortest through each
 *                 other stage
 *     train       per mini-batch the replica with most tokens: for the greatest
 *                 stage all of its passes, and the shortest through the stages
 *                 before it; then what follows a mini-batch
 *     generate    the prefill of static batches as inference; then, for the
 *                 greatest stage, the weights once a step and the keys and
 *                 values of all steps at the peak rate of the memory.  Steps
 *                 are those of the longest sequence, or as many as the engine's
 *                 most sequences or blocks force.  Of sequences that move
 *                 between replicas: the steps of the longest, or all keys and
 *                 values shared out evenly
 *
 * With zero 3 the bound is at least the time in a stage's queue of collectives.
 * A pass that is split takes at least as long as a whole one; possible rounding
 * errors are subtracted.  Interference, reductions between passes and waits for
 * sends can only add time.
 *
 *     double bound_s = ra_call_bound_s(estimator, memory, call, load, &work);
 */
#ifndef RA_SEARCH_EVALUATE_CALL_BOUND_H
#define RA_SEARCH_EVALUATE_CALL_BOUND_H

#include "estimator/estimator.h"
#include "graph/expand/sequence.h"
#include "graph/memory/memory_peak.h"

/**
 * ra_call_bound_s:
 * @memory: of a plan with @call
 * @call: a call with a model
 * @load: load of the call
 * @sets: (array length=n_sets): sequences of the call in each iteration for
 *   which it is costed; not read where lengths are fixed
 * @out_n_tasks: (out): approximate number of tasks in its simulation
 *
 * Cost: the estimate of one pass per stage.
 *
 * Returns: seconds of all parts, the least of the iterations; 0 where nothing
 * is known, as of generation that begins more than is wanted
 */
double ra_call_bound_s(const RaEstimator *estimator, const RaMemory *memory,
                       uint32_t call, const RaCallLoad *load,
                       const RaSequenceSet *const *sets, guint n_sets,
                       double *out_n_tasks);

#endif
