/* Reallocation: the three schemes, and their flows as moves or as slices. */
#include "config.h"

#include "graph/augment/realloc.h"
#include "graph/augment/realloc_impl.h"
#include "graph/op/op.h"

static void
traffic_init(RaTraffic *traffic, const RaCluster *cluster)
{
  uint32_t n = ra_cluster_n_gpus(cluster);

  *traffic = (RaTraffic){.intra_in = g_new0(uint64_t, n),
                         .intra_out = g_new0(uint64_t, n),
                         .inter_in = g_new0(uint64_t, n),
                         .inter_out = g_new0(uint64_t, n),
                         .n_gpus = n,
                         .gpus_per_node = cluster->gpus_per_node};
}

static void
traffic_clear(RaTraffic *traffic)
{
  g_free(traffic->intra_in);
  g_free(traffic->intra_out);
  g_free(traffic->inter_in);
  g_free(traffic->inter_out);
}

static int
compare_u32(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;

  return x < y ? -1 : x > y;
}

/* The gather of one replica's group: tp x pp, x ep. */
typedef struct {
  const RaSide *from; /* all replicas */
  RaSide group;       /* source: one replica, one GPU a class */
  RaSide whole;       /* destination: the same GPUs, each needs all */
  RaTraffic *traffic; /* borrowed */
  uint32_t n;         /* GPUs of a group */
  gboolean
      *is_first;   /* (n) whether that GPU is the group's first in its node */
  uint32_t *order; /* (n) the class of each GPU of the recorded group */
  GArray *flows;   /* of RaFlow: recorded, between classes, not GPUs */
  uint64_t held;   /* by the recorded group */
} Gather;

static void
record_flow(const RaFlow *flow, gpointer data)
{
  Gather *gather = data;
  RaFlow recorded = *flow;

  recorded.from = gather->group.class_of[flow->from];
  recorded.to = gather->group.class_of[flow->to];
  g_array_append_val(gather->flows, recorded);
}

/* Replica @r: the r-th member of each class, as the members of every class
 * are in the order of their dp and cp coordinates. */
static void
enter_group(Gather *gather, uint32_t r)
{
  for (uint32_t c = 0; c < gather->n; c++) {
    uint32_t gpu = gather->from->gpus[(gsize)c * gather->from->n_replicas + r];
    gather->group.class_of[gather->group.gpus[c]] = RA_NONE;
    gather->group.gpus[c] = gpu;
    gather->whole.gpus[c] = gpu;
  }
  for (uint32_t c = 0; c < gather->n; c++)
    gather->group.class_of[gather->group.gpus[c]] = c;
  qsort(gather->whole.gpus, gather->n, sizeof(uint32_t), compare_u32);
}

/* TRUE if the group is placed on its nodes like the recorded one, its classes
 * in the same order (always where cp divides ep or ep cp); records it if
 * @record.  Loads are per GPU, groups are disjoint and ties go by the order of
 * GPUs: a twin's flows are the same between the same classes. */
static gboolean
is_twin(Gather *gather, gboolean record)
{
  const uint32_t *gpus = gather->whole.gpus;
  uint32_t width = gather->traffic->gpus_per_node;
  gboolean twin = TRUE;

  for (uint32_t i = 0; i < gather->n; i++) {
    gboolean first = i > 0 && gpus[i] / width != gpus[i - 1] / width;
    uint32_t class = gather->group.class_of[gpus[i]];
    twin = twin && gather->is_first[i] == first && gather->order[i] == class;
    if (record) {
      gather->is_first[i] = first;
      gather->order[i] = class;
    }
  }
  return twin;
}

/* Gathers in the group entered: by its twin's flows or by its own, which then
 * are the recorded ones. */
static void
gather_group(Gather *gather, const RaCut *cut, gboolean is_first,
             RaFlowFunc func, gpointer data)
{
  gboolean replay = !is_first && is_twin(gather, FALSE);

  if (replay) {
    gather->traffic->held += gather->held;
  } else {
    uint64_t held = gather->traffic->held;
    g_array_set_size(gather->flows, 0);
    ra_realloc_flows_run(cut, &gather->group, &gather->whole, TRUE,
                         gather->traffic, record_flow, gather);
    gather->held = gather->traffic->held - held;
    is_twin(gather, TRUE);
  }
  for (guint i = 0; i < gather->flows->len; i++) {
    RaFlow flow = g_array_index(gather->flows, RaFlow, i);
    flow.from = gather->group.gpus[flow.from];
    flow.to = gather->group.gpus[flow.to];
    if (replay)
      ra_traffic_add(gather->traffic, &flow);
    func(&flow, data);
  }
}

/* Every replica of @from gathers: its GPUs need everything, and only they
 * send. */
static void
gather_groups(const RaTensorTable *table, const RaSide *from,
              const RaCluster *cluster, RaTraffic *traffic, RaFlowFunc func,
              gpointer data)
{
  uint32_t n = from->pp * from->n_shards;
  g_autofree uint32_t *members = g_memdup2(from->gpus, n * sizeof(uint32_t));
  g_autofree uint32_t *sorted = g_new(uint32_t, n);
  g_autofree gboolean *is_first = g_new0(gboolean, n);
  g_autofree uint32_t *order = g_new0(uint32_t, n);
  g_autoptr(RaSide) none = ra_side_new_whole(table, NULL, 0, cluster);
  g_autoptr(GArray) flows = g_array_new(FALSE, FALSE, sizeof(RaFlow));
  Gather gather = {.from = from,
                   .traffic = traffic,
                   .n = n,
                   .is_first = is_first,
                   .order = order,
                   .flows = flows};

  gather.group = (RaSide){.pp = from->pp,
                          .tp = from->tp,
                          .ep = from->ep,
                          .expert_tp = from->expert_tp,
                          .zero = from->zero,
                          .n_shards = from->n_shards,
                          .n_replicas = 1,
                          .gpus = members,
                          .class_of = none->class_of,
                          .stages = from->stages};
  gather.whole = (RaSide){.pp = 1,
                          .tp = 1,
                          .ep = 1,
                          .expert_tp = 1,
                          .zero = 1,
                          .n_shards = 1,
                          .n_replicas = n,
                          .gpus = sorted,
                          .stages = none->stages};
  g_autoptr(RaCut) cut = ra_cut_new(table, &gather.group, &gather.whole);
  for (uint32_t r = 0; r < from->n_replicas; r++) {
    enter_group(&gather, r);
    gather_group(&gather, cut, r == 0, func, data);
  }
}

/* After the gather: GPUs of @to outside the source mesh get what they need. */
static void
serve_outside(const RaTensorTable *table, const RaSide *from, const RaSide *to,
              const RaCluster *cluster, RaTraffic *traffic, RaFlowFunc func,
              gpointer data)
{
  uint32_t n = from->pp * from->n_shards * from->n_replicas;
  g_autofree uint32_t *sorted =
      g_memdup2(from->gpus, (gsize)n * sizeof(uint32_t));
  uint64_t held = traffic->held;
  gboolean outside = FALSE;

  for (uint32_t i = 0; i < to->pp * to->n_shards * to->n_replicas; i++)
    outside = outside || from->class_of[to->gpus[i]] == RA_NONE;
  if (!outside)
    return;
  qsort(sorted, n, sizeof *sorted, compare_u32);
  g_autoptr(RaSide) whole = ra_side_new_whole(table, sorted, n, cluster);
  g_autoptr(RaCut) cut = ra_cut_new(table, whole, to);
  ra_realloc_flows_run(cut, whole, to, TRUE, traffic, func, data);
  /* what gatherers hold was counted when they gathered it */
  traffic->held = held;
}

static void
run_scheme(const RaModel *model, const RaCallPlan *from_plan,
           const RaCallPlan *to_plan, const RaCluster *cluster,
           RaReallocScheme scheme, RaTraffic *traffic, RaFlowFunc func,
           gpointer data)
{
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(RaSide) from = ra_side_new(table, from_plan, cluster);
  g_autoptr(RaSide) to = ra_side_new(table, to_plan, cluster);

  if (scheme == RA_REALLOC_ALL_GATHER) {
    gather_groups(table, from, cluster, traffic, func, data);
    serve_outside(table, from, to, cluster, traffic, func, data);
    return;
  }
  g_autoptr(RaCut) cut = ra_cut_new(table, from, to);
  ra_realloc_flows_run(cut, from, to, scheme == RA_REALLOC_BROADCAST, traffic,
                       func, data);
}

static uint64_t
largest(const uint64_t *a, const uint64_t *b, uint32_t n)
{
  uint64_t most = 0;

  for (uint32_t i = 0; i < n; i++)
    most = MAX(most, MAX(a[i], b[i]));
  return most;
}

/* Weights that are cast on the GPU of @to with most of them, by @shard: all
 * matrices of linear layers, or of experts alone. */
static uint64_t
most_cast(const RaShard *shard, const RaCallPlan *to)
{
  uint32_t n_pieces = to->pp * to->n_virtual;
  uint64_t most = 0;

  for (uint32_t stage = 0; stage < to->pp; stage++) {
    uint64_t n = 0;
    for (uint32_t u = stage; u < n_pieces; u += to->pp) {
      RaPiece piece = {ra_call_plan_first_layer(to, u), to->stage_layers[u],
                       u == 0, u == n_pieces - 1};
      n += to->dtype == 1 + RA_DTYPE_FP8
               ? ra_piece_n_fp8(shard, &piece)
               : ra_piece_n_expert_params(shard, &piece);
    }
    most = MAX(most, n);
  }
  return most;
}

/* Weights that a GPU casts: before it slices, where it has whole tensors. */
static uint64_t
cast_elements(const RaModel *model, const RaCallPlan *from,
              const RaCallPlan *to, const RaCluster *cluster,
              RaReallocScheme scheme)
{
  gboolean gathers = scheme == RA_REALLOC_ALL_GATHER &&
                     ra_mesh_overlaps(&from->mesh, &to->mesh);
  RaShard shard = {.model = model,
                   .tp = to->tp,
                   .ep = ra_call_plan_ep(to),
                   .expert_tp = ra_call_plan_expert_tp(to),
                   .dtype = RA_DTYPE_BF16,
                   .fp8_gemms = 1};
  uint32_t n_shards = ra_call_plan_n_shards(to);

  if ((to->dtype != 1 + RA_DTYPE_FP8 &&
       to->expert_dtype == RA_EXPERT_DTYPE_SAME) ||
      model->lora_only)
    return 0;
  if (gathers || cluster->habits.engine) {
    shard.tp = shard.ep = shard.expert_tp = 1;
    n_shards = 1;
  }
  return (most_cast(&shard, to) + n_shards - 1) / n_shards;
}

RaRealloc *
ra_realloc_new(const RaModel *model, guint element_bytes,
               const RaCallPlan *from, const RaCallPlan *to,
               const RaCluster *cluster, RaReallocScheme scheme)
{
  g_return_val_if_fail(model && from && to && cluster, NULL);
  g_return_val_if_fail(element_bytes > 0, NULL);
  RaRealloc *realloc = g_new0(RaRealloc, 1);
  RaTraffic traffic;

  traffic_init(&traffic, cluster);
  g_autoptr(RaMerge) merge =
      ra_merge_new(traffic.n_gpus, traffic.gpus_per_node);
  run_scheme(model, from, to, cluster, scheme, &traffic, ra_merge_flow, merge);
  ra_merge_take(merge, element_bytes, realloc);
  realloc->load.held_bytes = traffic.held * element_bytes;
  realloc->load.max_intra_bytes =
      element_bytes *
      largest(traffic.intra_in, traffic.intra_out, traffic.n_gpus);
  realloc->load.max_inter_bytes =
      element_bytes *
      largest(traffic.inter_in, traffic.inter_out, traffic.n_gpus);
  realloc->load.cast_elements = cast_elements(model, from, to, cluster, scheme);
  traffic_clear(&traffic);
  return realloc;
}

void
ra_realloc_free(RaRealloc *realloc)
{
  if (!realloc)
    return;
  g_free(realloc->moves);
  g_free(realloc);
}

typedef struct {
  RaSliceFunc func; /* the caller's */
  gpointer data;    /* the caller's */
} Visit;

static void
visit_part(const Visit *visit, const RaFlow *flow, uint32_t unit,
           const RaPart *part)
{
  const RaTensorTable *table = flow->cut->table;
  const RaTensorClass *c = &table->classes[part->class];

  if (c->unit != table->unit_kind[unit])
    return;
  RaRect rect = ra_layout_span_rect(&c->tensor, part->span);
  for (uint64_t k = part->members.begin; k < part->members.end; k++) {
    RaSlice slice = {.from = flow->from,
                     .to = flow->to,
                     .tensor = table->unit_first[unit] + c->first +
                               (uint32_t)k * c->stride,
                     .row = rect.row,
                     .n_rows = rect.n_rows,
                     .col = rect.col,
                     .n_cols = rect.n_cols};
    visit->func(&slice, visit->data);
  }
}

static void
visit_flow(const RaFlow *flow, gpointer data)
{
  for (uint32_t i = 0; i < flow->n_units; i++)
    for (uint32_t p = flow->bundle->part; p != RA_NONE;) {
      const RaPart *part = &g_array_index(flow->cut->parts, RaPart, p);
      visit_part(data, flow, flow->units[i], part);
      p = part->next;
    }
}

void
ra_realloc_slices(const RaModel *model, const RaCallPlan *from,
                  const RaCallPlan *to, const RaCluster *cluster,
                  RaReallocScheme scheme, RaSliceFunc func, gpointer data)
{
  g_return_if_fail(model && from && to && cluster && func);
  RaTraffic traffic;
  Visit visit = {func, data};

  traffic_init(&traffic, cluster);
  run_scheme(model, from, to, cluster, scheme, &traffic, visit_flow, &visit);
  traffic_clear(&traffic);
}
