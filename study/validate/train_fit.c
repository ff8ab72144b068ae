/* Fit of a training system's constants to a few of its runs. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/robust.h"
#include "study/validate/train_fit.h"

#define SHARE_STEP 0.05 /* relative, of the difference that a share is */
#define TOP_FRAC 0.1    /* of the range of shares, from its top */
#define SMOOTH 0.01     /* a |residual| of less counts as its square */
#define STEPS 30        /* of the descent */
#define PROBE 0.01      /* relative, of its differences */
/* A constant that the points do not decide stays where it starts: its distance
 * from there counts as so much of a residual. */
#define PRIOR 0.02
#define RESIDUALS_MAX (RA_TRAIN_POINTS + RA_SYSTEM_CONSTANTS_MAX)

/* Constants that were fitted on some points. */
typedef struct {
  guint points[RA_TRAIN_POINTS], n_points;
  RaSystemConstants constants; /* by these */
} Fitted;

struct _RaTrainFit {
  const RaTrainCase *cases; /* (n) borrowed */
  guint n;
  const RaProfile *profile;
  const RaTrainConvention *convention;
  guint n_constants;
  double *share[RA_SYSTEM_CONSTANTS_MAX]; /* (n) owned, of each constant */
  GArray *fitted;                         /* (Fitted), owned */
};

/* Input of the search. */
typedef struct {
  const RaTrainFit *fit;
  const guint *points;
  guint n_points;
} Problem;

static void
set_all(const RaTrainFit *fit, const double *values, RaSystemConstants *out)
{
  *out = (RaSystemConstants)RA_SYSTEM_CONSTANTS_NONE;
  for (guint i = 0; i < fit->n_constants; i++)
    *ra_system_constant(out, fit->convention->fitted[i].key) = values[i];
}

static void
set_start(const RaTrainFit *fit, RaSystemConstants *out)
{
  double values[RA_SYSTEM_CONSTANTS_MAX];

  for (guint i = 0; i < fit->n_constants; i++)
    values[i] = fit->convention->fitted[i].start;
  set_all(fit, values, out);
}

double
ra_train_fit_s(const RaTrainFit *fit, guint index,
               const RaSystemConstants *constants)
{
  g_return_val_if_fail(fit != NULL && index < fit->n, (double)NAN);
  return ra_train_run_s(fit->cases[index].run, fit->profile, constants, NULL,
                        NULL);
}

/* The shares of all constants; a run that cannot be simulated is an error. */
static gboolean
fill_shares(RaTrainFit *fit, GError **error)
{
  RaSystemConstants start;

  set_start(fit, &start);
  for (guint c = 0; c < fit->n_constants; c++)
    fit->share[c] = g_new0(double, fit->n);
  for (guint i = 0; i < fit->n; i++) {
    double s =
        ra_train_run_s(fit->cases[i].run, fit->profile, &start, NULL, error);

    if (!isfinite(s))
      return FALSE;
    for (guint c = 0; fit->cases[i].fit && c < fit->n_constants; c++) {
      RaSystemConstants more = start;

      *ra_system_constant(&more, fit->convention->fitted[c].key) *=
          1 + SHARE_STEP;
      fit->share[c][i] =
          log(ra_train_fit_s(fit, i, &more) / s) / log1p(SHARE_STEP);
    }
  }
  return TRUE;
}

RaTrainFit *
ra_train_fit_new(const RaTrainCase *cases, guint n, const RaProfile *profile,
                 GError **error)
{
  g_autoptr(RaTrainFit) fit = g_new0(RaTrainFit, 1);

  g_return_val_if_fail(cases != NULL && n > 0 && profile != NULL, NULL);
  fit->cases = cases;
  fit->n = n;
  fit->profile = profile;
  fit->convention = ra_train_convention(cases[0].row);
  while (fit->n_constants < RA_SYSTEM_CONSTANTS_MAX &&
         fit->convention->fitted[fit->n_constants].key)
    fit->n_constants++;
  fit->fitted = g_array_new(FALSE, FALSE, sizeof(Fitted));
  return fill_shares(fit, error) ? g_steal_pointer(&fit) : NULL;
}

void
ra_train_fit_free(RaTrainFit *fit)
{
  if (fit == NULL)
    return;
  for (guint c = 0; c < RA_SYSTEM_CONSTANTS_MAX; c++)
    g_free(fit->share[c]);
  g_array_unref(fit->fitted);
  g_free(fit);
}

static int
compare_values(const void *a, const void *b, void *values)
{
  guint i = *(const guint *)a, j = *(const guint *)b;
  const double *v = values;
  int order = (v[i] > v[j]) - (v[i] < v[j]);

  return order ? order : (i > j) - (i < j);
}

/* The cases that may be points. */
typedef struct {
  const RaTrainFit *fit;
  guint *order; /* (n) */
  guint n;
  guint points[RA_TRAIN_POINTS], n_points;
} Choice;

/* Features by which an ordinary run is recognised. */
enum { N_FEATURES = 8 };

static void
features(const RaTrainRow *row, double *out)
{
  uint32_t v[N_FEATURES] = {row->layers, row->hidden,      row->seq,
                            row->gpus,   row->micro_batch, row->tp,
                            row->pp,     row->batch};

  for (guint f = 0; f < N_FEATURES; f++)
    out[f] = log(MAX(v[f], 1));
}

/* Adds the case that is least unlike all of the @n cases from @first of the
 * order, |ln| by |ln|, and is no point yet. */
static void
add_ordinary(Choice *choice, guint first, guint n)
{
  const RaTrainCase *cases = choice->fit->cases;
  double least = (double)INFINITY, middle[N_FEATURES];
  g_autofree double *values = g_new(double, n + 1);
  guint best = 0;

  for (guint f = 0; f < N_FEATURES; f++) {
    for (guint i = 0; i < n; i++) {
      double all[N_FEATURES];

      features(cases[choice->order[first + i]].row, all);
      values[i] = all[f];
    }
    middle[f] = ra_robust_quantile(values, n, 0.5);
  }
  for (guint i = 0; i < n; i++) {
    double all[N_FEATURES], distance = 0;
    gboolean taken = FALSE;

    for (guint p = 0; p < choice->n_points; p++)
      taken |= choice->points[p] == choice->order[first + i];
    features(cases[choice->order[first + i]].row, all);
    for (guint f = 0; f < N_FEATURES; f++)
      distance += fabs(all[f] - middle[f]);
    if (taken || distance >= least)
      continue;
    least = distance;
    best = choice->order[first + i];
  }
  if (isfinite(least))
    choice->points[choice->n_points++] = best;
}

/* Orders the cases by how far constant @c decides them alone. */
static double *
sort_choice(Choice *choice, guint c)
{
  const RaTrainFit *fit = choice->fit;
  double *alone = g_new(double, fit->n);

  for (guint i = 0; i < fit->n; i++) {
    alone[i] = 2 * fit->share[c][i];
    for (guint d = 0; d < fit->n_constants; d++)
      alone[i] -= fit->share[d][i];
  }
  g_qsort_with_data(choice->order, (gint)choice->n, sizeof *choice->order,
                    compare_values, alone);
  return alone;
}

/* An ordinary one of those that constant @c decides most. */
static void
add_decided(Choice *choice, guint c)
{
  g_autofree double *alone = sort_choice(choice, c);
  double most = alone[choice->order[choice->n - 1]];
  double least = alone[choice->order[0]];
  guint n_top = 0;

  while (n_top < choice->n && alone[choice->order[choice->n - 1 - n_top]] >=
                                  most - TOP_FRAC * (most - least))
    n_top++;
  add_ordinary(choice, choice->n - n_top, n_top);
}

static guint
choose_points(const RaTrainFit *fit, const gboolean *left_out, guint *points)
{
  g_autofree guint *order = g_new(guint, fit->n);
  Choice choice = {.fit = fit, .order = order};

  for (guint i = 0; i < fit->n; i++)
    if (fit->cases[i].fit && !(left_out && left_out[i]))
      order[choice.n++] = i;
  if (choice.n == 0 || fit->n_constants == 0)
    return 0;
  if (fit->n_constants == 1) {
    g_free(sort_choice(&choice, 0));
    for (guint p = 0; p < RA_TRAIN_POINTS; p++) {
      guint from = choice.n * p / RA_TRAIN_POINTS;

      add_ordinary(&choice, from, choice.n * (p + 1) / RA_TRAIN_POINTS - from);
    }
  }
  for (guint c = 0; fit->n_constants > 1 && c < fit->n_constants; c++)
    add_decided(&choice, c);
  if (fit->n_constants == 2)
    add_ordinary(&choice, 0, choice.n);
  memcpy(points, choice.points, sizeof choice.points);
  return choice.n_points;
}

static void
residuals(gpointer data, const double *parameters, double *out)
{
  const Problem *problem = data;
  const RaTrainFit *fit = problem->fit;
  RaSystemConstants constants;

  set_all(fit, parameters, &constants);
  for (guint p = 0; p < problem->n_points; p++) {
    guint i = problem->points[p];

    *out++ =
        log(ra_train_fit_s(fit, i, &constants) / fit->cases[i].row->measured_s);
  }
  for (guint c = 0; c < fit->n_constants; c++)
    *out++ = PRIOR * log(parameters[c] / fit->convention->fitted[c].start);
}

static guint
n_residuals(const Problem *problem)
{
  return problem->n_points + problem->fit->n_constants;
}

static double
loss(const Problem *problem, const double *values)
{
  double r[RESIDUALS_MAX], sum = 0;

  residuals((gpointer)problem, values, r);
  for (guint p = 0; p < n_residuals(problem); p++)
    sum += sqrt(r[p] * r[p] + SMOOTH * SMOOTH);
  return sum;
}

/* Solves the @n equations a x = b by Gauss with the largest pivot; FALSE where
 * they do not decide x. */
static gboolean
solve(double a[][RA_SYSTEM_CONSTANTS_MAX], double *b, guint n)
{
  for (guint c = 0; c < n; c++) {
    guint pivot = c;

    for (guint r = c + 1; r < n; r++)
      if (fabs(a[r][c]) > fabs(a[pivot][c]))
        pivot = r;
    if (!(fabs(a[pivot][c]) > 0))
      return FALSE;
    for (guint k = 0; k < n; k++) {
      double t = a[c][k];
      a[c][k] = a[pivot][k];
      a[pivot][k] = t;
    }
    double t = b[c];
    b[c] = b[pivot];
    b[pivot] = t;
    for (guint r = 0; r < n; r++) {
      double f = a[r][c] / a[c][c];

      if (r == c)
        continue;
      for (guint k = c; k < n; k++)
        a[r][k] -= f * a[c][k];
      b[r] -= f * b[c];
    }
  }
  for (guint c = 0; c < n; c++)
    b[c] /= a[c][c];
  return TRUE;
}

/* One step of Gauss and Newton on the logarithms, each residual weighted by
 * what the smoothed |r| leaves of it; *ridge damps it and adapts.
 * Returns: whether it was for the better */
static gboolean
descend(const Problem *problem, const RaRobust *bounds, double *values,
        double *ridge)
{
  guint n = problem->fit->n_constants;
  double r[RESIDUALS_MAX], q[RESIDUALS_MAX], before = loss(problem, values);
  double jacobian[RESIDUALS_MAX][RA_SYSTEM_CONSTANTS_MAX];
  double a[RA_SYSTEM_CONSTANTS_MAX][RA_SYSTEM_CONSTANTS_MAX] = {{0}};
  double b[RA_SYSTEM_CONSTANTS_MAX] = {0}, next[RA_SYSTEM_CONSTANTS_MAX];

  residuals((gpointer)problem, values, r);
  for (guint c = 0; c < n; c++) {
    memcpy(next, values, sizeof next);
    next[c] *= 1 + PROBE;
    residuals((gpointer)problem, next, q);
    for (guint p = 0; p < n_residuals(problem); p++)
      jacobian[p][c] = (q[p] - r[p]) / log1p(PROBE);
  }
  for (guint p = 0; p < n_residuals(problem); p++) {
    double w = 1 / sqrt(r[p] * r[p] + SMOOTH * SMOOTH);

    for (guint c = 0; c < n; c++) {
      b[c] -= w * jacobian[p][c] * r[p];
      for (guint d = 0; d < n; d++)
        a[c][d] += w * jacobian[p][c] * jacobian[p][d];
    }
  }
  for (guint c = 0; c < n; c++)
    a[c][c] += *ridge;
  if (!solve(a, b, n))
    return FALSE;
  for (guint c = 0; c < n; c++)
    next[c] = CLAMP(values[c] * exp(b[c]), bounds->low[c], bounds->high[c]);
  if (loss(problem, next) >= before) {
    *ridge *= 10;
    return FALSE;
  }
  memcpy(values, next, n * sizeof *values);
  *ridge /= 3;
  return TRUE;
}

static void
search(const RaTrainFit *fit, Fitted *fitted)
{
  const RaTrainConstant *spec = fit->convention->fitted;
  double low[RA_SYSTEM_CONSTANTS_MAX], high[RA_SYSTEM_CONSTANTS_MAX];
  double values[RA_SYSTEM_CONSTANTS_MAX], ridge = 0.1;
  Problem data = {fit, fitted->points, fitted->n_points};
  RaRobust problem = {.n_rows = n_residuals(&data),
                      .n_parameters = fit->n_constants,
                      .low = low,
                      .high = high,
                      .residuals = residuals,
                      .data = &data};

  for (guint c = 0; c < fit->n_constants; c++) {
    values[c] = spec[c].start;
    low[c] = spec[c].low;
    high[c] = spec[c].high;
  }
  ra_robust_search(&problem, values);
  for (guint step = 0; step < STEPS; step++)
    descend(&data, &problem, values, &ridge);
  set_all(fit, values, &fitted->constants);
}

guint
ra_train_fit(RaTrainFit *fit, const gboolean *left_out,
             RaSystemConstants *out_constants, guint *out_points)
{
  Fitted fitted = {.n_points = 0};

  g_return_val_if_fail(fit != NULL && out_constants != NULL, 0);
  fitted.n_points = choose_points(fit, left_out, fitted.points);
  if (out_points)
    memcpy(out_points, fitted.points, sizeof fitted.points);
  if (fitted.n_points == 0 || fit->n_constants == 0) {
    set_start(fit, out_constants);
    return 0;
  }
  for (guint i = 0; i < fit->fitted->len; i++) {
    const Fitted *known = &g_array_index(fit->fitted, Fitted, i);

    if (known->n_points == fitted.n_points &&
        memcmp(known->points, fitted.points,
               fitted.n_points * sizeof *fitted.points) == 0) {
      *out_constants = known->constants;
      return known->n_points;
    }
  }
  search(fit, &fitted);
  g_array_append_val(fit->fitted, fitted);
  *out_constants = fitted.constants;
  return fitted.n_points;
}
