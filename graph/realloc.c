/* Reallocation: the three schemes, and their flows as moves or as slices. */
#include "config.h"

#include "graph/realloc.h"
#include "graph/realloc_impl.h"

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

/* Every replica of @from gathers: its GPUs need everything, and only they
 * send.  Replica r is the r-th member of each class, as the members of every
 * class are in the order of their dp and cp coordinates. */
static void
gather_groups(const RaTensorTable *table, const RaSide *from,
              const RaCluster *cluster, RaTraffic *traffic, RaFlowFunc func,
              gpointer data)
{
  uint32_t n = from->pp * from->tp;
  g_autofree uint32_t *members = g_new(uint32_t, n);
  g_autofree uint32_t *sorted = g_new(uint32_t, n);
  /* one group's source: its class_of forgets the group before */
  g_autoptr(RaSide) one = ra_side_new_whole(table, NULL, 0, cluster);
  RaSide group = *one;
  group.pp = from->pp;
  group.tp = from->tp;
  group.n_replicas = 1;
  group.gpus = members;
  group.stages = from->stages;
  RaSide whole = {.pp = 1, .tp = 1, .n_replicas = n, .gpus = sorted};
  whole.stages = one->stages;
  g_autoptr(RaCut) cut = ra_cut_new(table, &group, &whole);

  for (uint32_t r = 0; r < from->n_replicas; r++) {
    for (uint32_t c = 0; c < n; c++) {
      members[c] = from->gpus[(gsize)c * from->n_replicas + r];
      sorted[c] = members[c];
      group.class_of[members[c]] = c;
    }
    qsort(sorted, n, sizeof *sorted, compare_u32);
    ra_flows_run(cut, &group, &whole, TRUE, traffic, func, data);
    for (uint32_t c = 0; c < n; c++)
      group.class_of[members[c]] = RA_NONE;
  }
}

/* After the gather: GPUs of @to outside the source mesh get what they need. */
static void
serve_outside(const RaTensorTable *table, const RaSide *from, const RaSide *to,
              const RaCluster *cluster, RaTraffic *traffic, RaFlowFunc func,
              gpointer data)
{
  uint32_t n = from->pp * from->tp * from->n_replicas;
  g_autofree uint32_t *sorted =
      g_memdup2(from->gpus, (gsize)n * sizeof(uint32_t));
  uint64_t held = traffic->held;

  qsort(sorted, n, sizeof *sorted, compare_u32);
  g_autoptr(RaSide) whole = ra_side_new_whole(table, sorted, n, cluster);
  g_autoptr(RaCut) cut = ra_cut_new(table, whole, to);
  ra_flows_run(cut, whole, to, TRUE, traffic, func, data);
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
  ra_flows_run(cut, from, to, scheme == RA_REALLOC_BROADCAST, traffic, func,
               data);
}

/* Moves while they are being merged: a chain of senders for each receiver. */
typedef struct {
  uint32_t from;  /* GPU */
  uint32_t next;  /* index of the receiver's next sender, RA_NONE: last */
  uint64_t bytes; /* so far, > 0 */
} Sender;

typedef struct {
  uint32_t *first;     /* (GPUs) index of a receiver's first sender */
  GArray *senders;     /* of Sender */
  guint element_bytes; /* of one parameter */
} Merge;

static void
merge_flow(const RaFlow *flow, gpointer data)
{
  Merge *merge = data;
  uint64_t bytes = flow->n_params * merge->element_bytes;
  uint32_t i = merge->first[flow->to];

  for (; i != RA_NONE; i = g_array_index(merge->senders, Sender, i).next) {
    Sender *sender = &g_array_index(merge->senders, Sender, i);
    if (sender->from == flow->from) {
      sender->bytes += bytes;
      return;
    }
  }
  Sender fresh = {flow->from, merge->first[flow->to], bytes};
  merge->first[flow->to] = merge->senders->len;
  g_array_append_val(merge->senders, fresh);
}

/* Sorts by receiver, as the chains are, then stably by sender: two counting
 * passes, no comparison. */
static void
take_moves(RaRealloc *realloc, const Merge *merge, uint32_t n_gpus)
{
  g_autofree uint32_t *place = g_new0(uint32_t, n_gpus + 1);
  RaReallocLoad *load = &realloc->load;

  realloc->n_moves = merge->senders->len;
  realloc->moves = g_new(RaMove, realloc->n_moves);
  for (guint i = 0; i < merge->senders->len; i++)
    place[g_array_index(merge->senders, Sender, i).from + 1]++;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    load->n_steps = MAX(load->n_steps, place[gpu + 1]);
    place[gpu + 1] += place[gpu];
  }
  for (uint32_t to = 0; to < n_gpus; to++) {
    uint32_t n_in = 0;
    for (uint32_t i = merge->first[to]; i != RA_NONE; n_in++) {
      const Sender *s = &g_array_index(merge->senders, Sender, i);
      realloc->moves[place[s->from]++] = (RaMove){s->from, to, s->bytes};
      load->total_bytes += s->bytes;
      i = s->next;
    }
    load->n_steps = MAX(load->n_steps, n_in);
  }
}

static uint64_t
largest(const uint64_t *a, const uint64_t *b, uint32_t n)
{
  uint64_t most = 0;

  for (uint32_t i = 0; i < n; i++)
    most = MAX(most, MAX(a[i], b[i]));
  return most;
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
  Merge merge = {.element_bytes = element_bytes};

  traffic_init(&traffic, cluster);
  merge.first = g_new(uint32_t, traffic.n_gpus);
  for (uint32_t gpu = 0; gpu < traffic.n_gpus; gpu++)
    merge.first[gpu] = RA_NONE;
  merge.senders = g_array_new(FALSE, FALSE, sizeof(Sender));
  run_scheme(model, from, to, cluster, scheme, &traffic, merge_flow, &merge);
  take_moves(realloc, &merge, traffic.n_gpus);
  realloc->load.held_bytes = traffic.held * element_bytes;
  realloc->load.max_intra_bytes =
      element_bytes *
      largest(traffic.intra_in, traffic.intra_out, traffic.n_gpus);
  realloc->load.max_inter_bytes =
      element_bytes *
      largest(traffic.inter_in, traffic.inter_out, traffic.n_gpus);
  g_array_free(merge.senders, TRUE);
  g_free(merge.first);
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
  for (uint32_t k = 0; k < c->n; k++) {
    RaSlice slice = {.from = flow->from,
                     .to = flow->to,
                     .tensor =
                         table->unit_first[unit] + c->first + k * c->stride,
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
