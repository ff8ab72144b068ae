/* reallot calibrate --backend=host: this machine, measured. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/calibrate_host.h"
#include "cli/calibrate_samples.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/world.h"
#include "study/run/host.h"

#define RANKS_MAX 1024

gboolean
ra_calibrate_host(const char *ranks, gboolean quick, const char *device,
                  const char *output, GError **error)
{
  uint64_t n_ranks = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
  gint64 begin_us = g_get_monotonic_time();
  gboolean watched = isatty(STDERR_FILENO);
  g_autofree char *path = ra_cli_samples_path(output), *on = NULL;
  g_autoptr(RaTrace) samples = NULL;
  g_autoptr(GString) text = NULL;
  RaHostOptions o = {.quick = quick,
                     .progress = watched ? ra_cli_samples_show : NULL,
                     .progress_data = &begin_us};
  RaWorld *world = ra_cli_world_current();
  gboolean is_first = !world || world->process == 0;
  RaHostTally tally;

  if (world && (ranks || world->n_processes < 2)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--backend: over MPI every process is a rank, expected two or "
                "more processes and no --ranks");
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
  on = g_strdup_printf("%u ranks", o.n_ranks);
  ra_cli_samples_say(&tally, on, path, begin_us);
  text = ra_host_profile(samples, path ? path : "samples", device, error);
  return text && ra_output_write(output, text->str, text->len, error);
}
