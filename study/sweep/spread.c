/* Spread of an answer within the error of its points. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "estimator/robust.h"
#include "study/sweep/answer_impl.h"

#define LOW 0.05
#define HIGH 0.95
#define SEED 0

typedef struct {
  guint draw;
  RaCrossing crossing;
} Drawn;

struct _RaSpread {
  guint n_curves;
  guint n_found;     /* draws with an answer */
  guint *n_in;       /* (points) draws whose answer has it */
  GArray **values;   /* (n_curves + 1) (double) of each draw; last: the first */
  GArray **places;   /* (n_curves) (double) likewise */
  GArray *crossings; /* (Drawn) */
};

/* Scales the figures that depend on the iteration's time. */
static void
scale_trial(RaTrial *trial, double factor)
{
  trial->iteration_s *= factor;
  trial->tokens_per_s /= factor;
  trial->usd *= factor;
  trial->mfu_frac /= factor;
}

double
ra_spread_metric(const RaSweep *sweep, guint point, const RaMetric *metric,
                 double factor)
{
  RaTrial trial = sweep->points[point].trial;
  RaFigures figures = sweep->points[point].figures;

  if (trial.refusal)
    return (double)NAN;
  figures.trial = &trial;
  scale_trial(&trial, factor);
  return ra_metric_value(metric, &figures);
}

/* Axes whose value makes another plan of it. */
static gboolean
is_of_plan(const RaStudyAxis *axis)
{
  for (guint k = 0; k < axis->n_keys; k++)
    if (axis->kinds[k] == RA_AXIS_PLAN || axis->kinds[k] == RA_AXIS_PLACEMENT ||
        axis->kinds[k] == RA_AXIS_SPLIT || axis->kinds[k] == RA_AXIS_BATCHING ||
        axis->kinds[k] == RA_AXIS_SYSTEM ||
        g_str_has_prefix(axis->keys[k], "call "))
      return TRUE;
  return FALSE;
}

/* The plan of @point: equal for points that only differ in what it runs on or
 * with. */
static uint64_t
plan_of(const RaStudy *study, guint point)
{
  uint64_t h = RA_HASH_INIT;

  for (guint a = 0; a < study->n_axes; a++)
    if (is_of_plan(&study->axes[a]))
      h = ra_hash_u64(ra_hash_u64(h, a), ra_study_value(study, point, a));
  return h;
}

/* Share of a sum of squares that is its rounding at most: 64 terms of 2^-53. */
#define ROUNDING 1e-12

/* How wrong draw @draw has @point, in median errors of 1: what it has in common
 * with others, and what is left, @own of it. */
static double
error_of(const RaSweep *sweep, guint point, guint draw, double own)
{
  const RaSweepPoint *p = &sweep->points[point];
  const RaModelError *error = &p->trial.error;
  const RaErrorPart part = {plan_of(sweep->study, point), 1};
  double known = error->whole_frac * error->whole_frac;
  double all = p->error_frac * p->error_frac;

  for (guint i = 0; i < RA_ERROR_LAWS_MAX; i++)
    known += error->law_frac[i] * error->law_frac[i];
  return ra_model_error_draw(error, &part, 1, SEED, draw) +
         (all - known > ROUNDING * all ? own * sqrt(all - known) : 0);
}

/* @out: points of @sweep, each as wrong as draw @draw has it; shallow. */
static void
draw_points(const RaSweep *sweep, guint draw, RaSweepPoint *out)
{
  RaRng rng = ra_rng_init(SEED, draw);

  for (guint i = 0; i < sweep->n; i++) {
    RaSweepPoint *p = &out[i];
    double e = ra_rng_normal(&rng);

    *p = sweep->points[i];
    p->figures.trial = &p->trial;
    if (p->trial.refusal || !(p->error_frac > 0))
      continue;
    scale_trial(&p->trial,
                ra_exp(RA_ERROR_SIGMA * error_of(sweep, i, draw, e)));
    p->is_allowed = ra_study_allows(sweep->study, &p->figures);
  }
}

static void
add(GArray *array, double value)
{
  g_array_append_val(array, value);
}

/* Reads the answer of sample @draw. */
static void
take(RaSpread *spread, const RaSweep *sweep, const RaAnswer *answer, guint draw)
{
  const RaStudy *study = sweep->study;

  spread->n_found += answer->points->len > 0;
  for (guint i = 0; i < answer->points->len; i++) {
    guint point = g_array_index(answer->points, guint, i);
    guint curve = ra_study_curve_of(study, point);
    double value =
        ra_metric_value(study->metrics[0], &sweep->points[point].figures);

    spread->n_in[point]++;
    add(spread->values[curve], value);
    add(spread->places[curve], ra_study_value(study, point, study->along));
    if (i == 0)
      add(spread->values[spread->n_curves], value);
    if (i < answer->crossings->len) {
      Drawn one = {draw, g_array_index(answer->crossings, RaCrossing, i)};

      g_array_append_val(spread->crossings, one);
    }
  }
}

static GArray **
new_arrays(guint n)
{
  GArray **arrays = g_new0(GArray *, n + 1); /* NULL behind the last */

  for (guint i = 0; i < n; i++)
    arrays[i] = g_array_new(FALSE, FALSE, sizeof(double));
  return arrays;
}

RaSpread *
ra_spread_new(const RaSweep *sweep)
{
  RaSpread *spread;
  RaSweep drawn = *sweep;
  gboolean is_known = FALSE;

  for (guint i = 0; i < sweep->n; i++)
    is_known = is_known || sweep->points[i].error_frac > 0;
  if (!is_known)
    return NULL;
  spread = g_new0(RaSpread, 1);
  spread->n_curves = ra_study_n_curves(sweep->study);
  spread->n_in = g_new0(guint, sweep->n);
  spread->values = new_arrays(spread->n_curves + 1);
  spread->places = new_arrays(spread->n_curves);
  spread->crossings = g_array_new(FALSE, FALSE, sizeof(Drawn));
  drawn.points = g_new0(RaSweepPoint, sweep->n);
  for (guint draw = 0; draw < RA_SPREAD_DRAWS; draw++) {
    g_autoptr(RaAnswer) answer = NULL;

    draw_points(sweep, draw, drawn.points);
    answer = ra_answer_make(&drawn, NULL);
    take(spread, &drawn, answer, draw);
  }
  g_free(drawn.points);
  return spread;
}

static void
free_arrays(GArray **arrays)
{
  for (guint i = 0; arrays[i]; i++)
    g_array_unref(arrays[i]);
  g_free(arrays);
}

void
ra_spread_free(RaSpread *spread)
{
  if (!spread)
    return;
  free_arrays(spread->values);
  free_arrays(spread->places);
  g_array_unref(spread->crossings);
  g_free(spread->n_in);
  g_free(spread);
}

double
ra_spread_share(const RaSpread *spread, guint point)
{
  return (double)spread->n_in[point] / RA_SPREAD_DRAWS;
}

double
ra_spread_found(const RaSpread *spread)
{
  return (double)spread->n_found / RA_SPREAD_DRAWS;
}

/* The values themselves at the quantiles, as many are not between. */
static gboolean
find_range(const GArray *values, double *out_low, double *out_high)
{
  g_autofree double *sorted = NULL;
  guint n = values->len;

  if (n == 0)
    return FALSE;
  sorted = g_memdup2(values->data, n * sizeof *sorted);
  ra_robust_quantile(sorted, n, LOW); /* sorts */
  *out_low = sorted[(guint)floor(LOW * (n - 1))];
  *out_high = sorted[(guint)ceil(HIGH * (n - 1))];
  return TRUE;
}

gboolean
ra_spread_values(const RaSpread *spread, guint curve, double *out_low,
                 double *out_high)
{
  return find_range(spread->values[curve == RA_NONE ? spread->n_curves : curve],
                    out_low, out_high);
}

gboolean
ra_spread_places(const RaSpread *spread, guint curve, guint *out_low,
                 guint *out_high)
{
  double low, high;

  if (!find_range(spread->places[curve], &low, &high))
    return FALSE;
  *out_low = (guint)low;
  *out_high = (guint)high;
  return TRUE;
}

gboolean
ra_spread_crossings(const RaSpread *spread, guint curve, double x,
                    double *out_low, double *out_high)
{
  g_autoptr(GArray) nearest = g_array_new(FALSE, FALSE, sizeof(double));
  guint last = RA_NONE;

  for (guint i = 0; i < spread->crossings->len; i++) {
    const Drawn *c = &g_array_index(spread->crossings, Drawn, i);
    double *own;

    if (c->crossing.to != curve)
      continue;
    if (c->draw != last)
      add(nearest, c->crossing.x);
    last = c->draw;
    own = &g_array_index(nearest, double, nearest->len - 1);
    if (fabs(c->crossing.x - x) < fabs(*own - x))
      *own = c->crossing.x;
  }
  return find_range(nearest, out_low, out_high);
}
