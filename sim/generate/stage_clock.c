/* Clock of pipeline stages: laps, exposed sends, bubbles. */
#include "config.h"

#include "sim/generate/stage_clock.h"

void
ra_stage_clock_init(RaStageClock *clock, uint32_t n_stages, double *part_end_s,
                    RaCost *part_cost)
{
  *clock = (RaStageClock){n_stages, g_new0(RaStageState, n_stages), 0,
                          part_end_s, part_cost};
}

/* Charges @cost, spread evenly over [begin, end), to the parts it falls in.  A
 * visit that overtakes the end of a part began before it on an earlier stage.
 */
static void
charge(RaStageClock *clock, double begin_s, double end_s, const RaCost *cost)
{
  uint32_t part = clock->part;
  double rest_s = end_s;

  if (end_s <= begin_s)
    return;
  for (;;) {
    double cut_s = part > 0 ? clock->part_end_s[part - 1] : 0;
    double frac = (rest_s - MAX(begin_s, cut_s)) / (end_s - begin_s);
    RaCost *sum = &clock->part_cost[part];

    if (frac > 0) {
      sum->compute_s += cost->compute_s * frac;
      sum->comm_s += cost->comm_s * frac;
      sum->host_s += cost->host_s * frac;
      rest_s = cut_s;
    }
    if (part == 0 || begin_s >= cut_s)
      return;
    part--;
  }
}

/* Charges the parts of the wait [free, begin) in which the stage sends its
 * visits so far or receives the present one.  Both links' busy periods before
 * those given ended by the time at which the stage got free. */
static void
charge_wait(RaStageClock *clock, const RaStageState *stage, double begin_s,
            RaInterval in)
{
  RaInterval first = stage->out, second = in;

  if (in.begin_s < stage->out.begin_s) {
    first = in;
    second = stage->out;
  }
  second.begin_s = MAX(second.begin_s, first.end_s);
  first.begin_s = MAX(first.begin_s, stage->free_s);
  second.begin_s = MAX(second.begin_s, stage->free_s);
  first.end_s = MIN(first.end_s, begin_s);
  second.end_s = MIN(second.end_s, begin_s);
  charge(clock, first.begin_s, first.end_s,
         &(RaCost){.comm_s = first.end_s - first.begin_s});
  charge(clock, second.begin_s, second.end_s,
         &(RaCost){.comm_s = second.end_s - second.begin_s});
}

double
ra_stage_clock_lap(RaStageClock *clock, double ready_s, const RaCost *costs,
                   double send_s, RaStageVisit *visits)
{
  RaInterval in = {0, 0};

  for (uint32_t s = 0; s < clock->n_stages; s++) {
    RaStageState *stage = &clock->stages[s];
    double arrive_s = s == 0 ? ready_s : in.end_s;
    double begin_s = MAX(arrive_s, stage->free_s);
    double leave_s = begin_s + costs[s].total_s;

    charge_wait(clock, stage, begin_s, in);
    charge(clock, begin_s, leave_s, &costs[s]);
    stage->free_s = leave_s;
    if (s + 1 < clock->n_stages) {
      /* Where a send outlasts a step, the link still carries the one before. */
      if (leave_s > stage->out.end_s)
        stage->out.begin_s = stage->out.end_s = leave_s;
      stage->out.end_s += send_s;
      in = stage->out;
    } else {
      ready_s = leave_s;
    }
    if (visits)
      visits[s] = (RaStageVisit){begin_s, leave_s,
                                 s + 1 < clock->n_stages ? in.end_s : leave_s};
  }
  return ready_s;
}

void
ra_stage_clock_close(RaStageClock *clock, uint32_t n_parts)
{
  double end_s = clock->part_end_s[n_parts - 1];

  for (uint32_t s = 0; s < clock->n_stages; s++)
    charge_wait(clock, &clock->stages[s], end_s, (RaInterval){end_s, end_s});
  for (uint32_t part = 0; part < n_parts; part++) {
    RaCost *cost = &clock->part_cost[part];

    cost->compute_s /= clock->n_stages;
    cost->comm_s /= clock->n_stages;
    cost->host_s /= clock->n_stages;
    cost->total_s = cost->compute_s + cost->comm_s + cost->host_s;
  }
  g_clear_pointer(&clock->stages, g_free);
}
