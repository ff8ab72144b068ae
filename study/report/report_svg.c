/* Pictures of a report: timeline, and what is common to all. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/palette.h"
#include "study/report/report_impl.h"

#define NAME_PX 130   /* for names beside a picture */
#define LANE_PX 30    /* a lane: its two tracks and a gap */
#define UPPER_PX 16   /* what computes */
#define LOWER_PX 8    /* communication */
#define PATH_PX 2     /* below both: the critical path */
#define FOOT_PX 34    /* the axis */
#define LEGEND_PX 18  /* a line of names of colours */
#define LEGEND_N 5    /* in a line */
#define TICKS 8       /* about */
#define LABEL_PX 60.0 /* narrower boxes have no name on them */

void
ra_report_escape(GString *out, const char *text)
{
  g_autofree char *safe = g_markup_escape_text(text, -1);

  g_string_append(out, safe);
}

static void
open_svg(GString *out, double height_px, const char *title)
{
  g_string_append_printf(out,
                         "<div class=\"chart\"><svg viewBox=\"0 0 %d %.0f\" "
                         "role=\"img\" aria-label=\"%s\">\n",
                         RA_REPORT_WIDTH_PX, height_px, title);
}

/* A filled box whose text the mouse shows; @title is escaped. */
static void
put_box(GString *out, double x, double y, double w, double h, uint32_t color,
        const char *title)
{
  g_string_append_printf(out,
                         "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
                         "height=\"%.1f\" fill=\"#%06" PRIx32 "\"><title>",
                         x, y, MAX(w, 0.3), h, color);
  ra_report_escape(out, title);
  g_string_append(out, "</title></rect>\n");
}

static void
put_text(GString *out, double x, double y, const char *anchor, const char *text)
{
  g_string_append_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                         x, y, anchor);
  ra_report_escape(out, text);
  g_string_append(out, "</text>\n");
}

/* A round step that cuts @range in about TICKS: 1, 2 or 5 times ten to some
 * power. */
static double
step_of(double range)
{
  double raw = range / TICKS, power = pow(10, floor(log10(raw)));
  double digit = raw / power;

  return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

/* Names of colours in lines, from @y down; the height that they took. */
static double
put_legend(GString *out, double y, const GPtrArray *names, const GArray *colors)
{
  double width = (double)RA_REPORT_WIDTH_PX / LEGEND_N;

  for (guint i = 0; i < names->len; i++) {
    double x = width * (i % LEGEND_N), at = y + LEGEND_PX * (i / LEGEND_N);

    put_box(out, x, at + 3, 11, 11, g_array_index(colors, uint32_t, i),
            names->pdata[i]);
    put_text(out, x + 15, at + 13, "start", names->pdata[i]);
  }
  return LEGEND_PX * ((names->len + LEGEND_N - 1) / LEGEND_N);
}

/* ---- Timeline -------------------------------------------------------- */

/* From seconds to pixels. */
static double
place(const RaTimeline *t, double at_s)
{
  return NAME_PX + (RA_REPORT_WIDTH_PX - NAME_PX - 4) *
                       (CLAMP(at_s, t->from_s, t->to_s) - t->from_s) /
                       (t->to_s - t->from_s);
}

static void
put_track(GString *out, const RaTimeline *t, const GArray *boxes, double y,
          double height)
{
  for (guint i = 0; i < boxes->len; i++) {
    const RaTimelineBox *box = &g_array_index(boxes, RaTimelineBox, i);
    const char *shade = ra_timeline_shade_name(t, box->style);
    g_autofree char *title = g_strdup_printf(
        "%s%s%s, %.4g to %.4g s (%.4g s)%s",
        ra_timeline_style_name(t, box->style), shade && *shade ? ": " : "",
        shade ? shade : "", box->begin_s, box->end_s, box->end_s - box->begin_s,
        box->n_rows > 1 ? ", several" : "");
    double x = place(t, box->begin_s);

    put_box(out, x, y, place(t, box->end_s) - x, height,
            ra_timeline_color(t, box->style), title);
  }
}

/* Line of the critical path, below the lanes that it is on. */
static void
put_path(GString *out, const RaTimeline *t, const RaTrace *path)
{
  g_autoptr(GArray) parts = ra_timeline_path(t, path);

  for (guint i = 0; i < parts->len; i++) {
    const RaTimelineStretch *part = &g_array_index(parts, RaTimelineStretch, i);
    g_autofree char *title =
        g_strdup_printf("critical path: %s, %.4g to %.4g s", part->call,
                        part->begin_s, part->end_s);
    double x = place(t, part->begin_s);

    put_box(out, x, LANE_PX * part->lane + UPPER_PX + LOWER_PX + 2,
            place(t, part->end_s) - x, PATH_PX, RA_TIMELINE_PATH_COLOR, title);
  }
}

static void
put_axis(GString *out, const RaTimeline *t, double height)
{
  double step = step_of(t->to_s - t->from_s);

  for (double at = ceil(t->from_s / step) * step; at <= t->to_s; at += step) {
    g_autofree char *text = g_strdup_printf("%.6g s", at);

    g_string_append_printf(out,
                           "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" "
                           "y2=\"%.1f\" class=\"grid\"/>\n",
                           place(t, at), place(t, at), height);
    put_text(out, place(t, at), height + 16, "middle", text);
  }
}

/* Names of calls where they have room. */
static void
put_spans(GString *out, const RaTimeline *t)
{
  for (guint i = 0; i < t->spans->len; i++) {
    const RaTimelineSpan *span = &g_array_index(t->spans, RaTimelineSpan, i);
    const RaTimelineCall *call = t->calls->pdata[span->call];
    double from = place(t, span->begin_s), to = place(t, span->end_s);

    if (to - from < MAX(LABEL_PX, 7.0 * (double)strlen(call->name)))
      continue;
    g_string_append(out, "<g class=\"label\">");
    put_text(out, (from + to) / 2,
             LANE_PX * (span->first_lane + span->n_lanes / 2.0) - 2, "middle",
             call->name);
    g_string_append(out, "</g>");
  }
}

static void
put_styles(GString *out, const RaTimeline *t, double y)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GArray) colors = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  for (guint s = 0; s < t->calls->len * RA_N_SHADES + RA_N_STYLES; s++) {
    const RaTimelineCall *call = ra_timeline_call(t, (uint16_t)s);
    uint32_t color = ra_timeline_color(t, (uint16_t)s);

    if (call ? s % RA_N_SHADES != RA_SHADE_FULL : FALSE)
      continue;
    g_ptr_array_add(names, g_strdup(ra_timeline_style_name(t, (uint16_t)s)));
    g_array_append_val(colors, color);
  }
  put_legend(out, y, names, colors);
}

void
ra_report_timeline(GString *out, const RaTimeline *t, const RaTrace *path)
{
  double height = LANE_PX * t->lanes->len;
  guint n_styles = t->calls->len + RA_N_STYLES;

  open_svg(out,
           height + FOOT_PX +
               LEGEND_PX * ((n_styles + LEGEND_N - 1) / LEGEND_N),
           "timeline");
  put_axis(out, t, height);
  for (guint i = 0; i < t->lanes->len; i++) {
    const RaTimelineLane *lane = t->lanes->pdata[i];

    put_text(out, NAME_PX - 6, LANE_PX * i + UPPER_PX - 3, "end", lane->label);
    put_track(out, t, lane->upper, LANE_PX * i, UPPER_PX);
    put_track(out, t, lane->lower, LANE_PX * i + UPPER_PX + 1, LOWER_PX);
  }
  put_path(out, t, path);
  put_spans(out, t);
  put_styles(out, t, height + FOOT_PX - 10);
  g_string_append(out, "</svg></div>\n");
}

/* ---- Memory ---------------------------------------------------------- */

/* The area between two edges of @rows, and the colour of band @b of @n. */
static void
put_band(GString *out, char **rows, guint n_rows, guint b, guint n,
         const char *name, double end_s, double top_gib, double height)
{
  uint32_t color = b == 0       ? 0x808080
                   : b + 2 >= n ? 0xd0d0d0 - 0x202020 * (n - 1 - b)
                                : ra_palette_color(b - 1);
  g_autoptr(GString) below = g_string_new(NULL);
  double most = 0;

  g_string_append_printf(out, "<path fill=\"#%06" PRIx32 "\" d=\"M", color);
  for (guint r = 0; r < n_rows; r++) {
    g_auto(GStrv) cells = g_strsplit(rows[r], "\t", -1);
    double at_s = g_ascii_strtod(cells[0], NULL);
    double high = g_ascii_strtod(cells[b + 1], NULL);
    double low = b > 0 ? g_ascii_strtod(cells[b], NULL) : 0;
    double x = NAME_PX + (RA_REPORT_WIDTH_PX - NAME_PX - 4) * at_s / end_s;
    g_autofree char *point = NULL;

    most = MAX(most, high - low);
    g_string_append_printf(out, "%.1f %.1f ", x, height * (1 - high / top_gib));
    point = g_strdup_printf("%.1f %.1f ", x, height * (1 - low / top_gib));
    g_string_prepend(below, point);
  }
  g_string_append_printf(out, "%sZ\"><title>", below->str);
  ra_report_escape(out, name);
  g_string_append_printf(out, ": peak %.2f GiB</title></path>\n", most);
}

void
ra_report_memory(GString *out, const char *data, double capacity_gib)
{
  g_auto(GStrv) lines = g_strsplit(data, "\n", -1);
  g_auto(GStrv) heads = g_strsplit(lines[1], "\t", -1);
  g_auto(GStrv) last = NULL;
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GArray) colors = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  guint n = g_strv_length(heads) - 1, n_rows = 0;
  double height = 260, top = capacity_gib * 1.05, end_s;

  while (lines[2 + n_rows] && *lines[2 + n_rows])
    n_rows++;
  last = g_strsplit(lines[1 + n_rows], "\t", -1);
  end_s = MAX(1e-12, g_ascii_strtod(last[0], NULL));
  for (guint r = 0; r < n_rows; r++) {
    const char *edge = strrchr(lines[2 + r], '\t');

    top = MAX(top, 1.05 * g_ascii_strtod(edge + 1, NULL));
  }
  open_svg(out, height + 28 + LEGEND_PX * ((n + LEGEND_N - 1) / LEGEND_N),
           "memory by component");
  for (guint b = 0; b < n; b++) {
    uint32_t color = b == 0       ? 0x808080
                     : b + 2 >= n ? 0xd0d0d0 - 0x202020 * (n - 1 - b)
                                  : ra_palette_color(b - 1);

    put_band(out, lines + 2, n_rows, b, n, heads[b + 1], end_s, top, height);
    g_ptr_array_add(names, heads[b + 1]);
    g_array_append_val(colors, color);
  }
  for (double at = 0; at <= top; at += step_of(top)) {
    g_autofree char *text = g_strdup_printf("%.4g GiB", at);

    put_text(out, NAME_PX - 6, height * (1 - at / top) + 4, "end", text);
  }
  g_string_append_printf(out,
                         "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" "
                         "class=\"limit\"><title>memory of the GPU: %.4g GiB"
                         "</title></line>\n",
                         NAME_PX, RA_REPORT_WIDTH_PX - 4,
                         height * (1 - capacity_gib / top),
                         height * (1 - capacity_gib / top), capacity_gib);
  put_legend(out, height + 12, names, colors);
  g_string_append(out, "</svg></div>\n");
}

/* ---- Bars ------------------------------------------------------------ */

/* Uses of a GPU's time; the last two belong to no call. */
static const char *const causes[] = {
    "compute",      "exposed communication", "host", "bubble",
    "interference", "reallocation",          "idle"};
#define N_CAUSES G_N_ELEMENTS(causes)

static uint32_t
cause_color(guint i)
{
  return i == N_CAUSES - 1 ? 0xe4e4e4 : ra_palette_color(i);
}

static void
put_causes(GString *out, double y, const char *name, const double *gpu_s,
           double all)
{
  double x = NAME_PX, sum = 0;
  double scale = (RA_REPORT_WIDTH_PX - NAME_PX - 80) / all;
  g_autofree char *share = NULL;

  put_text(out, NAME_PX - 6, y + 14, "end", name);
  for (guint i = 0; i < N_CAUSES; i++) {
    g_autofree char *title =
        g_strdup_printf("%s: %s, %.4g GPU-seconds per iteration, %.1f %%", name,
                        causes[i], gpu_s[i], 100 * gpu_s[i] / all);

    if (gpu_s[i] <= 0)
      continue;
    put_box(out, x, y, gpu_s[i] * scale, 20, cause_color(i), title);
    x += gpu_s[i] * scale;
    sum += gpu_s[i];
  }
  share = g_strdup_printf("%.1f %%", 100 * sum / all);
  put_text(out, x + 5, y + 14, "start", share);
}

void
ra_report_causes(GString *out, const RaBreakdown *b, const RaWorkload *workload)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GArray) colors = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  double all = MAX(1e-12, b->n_gpus * b->iteration_s);
  double rest[N_CAUSES] = {0};

  rest[N_CAUSES - 2] = b->realloc_gpu_s;
  open_svg(out, 26.0 * (b->n_calls + 2) + 2 * LEGEND_PX + 8, "GPU time");
  for (guint i = 0; i < b->n_calls; i++) {
    const RaCallShare *c = &b->calls[i];
    double parts[N_CAUSES] = {c->compute_gpu_s, c->comm_gpu_s, c->host_gpu_s,
                              c->bubble_gpu_s, c->interference_gpu_s};

    put_causes(out, 26.0 * i, workload->calls[c->call].name, parts, all);
  }
  put_causes(out, 26.0 * b->n_calls, "reallocation", rest, all);
  memset(rest, 0, sizeof rest);
  rest[N_CAUSES - 1] = b->idle_gpu_s;
  put_causes(out, 26.0 * (b->n_calls + 1), "idle", rest, all);
  for (guint i = 0; i < N_CAUSES; i++) {
    uint32_t color = cause_color(i);

    g_ptr_array_add(names, (void *)causes[i]);
    g_array_append_val(colors, color);
  }
  put_legend(out, 26.0 * (b->n_calls + 2) + 4, names, colors);
  g_string_append(out, "</svg></div>\n");
}

/* One side of a row of the tornado: hatched where it is less. */
static void
put_side(GString *out, double y, const RaResponse *r, const RaTrial *trial,
         const char *how, double zero, double scale, gboolean less)
{
  double frac = ra_response_frac(r, trial);
  g_autofree char *title = NULL;

  if (!isfinite(frac))
    return;
  title = g_strdup_printf(
      "%s %s: %+.1f %%%s", how, ra_response_title(r), 100 * frac,
      trial->refusal || ra_trial_fits(trial) ? "" : ", does not fit");
  put_box(out, zero + MIN(0, frac) * scale, y, fabs(frac) * scale, 9,
          less ? ra_palette_tint(ra_palette_color(1), 0.45)
               : ra_palette_color(0),
          title);
}

void
ra_report_tornado(GString *out, const RaSensitivity *s)
{
  double low = 0, high = 0, scale, zero;
  guint n = s->responses->len;
  double left = 230, width = RA_REPORT_WIDTH_PX - 240;

  for (guint i = 0; i < n; i++) {
    const RaResponse *r = &g_array_index(s->responses, RaResponse, i);
    double a = ra_response_frac(r, &r->more), b = ra_response_frac(r, &r->less);

    low = MIN(low, MIN(isfinite(a) ? a : 0, isfinite(b) ? b : 0));
    high = MAX(high, MAX(isfinite(a) ? a : 0, isfinite(b) ? b : 0));
  }
  scale = width / MAX(1e-6, high - low);
  zero = left - low * scale;
  open_svg(out, 24.0 * n + 44, "sensitivity");
  for (guint i = 0; i < n; i++) {
    const RaResponse *r = &g_array_index(s->responses, RaResponse, i);

    put_text(out, left - 8, 24.0 * i + 13, "end", ra_response_title(r));
    put_side(out, 24.0 * i + 1, r, &r->more, "more", zero, scale, FALSE);
    if (!r->is_one_sided)
      put_side(out, 24.0 * i + 11, r, &r->less, "less", zero, scale, TRUE);
  }
  for (double at = -floor(-low / step_of(high - low + 1e-6)) *
                   step_of(high - low + 1e-6);
       at <= high + 1e-9; at += step_of(high - low + 1e-6)) {
    g_autofree char *text = g_strdup_printf("%+.3g %%", 100 * at);

    put_text(out, zero + at * scale, 24.0 * n + 16, "middle", text);
  }
  g_string_append_printf(out,
                         "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%.1f\" "
                         "class=\"zero\"/>\n",
                         zero, zero, 24.0 * n);
  put_box(out, left, 24.0 * n + 26, 11, 11, ra_palette_color(0), "more");
  put_text(out, left + 15, 24.0 * n + 36, "start", "more of it");
  put_box(out, left + 110, 24.0 * n + 26, 11, 11,
          ra_palette_tint(ra_palette_color(1), 0.45), "less");
  put_text(out, left + 125, 24.0 * n + 36, "start", "less of it");
  g_string_append(out, "</svg></div>\n");
}
