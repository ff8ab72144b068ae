/* Wall time of `reallot simulate`: seconds from fork to exit, including the
 * start of the program and reading of all files.
 *
 * Runs the reallot of the build folder (beside this program's folder) on
 * shipped plans, with the data of $RA_DATA_PATH as `make bench` sets it.  The
 * median of the runs counts; the first, cold one is not among them.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
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
  double limit_s;         /* of the bar; 0: a row without a bar */
  const char *iterations; /* --iterations */
} Case;

static const Case cases[] = {
    {"simulate_demo_s", "ppo-llama3-70b-128.plan", "stage", 0.1, "3"},
    {"simulate_demo_call_s", "ppo-llama3-70b-128.plan", "call", 0, "3"},
    {"simulate_1024_gpus_s", "ppo-llama3-70b-1024.plan", "stage", 1, "3"},
    {"simulate_1024_gpus_op_s", "ppo-llama3-70b-1024.plan", "op", 2, "1"},
    {"simulate_16384_gpus_op_s", "sft-llama3.1-405b-16384.plan", "op", 20, "1"},
};

/* Most memory of all children so far, bytes. */
static double
peak_bytes(void)
{
  struct rusage usage;

  return getrusage(RUSAGE_CHILDREN, &usage) == 0 ? 1024.0 * usage.ru_maxrss : 0;
}

/* Runs `reallot simulate` once, its output thrown away; -1: it failed. */
static double
run_once(const char *reallot, const Case *c)
{
  g_autofree char *fidelity = g_strdup_printf("--fidelity=%s", c->fidelity);
  g_autofree char *iterations =
      g_strdup_printf("--iterations=%s", c->iterations);
  double begin_s = bench_wall_s();
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
    return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return -1;
  return bench_wall_s() - begin_s;
}

/* Prints the row of a case; its median, or -1 where it did not run. */
static double
run_case(const char *reallot, const Case *c, guint n_runs)
{
  double times_s[MAX_RUNS];

  if (run_once(reallot, c) < 0) {
    printf("# '%s simulate %s' failed\n", reallot, c->plan);
    return -1;
  }
  for (guint r = 0; r < n_runs; r++) {
    times_s[r] = run_once(reallot, c);
    if (times_s[r] < 0)
      return -1;
  }
  bench_sort(times_s, n_runs);
  printf("%s\t%s\t%s\t%u\t%.9g\t%.9g\t%.9g\n", c->plan, c->fidelity,
         c->iterations, n_runs, times_s[n_runs / 2], times_s[0],
         times_s[n_runs - 1]);
  return times_s[n_runs / 2];
}

int
main(int argc, char **argv)
{
  guint n_runs = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 3 : MAX_RUNS;
  g_autofree char *folder = g_path_get_dirname(argv[0]);
  g_autofree char *reallot = g_build_filename(folder, "..", "reallot", NULL);
  double medians_s[G_N_ELEMENTS(cases)];

  printf("# wall seconds of `reallot simulate PLAN`, fork to exit\n");
  printf("plan\tfidelity\titerations\tn_runs\tmedian_s\tmin_s\tmax_s\n");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    /* A child inherits what stdio has not written yet. */
    fflush(stdout);
    medians_s[i] = run_case(reallot, &cases[i], n_runs);
  }
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    if (cases[i].limit_s > 0)
      bench_bar(cases[i].name, medians_s[i], BENCH_AT_MOST, cases[i].limit_s);
  bench_bar("simulate_most_bytes", peak_bytes(), BENCH_AT_MOST, LIMIT_BYTES);
  return 0;
}
