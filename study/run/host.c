/* Taking samples, and keeping them. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "study/run/host.h"

/* Time stolen by the hypervisor comes in slices of milliseconds.  Over a second
 * of a core it is a share; a single long stop affects only one such second. */
#define PACE_CPU_S 1.0

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

/* Time that has not come to a second of a core. */
typedef struct {
  double cpu_s, wall_s;
} Pace;

/* Appends to the head seconds of the wall over those of a core. */
static void
tell_pace(RaTrace *trace, Pace *pace)
{
  const char *before = ra_trace_head(trace, RA_TRACE_WALL_PER_CPU);
  g_autofree char *text =
      g_strdup_printf("%s%s%.4f", before ? before : "", before ? " " : "",
                      pace->wall_s / pace->cpu_s);

  ra_trace_set_head(trace, RA_TRACE_WALL_PER_CPU, text);
  *pace = (Pace){0};
}

/* Host-specific parts of sampling. */
typedef struct {
  const RaHostOptions *options;
  RaProbe *probe;
  Pace pace;
} Work;

static void
begin(RaTrace *trace, gpointer data)
{
  const Work *work = data;
  const RaHostOptions *o = work->options;
  g_autofree char *ranks = g_strdup_printf("%u", o->n_ranks);
  g_autofree char *lap =
      g_strdup_printf("%" G_GUINT64_FORMAT, ra_probe_lap_mib(o->n_ranks));
  g_autofree char *memory = g_strdup_printf(
      "%.0f", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
  g_autofree char *rate =
      g_strdup_printf("%.4g", ra_probe_bytes_per_s(work->probe));
  g_autofree char *command =
      g_strdup_printf("reallot calibrate --backend=host --ranks=%u%s",
                      o->n_ranks, o->quick ? " --quick" : "");

  ra_trace_set_head(trace, "software", PACKAGE_STRING);
  ra_trace_set_head(trace, "command", command);
  ra_trace_set_head(trace, "communicator", o->world ? "mpi" : "local");
  ra_trace_set_head(trace, "gpus-per-node", ranks);
  ra_trace_set_head(trace, "memory-bytes", memory);
  ra_trace_set_head(trace, "copy-bytes-per-s", rate);
  ra_trace_set_head(trace, RA_TRACE_LAP_MIB, lap);
}

/* The last says it where no second of a core came together. */
static void
add_pace(RaTrace *trace, const RaProbeSample *sample, gpointer data)
{
  Pace *pace = &((Work *)data)->pace;

  if (sample) {
    pace->cpu_s += sample->cpu_s;
    pace->wall_s += sample->wall_s;
  }
  if (pace->cpu_s >= PACE_CPU_S ||
      (!sample && pace->cpu_s > 0 &&
       !ra_trace_head(trace, RA_TRACE_WALL_PER_CPU)))
    tell_pace(trace, pace);
}

RaTrace *
ra_host_samples(const RaHostOptions *options, const char *path,
                RaHostTally *out_tally, GError **error)
{
  g_autoptr(GArray) grid = ra_probe_grid(options->n_ranks, options->quick);
  g_autofree char *machine = ra_host_machine(), *text = describe_grid(options);
  g_autoptr(RaProbe) probe = NULL;
  Work work = {.options = options};
  RaSampling sampling = {.points = grid,
                         .n_ranks = options->n_ranks,
                         .world = options->world,
                         .source = RA_TRACE_SOURCE_HOST,
                         .machine = machine,
                         .grid = text,
                         .n_most = options->n_most,
                         .begin = begin,
                         .add = add_pace,
                         .data = &work,
                         .progress = options->progress,
                         .progress_data = options->progress_data};
  gboolean is_there = path && g_file_test(path, G_FILE_TEST_EXISTS);
  RaProbeOptions probing;

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
  if (!ra_world_agree(options->world, (uint64_t)is_there,
                      "whether there is a file of samples", error))
    return NULL;
  probe = ra_probe_new(&probing, error);
  if (!probe)
    return NULL;
  work.probe = sampling.probe = probe;
  return ra_samples_take(&sampling, path, out_tally, error);
}
