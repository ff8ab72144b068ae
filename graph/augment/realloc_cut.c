/* Sides, bundles and zones of a reallocation. */
#include "config.h"

#include <string.h>

#include "graph/augment/realloc_impl.h"

RaSide *
ra_side_new(const RaTensorTable *table, const RaCallPlan *plan,
            const RaCluster *cluster)
{
  RaSide *side = g_new0(RaSide, 1);
  uint32_t n_gpus = ra_cluster_n_gpus(cluster);
  uint32_t n_ranks = ra_mesh_n_gpus(&plan->mesh);
  uint32_t period = ra_call_plan_expert_period(plan);
  uint32_t zero = ra_call_plan_n_shards(plan);
  uint32_t n_shards = plan->tp * (zero > 1 ? zero : period);
  uint32_t n_classes = plan->pp * n_shards;
  g_autofree uint32_t *n_members = g_new0(uint32_t, n_classes);

  g_assert(n_ranks == plan->pp * plan->tp * plan->dp * plan->cp);
  g_assert(n_ranks % n_classes == 0);
  side->pp = plan->pp;
  side->tp = plan->tp;
  side->ep = ra_call_plan_ep(plan);
  side->expert_tp = ra_call_plan_expert_tp(plan);
  side->zero = zero;
  side->n_shards = n_shards;
  side->n_replicas = n_ranks / n_classes;
  side->gpus = g_new(uint32_t, n_ranks);
  side->class_of = g_new(uint32_t, n_gpus);
  memset(side->class_of, 0xff, n_gpus * sizeof *side->class_of);
  side->stages = g_new(RaUnitStages, table->n_units);
  ra_layout_stages(table, plan, side->stages);
  /* ranks ascend with GPUs, so members of a class do */
  for (uint32_t rank = 0; rank < n_ranks; rank++) {
    RaCoord at = ra_call_plan_coord(plan, rank);
    uint32_t shard = zero > 1 ? at.at[RA_AXIS_TP] +
                                    plan->tp * ra_call_plan_zero_rank(plan, &at)
                              : ra_call_plan_expert_rank(plan, &at) % n_shards;
    uint32_t c = at.at[RA_AXIS_PP] * side->n_shards + shard;
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
  side->ep = 1;
  side->expert_tp = 1;
  side->zero = 1;
  side->n_shards = 1;
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

/* Ranks that cut @tensor. */
static uint32_t
n_cutters(const RaSide *side, const RaTensor *tensor)
{
  return tensor->expert == RA_TENSOR_NO_EXPERT ? side->tp : side->expert_tp;
}

/* Parts of a span that a rank has of @tensor. */
static uint32_t
n_parts(const RaSide *side, const RaTensor *tensor)
{
  if (side->zero == 1 || tensor->expert == RA_TENSOR_NO_EXPERT)
    return side->zero;
  return side->n_shards / (side->expert_tp * side->ep);
}

/* The cuts of both sides through a tensor, sorted, perhaps repeated. */
static uint32_t
find_cuts(const RaTensor *tensor, const RaSide *const sides[2],
          uint64_t *out_cuts)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < 2; i++) {
    uint32_t parts = n_parts(sides[i], tensor),
             tp = n_cutters(sides[i], tensor);

    for (uint32_t k = 0; k < tp * parts; k++) {
      RaSpan span =
          ra_layout_shard_span(tensor, tp, k / parts, parts, k % parts);
      out_cuts[n++] = span.begin;
      out_cuts[n++] = span.end;
    }
  }
  qsort(out_cuts, n, sizeof *out_cuts, compare_u64);
  return n;
}

/* The run of @run shards from @begin on, every @stride below @end. */
static RaShards
shards_every(uint32_t begin, uint32_t run, uint32_t stride, uint32_t end)
{
  end = begin + (end - begin - run) / stride * stride + run;
  if (end == begin + run || run == stride)
    run = stride = end - begin;
  return (RaShards){begin, end, run, stride};
}

/* The shards that hold @piece, which no cut divides, of member @member.  Spans
 * are in the order of ranks, so the ranks of a piece are neighbours; a piece of
 * an expert has one, as every matrix of an expert is divided.  tp ranks that
 * share a span cut it into the same parts for zero 3, of which the last z with
 * z n / parts <= first element has it. */
static RaShards
find_shards(const RaSide *side, const RaTensorClass *c, RaSpan piece,
            uint64_t member)
{
  uint32_t tp = n_cutters(side, &c->tensor), begin = RA_NONE, end = 0;
  uint32_t parts = n_parts(side, &c->tensor), all = tp, first;
  uint64_t z = 0;

  for (uint32_t rank = 0; rank < tp; rank++) {
    RaSpan span = ra_layout_span(&c->tensor, tp, rank);
    if (span.begin <= piece.begin && piece.end <= span.end) {
      begin = MIN(begin, rank);
      end = rank + 1;
      z = ((piece.begin - span.begin + 1) * parts - 1) /
          (span.end - span.begin);
    }
  }
  g_assert(begin < end);
  first = begin;
  if (c->tensor.expert != RA_TENSOR_NO_EXPERT) {
    g_assert(end - begin == 1);
    first += tp * (uint32_t)(member * side->ep / c->n);
    all *= side->ep;
  }
  if (side->zero > 1) { /* of the z-th ranks of all */
    first += all * (uint32_t)z;
    return shards_every(first, end - begin, all, first + end - begin);
  }
  return shards_every(first, end - begin, all, side->n_shards);
}

static gboolean
shards_equal(const RaShards *a, const RaShards *b)
{
  return a->begin == b->begin && a->end == b->end && a->run == b->run &&
         a->stride == b->stride;
}

static RaBundle *
get_bundle(RaCut *cut, RaShards from, RaShards to)
{
  RaBundle fresh = {.from = from, .to = to, .part = RA_NONE};

  /* tensors mostly repeat the order of the one before */
  for (guint i = 0; i < cut->bundles->len; i++) {
    guint k = (cut->hint + 1 + i) % cut->bundles->len;
    RaBundle *b = &g_array_index(cut->bundles, RaBundle, k);
    if (!shards_equal(&b->from, &from) || !shards_equal(&b->to, &to))
      continue;
    cut->hint = k;
    return b;
  }
  cut->hint = cut->bundles->len;
  g_array_append_val(cut->bundles, fresh);
  return &g_array_index(cut->bundles, RaBundle, cut->bundles->len - 1);
}

/* Members of class @c from @begin on that both sides keep together: all, or
 * the experts up to the next cut of either side. */
static RaSpan
next_members(const RaTensorClass *c, const RaSide *const sides[2],
             uint64_t begin)
{
  RaSpan members = {begin, c->n};

  for (uint32_t s = 0; c->tensor.expert == 0 && s < 2; s++) {
    uint64_t share = c->n / sides[s]->ep;
    uint64_t end = (begin / share + 1) * share;
    members.end = MIN(members.end, end);
  }
  return members;
}

static void
add_part(RaCut *cut, const RaSide *const sides[2], const RaPart *part)
{
  const RaTensorClass *c = &cut->table->classes[part->class];
  RaRect rect = ra_layout_span_rect(&c->tensor, part->span);
  uint64_t first = part->members.begin, n = part->members.end - first;
  RaBundle *b = get_bundle(cut, find_shards(sides[0], c, part->span, first),
                           find_shards(sides[1], c, part->span, first));
  RaPart linked = *part;

  b->n_params[c->unit] += n * rect.n_rows * rect.n_cols;
  linked.next = b->part;
  b->part = cut->parts->len;
  g_array_append_val(cut->parts, linked);
}

static void
add_bundles(RaCut *cut, const RaSide *from, const RaSide *to)
{
  const RaSide *const sides[2] = {from, to};
  gsize n_spans = (gsize)from->tp * from->zero + (gsize)to->tp * to->zero;
  g_autofree uint64_t *cuts = g_new(uint64_t, 2 * n_spans);

  for (uint32_t i = 0; i < cut->table->n_classes; i++) {
    const RaTensorClass *c = &cut->table->classes[i];
    uint32_t n_cuts = find_cuts(&c->tensor, sides, cuts);
    for (uint32_t k = 1; k < n_cuts; k++) {
      RaPart part = {.class = i, .span = {cuts[k - 1], cuts[k]}};
      if (part.span.begin == part.span.end)
        continue;
      for (uint64_t m = 0; m < c->n; m = part.members.end) {
        part.members = next_members(c, sides, m);
        add_part(cut, sides, &part);
      }
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

  cut->table = table;
  cut->bundles = g_array_new(FALSE, FALSE, sizeof(RaBundle));
  cut->parts = g_array_new(FALSE, FALSE, sizeof(RaPart));
  cut->zones = g_array_new(FALSE, FALSE, sizeof(RaZone));
  cut->units = g_new(uint32_t, table->n_units);
  add_bundles(cut, from, to);
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
