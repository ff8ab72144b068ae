/* Published RLHF iterations of other systems, predicted, by phase; and the
 * constants of their share/systems/NAME.system, fitted anew.
 *
 *     systems [--quick] [--fit] [DATA]
 *
 * DATA is the folder that has rlhf_steps (see its SOURCE.md).  A system is
 * fitted on at most three points, named below; --fit finds its constants on
 * them, prints what the file says, and predicts with them.  (ReaL's are
 * bench/real-figure's.)  What stands for what a source leaves open is in
 * study/validate/rl_row.c.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/figure.h"
#include "bench/system_fit.h"
#include "study/validate/rl_row.h"

/* Points that a system is fitted on: rows of a source, by model, critic, GPUs.
 */
typedef struct {
  const char *system;    /* file */
  RaRlSource source;     /* of the points */
  const char *keys[4];   /* constants */
  double start[3];       /* of each */
  const char *points[3]; /* begins of names of rows; NULL: no more */
  RaRlSource predicted;  /* rows that are printed */
  double bar;            /* median of those not fitted; 0: none */
} System;

static const System systems[] = {
    {"nemo-rl",
     RA_RL_NEMO_RL_PHASES,
     {"decode-step", "weight-sync", "compute-factor", NULL},
     {1e-3, 1e9, 1},
     {"llama-3.1-8B-instruct on 8 "},
     RA_RL_NEMO_RL,
     0.15},
    {"deepspeed-chat",
     RA_RL_DEEPSPEED_CHAT,
     {"compute-factor", NULL},
     {1},
     {"7B+7B on 8 ", "70B+7B on 64 ", "34B+34B on 64 "},
     RA_RL_DEEPSPEED_CHAT,
     0},
    {"openrlhf",
     RA_RL_OPENRLHF,
     {"decode-step", "weight-sync", "compute-factor", NULL},
     {1e-3, 1e9, 1},
     {"7B+7B on 16 ", "70B+7B on 64 ", "34B+34B on 64 "},
     RA_RL_OPENRLHF,
     0},
    {"nemo-aligner",
     RA_RL_NEMO_ALIGNER,
     {"compute-factor", NULL},
     {1},
     {"llama-3-70B+llama-3-70B on 96 "},
     RA_RL_NEMO_ALIGNER,
     0},
};

/* A row with its plan. */
typedef struct {
  RaRlRow row;
  char *name;     /* owned */
  RaSetup *setup; /* owned; NULL: no plan can be made */
  char *why;      /* owned: that */
} Setting;

static void
die(const GError *error)
{
  fprintf(stderr, "systems: %s\n", error->message);
  exit(2);
}

static void
setting_clear(gpointer data)
{
  Setting *setting = data;

  g_free(setting->name);
  g_free(setting->why);
  ra_setup_free(setting->setup);
}

static GArray *
read_settings(const char *data, RaRlSource source)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) rows = ra_rl_rows(data, source, &error);
  GArray *settings = g_array_new(FALSE, TRUE, sizeof(Setting));

  if (!rows)
    die(error);
  g_array_set_clear_func(settings, setting_clear);
  for (guint i = 0; i < rows->len; i++) {
    Setting setting = {.row = g_array_index(rows, RaRlRow, i)};
    g_autoptr(GError) why = NULL;

    setting.name = ra_rl_row_name(&setting.row);
    setting.setup = ra_rl_row_setup(&setting.row, &why);
    setting.why = why ? g_strdup(why->message) : NULL;
    g_array_append_val(settings, setting);
  }
  return settings;
}

static RaRlTimes
predict(const Setting *setting, const RaSystemConstants *constants)
{
  g_autoptr(GError) error = NULL;
  RaRlTimes times;

  ra_estimator_set_system(setting->setup->estimator, constants);
  if (!ra_rl_times(setting->setup, &times, &error))
    die(error);
  return times;
}

/* ---- The fit --------------------------------------------------------------*/

typedef struct {
  const Setting *of[3];
  guint n;
} Points;

/* Residuals of phases where they are known, else of the whole. */
static guint
add_residuals(const Setting *setting, const RaSystemConstants *constants,
              double *out)
{
  const RaRlRow *row = &setting->row;
  RaRlTimes t = predict(setting, constants);

  if (row->generate_s == 0) {
    out[0] = log(t.total_s / row->measured_s);
    return 1;
  }
  out[0] = log(t.generate_s / row->generate_s);
  out[1] = log((t.inference_s + t.train_s) / (row->inference_s + row->train_s));
  out[2] = log(t.move_s / row->move_s);
  return 3;
}

static void
residuals(const RaSystemConstants *constants, double *out, gpointer data)
{
  const Points *points = data;

  for (guint i = 0; i < points->n; i++)
    out += add_residuals(points->of[i], constants, out);
}

static gboolean
is_point(const System *system, const Setting *setting)
{
  for (guint i = 0; i < 3 && system->points[i]; i++)
    if (system->source == setting->row.source &&
        g_str_has_prefix(setting->name, system->points[i]))
      return TRUE;
  return FALSE;
}

static RaSystemConstants
fit(const System *system, const GArray *settings)
{
  Points points = {.n = 0};
  SystemFit problem = {
      .keys = system->keys, .residuals = residuals, .data = &points};

  memcpy(problem.start, system->start, sizeof problem.start);
  for (guint i = 0; i < settings->len; i++) {
    const Setting *setting = &g_array_index(settings, Setting, i);

    if (!is_point(system, setting) || !setting->setup || points.n == 3)
      continue;
    points.of[points.n++] = setting;
    problem.n_residuals += setting->row.generate_s > 0 ? 3 : 1;
  }
  return system_fit(&problem);
}

static RaSystemConstants
load(const char *name)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *base = g_strconcat(name, ".system", NULL);
  g_autofree char *path = ra_share_find("systems", base, NULL, &error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, &error) : NULL;
  g_autoptr(RaSystem) system = file ? ra_system_load(file, &error) : NULL;

  if (!system)
    die(error);
  return system->constants;
}

/* ---- The table ------------------------------------------------------------*/

static void
print_rows(const System *system, const GArray *settings,
           const RaSystemConstants *constants, GArray *errors)
{
  for (guint i = 0; i < settings->len; i++) {
    const Setting *setting = &g_array_index(settings, Setting, i);
    gboolean is_fitted = is_point(system, setting);
    double measured_s = setting->row.measured_s, error;
    RaRlTimes t, kernels;

    if (!setting->setup) {
      printf("# %s: %s: not predicted: %s\n", system->system, setting->name,
             setting->why);
      continue;
    }
    t = predict(setting, constants);
    kernels = predict(setting, NULL);
    printf("%s\t%s\t%s\t%.1f\t%.2f\t%+.3f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n",
           system->system, setting->name, is_fitted ? "fit" : "held",
           measured_s, t.total_s, t.total_s / measured_s - 1, t.generate_s,
           t.inference_s, t.train_s, t.move_s, kernels.total_s);
    error = fabs(t.total_s / measured_s - 1);
    if (!is_fitted)
      g_array_append_val(errors, error);
  }
}

static void
print_bar(const System *system, GArray *errors)
{
  double median = bench_median((double *)(gpointer)errors->data, errors->len);
  g_autofree char *name =
      g_strconcat(system->system, "-held-out-median-frac", NULL);

  if (system->bar == 0)
    printf("# %s: median error of %u rows that were not fitted %.3f; no bar\n",
           system->system, errors->len, median);
  else
    bench_bar(name, median, BENCH_AT_MOST, system->bar);
}

static void
run(const System *system, const char *data, gboolean refit)
{
  g_autoptr(GArray) points = read_settings(data, system->source);
  g_autoptr(GArray) rows = read_settings(data, system->predicted);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  RaSystemConstants constants =
      refit ? fit(system, points) : load(system->system);

  printf("# %s: %s\n", system->system, ra_rl_convention(system->predicted));
  system_fit_print((const char *const *)system->keys, &constants);
  if (system->source != system->predicted)
    print_rows(system, points, &constants, errors);
  print_rows(system, rows, &constants, errors);
  print_bar(system, errors);
}

int
main(int argc, char **argv)
{
  g_autofree char *data = NULL;
  const char *folder = NULL;
  gboolean refit = FALSE;

  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--fit") == 0)
      refit = TRUE;
    else if (argv[i][0] != '-' && !folder)
      folder = argv[i];
    else if (strcmp(argv[i], "--quick") != 0) { /* takes seconds as it is */
      fprintf(stderr, "usage: systems [--quick] [--fit] [DATA]\n");
      return 2;
    }
  }
  data = bench_data_folder(folder);
  printf("# seconds of an iteration; kernels: without a system\n"
         "system\tsetting\trow\tmeasured_s\tpredicted_s\terror_frac\t"
         "generate_s\tinference_s\ttrain_s\tmove_s\tkernels_s\n");
  for (guint i = 0; i < G_N_ELEMENTS(systems); i++)
    run(&systems[i], data, refit);
  return 0;
}
