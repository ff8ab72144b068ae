/* A timeline: a trace reduced to the size of a picture.
 *
 * Rows become boxes on lanes.  A lane of a timeline is a group of GPUs that
 * look the same at the width of the picture.  It has two tracks:
 *
 *     upper  computation; where nothing computes, moves of parameters and data
 *            between calls
 *     lower  communication: exposed (nothing computes meanwhile) or hidden
 *
 * Boxes of one style that are less than a pixel apart merge.  Of boxes smaller
 * than a pixel the longest is kept, so a picture of 10^6 rows has some thousand
 * boxes.  Boxes wider than a pixel keep their exact times.
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

/* Styles that belong to no call, after those of the calls. */
typedef enum {
  RA_STYLE_REALLOC,  /* parameters move */
  RA_STYLE_TRANSFER, /* data moves */
  RA_STYLE_COPY,     /* offload to or reload from host memory */
  RA_STYLE_EXPOSED,  /* communication while nothing computes */
  RA_STYLE_HIDDEN,   /* communication that computation overlaps */
  RA_N_STYLES
} RaStyle;

#define RA_STYLE_NONE UINT16_MAX /* idle */

#define RA_TIMELINE_PATH_COLOR 0xd00000 /* critical path, 0xRRGGBB */

/* A model function call, in order of first appearance in the trace. */
typedef struct {
  char *name;                   /* owned */
  gboolean has_forward;         /* has rows of forward passes */
  gboolean has_backward;        /* has rows of backward passes: train */
  gboolean has_decode;          /* has rows of decoding: generate */
  gboolean shades[RA_N_SHADES]; /* shades of its boxes in the picture */
} RaTimelineCall;

typedef struct {
  double begin_s; /* from the start of the run */
  double end_s;   /* > begin_s */
  uint16_t style; /* call * RA_N_SHADES + shade, or n_calls * RA_N_SHADES +
                     RaStyle */
  guint n_rows;   /* rows of the trace that it represents */
} RaTimelineBox;

typedef struct {
  char *label;   /* "node 0-3", "node 0 gpu 0-3", "host"; owned */
  GArray *gpus;  /* uint32_t pairs first, last; empty: host */
  guint n_gpus;  /* total number of GPUs */
  GArray *upper; /* RaTimelineBox, by begin_s */
  GArray *lower; /* RaTimelineBox, by begin_s */
} RaTimelineLane;

/* Consecutive tasks of the critical path, of one call on one lane. */
typedef struct {
  guint lane;       /* index of the lane */
  const char *call; /* name of the call, borrowed from the path */
  double begin_s;   /* start, within the window */
  double end_s;     /* end, > begin_s */
  guint n_rows;     /* tasks, also those outside the window */
} RaTimelineStretch;

/* A block with room for the name of a call: one call on adjacent lanes. */
typedef struct {
  guint call;       /* index of the call */
  guint first_lane; /* first lane of the block */
  guint n_lanes;    /* lanes of the block */
  double begin_s;   /* start of its boxes */
  double end_s;     /* end of its boxes */
} RaTimelineSpan;

typedef struct {
  uint32_t iteration; /* number of the iteration */
  double begin_s;     /* start of its first row */
  double end_s;       /* end of its last row */
} RaTimelineMark;

typedef struct {
  double from_s;            /* start of the window, from the start of the run */
  double to_s;              /* end of the window, > from_s */
  double end_s;             /* end of the last row, shown or not */
  GPtrArray *calls;         /* RaTimelineCall * */
  GPtrArray *lanes;         /* RaTimelineLane *, by first GPU, host last */
  GArray *spans;            /* RaTimelineSpan */
  GArray *marks;            /* RaTimelineMark, by end_s; of the whole trace */
  guint n_gpus;             /* GPUs of all lanes */
  double iteration_s;       /* mean iteration, from the end of the first to the
                               end of the last; the length of a single one */
  const char *const *sides; /* those of the options, borrowed */
  double fold_frac;         /* lanes that differ in less than this share of the
                               window became one; 0: only equal ones did */
} RaTimeline;

typedef struct {
  double from_s;       /* start of the window */
  double to_s;         /* end of the window; 0: end of the trace */
  uint32_t iteration;  /* window is this iteration; UINT32_MAX: not used */
  guint width_px;      /* width of the time axis; 0: 1000 */
  guint max_lanes;     /* most lanes; 0: 32 */
  guint gpus_per_node; /* for labels; 0: the head's gpus-per-node, if any */
  const char *const *sides; /* nullable: names of two runs in one trace, of
                               @gpus_per_node GPUs each, which never share a
                               lane; iterations are then not marked */
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

/**
 * ra_timeline_path:
 * @path: rows of the critical path, in order of time (ra_record_path())
 *
 * Marks the path on the lanes.  A task of several lanes is on its first one; a
 * task of a GPU that no lane shows is left out.
 *
 * Cost: O(rows x GPU ranges of the lanes).
 *
 * Returns: (transfer full) (element-type RaTimelineStretch): by begin_s
 */
GArray *ra_timeline_path(const RaTimeline *timeline, const RaTrace *path);

/* (nullable): the call of @style; %NULL for a style of no call. */
const RaTimelineCall *ra_timeline_call(const RaTimeline *timeline,
                                       uint16_t style);

/* Fill colour of @style, 0xRRGGBB. */
uint32_t ra_timeline_color(const RaTimeline *timeline, uint16_t style);

/* (transfer none): name of @style, "actor_train" or "reallocation", and meaning
 * of its shade, "prefill", or "" for a style of no call. */
const char *ra_timeline_style_name(const RaTimeline *timeline, uint16_t style);
const char *ra_timeline_shade_name(const RaTimeline *timeline, uint16_t style);

/**
 * ra_timeline_raster:
 * @boxes: RaTimelineBox
 * @n_columns: >= 1
 * @out_styles: (out) (array length=n_columns): the style of the box that fills
 *   most of each column, if at least a quarter; else %RA_STYLE_NONE
 */
void ra_timeline_raster(const RaTimeline *timeline, const GArray *boxes,
                        guint n_columns, uint16_t *out_styles);

#endif
