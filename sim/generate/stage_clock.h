/* Clock of pipeline stages through which groups of sequences circulate.
 *
 * Private to sim/generate/decode_pipe.c, serve_pipe.c and service.c.  A visit v
 * of stage s has the times
 *
 *     arrive(v, 0) = leave of the same group's preceding lap
 *     arrive(v, s) = sent(v, s - 1)
 *     begin(v, s)  = max(arrive(v, s), leave of the preceding visit of s)
 *     leave(v, s)  = begin + duration of the visit
 *     sent(v, s)   = max(leave(v, s), sent of the preceding visit) + send
 *
 * A send thus occupies the link to the next stage but no stage.  A stage's wait
 * is exposed communication while its activations arrive or its last ones are
 * sent; any other wait is bubble.  Time is charged to the parts in which it
 * falls.
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

/* State of a stage between two visits. */
typedef struct {
  double free_s;  /* end of its last visit */
  RaInterval out; /* last interval in which the link to the next stage is busy
                     without a pause */
} RaStageState;

typedef struct {
  uint32_t n_stages;
  RaStageState *stages; /* (n_stages) owned */
  uint32_t part;        /* number of parts that have ended */
  double *part_end_s;   /* (n_parts) the caller's; known below `part` */
  RaCost *part_cost;    /* (n_parts) the caller's, zero at first */
} RaStageClock;

/* Times of a lap on one stage. */
typedef struct {
  double begin_s, leave_s;
  double passed_s; /* arrival at the next stage; last stage: leave_s */
} RaStageVisit;

void ra_stage_clock_init(RaStageClock *clock, uint32_t n_stages,
                         double *part_end_s, RaCost *part_cost);

/**
 * ra_stage_clock_lap:
 * @ready_s: earliest time at which the lap may enter stage 0
 * @costs: (array length=n_stages): costs of the visits
 * @visits: (array length=n_stages) (nullable) (out): times of the visits
 *
 * Adds a lap.  Laps come in the order in which they enter stage 0.
 *
 * Cost: O(stages).
 *
 * Returns: time at which the lap leaves the last stage
 */
double ra_stage_clock_lap(RaStageClock *clock, double ready_s,
                          const RaCost *costs, double send_s,
                          RaStageVisit *visits);

/* Closes the clock after all @n_parts have ended: adds the stages' last waits,
 * divides sums by the number of stages, and frees the clock's memory. */
void ra_stage_clock_close(RaStageClock *clock, uint32_t n_parts);

#endif
