/* Room for the names of calls: blocks of one call on adjacent lanes. */
#include "config.h"

#include "traces/timeline_impl.h"

/* Joins a lane's stretch of a call to the block above it, if they share most
 * of the time; else it begins a block. */
static void
place(GArray *spans, guint lane, const RaTimelineSpan *run)
{
  for (guint i = spans->len; i > 0; i--) {
    RaTimelineSpan *span = &g_array_index(spans, RaTimelineSpan, i - 1);
    double begin_s = MAX(span->begin_s, run->begin_s);
    double end_s = MIN(span->end_s, run->end_s);
    double shorter_s =
        MIN(span->end_s - span->begin_s, run->end_s - run->begin_s);

    guint after = span->first_lane + span->n_lanes;

    if (span->call != run->call || (after != lane && after != lane + 1) ||
        end_s - begin_s < 0.5 * shorter_s)
      continue;
    span->n_lanes = lane + 1 - span->first_lane;
    span->begin_s = MIN(span->begin_s, run->begin_s);
    span->end_s = MAX(span->end_s, run->end_s);
    return;
  }
  g_array_append_val(spans, *run);
}

/* A run ends where another call computes, or where nothing does for longer
 * than the run has lasted and a fiftieth of the picture (the next iteration of
 * a call alone on its GPUs). */
static void
place_lane(RaTimeline *timeline, guint index)
{
  const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, index);
  double pause_s = (timeline->to_s - timeline->from_s) / 50;
  RaTimelineSpan run = {.n_lanes = 0};

  for (guint i = 0; i < lane->upper->len; i++) {
    const RaTimelineBox *box = &g_array_index(lane->upper, RaTimelineBox, i);
    guint call = box->style / RA_N_SHADES;

    if (call >= timeline->calls->len)
      continue;
    if (run.n_lanes > 0 && run.call == call &&
        box->begin_s - run.end_s <= MAX(run.end_s - run.begin_s, pause_s)) {
      run.end_s = MAX(run.end_s, box->end_s);
      continue;
    }
    if (run.n_lanes > 0)
      place(timeline->spans, index, &run);
    run = (RaTimelineSpan){call, index, 1, box->begin_s, box->end_s};
  }
  if (run.n_lanes > 0)
    place(timeline->spans, index, &run);
}

void
ra_timeline_place_names(RaTimeline *timeline)
{
  for (guint i = 0; i < timeline->lanes->len; i++)
    place_lane(timeline, i);
}
