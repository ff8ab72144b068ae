/* Messages and file names of calibrations that take samples. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/calibrate_samples.h"
#include "study/run/host.h"

#define SUFFIX ".profile"

void
ra_cli_samples_show(guint n_done, guint n_points, const char *op, gpointer data)
{
  gint64 begin_us = *(gint64 *)data;

  fprintf(stderr, "\r\033[K%u of %u: %s, %.0f s", n_done, n_points, op,
          1e-6 * (double)(g_get_monotonic_time() - begin_us));
}

static char *
beside_output(const char *output, const char *suffix)
{
  g_autofree char *stem = NULL;

  if (!output)
    return NULL;
  stem = g_str_has_suffix(output, SUFFIX)
             ? g_strndup(output, strlen(output) - strlen(SUFFIX))
             : g_strdup(output);
  return g_strconcat(stem, suffix, NULL);
}

char *
ra_cli_samples_path(const char *output)
{
  return beside_output(output, ".samples.trace.tsv");
}

char *
ra_collectives_path(const char *output)
{
  return beside_output(output, ".collectives.trace.tsv");
}

void
ra_cli_samples_say(const RaSampleTally *tally, const char *on, const char *path,
                   gint64 begin_us)
{
  fprintf(stderr, "reallot: %u of %u shapes measured in %.0f s on %s",
          tally->n_new, tally->n_points,
          1e-6 * (double)(g_get_monotonic_time() - begin_us), on);
  if (tally->n_known > 0)
    fprintf(stderr, ", %u of them read from '%s'", tally->n_known, path);
  fprintf(stderr, "\n");
  if (tally->spread_frac > RA_HOST_NOISE_FRAC)
    fprintf(stderr,
            "reallot: this machine is noisy: half of the repeats of an op "
            "differ by %.0f %%, expected at most %.0f %%; costs are as "
            "uncertain: stop other programs and measure again%s%s%s\n",
            100 * tally->spread_frac, 100 * RA_HOST_NOISE_FRAC,
            path ? " without '" : "", path ? path : "", path ? "'" : "");
}
