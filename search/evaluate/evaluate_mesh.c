/* Whom a call of a lane shares GPUs with, and whose first GPU is whose. */
#include "config.h"

#include "search/evaluate/evaluate_impl.h"

/* Both ways of a pair of calls; @a_in_b: the first GPU of a is one of b. */
typedef struct {
  uint64_t meet, a_in_b, b_in_a;
} Relation;

static inline uint64_t
mask_of(uint64_t is)
{
  return 0 - (uint64_t)(is != 0);
}

/* GPUs [@begin, @end) and a set of whole nodes. */
static gboolean
set_meets(const RaMesh *set, uint32_t begin, uint32_t end)
{
  uint32_t width = set->gpus_per_node;

  for (uint32_t i = 0; i < set->n_runs; i++) {
    uint32_t first = set->runs[i].first * width;

    if (first < end && begin < first + set->runs[i].n * width)
      return TRUE;
  }
  return FALSE;
}

/* The same where one of the two is a set. */
static gboolean
sets_meet(const RaLane1 *l, uint32_t a, uint32_t b)
{
  if (l->set[a] == l->set[b])
    return TRUE;
  if (l->set[a] && l->set[b])
    return ra_mesh_overlaps(l->set[a], l->set[b]);
  return l->set[a] ? l->begin[b] < l->end[b] &&
                         set_meets(l->set[a], l->begin[b], l->end[b])
                   : l->begin[a] < l->end[a] &&
                         set_meets(l->set[b], l->begin[a], l->end[a]);
}

/* Relation where one of the two is a set: the cells decide it where sets
 * consist of whole cells; elsewhere they only show that two do not meet. */
static inline Relation
relation_of_sets(const RaEvaluator *e, const RaLane1 *l, uint32_t a, uint32_t b)
{
  uint32_t x0 = l->begin[a], y0 = l->begin[b];
  gboolean meet = (l->cells[a] & l->cells[b]) != 0;

  if (e->sets_are_cells)
    return (Relation){
        mask_of(meet),
        mask_of(meet & (l->set[b] ? l->cells[b] >> (x0 >> e->cell_shift) & 1
                                  : (x0 >= y0) & (x0 < l->end[b]))),
        mask_of(meet & (l->set[a] ? l->cells[a] >> (y0 >> e->cell_shift) & 1
                                  : (y0 >= x0) & (y0 < l->end[a])))};
  meet = meet && sets_meet(l, a, b);
  return (Relation){mask_of(meet),
                    mask_of(meet && ra_simd_rank(l, b, x0) != RA_NONE),
                    mask_of(meet && ra_simd_rank(l, a, y0) != RA_NONE)};
}

static inline Relation
relation_of(const RaEvaluator *e, const RaLane1 *l, uint32_t a, uint32_t b)
{
  uint32_t x0 = l->begin[a], x1 = l->end[a], y0 = l->begin[b], y1 = l->end[b];
  gboolean meet = (x0 < y1) & (y0 < x1);

  if (l->set[a] || l->set[b])
    return relation_of_sets(e, l, a, b);
  return (Relation){mask_of(meet), mask_of(meet & (x0 >= y0)),
                    mask_of(meet & (y0 >= x0))};
}

/* For sets only one thing counts: that they share a GPU. */
static inline void
fill_pair(RaEvaluator *e, guint lane, uint32_t a, uint32_t b)
{
  const RaLane1 *l = &e->lanes[lane];
  Relation r = relation_of(e, l, a, b);
  gboolean is_set = l->set[a] || l->set[b];
  uint32_t ab = a * e->n_calls + b, ba = b * e->n_calls + a;

  e->overlap[ab].of[lane] = r.meet;
  e->overlap[ba].of[lane] = r.meet;
  if (l->layout[a] == RA_NONE || l->layout[b] == RA_NONE)
    r.a_in_b = r.b_in_a = 0; /* it takes no time of a GPU */
  e->cover[ab].of[lane] = r.a_in_b;
  e->cover[ba].of[lane] = r.b_in_a;
  e->share[ab].of[lane] = is_set ? r.meet : r.a_in_b;
  e->share[ba].of[lane] = is_set ? r.meet : r.b_in_a;
}

static inline void
fill_self(RaEvaluator *e, guint lane, uint32_t c)
{
  const RaLane1 *l = &e->lanes[lane];
  uint64_t is_there = mask_of(l->begin[c] < l->end[c]);
  uint32_t at = c * e->n_calls + c;

  e->overlap[at].of[lane] = is_there;
  e->cover[at].of[lane] = is_there;
  e->share[at].of[lane] = is_there;
}

void
ra_simd_fill_meshes(RaEvaluator *e, guint lane)
{
  for (uint32_t c = 0; c < e->n_calls; c++) {
    fill_self(e, lane, c);
    for (uint32_t d = 0; d < c; d++)
      fill_pair(e, lane, c, d);
  }
  e->work.n_pairs += e->n_calls * (e->n_calls - 1) / 2;
}

void
ra_simd_fill_mesh(RaEvaluator *e, guint lane, uint32_t call)
{
  fill_self(e, lane, call);
  for (uint32_t d = 0; d < e->n_calls; d++)
    if (d != call)
      fill_pair(e, lane, call, d);
  e->work.n_pairs += e->n_calls - 1;
}

/* --- cells --- */

void
ra_evaluator_init_cells(RaEvaluator *e)
{
  e->places = g_array_new(FALSE, FALSE, sizeof(RaSetCells));
  e->sets_are_cells = TRUE;
  while (ra_cluster_n_gpus(e->space->cluster) > 64u << e->cell_shift)
    e->cell_shift++;
}

void
ra_evaluator_clear_cells(RaEvaluator *e)
{
  for (guint i = 0; i < e->places->len; i++)
    g_free(g_array_index(e->places, RaSetCells, i).cells);
  g_array_unref(e->places);
}

static uint64_t
cells_of_set(RaEvaluator *e, const RaMesh *set)
{
  uint32_t rest = (1u << e->cell_shift) - 1;
  uint64_t cells = 0;

  for (uint32_t i = 0; i < set->n_runs; i++) {
    uint32_t begin = set->runs[i].first * set->gpus_per_node;
    uint32_t end = begin + set->runs[i].n * set->gpus_per_node;

    cells |= ra_cells_of(e, begin, end);
    e->sets_are_cells = e->sets_are_cells && ((begin | end) & rest) == 0;
  }
  return cells;
}

const uint64_t *
ra_evaluator_places(RaEvaluator *e, const RaCandidate *candidate)
{
  RaSetCells places = {candidate->sets, candidate->n_sets, NULL};

  if (candidate->n_sets == 0)
    return NULL;
  for (guint i = e->places->len; i-- > 0;) { /* most often the last */
    const RaSetCells *known = &g_array_index(e->places, RaSetCells, i);
    if (known->sets == places.sets && known->n == places.n)
      return known->cells;
  }
  places.cells = g_new(uint64_t, places.n);
  for (uint32_t i = 0; i < places.n; i++)
    places.cells[i] = cells_of_set(e, &places.sets[i]);
  g_array_append_val(e->places, places);
  return places.cells;
}
