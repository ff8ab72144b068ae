/* Paths of tasks: the links that each uses. */
#include "config.h"

#include "base/hash.h"
#include "sim/network/topology_impl.h"

/* GPUs at one end of a task. */
typedef struct {
  uint32_t *gpu; /* (n) ascending; owned */
  uint32_t n;
} End;

static void
end_clear(End *end)
{
  g_free(end->gpu);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(End, end_clear)

static int
compare_gpus(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

/* ---- Sums ---------------------------------------------------------------- */

static void
take(RaTopology *t, uint32_t link, RaUse use, double share)
{
  uint32_t entry = link * RA_N_USES + use;

  if (t->sum[entry] == 0)
    g_array_append_val(t->touched, entry);
  t->sum[entry] += share;
}

/* All that was taken, in the order in which it was. */
static GArray *
finish_path(RaTopology *t)
{
  GArray *path = g_array_new(FALSE, FALSE, sizeof(RaPathLink));

  for (guint i = 0; i < t->touched->len; i++) {
    uint32_t entry = g_array_index(t->touched, uint32_t, i);
    RaPathLink link = {entry / RA_N_USES, entry % RA_N_USES, t->sum[entry]};

    g_array_append_val(path, link);
    t->sum[entry] = 0;
  }
  g_array_set_size(t->touched, 0);
  return path;
}

/* A link of the lanes that have GPUs at @end, full. */
static void
take_lanes(RaTopology *t, const End *end, guint kind, RaUse use)
{
  for (uint32_t i = 0; i < end->n; i++) {
    uint32_t lane = t->graph->lane_of_gpu[end->gpu[i]];
    uint32_t link = N_LANE_LINKS * lane + kind;

    if (lane != RA_NONE && t->sum[link * RA_N_USES + use] == 0)
      take(t, link, use, 1);
  }
}

/* Takes each link to the host once, whichever of its GPUs is the end; called by
 * the first lane that uses it. */
static void
take_host(RaTopology *t, const End *end, guint kind)
{
  uint32_t n = MAX(t->cluster->gpus_per_host_link, 1u);

  for (uint32_t i = 0; i < end->n; i++) {
    uint32_t first = end->gpu[i] / n * n, lane = RA_NONE;

    for (uint32_t k = first; k < first + n; k++)
      lane = MIN(lane, t->graph->lane_of_gpu[k]);
    if (lane != RA_NONE &&
        t->sum[(N_LANE_LINKS * lane + kind) * RA_N_USES + RA_USE_HOST] == 0)
      take(t, N_LANE_LINKS * lane + kind, RA_USE_HOST, 1);
  }
}

/* The GPUs' shares of their cards. */
static void
take_ports(RaTopology *t, const End *end, gboolean in)
{
  for (uint32_t i = 0; i < end->n && t->n_ports > 0; i++) {
    uint32_t port = t->port[end->gpu[i]];

    if (t->port_class[port] == RA_NONE)
      continue;
    take(t, ra_topology_port_link(t, port, in), RA_USE_INTER,
         t->gpu_share /
             g_array_index(t->class_n, uint32_t, t->port_class[port]));
  }
}

static uint32_t
leaf_of(const RaTopology *t, uint32_t gpu)
{
  return ra_topology_node(t, gpu) / t->n_leaf_nodes;
}

/* @part of what a GPU sends through the leaf's way up, or gets from its way
 * down. */
static void
take_leaf(RaTopology *t, uint32_t gpu, uint64_t flow, gboolean down,
          double part)
{
  uint32_t rail =
      t->n_rails > 1 ? t->port[gpu] % t->n_ports * t->n_rails / t->n_ports : 0;
  uint32_t spine = (uint32_t)(ra_hash_u64(RA_HASH_INIT, flow) % t->n_spines);

  if (part > 0)
    take(t, ra_topology_leaf_link(t, leaf_of(t, gpu), rail, spine, down),
         RA_USE_INTER, part * t->uplink_share * t->n_spines);
}

static void
take_network(RaTopology *t, uint32_t link, double share)
{
  take(t, link, RA_USE_INTER, share);
}

/* @part of what @from sends goes to @to over the graph. */
static void
cross(RaTopology *t, uint32_t from, uint32_t to, double part)
{
  double latency_s = ra_topology_cross_graph(t, from, to, part, take_network);

  t->latency_s = MAX(t->latency_s, latency_s);
}

/* ---- Ends ---------------------------------------------------------------- */

static End
end_of_group(const RaTopology *t, uint32_t group)
{
  const RaTaskGraph *g = t->graph;
  End end = {g_new(uint32_t, MAX(g->group_n_gpus[group], 1u)), 0};

  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++) {
    uint32_t lane = g->group_lane[i];

    for (uint32_t j = t->gpu_begin[lane]; j < t->gpu_begin[lane + 1]; j++)
      end.gpu[end.n++] = t->gpu[j];
  }
  qsort(end.gpu, end.n, sizeof *end.gpu, compare_gpus);
  return end;
}

static End
end_of_call(const RaTopology *t, uint32_t call)
{
  const RaCallPlan *p =
      call == RA_NONE ? NULL : &t->graph->augmented->plan->calls[call];
  uint32_t n = p && p->set ? ra_mesh_n_gpus(&p->mesh) : 0;
  End end = {g_new(uint32_t, MAX(n, 1u)), n};

  for (uint32_t i = 0; i < n; i++)
    end.gpu[i] = ra_mesh_gpu(&p->mesh, t->cluster, i);
  return end;
}

/* The ranks of one stage, partners at equal places. */
static End
end_of_stage(const RaTopology *t, uint32_t call, uint32_t replica,
             uint32_t stage)
{
  const RaCallPlan *p = &t->graph->augmented->plan->calls[call];
  uint32_t cp = MAX(p->cp, 1), n = p->tp * cp;
  End end = {g_new(uint32_t, n), n};

  for (uint32_t i = 0; i < n; i++) {
    RaCoord coord = {.at = {[RA_AXIS_TP] = i % p->tp,
                            [RA_AXIS_CP] = i / p->tp,
                            [RA_AXIS_DP] = replica,
                            [RA_AXIS_PP] = stage}};

    end.gpu[i] =
        ra_mesh_gpu(&p->mesh, t->cluster, ra_call_plan_rank(p, &coord));
  }
  return end;
}

/* ---- Routes -------------------------------------------------------------- */

/* From each leaf's last node to the next leaf's first, once a ring: the rings
 * are as many as a node of the group has GPUs. */
static void
cross_leaves(RaTopology *t, const End *end)
{
  uint32_t first_node = RA_NONE, leaf = RA_NONE;

  if (end->n == 0 ||
      leaf_of(t, end->gpu[0]) == leaf_of(t, end->gpu[end->n - 1]))
    return;
  for (uint32_t i = 0; i < end->n; i++) {
    uint32_t gpu = end->gpu[i];

    if (leaf_of(t, gpu) != leaf) {
      leaf = leaf_of(t, gpu);
      first_node = ra_topology_node(t, gpu);
    }
    if (ra_topology_node(t, gpu) != first_node)
      continue;
    take_leaf(t, gpu, 2 * (uint64_t)gpu, FALSE, 1);
    take_leaf(t, gpu, 2 * (uint64_t)gpu + 1, TRUE, 1);
  }
}

/* Place of the first GPU of the node after that of @i; n: the last. */
static uint32_t
next_node(const RaTopology *t, const End *end, uint32_t i)
{
  uint32_t node = ra_topology_node(t, end->gpu[i]);

  while (i < end->n && ra_topology_node(t, end->gpu[i]) == node)
    i++;
  return i;
}

/* Rings over the nodes in order, one a GPU of a node: from each to the one at
 * its place in the next. */
static void
ring_over_graph(RaTopology *t, const End *end)
{
  for (uint32_t first = 0, next; first < end->n; first = next) {
    uint32_t to, n_to;

    next = next_node(t, end, first);
    to = next < end->n ? next : 0;
    n_to = next_node(t, end, to) - to;
    for (uint32_t i = first; i < next; i++)
      cross(t, end->gpu[i], end->gpu[to + (i - first) % n_to], 1);
  }
}

static void
route_ring(RaTopology *t, const End *end)
{
  take_lanes(t, end, GPU_OUT, RA_USE_INTRA);
  take_lanes(t, end, GPU_IN, RA_USE_INTRA);
  take_ports(t, end, FALSE);
  take_ports(t, end, TRUE);
  if (t->n_leaves > 1)
    cross_leaves(t, end);
  if (t->cluster->graph)
    ring_over_graph(t, end);
}

/* From each GPU of a stage to its partner of another. */
static void
route_stages(RaTopology *t, RaTaskId task, uint32_t from_stage,
             uint32_t to_stage)
{
  const RaTaskGraph *g = t->graph;
  uint32_t call = g->augmented->nodes[g->node[task]].call;
  g_auto(End) from = end_of_stage(t, call, g->replica[task], from_stage);
  g_auto(End) to = end_of_stage(t, call, g->replica[task], to_stage);

  take_lanes(t, &from, GPU_OUT, RA_USE_INTRA);
  take_lanes(t, &to, GPU_IN, RA_USE_INTRA);
  take_ports(t, &from, FALSE);
  take_ports(t, &to, TRUE);
  for (uint32_t i = 0; i < from.n && t->cluster->graph; i++)
    cross(t, from.gpu[i], to.gpu[i], 1);
  for (uint32_t i = 0; i < from.n && t->n_leaves > 1; i++) {
    uint64_t flow = (uint64_t)from.gpu[i] << 32 | to.gpu[i];

    if (leaf_of(t, from.gpu[i]) == leaf_of(t, to.gpu[i]))
      continue;
    take_leaf(t, from.gpu[i], flow, FALSE, 1);
    take_leaf(t, to.gpu[i], flow, TRUE, 1);
  }
}

static void
route_send(RaTopology *t, RaTaskId task)
{
  const RaTaskGraph *g = t->graph;
  uint32_t call = g->augmented->nodes[g->node[task]].call;
  uint32_t pp = g->augmented->plan->calls[call].pp;
  uint32_t stage = g->stage[task] % pp;
  gboolean back = g->stream[task] == RA_STREAM_PP_SEND_BACK;

  route_stages(t, task, stage, (stage + (back ? pp - 1 : 1)) % pp);
}

/* GPUs of @end below each leaf. */
static double *
count_leaves(const RaTopology *t, const End *end)
{
  double *n = g_new0(double, t->n_leaves);

  for (uint32_t i = 0; i < end->n; i++)
    n[leaf_of(t, end->gpu[i])]++;
  return n;
}

/* GPUs of @end that are not on the node of @gpu. */
static uint32_t
n_elsewhere(const RaTopology *t, const End *end, uint32_t gpu)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < end->n; i++)
    n += ra_topology_node(t, end->gpu[i]) != ra_topology_node(t, gpu);
  return n;
}

/* From every GPU to every one of another node, evenly: a pair's part is what
 * the busier end has for each of its partners. */
static void
move_over_graph(RaTopology *t, const End *from, const End *to)
{
  g_autofree uint32_t *n_from = g_new(uint32_t, (gsize)to->n + 1);

  for (uint32_t j = 0; j < to->n; j++)
    n_from[j] = n_elsewhere(t, from, to->gpu[j]);
  for (uint32_t i = 0; i < from->n; i++) {
    uint32_t n_to = n_elsewhere(t, to, from->gpu[i]);

    for (uint32_t j = 0; j < to->n; j++)
      if (ra_topology_node(t, from->gpu[i]) != ra_topology_node(t, to->gpu[j]))
        cross(t, from->gpu[i], to->gpu[j], 1.0 / MAX(n_to, n_from[j]));
  }
}

static void
route_move(RaTopology *t, RaTaskId task)
{
  const RaTaskGraph *g = t->graph;
  const RaNode *node = &g->augmented->nodes[g->node[task]];
  g_auto(End) from = end_of_call(t, node->source);
  g_auto(End) to = end_of_call(t, node->call);
  g_autofree double *n_from = count_leaves(t, &from);
  g_autofree double *n_to = count_leaves(t, &to);

  take_lanes(t, &from, GPU_OUT, RA_USE_INTRA);
  take_lanes(t, &to, GPU_IN, RA_USE_INTRA);
  take_ports(t, &from, FALSE);
  take_ports(t, &to, TRUE);
  if (t->cluster->graph)
    move_over_graph(t, &from, &to);
  for (uint32_t i = 0; i < from.n && to.n > 0 && t->n_leaves > 1; i++)
    take_leaf(t, from.gpu[i], 2 * (uint64_t)from.gpu[i], FALSE,
              1 - n_to[leaf_of(t, from.gpu[i])] / to.n);
  for (uint32_t i = 0; i < to.n && from.n > 0 && t->n_leaves > 1; i++)
    take_leaf(t, to.gpu[i], 2 * (uint64_t)to.gpu[i] + 1, TRUE,
              1 - n_from[leaf_of(t, to.gpu[i])] / from.n);
}

static void
route(RaTopology *t, RaTaskId task)
{
  g_auto(End) end = {NULL, 0};

  switch ((RaTaskKind)t->graph->kind[task]) {
  case RA_TASK_SEND:
    route_send(t, task);
    return;
  case RA_TASK_REALLOC:
  case RA_TASK_TRANSFER:
    route_move(t, task);
    return;
  case RA_TASK_OFFLOAD:
  case RA_TASK_RELOAD:
    end = end_of_group(t, t->graph->group[task]);
    take_host(t, &end,
              t->graph->kind[task] == RA_TASK_OFFLOAD ? HOST_OUT : HOST_IN);
    return;
  default:
    end = end_of_group(t, t->graph->group[task]);
    route_ring(t, &end);
  }
}

/* Collectives of a stage of a generation; beyond the stages, the sends of each
 * to the next. */
static void
route_row(RaTopology *t, RaTaskId task, uint32_t row)
{
  const RaTaskGraph *g = t->graph;
  uint32_t call = g->augmented->nodes[g->node[task]].call;
  uint32_t pp = g->augmented->plan->calls[call].pp;
  g_auto(End) end = {NULL, 0};

  if (row >= pp) {
    route_stages(t, task, row - pp, row - pp + 1);
    return;
  }
  end = end_of_stage(t, call, g->replica[task], row);
  route_ring(t, &end);
}

/* Key of a path: the group, and senders and receivers within it. */
static uint64_t
path_key(const RaTaskGraph *g, RaTaskId task)
{
  const RaNode *node = &g->augmented->nodes[g->node[task]];
  uint64_t key = ra_hash_u64(RA_HASH_INIT, g->group[task]);

  switch ((RaTaskKind)g->kind[task]) {
  case RA_TASK_SEND:
    key = ra_hash_u64(key, g->kind[task] | (uint64_t)g->stream[task] << 8 |
                               (uint64_t)g->stage[task] << 16 |
                               (uint64_t)node->call << 32);
    return ra_hash_u64(key, g->replica[task]);
  case RA_TASK_REALLOC:
  case RA_TASK_TRANSFER:
    return ra_hash_u64(key, (uint64_t)node->call << 32 | node->source);
  case RA_TASK_OFFLOAD:
  case RA_TASK_RELOAD:
    return ra_hash_u64(key, g->kind[task]);
  default:
    return key;
  }
}

static const RaPath *
keep_path(RaTopology *t, uint64_t key)
{
  RaPath *path = g_new(RaPath, 1);

  *path = (RaPath){finish_path(t), t->latency_s};
  g_hash_table_insert(t->paths, g_memdup2(&key, sizeof key), path);
  return path;
}

static const RaPath *
path_of(RaTopology *t, RaTaskId task)
{
  uint64_t key = path_key(t->graph, task);
  const RaPath *path = g_hash_table_lookup(t->paths, &key);

  if (path)
    return path;
  t->latency_s = 0;
  route(t, task);
  return keep_path(t, key);
}

const GArray *
ra_topology_path(RaTopology *t, RaTaskId task)
{
  return path_of(t, task)->links;
}

double
ra_topology_latency_s(RaTopology *t, RaTaskId task)
{
  return t->cluster->graph ? path_of(t, task)->latency_s : 0;
}

const GArray *
ra_topology_row_path(RaTopology *t, RaTaskId task, uint32_t row,
                     double *out_latency_s)
{
  const RaTaskGraph *g = t->graph;
  uint64_t key = ra_hash_u64(RA_HASH_INIT, (uint64_t)row << 32 | UINT32_MAX);
  const RaPath *path;

  key = ra_hash_u64(key, g->augmented->nodes[g->node[task]].call);
  key = ra_hash_u64(key, g->replica[task]);
  path = g_hash_table_lookup(t->paths, &key);
  if (!path) {
    t->latency_s = 0;
    route_row(t, task, row);
    path = keep_path(t, key);
  }
  *out_latency_s = path->latency_s;
  return path->links;
}

uint32_t
ra_topology_queue_lane(RaTopology *t, RaTaskId task)
{
  const RaTaskGraph *g = t->graph;
  const GArray *path;

  if (g->kind[task] != RA_TASK_SEND)
    return g->group_lane[g->group_begin[g->group[task]]];
  path = ra_topology_path(t, task); /* begins with the sender's lanes */
  return g_array_index(path, RaPathLink, 0).link / N_LANE_LINKS;
}
