/* Published training runs against the simulator: constants of their systems.
 *
 *     train [--quick] [DATA]         DATA: the folder of measurements
 *
 * For every system and GPU of train_vtrain and train_tables the constants that
 * at most three of its runs give (study/validate/train_fit.h), which
 * share/systems has, and what they make of the other runs that say what they
 * are.  `reallot validate` scores the same with the runs that it predicts left
 * out.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "estimator/robust.h"
#include "study/validate/train_fit.h"
#include "study/validate/validate_impl.h"

#define MEDIAN_BAR_FRAC 0.10 /* of published runs that state everything */
#define P90_BAR_FRAC 0.25

static void
die_unless(gboolean ok, GError *error)
{
  if (ok)
    return;
  fprintf(stderr, "train: %s\n", error ? error->message : "no profile");
  exit(2);
}

/* Runs that leave something open go, where there are others. */
static void
leave_full(GArray *cases)
{
  guint n = 0;

  for (guint i = 0; i < cases->len; i++)
    n += ra_train_row_is_full(g_array_index(cases, RaTrainCase, i).row);
  for (guint i = cases->len; n > 0 && i-- > 0;) {
    RaTrainCase *one = &g_array_index(cases, RaTrainCase, i);

    if (ra_train_row_is_full(one->row))
      continue;
    ra_train_run_free(one->run);
    g_array_remove_index(cases, i);
  }
}

/* The rest of @rows that runs on the system and GPU of its first row. */
static GArray *
take_cases(GPtrArray *rows, char **out_gpu)
{
  GArray *cases = g_array_new(FALSE, FALSE, sizeof(RaTrainCase));
  const RaTrainRow *first = g_ptr_array_index(rows, 0);
  g_autofree char *gpu = ra_train_gpu(first);
  const char *system = ra_train_convention(first)->system;

  for (guint i = 0; i < rows->len;) {
    const RaTrainRow *row = g_ptr_array_index(rows, i);
    g_autofree char *of = ra_train_gpu(row);
    RaTrainCase one = {.row = row, .fit = TRUE};

    if (strcmp(of, gpu) != 0 ||
        strcmp(ra_train_convention(row)->system, system) != 0) {
      i++;
      continue;
    }
    if (row->measured_s > 0 && strcmp(row->task, "lora") != 0)
      one.run = ra_train_run_new(row, NULL);
    if (one.run)
      g_array_append_val(cases, one);
    g_ptr_array_remove_index(rows, i);
  }
  leave_full(cases);
  *out_gpu = g_steal_pointer(&gpu);
  return cases;
}

static void
print_constants(const RaTrainConvention *c, RaSystemConstants *constants)
{
  for (guint k = 0; k < RA_SYSTEM_CONSTANTS_MAX && c->fitted[k].key; k++)
    printf("%s%s = %.4g", k ? "; " : "", c->fitted[k].key,
           *ra_system_constant(constants, c->fitted[k].key));
}

static void
print_bar(const char *system, const char *gpu, const char *what, double value,
          double limit)
{
  g_autofree char *name = g_strdup_printf("%s-%s-%s-frac", system, gpu, what);

  bench_bar(name, value, BENCH_AT_MOST, limit);
}

/* One line of the table; errors of the runs that are no points. */
static void
print_group(GArray *cases, const char *gpu)
{
  const RaTrainCase *all = (const RaTrainCase *)(void *)cases->data;
  const RaTrainConvention *c = ra_train_convention(all[0].row);
  g_autoptr(RaProfile) profile = ra_validate_profile(gpu, NULL);
  g_autoptr(RaTrainFit) fit = NULL;
  g_autofree double *errors = g_new(double, cases->len);
  RaSystemConstants constants;
  guint points[RA_TRAIN_POINTS], n_points, n = 0;
  GError *error = NULL;
  double median, p90;

  die_unless(profile != NULL, NULL);
  fit = ra_train_fit_new(all, cases->len, profile, &error);
  die_unless(fit != NULL, error);
  n_points = ra_train_fit(fit, NULL, &constants, points);
  for (guint i = 0; i < cases->len; i++) {
    gboolean point = FALSE;

    for (guint p = 0; p < n_points; p++)
      point |= points[p] == i;
    if (!point)
      errors[n++] =
          fabs(ra_train_fit_s(fit, i, &constants) / all[i].row->measured_s - 1);
  }
  median = ra_robust_quantile(errors, n, 0.5);
  p90 = ra_robust_quantile(errors, n, 0.9);
  printf("%s-%s\t%u\t", c->system, gpu, n);
  print_constants(c, &constants);
  printf("\t");
  for (guint p = 0; p < n_points; p++)
    printf("%s%s", p ? ", " : "", all[points[p]].row->id);
  printf("\t%.3f\t%.3f\n", median, p90);
  print_bar(c->system, gpu, "median", median, MEDIAN_BAR_FRAC);
  print_bar(c->system, gpu, "p90", p90, P90_BAR_FRAC);
}

static void
print_set(const char *data, RaTrainSet set)
{
  GError *error = NULL;
  g_autoptr(GPtrArray) rows = ra_train_rows(data, set, &error);
  g_autoptr(GPtrArray) left = NULL;

  die_unless(rows != NULL, error);
  left = g_ptr_array_new();
  for (guint i = 0; i < rows->len; i++)
    g_ptr_array_add(left, g_ptr_array_index(rows, i));
  while (left->len > 0) {
    g_autofree char *gpu = NULL;
    g_autoptr(GArray) cases = take_cases(left, &gpu);

    if (cases->len > RA_TRAIN_POINTS)
      print_group(cases, gpu);
    for (guint i = 0; i < cases->len; i++)
      ra_train_run_free(g_array_index(cases, RaTrainCase, i).run);
  }
}

int
main(int argc, char **argv)
{
  const char *data = "../shared/data";

  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--quick") != 0)
      data = argv[i];
  printf("# system\truns\tconstants [SI]\tpoints\tmedian_frac\tp90_frac\n");
  print_set(data, RA_TRAIN_VTRAIN_NODE);
  print_set(data, RA_TRAIN_VTRAIN_NODES);
  print_set(data, RA_TRAIN_TABLES);
  return 0;
}
