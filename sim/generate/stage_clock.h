/* The stages of a pipeline that groups of sequences go round, by the clock.
 *
 * Internal to sim/generate/decode_pipe.c and sim/generate/serve_pipe.c.  A
 * visit v of a stage s
 *
 *     arrive(v, 0) = when the lap before it of the same group had left
 *     arrive(v, s) = sent(v, s - 1)
 *     begin(v, s)  = max(arrive(v, s), leave of the visit before on s)
 *     leave(v, s)  = begin + what the visit takes
 *     sent(v, s)   = max(leave(v, s), sent of the visit before) + send
 *
 * so a send holds the link to the next stage but no stage.  Where a stage waits
 * while its activations come in or its last ones go out, that is exposed
 * communication; any other wait is bubble.  Time is charged to the parts that
 * it falls in.
 *
 *     ra_stage_clock_init(&clock, n_stages, part_end_s, part_cost);
 *     left_s = ra_stage_clock_lap(&clock, ready_s, costs, send_s, visits);
 *     clock.part_end_s[clock.part++] = left_s;   where a part ends
 *     ra_stage_clock_close(&clock, n_parts);
 */
#ifndef RA_SIM_GENERATE_STAGE_CLOCK_H
#define RA_SIM_GENERATE_STAGE_CLOCK_H

#include "estimator/estimator.h"

typedef struct {
  double begin_s, end_s;
} RaInterval;

/* A stage, between two visits. */
typedef struct {
  double free_s;  /* its last visit has left */
  RaInterval out; /* since when, and until when, the link to the next one is
                     busy without a pause */
} RaStageState;

typedef struct {
  uint32_t n_stages;
  RaStageState *stages; /* (n_stages) owned */
  uint32_t part;        /* parts that have ended */
  double *part_end_s;   /* (n_parts) the caller's; known below `part` */
  RaCost *part_cost;    /* (n_parts) the caller's, zero at first */
} RaStageClock;

/* Of a lap on one stage. */
typedef struct {
  double begin_s, leave_s;
  double passed_s; /* the next stage has it; last stage: leave_s */
} RaStageVisit;

void ra_stage_clock_init(RaStageClock *clock, uint32_t n_stages,
                         double *part_end_s, RaCost *part_cost);

/**
 * ra_stage_clock_lap:
 * @costs: (array length=n_stages): of the visits
 * @visits: (array length=n_stages) (nullable) (out)
 *
 * Laps come in the order in which they enter stage 0.
 *
 * Returns: when it leaves the last stage.   Cost: O(stages).
 */
double ra_stage_clock_lap(RaStageClock *clock, double ready_s,
                          const RaCost *costs, double send_s,
                          RaStageVisit *visits);

/* All @n_parts have ended: the stages' last waits, sums made means over the
 * stages, and the clock's memory given back. */
void ra_stage_clock_close(RaStageClock *clock, uint32_t n_parts);

#endif
