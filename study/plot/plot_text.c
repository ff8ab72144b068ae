/* Timelines as text: for a terminal, and as data. */
#include "config.h"

#include <string.h>

#include "base/quote.h"
#include "study/plot/plot_impl.h"

#define N_LETTERS 26

/* Calls are letters, small where the shade is light; past Z they begin again,
 * which the legend shows. */
static char
letter_of(const RaTimeline *timeline, uint16_t style)
{
  static const char others[RA_N_STYLES] = {'=', '-', '~', '*', ' '};
  guint n_call_styles = timeline->calls->len * RA_N_SHADES;
  char letter;

  if (style == RA_STYLE_NONE)
    return '.';
  if (style >= n_call_styles)
    return others[(style - n_call_styles) % RA_N_STYLES];
  letter = (char)('A' + style / RA_N_SHADES % N_LETTERS);
  return style % RA_N_SHADES == RA_SHADE_LIGHT ? g_ascii_tolower(letter)
                                               : letter;
}

static void
append_spaces(GString *out, glong n)
{
  for (; n > 0; n--)
    g_string_append_c(out, ' ');
}

/* Computation, else moves, else exposed communication. */
static void
append_lane(GString *out, const RaTimeline *timeline,
            const RaTimelineLane *lane, guint n_columns)
{
  uint16_t exposed =
      (uint16_t)(timeline->calls->len * RA_N_SHADES + RA_STYLE_EXPOSED);
  g_autofree uint16_t *upper = g_new(uint16_t, n_columns);
  g_autofree uint16_t *lower = g_new(uint16_t, n_columns);

  ra_timeline_raster(timeline, lane->upper, n_columns, upper);
  ra_timeline_raster(timeline, lane->lower, n_columns, lower);
  for (guint i = 0; i < n_columns; i++) {
    if (upper[i] == RA_STYLE_NONE && lower[i] == exposed)
      upper[i] = exposed;
    g_string_append_c(out, letter_of(timeline, upper[i]));
  }
}

/* Begin, middle and end of the window under its columns. */
static void
append_axis(GString *out, const RaTimeline *timeline, guint n_columns)
{
  gsize start = out->len;

  for (int i = 0; i <= 2; i++) {
    double at_s =
        timeline->from_s + (timeline->to_s - timeline->from_s) * i / 2;
    g_autofree char *text = ra_plot_time(timeline, at_s);
    glong column;

    column = i == 0   ? 0
             : i == 1 ? (glong)(n_columns - strlen(text)) / 2
                      : (glong)(n_columns - strlen(text));
    append_spaces(out, column - (glong)(out->len - start));
    g_string_append(out, text);
  }
}

/* A mark where an iteration ends, with its number and time before it. */
static void
append_marks(GString *out, const RaTimeline *timeline, guint n_columns)
{
  double column_s = (timeline->to_s - timeline->from_s) / n_columns;
  gsize start = out->len;
  double last_s = 0;

  for (guint i = 0; i < timeline->marks->len; i++) {
    const RaTimelineMark *mark =
        &g_array_index(timeline->marks, RaTimelineMark, i);
    g_autofree char *time =
        ra_plot_time(timeline, mark->end_s - (i ? last_s : mark->begin_s));
    g_autofree char *text =
        g_strdup_printf("iteration %u: %s", mark->iteration, time);
    glong used = (glong)(out->len - start);
    glong end;

    last_s = mark->end_s;
    if (mark->end_s <= timeline->from_s)
      continue;
    end = (glong)((MIN(mark->end_s, timeline->to_s) - timeline->from_s) /
                      column_s +
                  0.5);
    if (end - used < (glong)strlen(text) + 1) {
      g_free(text);
      text = g_strdup_printf("%u", mark->iteration);
    }
    if (end - used < (glong)strlen(text) + 1)
      continue;
    append_spaces(out, (end - 1 - used - (glong)strlen(text)) / 2);
    g_string_append(out, text);
    append_spaces(out, end - 1 - (glong)(out->len - start));
    g_string_append_c(out, mark->end_s <= timeline->to_s ? '|' : '>');
  }
}

static void
append_entry(GString *out, gsize *line, guint n_columns, const char *entry)
{
  gsize n = (gsize)g_utf8_strlen(entry, -1);

  if (*line + n + 3 > n_columns) {
    g_string_append(out, "\n");
    *line = 0;
  }
  g_string_append_printf(out, "%s%s", *line ? "   " : "", entry);
  *line += n + (*line ? 3 : 0);
}

static void
append_legend(GString *out, const RaTimeline *timeline, guint n_columns)
{
  gsize line = 0;
  gboolean light = FALSE;

  for (guint i = 0; i < timeline->calls->len; i++) {
    const RaTimelineCall *call = g_ptr_array_index(timeline->calls, i);
    uint16_t style = (uint16_t)(i * RA_N_SHADES + RA_SHADE_FULL);
    g_autofree char *entry =
        g_strdup_printf("%c %s", letter_of(timeline, style), call->name);

    append_entry(out, &line, n_columns, entry);
    light |= call->shades[RA_SHADE_LIGHT];
  }
  g_string_append_c(out, '\n');
  line = 0;
  if (light)
    append_entry(out, &line, n_columns, "a small: forward, prefill");
  append_entry(out, &line, n_columns, "= reallocation");
  append_entry(out, &line, n_columns, "~ offload, reload");
  append_entry(out, &line, n_columns, "- data transfer");
  append_entry(out, &line, n_columns, "* exposed communication");
  append_entry(out, &line, n_columns, ". idle");
  g_string_append_c(out, '\n');
}

char *
ra_plot_text(const RaTimeline *timeline, const RaPlotHead *head,
             guint n_columns)
{
  GString *out = g_string_new(NULL);
  glong n_label = 0;
  guint n_axis;

  for (guint i = 0; i < timeline->lanes->len; i++) {
    const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);

    n_label = MAX(n_label, g_utf8_strlen(lane->label, -1));
  }
  n_axis = n_columns - MIN((guint)n_label + 2, n_columns / 2);
  g_string_append_printf(out, "%s\n%s\n\n", head->title, head->subtitle);
  append_spaces(out, n_label + 2);
  append_marks(out, timeline, n_axis);
  g_string_append_c(out, '\n');
  for (guint i = 0; i < timeline->lanes->len; i++) {
    const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);

    g_string_append(out, lane->label);
    append_spaces(out, n_label + 2 - g_utf8_strlen(lane->label, -1));
    append_lane(out, timeline, lane, n_axis);
    g_string_append_c(out, '\n');
  }
  append_spaces(out, n_label + 2);
  append_axis(out, timeline, n_axis);
  g_string_append(out, "\n\n");
  append_legend(out, timeline, n_columns);
  return g_string_free(out, FALSE);
}

static void
append_row(GString *out, guint lane, const char *gpus, const char *track,
           const char *call, const char *shade, double begin_s, double end_s,
           guint n_rows)
{
  char begin[G_ASCII_DTOSTR_BUF_SIZE], end[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd(begin, sizeof begin, "%.9f", begin_s);
  g_ascii_formatd(end, sizeof end, "%.9f", end_s);
  g_string_append_printf(out, "%u\t%s\t%s\t%s\t%s\t%s\t%s\t%u\n", lane, gpus,
                         track, call, shade, begin, end, n_rows);
}

static void
append_track(GString *out, const RaTimeline *timeline, guint lane_index,
             const char *track, const GArray *boxes)
{
  const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, lane_index);

  for (guint i = 0; i < boxes->len; i++) {
    const RaTimelineBox *box = &g_array_index(boxes, RaTimelineBox, i);
    const char *shade = ra_timeline_shade_name(timeline, box->style);

    append_row(out, lane_index, lane->label, track,
               ra_timeline_style_name(timeline, box->style),
               shade[0] ? shade : "-", box->begin_s, box->end_s, box->n_rows);
  }
}

/* Rows of the critical path, in order of time. */
static void
append_path(GString *out, const RaTimeline *timeline, const GArray *path)
{
  for (guint i = 0; path && i < path->len; i++) {
    const RaTimelineStretch *part = &g_array_index(path, RaTimelineStretch, i);
    const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, part->lane);

    append_row(out, part->lane, lane->label, "path",
               *part->call ? part->call : "-", "-", part->begin_s, part->end_s,
               part->n_rows);
  }
}

char *
ra_plot_data(const RaTimeline *timeline, const RaPlotHead *head,
             const GArray *path)
{
  GString *out = g_string_new("# reallot timeline 1\n");

  ra_quote_comment(out, "%s", head->title);
  ra_quote_comment(out, "%s", head->subtitle);
  g_string_append(
      out,
      "# times in seconds from the start of the run; rows: rows of the trace "
      "in the box\n"
      "lane\tgpus\ttrack\tcall\tshade\tbegin_s\tend_s\trows\n");
  for (guint i = 0; i < timeline->lanes->len; i++) {
    const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);

    append_track(out, timeline, i, "upper", lane->upper);
    append_track(out, timeline, i, "lower", lane->lower);
  }
  append_path(out, timeline, path);
  return g_string_free(out, FALSE);
}
