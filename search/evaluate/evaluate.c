/* The evaluator: its lanes, their memory, and changes of the plans in them. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/evaluate/evaluate_impl.h"
#include "search/evaluate/flat_graph_impl.h"

/* --- room for the lanes' numbers --- */

static void *
carve(char **at, gsize n)
{
  void *here = *at;

  *at += n * sizeof(RaLaneReal);
  return here;
}

/* All numbers in one block; what they were is lost. */
static void
make_block(RaEvaluator *e)
{
  gsize n = e->n_calls, like = e->n_like, k = e->n_iterations;
  gsize total = e->n_slots + e->n_switches + 2 * e->n_nodes +
                e->n_switches * n + RA_N_QUEUES * n + 3 * n * n + 2 * n * like +
                3 * n + k + k * n + 2;
  char *at;

  free(e->block);
  e->block = aligned_alloc(64, total * sizeof(RaLaneReal));
  if (!e->block)
    g_error("no memory for %" G_GSIZE_FORMAT " GPU groups", total);
  memset(e->block, 0, total * sizeof(RaLaneReal));
  e->work.lane_bytes = total * sizeof(RaLaneReal);
  at = e->block;
  e->duration_s = carve(&at, e->n_slots);
  e->on = carve(&at, e->n_switches);
  e->begin_s = carve(&at, e->n_nodes);
  e->end_s = carve(&at, e->n_nodes);
  e->reach = carve(&at, e->n_switches * n);
  e->queue = carve(&at, RA_N_QUEUES * n);
  e->overlap = carve(&at, n * n);
  e->cover = carve(&at, n * n);
  e->share = carve(&at, n * n);
  e->call_s = carve(&at, n * like);
  e->last_s = carve(&at, n * like);
  e->standing = carve(&at, n);
  e->transient = carve(&at, n);
  e->realloc_s = carve(&at, n);
  e->iteration_s = carve(&at, k);
  e->bound_s = carve(&at, k * n);
  e->makespan_s = carve(&at, 1);
  e->most_bytes = carve(&at, 1);
}

static int
compare_u32(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* Numbers the values of dp that candidates have. */
static void
number_dp(RaEvaluator *e)
{
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  for (uint32_t c = 0; c < e->n_calls; c++)
    for (uint32_t i = 0; i < e->space->calls[c].n; i++)
      g_array_append_val(all, e->space->calls[c].candidates[i].plan.dp);
  g_array_sort(all, compare_u32);
  for (guint i = 0; i < all->len; i++)
    if (i == 0 || g_array_index(all, uint32_t, i) !=
                      g_array_index(all, uint32_t, e->n_dp - 1))
      g_array_index(all, uint32_t, e->n_dp++) = g_array_index(all, uint32_t, i);
  for (uint32_t c = 0; c < e->n_calls; c++) {
    const RaSpaceCall *call = &e->space->calls[c];
    for (uint32_t i = 0; i < call->n; i++) {
      const uint32_t *found = bsearch(&call->candidates[i].plan.dp, all->data,
                                      e->n_dp, sizeof(uint32_t), compare_u32);
      e->traits[c][i].dp_at =
          (uint16_t)(found - (const uint32_t *)(gconstpointer)all->data);
    }
  }
}

/* Least time of each part of @call over its candidates; the parts of a
 * candidate whose cost is unknown have no bound of their own. */
static double *
least_parts(const RaEvaluator *e, uint32_t call)
{
  uint32_t n = e->n_like * e->n_parts[call];
  double *least = g_new(double, n);

  for (uint32_t p = 0; p < n; p++)
    least[p] = (double)INFINITY;
  for (uint32_t i = 0; i < e->space->calls[call].n; i++) {
    const double *parts = ra_evaluator_seen_s(e, call, i);

    for (uint32_t p = 0; p < n; p++) {
      double part_s =
          parts ? parts[p] : ra_cost_table_part_bound_s(e->costs, call, i, p);
      least[p] = MIN(least[p], part_s);
    }
  }
  return least;
}

/* Known costs of each candidate. */
static void
make_briefs(RaEvaluator *e, uint32_t call)
{
  const RaSpaceCall *c = &e->space->calls[call];

  e->mine[call] = g_new0(uint8_t, c->n);
  e->briefs[call] = g_new(RaBrief, c->n);
  e->traits[call] = g_new(RaTraits, c->n);
  for (uint32_t i = 0; i < c->n; i++) {
    const RaCandidate *k = &c->candidates[i];

    e->briefs[call][i] =
        (RaBrief){ra_cost_table_least_s(e->costs, call, i), k->n_gpus, k->first,
                  k->step, k->n_positions - k->n_sets};
    e->traits[call][i] =
        (RaTraits){.places = ra_evaluator_places(e, k), .layout = k->layout};
  }
}

/* Room for all stages of the deepest plan. */
static uint32_t *
new_gpus(const RaEvaluator *e)
{
  gsize n = 1;

  for (uint32_t c = 0; c < e->n_calls; c++) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < e->space->calls[c].n; i++)
      most = MAX(most, e->space->calls[c].candidates[i].footprint.n_stages);
    n += most;
  }
  return g_new(uint32_t, n);
}

/* A GPU with less memory than the largest counts as if that were held: whether
 * it fits is then one comparison. */
static void
weigh_kinds(RaEvaluator *e)
{
  const RaCluster *cluster = e->space->cluster;

  e->n_kind_sets = cluster->kinds ? 1u << cluster->n_kinds : 1;
  e->limit_bytes = cluster->device.memory_bytes;
  for (uint32_t k = 0; k < cluster->n_kinds; k++) {
    double bytes = ra_cluster_memory_bytes(cluster, 1u << k);
    e->limit_bytes = MAX(e->limit_bytes, bytes);
  }
  for (uint32_t node = 1; cluster->kinds && node < cluster->n_nodes; node++)
    if (cluster->kind_of_node[node] != cluster->kind_of_node[node - 1])
      e->kind_ends[e->n_kind_ends++] = node * cluster->gpus_per_node;
  for (uint32_t k = 0; k < cluster->n_kinds; k++)
    e->lack_bytes[k] = (uint64_t)((e->limit_bytes -
                                   ra_cluster_memory_bytes(cluster, 1u << k)) /
                                  (1 + cluster->slack_frac));
}

/* TRUE if layouts of @model's calls have a part in the signature of plans
 * without copies in host memory (search/evaluate/flat_graph.h). */
static gboolean
model_varies(const RaWorkload *w, uint32_t model)
{
  uint32_t trainer = ra_workload_trainer(w, model), n = 0;

  for (uint32_t c = 0; c < w->n_calls; c++) {
    if (w->calls[c].model != model || c == trainer)
      continue;
    n++;
    if (trainer != RA_NONE &&
        (w->calls[c].staleness > 0 ||
         ra_workload_place(w, c) > ra_workload_place(w, trainer)))
      return TRUE;
  }
  return n > 1;
}

static void
find_varying(RaEvaluator *e)
{
  const RaWorkload *w = e->workload;
  gboolean shares = FALSE; /* a base, whose reader may have none of its own */

  for (uint32_t m = 0; m < w->n_models; m++)
    shares = shares || w->models[m].base_of;
  for (uint32_t c = 0; c < e->n_calls; c++) {
    e->varies[c] =
        w->calls[c].model != RA_NONE &&
        (shares || e->space->pins || model_varies(w, w->calls[c].model));
    e->any_varies = e->any_varies || e->varies[c];
  }
}

RaEvaluator *
ra_evaluator_new(RaCostTable *costs)
{
  RaEvaluator *e = g_new0(RaEvaluator, 1);
  const RaWorkload *w;

  e->costs = costs;
  e->space = ra_cost_table_space(costs);
  e->workload = w = e->space->workload;
  e->n_calls = w->n_calls;
  e->n_iterations = e->space->options.n_iterations;
  e->n_like = ra_cost_table_n_like(costs);
  for (uint32_t c = 0; c < e->n_calls; c++)
    e->n_parts[c] = ra_cost_table_n_parts(costs, c);
  for (uint32_t c = 0; c < e->n_calls; c++)
    e->trainer[c] = w->calls[c].model == RA_NONE
                        ? RA_NONE
                        : ra_workload_trainer(w, w->calls[c].model);
  find_varying(e);
  weigh_kinds(e);
  ra_evaluator_init_cells(e);
  e->round = G_MAXINT;
  for (uint32_t c = 0; c < e->n_calls; c++)
    make_briefs(e, c);
  number_dp(e);
  for (uint32_t c = 0; c < e->n_calls; c++)
    e->least_s[c] = least_parts(e, c);
  e->programs = g_hash_table_new_full(ra_signature_hash, ra_signature_equal,
                                      NULL, ra_flat_graph_use_free);
  e->edges = g_array_new(FALSE, FALSE, sizeof(RaEdgeCost));
  e->reallocs = g_new0(RaReallocSlot, RA_REALLOC_SLOTS);
  e->pairs = g_new0(RaPairSlot, RA_PAIR_SLOTS);
  e->gpus = new_gpus(e);
  make_block(e);
  return e;
}

void
ra_evaluator_free(RaEvaluator *evaluator)
{
  if (!evaluator)
    return;
  g_hash_table_unref(evaluator->programs);
  ra_evaluator_clear_cells(evaluator);
  for (guint i = 0; i < evaluator->edges->len; i++)
    g_free(g_array_index(evaluator->edges, RaEdgeCost, i).seconds);
  g_array_unref(evaluator->edges);
  for (uint32_t c = 0; c < evaluator->n_calls; c++) {
    g_free(evaluator->least_s[c]);
    g_free(evaluator->briefs[c]);
    g_free(evaluator->traits[c]);
    g_free(evaluator->mine[c]);
  }
  ra_screen_free(evaluator->screen);
  g_free(evaluator->reallocs);
  g_free(evaluator->pairs);
  g_free(evaluator->moments);
  g_free(evaluator->gpus);
  free(evaluator->block);
  g_free(evaluator);
}

/* --- lanes --- */

static gboolean
has_host(const RaEvaluator *e, const RaPoint *point)
{
  return ra_flat_graph_has_host(e->space, point);
}

/* The program of what is in @lane.  Where no layout has a part in it that is
 * the last one of these residencies. */
static RaFlatGraphUse *
use_of(RaEvaluator *e, guint lane)
{
  const RaPoint *point = &e->lanes[lane].point;

  if (!e->any_varies && e->last_use &&
      memcmp(e->last_residency, point->residency, sizeof point->residency) == 0)
    return e->last_use;
  e->work.n_signatures++;
  e->last_use = ra_evaluator_use(e, point);
  memcpy(e->last_residency, point->residency, sizeof point->residency);
  if (has_host(e, point)) { /* where meshes are has a part */
    RaFlatGraphUse *use = e->last_use;

    e->last_use = NULL;
    return use;
  }
  return e->last_use;
}

/* Finds the program of what is in @lane.  Where it is new and larger than any
 * before, all lanes are filled again. */
static gboolean
find_program(RaEvaluator *e, guint lane)
{
  gsize n_nodes = e->n_nodes, n_slots = e->n_slots, n_switches = e->n_switches;
  const RaFlatGraphUse *before = e->lanes[lane].use;

  e->lanes[lane].use = use_of(e, lane);
  if (e->n_nodes != n_nodes || e->n_slots != n_slots ||
      e->n_switches != n_switches) {
    make_block(e);
    for (guint i = 0; i < RA_LANES; i++)
      if (e->lanes[i].is_set && i != lane)
        ra_simd_fill(e, i);
    return FALSE;
  }
  return e->lanes[lane].use == before;
}

void
ra_evaluator_set(RaEvaluator *evaluator, guint lane, const RaPoint *point)
{
  RaLane1 *l = &evaluator->lanes[lane];

  g_return_if_fail(lane < RA_LANES);
  l->point = *point;
  for (uint32_t c = 0; c < evaluator->n_calls; c++)
    ra_simd_choose(evaluator, lane, c, point->calls[c]);
  l->is_set = TRUE;
  find_program(evaluator, lane);
  ra_simd_fill(evaluator, lane);
}

const RaPoint *
ra_evaluator_point(const RaEvaluator *evaluator, guint lane)
{
  g_return_val_if_fail(lane < RA_LANES && evaluator->lanes[lane].is_set, NULL);
  return &evaluator->lanes[lane].point;
}

/* TRUE if a move of @call can change which program it is. */
static gboolean
may_change_program(const RaEvaluator *e, const RaLane1 *l, uint32_t call)
{
  return e->workload->calls[call].model != RA_NONE &&
         (e->varies[call] || has_host(e, &l->point));
}

void
ra_evaluator_move(RaEvaluator *evaluator, guint lane, uint32_t call,
                  RaChoice choice)
{
  RaLane1 *l = &evaluator->lanes[lane];

  g_return_if_fail(lane < RA_LANES && l->is_set);
  ra_simd_choose(evaluator, lane, call, choice);
  if (may_change_program(evaluator, l, call) && !find_program(evaluator, lane))
    ra_simd_fill(evaluator, lane);
  else
    ra_simd_fill_moved(evaluator, lane, call);
}

void
ra_evaluator_move_residency(RaEvaluator *evaluator, guint lane, uint32_t model,
                            int residency)
{
  g_return_if_fail(lane < RA_LANES && evaluator->lanes[lane].is_set);
  evaluator->lanes[lane].point.residency[model] = (uint8_t)residency;
  find_program(evaluator, lane);
  ra_simd_fill(evaluator, lane);
}

/* Columns of numbers from one lane to another, or to all. */
static void
copy_columns(RaLaneReal *rows, gsize n, guint to, guint from)
{
  for (gsize i = 0; i < n; i++)
    rows[i].of[to] = rows[i].of[from];
}

static void
spread_columns(RaLaneReal *rows, gsize n, guint from)
{
  for (gsize i = 0; i < n; i++) {
    double value = rows[i].of[from];
    for (guint lane = 0; lane < RA_LANES; lane++)
      rows[i].of[lane] = value;
  }
}

static void
copy_masks(RaLaneMask *rows, gsize n, guint to, guint from)
{
  for (gsize i = 0; i < n; i++)
    rows[i].of[to] = rows[i].of[from];
}

static void
spread_masks(RaLaneMask *rows, gsize n, guint from)
{
  for (gsize i = 0; i < n; i++) {
    uint64_t value = rows[i].of[from];
    for (guint lane = 0; lane < RA_LANES; lane++)
      rows[i].of[lane] = value;
  }
}

void
ra_evaluator_copy(RaEvaluator *evaluator, guint lane, guint from)
{
  RaEvaluator *e = evaluator;
  const RaFlatGraph *p = e->lanes[from].use->program;
  gsize n = e->n_calls;

  g_return_if_fail(lane < RA_LANES && from < RA_LANES);
  e->lanes[lane] = e->lanes[from];
  copy_columns(e->duration_s, p->n_slots, lane, from);
  copy_masks(e->on, p->n_switches, lane, from);
  copy_masks(e->overlap, 3 * n * n, lane, from); /* cover and share too */
  copy_columns(e->call_s, 2 * n * e->n_like + 3 * n, lane, from);
}

void
ra_evaluator_spread(RaEvaluator *evaluator, guint from)
{
  RaEvaluator *e = evaluator;
  const RaFlatGraph *p = e->lanes[from].use->program;
  gsize n = e->n_calls;

  g_return_if_fail(from < RA_LANES);
  for (guint lane = 0; lane < RA_LANES; lane++)
    if (lane != from)
      e->lanes[lane] = e->lanes[from];
  spread_columns(e->duration_s, p->n_slots, from);
  spread_masks(e->on, p->n_switches, from);
  spread_masks(e->overlap, 3 * n * n, from); /* cover and share too */
  spread_columns(e->call_s, 2 * n * e->n_like + 3 * n, from);
}
