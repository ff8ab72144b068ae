/* Least squares over the constants of a system. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/system_fit.h"
#include "estimator/robust.h"

enum { N_MAX = RA_SYSTEM_CONSTANTS_MAX, N_STEPS = 60 };
#define DAMP_MOST 1e6 /* steps this short move no printed digit */
/* The sum of squares that a step must gain, relative, for another to follow. */
#define GAIN_LEAST 1e-9

/* Those of logarithms @x. */
static RaSystemConstants
constants_of(const SystemFit *fit, const double x[N_MAX])
{
  RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;

  for (guint k = 0; fit->keys[k]; k++)
    *ra_system_constant(&constants, fit->keys[k]) = exp(x[k]);
  return constants;
}

static void
residuals(const SystemFit *fit, const double x[N_MAX], double *out)
{
  RaSystemConstants constants = constants_of(fit, x);

  fit->residuals(&constants, out, fit->data);
}

static double
sum_squares(const double *r, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += r[i] * r[i];
  return sum;
}

/* One step with damping @damp from @x, whose residuals are @r.  Returns: the
 * part of the sum of squares that it gains; if above 0, @x and @r have moved.
 */
static double
take_step(const SystemFit *fit, guint n, double damp, double x[N_MAX],
          double r[SYSTEM_FIT_RESIDUALS_MAX])
{
  double a[N_MAX * N_MAX] = {0}, b[N_MAX] = {0}, moved[N_MAX], gain;
  double slope[N_MAX][SYSTEM_FIT_RESIDUALS_MAX];
  double next[SYSTEM_FIT_RESIDUALS_MAX];

  for (guint k = 0; k < n; k++) {
    memcpy(moved, x, sizeof moved);
    moved[k] += 1e-4;
    residuals(fit, moved, slope[k]);
    for (guint i = 0; i < fit->n_residuals; i++)
      slope[k][i] = (slope[k][i] - r[i]) / 1e-4;
  }
  for (guint k = 0; k < n; k++) {
    for (guint i = 0; i < fit->n_residuals; i++) {
      b[k] -= slope[k][i] * r[i];
      for (guint j = 0; j < n; j++)
        a[k * n + j] += slope[k][i] * slope[j][i];
    }
    a[k * n + k] += damp;
  }
  if (!ra_robust_solve(n, a, b))
    return 0;
  for (guint k = 0; k < n; k++)
    moved[k] = x[k] + CLAMP(b[k], -0.5, 0.5);
  residuals(fit, moved, next);
  gain = 1 -
         sum_squares(next, fit->n_residuals) / sum_squares(r, fit->n_residuals);
  if (!(gain > 0))
    return 0;
  memcpy(x, moved, sizeof moved);
  memcpy(r, next, sizeof next);
  return gain;
}

RaSystemConstants
system_fit(const SystemFit *fit)
{
  double x[N_MAX] = {0}, r[SYSTEM_FIT_RESIDUALS_MAX] = {0}, damp = 1e-3;
  double gain = 1;
  guint n = 0;

  g_assert(fit->n_residuals <= SYSTEM_FIT_RESIDUALS_MAX);
  for (; fit->keys[n]; n++)
    x[n] = log(fit->start[n]);
  if (fit->n_residuals > 0)
    residuals(fit, x, r);
  for (guint step = 0; fit->n_residuals > 0 && step < N_STEPS &&
                       damp < DAMP_MOST && (gain <= 0 || gain > GAIN_LEAST);
       step++) {
    gain = take_step(fit, n, damp, x, r);
    damp *= gain > 0 ? 0.2 : 5;
  }
  return constants_of(fit, x);
}

void
system_fit_print(const char *const *keys, const RaSystemConstants *constants)
{
  gsize n;
  const RaKeySpec *specs = ra_system_constant_specs(&n);

  for (gsize i = 0; i < n; i++) {
    double value = G_STRUCT_MEMBER(double, constants, specs[i].offset);
    const char *unit = specs[i].type != RA_KEY_QUANTITY       ? ""
                       : specs[i].unit == RA_UNIT_BYTES_PER_S ? " GB/s"
                                                              : " ms";
    double scale = specs[i].type != RA_KEY_QUANTITY       ? 1
                   : specs[i].unit == RA_UNIT_BYTES_PER_S ? 1e-9
                                                          : 1e3;

    if (g_strv_contains(keys, specs[i].key))
      printf("# %s = %.4g%s\n", specs[i].key, scale * value, unit);
  }
}
