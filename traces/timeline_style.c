/* Names and colours of the styles of a timeline, and rasters of boxes. */
#include "config.h"

#include "base/palette.h"
#include "traces/timeline.h"

#define TINT_FRAC 0.55  /* white in a light shade */
#define SHADE_FRAC 0.45 /* black in a dark one */

const RaTimelineCall *
ra_timeline_call(const RaTimeline *timeline, uint16_t style)
{
  g_return_val_if_fail(timeline != NULL, NULL);

  if (style / RA_N_SHADES >= timeline->calls->len)
    return NULL;
  return g_ptr_array_index(timeline->calls, style / RA_N_SHADES);
}

uint32_t
ra_timeline_color(const RaTimeline *timeline, uint16_t style)
{
  static const uint32_t greys[RA_N_STYLES] = {0x606060, 0xa8a8a8, 0x848484,
                                              0x000000, 0xc4c4c4};
  guint n_call_styles = timeline->calls->len * RA_N_SHADES;
  uint32_t color = ra_palette_color(style / RA_N_SHADES);

  if (style >= n_call_styles)
    return greys[(style - n_call_styles) % RA_N_STYLES];
  if (style % RA_N_SHADES == RA_SHADE_LIGHT)
    return ra_palette_tint(color, TINT_FRAC);
  if (style % RA_N_SHADES == RA_SHADE_DARK)
    return ra_palette_shade(color, SHADE_FRAC);
  return color;
}

const char *
ra_timeline_style_name(const RaTimeline *timeline, uint16_t style)
{
  static const char *const names[RA_N_STYLES] = {
      "reallocation", "transfer", "offload and reload", "exposed communication",
      "hidden communication"};
  const RaTimelineCall *call = ra_timeline_call(timeline, style);

  if (call)
    return call->name;
  return names[(style - timeline->calls->len * RA_N_SHADES) % RA_N_STYLES];
}

const char *
ra_timeline_shade_name(const RaTimeline *timeline, uint16_t style)
{
  const RaTimelineCall *call = ra_timeline_call(timeline, style);

  if (call == NULL)
    return "";
  switch (style % RA_N_SHADES) {
  case RA_SHADE_LIGHT:
    return call->has_decode ? "prefill" : "forward";
  case RA_SHADE_DARK:
    return "optimizer";
  default:
    if (call->has_decode)
      return "decode";
    return call->has_backward ? "backward" : call->has_forward ? "forward" : "";
  }
}

void
ra_timeline_raster(const RaTimeline *timeline, const GArray *boxes,
                   guint n_columns, uint16_t *out_styles)
{
  g_return_if_fail(timeline != NULL && boxes != NULL && n_columns > 0);

  double column_s = (timeline->to_s - timeline->from_s) / n_columns;
  g_autofree double *best = g_new(double, n_columns);

  for (guint i = 0; i < n_columns; i++) {
    best[i] = 0.25;
    out_styles[i] = RA_STYLE_NONE;
  }
  for (guint i = 0; i < boxes->len; i++) {
    const RaTimelineBox *box = &g_array_index(boxes, RaTimelineBox, i);
    double from = (box->begin_s - timeline->from_s) / column_s;
    double to = MIN((box->end_s - timeline->from_s) / column_s, n_columns);

    for (guint at = (guint)MAX(from, 0); at < n_columns && at < to; at++) {
      double filled = MIN(to, at + 1) - MAX(from, at);

      if (filled >= best[at]) {
        best[at] = filled;
        out_styles[at] = box->style;
      }
    }
  }
}
