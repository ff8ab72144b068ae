/* Variation between steps of one run: published series against simulated ones.
 *
 * The series: every logged step of the Llama-3.1-405B runs of MLPerf Training
 * v5.0 in train_tables/mlperf405b_step_series.csv of the data folder.  The
 * simulated ones: 405B on 512 H100 (the shipped 16,384-GPU plan with dp 4),
 * every op, with the cluster's jitter at several values: an op's time on a GPU
 * has that standard deviation, and collectives wait for the slowest rank.
 * Quantiles are over the median of the series.
 *
 * Jitter of ops alone averages out over the many ops of a step; what GPUs share
 * in a step (step-jitter) is the bulk of a series, a few parts in a thousand.
 * Steps that take 2 % longer and more (the first, evaluation, hiccups of the
 * machine) are no part of the model, and the last quantiles say so.  The series
 * support no law of them: of three runs of one system on 2,560 GPUs 35, 5 and
 * 29 of 258 steps are so long, of three on 512 GPUs 3 of 246 each, and those
 * that all runs of a system share are its second step and the one in which
 * 46,080 sequences are complete.  A rate fitted to some runs misses the next by
 * a factor of seven.
 *
 * r1: how much a step within 1 % of the median is like the one before it (lag-1
 * autocorrelation): 0.36 to 0.91, but no memory of the machine's.  All six
 * published series rise by 0.4 to 0.5 % from their first quarter to the last,
 * alike in every run and on both systems; around a running median of 41 steps
 * -0.01 to 0.13 is left.  So it is a trend of that training and draws that are
 * independent, as step-jitter is, of a deviation of 0.0024 and 0.0006: no
 * autoregressive law.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "estimator/robust.h"
#include "study/replay.h"
#include "traces/csv.h"

static const double quantiles[] = {0.05, 0.25, 0.75, 0.95, 0.99, 1};

/* Correlation of steps next to each other that are both within 1 % of the
 * median; NAN: none differ. */
static double
lag1(const GArray *steps)
{
  g_autoptr(GArray) sorted = g_array_copy((GArray *)(gpointer)steps);
  double *times_s = (double *)(void *)sorted->data;
  double median_s = ra_robust_quantile(times_s, sorted->len, 0.5);
  double sum = 0, mean = 0, square = 0, product = 0;
  guint n = 0, n_pairs = 0;

  for (guint pass = 0; pass < 2; pass++) {
    for (guint i = 0; i < steps->len; i++) {
      double at = g_array_index(steps, double, i) / median_s - 1;
      double next = i + 1 < steps->len
                        ? g_array_index(steps, double, i + 1) / median_s - 1
                        : 1;

      if (fabs(at) >= 0.01)
        continue;
      n += pass == 0;
      sum += pass == 0 ? at : 0;
      square += pass == 1 ? (at - mean) * (at - mean) : 0;
      if (pass == 0 || fabs(next) >= 0.01)
        continue;
      n_pairs++;
      product += (at - mean) * (next - mean);
    }
    mean = n > 0 ? sum / n : 0;
  }
  return square > 1e-18 * n && n_pairs > 0 ? product / n_pairs / (square / n)
                                           : (double)NAN;
}

/* Prints quantiles 5 % to 95 % apart over the median; returns that spread. */
static double
print_series(const char *name, const char *parameters, GArray *steps)
{
  double r1 = lag1(steps); /* before quantiles sort them */
  double *times_s = (double *)(void *)steps->data, spread = 0;
  double median_s = ra_robust_quantile(times_s, steps->len, 0.5);

  printf("%s\t%s\t%u\t%.6g", name, parameters, steps->len, median_s);
  for (guint i = 0; i < G_N_ELEMENTS(quantiles); i++)
    printf("\t%.6f",
           ra_robust_quantile(times_s, steps->len, quantiles[i]) / median_s);
  spread = (ra_robust_quantile(times_s, steps->len, 0.75) -
            ra_robust_quantile(times_s, steps->len, 0.25)) /
           median_s;
  if (isnan(r1))
    printf("\t%.6f\t-\n", spread);
  else
    printf("\t%.6f\t%.2f\n", spread, r1);
  fflush(stdout);
  return spread;
}

/* ---- Published ----------------------------------------------------------- */

typedef struct {
  GPtrArray *names; /* (char *) */
  GPtrArray *steps; /* (GArray of double, seconds) */
} Series;

static gboolean
read_step(const RaCsvLine *line, gpointer data, GError **error)
{
  Series *series = data;
  g_autofree char *name =
      g_strdup_printf("%s/%s", line->field[0], line->field[1]);
  guint n = series->names->len;
  double step_s;

  if (!ra_csv_number(line, 2, &step_s, error))
    return FALSE;
  if (n == 0 || strcmp(g_ptr_array_index(series->names, n - 1), name) != 0) {
    g_ptr_array_add(series->names, g_steal_pointer(&name));
    g_ptr_array_add(series->steps, g_array_new(FALSE, FALSE, sizeof(double)));
    n++;
  }
  g_array_append_val((GArray *)g_ptr_array_index(series->steps, n - 1), step_s);
  return TRUE;
}

/* The least and most spread of the bulk of a published series; FALSE: there are
 * none. */
static gboolean
print_published(double *out_least, double *out_most)
{
  static const char *const columns[] = {"system", "run", "step_time_s", NULL};
  const char *path = g_getenv("RA_DATA_PATH");
  g_auto(GStrv) folders = g_strsplit(path ? path : "share", ":", 2);
  const char *data = g_getenv("RA_DATA");
  g_autofree char *beside =
      g_build_filename(folders[0], "..", "..", "shared", "data", NULL);
  g_autofree char *file = g_build_filename(data ? data : beside, "train_tables",
                                           "mlperf405b_step_series.csv", NULL);
  Series series = {
      g_ptr_array_new_with_free_func(g_free),
      g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref)};
  gboolean found = ra_csv_read(file, columns, read_step, &series, NULL);

  *out_least = (double)INFINITY;
  *out_most = 0;
  if (!found)
    printf("# no train_tables/mlperf405b_step_series.csv in the data folder "
           "(RA_DATA)\n");
  for (guint i = 0; found && i < series.names->len; i++) {
    double spread = print_series(g_ptr_array_index(series.names, i), "-",
                                 g_ptr_array_index(series.steps, i));

    *out_least = MIN(*out_least, spread);
    *out_most = MAX(*out_most, spread);
  }
  g_ptr_array_unref(series.names);
  g_ptr_array_unref(series.steps);
  return found;
}

/* ---- Simulated ----------------------------------------------------------- */

static double
print_simulated(const char *jitter, const char *step, guint n_iterations)
{
  g_autofree char *set = g_strdup_printf("cluster.jitter=%s", jitter);
  g_autofree char *step_set = g_strdup_printf("cluster.step-jitter=%s", step);
  const char *const sets[] = {"cluster.nodes=64",
                              "call actor_train.mesh=all",
                              "call actor_train.dp=4",
                              "workload.prompts=64",
                              set,
                              step_set,
                              NULL};
  RaSetupFlags flags = {.sets = sets};
  RaReplayOptions options = {.n_iterations = n_iterations,
                             .fidelity = RA_FIDELITY_OP};
  g_autofree char *parameters =
      g_strdup_printf("jitter=%s step-jitter=%s", jitter, step);
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaSetup) setup = NULL;
  GError *error = NULL;

  setup = ra_setup_load("sft-llama3.1-405b-16384.plan", RA_FILE_PLAN, &flags,
                        &error);
  if (setup)
    replay = ra_replay_new(setup, &options, &error);
  if (!replay) {
    fprintf(stderr, "jitter: %s\n", error->message);
    exit(2);
  }
  for (guint i = 1; i < n_iterations; i++) {
    const double *end_s = ra_sim_result(replay->sim)->iteration_end_s;
    double step_s = end_s[i] - end_s[i - 1];

    g_array_append_val(steps, step_s);
  }
  return print_series("simulated 405b 512 gpus", parameters, steps);
}

int
main(int argc, char **argv)
{
  static const char *const jitters[][2] = {
      {"0", "0"},        {"0.02", "0"},     {"0.2", "0"},
      {"0.02", "0.002"}, {"0.02", "0.003"}, {"0.02", "0.004"}};
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  double least, most, best = 0;
  gboolean found;

  printf("# step times over the median of their series; spread: from the first "
         "to the third quarter; r1: a step within 1 %% and the next, "
         "correlation\n");
  printf("series\tparameters\tn_steps\tmedian_s");
  for (guint i = 0; i < G_N_ELEMENTS(quantiles); i++)
    printf("\tq%g_frac", 100 * quantiles[i]);
  printf("\tspread_frac\tr1_frac\n");
  found = print_published(&least, &most);
  for (guint i = 0; i < G_N_ELEMENTS(jitters); i++) {
    double spread =
        print_simulated(jitters[i][0], jitters[i][1], quick ? 12 : 51);

    if (spread <= most && spread > best)
      best = spread;
  }
  /* Some jitter gives a bulk as wide as those published. */
  bench_bar("jitter_spread_frac", found ? best : (double)NAN, BENCH_AT_LEAST,
            least);
  return 0;
}
