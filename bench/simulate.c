/* Time of `reallot simulate` from fork to exit, including the start of the
 * program and reading of all files: seconds of the wall, and of the processor,
 * which the bars hold, in units of work (bench/figure.h).
 *
 * Limits are 1.5 times what runs took in November 2026 on two shared cores of a
 * server CPU at 2 to 3 GHz, where a unit is 0.12 s.
 *
 * Runs the reallot of the build folder (beside this program's folder) on
 * shipped plans, with the data of $RA_DATA_PATH as `make bench` sets it.  The
 * median of the runs counts; the first, cold one is not among them.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figure.h"

enum { MAX_RUNS = 9 };

#define LIMIT_BYTES (2.0 * 1024 * 1024 * 1024) /* of any of the runs */

typedef struct {
  const char *name;       /* of the bar */
  const char *plan;       /* in share/plans */
  const char *fidelity;   /* --fidelity */
  double limit;           /* of the bar, units; 0: a row without a bar */
  const char *iterations; /* --iterations */
} Case;

static const Case cases[] = {
    {"simulate_demo_units", "ppo-llama3-70b-128.plan", "stage", 1.6, "3"},
    {"simulate_demo_call_units", "ppo-llama3-70b-128.plan", "call", 0, "3"},
    {"simulate_1024_gpus_units", "ppo-llama3-70b-1024.plan", "stage", 11, "3"},
    {"simulate_1024_gpus_op_units", "ppo-llama3-70b-1024.plan", "op", 7.6, "1"},
    {"simulate_16384_gpus_op_units", "sft-llama3.1-405b-16384.plan", "op", 0.2,
     "1"},
    {"simulate_dapo_units", "dapo-qwen2.5-32b-128.plan", "call", 0, "3"},
};

/* Most memory of all children so far, bytes. */
static double
peak_bytes(void)
{
  struct rusage usage;

  return getrusage(RUSAGE_CHILDREN, &usage) == 0 ? 1024.0 * usage.ru_maxrss : 0;
}

static double
seconds_of(struct timeval time)
{
  return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

typedef struct {
  double wall_s, cpu_s;
} Took;

/* Runs `reallot simulate` once, its output thrown away; FALSE: it failed. */
static gboolean
run_once(const char *reallot, const Case *c, Took *out)
{
  g_autofree char *fidelity = g_strdup_printf("--fidelity=%s", c->fidelity);
  g_autofree char *iterations =
      g_strdup_printf("--iterations=%s", c->iterations);
  double begin_s = bench_wall_s();
  struct rusage usage;
  int status;
  pid_t child = fork();

  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY);

    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
      _exit(126);
    execl(reallot, reallot, "simulate", fidelity, iterations, c->plan,
          (char *)NULL);
    _exit(127);
  }
  if (child < 0)
    return FALSE;
  while (wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR)
      return FALSE;
  out->wall_s = bench_wall_s() - begin_s;
  out->cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Prints the row of a case; its median in units, NAN where it did not run. */
static double
run_case(const char *reallot, const Case *c, guint n_runs)
{
  double wall_s[MAX_RUNS], cpu_s[MAX_RUNS], units;
  Took took;

  if (!run_once(reallot, c, &took)) {
    printf("# '%s simulate %s' failed\n", reallot, c->plan);
    return (double)NAN;
  }
  for (guint r = 0; r < n_runs; r++) {
    if (!run_once(reallot, c, &took))
      return (double)NAN;
    wall_s[r] = took.wall_s;
    cpu_s[r] = took.cpu_s;
  }
  units = bench_median(cpu_s, n_runs) / bench_unit_s();
  printf("%s\t%s\t%s\t%u\t%.9g\t%.9g\t%.4g\n", c->plan, c->fidelity,
         c->iterations, n_runs, bench_median(wall_s, n_runs),
         bench_median(cpu_s, n_runs), units);
  return units;
}

int
main(int argc, char **argv)
{
  guint n_runs = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 3 : MAX_RUNS;
  g_autofree char *folder = g_path_get_dirname(argv[0]);
  g_autofree char *reallot = g_build_filename(folder, "..", "reallot", NULL);
  double units[G_N_ELEMENTS(cases)];

  printf("# `reallot simulate PLAN`, fork to exit; a unit: %.4g s\n",
         bench_unit_s());
  printf("plan\tfidelity\titerations\tn_runs\twall_s\tcpu_s\tunits\n");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    /* A child inherits what stdio has not written yet. */
    fflush(stdout);
    units[i] = run_case(reallot, &cases[i], n_runs);
  }
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    if (cases[i].limit > 0)
      bench_bar(cases[i].name, units[i], BENCH_AT_MOST, cases[i].limit);
  bench_bar("simulate_most_bytes", peak_bytes(), BENCH_AT_MOST, LIMIT_BYTES);
  return 0;
}
