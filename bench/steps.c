/* Constants of share/systems that published RL steps tell, fitted anew.
 *
 *     steps [--quick] [DATA]
 *
 * DATA is the folder that has rl_steps (see its SOURCE.md).  A system is fitted
 * on the sources named below, each phase by itself, and prints what its file
 * says; `reallot validate DATA --level='rl-steps*'` has the errors of the other
 * sources.  --quick: on the first two rows of each.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/system_fit.h"
#include "study/validate/step_row.h"

#define POINTS_MAX 24

/* The rows on which a phase of a system is fitted. */
typedef struct {
  const char *system;
  const char *keys[5];    /* constants, NULL-terminated */
  double start[4];        /* of each */
  RaStepPhase phases[3];  /* that count; RA_STEP_TOTAL ends */
  const char *sources[4]; /* NULL-terminated: of rows */
} Fit;

static const Fit fits[] = {
    {"nemo-rl",
     {"decode-step", "decode-sequence", NULL},
     {4e-3, 1e-5},
     {RA_STEP_GENERATE, RA_STEP_TOTAL},
     {"nemo_rl_issue959", "nemo_rl_v03_blog", NULL}},
    {"nemo-rl",
     {"compute-factor", NULL},
     {1.2},
     {RA_STEP_UPDATE, RA_STEP_LOGPROB, RA_STEP_TOTAL},
     {"nemo_rl_issue959", "nemo_rl_v03_blog", NULL}},
    {"nemo-rl",
     {"weight-sync", NULL},
     {2e9},
     {RA_STEP_SYNC, RA_STEP_TOTAL},
     {"nemo_rl_issue959", "nemo_rl_v03_blog", NULL}},
    {"verl-fsdp",
     {"train-launch", "memory-factor", NULL},
     {7e-5, 4},
     {RA_STEP_UPDATE, RA_STEP_LOGPROB, RA_STEP_TOTAL},
     {"iseekyan_dapo7b", "verl_pr2049_vl7b", NULL}},
    {"verl-megatron",
     {"decode-step", "decode-sequence", NULL},
     {3e-3, 5e-5},
     {RA_STEP_GENERATE, RA_STEP_TOTAL},
     {"iseekyan_dapo7b", "iseekyan_grpo7b", NULL}},
    {"verl-megatron-2025",
     {"decode-step", "decode-sequence", NULL},
     {3.5e-3, 5e-5},
     {RA_STEP_GENERATE, RA_STEP_TOTAL},
     {"diqiu_qwen2_7b_gpg_megatron", NULL}},
    {"verl-megatron",
     {"train-launch", "train-sequence", NULL},
     {7e-5, 3e-3},
     {RA_STEP_UPDATE, RA_STEP_LOGPROB, RA_STEP_TOTAL},
     {"iseekyan_dapo7b", "iseekyan_grpo7b", NULL}},
};

typedef struct {
  const Fit *fit;
  const RaStepRow *row[POINTS_MAX];
  RaSetup *setup[POINTS_MAX]; /* owned */
  RaStepTimes times[POINTS_MAX];
  guint n;
} Points;

static gboolean
is_point(const Fit *fit, const RaStepRow *row, const RaSetup *setup)
{
  g_autofree char *file = g_strconcat(fit->system, ".system", NULL);

  return setup->system &&
         g_str_has_suffix(ra_key_file_name(setup->system->file), file) &&
         row->measured.s[fit->phases[0]] > 0;
}

static void
find_points(Points *points, const GArray *rows, guint most)
{
  const Fit *fit = points->fit;
  g_autoptr(GError) error = NULL;

  for (guint s = 0; fit->sources[s]; s++) {
    guint n = 0;

    for (guint i = 0; i < rows->len && n < most; i++) {
      const RaStepRow *row = &g_array_index(rows, RaStepRow, i);
      RaSetup *setup;

      if (!g_str_equal(row->cell[RA_STEP_CELL_SOURCE], fit->sources[s]) ||
          points->n == POINTS_MAX)
        continue;
      setup = ra_published_setup(row, NULL, &error);
      if (!setup) {
        fprintf(stderr, "steps: %s:%u: %s\n", row->file, row->line,
                error->message);
        g_clear_error(&error);
      }
      if (!setup || !is_point(fit, row, setup)) {
        ra_setup_free(setup);
        continue;
      }
      points->row[points->n] = row;
      points->setup[points->n++] = setup;
      n++;
    }
  }
}

/* GFunc: the times of the point @data, which is its index plus 1. */
static void
replay_point(gpointer data, gpointer user_data)
{
  Points *points = user_data;
  guint i = GPOINTER_TO_UINT(data) - 1;

  points->times[i] = (RaStepTimes){.s = {0}};
  if (ra_step_times(points->setup[i], &points->times[i], NULL, NULL))
    ra_published_fold(points->row[i], &points->times[i]);
}

/* One residual for each phase that a row has measured. */
static void
residuals(const RaSystemConstants *constants, double *out, gpointer data)
{
  Points *points = data;
  GThreadPool *pool = g_thread_pool_new(
      replay_point, points, (gint)g_get_num_processors(), FALSE, NULL);
  guint n = 0;

  for (guint i = 0; i < points->n; i++) {
    ra_estimator_set_system(points->setup[i]->estimator, constants);
    g_thread_pool_push(pool, GUINT_TO_POINTER(i + 1), NULL);
  }
  g_thread_pool_free(pool, FALSE, TRUE);
  for (guint i = 0; i < points->n; i++) {
    for (guint p = 0; points->fit->phases[p] != RA_STEP_TOTAL; p++) {
      RaStepPhase phase = points->fit->phases[p];
      double measured_s = points->row[i]->measured.s[phase];

      if (measured_s > 0 && n < SYSTEM_FIT_RESIDUALS_MAX)
        out[n++] = log(fmax(points->times[i].s[phase], 1e-6) / measured_s);
    }
  }
}

static guint
n_residuals(const Points *points)
{
  guint n = 0;

  for (guint i = 0; i < points->n; i++)
    for (guint p = 0; points->fit->phases[p] != RA_STEP_TOTAL; p++)
      n += points->row[i]->measured.s[points->fit->phases[p]] > 0;
  return MIN(n, SYSTEM_FIT_RESIDUALS_MAX);
}

static void
fit_one(const Fit *fit, const GArray *rows, guint most)
{
  Points points = {.fit = fit};
  SystemFit search = {
      .keys = fit->keys, .residuals = residuals, .data = &points};
  RaSystemConstants found;
  double r[SYSTEM_FIT_RESIDUALS_MAX] = {0}, sum = 0;

  find_points(&points, rows, most);
  memcpy(search.start, fit->start, sizeof fit->start);
  search.n_residuals = n_residuals(&points);
  found = system_fit(&search);
  residuals(&found, r, &points);
  for (guint i = 0; i < search.n_residuals; i++)
    sum += r[i] * r[i];
  printf("# %s, %s: %u rows of", fit->system,
         ra_step_phase_names[fit->phases[0]], points.n);
  for (guint s = 0; fit->sources[s]; s++)
    printf(" %s", fit->sources[s]);
  printf("; root mean square of log errors %.3f\n",
         sqrt(sum / MAX(1, search.n_residuals)));
  system_fit_print(fit->keys, &found);
  for (guint i = 0; i < points.n; i++)
    ra_setup_free(points.setup[i]);
}

int
main(int argc, char **argv)
{
  gboolean quick = FALSE;
  const char *data = g_getenv("RA_DATA"), *only = NULL;
  g_autoptr(GArray) rows = NULL;

  for (int i = 1; i < argc; i++) {
    if (g_str_equal(argv[i], "--quick"))
      quick = TRUE;
    else if (g_str_has_prefix(argv[i], "--system="))
      only = argv[i] + strlen("--system=");
    else
      data = argv[i];
  }
  rows = data ? ra_published_rows(data, NULL) : NULL;
  if (!rows || rows->len == 0) {
    printf("# no rows of rl_steps: steps DATA\n");
    return 0;
  }
  for (guint i = 0; i < G_N_ELEMENTS(fits); i++) {
    if (!only || g_str_equal(only, fits[i].system))
      fit_one(&fits[i], rows, quick ? 2 : POINTS_MAX);
  }
  return 0;
}
