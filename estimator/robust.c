/* Robust least squares: coordinate search, Levenberg-Marquardt, annealing. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "estimator/robust.h"

#define ROUNDS 16        /* of the search */
#define STEPS 12         /* of the polish */
#define STEP 1e-4        /* of a numeric derivative, in the logarithm */
#define LEAST_SCALE 1e-6 /* below it residuals are rounding */

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

double
ra_robust_quantile(double *values, guint n, double q)
{
  guint at = (guint)ceil(q * n);

  if (n == 0)
    return 0;
  qsort(values, n, sizeof *values, compare_doubles);
  return values[CLAMP(at, 1, n) - 1];
}

/* The @k-th least of @values, from 0, by Hoare's FIND (Communications of the
 * ACM 4, 1961): a fit needs the median a thousand times, and no order. */
static double
select_nth(double *values, int n, int k)
{
  int first = 0, last = n - 1;

  while (first < last) {
    double pivot = values[k];
    int i = first, j = last;

    do {
      while (values[i] < pivot)
        i++;
      while (pivot < values[j])
        j--;
      if (i <= j) {
        double x = values[i];

        values[i++] = values[j];
        values[j--] = x;
      }
    } while (i <= j);
    if (j < k)
      first = i;
    if (k < i)
      last = j;
  }
  return values[k];
}

double
ra_robust_scale(double *residuals, guint n)
{
  if (n == 0)
    return LEAST_SCALE;
  for (guint i = 0; i < n; i++)
    residuals[i] = fabs(residuals[i]);
  return MAX(1.4826 * select_nth(residuals, (int)n, (int)(n + 1) / 2 - 1),
             LEAST_SCALE);
}

static double
bounded_loss(const RaRobust *p, const double *parameters, double *residuals)
{
  double sum = 0;

  p->residuals(p->data, parameters, residuals);
  for (guint i = 0; i < p->n_rows; i++)
    sum += MIN(fabs(residuals[i]), 1);
  return sum;
}

void
ra_robust_search(const RaRobust *p, double *parameters)
{
  g_autofree double *residuals = g_new(double, p->n_rows + 1);
  double factor = 1.5, best = bounded_loss(p, parameters, residuals);

  for (guint round = 0; round < ROUNDS; round++) {
    for (guint j = 0; j < p->n_parameters; j++) {
      double old = parameters[j];

      if (p->low[j] >= p->high[j])
        continue;
      for (guint up = 0; up < 2; up++) {
        double loss;

        parameters[j] =
            CLAMP(up ? old / factor : old * factor, p->low[j], p->high[j]);
        loss = bounded_loss(p, parameters, residuals);
        if (loss < best) {
          best = loss;
          break;
        }
        parameters[j] = old;
      }
    }
    factor = 1 + (factor - 1) * 0.8;
  }
}

/* Tukey's rho, 1 from the cut on. */
static double
rho(double u)
{
  double v = 1 - u * u;

  return fabs(u) >= 1 ? 1 : 1 - v * v * v;
}

static double
tukey_loss(const RaRobust *p, const double *residuals, double cut)
{
  double sum = 0;

  for (guint i = 0; i < p->n_rows; i++)
    sum += rho(residuals[i] / cut);
  return sum;
}

/* The normal equations J'WJ and -J'Wr; @jacobian holds a column a free
 * parameter.  Pinned ones get an equation of their own: no step. */
static void
normal_equations(const RaRobust *p, const double *jacobian,
                 const double *residuals, double cut, double *a, double *b)
{
  guint n = p->n_parameters;

  memset(a, 0, n * n * sizeof *a);
  memset(b, 0, n * sizeof *b);
  for (guint i = 0; i < p->n_rows; i++) {
    double u = residuals[i] / cut, w = fabs(u) < 1 ? 1 - u * u : 0;

    w *= w;
    for (guint j = 0; j < n && w > 0; j++) {
      double x = w * jacobian[(gsize)j * p->n_rows + i];

      b[j] -= x * residuals[i];
      for (guint k = 0; k <= j; k++)
        a[j * n + k] += x * jacobian[(gsize)k * p->n_rows + i];
    }
  }
}

static void
numeric_jacobian(const RaRobust *p, double *parameters, const double *residuals,
                 double *jacobian)
{
  for (guint j = 0; j < p->n_parameters; j++) {
    double *column = &jacobian[(gsize)j * p->n_rows], old = parameters[j];

    memset(column, 0, p->n_rows * sizeof *column);
    if (p->low[j] >= p->high[j])
      continue;
    parameters[j] = old * ra_exp(STEP);
    p->residuals(p->data, parameters, column);
    parameters[j] = old;
    for (guint i = 0; i < p->n_rows; i++)
      column[i] = (column[i] - residuals[i]) / STEP;
  }
}

gboolean
ra_robust_solve(guint n, double *a, double *b)
{
  for (guint i = 0; i < n; i++) {
    for (guint j = 0; j <= i; j++) {
      double sum = a[i * n + j];

      for (guint k = 0; k < j; k++)
        sum -= a[i * n + k] * a[j * n + k];
      if (j == i && !(sum > 0))
        return FALSE;
      a[i * n + j] = j == i ? sqrt(sum) : sum / a[j * n + j];
    }
    for (guint k = 0; k < i; k++)
      b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (guint i = n; i-- > 0;) {
    b[i] /= a[i * n + i];
    for (guint k = 0; k < i; k++)
      b[k] -= a[i * n + k] * b[i];
  }
  return TRUE;
}

/* Solves with the damping @lambda and steps within the bounds.
 * Returns: FALSE where the equations have no solution */
static gboolean
step(const RaRobust *p, const double *a, const double *b, double lambda,
     const double *parameters, double *out_parameters)
{
  guint n = p->n_parameters;
  double damped[RA_ROBUST_PARAMETERS * RA_ROBUST_PARAMETERS];
  double delta[RA_ROBUST_PARAMETERS];

  memcpy(damped, a, n * n * sizeof *a);
  memcpy(delta, b, n * sizeof *b);
  for (guint j = 0; j < n; j++)
    damped[j * n + j] += lambda * a[j * n + j] + 1e-9;
  if (!ra_robust_solve(n, damped, delta))
    return FALSE;
  for (guint j = 0; j < n; j++) {
    double x = parameters[j] * ra_exp(CLAMP(delta[j], -0.5, 0.5));

    out_parameters[j] = p->low[j] >= p->high[j]
                            ? parameters[j]
                            : CLAMP(x, p->low[j], p->high[j]);
  }
  return TRUE;
}

double
ra_robust_polish(const RaRobust *p, double *parameters)
{
  gsize rows = p->n_rows;
  g_autofree double *residuals = g_new(double, rows + 1);
  g_autofree double *trial = g_new(double, rows + 1);
  g_autofree double *jacobian = g_new(double, rows * p->n_parameters + 1);
  double a[RA_ROBUST_PARAMETERS * RA_ROBUST_PARAMETERS];
  double b[RA_ROBUST_PARAMETERS], next[RA_ROBUST_PARAMETERS];
  double lambda = 1e-3, scale = LEAST_SCALE;

  g_return_val_if_fail(p->n_parameters <= RA_ROBUST_PARAMETERS, 0);
  p->residuals(p->data, parameters, residuals);
  for (guint i = 0; i < STEPS && lambda < 1e6; i++) {
    double cut, loss;

    memcpy(trial, residuals, rows * sizeof *trial);
    scale = MAX(ra_robust_scale(trial, p->n_rows), p->least_scale);
    cut = RA_ROBUST_OUTLIER * scale;
    loss = tukey_loss(p, residuals, cut);
    numeric_jacobian(p, parameters, residuals, jacobian);
    normal_equations(p, jacobian, residuals, cut, a, b);
    for (; lambda < 1e6; lambda *= 10) {
      if (!step(p, a, b, lambda, parameters, next))
        continue;
      p->residuals(p->data, next, trial);
      if (tukey_loss(p, trial, cut) < loss)
        break;
    }
    if (lambda >= 1e6)
      break;
    memcpy(parameters, next, p->n_parameters * sizeof *next);
    memcpy(residuals, trial, rows * sizeof *trial);
    lambda = MAX(lambda / 10, 1e-6);
  }
  memcpy(trial, residuals, rows * sizeof *trial);
  return ra_robust_scale(trial, p->n_rows);
}

double
ra_robust_anneal(const RaRobust *p, double *parameters)
{
  static const double scales[] = {0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 0, 0};
  g_autofree double *residuals = g_new(double, p->n_rows + 1);
  double trial[RA_ROBUST_PARAMETERS];
  RaRobust problem = *p;

  memcpy(trial, parameters, p->n_parameters * sizeof *trial);
  for (guint i = 0; i < G_N_ELEMENTS(scales); i++) {
    problem.least_scale = scales[i];
    ra_robust_polish(&problem, trial);
  }
  if (bounded_loss(p, trial, residuals) <
      bounded_loss(p, parameters, residuals))
    memcpy(parameters, trial, p->n_parameters * sizeof *trial);
  p->residuals(p->data, parameters, residuals);
  return ra_robust_scale(residuals, p->n_rows);
}
