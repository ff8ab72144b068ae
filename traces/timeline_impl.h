/* Inside a timeline: how boxes are merged, lanes folded and names placed.
 *
 * timeline.c sorts the trace's rows into tracks of lanes (track.c merges what
 * is smaller than a pixel), timeline_fold.c makes one of the lanes that look
 * the same, timeline_span.c finds where names fit.
 *
 * Typical sizes: 10^6 rows in, 10^4 boxes out.
 */
#ifndef RA_TRACES_TIMELINE_IMPL_H
#define RA_TRACES_TIMELINE_IMPL_H

#include "traces/timeline.h"

/* A stretch of time. */
typedef struct {
  double begin_s; /* from the start of the run */
  double end_s;   /* > begin_s */
} RaStretch;

/* A track being filled, box by box in order of begin_s. */
typedef struct {
  double origin_s;        /* where pixel 0 begins */
  double pixel_s;         /* > 0 */
  GArray *boxes;          /* RaTimelineBox: done */
  double column;          /* of the pending boxes: whole pixels from origin */
  RaTimelineBox first;    /* pending: the longest so far, n_rows of all */
  double pending_begin_s; /* of all pending */
  double pending_end_s;   /* of all pending */
} RaTrack;

void ra_track_init(RaTrack *track, double origin_s, double pixel_s);

/* Adds a box; the next one must not begin before it. */
void ra_track_add(RaTrack *track, const RaTimelineBox *box);

/* (transfer full): the boxes; @track must not be used any more. */
GArray *ra_track_finish(RaTrack *track);

/* Adds [begin, end) to the union @stretches, in order of begin; stretches less
 * than @gap_s apart are one. */
void ra_stretch_add(GArray *stretches, double begin_s, double end_s,
                    double gap_s);

/**
 * ra_stretch_split:
 * @what: RaStretch union, cut up
 * @by: RaStretch union
 * @inside: style of what lies within @by, or %RA_STYLE_NONE: dropped
 * @outside: style of the rest
 * @track: the pieces are added to it, in order
 */
void ra_stretch_split(const GArray *what, const GArray *by, uint16_t inside,
                      uint16_t outside, RaTrack *track);

/* Makes one lane of those that look the same, until at most @max_lanes are
 * left; labels them.  @gpus_per_node 0: not known. */
void ra_timeline_fold(RaTimeline *timeline, guint n_columns, guint max_lanes,
                      guint gpus_per_node);

/* Fills timeline->spans from its lanes. */
void ra_timeline_place_names(RaTimeline *timeline);

#endif
