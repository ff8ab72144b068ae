/* Critical path of a timeline: its stretches on the lanes. */
#include "config.h"

#include "traces/timeline.h"

/* Lane of the first of @ranks; G_MAXUINT: none is shown. */
static guint
lane_of(const RaTimeline *timeline, const char *ranks)
{
  guint64 gpu = g_ascii_strtoull(ranks, NULL, 10);

  for (guint i = 0; i < timeline->lanes->len; i++) {
    const RaTimelineLane *lane = timeline->lanes->pdata[i];

    if (!*ranks && lane->gpus->len == 0)
      return i;
    for (guint g = 0; *ranks && g < lane->gpus->len; g += 2)
      if (gpu >= g_array_index(lane->gpus, uint32_t, g) &&
          gpu <= g_array_index(lane->gpus, uint32_t, g + 1))
        return i;
  }
  return G_MAXUINT;
}

GArray *
ra_timeline_path(const RaTimeline *timeline, const RaTrace *path)
{
  GArray *out = g_array_new(FALSE, FALSE, sizeof(RaTimelineStretch));

  for (guint r = 0, next; r < ra_trace_n_rows(path); r = next) {
    const RaTraceRow *row = ra_trace_row(path, r), *last = row;
    RaTimelineStretch part = {.lane = lane_of(timeline, row->ranks),
                              .call = row->call};

    for (next = r + 1; next < ra_trace_n_rows(path); next++) {
      const RaTraceRow *other = ra_trace_row(path, next);

      if (lane_of(timeline, other->ranks) != part.lane ||
          !g_str_equal(other->call, row->call))
        break;
      last = other;
    }
    part.begin_s = MAX(row->begin_s, timeline->from_s);
    part.end_s = MIN(last->end_s, timeline->to_s);
    part.n_rows = next - r;
    if (part.lane != G_MAXUINT && part.begin_s < part.end_s)
      g_array_append_val(out, part);
  }
  return out;
}
