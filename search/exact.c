#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "search/exact.h"

/* Of a thousand terms; rounding is some 10^-13 of them. */
#define ROUNDING (1 - 1e-9)

/* A choice of the next call with the bound of what it leads to. */
typedef struct {
  RaChoice choice;
  double bound_s;
} Child;

typedef struct {
  RaCostTable *costs;
  const RaSpace *space;
  const RaExactOptions *options;
  RaExactResult *result;
  RaEvaluator *evaluator;
  uint32_t n_calls;
  uint32_t order[RA_POINT_MAX]; /* calls with a choice, the longest first */
  uint32_t n_order;
  double least_gpu_s[RA_POINT_MAX]; /* of a candidate, an iteration */
  uint32_t n_gpus;                  /* of the cluster */
  gint64 begin_us;
  gboolean is_late; /* the time is over */
  double open_s;    /* least bound of what was not explored then */
  RaRng rng;
} Search;

static double
elapsed_s(const Search *s)
{
  return (double)(g_get_monotonic_time() - s->begin_us) * 1e-6;
}

/* Seconds of an iteration that a candidate takes at least. */
static double
least_s(const Search *s, uint32_t call, uint32_t candidate)
{
  return ra_cost_table_least_s(s->costs, call, candidate);
}

/* --- the best so far --- */

static void
take_score(Search *s, const RaPoint *point, const RaScore *score)
{
  RaExactResult *r = s->result;

  s->result->n_scored++;
  if (score->over_bytes > 0 || (r->found && score->run_s >= r->score.run_s))
    return;
  r->found = TRUE;
  r->point = *point;
  r->score = *score;
}

/* What a node must be below to be worth it. */
static double
limit_s(const Search *s)
{
  return s->result->found ? s->result->score.run_s * (1 - s->options->gap_frac)
                          : (double)INFINITY;
}

static uint32_t
n_choices(const Search *s, uint32_t call)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < s->space->calls[call].n; i++)
    n += s->space->calls[call].candidates[i].n_positions;
  return n;
}

static RaChoice
random_choice(Search *s, uint32_t call)
{
  const RaSpaceCall *c = &s->space->calls[call];
  RaChoice choice = {(uint32_t)ra_rng_below(&s->rng, c->n), 0};

  choice.position = (uint32_t)ra_rng_below(
      &s->rng, c->candidates[choice.candidate].n_positions);
  return choice;
}

/* From @point by the first of random changes of one call that helps, until
 * many did not. */
static void
descend(Search *s, RaPoint *point)
{
  enum { BASE = RA_LANES - 1, N_TRIES = 600 };
  RaEvaluator *e = s->evaluator;
  RaScore scores[RA_LANES];
  double best_s, bounds[RA_LANES];

  ra_evaluator_set(e, BASE, point);
  ra_evaluator_spread(e, BASE);
  ra_evaluator_run(e, 1, scores);
  take_score(s, point, &scores[0]);
  best_s = ra_evaluator_penalised_s(e, &scores[0]);
  for (guint tries = 0; tries < N_TRIES; tries++) {
    gboolean any = FALSE;

    ra_evaluator_spread(e, BASE);
    for (guint lane = 0; lane < BASE; lane++) {
      uint32_t call = s->order[ra_rng_below(&s->rng, s->n_order)];
      ra_evaluator_move(e, lane, call, random_choice(s, call));
    }
    ra_evaluator_bound(e, BASE, bounds);
    for (guint lane = 0; lane < BASE; lane++)
      any |= bounds[lane] < best_s;
    if (!any)
      continue;
    ra_evaluator_run(e, BASE, scores);
    for (guint lane = 0; lane < BASE; lane++) {
      take_score(s, ra_evaluator_point(e, lane), &scores[lane]);
      if (ra_evaluator_penalised_s(e, &scores[lane]) >= best_s)
        continue;
      best_s = ra_evaluator_penalised_s(e, &scores[lane]);
      ra_evaluator_copy(e, BASE, lane);
      tries = 0;
    }
  }
}

static void
fill_residency(const Search *s, RaPoint *point)
{
  for (guint m = 0; s->options->residency && m < s->space->workload->n_models;
       m++)
    point->residency[m] = s->options->residency[m];
}

static void
find_start(Search *s)
{
  for (guint i = 0; i < s->options->n_starts; i++) {
    RaPoint point = s->options->starts[i];
    if (ra_space_check(s->space, &point))
      descend(s, &point);
  }
  for (guint i = 0; i < s->options->n_descents; i++) {
    RaPoint point = {.residency = {0}};
    fill_residency(s, &point);
    for (uint32_t c = 0; c < s->n_calls; c++)
      point.calls[c] = random_choice(s, c);
    descend(s, &point);
  }
}

/* --- the tree --- */

/* GPU-seconds of an iteration over all GPUs, of the calls as far as they are
 * placed in @lane. */
static double
area_s(const Search *s, guint lane)
{
  const RaPoint *point = ra_evaluator_point(s->evaluator, lane);
  double sum = 0;

  for (uint32_t c = 0; c < s->n_calls; c++) {
    uint32_t candidate = point->calls[c].candidate;
    sum += candidate == RA_NONE
               ? s->least_gpu_s[c]
               : least_s(s, c, candidate) *
                     s->space->calls[c].candidates[candidate].n_gpus;
  }
  return sum / s->n_gpus * ROUNDING;
}

static int
compare_children(const void *a, const void *b)
{
  const Child *x = a, *y = b;

  if (x->bound_s < y->bound_s || x->bound_s > y->bound_s)
    return x->bound_s < y->bound_s ? -1 : 1;
  if (x->choice.candidate != y->choice.candidate)
    return x->choice.candidate < y->choice.candidate ? -1 : 1;
  return x->choice.position < y->choice.position
             ? -1
             : x->choice.position > y->choice.position;
}

/* Bounds up to seven children of the node in the last lane. */
static void
bound_some(Search *s, uint32_t call, Child *children, guint n)
{
  enum { BASE = RA_LANES - 1 };
  double bounds[RA_LANES];

  ra_evaluator_spread(s->evaluator, BASE);
  for (guint i = 0; i < n; i++) {
    ra_evaluator_move(s->evaluator, i, call, children[i].choice);
  }
  ra_evaluator_relaxed(s->evaluator, n, bounds);
  for (guint i = 0; i < n; i++) {
    double area = area_s(s, i);
    children[i].bound_s = MAX(bounds[i], area);
    if (children[i].bound_s < limit_s(s) &&
        ra_evaluator_certainly_over(s->evaluator, i))
      children[i].bound_s = (double)INFINITY;
  }
  s->result->n_bounded += n;
}

/* Children of the node that are worth it, the best first; (transfer full). */
static GArray *
list_children(Search *s, const RaPoint *node, uint32_t call)
{
  enum { BASE = RA_LANES - 1 };
  const RaSpaceCall *c = &s->space->calls[call];
  GArray *all =
      g_array_sized_new(FALSE, FALSE, sizeof(Child), n_choices(s, call));
  guint n_kept = 0;

  ra_evaluator_set(s->evaluator, BASE, node);
  for (uint32_t i = 0; i < c->n; i++)
    for (uint32_t p = 0; p < c->candidates[i].n_positions; p++) {
      Child child = {{i, p}, 0};
      g_array_append_val(all, child);
    }
  for (guint i = 0; i < all->len; i += BASE)
    bound_some(s, call, &g_array_index(all, Child, i),
               MIN((guint)BASE, all->len - i));
  for (guint i = 0; i < all->len; i++)
    if (g_array_index(all, Child, i).bound_s < limit_s(s))
      g_array_index(all, Child, n_kept++) = g_array_index(all, Child, i);
  g_array_set_size(all, n_kept);
  g_array_sort(all, compare_children);
  return all;
}

/* Plans whose calls are all placed: replayed as they are. */
static void
score_leaves(Search *s, const RaPoint *node, uint32_t call,
             const GArray *children)
{
  for (guint i = 0; i < children->len && !s->is_late; i++) {
    const Child *child = &g_array_index(children, Child, i);
    RaPoint point = *node;
    RaScore score;

    if (child->bound_s >= limit_s(s))
      return;
    point.calls[call] = child->choice;
    ra_evaluator_set(s->evaluator, 0, &point);
    ra_evaluator_run(s->evaluator, 1, &score);
    take_score(s, &point, &score);
  }
}

static void
note_time(Search *s)
{
  s->is_late = s->is_late || (s->options->time_limit_s > 0 &&
                              elapsed_s(s) > s->options->time_limit_s);
}

static void
explore(Search *s, const RaPoint *node, uint32_t depth)
{
  uint32_t call = s->order[depth];
  g_autoptr(GArray) children = list_children(s, node, call);

  note_time(s);
  if (depth + 1 == s->n_order && !s->is_late) {
    score_leaves(s, node, call, children);
    return;
  }
  for (guint i = 0; i < children->len; i++) {
    const Child *child = &g_array_index(children, Child, i);
    RaPoint point = *node;

    if (child->bound_s >= limit_s(s))
      return;
    if (s->is_late) { /* and so are those behind it */
      s->open_s = MIN(s->open_s, child->bound_s);
      return;
    }
    point.calls[call] = child->choice;
    explore(s, &point, depth + 1);
  }
}

/* --- all of it --- */

static void
search_init(Search *s)
{
  const RaWorkload *w = s->space->workload;
  double longest_s[RA_POINT_MAX] = {0};

  s->n_gpus = ra_cluster_n_gpus(s->space->cluster);
  for (uint32_t c = 0; c < s->n_calls; c++) {
    double least = (double)INFINITY;
    s->least_gpu_s[c] = (double)INFINITY;
    for (uint32_t i = 0; i < s->space->calls[c].n; i++) {
      double t = least_s(s, c, i);
      least = MIN(least, t);
      s->least_gpu_s[c] =
          MIN(s->least_gpu_s[c], t * s->space->calls[c].candidates[i].n_gpus);
    }
    longest_s[c] = least;
    if (w->calls[c].model == RA_NONE)
      continue;
    s->order[s->n_order++] = c;
    for (uint32_t i = s->n_order - 1;
         i > 0 && longest_s[s->order[i]] > longest_s[s->order[i - 1]]; i--) {
      uint32_t swap = s->order[i];
      s->order[i] = s->order[i - 1];
      s->order[i - 1] = swap;
    }
  }
}

void
ra_exact_search(RaCostTable *costs, const RaExactOptions *options,
                RaExactResult *out_result)
{
  Search s = {.costs = costs,
              .space = ra_cost_table_space(costs),
              .options = options,
              .result = out_result,
              .open_s = (double)INFINITY};
  RaPoint root = {.residency = {0}};

  memset(out_result, 0, sizeof *out_result);
  s.n_calls = s.space->workload->n_calls;
  s.begin_us = g_get_monotonic_time();
  s.rng = ra_rng_init(options->seed, 0);
  s.evaluator = ra_evaluator_new(costs);
  search_init(&s);
  find_start(&s);
  fill_residency(&s, &root);
  for (uint32_t i = 0; i < s.n_order; i++)
    root.calls[s.order[i]].candidate = RA_NONE;
  if (s.n_order > 0)
    explore(&s, &root, 0);
  if (out_result->found && !out_result->score.is_exact) {
    ra_evaluator_set(s.evaluator, 0, &out_result->point);
    ra_evaluator_run(s.evaluator, 1, &out_result->score);
    ra_evaluator_exact_peak(s.evaluator, 0, &out_result->score);
  }
  out_result->bound_s = MIN(s.open_s, limit_s(&s));
  out_result->is_proven = !(s.open_s < limit_s(&s));
  out_result->seconds = elapsed_s(&s);
  ra_evaluator_free(s.evaluator);
}
