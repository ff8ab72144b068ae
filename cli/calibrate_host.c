/* reallot calibrate --backend=host: this machine, measured. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/calibrate_host.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/world.h"
#include "study/host.h"

#define SUFFIX ".profile"
#define RANKS_MAX 1024

static void
show_point(guint n_done, guint n_points, const char *op, gpointer data)
{
  gint64 begin_us = *(gint64 *)data;

  fprintf(stderr, "\r\033[K%u of %u: %s, %.0f s", n_done, n_points, op,
          1e-6 * (double)(g_get_monotonic_time() - begin_us));
}

/* "host.samples.trace.tsv" beside "host.profile". */
static char *
samples_path(const char *output)
{
  g_autofree char *stem = NULL;

  if (!output)
    return NULL;
  stem = g_str_has_suffix(output, SUFFIX)
             ? g_strndup(output, strlen(output) - strlen(SUFFIX))
             : g_strdup(output);
  return g_strconcat(stem, ".samples.trace.tsv", NULL);
}

static void
say(const RaHostOptions *o, const RaHostTally *tally, const char *path,
    double spent_s)
{
  fprintf(stderr, "reallot: %u of %u shapes measured in %.0f s on %u ranks",
          tally->n_new, tally->n_points, spent_s, o->n_ranks);
  if (tally->n_known > 0)
    fprintf(stderr, ", %u were in '%s'", tally->n_known, path);
  fprintf(stderr, "\n");
  if (tally->spread_frac > RA_HOST_NOISE_FRAC)
    fprintf(stderr,
            "reallot: this machine is noisy: half of an op's repeats are %.0f "
            "%% apart, expected at most %.0f %%: costs are as uncertain; end "
            "what else runs and measure again%s%s%s\n",
            100 * tally->spread_frac, 100 * RA_HOST_NOISE_FRAC,
            path ? " without '" : "", path ? path : "", path ? "'" : "");
}

gboolean
ra_calibrate_host(const char *ranks, gboolean quick, const char *device,
                  const char *output, GError **error)
{
  uint64_t n_ranks = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
  gint64 begin_us = g_get_monotonic_time();
  gboolean watched = isatty(STDERR_FILENO);
  g_autofree char *path = samples_path(output);
  g_autoptr(RaTrace) samples = NULL;
  g_autoptr(GString) text = NULL;
  RaHostOptions o = {.quick = quick,
                     .progress = watched ? show_point : NULL,
                     .progress_data = &begin_us};
  RaWorld *world = ra_world_current();
  gboolean is_first = !world || world->process == 0;
  RaHostTally tally;

  if (world && (ranks || world->n_processes < 2)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--backend: over MPI every process is a rank, expected two or "
                "more and no --ranks");
    return FALSE;
  }
  if (world)
    n_ranks = world->n_processes;
  if (!ra_option_uint64("--ranks", ranks, 1, RANKS_MAX, &n_ranks, error))
    return FALSE;
  o.n_ranks = (uint32_t)n_ranks;
  o.world = world;
  if (!is_first)
    o.progress = NULL;
  samples = ra_host_samples(&o, path, &tally, error);
  if (watched && is_first)
    fprintf(stderr, "\r\033[K");
  if (!samples)
    return FALSE;
  if (!is_first)
    return TRUE;
  say(&o, &tally, path, 1e-6 * (double)(g_get_monotonic_time() - begin_us));
  text = ra_host_profile(samples, path ? path : "samples", device, error);
  return text && ra_output_write(output, text->str, text->len, error);
}
