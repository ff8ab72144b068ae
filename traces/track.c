/* Merging the boxes of a track so that none is much narrower than a pixel;
 * unions of time intervals. */
#include "config.h"

#include <math.h>

#include "traces/timeline_impl.h"

void
ra_track_init(RaTrack *track, double origin_s, double pixel_s)
{
  *track = (RaTrack){
      .origin_s = origin_s,
      .pixel_s = pixel_s,
      .boxes = g_array_new(FALSE, FALSE, sizeof(RaTimelineBox)),
      .first = {.style = RA_STYLE_NONE},
  };
}

/* Adds to the done ones: longer than a pixel, or all of a pixel's. */
static void
push(RaTrack *track, const RaTimelineBox *box)
{
  RaTimelineBox *last;

  if (track->boxes->len > 0) {
    last = &g_array_index(track->boxes, RaTimelineBox, track->boxes->len - 1);
    if (last->style == box->style &&
        box->begin_s - last->end_s < track->pixel_s) {
      last->end_s = MAX(last->end_s, box->end_s);
      last->n_rows += box->n_rows;
      return;
    }
  }
  g_array_append_val(track->boxes, *box);
}

static void
flush(RaTrack *track)
{
  RaTimelineBox box = track->first;

  if (box.style == RA_STYLE_NONE)
    return;
  box.begin_s = track->pending_begin_s;
  box.end_s = track->pending_end_s;
  push(track, &box);
  track->first.style = RA_STYLE_NONE;
}

void
ra_track_add(RaTrack *track, const RaTimelineBox *box)
{
  double column = floor((box->begin_s - track->origin_s) / track->pixel_s);
  RaTimelineBox *first = &track->first;

  if (first->style != RA_STYLE_NONE && track->column != column)
    flush(track);
  if (box->end_s - box->begin_s >= track->pixel_s) {
    flush(track);
    push(track, box);
    return;
  }
  if (first->style == RA_STYLE_NONE) {
    *first = *box;
    track->column = column;
    track->pending_begin_s = box->begin_s;
    track->pending_end_s = box->end_s;
    return;
  }
  track->pending_end_s = MAX(track->pending_end_s, box->end_s);
  if (box->end_s - box->begin_s > first->end_s - first->begin_s) {
    guint n_rows = first->n_rows;

    *first = *box;
    first->n_rows += n_rows;
  } else {
    first->n_rows += box->n_rows;
  }
}

GArray *
ra_track_finish(RaTrack *track)
{
  GArray *boxes;

  flush(track);
  boxes = track->boxes;
  track->boxes = NULL;
  return boxes;
}

void
ra_stretch_add(GArray *stretches, double begin_s, double end_s, double gap_s)
{
  RaStretch stretch = {begin_s, end_s};

  if (stretches->len > 0) {
    RaStretch *last = &g_array_index(stretches, RaStretch, stretches->len - 1);

    if (begin_s - last->end_s <= gap_s) {
      last->end_s = MAX(last->end_s, end_s);
      return;
    }
  }
  g_array_append_val(stretches, stretch);
}

static void
add_piece(RaTrack *track, double begin_s, double end_s, uint16_t style)
{
  const RaTimelineBox box = {begin_s, end_s, style, 1};

  if (style != RA_STYLE_NONE && end_s > begin_s)
    ra_track_add(track, &box);
}

void
ra_stretch_split(const GArray *what, const GArray *by, uint16_t inside,
                 uint16_t outside, RaTrack *track)
{
  guint j = 0;

  for (guint i = 0; i < what->len; i++) {
    const RaStretch *whole = &g_array_index(what, RaStretch, i);
    double at_s = whole->begin_s;

    while (j < by->len &&
           g_array_index(by, RaStretch, j).end_s <= whole->begin_s)
      j++;
    for (guint k = j; k < by->len; k++) {
      const RaStretch *cut = &g_array_index(by, RaStretch, k);
      double end_s = MIN(cut->end_s, whole->end_s);

      if (cut->begin_s >= whole->end_s)
        break;
      add_piece(track, at_s, cut->begin_s, outside);
      add_piece(track, MAX(at_s, cut->begin_s), end_s, inside);
      at_s = end_s;
    }
    add_piece(track, at_s, whole->end_s, outside);
  }
}
