/* Memory plot of one GPU over time. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/palette.h"
#include "base/quote.h"
#include "base/text.h"
#include "sim/memory_replay.h"
#include "study/plot/picture.h"
#include "study/plot/plot_memory.h"

#define GIB (1024.0 * 1024 * 1024)
#define DEFAULT_WIDTH_PX 1200
#define DEFAULT_HEIGHT_PX 500
#define FONT_PT 9
#define NAME_PX 15.0   /* of the legend, in the size of the other texts */
#define AROUND_PX 95.0 /* of the height, title and axis */
#define TRACK_MOMENTS 100000u /* of all lanes: 10 MB of text */
#define LEAST_FRAC 0.01 /* of the peak: below, a holder is among the others */

/* A band of the picture. */
typedef struct {
  uint32_t holder; /* RA_NONE: all small ones */
  uint64_t most;   /* bytes, at its most */
} Band;

/* One lane's history, in columns of a picture. */
typedef struct {
  const RaMemory *memory;
  GArray *bands;   /* Band, bottom first; slack is not among them */
  guint *band_of;  /* (n_holders) */
  double *rows;    /* (n_rows, bands) bytes */
  double *slack;   /* (n_rows) bytes */
  double *times_s; /* (n_rows) */
  guint n_rows;
} History;

/* The most that every holder has, and the peak of all. */
static uint64_t
find_most(const GArray *events, uint64_t *now, uint64_t *most, uint32_t n)
{
  uint64_t sum = 0, peak;

  for (uint32_t h = 0; h < n; h++) {
    most[h] = now[h];
    sum += now[h];
  }
  peak = sum;
  for (guint i = 0; i < events->len; i++) {
    const RaMemoryEvent *e = &g_array_index(events, RaMemoryEvent, i);
    now[e->holder] += (uint64_t)e->bytes;
    sum += (uint64_t)e->bytes;
    most[e->holder] = MAX(most[e->holder], now[e->holder]);
    peak = MAX(peak, sum);
  }
  return peak;
}

/* Bands in the order of kinds, so that what stays is below. */
static void
fill_bands(History *h, const uint64_t *most, uint64_t peak, uint32_t n)
{
  Band framework = {ra_holder(RA_HOLD_FRAMEWORK, 0), 1}, rest = {RA_NONE, 0};
  uint32_t n_calls = n / RA_N_HOLDS;

  g_array_append_val(h->bands, framework);
  memset(h->band_of, 0xff, n * sizeof *h->band_of);
  for (uint32_t kind = 0; kind < RA_HOLD_FRAMEWORK; kind++)
    for (uint32_t call = 0; call < n_calls; call++) {
      uint32_t holder = ra_holder((RaHold)kind, call);
      Band band = {holder, most[holder]};
      if ((double)band.most < LEAST_FRAC * (double)peak)
        continue;
      h->band_of[holder] = h->bands->len;
      g_array_append_val(h->bands, band);
    }
  g_array_append_val(h->bands, rest);
  for (uint32_t i = 0; i < n; i++)
    if (h->band_of[i] == G_MAXUINT)
      h->band_of[i] = h->bands->len - 1;
}

/* Keeps @now as row @row. */
static void
put_row(History *h, guint row, double time_s, const uint64_t *now, uint32_t n)
{
  double *bands = h->rows + (gsize)row * h->bands->len;

  memset(bands, 0, h->bands->len * sizeof *bands);
  for (uint32_t i = 0; i < n; i++)
    bands[h->band_of[i]] += (double)now[i];
  bands[0] = h->memory->plan->cluster->framework_bytes;
  h->slack[row] = (double)ra_memory_slack(h->memory, now);
  h->times_s[row] = time_s;
}

/* Rows of the fullest moment in each of @n_columns columns of the window; the
 * state at the end of a column is carried on. */
static void
fill_rows(History *h, const GArray *events, uint64_t *now, uint32_t n,
          double from_s, double to_s, guint n_columns)
{
  guint i = 0;

  h->rows = g_new(double, (gsize)n_columns * h->bands->len);
  h->slack = g_new(double, n_columns);
  h->times_s = g_new(double, n_columns);
  for (guint c = 0; c < n_columns; c++) {
    double begin_s = from_s + (to_s - from_s) * c / n_columns;
    double end_s = from_s + (to_s - from_s) * (c + 1) / n_columns;
    int64_t sum = 0, most = 0;

    put_row(h, c, begin_s, now, n);
    for (; i < events->len; i++) {
      const RaMemoryEvent *e = &g_array_index(events, RaMemoryEvent, i);
      if (e->time_s >= end_s && c + 1 < n_columns)
        break;
      now[e->holder] += (uint64_t)e->bytes;
      if (e->time_s < begin_s) { /* before the window */
        put_row(h, c, begin_s, now, n);
        continue;
      }
      if (e->time_s > to_s)
        continue;
      sum += e->bytes;
      if (sum <= most)
        continue;
      most = sum;
      put_row(h, c, begin_s, now, n);
    }
  }
  h->n_rows = n_columns;
}

static char *
band_name(const History *h, guint band)
{
  uint32_t holder = g_array_index(h->bands, Band, band).holder;

  return holder == RA_NONE ? g_strdup("other")
                           : ra_holder_name(h->memory->plan->workload, holder);
}

/* Time and the upper edge of every band, GiB; slack is the last. */
static char *
make_data(const History *h)
{
  GString *out = g_string_new("# memory over time, GiB, cumulative: the edge "
                              "of a band is its column\ntime_s");
  guint n = h->bands->len;

  for (guint b = 0; b < n; b++) {
    g_autofree char *name = band_name(h, b);
    g_string_append_printf(out, "\t%s", name);
  }
  g_string_append(out, "\tallocator slack\n");
  for (guint r = 0; r < h->n_rows; r++) {
    const double *row = h->rows + (gsize)r * n;
    double sum = 0;
    g_string_append_printf(out, "%.9g", h->times_s[r]);
    for (guint b = 0; b < n; b++)
      g_string_append_printf(out, "\t%.6g", (sum += row[b]) / GIB);
    g_string_append_printf(out, "\t%.6g\n", (sum + h->slack[r]) / GIB);
  }
  return g_string_free(out, FALSE);
}

/* Size of the names: what lets them stand in one column. */
static double
legend_font(const History *h, const char *terminal, guint height_px)
{
  double size = g_str_has_prefix(terminal, "svg") ? FONT_PT + 3 : FONT_PT;
  double names_px = NAME_PX * (h->bands->len + 2); /* slack, the GPU's memory */

  return size * CLAMP((height_px - AROUND_PX) / names_px, 0.1, 1);
}

/* Bands are painted from the top down, each over the one before. */
static char *
make_script(const History *h, const char *terminal, const char *title,
            const RaMemoryPlotOptions *o, const char *data)
{
  double capacity_gib = h->memory->plan->cluster->device.memory_bytes / GIB;
  guint width = o->width_px ? o->width_px : DEFAULT_WIDTH_PX;
  guint height = o->height_px ? o->height_px : DEFAULT_HEIGHT_PX;
  GString *s = g_string_new(NULL);
  const char *rows = strchr(strchr(data, '\n') + 1, '\n') + 1;

  ra_picture_append_size(s, terminal, width, height);
  g_string_append(s, "set title ");
  ra_quote_gnuplot(s, "%s", title);
  g_string_append_printf(
      s,
      " noenhanced\nset xlabel 'time (s)'\n"
      "set ylabel 'memory (GiB)'\n"
      "set key outside right top Left reverse noenhanced maxcols 1"
      " font ',%.1f'\nset yrange [0:%.6g<*]\nset xrange [%.9g:%.9g]\n"
      "set border 3\nset tics nomirror out\nset grid y\n",
      legend_font(h, terminal, height), capacity_gib * 1.05, h->times_s[0],
      h->times_s[h->n_rows - 1]);
  ra_quote_block(s, "m", rows);
  g_string_append(s, "plot ");
  for (guint b = h->bands->len + 1; b-- > 0;) {
    g_autofree char *name =
        b == h->bands->len ? g_strdup("allocator slack") : band_name(h, b);
    uint32_t color = b == 0 ? 0x808080
                     : b >= h->bands->len - 1
                         ? 0xd0d0d0 - 0x202020 * (h->bands->len - b)
                         : ra_palette_color(b - 1);
    g_string_append_printf(s,
                           "$m using 1:%u with fillsteps fs solid 1 noborder "
                           "lc rgb '#%06x' title ",
                           b + 2, color);
    ra_quote_gnuplot(s, "%s", name);
    g_string_append(s, ", ");
  }
  g_string_append_printf(s,
                         "%.6g with lines lw 2 dt 2 lc rgb 'black' title "
                         "'memory of the GPU'\n",
                         capacity_gib);
  return g_string_free(s, FALSE);
}

static gboolean
draw(const History *h, const char *terminal, const char *title,
     const RaMemoryPlotOptions *o, GError **error)
{
  g_autofree char *data = make_data(h);
  g_autofree char *script = make_script(h, terminal, title, o, data);

  return ra_picture_write(o->path, o->data_path, data, script, error);
}

/* The lane to draw, RA_NONE with @error set. */
static uint32_t
find_lane(const RaReplay *replay, const RaMemoryTable *table, uint32_t gpu,
          GError **error)
{
  const RaTaskGraph *g = replay->graph;
  g_autoptr(RaMemoryReplay) r = NULL;

  if (gpu == RA_NONE) {
    r = ra_memory_replay_new(replay->sim, table);
    if (r->fullest != RA_NONE)
      return r->fullest;
  } else if (gpu < ra_cluster_n_gpus(g->augmented->plan->cluster) &&
             g->lane_of_gpu[gpu] != RA_NONE) {
    return g->lane_of_gpu[gpu];
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--gpu: expected a GPU that some call uses, from 0 to %" PRIu32,
              ra_cluster_n_gpus(g->augmented->plan->cluster) - 1);
  return RA_NONE;
}

/* "ppo on h100-16n: memory of GPU 0, the fullest", (transfer full). */
static char *
make_title(const RaSetup *setup, uint32_t gpu, const char *which)
{
  const char *const paths[] = {setup->workload_path, setup->cluster_path};
  char *names[2], *title;

  for (guint i = 0; i < 2; i++) {
    char *end;

    names[i] = g_path_get_basename(paths[i]);
    end = strrchr(names[i], '.');
    if (end)
      *end = '\0';
  }
  title = g_strdup_printf("%s on %s: memory of GPU %" PRIu32 "%s", names[0],
                          names[1], gpu, which);
  g_free(names[0]);
  g_free(names[1]);
  return title;
}

/* Bands and rows of @lane between @from_s and @to_s (0: the run's end). */
static void
fill_history(History *h, const RaReplay *replay, const RaMemoryTable *table,
             uint32_t lane, double from_s, double to_s, guint n_columns)
{
  uint32_t n = ra_memory_n_holders(table->memory);
  g_autofree uint64_t *now = g_new0(uint64_t, n);
  g_autofree uint64_t *most = g_new0(uint64_t, n);
  g_autoptr(GArray) events = ra_memory_replay_events(replay->sim, table, lane);
  double end_s = ra_sim_result(replay->sim)->makespan_s;
  uint64_t peak;

  h->memory = table->memory;
  h->bands = g_array_new(FALSE, FALSE, sizeof(Band));
  h->band_of = g_new(guint, n);
  ra_memory_table_base(table, lane, now);
  peak = find_most(events, now, most, n);
  fill_bands(h, most, peak, n);
  ra_memory_table_base(table, lane, now);
  to_s = to_s > 0 ? MIN(to_s, end_s) : end_s;
  fill_rows(h, events, now, n, from_s, MAX(to_s, from_s), n_columns);
}

static void
clear_history(History *h)
{
  g_array_unref(h->bands);
  g_free(h->band_of);
  g_free(h->rows);
  g_free(h->slack);
  g_free(h->times_s);
}

static gboolean
draw_lane(const RaSetup *setup, const RaReplay *replay,
          const RaMemoryTable *table, uint32_t lane, const char *terminal,
          const RaMemoryPlotOptions *o, GError **error)
{
  uint32_t gpu =
      o->gpu == RA_NONE ? replay->graph->lanes[lane].first_gpu : o->gpu;
  g_autofree char *standard = make_title(
      setup, gpu, o->gpu == RA_NONE ? ", the one with the highest peak" : "");
  History h = {.memory = NULL};
  gboolean done;

  fill_history(&h, replay, table, lane, o->from_s, o->to_s,
               o->width_px ? o->width_px : DEFAULT_WIDTH_PX);
  done = draw(&h, terminal, o->title ? o->title : standard, o, error);
  clear_history(&h);
  return done;
}

char *
ra_plot_memory_data(const RaReplay *replay, uint32_t n_rows, uint32_t *out_gpu)
{
  g_return_val_if_fail(replay != NULL && n_rows > 0 && out_gpu != NULL, NULL);

  g_autoptr(RaMemoryTable) table = ra_memory_table_new(replay->graph);
  uint32_t lane = find_lane(replay, table, RA_NONE, NULL);
  History h = {.memory = NULL};
  char *data;

  if (lane == RA_NONE)
    return NULL;
  *out_gpu = replay->graph->lanes[lane].first_gpu;
  fill_history(&h, replay, table, lane, 0, 0, n_rows);
  data = make_data(&h);
  clear_history(&h);
  return data;
}

static void
add_track(RaChromeMarks *marks, const RaReplay *replay, const History *h,
          uint32_t lane)
{
  guint n = h->bands->len;
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *name = NULL;
  g_autofree double *last = g_new0(double, n + 1);
  RaChromeTrack *track;

  for (guint b = 0; b < n; b++)
    g_ptr_array_add(names, band_name(h, b));
  g_ptr_array_add(names, g_strdup("allocator slack"));
  g_ptr_array_add(names, NULL);
  name = g_strdup_printf("memory of gpu %" PRIu32 " (GiB)",
                         replay->graph->lanes[lane].first_gpu);
  track = ra_chrome_marks_add(marks, name, replay->graph->lanes[lane].first_gpu,
                              (char **)names->pdata);
  for (guint r = 0; r < h->n_rows; r++) {
    g_autofree double *now = g_new(double, n + 1);

    for (guint b = 0; b <= n; b++)
      now[b] = (b < n ? h->rows[(gsize)r * n + b] : h->slack[r]) / GIB;
    if (r > 0 && memcmp(now, last, (n + 1) * sizeof *now) == 0)
      continue;
    memcpy(last, now, (n + 1) * sizeof *now);
    g_array_append_val(track->times_s, h->times_s[r]);
    g_array_append_vals(track->values, last, n + 1);
  }
}

void
ra_plot_memory_tracks(const RaReplay *replay, RaChromeMarks *marks)
{
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(replay->graph);
  uint32_t n_lanes = replay->graph->n_lanes;

  for (uint32_t lane = 0; lane < n_lanes; lane++) {
    History h = {.memory = NULL};

    fill_history(&h, replay, table, lane, 0, 0,
                 CLAMP(TRACK_MOMENTS / n_lanes, 50, 1000));
    add_track(marks, replay, &h, lane);
    clear_history(&h);
  }
}

gboolean
ra_plot_memory(const RaSetup *setup, const RaReplay *replay,
               const RaMemoryPlotOptions *options, GError **error)
{
  g_autoptr(RaMemoryTable) table = NULL;
  g_autofree char *terminal = NULL;
  uint32_t lane;

  g_return_val_if_fail(setup && replay && options && options->path, FALSE);
  if (!ra_picture_terminal(options->path, FONT_PT, &terminal, error))
    return FALSE;
  table = ra_memory_table_new(replay->graph);
  lane = find_lane(replay, table, options->gpu, error);
  return lane != RA_NONE &&
         draw_lane(setup, replay, table, lane, terminal, options, error);
}
