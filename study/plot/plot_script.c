/* gnuplot script of a timeline: data, axes, names, legend. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/palette.h"
#include "base/quote.h"
#include "study/plot/plot_impl.h"

#define CHAR_PX 6.6  /* mean width of a character of the names, sans 10 */
#define LABEL_PX 7.0 /* and of the lanes' labels */
#define WIDE_PX                                                                \
  4.0                /* boxes at least this wide are set apart by white lines  \
                      */
#define MARGIN_PX 16 /* at the sides */
/* An empty line of the legend: a white box. */
#define BLANK                                                                  \
  ", \\\n keyentry with boxes fs solid 1 noborder lc rgb 'white' title ' '"
/* Reallocation is hatched: its grey is no call's, but in print a call's hue
 * may be such a grey. */
#define HATCH "transparent pattern 4 border rgb '#606060'"
#define SAMPLE_PX 44 /* of the legend's boxes with their space */

/* Tracks of a lane, as shares of its height from the top. */
#define UPPER_TOP 0.08
#define UPPER_BOTTOM 0.66
#define LOWER_TOP 0.70
#define LOWER_BOTTOM 0.90
#define PATH_AT 0.95 /* line of the critical path */
#define PATH_LW 2.5  /* its width */

/* Sizes and the window of a picture. */
typedef struct {
  const RaTimeline *timeline;
  const GArray *path; /* nullable: of the timeline (RaTimelineStretch) */
  guint width_px;     /* of the picture */
  guint height_px;    /* of the picture */
  double left_px;     /* beside the axis: labels */
  double axis_px;     /* width of the axis */
  double px_per_s;    /* along it */
  double lane_px;     /* height of a lane */
  double scale;       /* of times on the axis, per second */
  const char *unit;   /* of these */
  gboolean *used;     /* (styles) some box has it */
  guint n_styles;     /* of the timeline */
} Sheet;

/* Unit of times that suits a window; times in it are seconds times @out_scale.
 */
static const char *
time_unit(double window_s, double *out_scale)
{
  static const struct {
    double from_s; /* windows at least this long */
    double scale;  /* per second */
    const char *name;
  } units[] = {
      {4 * 86400.0, 1 / 86400.0, "days"},
      {4 * 3600.0, 1 / 3600.0, "h"},
      {600, 1 / 60.0, "min"},
      {1, 1, "s"},
      {1e-3, 1e3, "ms"},
      {0, 1e6, "us"},
  };
  guint i = 0;

  while (window_s < units[i].from_s)
    i++;
  *out_scale = units[i].scale;
  return units[i].name;
}

char *
ra_plot_time(const RaTimeline *timeline, double time_s)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  double scale;
  const char *unit = time_unit(timeline->to_s - timeline->from_s, &scale);

  g_ascii_formatd(number, sizeof number, "%.3g", time_s * scale);
  if (time_s * scale >= 1000)
    g_ascii_formatd(number, sizeof number, "%.0f", time_s * scale);
  return g_strdup_printf("%s %s", number, unit);
}

static void
append_real(GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append(out, g_ascii_formatd(text, sizeof text, "%.12g", value));
}

static double
legend_px(const RaTimeline *timeline)
{
  glong n = (glong)strlen("communication, exposed");

  for (guint i = 0; i < timeline->calls->len; i++) {
    const RaTimelineCall *call = g_ptr_array_index(timeline->calls, i);

    n = MAX(n, 3 + g_utf8_strlen(call->name, -1));
  }
  return SAMPLE_PX + LABEL_PX * (double)MIN(n, 40);
}

static double
labels_px(const RaTimeline *timeline)
{
  glong n = 4;

  for (guint i = 0; i < timeline->lanes->len; i++) {
    const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);

    n = MAX(n, g_utf8_strlen(lane->label, -1));
  }
  return MARGIN_PX + LABEL_PX * (double)n;
}

/* Width of the time axis in a picture @width_px wide. */
static guint
axis_px(const RaTimeline *timeline, guint width_px)
{
  double left =
      width_px - labels_px(timeline) - legend_px(timeline) - 2 * MARGIN_PX;

  return (guint)MAX(left, width_px / 4.0);
}

static void
append_terminal(GString *out, const Sheet *sheet, RaPlotFormat format)
{
  static const char *const names[] = {"svg", "pngcairo", "pdfcairo"};
  double side = format == RA_PLOT_PDF ? 96 : 1;

  g_string_append(out, "set encoding utf8\n");
  g_string_append_printf(out, "set terminal %s noenhanced size ",
                         names[format]);
  append_real(out, sheet->width_px / side);
  g_string_append_c(out, ',');
  append_real(out, sheet->height_px / side);
  g_string_append(out, format == RA_PLOT_SVG
                           ? " font 'Helvetica,Arial,sans-serif,12'"
                           : " font 'sans,9'");
  g_string_append(out, " background rgb 'white'\n");
}

/* A text @x_px from the left and @y_px from the top of the picture. */
static void
append_text_at(GString *out, const Sheet *sheet, double x_px, double y_px,
               const char *text, const char *style)
{
  g_string_append(out, "set label ");
  ra_quote_gnuplot(out, "%s", text);
  g_string_append(out, " at screen ");
  append_real(out, x_px / sheet->width_px);
  g_string_append_c(out, ',');
  append_real(out, 1 - y_px / sheet->height_px);
  g_string_append_printf(out, " %s\n", style);
}

static void
append_axes(GString *out, const Sheet *sheet)
{
  const RaTimeline *timeline = sheet->timeline;

  g_string_append(out, "set lmargin at screen ");
  append_real(out, sheet->left_px / sheet->width_px);
  g_string_append(out, "\nset rmargin at screen ");
  append_real(out, (sheet->left_px + sheet->axis_px) / sheet->width_px);
  g_string_append(out, "\nset tmargin at screen ");
  append_real(out, 1 - (double)RA_PLOT_ABOVE_PX / sheet->height_px);
  g_string_append(out, "\nset bmargin at screen ");
  append_real(out, (double)RA_PLOT_BELOW_PX / sheet->height_px);
  g_string_append(out, "\nset xrange [");
  append_real(out, timeline->from_s * sheet->scale);
  g_string_append_c(out, ':');
  append_real(out, timeline->to_s * sheet->scale);
  g_string_append_printf(out,
                         "]\nset yrange [%u:0]\n"
                         "set border 1 lc rgb '#404040'\n"
                         "set xtics nomirror out scale 0.6 "
                         "tc rgb '#404040'\n"
                         "set ytics scale 0 tc rgb 'black'\n"
                         "set xlabel ",
                         timeline->lanes->len);
  ra_quote_gnuplot(out, "time (%s)", sheet->unit);
  g_string_append(out, " tc rgb '#404040'\n");
  g_string_append(out, "set ytics (");
  for (guint i = 0; i < timeline->lanes->len; i++) {
    const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);

    g_string_append(out, i ? ", " : "");
    ra_quote_gnuplot(out, "%s", lane->label);
    g_string_append_printf(out, " %u.48", i);
  }
  g_string_append(out, ")\n");
  /* Lanes are set apart by hairlines. */
  for (guint i = 1; i < timeline->lanes->len; i++)
    g_string_append_printf(out,
                           "set arrow from graph 0,first %u to graph 1,first "
                           "%u nohead lw 0.5 lc rgb '#dddddd' back\n",
                           i, i);
}

/* A line where an iteration ends and its number and time above. */
static void
append_marks(GString *out, const Sheet *sheet)
{
  const RaTimeline *timeline = sheet->timeline;
  double last_s = timeline->from_s, last_px = -100;

  for (guint i = 0; i < timeline->marks->len; i++) {
    const RaTimelineMark *mark =
        &g_array_index(timeline->marks, RaTimelineMark, i);
    double begin_s = MAX(last_s, timeline->from_s);
    double end_s = MIN(mark->end_s, timeline->to_s);
    double width_px = (end_s - begin_s) * sheet->px_per_s;
    double x_px = sheet->left_px + (end_s - timeline->from_s) * sheet->px_per_s;
    g_autofree char *time =
        ra_plot_time(timeline, mark->end_s - (i ? last_s : mark->begin_s));
    g_autofree char *text = NULL;

    last_s = mark->end_s;
    if (end_s <= begin_s)
      continue;
    if (x_px - last_px >= 3) {
      g_string_append(out, "set arrow from first ");
      append_real(out, end_s * sheet->scale);
      g_string_append(out, ",graph 0 to first ");
      append_real(out, end_s * sheet->scale);
      g_string_append(out, ",screen ");
      append_real(out, 1 - (RA_PLOT_ABOVE_PX - 22.0) / sheet->height_px);
      g_string_append(out, " nohead lw 1 dt (4,3) lc rgb '#404040' front\n");
      last_px = x_px;
    }
    text = g_strdup_printf("iteration %u: %s", mark->iteration, time);
    if (width_px < LABEL_PX * (double)strlen(text)) {
      g_free(text);
      text = g_strdup_printf("%u", mark->iteration);
    }
    if (width_px >= LABEL_PX * (double)strlen(text) + 4)
      append_text_at(out, sheet, x_px - width_px / 2, RA_PLOT_ABOVE_PX - 14,
                     text, "center front tc rgb '#404040'");
  }
}

/* "actor_train", or its number in the legend, or %NULL: what fits. */
static char *
fitting_name(const char *name, guint number, double room_px)
{
  double n = (double)g_utf8_strlen(name, -1);

  if (room_px >= CHAR_PX * n)
    return g_strdup(name);
  return room_px >= CHAR_PX ? g_strdup_printf("%u", number) : NULL;
}

static void
append_names(GString *out, const Sheet *sheet)
{
  const RaTimeline *timeline = sheet->timeline;

  g_string_append(out, "set style textbox opaque noborder fillcolor rgb "
                       "'#30ffffff' margins 0.6,0.4\n");
  for (guint i = 0; i < timeline->spans->len; i++) {
    const RaTimelineSpan *span =
        &g_array_index(timeline->spans, RaTimelineSpan, i);
    const RaTimelineCall *call = g_ptr_array_index(timeline->calls, span->call);
    double width_px = (span->end_s - span->begin_s) * sheet->px_per_s;
    g_autofree char *name =
        fitting_name(call->name, span->call + 1, width_px - 8);
    guint lane = span->first_lane + (span->n_lanes - 1) / 2;

    if (name == NULL || sheet->lane_px < 16)
      continue;
    g_string_append(out, "set label ");
    ra_quote_gnuplot(out, "%s", name);
    g_string_append(out, " at first ");
    append_real(out, (span->begin_s + span->end_s) / 2 * sheet->scale);
    g_string_append_c(out, ',');
    append_real(out, lane + (UPPER_TOP + UPPER_BOTTOM) / 2);
    g_string_append(out, " center front boxed tc rgb 'black'\n");
  }
}

/* The boxes of @style, those at least WIDE_PX wide or the others. */
static gboolean
append_boxes(GString *out, const Sheet *sheet, guint style, gboolean wide)
{
  const RaTimeline *timeline = sheet->timeline;
  gboolean lower = style + 2 >= sheet->n_styles; /* exposed, hidden */
  gboolean any = FALSE;

  for (guint i = 0; i < timeline->lanes->len; i++) {
    const RaTimelineLane *lane = g_ptr_array_index(timeline->lanes, i);
    const GArray *boxes = lower ? lane->lower : lane->upper;

    for (guint j = 0; j < boxes->len; j++) {
      const RaTimelineBox *box = &g_array_index(boxes, RaTimelineBox, j);
      double width_px = (box->end_s - box->begin_s) * sheet->px_per_s;

      if (box->style != style || (width_px >= WIDE_PX) != wide)
        continue;
      if (!any)
        g_string_append_printf(out, "$s%u%c << EOD\n", style, wide ? 'w' : 't');
      any = TRUE;
      append_real(out, box->begin_s * sheet->scale);
      g_string_append_c(out, ' ');
      append_real(out, box->end_s * sheet->scale);
      g_string_append_c(out, ' ');
      append_real(out, i + (lower ? LOWER_TOP : UPPER_TOP));
      g_string_append_c(out, ' ');
      append_real(out, i + (lower ? LOWER_BOTTOM : UPPER_BOTTOM));
      g_string_append_c(out, '\n');
    }
  }
  if (any)
    g_string_append(out, "EOD\n");
  sheet->used[style] |= any;
  return any;
}

static void
append_key(GString *out, uint32_t color, const char *fill, const char *title)
{
  g_string_append_printf(out,
                         ", \\\n keyentry with boxes fs %s lc rgb '#%06x' "
                         "title ",
                         fill ? fill : "solid 1 noborder", color);
  ra_quote_gnuplot(out, "%s", title);
}

/* Calls in their full colour, then what the shades and the greys mean. */
static void
append_legend(GString *out, const Sheet *sheet)
{
  static const char *const names[RA_N_STYLES] = {
      "reallocation", "data transfer", "offload, reload",
      "communication, exposed", "communication, hidden"};
  const RaTimeline *timeline = sheet->timeline;
  guint n_calls = timeline->calls->len;
  gboolean light = FALSE, full = FALSE, dark = FALSE;
  const uint32_t grey = 0x8a8a8a;

  for (guint i = 0; i < n_calls; i++) {
    const RaTimelineCall *call = g_ptr_array_index(timeline->calls, i);
    g_autofree char *name = g_strdup_printf("%u  %s", i + 1, call->name);

    append_key(out, ra_palette_color(i), NULL, name);
    light |= call->shades[RA_SHADE_LIGHT];
    full |= call->shades[RA_SHADE_LIGHT] && call->shades[RA_SHADE_FULL];
    dark |= call->shades[RA_SHADE_DARK];
  }
  g_string_append(out, light || dark ? BLANK : "");
  if (light)
    append_key(out, ra_palette_tint(grey, 0.55), NULL,
               "light: forward, prefill");
  if (full)
    append_key(out, grey, NULL, "full: backward, decode");
  if (dark)
    append_key(out, ra_palette_shade(grey, 0.45), NULL, "dark: optimizer");
  g_string_append(out, BLANK);
  for (guint i = 0; i < RA_N_STYLES; i++) {
    guint style = n_calls * RA_N_SHADES + i;

    if (sheet->used[style])
      append_key(out, ra_timeline_color(timeline, (uint16_t)style),
                 i == RA_STYLE_REALLOC ? HATCH : NULL, names[i]);
  }
}

static const char *
fill_of(const Sheet *sheet, guint style, int wide)
{
  if (style == sheet->timeline->calls->len * RA_N_SHADES + RA_STYLE_REALLOC)
    return HATCH;
  return wide ? "solid 1 border rgb 'white'" : "solid 1 noborder";
}

/* The critical path: a line below the lanes that it is on. */
static gboolean
append_path(GString *out, const Sheet *sheet)
{
  if (!sheet->path || sheet->path->len == 0)
    return FALSE;
  g_string_append(out, "$path << EOD\n");
  for (guint i = 0; i < sheet->path->len; i++) {
    const RaTimelineStretch *part =
        &g_array_index(sheet->path, RaTimelineStretch, i);

    append_real(out, part->begin_s * sheet->scale);
    g_string_append_c(out, ' ');
    append_real(out, part->lane + PATH_AT);
    g_string_append_c(out, ' ');
    append_real(out, (part->end_s - part->begin_s) * sheet->scale);
    g_string_append(out, " 0\n");
  }
  g_string_append(out, "EOD\n");
  return TRUE;
}

static void
append_plot(GString *out, const Sheet *sheet)
{
  GString *plot = g_string_new("plot NaN notitle");
  gboolean marked = append_path(out, sheet);

  for (guint style = 0; style < sheet->n_styles; style++) {
    for (int wide = 0; wide <= 1; wide++) {
      if (!append_boxes(out, sheet, style, wide))
        continue;
      g_string_append_printf(
          plot,
          ", \\\n $s%u%c using 1:3:1:2:3:4 with boxxyerror fs %s "
          "lw 0.6 lc rgb '#%06x' notitle",
          style, wide ? 'w' : 't', fill_of(sheet, style, wide),
          ra_timeline_color(sheet->timeline, (uint16_t)style));
    }
  }
  if (marked)
    g_string_append_printf(plot,
                           ", \\\n $path using 1:2:3:4 with vectors nohead lw "
                           "%.1f lc rgb '#%06x' notitle",
                           PATH_LW, RA_TIMELINE_PATH_COLOR);
  append_legend(plot, sheet);
  if (marked)
    g_string_append_printf(plot,
                           ", \\\n keyentry with lines lw %.1f lc rgb '#%06x' "
                           "title 'critical path'",
                           PATH_LW, RA_TIMELINE_PATH_COLOR);
  g_string_append_printf(out, "%s\n", plot->str);
  g_string_free(plot, TRUE);
}

char *
ra_plot_script(const RaTimeline *timeline, const RaPlotHead *head,
               const GArray *path, RaPlotFormat format, guint width_px,
               guint height_px)
{
  GString *out = g_string_new(NULL);
  Sheet sheet = {
      .timeline = timeline,
      .path = path,
      .width_px = width_px,
      .height_px = MAX(height_px, RA_PLOT_ABOVE_PX + RA_PLOT_BELOW_PX + 40),
      .left_px = labels_px(timeline),
      .axis_px = axis_px(timeline, width_px),
      .n_styles = timeline->calls->len * RA_N_SHADES + RA_N_STYLES,
  };
  double window_s = timeline->to_s - timeline->from_s;

  sheet.px_per_s = sheet.axis_px / window_s;
  sheet.lane_px =
      (double)(sheet.height_px - RA_PLOT_ABOVE_PX - RA_PLOT_BELOW_PX) /
      timeline->lanes->len;
  sheet.unit = time_unit(window_s, &sheet.scale);
  sheet.used = g_new0(gboolean, sheet.n_styles);
  append_terminal(out, &sheet, format);
  append_text_at(out, &sheet, MARGIN_PX, 26, head->title,
                 format == RA_PLOT_SVG ? "left font ',16'" : "left font ',12'");
  append_text_at(out, &sheet, MARGIN_PX, 48, head->subtitle,
                 "left tc rgb '#404040'");
  append_axes(out, &sheet);
  append_marks(out, &sheet);
  append_names(out, &sheet);
  g_string_append(out, "set key at screen ");
  append_real(out, (sheet.left_px + sheet.axis_px + MARGIN_PX) / width_px);
  g_string_append(out, ", screen ");
  append_real(out, 1 - (double)(RA_PLOT_ABOVE_PX - 8) / sheet.height_px);
  g_string_append(out, " left top vertical maxrows 99 Left reverse "
                       "samplen 1.5 spacing ");
  append_real(out, format == RA_PLOT_SVG ? 0.95 : 1.2); /* 18 pixels */
  g_string_append_c(out, '\n');
  append_plot(out, &sheet);
  g_free(sheet.used);
  return g_string_free(out, FALSE);
}
