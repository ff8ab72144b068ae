/* Neighbours of a plan, and descents through them. */
#include "config.h"

#include <math.h>

#include "study/contest/neighbour.h"

/* Times that differ by less are the same plan, or as good. */
#define SAME_FRAC 1e-9

#define DESCENTS 100

typedef struct {
  const RaSpace *space;
  RaCostTable *costs;
  RaEvaluator *evaluator;
  const RaPoint *point;
  double own_s;   /* run_s of it */
  GArray *best;   /* (RaNeighbour), the fastest first */
  guint n_wanted; /* of them */
  gboolean lags;  /* times are of an iteration, which bounds are not of */
} Search;

double
ra_neighbours_value_s(const RaSpace *space, const RaScore *score)
{
  for (uint32_t c = 0; c < space->workload->n_calls; c++)
    if (space->workload->calls[c].staleness > 0)
      return score->iteration_s;
  return score->run_s;
}

static double
value_s(const Search *s, const RaScore *score)
{
  return ra_neighbours_value_s(s->space, score);
}

/* Beyond this nobody looks. */
static double
limit_s(const Search *s)
{
  return s->best->len < s->n_wanted
             ? (double)INFINITY
             : value_s(
                   s,
                   &g_array_index(s->best, RaNeighbour, s->n_wanted - 1).score);
}

static gboolean
is_same(double a_s, double b_s)
{
  return fabs(a_s - b_s) <= b_s * SAME_FRAC;
}

static void
keep(Search *s, const RaPoint *point, const RaScore *score)
{
  RaNeighbour one = {*point, *score};
  guint at = 0;

  if (score->over_bytes > 0 || is_same(value_s(s, score), s->own_s) ||
      !(value_s(s, score) < limit_s(s)))
    return;
  for (guint i = 0; i < s->best->len; i++) {
    double have_s = value_s(s, &g_array_index(s->best, RaNeighbour, i).score);

    if (is_same(value_s(s, score), have_s))
      return;
    at += have_s < value_s(s, score);
  }
  g_array_insert_val(s->best, at, one);
  if (s->best->len > s->n_wanted)
    g_array_set_size(s->best, s->n_wanted);
}

static void
try_choice(Search *s, uint32_t call, RaChoice choice)
{
  RaPoint point = *s->point;
  double bound_s;
  RaScore score;

  ra_evaluator_move(s->evaluator, 0, call, choice);
  ra_evaluator_bound(s->evaluator, 1, &bound_s);
  if (s->lags || bound_s < limit_s(s)) {
    ra_evaluator_run(s->evaluator, 1, &score);
    if (value_s(s, &score) < limit_s(s) && !score.is_exact)
      ra_evaluator_exact_peak(s->evaluator, 0, &score);
    point.calls[call] = choice;
    keep(s, &point, &score);
  }
}

/* Positions of @candidate worth a look, each once; (n), at most one a call and
 * two. */
static guint
list_positions(const Search *s, const RaCandidate *candidate, uint32_t *out)
{
  guint n = 0;

  out[n++] = 0;
  if (candidate->n_positions - candidate->n_sets > 1)
    out[n++] = candidate->n_positions - candidate->n_sets - 1;
  for (uint32_t c = 0; c < s->space->workload->n_calls; c++) {
    const RaCandidate *other =
        ra_space_candidate(s->space, c, s->point->calls[c]);
    uint32_t at = s->point->calls[c].position;
    uint32_t position = ra_candidate_position(
        candidate, ra_candidate_begin(other, at), ra_candidate_set(other, at));
    gboolean is_new = position != RA_NONE;

    for (guint i = 0; is_new && i < n; i++)
      is_new = out[i] != position;
    if (is_new)
      out[n++] = position;
  }
  return n;
}

static void
try_call(Search *s, uint32_t call)
{
  const RaSpaceCall *c = &s->space->calls[call];
  uint32_t positions[RA_POINT_MAX + 2];

  for (uint32_t i = 0; i < c->n; i++) {
    guint n;

    if (!ra_cost_table_known_s(s->costs, call, i))
      continue;
    n = list_positions(s, &c->candidates[i], positions);
    for (guint k = 0; k < n; k++)
      try_choice(s, call, (RaChoice){i, positions[k]});
  }
  ra_evaluator_move(s->evaluator, 0, call, s->point->calls[call]);
}

/* The parameters of @model elsewhere between calls. */
static void
try_model(Search *s, uint32_t model)
{
  RaPoint point = *s->point;

  for (int r = RA_RESIDENCY_RELEASE; r <= RA_RESIDENCY_HOST; r++) {
    RaScore score;

    if (r == s->point->residency[model] ||
        !ra_space_allows_residency(s->space, model, r))
      continue;
    ra_evaluator_move_residency(s->evaluator, 0, model, r);
    ra_evaluator_run(s->evaluator, 1, &score);
    if (value_s(s, &score) < limit_s(s) && !score.is_exact)
      ra_evaluator_exact_peak(s->evaluator, 0, &score);
    point.residency[model] = (uint8_t)r;
    keep(s, &point, &score);
  }
  ra_evaluator_move_residency(s->evaluator, 0, model,
                              s->point->residency[model]);
}

static GArray *
neighbours(RaCostTable *costs, const RaPoint *point, guint n,
           gboolean residencies)
{
  const RaSpace *space = ra_cost_table_space(costs);
  Search s = {.space = space,
              .costs = costs,
              .evaluator = ra_evaluator_new(costs),
              .point = point,
              .best = g_array_new(FALSE, FALSE, sizeof(RaNeighbour)),
              .n_wanted = n};
  RaScore own;

  ra_evaluator_set(s.evaluator, 0, point);
  ra_evaluator_run(s.evaluator, 1, &own);
  s.own_s = value_s(&s, &own);
  s.lags = s.own_s != own.run_s;
  for (uint32_t c = 0; n > 0 && c < space->workload->n_calls; c++)
    if (space->workload->calls[c].model != RA_NONE)
      try_call(&s, c);
  for (uint32_t m = 0; residencies && m < space->workload->n_models; m++)
    try_model(&s, m);
  ra_evaluator_free(s.evaluator);
  return s.best;
}

GArray *
ra_neighbours(RaCostTable *costs, const RaPoint *point, guint n)
{
  return neighbours(costs, point, n, FALSE);
}

guint
ra_neighbours_descend(RaCostTable *costs, RaPoint *point, gboolean residencies,
                      RaScore *out_score)
{
  const RaSpace *space = ra_cost_table_space(costs);
  RaEvaluator *evaluator = ra_evaluator_new(costs);
  guint n = 0;

  ra_evaluate(evaluator, point, out_score);
  ra_evaluator_free(evaluator);
  for (; n < DESCENTS; n++) {
    g_autoptr(GArray) best = neighbours(costs, point, 1, residencies);
    const RaNeighbour *first;

    if (best->len == 0)
      break;
    first = &g_array_index(best, RaNeighbour, 0);
    if (!(ra_neighbours_value_s(space, &first->score) <
          ra_neighbours_value_s(space, out_score) * (1 - SAME_FRAC)))
      break;
    *point = first->point;
    *out_score = first->score;
  }
  return n;
}
