/* Merging of boxes, folding of lanes and placing of names, private to a
 * timeline.
 *
 * timeline.c sorts the rows of a trace into tracks of lanes, and track.c merges
 * boxes smaller than a pixel.  timeline_fold.c makes lanes that look the same
 * one, and timeline_span.c finds room for names.
 *
 * Typical sizes: 10^6 rows in, 10^4 boxes out.
 */
#ifndef RA_TRACES_TIMELINE_IMPL_H
#define RA_TRACES_TIMELINE_IMPL_H

#include "traces/timeline.h"

/* A time interval. */
typedef struct {
  double begin_s; /* from the start of the run */
  double end_s;   /* > begin_s */
} RaStretch;

/* A track being filled, box by box in order of begin_s. */
typedef struct {
  double origin_s;        /* start of pixel 0 */
  double pixel_s;         /* width of a pixel, > 0 */
  GArray *boxes;          /* RaTimelineBox: finished */
  double column;          /* pixel of the pending boxes, from the origin */
  RaTimelineBox first;    /* longest pending box, with n_rows of all */
  double pending_begin_s; /* start of the pending boxes */
  double pending_end_s;   /* end of the pending boxes */
} RaTrack;

void ra_track_init(RaTrack *track, double origin_s, double pixel_s);

/* Adds a box; later boxes must not begin before it. */
void ra_track_add(RaTrack *track, const RaTimelineBox *box);

/* (transfer full): the boxes; ends the use of @track. */
GArray *ra_track_finish(RaTrack *track);

/* Adds [begin, end) to the union @stretches, in order of begin; intervals less
 * than @gap_s apart merge. */
void ra_stretch_add(GArray *stretches, double begin_s, double end_s,
                    double gap_s);

/**
 * ra_stretch_split:
 * @what: union of RaStretch, which is cut
 * @by: union of RaStretch
 * @inside: style of the parts within @by; %RA_STYLE_NONE drops them
 * @outside: style of the other parts
 * @track: receives the pieces, in order
 */
void ra_stretch_split(const GArray *what, const GArray *by, uint16_t inside,
                      uint16_t outside, RaTrack *track);

/* Merges lanes that look the same until at most @max_lanes are left, and labels
 * them.  @gpus_per_node 0: not known. */
void ra_timeline_fold(RaTimeline *timeline, guint n_columns, guint max_lanes,
                      guint gpus_per_node);

/* Fills timeline->spans from its lanes. */
void ra_timeline_place_names(RaTimeline *timeline);

#endif
