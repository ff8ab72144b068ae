/* Timelines: the rows of a trace become boxes on lanes. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/expand/task.h"
#include "traces/timeline_impl.h"
#include "traces/trace_lanes.h"

#define DEFAULT_WIDTH_PX 1000
#define DEFAULT_LANES 32
#define MAX_CALLS 1000 /* so that styles fit 16 bits; more share the last */

/* Styles of what moves between calls: the first of RaStyle. */
#define N_MOVES (RA_STYLE_COPY + 1)

/* Role of a row in the picture. */
typedef enum {
  ROLE_COMPUTE, /* on its GPUs */
  ROLE_HOST,    /* on the lane of the host, wherever its GPUs are */
  ROLE_COMM,
  ROLE_MOVE,
  ROLE_NOTHING
} Role;

/* A lane while it is filled. */
typedef struct {
  RaTrack compute;        /* boxes of the upper track */
  GArray *busy;           /* RaStretch: something computes */
  GArray *comm;           /* RaStretch: something is communicated or moved */
  GArray *moves[N_MOVES]; /* RaStretch: by style, from RA_STYLE_REALLOC on */
} Filling;

typedef struct {
  const RaTrace *trace;
  RaTimeline *timeline;
  RaTraceLanes *lanes;
  Filling *fillings;   /* (lanes, and one for the host) */
  uint32_t host;       /* place of the host's, after all others */
  GHashTable *call_of; /* const char * (by address) -> index + 1 */
  double pixel_s;      /* of the window */
} Build;

static void
free_call(gpointer data)
{
  RaTimelineCall *call = data;

  g_free(call->name);
  g_free(call);
}

static void
free_lane(gpointer data)
{
  RaTimelineLane *lane = data;

  g_free(lane->label);
  g_array_free(lane->gpus, TRUE);
  g_array_free(lane->upper, TRUE);
  g_array_free(lane->lower, TRUE);
  g_free(lane);
}

void
ra_timeline_free(RaTimeline *timeline)
{
  if (timeline == NULL)
    return;
  g_ptr_array_free(timeline->calls, TRUE);
  g_ptr_array_free(timeline->lanes, TRUE);
  g_array_free(timeline->spans, TRUE);
  g_array_free(timeline->marks, TRUE);
  g_free(timeline);
}

static gboolean
is_kind(const RaTraceRow *row, RaTaskKind kind)
{
  return strcmp(row->kind, ra_task_kind_name(kind)) == 0;
}

/* A stream that is not ours (a foreign trace) computes. */
static Role
role_of(const RaTraceRow *row)
{
  int stream = 0;

  while (stream < RA_N_STREAMS &&
         strcmp(row->stream, ra_stream_name((RaStream)stream)) != 0)
    stream++;
  switch (stream) {
  case RA_STREAM_TP:
  case RA_STREAM_DP:
  case RA_STREAM_PP_SEND:
  case RA_STREAM_PP_RECV:
  case RA_STREAM_PP_SEND_BACK:
  case RA_STREAM_PP_RECV_BACK:
    return ROLE_COMM;
  case RA_STREAM_REALLOC:
  case RA_STREAM_TRANSFER:
  case RA_STREAM_COPY_IN:
  case RA_STREAM_COPY_OUT:
    return ROLE_MOVE;
  case RA_STREAM_HOST:
    return ROLE_HOST;
  case RA_STREAM_NONE:
    return ROLE_NOTHING;
  default:
    return is_kind(row, RA_TASK_REALLOC) || is_kind(row, RA_TASK_TRANSFER)
               ? ROLE_MOVE
               : ROLE_COMPUTE;
  }
}

static void
learn_call(Build *build, const RaTraceRow *row)
{
  GPtrArray *calls = build->timeline->calls;
  guint index =
      GPOINTER_TO_UINT(g_hash_table_lookup(build->call_of, row->call));
  RaTimelineCall *call;

  if (role_of(row) != ROLE_COMPUTE && role_of(row) != ROLE_HOST)
    return;
  if (index == 0) {
    if (calls->len < MAX_CALLS) {
      call = g_new0(RaTimelineCall, 1);
      call->name = g_strdup(row->call);
      g_ptr_array_add(calls, call);
    }
    index = calls->len;
    g_hash_table_insert(build->call_of, (char *)row->call,
                        GUINT_TO_POINTER(index));
  }
  call = g_ptr_array_index(calls, index - 1);
  call->has_forward |= is_kind(row, RA_TASK_FORWARD);
  call->has_backward |= is_kind(row, RA_TASK_BACKWARD);
  call->has_decode |= is_kind(row, RA_TASK_DECODE);
}

static uint16_t
style_of(const Build *build, const RaTraceRow *row)
{
  guint index =
      GPOINTER_TO_UINT(g_hash_table_lookup(build->call_of, row->call)) - 1;
  RaTimelineCall *call = g_ptr_array_index(build->timeline->calls, index);
  RaShade shade = RA_SHADE_FULL;

  if (is_kind(row, RA_TASK_FORWARD))
    shade =
        call->has_backward || call->has_decode ? RA_SHADE_LIGHT : RA_SHADE_FULL;
  else if (is_kind(row, RA_TASK_OPTIMIZER) || is_kind(row, RA_TASK_CLIP))
    shade = RA_SHADE_DARK;
  call->shades[shade] = TRUE;
  return (uint16_t)(index * RA_N_SHADES + shade);
}

static uint16_t
other_style(const RaTimeline *timeline, RaStyle style)
{
  return (uint16_t)(timeline->calls->len * RA_N_SHADES + style);
}

/* First begin and last end of the calls of every iteration, as the
 * simulator counts them: what moves afterwards is for the next one. */
static void
learn_mark(GHashTable *mark_of, GArray *marks, const RaTraceRow *row)
{
  guint index = GPOINTER_TO_UINT(
      g_hash_table_lookup(mark_of, GUINT_TO_POINTER(row->iteration)));
  RaTimelineMark *mark;

  if (index == 0) {
    const RaTimelineMark fresh = {row->iteration, row->begin_s, row->end_s};

    g_array_append_val(marks, fresh);
    g_hash_table_insert(mark_of, GUINT_TO_POINTER(row->iteration),
                        GUINT_TO_POINTER(marks->len));
    return;
  }
  mark = &g_array_index(marks, RaTimelineMark, index - 1);
  mark->begin_s = MIN(mark->begin_s, row->begin_s);
  mark->end_s = MAX(mark->end_s, row->end_s);
}

static int
compare_marks(const void *a, const void *b)
{
  const RaTimelineMark *p = a, *q = b;

  if (p->end_s != q->end_s)
    return p->end_s < q->end_s ? -1 : 1;
  return p->iteration < q->iteration ? -1 : p->iteration > q->iteration;
}

static void
learn(Build *build)
{
  RaTimeline *timeline = build->timeline;
  g_autoptr(GHashTable) mark_of = g_hash_table_new(NULL, NULL);
  const RaTimelineMark *first, *last;

  for (guint i = 0; i < ra_trace_n_rows(build->trace); i++) {
    const RaTraceRow *row = ra_trace_row(build->trace, i);

    learn_call(build, row);
    if (role_of(row) != ROLE_MOVE)
      learn_mark(mark_of, timeline->marks, row);
    timeline->end_s = MAX(timeline->end_s, row->end_s);
  }
  g_array_sort(timeline->marks, compare_marks);
  if (timeline->marks->len == 0)
    return;
  first = &g_array_index(timeline->marks, RaTimelineMark, 0);
  last = first + timeline->marks->len - 1;
  timeline->iteration_s =
      timeline->marks->len == 1
          ? first->end_s - first->begin_s
          : (last->end_s - first->end_s) / (timeline->marks->len - 1);
}

static gboolean
find_window(RaTimeline *timeline, const RaTimelineOptions *options,
            GError **error)
{
  const GArray *marks = timeline->marks;

  timeline->from_s = options->from_s;
  timeline->to_s = options->to_s;
  if (marks->len == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "the trace has no rows");
    return FALSE;
  }
  if (timeline->to_s == 0)
    timeline->to_s = timeline->end_s;
  for (guint i = 0; i < marks->len && options->iteration != UINT32_MAX; i++) {
    const RaTimelineMark *mark = &g_array_index(marks, RaTimelineMark, i);

    if (mark->iteration == options->iteration) {
      timeline->from_s = mark->begin_s;
      timeline->to_s = mark->end_s;
      break;
    }
    if (i + 1 == marks->len) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "the trace has no iteration %u, only %u iterations",
                  options->iteration, marks->len);
      return FALSE;
    }
  }
  if (timeline->to_s > timeline->from_s && timeline->from_s < timeline->end_s)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "nothing runs between %.9g s and %.9g s", timeline->from_s,
              timeline->to_s);
  return FALSE;
}

static RaStyle
move_of(const RaTraceRow *row)
{
  if (is_kind(row, RA_TASK_TRANSFER))
    return RA_STYLE_TRANSFER;
  return is_kind(row, RA_TASK_OFFLOAD) || is_kind(row, RA_TASK_RELOAD)
             ? RA_STYLE_COPY
             : RA_STYLE_REALLOC;
}

static void
fill_row(Build *build, const RaTraceRow *row)
{
  const RaTimeline *timeline = build->timeline;
  double begin_s = MAX(row->begin_s, timeline->from_s);
  double end_s = MIN(row->end_s, timeline->to_s);
  Role role = role_of(row);
  double gap_s = build->pixel_s / 8;
  RaTimelineBox box = {begin_s, end_s, RA_STYLE_NONE, 1};
  const uint32_t *on;
  guint n;

  if (end_s <= begin_s || role == ROLE_NOTHING)
    return;
  on = ra_trace_lanes_of(build->lanes, row->ranks, &n);
  if (role == ROLE_HOST || row->ranks[0] == '\0') {
    on = &build->host;
    n = 1;
  }
  if (role == ROLE_COMPUTE || role == ROLE_HOST)
    box.style = style_of(build, row);
  for (guint i = 0; i < n; i++) {
    Filling *filling = &build->fillings[on[i]];

    if (box.style != RA_STYLE_NONE) {
      ra_track_add(&filling->compute, &box);
      ra_stretch_add(filling->busy, begin_s, end_s, gap_s);
      continue;
    }
    ra_stretch_add(filling->comm, begin_s, end_s, gap_s);
    if (role == ROLE_MOVE)
      ra_stretch_add(filling->moves[move_of(row)], begin_s, end_s, gap_s);
  }
}

static int
compare_boxes(const void *a, const void *b)
{
  const RaTimelineBox *p = a, *q = b;

  if (p->begin_s != q->begin_s)
    return p->begin_s < q->begin_s ? -1 : 1;
  return p->style < q->style ? -1 : p->style > q->style;
}

/* Moves are seen above only where nothing computes; their time counts as
 * communication in any case. */
static RaTimelineLane *
finish_lane(Build *build, guint index)
{
  RaTimeline *timeline = build->timeline;
  Filling *filling = &build->fillings[index];
  RaTimelineLane *lane = g_new0(RaTimelineLane, 1);
  RaTrack lower;
  uint32_t gpus[2];

  lane->gpus = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  if (index != build->host &&
      ra_trace_lanes_gpus(build->lanes, index, &gpus[0], &gpus[1])) {
    g_array_append_vals(lane->gpus, gpus, 2);
    lane->n_gpus = gpus[1] - gpus[0] + 1;
  }
  lane->upper = ra_track_finish(&filling->compute);
  for (int i = 0; i < N_MOVES; i++) {
    RaTrack track;
    GArray *boxes;

    ra_track_init(&track, timeline->from_s, build->pixel_s);
    ra_stretch_split(filling->moves[i], filling->busy, RA_STYLE_NONE,
                     other_style(timeline, (RaStyle)i), &track);
    boxes = ra_track_finish(&track);
    g_array_append_vals(lane->upper, boxes->data, boxes->len);
    g_array_free(boxes, TRUE);
  }
  g_array_sort(lane->upper, compare_boxes);
  /* Small and of two greys only: what is finer than this is noise. */
  ra_track_init(&lower, timeline->from_s, 2 * build->pixel_s);
  ra_stretch_split(filling->comm, filling->busy,
                   other_style(timeline, RA_STYLE_HIDDEN),
                   other_style(timeline, RA_STYLE_EXPOSED), &lower);
  lane->lower = ra_track_finish(&lower);
  g_array_free(filling->busy, TRUE);
  g_array_free(filling->comm, TRUE);
  for (int i = 0; i < N_MOVES; i++)
    g_array_free(filling->moves[i], TRUE);
  return lane;
}

static void
fill(Build *build)
{
  RaTimeline *timeline = build->timeline;
  guint n_lanes = ra_trace_lanes_n(build->lanes);

  build->fillings = g_new0(Filling, (gsize)n_lanes + 1);
  build->host = n_lanes;
  for (guint i = 0; i <= n_lanes; i++) {
    Filling *filling = &build->fillings[i];

    ra_track_init(&filling->compute, timeline->from_s, build->pixel_s);
    filling->busy = g_array_new(FALSE, FALSE, sizeof(RaStretch));
    filling->comm = g_array_new(FALSE, FALSE, sizeof(RaStretch));
    for (int move = 0; move < N_MOVES; move++)
      filling->moves[move] = g_array_new(FALSE, FALSE, sizeof(RaStretch));
  }
  for (guint i = 0; i < ra_trace_n_rows(build->trace); i++)
    fill_row(build, ra_trace_row(build->trace, i));
  for (guint i = 0; i <= n_lanes; i++) {
    RaTimelineLane *lane = finish_lane(build, i);

    timeline->n_gpus += lane->n_gpus;
    if (lane->n_gpus == 0 && lane->upper->len + lane->lower->len == 0)
      free_lane(lane);
    else
      g_ptr_array_add(timeline->lanes, lane);
  }
  g_free(build->fillings);
}

RaTimeline *
ra_timeline_new(const RaTrace *trace, const RaTimelineOptions *options,
                GError **error)
{
  g_return_val_if_fail(trace != NULL && options != NULL, NULL);
  g_return_val_if_fail(options->from_s >= 0 && options->to_s >= 0, NULL);

  g_autoptr(RaTimeline) timeline = g_new0(RaTimeline, 1);
  g_autoptr(GHashTable) call_of = g_hash_table_new(NULL, NULL);
  const char *head = ra_trace_head(trace, "gpus-per-node");
  guint width_px = options->width_px ? options->width_px : DEFAULT_WIDTH_PX;
  guint max_lanes = options->max_lanes ? options->max_lanes : DEFAULT_LANES;
  uint64_t gpus_per_node = 0;
  Build build = {.trace = trace, .timeline = timeline, .call_of = call_of};

  timeline->calls = g_ptr_array_new_with_free_func(free_call);
  timeline->lanes = g_ptr_array_new_with_free_func(free_lane);
  timeline->spans = g_array_new(FALSE, FALSE, sizeof(RaTimelineSpan));
  timeline->marks = g_array_new(FALSE, FALSE, sizeof(RaTimelineMark));
  learn(&build);
  if (!find_window(timeline, options, error))
    return NULL;
  timeline->sides = options->sides;
  if (timeline->sides)
    g_array_set_size(timeline->marks, 0);
  build.pixel_s = (timeline->to_s - timeline->from_s) / width_px;
  build.lanes = ra_trace_lanes_new(trace, 0);
  fill(&build);
  ra_trace_lanes_free(build.lanes);
  if (options->gpus_per_node)
    gpus_per_node = options->gpus_per_node;
  else if (head == NULL || !ra_text_uint64(head, &gpus_per_node) ||
           gpus_per_node > RA_RANKS_MAX)
    gpus_per_node = 0;
  ra_timeline_fold(timeline, width_px, max_lanes, (guint)gpus_per_node);
  ra_timeline_place_names(timeline);
  return g_steal_pointer(&timeline);
}
