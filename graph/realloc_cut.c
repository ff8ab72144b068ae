/* Sides, bundles and zones of a reallocation. */
#include "config.h"

#include <string.h>

#include "graph/realloc_impl.h"

RaSide *
ra_side_new(const RaTensorTable *table, const RaCallPlan *plan,
            const RaCluster *cluster)
{
  RaSide *side = g_new0(RaSide, 1);
  uint32_t n_gpus = ra_cluster_n_gpus(cluster);
  uint32_t n_ranks = ra_mesh_n_gpus(&plan->mesh);
  uint32_t n_classes = plan->pp * plan->tp;
  g_autofree uint32_t *n_members = g_new0(uint32_t, n_classes);

  g_assert(n_ranks == n_classes * plan->dp * plan->cp);
  side->pp = plan->pp;
  side->tp = plan->tp;
  side->n_replicas = n_ranks / n_classes;
  side->gpus = g_new(uint32_t, n_ranks);
  side->class_of = g_new(uint32_t, n_gpus);
  memset(side->class_of, 0xff, n_gpus * sizeof *side->class_of);
  side->stages = g_new(RaUnitStages, table->n_units);
  ra_layout_stages(table, plan, side->stages);
  /* ranks ascend with GPUs, so members of a class do */
  for (uint32_t rank = 0; rank < n_ranks; rank++) {
    RaCoord at = ra_call_plan_coord(plan, rank);
    uint32_t c = at.at[RA_AXIS_PP] * plan->tp + at.at[RA_AXIS_TP];
    uint32_t gpu = ra_mesh_gpu(&plan->mesh, cluster, rank);
    side->class_of[gpu] = c;
    side->gpus[c * side->n_replicas + n_members[c]++] = gpu;
  }
  return side;
}

RaSide *
ra_side_new_whole(const RaTensorTable *table, const uint32_t *gpus, uint32_t n,
                  const RaCluster *cluster)
{
  RaSide *side = g_new0(RaSide, 1);
  uint32_t n_gpus = ra_cluster_n_gpus(cluster);

  side->pp = 1;
  side->tp = 1;
  side->n_replicas = n;
  side->gpus = g_new(uint32_t, n);
  side->class_of = g_new(uint32_t, n_gpus);
  memset(side->class_of, 0xff, n_gpus * sizeof *side->class_of);
  side->stages = g_new0(RaUnitStages, table->n_units);
  for (uint32_t u = 0; u < table->n_units; u++)
    side->stages[u].n = 1;
  for (uint32_t i = 0; i < n; i++) {
    side->gpus[i] = gpus[i];
    side->class_of[gpus[i]] = 0;
  }
  return side;
}

void
ra_side_free(RaSide *side)
{
  if (!side)
    return;
  g_free(side->gpus);
  g_free(side->class_of);
  g_free(side->stages);
  g_free(side);
}

static int
compare_u64(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a;
  uint64_t y = *(const uint64_t *)b;

  return x < y ? -1 : x > y;
}

/* The cuts of both sides through a tensor, sorted, perhaps repeated. */
static uint32_t
find_cuts(const RaTensor *tensor, const uint32_t tp[2], uint64_t *out_cuts)
{
  uint32_t n = 0;

  for (uint32_t side = 0; side < 2; side++)
    for (uint32_t rank = 0; rank < tp[side]; rank++) {
      RaSpan span = ra_layout_span(tensor, tp[side], rank);
      out_cuts[n++] = span.begin;
      out_cuts[n++] = span.end;
    }
  qsort(out_cuts, n, sizeof *out_cuts, compare_u64);
  return n;
}

/* The tp ranks that hold @piece, which no cut divides.  Spans are in the
 * order of ranks, so these are neighbours. */
static RaRanks
find_ranks(const RaTensor *tensor, uint32_t tp, RaSpan piece)
{
  RaRanks ranks = {RA_NONE, 0};

  for (uint32_t rank = 0; rank < tp; rank++) {
    RaSpan span = ra_layout_span(tensor, tp, rank);
    if (span.begin <= piece.begin && piece.end <= span.end) {
      ranks.begin = MIN(ranks.begin, rank);
      ranks.end = rank + 1;
    }
  }
  g_assert(ranks.begin < ranks.end);
  return ranks;
}

static RaBundle *
get_bundle(RaCut *cut, RaRanks from, RaRanks to)
{
  RaBundle fresh = {.from = from, .to = to, .part = RA_NONE};

  for (guint i = 0; i < cut->bundles->len; i++) {
    RaBundle *b = &g_array_index(cut->bundles, RaBundle, i);
    if (b->from.begin == from.begin && b->from.end == from.end &&
        b->to.begin == to.begin && b->to.end == to.end)
      return b;
  }
  g_array_append_val(cut->bundles, fresh);
  return &g_array_index(cut->bundles, RaBundle, cut->bundles->len - 1);
}

static void
add_bundles(RaCut *cut, const uint32_t tp[2])
{
  g_autofree uint64_t *cuts = g_new(uint64_t, 2 * ((gsize)tp[0] + tp[1]));

  for (uint32_t i = 0; i < cut->table->n_classes; i++) {
    const RaTensorClass *c = &cut->table->classes[i];
    uint32_t n_cuts = find_cuts(&c->tensor, tp, cuts);
    for (uint32_t k = 1; k < n_cuts; k++) {
      RaPart part = {.class = i, .span = {cuts[k - 1], cuts[k]}};
      if (part.span.begin == part.span.end)
        continue;
      RaRect rect = ra_layout_span_rect(&c->tensor, part.span);
      RaBundle *b = get_bundle(cut, find_ranks(&c->tensor, tp[0], part.span),
                               find_ranks(&c->tensor, tp[1], part.span));
      b->n_params[c->unit] += c->n * rect.n_rows * rect.n_cols;
      part.next = b->part;
      b->part = cut->parts->len;
      g_array_append_val(cut->parts, part);
    }
  }
}

static gboolean
stages_equal(const RaUnitStages *a, const RaUnitStages *b)
{
  return a->n == b->n && a->at[0] == b->at[0] &&
         (a->n == 1 || a->at[1] == b->at[1]);
}

/* O(units x zones): both are at most some hundred. */
static void
add_zones(RaCut *cut, const RaSide *from, const RaSide *to)
{
  uint32_t n_units = cut->table->n_units;
  g_autofree gboolean *done = g_new0(gboolean, n_units);
  uint32_t n = 0;

  for (uint32_t u = 0; u < n_units; u++) {
    RaZone zone = {
        .from = from->stages[u], .to = to->stages[u], .units = cut->units + n};
    for (uint32_t w = u; w < n_units; w++)
      if (!done[w] && stages_equal(&from->stages[w], &zone.from) &&
          stages_equal(&to->stages[w], &zone.to)) {
        done[w] = TRUE;
        cut->units[n++] = w;
        zone.n_units++;
      }
    if (zone.n_units > 0)
      g_array_append_val(cut->zones, zone);
  }
}

RaCut *
ra_cut_new(const RaTensorTable *table, const RaSide *from, const RaSide *to)
{
  RaCut *cut = g_new0(RaCut, 1);
  const uint32_t tp[2] = {from->tp, to->tp};

  cut->table = table;
  cut->bundles = g_array_new(FALSE, FALSE, sizeof(RaBundle));
  cut->parts = g_array_new(FALSE, FALSE, sizeof(RaPart));
  cut->zones = g_array_new(FALSE, FALSE, sizeof(RaZone));
  cut->units = g_new(uint32_t, table->n_units);
  add_bundles(cut, tp);
  add_zones(cut, from, to);
  return cut;
}

void
ra_cut_free(RaCut *cut)
{
  if (!cut)
    return;
  g_array_free(cut->bundles, TRUE);
  g_array_free(cut->parts, TRUE);
  g_array_free(cut->zones, TRUE);
  g_free(cut->units);
  g_free(cut);
}
