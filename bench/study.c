/* Time of a study: 1,000 points of PPO of four Llama-3-70B on 128 GPUs, and the
 * number of points that one more value of an axis costs.
 *
 *     study [--quick]                200 points
 *
 * Every point is a replay at stage fidelity of its own draw: rates of network
 * cards, lengths of responses and of prompts.  On two threads; cpu_s is of
 * both.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "bench/figure.h"
#include "study/sweep/sweep.h"

#define N_THREADS 2

/* @n_rates x 10 x 10 points. */
static char *
study_text(guint n_rates)
{
  GString *s = g_string_new("[study]\nformat = 1\ntitle = bench\n"
                            "plan = ppo-llama3-70b-128.plan\n"
                            "question = fits\n[axis nic]\n"
                            "key = cluster.nic\nvalues = ");

  for (guint i = 0; i < n_rates; i++)
    g_string_append_printf(s, "%s%u Gbit/s", i > 0 ? ", " : "", 100 * (i + 1));
  g_string_append(s, "\n[axis response]\nkey = workload.response-length\n"
                     "values = ");
  for (guint i = 0; i < 10; i++)
    g_string_append_printf(s, "%slognormal(%u, 450, 1024)", i > 0 ? ", " : "",
                           300 + 60 * i);
  g_string_append(s, "\n[axis prompt]\nkey = workload.prompt-length\n"
                     "values = ");
  for (guint i = 0; i < 10; i++)
    g_string_append_printf(s, "%sfixed(%u)", i > 0 ? ", " : "", 256 + 96 * i);
  g_string_append_c(s, '\n');
  return g_string_free(s, FALSE);
}

/* Points that were run; prints a row. */
static guint
run(guint n_rates, const char *folder, double *out_s)
{
  g_autofree char *text = study_text(n_rates);
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse("bench.study", text, strlen(text), NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(RaStudy) study = file ? ra_study_load(file, &error) : NULL;
  g_autoptr(RaPointCache) cache = ra_point_cache_new(folder);
  RaSetupFlags flags = {.real = FALSE};
  RaSweepOptions options = {.n_threads = N_THREADS, .cache = cache};
  double wall_s = bench_wall_s(), cpu_s = bench_cpu_s();
  g_autoptr(RaSweep) sweep =
      study ? ra_sweep_new(study, &flags, &options, &error) : NULL;
  guint n_run;

  if (!sweep) {
    printf("# %s\n", error ? error->message : "no study");
    *out_s = (double)NAN;
    return 0;
  }
  n_run = sweep->n - sweep->n_cached;
  *out_s = bench_wall_s() - wall_s;
  printf("%u\t%u\t%.2f\t%.2f\t%.1f\n", sweep->n, n_run, *out_s,
         bench_cpu_s() - cpu_s,
         n_run > 0 ? (bench_cpu_s() - cpu_s) / n_run * 1e3 : 0);
  return n_run;
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  guint n_rates = quick ? 2 : 10, n_first, n_more;
  g_autofree char *folder = g_dir_make_tmp("reallot-XXXXXX", NULL);
  double first_s, again_s, more_s;

  printf("# studies of PPO of 4 x Llama-3-70B on 128 GPUs, %d threads; cpu_s: "
         "of all threads\npoints\trun\twall_s\tcpu_s\tcpu_ms_per_point\n",
         N_THREADS);
  n_first = run(n_rates, folder, &first_s);
  run(n_rates, folder, &again_s);
  n_more = run(n_rates + 1, folder, &more_s);
  ra_folder_remove(folder);
  bench_bar("study_1000_points_s",
            n_first > 0 ? first_s * 1000 / n_first : (double)NAN, BENCH_AT_MOST,
            60);
  bench_bar("study_points_of_a_value", n_more, BENCH_AT_MOST, 100);
  bench_bar("study_known_s", again_s, BENCH_AT_MOST, 1);
  return 0;
}
