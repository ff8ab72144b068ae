/* Predicted and measured seconds of the 11 settings of ReaL's figure under the
 * heuristic plan, by phase, with one system profile.
 *
 *     real-figure [--quick] [--fit] [--system FILE] [DATA]
 *
 * DATA is the folder that has rlhf_steps/real_figure.csv (see its SOURCE.md).
 * The constants are those of share/systems/reallhf-2024.system; --fit finds
 * them anew on the three rows that are for that and prints what the file says.
 *
 * What is assumed where the source says nothing: 8 x 400 Gbit/s a node; the
 * measured seconds are those of a steady iteration, with no time for logging,
 * checkpoints or the first iteration's compilation.  The source kept the
 * slowest of its trials of this plan.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/figure.h"
#include "bench/real_setting.h"
#include "bench/system_fit.h"

/* Rows that the constants may be fitted on; all others are held out. */
static const struct {
  const char *actor, *critic;
  uint32_t n_gpus;
} fitted[] = {{"7B", "7B", 8}, {"70B", "7B", 64}, {"34B", "34B", 64}};

static gboolean
is_fitted(const RealRow *row)
{
  for (guint i = 0; i < G_N_ELEMENTS(fitted); i++) {
    if (g_str_equal(row->actor, fitted[i].actor) &&
        g_str_equal(row->critic, fitted[i].critic) &&
        row->n_gpus == fitted[i].n_gpus)
      return TRUE;
  }
  return FALSE;
}

/* ---- The fit --------------------------------------------------------------*/

/* The fitted rows. */
typedef struct {
  RealSetting *of[G_N_ELEMENTS(fitted)];
  double measured_s[G_N_ELEMENTS(fitted)];
  guint n;
} Fitted;

static void
residuals(const RaSystemConstants *constants, double *out, gpointer data)
{
  const Fitted *f = data;

  for (guint i = 0; i < f->n; i++) {
    RealTimes times;

    real_predict(f->of[i], REAL_SYSTEM, constants, &times);
    out[i] = log(times.total_s / f->measured_s[i]);
  }
}

/* From the slopes that the rows themselves suggest: 1 ms a layer, 1 ms a stage,
 * factor 1. */
static RaSystemConstants
fit(RealSetting *const *settings, const GArray *rows)
{
  static const char *const keys[] = {"decode-layer", "decode-stage",
                                     "compute-factor", NULL};
  Fitted f = {.n = 0};
  SystemFit problem = {keys, {1e-3, 1e-3, 1}, 0, residuals, &f};

  for (guint i = 0; i < rows->len; i++) {
    const RealRow *row = &g_array_index(rows, RealRow, i);

    if (!is_fitted(row) || f.n == G_N_ELEMENTS(fitted))
      continue;
    f.of[f.n] = settings[i];
    f.measured_s[f.n++] = row->measured_s;
  }
  problem.n_residuals = f.n;
  return system_fit(&problem);
}

/* ---- The table ------------------------------------------------------------*/

static double
median(double *values, guint n)
{
  for (guint i = 1; i < n; i++) {
    for (guint j = i; j > 0 && values[j] < values[j - 1]; j--) {
      double swap = values[j];

      values[j] = values[j - 1];
      values[j - 1] = swap;
    }
  }
  return n == 0 ? (double)NAN : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Seconds that @row takes more than the row of the same actor and GPUs with
 * the smallest critic; NAN: it is that row, or there is none other. */
static double
critic_s(const GArray *rows, const double *times_s, guint row)
{
  const RealRow *of = &g_array_index(rows, RealRow, row);

  for (guint i = 0; i < rows->len; i++) {
    const RealRow *base = &g_array_index(rows, RealRow, i);

    if (i != row && g_str_equal(base->actor, of->actor) &&
        g_str_equal(base->critic, base->actor) && base->n_gpus == of->n_gpus)
      return times_s[row] - times_s[i];
  }
  return (double)NAN;
}

/* Common traits of the misses, with the numbers that show them. */
static void
print_misses(const GArray *rows, const double *predicted_s)
{
  g_autofree double *measured_s = g_new(double, rows->len + 1);

  for (guint i = 0; i < rows->len; i++)
    measured_s[i] = g_array_index(rows, RealRow, i).measured_s;
  printf("# three rows set three constants exactly, so only the held rows "
         "judge them\n"
         "# too slow where the critic is larger than the actor: train and "
         "inference hold a share\n"
         "# that does not grow with the model, which one factor on compute "
         "cannot say\n");
  for (guint i = 0; i < rows->len; i++) {
    const RealRow *row = &g_array_index(rows, RealRow, i);
    double measured = critic_s(rows, measured_s, i);

    if (!isnan(measured))
      printf("# a %s critic instead of %s on %u GPUs costs %.1f s measured, "
             "%.1f s predicted\n",
             row->critic, row->actor, row->n_gpus, measured,
             critic_s(rows, predicted_s, i));
  }
}

/* Returns: predicted seconds. */
static double
print_row(const RealSetting *setting, const RealRow *row,
          const RaSystemConstants *constants)
{
  RealTimes t, k, r, own, own_system;

  real_predict(setting, REAL_SYSTEM, constants, &t);
  real_predict(setting, REAL_KERNELS, NULL, &k);
  real_predict(setting, REAL_ROOFLINE, NULL, &r);
  real_predict(setting, REAL_OWN, NULL, &own);
  real_predict(setting, REAL_OWN_SYSTEM, constants, &own_system);
  printf("%s+%s/%u\t%s\t%.1f\t%.2f\t%+.3f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t"
         "%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%+.3f\t%.2f\t%+.3f\n",
         row->actor, row->critic, row->n_gpus, is_fitted(row) ? "fit" : "held",
         row->measured_s, t.total_s, t.total_s / row->measured_s - 1,
         t.generate_s, t.inference_s, t.train_s, t.move_s, k.total_s, r.total_s,
         t.generate_s - r.generate_s, t.inference_s - r.inference_s,
         t.train_s - r.train_s, t.move_s - r.move_s, own.total_s,
         own.total_s / row->measured_s - 1, own_system.total_s,
         own_system.total_s / row->measured_s - 1);
  return t.total_s;
}

static void
print_head(const RaSystemConstants *constants)
{
  printf("# seconds of an iteration of PPO; plan: tp 8, pp = nodes, dp 1\n"
         "# setting: actor+critic/GPUs; kernels: laws of the profile and its "
         "launches, no system;\n"
         "# roofline: data sheet alone; gap: predicted less roofline, by "
         "phase\n"
         "# real: ReaL's own estimator (--estimator=real), its layers timed by "
         "the laws; real_system:\n"
         "# by the laws under the constants\n"
         "# decode-layer %.4g ms, decode-stage %.4g ms, compute-factor %.4g\n"
         "setting\trow\tmeasured_s\tpredicted_s\terror_frac\tgenerate_s\t"
         "inference_s\ttrain_s\tmove_s\tkernels_s\troofline_s\t"
         "gap_generate_s\tgap_inference_s\tgap_train_s\tgap_move_s\t"
         "real_s\treal_error_frac\treal_system_s\treal_system_error_frac\n",
         1e3 * constants->decode_layer_s, 1e3 * constants->decode_stage_s,
         constants->compute_factor);
}

/* Prints the rows.  Returns: the median error of those held out. */
static double
print_table(RealSetting *const *settings, const GArray *rows,
            const RaSystemConstants *constants)
{
  g_autofree double *errors = g_new(double, rows->len + 1);
  g_autofree double *predicted_s = g_new(double, rows->len + 1);
  guint n_held = 0;

  print_head(constants);
  for (guint i = 0; i < rows->len; i++) {
    const RealRow *row = &g_array_index(rows, RealRow, i);

    predicted_s[i] = print_row(settings[i], row, constants);
    if (!is_fitted(row))
      errors[n_held++] = fabs(predicted_s[i] / row->measured_s - 1);
  }
  print_misses(rows, predicted_s);
  return median(errors, n_held);
}

/* ---- Main -----------------------------------------------------------------*/

typedef struct {
  gboolean fit;       /* find the constants anew */
  const char *system; /* file */
  const char *data;   /* nullable: folder */
} Options;

static gboolean
parse_options(int argc, char **argv, Options *options)
{
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0)
      continue; /* takes a second as it is */
    if (strcmp(argv[i], "--fit") == 0)
      options->fit = TRUE;
    else if (strcmp(argv[i], "--system") == 0 && i + 1 < argc)
      options->system = argv[++i];
    else if (argv[i][0] != '-' && !options->data)
      options->data = argv[i];
    else
      return FALSE;
  }
  return TRUE;
}

static RaSystemConstants
load_constants(const char *name)
{
  GError *error = NULL;
  g_autofree char *path = ra_share_find("systems", name, NULL, &error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, &error) : NULL;
  g_autoptr(RaSystem) system = file ? ra_system_load(file, &error) : NULL;

  if (!system) {
    fprintf(stderr, "real-figure: %s\n", error->message);
    exit(2);
  }
  return system->constants;
}

int
main(int argc, char **argv)
{
  Options options = {.system = "reallhf-2024.system"};
  g_autofree char *data = NULL;
  g_autoptr(GArray) rows = NULL;
  g_autofree RealSetting **settings = NULL;
  RaSystemConstants constants;
  double error;

  if (!parse_options(argc, argv, &options)) {
    fprintf(stderr,
            "usage: real-figure [--quick] [--fit] [--system FILE] [DATA]\n");
    return 2;
  }
  data = bench_data_folder(options.data);
  rows = real_rows(data);
  if (rows->len == 0)
    printf("# no measurements in %s\n", data);
  settings = g_new0(RealSetting *, rows->len + 1);
  for (guint i = 0; i < rows->len; i++)
    settings[i] = real_setting_new(&g_array_index(rows, RealRow, i));
  constants =
      options.fit ? fit(settings, rows) : load_constants(options.system);
  error = print_table(settings, rows, &constants);
  bench_bar("real-heuristic-held-out-median-frac", error, BENCH_AT_MOST, 0.15);
  for (guint i = 0; i < rows->len; i++)
    real_setting_free(settings[i]);
  return 0;
}
