/* Taking samples, and keeping them. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "study/host.h"

#define SOURCE "calibrate --backend=host"
#define SAVE_EVERY_S 2
/* Between rows: they were not taken at the same time. */
#define GAP_S 1e-6
/* What the hypervisor takes comes in slices of milliseconds: of a second of a
 * core it is a share, and one long stop is in one such second alone. */
#define PACE_CPU_S 1.0

static const char *const variants[] = {"forward", "input", "weight"};
static const char *const quartiles[] = {"low", "median", "high"};

/* The processor's name. */
static char *
machine_name(void)
{
  g_autofree char *text = NULL;
  char *at, *end;

  if (!g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL) ||
      !(at = strstr(text, "model name")) || !(at = strchr(at, ':')))
    return g_strdup("an unknown processor");
  end = strchr(at, '\n');
  return g_strstrip(
      g_strndup(at + 1, end ? (gsize)(end - at - 1) : strlen(at + 1)));
}

char *
ra_host_machine(void)
{
  g_autofree char *name = machine_name();

  return g_strdup_printf("%s, %ld cores", name, sysconf(_SC_NPROCESSORS_ONLN));
}

static char *
describe_grid(const RaHostOptions *o)
{
  return g_strdup_printf("%s, %u ranks at the same time%s",
                         o->quick ? "quick" : "full", o->n_ranks,
                         o->world ? " over MPI" : "");
}

gboolean
ra_host_is_samples(const RaTrace *trace)
{
  return g_strcmp0(ra_trace_head(trace, "source"), SOURCE) == 0;
}

/* What is in the file, if it is of this machine and grid. */
static RaTrace *
load(const RaHostOptions *o, const char *path, GError **error)
{
  g_autofree char *machine = ra_host_machine(), *grid = describe_grid(o);
  g_autoptr(RaTrace) trace = ra_trace_load(path, error);
  const char *key = NULL, *here = NULL;

  if (!trace)
    return NULL;
  if (!ra_host_is_samples(trace)) {
    key = "source";
    here = SOURCE;
  } else if (g_strcmp0(ra_trace_head(trace, "machine"), machine) != 0) {
    key = "machine";
    here = machine;
  } else if (g_strcmp0(ra_trace_head(trace, "grid"), grid) != 0) {
    key = "grid";
    here = grid;
  } else {
    return g_steal_pointer(&trace);
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: its %s is '%s', expected '%s' to go on, or no such file",
              path, key,
              ra_trace_head(trace, key) ? ra_trace_head(trace, key) : "", here);
  return NULL;
}

static RaTrace *
begin(const RaHostOptions *o, RaProbe *probe)
{
  RaTrace *trace = ra_trace_new();
  g_autofree char *machine = ra_host_machine(), *grid = describe_grid(o);
  g_autofree char *ranks = g_strdup_printf("%u", o->n_ranks);
  g_autofree char *memory = g_strdup_printf(
      "%.0f", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
  g_autofree char *rate = g_strdup_printf("%.4g", ra_probe_bytes_per_s(probe));
  g_autofree char *command =
      g_strdup_printf("reallot calibrate --backend=host --ranks=%u%s",
                      o->n_ranks, o->quick ? " --quick" : "");
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_autofree char *date = g_date_time_format(now, "%Y-%m-%d");

  ra_trace_set_head(trace, "source", SOURCE);
  ra_trace_set_head(trace, "machine", machine);
  ra_trace_set_head(trace, "software", PACKAGE_STRING);
  ra_trace_set_head(trace, "date", date);
  ra_trace_set_head(trace, "command", command);
  ra_trace_set_head(trace, "grid", grid);
  ra_trace_set_head(trace, "communicator", o->world ? "mpi" : "local");
  ra_trace_set_head(trace, "gpus-per-node", ranks);
  ra_trace_set_head(trace, "memory-bytes", memory);
  ra_trace_set_head(trace, "copy-bytes-per-s", rate);
  return trace;
}

static char *
row_name(guint index, const RaProbePoint *point, guint quartile)
{
  return g_strdup_printf("probe/%s/p%u/%s", variants[point->variant], index,
                         quartiles[quartile]);
}

/* Names of the rows that are there. */
static GHashTable *
names_of(const RaTrace *trace)
{
  GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);

  for (guint i = 0; i < ra_trace_n_rows(trace); i++)
    g_hash_table_add(names, (gpointer)(guintptr)ra_trace_row(trace, i)->name);
  return names;
}

/* As a file has it, so that samples give one profile before and after it. */
static double
whole_ns(double s)
{
  return rint(s * 1e9) / 1e9;
}

static void
add_sample(RaTrace *trace, const RaHostOptions *o, guint index,
           const RaProbePoint *point, const RaProbeSample *sample)
{
  guint n = ra_trace_n_rows(trace);
  double at_s = n > 0 ? whole_ns(ra_trace_row(trace, n - 1)->end_s + GAP_S) : 0;
  const double s[] = {sample->low_s, sample->median_s, sample->high_s};
  g_autofree char *shape = ra_op_shape(&point->op);
  g_autofree char *ranks = g_strdup_printf("0-%u", o->n_ranks - 1);

  if (o->n_ranks == 1)
    ranks[1] = '\0';
  for (guint i = 0; i < G_N_ELEMENTS(s); i++) {
    g_autofree char *name = row_name(index, point, i);
    RaTraceRow row = {.name = name,
                      .call = "calibrate",
                      .kind = "probe",
                      .ranks = ranks,
                      .stream = "compute",
                      .op = ra_op_name((RaOpKind)point->op.kind),
                      .shape = shape,
                      .begin_s = at_s,
                      .end_s = whole_ns(at_s + s[i]),
                      .flop = ra_op_flop(&point->op),
                      .bytes = ra_op_bytes(&point->op)};

    ra_trace_add(trace, &row);
    at_s = whole_ns(row.end_s + GAP_S);
  }
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Median over points, whose rows stand three and three. */
static double
median_spread(const RaTrace *trace)
{
  guint n = ra_trace_n_rows(trace) / 3;
  g_autofree double *spread = g_new0(double, n + 1);

  for (guint i = 0; i < n; i++) {
    double s[3];

    for (guint k = 0; k < 3; k++) {
      const RaTraceRow *row = ra_trace_row(trace, 3 * i + k);

      s[k] = row->end_s - row->begin_s;
    }
    spread[i] = s[1] > 0 ? (s[2] - s[0]) / s[1] : 0;
  }
  qsort(spread, n, sizeof *spread, compare_doubles);
  return spread[n / 2];
}

/* What has not come to a second of a core. */
typedef struct {
  double cpu_s, wall_s;
} Pace;

/* Appends to the head seconds of the wall over those of a core. */
static void
tell_pace(RaTrace *trace, Pace *pace)
{
  const char *before = ra_trace_head(trace, RA_HOST_PACE);
  g_autofree char *text =
      g_strdup_printf("%s%s%.4f", before ? before : "", before ? " " : "",
                      pace->wall_s / pace->cpu_s);

  ra_trace_set_head(trace, RA_HOST_PACE, text);
  *pace = (Pace){0};
}

static void
add_pace(RaTrace *trace, const RaProbeSample *sample, Pace *pace)
{
  pace->cpu_s += sample->cpu_s;
  pace->wall_s += sample->wall_s;
  if (pace->cpu_s >= PACE_CPU_S)
    tell_pace(trace, pace);
}

static double
now_s(void)
{
  return 1e-6 * (double)g_get_monotonic_time();
}

/* Whether this process writes. */
static gboolean
is_first(const RaHostOptions *o)
{
  return !o->world || o->world->process == 0;
}

/* Measures what is missing; saves now and then. */
static gboolean
measure(const RaHostOptions *o, RaProbe *probe, const GArray *grid,
        RaTrace *trace, const char *path, RaHostTally *tally, GError **error)
{
  g_autoptr(GHashTable) known = names_of(trace);
  double saved_s = now_s();
  Pace pace = {0};

  for (guint i = 0; i < grid->len; i++) {
    const RaProbePoint *point = &g_array_index(grid, RaProbePoint, i);
    g_autofree char *name = row_name(i, point, 2);
    RaProbeSample sample;

    if (g_hash_table_contains(known, name)) {
      tally->n_known++;
      continue;
    }
    if (o->n_most > 0 && tally->n_new >= o->n_most)
      break;
    if (o->progress)
      o->progress(i, grid->len, ra_op_name((RaOpKind)point->op.kind),
                  o->progress_data);
    ra_probe_run(probe, point, &sample);
    add_sample(trace, o, i, point, &sample);
    add_pace(trace, &sample, &pace);
    tally->n_new++;
    if (path && is_first(o) && now_s() - saved_s > SAVE_EVERY_S) {
      if (!ra_trace_save(trace, path, error))
        return FALSE;
      saved_s = now_s();
    }
  }
  if (pace.cpu_s > 0 && !ra_trace_head(trace, RA_HOST_PACE))
    tell_pace(trace, &pace);
  return tally->n_new == 0 || !path || !is_first(o) ||
         ra_trace_save(trace, path, error);
}

RaTrace *
ra_host_samples(const RaHostOptions *options, const char *path,
                RaHostTally *out_tally, GError **error)
{
  g_autoptr(GArray) grid = ra_probe_grid(options->n_ranks, options->quick);
  g_autoptr(RaProbe) probe = NULL;
  g_autoptr(RaTrace) trace = NULL;
  RaProbeOptions probing;
  gboolean is_there;

  ra_probe_options_init(&probing);
  probing.n_ranks = options->n_ranks;
  probing.world = options->world;
  probing.clock = options->clock;
  probing.wall = options->wall;
  probing.clock_data = options->clock_data;
  if (options->quick) {
    probing.sample_s = 0.004;
    probing.n_least = 3;
  }
  *out_tally = (RaHostTally){.n_points = grid->len};
  is_there = path && g_file_test(path, G_FILE_TEST_EXISTS);
  if (!ra_world_agree(options->world, (uint64_t)is_there,
                      "whether there is a file of samples", error))
    return NULL;
  probe = ra_probe_new(&probing, error);
  if (!probe)
    return NULL;
  trace = is_there ? load(options, path, error) : begin(options, probe);
  if (!trace || !measure(options, probe, grid, trace, path, out_tally, error))
    return NULL;
  out_tally->spread_frac = median_spread(trace);
  return g_steal_pointer(&trace);
}
