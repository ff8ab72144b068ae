/* A timeline: a trace made small enough to look at.
 *
 * Rows become boxes on lanes.  A lane is a group of GPUs that look the same at
 * the width of the picture; it has an upper track for what computes (and, where
 * nothing computes, parameters and data that move between calls) and a lower
 * one for communication, exposed (nothing computes meanwhile) or hidden.
 * Boxes of one style that are less than a pixel apart are one, and of what is
 * smaller than a pixel the longest is kept, so a picture of 10^6 rows has some
 * thousand boxes; boxes wider than a pixel keep their exact times.
 *
 * A style is a call and a shade: light for the forward passes of a call that
 * also goes back or decodes, dark for optimizer and gradient clipping, full
 * for the rest.
 *
 *     RaTimelineOptions options = RA_TIMELINE_OPTIONS_INIT;
 *     RaTimeline *timeline = ra_timeline_new(trace, &options, &error);
 *
 * Typical sizes: 1 to 32 lanes, 10 to 500 boxes each.
 */
#ifndef RA_TRACES_TIMELINE_H
#define RA_TRACES_TIMELINE_H

#include <glib.h>
#include <stdint.h>

#include "traces/trace.h"

typedef enum {
  RA_SHADE_LIGHT, /* forward and prefill of a call that has more */
  RA_SHADE_FULL,  /* the call's main work */
  RA_SHADE_DARK,  /* optimizer, clipping */
  RA_N_SHADES
} RaShade;

/* Styles that are no call's, after the calls'. */
typedef enum {
  RA_STYLE_REALLOC,  /* parameters move */
  RA_STYLE_TRANSFER, /* data moves */
  RA_STYLE_COPY,     /* offload to or reload from host memory */
  RA_STYLE_EXPOSED,  /* communication while nothing computes */
  RA_STYLE_HIDDEN,   /* communication behind computation */
  RA_N_STYLES
} RaStyle;

#define RA_STYLE_NONE UINT16_MAX /* idle */

/* A model function call, in order of first appearance in the trace. */
typedef struct {
  char *name;                   /* owned */
  gboolean has_forward;         /* kinds of its rows */
  gboolean has_backward;        /* train */
  gboolean has_decode;          /* generate */
  gboolean shades[RA_N_SHADES]; /* that some box in the picture has */
} RaTimelineCall;

typedef struct {
  double begin_s; /* from the start of the run */
  double end_s;   /* > begin_s */
  uint16_t style; /* call * RA_N_SHADES + shade, or n_calls * RA_N_SHADES +
                     RaStyle */
  guint n_rows;   /* of the trace that it stands for */
} RaTimelineBox;

typedef struct {
  char *label;   /* "node 0-3", "node 0 gpu 0-3", "host"; owned */
  GArray *gpus;  /* uint32_t pairs first, last; empty: host */
  guint n_gpus;  /* in all */
  GArray *upper; /* RaTimelineBox, by begin_s */
  GArray *lower; /* RaTimelineBox, by begin_s */
} RaTimelineLane;

/* Where a call's name fits: one call on neighbouring lanes. */
typedef struct {
  guint call;       /* index */
  guint first_lane; /* of the block */
  guint n_lanes;    /* in it */
  double begin_s;   /* of its boxes */
  double end_s;     /* of its boxes */
} RaTimelineSpan;

typedef struct {
  uint32_t iteration; /* number */
  double begin_s;     /* its first row begins */
  double end_s;       /* its last row ends */
} RaTimelineMark;

typedef struct {
  double from_s;            /* window; from the start of the run */
  double to_s;              /* > from_s */
  double end_s;             /* last row ends, shown or not */
  GPtrArray *calls;         /* RaTimelineCall * */
  GPtrArray *lanes;         /* RaTimelineLane *, by first GPU, host last */
  GArray *spans;            /* RaTimelineSpan */
  GArray *marks;            /* RaTimelineMark, by end_s; of the whole trace */
  guint n_gpus;             /* in all lanes */
  double iteration_s;       /* mean, from the end of the first one to the end of
                               the last; with one iteration its length */
  const char *const *sides; /* of the options, borrowed */
  double fold_frac;         /* lanes that differ in less than this share of the
                               window were drawn as one; 0: only equal ones */
} RaTimeline;

typedef struct {
  double from_s;       /* window begins; 0 */
  double to_s;         /* window ends; 0: the trace's end */
  uint32_t iteration;  /* UINT32_MAX, or: window is this iteration */
  guint width_px;      /* of the time axis; 0: 1000 */
  guint max_lanes;     /* 0: 32 */
  guint gpus_per_node; /* for labels; 0: the head's gpus-per-node, if any */
  const char *const *sides; /* nullable: names of two runs in one trace, of
                               @gpus_per_node GPUs each: they never share a
                               lane, and their iterations are not marked */
} RaTimelineOptions;

#define RA_TIMELINE_OPTIONS_INIT                                               \
  {                                                                            \
    .iteration = UINT32_MAX                                                    \
  }

/**
 * ra_timeline_new:
 * @trace: borrowed, sorted
 * @error: %RA_ERROR_INPUT: an iteration that the trace does not have, or a
 *   window in which nothing runs
 *
 * Cost: O(rows x lanes of a row + lanes^2 x width).
 *
 * Returns: (transfer full): ra_timeline_free() it; %NULL on error
 */
RaTimeline *ra_timeline_new(const RaTrace *trace,
                            const RaTimelineOptions *options, GError **error);
void ra_timeline_free(RaTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTimeline, ra_timeline_free)

/* Call of @style, or RA_N_STYLES.. : %NULL for a style that is no call's. */
const RaTimelineCall *ra_timeline_call(const RaTimeline *timeline,
                                       uint16_t style);

/* Fill of @style, 0xRRGGBB. */
uint32_t ra_timeline_color(const RaTimeline *timeline, uint16_t style);

/* "actor_train" and a shade's meaning, or "reallocation" ...; static. */
const char *ra_timeline_style_name(const RaTimeline *timeline, uint16_t style);
const char *ra_timeline_shade_name(const RaTimeline *timeline, uint16_t style);

/**
 * ra_timeline_raster:
 * @boxes: RaTimelineBox
 * @n_columns: >= 1
 * @out_styles: (out) (array length=n_columns): the style of the box that fills
 *   most of each column, if a quarter of it at least; else %RA_STYLE_NONE
 */
void ra_timeline_raster(const RaTimeline *timeline, const GArray *boxes,
                        guint n_columns, uint16_t *out_styles);

#endif
