/* The descent among plans that a framework can be told. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/jobs.h"
#include "study/contest/neighbour.h"
#include "study/contest/sayable_impl.h"

/* Pairs of moves that are weighed at a time: 50 MiB of them. */
#define PAIRS_MAX (1u << 18)

/* A plan that is weighed. */
typedef struct {
  RaPoint point;
  RaScore score; /* run_s infinite: not weighed, or worse than the limit */
} Weighed;

typedef struct {
  RaSayable *says;
  RaCostTable *costs;
  const RaUntil *until;     /* nullable */
  RaEvaluator **evaluators; /* (n_threads) */
  guint n_threads;
  GArray *plans; /* (Weighed) of a sweep */
  Weighed limit; /* what they have to be better than */
  gint n_steps;  /* atomic: plans weighed */
} Descent;

static double
value_s(const Descent *d, const RaScore *score)
{
  return ra_neighbours_value_s(d->says->space, score);
}

/* TRUE if @a is better: less is lacking, then faster. */
static gboolean
is_better(const Descent *d, const RaScore *a, const RaScore *b)
{
  if (!isfinite(a->run_s) || !isfinite(b->run_s))
    return isfinite(a->run_s);
  if (a->over_bytes > 0 || b->over_bytes > 0)
    return a->over_bytes < b->over_bytes;
  return value_s(d, a) < value_s(d, b) * (1 - 1e-9);
}

static void
weigh(guint i, guint thread, gpointer data)
{
  Descent *d = data;
  Weighed *one = &g_array_index(d->plans, Weighed, i);
  const RaScore *limit = &d->limit.score;
  double bound_s = 0;

  one->score.run_s = (double)INFINITY;
  if (ra_until_is_over(d->until) ||
      !ra_space_check(d->says->space, &one->point))
    return;
  g_atomic_int_inc(&d->n_steps);
  ra_evaluator_set(d->evaluators[thread], 0, &one->point);
  if (isfinite(limit->run_s) && limit->over_bytes <= 0 &&
      value_s(d, limit) == limit->run_s)
    ra_evaluator_bound(d->evaluators[thread], 1, &bound_s);
  if (bound_s > limit->run_s)
    return;
  ra_evaluate(d->evaluators[thread], &one->point, &one->score);
  if (one->score.run_s >= RA_COST_NO_TIME_S)
    one->score.run_s = (double)INFINITY;
}

static int
compare_weighed(const void *a, const void *b, void *data)
{
  const Weighed *x = a, *y = b;

  return is_better(data, &y->score, &x->score) -
         is_better(data, &x->score, &y->score);
}

/* Weighs the plans of the descent and sorts them, the best first. */
static void
sweep(Descent *d)
{
  ra_jobs_run(d->plans->len, d->n_threads, weigh, d);
  g_array_sort_with_data(d->plans, compare_weighed, d);
}

static gboolean
take_move(RaPoint *point, const RaSayableMove *move)
{
  gboolean changes = FALSE;

  for (uint32_t c = 0; c < RA_POINT_MAX; c++)
    if (move->calls >> c & 1) {
      changes |= point->calls[c].candidate != move->point.calls[c].candidate;
      point->calls[c] = move->point.calls[c];
    }
  for (uint32_t m = 0; m < RA_POINT_MAX; m++)
    if (move->models >> m & 1) {
      changes |= point->residency[m] != move->point.residency[m];
      point->residency[m] = move->point.residency[m];
    }
  return changes;
}

static void
add_plan(Descent *d, const RaPoint *point)
{
  Weighed one = {.point = *point};

  g_array_append_val(d->plans, one);
}

/* The plans that are one move, or (@pairs) two, from @point. */
static void
list_plans(Descent *d, guint layout, const RaPoint *point, gboolean pairs)
{
  const GArray *moves = d->says->moves;

  g_array_set_size(d->plans, 0);
  for (guint i = 0; i < moves->len; i++) {
    const RaSayableMove *one = &g_array_index(moves, RaSayableMove, i);
    RaPoint first = *point;

    if (one->layout != layout || !take_move(&first, one))
      continue;
    if (!pairs)
      add_plan(d, &first);
    for (guint k = i + 1; pairs && k < moves->len && d->plans->len < PAIRS_MAX;
         k++) {
      const RaSayableMove *other = &g_array_index(moves, RaSayableMove, k);
      RaPoint second = first;

      if (other->layout == layout && !(other->calls & one->calls) &&
          take_move(&second, other))
        add_plan(d, &second);
    }
  }
}

/* TRUE if @point is a plan of the framework's; asked once for those that are
 * not. */
static gboolean
is_said(RaSayable *says, const RaPoint *point)
{
  g_autofree char *text = NULL;

  for (guint i = 0; i < says->strangers->len; i++)
    if (memcmp(&g_array_index(says->strangers, RaPoint, i), point,
               sizeof *point) == 0)
      return FALSE;
  text = ra_sayable_text(says, point);
  if (!text)
    g_array_append_val(says->strangers, *point);
  return text != NULL;
}

/* Takes the best plan of a sweep that is better and can be said. */
static gboolean
take_best(Descent *d, Weighed *inout)
{
  for (guint i = 0; i < d->plans->len; i++) {
    const Weighed *one = &g_array_index(d->plans, Weighed, i);

    if (!is_better(d, &one->score, &inout->score) || ra_until_is_over(d->until))
      return FALSE;
    if (is_said(d->says, &one->point)) {
      *inout = *one;
      return TRUE;
    }
  }
  return FALSE;
}

/* Down to where no move, and no two, are better. */
static void
go_down(Descent *d, guint layout, Weighed *inout)
{
  gboolean pairs = FALSE;

  while (!ra_until_is_over(d->until)) {
    gboolean took;

    d->limit = *inout;
    list_plans(d, layout, &inout->point, pairs);
    sweep(d);
    took = take_best(d, inout);
    if (!took && pairs)
      return;
    pairs = !took;
  }
}

static void
descent_open(Descent *d)
{
  d->n_threads = ra_jobs_threads(d->says->options.n_threads, G_MAXUINT);
  d->evaluators = g_new0(RaEvaluator *, d->n_threads);
  for (guint i = 0; i < d->n_threads; i++)
    d->evaluators[i] = ra_evaluator_new(d->costs);
  d->plans = g_array_new(FALSE, FALSE, sizeof(Weighed));
  d->limit.score.run_s = (double)INFINITY;
}

static void
descent_close(Descent *d)
{
  for (guint i = 0; i < d->n_threads; i++)
    ra_evaluator_free(d->evaluators[i]);
  g_free(d->evaluators);
  g_array_unref(d->plans);
}

/* The result's plan is now @best. */
static void
report(const Descent *d, const Weighed *best, gint64 begin_us,
       RaMcmcResult *out)
{
  RaMcmcSample sample = {.n_steps = (uint64_t)d->n_steps,
                         .seconds =
                             1e-6 * (double)(g_get_monotonic_time() - begin_us),
                         .best_s = best->score.run_s};

  out->found = TRUE;
  out->point = best->point;
  out->score = best->score;
  g_array_append_val(out->curve, sample);
}

void
ra_sayable_descend(RaSayable *says, RaCostTable *costs, const RaUntil *until,
                   void (*progress)(double best_s, uint64_t n_steps,
                                    void *data),
                   void *data, RaMcmcResult *out_result)
{
  gint64 begin_us = g_get_monotonic_time();
  Descent d = {.says = says, .costs = costs, .until = until};
  g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(Weighed));

  *out_result =
      (RaMcmcResult){.curve = g_array_new(FALSE, FALSE, sizeof(RaMcmcSample))};
  descent_open(&d);
  for (guint i = 0; i < says->starts->len; i++)
    add_plan(&d, &g_array_index(says->starts, RaSayableStart, i).point);
  sweep(&d);
  g_array_append_vals(starts, d.plans->data, d.plans->len);
  for (guint i = 0; i < starts->len; i++) {
    Weighed one = g_array_index(starts, Weighed, i);

    if (!isfinite(one.score.run_s))
      break;
    go_down(&d, ra_sayable_layout(says, &one.point), &one);
    if (one.score.over_bytes > 0 ||
        (out_result->found && !is_better(&d, &one.score, &out_result->score)))
      continue;
    report(&d, &one, begin_us, out_result);
    if (progress)
      progress(one.score.run_s, (uint64_t)d.n_steps, data);
  }
  out_result->n_steps = (uint64_t)d.n_steps;
  out_result->seconds = 1e-6 * (double)(g_get_monotonic_time() - begin_us);
  descent_close(&d);
}

GArray *
ra_sayable_near(RaSayable *says, RaCostTable *costs, const RaPoint *point,
                guint n)
{
  GArray *near = g_array_new(FALSE, FALSE, sizeof(RaNeighbour));
  Descent d = {.says = says, .costs = costs};

  descent_open(&d);
  list_plans(&d, ra_sayable_layout(says, point), point, FALSE);
  sweep(&d);
  for (guint i = 0; i < d.plans->len && near->len < n; i++) {
    const Weighed *one = &g_array_index(d.plans, Weighed, i);
    RaNeighbour other = {one->point, one->score};

    if (!isfinite(one->score.run_s) || one->score.over_bytes > 0)
      break;
    if (is_said(says, &one->point))
      g_array_append_val(near, other);
  }
  descent_close(&d);
  return near;
}
