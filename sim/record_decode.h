/* The ops of a simulated generation, step by step.  Private to sim/record.c.
 *
 * The simulator adds decode steps up without looking at their ops; here they
 * are listed for a trace, each at the pace of its step: what a step takes
 * longer than its ops, launches, is spread evenly before them.  Generations in
 * static batches are listed, with weights in place; batches that are filled up
 * while they run, phases of rollouts and zero 3 are not.
 *
 * Typical sizes: steps x layers x 15 rows a replica: 10^4 to 10^7.
 */
#ifndef RA_SIM_RECORD_DECODE_H
#define RA_SIM_RECORD_DECODE_H

#include "sim/sim.h"
#include "traces/trace.h"

/**
 * ra_record_decode:
 * @sim: has run; borrowed
 * @graph: what it ran; borrowed
 * @estimator: that it ran with; borrowed
 * @add: called for every op, with a row of name, op, shape, times, FLOP, bytes
 *   and, of communication, stream
 */
typedef void (*RaRecordRow)(RaTaskId task, const RaTraceRow *row, void *data);

void ra_record_decode(const RaSim *sim, const RaTaskGraph *graph,
                      const RaEstimator *estimator, RaRecordRow add,
                      void *data);

#endif
