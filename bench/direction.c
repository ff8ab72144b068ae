/* Trends of predictions against those of published measurements over several
 * sizes of a cluster: a test of direction, not of seconds.
 *
 *     direction [--quick] [DATA]     DATA: the folder of measurements
 *
 * hybridflow   which of three placements of PPO is quickest on 16 to 128 A100
 *              (arXiv 2409.19256, section 8.3), beside what
 *              share/studies/hybridflow-*.study find: families' plans, no
 *              system's constants.  margin: the published best over the best
 * nemo-aligner a step of NeMo-Aligner's PPO of Llama-3-70B on 96 and 384 H100
 *              (rlhf_steps/nemo_aligner.csv)
 * train        runs of train_tables that differ in GPUs (and with them in
 *              replicas and batch) alone, the next larger over the smaller:
 *              seconds a token and GPU; predicted by `reallot validate
 *              --cross`, each run left out of the fit.  A step counts where the
 *              measured one is more than 2 %, the noise of a run
 *              (train_tables/SOURCE.md)
 *
 * --quick: hybridflow alone.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/figure.h"
#include "study/sweep/curve.h"
#include "study/sweep/sweep.h"
#include "study/validate/train_row.h"
#include "study/validate/validate.h"

#define NOISE_FRAC 0.02 /* of a step: what is less has no direction */

/* --- HybridFlow --- */

enum { COLOCATE, SPLIT, STANDALONE, N_POOLS };

static const char *const pools[N_POOLS] = {"colocate", "split", "standalone"};
static const struct {
  const char *study;
  int best[5]; /* on 16, 32, 64, 96, 128 GPUs; -1: not said */
} published[] = {
    {"hybridflow-13b.study", {COLOCATE, COLOCATE, COLOCATE, SPLIT, STANDALONE}},
    {"hybridflow-34b.study", {COLOCATE, COLOCATE, COLOCATE, SPLIT, SPLIT}},
};

typedef struct {
  guint n, n_right, n_within; /* regimes, predicted so, or within the error */
} Score;

static void
die_unless(gboolean ok, GError *error)
{
  if (ok)
    return;
  fprintf(stderr, "direction: %s\n", error ? error->message : "no data");
  exit(2);
}

/* The regime at value @v. */
static void
score_regime(const RaSweep *sweep, guint v, int said, Score *score)
{
  double s[N_POOLS];
  guint best = N_POOLS;
  double margin, error_frac = (double)NAN;

  for (guint c = 0; c < N_POOLS; c++) {
    guint point = ra_study_curve_point(sweep->study, c, v);
    const RaSweepPoint *p = &sweep->points[point];

    s[c] = p->is_allowed ? p->trial.iteration_s : (double)NAN;
    if (p->is_allowed)
      error_frac = p->error_frac;
    if (!isnan(s[c]) && (best == N_POOLS || s[c] < s[best]))
      best = c;
  }
  margin = best < N_POOLS ? s[said] / s[best] - 1 : (double)NAN;
  score->n++;
  score->n_right += best == (guint)said;
  /* Two that are each off by the median error. */
  score->n_within += margin <= sqrt(2) * error_frac;
  printf("%s\t%s", pools[said], best < N_POOLS ? pools[best] : "none fits");
  for (guint c = 0; c < N_POOLS; c++)
    printf(isnan(s[c]) ? "\t-" : "\t%.1f", s[c]);
  printf(isnan(margin) ? "\t-\n" : "\t%.3f\n", margin);
}

static void
score_study(guint which, Score *score)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *path =
      ra_share_find("studies", published[which].study, NULL, &error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, &error) : NULL;
  g_autoptr(RaStudy) study = file ? ra_study_load(file, &error) : NULL;
  RaSetupFlags flags = {.real = FALSE};
  RaSweepOptions options = {.n_threads = 2};
  g_autoptr(RaSweep) sweep =
      study ? ra_sweep_new(study, &flags, &options, &error) : NULL;

  die_unless(sweep != NULL, error);
  for (guint v = 0; v < study->axes[study->along].n_values; v++) {
    printf("%s\t%.0f\t", published[which].study,
           8 * study->axes[study->along].x[v]);
    score_regime(sweep, v, published[which].best[v], score);
  }
}

static void
run_hybridflow(void)
{
  Score score = {.n = 0};

  printf("# the quickest placement, seconds of an iteration\n"
         "study\tgpus\tpublished\tpredicted\tcolocate_s\tsplit_s\t"
         "standalone_s\tmargin_frac\n");
  for (guint i = 0; i < G_N_ELEMENTS(published); i++)
    score_study(i, &score);
  bench_bar("hybridflow-regimes", score.n_right, BENCH_AT_LEAST, score.n);
  bench_bar("hybridflow-regimes-within-error", score.n_within, BENCH_AT_LEAST,
            score.n);
}

/* --- curves over sizes --- */

static RaValidation *
validate(const char *data, const char *pattern, gboolean cross)
{
  RaValidateOptions options = {
      .data = data, .cross = cross, .pattern = pattern, .n_threads = 2};
  GError *error = NULL;
  RaValidation *v = ra_validate(&options, &error);

  die_unless(v != NULL, error);
  return v;
}

static void
run_aligner(const char *data)
{
  g_autoptr(RaValidation) v = validate(data, "nemo-aligner", FALSE);
  const RaValidateResult *r = &g_array_index(v->results, RaValidateResult, 0);
  const RaValidateRow *a, *b;

  if (r->rows->len != 2)
    return;
  a = &g_array_index(r->rows, RaValidateRow, 0);
  b = &g_array_index(r->rows, RaValidateRow, 1);
  printf("# NeMo-Aligner's PPO: four times the GPUs\n"
         "of\tsmaller_s\tlarger_s\tspeedup\nmeasured\t%.1f\t%.1f\t%.2f\n"
         "predicted\t%.1f\t%.1f\t%.2f\n",
         a->measured, b->measured, a->measured / b->measured, a->predicted,
         b->predicted, a->predicted / b->predicted);
  bench_bar("nemo-aligner-speedup-error-frac",
            fabs(a->predicted / b->predicted / (a->measured / b->measured) - 1),
            BENCH_AT_MOST, 0.15);
}

/* A run and what is predicted of it. */
typedef struct {
  const RaTrainRow *row;
  double predicted_s;
  char *curve; /* owned: what runs that differ in GPUs alone have in common */
} Run;

static void
run_clear(Run *run)
{
  g_free(run->curve);
}

static char *
curve_of(const RaTrainRow *r)
{
  return g_strdup_printf("%s %s %s l%u h%u s%u b%u t%u p%u v%u c%u e%u %s %s "
                         "%s",
                         r->source, r->gpu, r->task, r->layers, r->hidden,
                         r->seq, r->micro_batch, r->tp, r->pp, r->vpp, r->cp,
                         r->ep, r->sharding, r->recompute, r->precision);
}

static int
compare_runs(gconstpointer a, gconstpointer b)
{
  const Run *x = a, *y = b;
  int by_curve = strcmp(x->curve, y->curve);

  return by_curve != 0
             ? by_curve
             : (x->row->gpus > y->row->gpus) - (x->row->gpus < y->row->gpus);
}

/* Takes the rows of @v, found again by file and line. */
static void
take_rows(const RaValidation *v, GPtrArray *rows, GArray *out)
{
  for (guint k = 0; k < v->results->len; k++) {
    const RaValidateResult *r = &g_array_index(v->results, RaValidateResult, k);

    for (guint i = 0; i < r->rows->len; i++) {
      const RaValidateRow *one = &g_array_index(r->rows, RaValidateRow, i);

      for (guint j = 0; j < rows->len; j++) {
        const RaTrainRow *row = g_ptr_array_index(rows, j);
        Run run = {.row = row, .predicted_s = one->predicted};

        if (row->line != one->line || !g_str_equal(row->file, one->file) ||
            row->batch == 0)
          continue;
        run.curve = curve_of(row);
        g_array_append_val(out, run);
        break;
      }
    }
  }
}

/* Seconds of a GPU for a sequence, where a step takes @s. */
static double
gpu_s(const RaTrainRow *row, double s)
{
  return s * row->gpus / row->batch;
}

static void
run_training(const char *data)
{
  GError *error = NULL;
  g_autoptr(GPtrArray) rows = ra_train_rows(data, RA_TRAIN_TABLES, &error);
  g_autoptr(RaValidation) v = validate(data, "train-tables*", TRUE);
  g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(Run));
  g_autofree double *off = NULL;
  guint n = 0, n_steps = 0, n_right = 0;

  die_unless(rows != NULL, error);
  g_array_set_clear_func(runs, (GDestroyNotify)run_clear);
  take_rows(v, rows, runs);
  g_array_sort(runs, compare_runs);
  off = g_new(double, runs->len + 1);
  printf("# training on more GPUs: seconds of a GPU for a sequence, the larger "
         "over the smaller\nfrom\tto\tgpus\tmore_gpus\tmeasured\tpredicted\n");
  for (guint i = 1; i < runs->len; i++) {
    const Run *a = &g_array_index(runs, Run, i - 1), *b = a + 1;
    double measured, predicted;

    if (!g_str_equal(a->curve, b->curve) || a->row->gpus == b->row->gpus)
      continue;
    measured =
        gpu_s(b->row, b->row->measured_s) / gpu_s(a->row, a->row->measured_s);
    predicted = gpu_s(b->row, b->predicted_s) / gpu_s(a->row, a->predicted_s);
    off[n++] = fabs(predicted / measured - 1);
    printf("%s\t%s\t%u\t%u\t%.3f\t%.3f\n", a->row->id, b->row->id, a->row->gpus,
           b->row->gpus, measured, predicted);
    if (fabs(measured - 1) <= NOISE_FRAC)
      continue;
    n_steps++;
    n_right += (measured > 1) == (predicted > 1);
  }
  if (n == 0)
    return;
  bench_bar("train-scaling-median-error-frac", bench_median(off, n),
            BENCH_AT_MOST, 0.05);
  bench_bar("train-scaling-direction-frac",
            n_steps > 0 ? (double)n_right / n_steps : (double)NAN,
            BENCH_AT_LEAST, 0.8);
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  const char *data = argc > 1 + quick ? argv[1 + quick] : g_getenv("RA_DATA");

  run_hybridflow();
  if (quick)
    return 0;
  if (!data) {
    printf("# no folder of measurements: nemo-aligner and train are left "
           "out\n");
    return 0;
  }
  run_aligner(data);
  run_training(data);
  return 0;
}
