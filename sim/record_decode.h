/* Ops of a simulated generation as trace rows, step by step.  Private to
 * sim/record.c.
 *
 * The simulator sums decode steps without their ops; this file lists the ops
 * for a trace.  The time of a step beyond its ops, which is launches, is spread
 * evenly before the ops.  Only generations with static batches and unsharded
 * weights are listed; continuous batching, phases of rollouts and zero 3 are
 * not.
 *
 * Typical sizes: steps x layers x 15 rows per replica: 10^4 to 10^7.
 */
#ifndef RA_SIM_RECORD_DECODE_H
#define RA_SIM_RECORD_DECODE_H

#include "sim/sim.h"
#include "traces/trace.h"

/**
 * ra_record_decode:
 * @sim: has run; borrowed
 * @graph: its graph; borrowed
 * @estimator: estimator of the run; borrowed
 * @add: called for every op, with a row of name, op, shape, times, FLOP, bytes
 *   and, for communication, stream
 */
typedef void (*RaRecordRow)(RaTaskId task, const RaTraceRow *row, void *data);

void ra_record_decode(const RaSim *sim, const RaTaskGraph *graph,
                      const RaEstimator *estimator, RaRecordRow add,
                      void *data);

#endif
