/* Plots: sizes, titles, gnuplot and files. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/plot/picture.h"
#include "study/plot/plot_impl.h"

#define DEFAULT_WIDTH_PX 1200
#define MIN_WIDTH_PX 400
#define MAX_SIDE_PX 20000
#define MIN_LANE_PX 20 /* a lane with its label */
#define LEGEND_PX 162  /* without calls: nine lines */
#define LEGEND_LINE_PX 18
#define DEFAULT_COLUMNS 100
#define MIN_COLUMNS 40
#define MAX_COLUMNS 1000
#define TEXT_OTHER_LINES 8 /* title, axis, legend */

/* A lane's height where there is room. */
static guint
lane_px(guint n_lanes)
{
  return n_lanes <= 2   ? 96
         : n_lanes <= 4 ? 72
         : n_lanes <= 8 ? 48
         : n_lanes < 16 ? 36
                        : 26;
}

static gboolean
find_format(const char *path, RaPlotFormat *out_format, GError **error)
{
  static const char *const endings[] = {".svg", ".png", ".pdf"};
  const char *dot;

  for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
    if (!g_str_has_suffix(path, endings[i]))
      continue;
    *out_format = (RaPlotFormat)i;
    return TRUE;
  }
  dot = strrchr(path, '.');
  if (dot == NULL || strchr(dot, '/'))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no ending, expected .svg, .png or .pdf", path);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: unknown ending '%s', expected .svg, .png or .pdf", path,
                dot);
  return FALSE;
}

/* "share/clusters/h100-16n.cluster" -> "h100-16n"; (nullable). */
static char *
short_name(const RaTrace *trace, const char *key)
{
  const char *value = ra_trace_head(trace, key);
  char *name, *dot;

  if (value == NULL || value[0] == '\0')
    return NULL;
  name = g_path_get_basename(value);
  dot = strrchr(name, '.');
  if (dot && dot != name)
    *dot = '\0';
  return name;
}

/* "1,024 GPUs", "3 iterations of 41.2 s", how it was made. */
static char *
make_subtitle(const RaTrace *trace, const RaTimeline *timeline)
{
  const char *source = ra_trace_head(trace, "source");
  GString *text = g_string_new(NULL);

  if (source && strcmp(source, "simulate") == 0)
    g_string_append(text, "simulated, ");
  else if (source && strcmp(source, "run") == 0)
    g_string_append(text, "measured, ");
  if (timeline->sides)
    g_string_append(text, "the same tasks, simulated above, measured below");
  else if (timeline->n_gpus >= 1000)
    g_string_append_printf(text, "%u,%03u GPUs", timeline->n_gpus / 1000,
                           timeline->n_gpus % 1000);
  else
    g_string_append_printf(text, "%u GPU%s", timeline->n_gpus,
                           timeline->n_gpus == 1 ? "" : "s");
  if (timeline->fold_frac > 0)
    g_string_append_printf(text,
                           "; GPUs that differ in under %.3g %% of the time "
                           "share the row of the first",
                           100 * timeline->fold_frac);
  else
    g_string_append(text, "; GPUs that do the same share a row");
  return g_string_free(text, FALSE);
}

static RaPlotHead
make_head(const RaTrace *trace, const RaTimeline *timeline,
          const RaPlotOptions *options)
{
  g_autofree char *workload = short_name(trace, "workload");
  g_autofree char *cluster = short_name(trace, "cluster");
  g_autofree char *time = ra_plot_time(timeline, timeline->iteration_s);
  RaPlotHead head;

  if (options->title)
    head.title = g_strdup(options->title);
  else
    head.title = g_strdup_printf(
        "%s%s%s: %s per iteration", workload ? workload : "timeline",
        cluster ? " on " : "", cluster ? cluster : "", time);
  head.subtitle = make_subtitle(trace, timeline);
  return head;
}

static void
clear_head(RaPlotHead *head)
{
  g_free(head->title);
  g_free(head->subtitle);
}

/* Picture and data, the picture first, so that a failure leaves neither; only
 * where gnuplot is missing the data are of use alone. */
static gboolean
draw(const RaTimeline *timeline, const RaPlotHead *head, const GArray *path,
     const RaPlotOptions *options, RaPlotFormat format, GError **error)
{
  g_autofree char *data = ra_plot_data(timeline, head, path);
  guint width_px = options->width_px ? options->width_px : DEFAULT_WIDTH_PX;
  guint height_px = options->height_px;
  g_autofree char *script = NULL;

  if (height_px == 0)
    height_px = RA_PLOT_ABOVE_PX + RA_PLOT_BELOW_PX +
                timeline->lanes->len * lane_px(timeline->lanes->len);
  /* gnuplot leaves out of the legend what has no room. */
  height_px = MAX(height_px,
                  RA_PLOT_ABOVE_PX + RA_PLOT_BELOW_PX + LEGEND_PX +
                      LEGEND_LINE_PX * (timeline->calls->len + (path != NULL)));
  script = ra_plot_script(timeline, head, path, format,
                          CLAMP(width_px, MIN_WIDTH_PX, MAX_SIDE_PX),
                          MIN(height_px, MAX_SIDE_PX));
  return ra_picture_write(options->path, options->data_path, data, script,
                          error);
}

static gboolean
write_text(const RaTimeline *timeline, const RaPlotHead *head,
           const GArray *path, const RaPlotOptions *options, guint n_columns,
           char **out_text, GError **error)
{
  if (options->data_path) {
    g_autofree char *data = ra_plot_data(timeline, head, path);

    if (!ra_file_write(options->data_path, data, strlen(data), error))
      return FALSE;
  }
  *out_text = ra_plot_text(timeline, head, n_columns);
  return TRUE;
}

gboolean
ra_plot_timeline(const RaTrace *trace, const RaPlotOptions *options,
                 char **out_text, GError **error)
{
  g_return_val_if_fail(trace != NULL && options != NULL, FALSE);
  g_return_val_if_fail(options->path != NULL || out_text != NULL, FALSE);

  RaTimelineOptions window = {
      .from_s = options->from_s,
      .to_s = options->to_s,
      .iteration = options->iteration,
      .width_px = options->width_px ? options->width_px : DEFAULT_WIDTH_PX,
      .gpus_per_node = options->gpus_per_node,
      .sides = options->sides,
  };
  guint height_px = options->height_px;
  guint n_columns = options->width_px ? options->width_px : DEFAULT_COLUMNS;
  g_autoptr(RaTimeline) timeline = NULL;
  g_autoptr(GArray) path = NULL;
  RaPlotFormat format = RA_PLOT_SVG;
  RaPlotHead head;
  gboolean done;

  n_columns = CLAMP(n_columns, MIN_COLUMNS, MAX_COLUMNS);
  if (options->path == NULL) {
    window.width_px = n_columns;
    if (height_px > TEXT_OTHER_LINES)
      window.max_lanes = height_px - TEXT_OTHER_LINES;
  } else {
    if (!find_format(options->path, &format, error))
      return FALSE;
    if (height_px > 0)
      window.max_lanes =
          MAX(height_px, RA_PLOT_ABOVE_PX + RA_PLOT_BELOW_PX + LEGEND_PX) -
          RA_PLOT_ABOVE_PX - RA_PLOT_BELOW_PX;
    window.max_lanes /= MIN_LANE_PX;
    /* Labels and legend take a third or a little less. */
    window.width_px = CLAMP(window.width_px, MIN_WIDTH_PX, MAX_SIDE_PX) / 3 * 2;
  }
  timeline = ra_timeline_new(trace, &window, error);
  if (timeline == NULL)
    return FALSE;
  if (options->critical)
    path = ra_timeline_path(timeline, options->critical);
  head = make_head(trace, timeline, options);
  done = options->path ? draw(timeline, &head, path, options, format, error)
                       : write_text(timeline, &head, path, options, n_columns,
                                    out_text, error);
  clear_head(&head);
  return done;
}
