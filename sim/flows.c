/* Flows over the links of a cluster: of communication tasks, and of generations
 * as chains of cycles. */
#include "config.h"

#include "estimator/kinds.h"
#include "sim/decode_links.h"
#include "sim/flows.h"

struct _RaFlows {
  const RaTaskGraph *graph; /* borrowed */
  RaTopology *topology;     /* owned */
  RaNetwork *network;       /* owned: the topology's links, then the queues */
  uint32_t n_kinds;         /* of nodes */
  RaLinkUse *uses;          /* (n_kinds, n_works) sums over the ops of each */
  double *n_messages;       /* (n_works) consecutive messages between nodes */
  RaDecodeLinks **decodes;  /* (n_dynamics) owned */
  uint32_t n_decodes;
  GHashTable *chains;   /* task -> Chain, for running generations */
  uint32_t first_queue; /* link of the first queue */
  double *busy_s;       /* (links of the topology) */
  double *waited_s;     /* (links of the topology) */
  double *share;        /* scratch: (links) sum of a task's uses */
  GArray *links;        /* (uint32_t) scratch */
  GArray *weights;      /* (double) scratch */
};

/* Adds @weight of @link at rate 1 to the flow. */
static void
take_link(RaFlows *f, uint32_t link, double weight)
{
  if (!(weight > 0))
    return;
  if (f->share[link] == 0)
    g_array_append_val(f->links, link);
  f->share[link] += weight;
}

/* Collects the weights of the links that were taken, each once. */
static void
weigh_links(RaFlows *f)
{
  g_array_set_size(f->weights, 0);
  for (guint i = 0; i < f->links->len; i++) {
    uint32_t link = g_array_index(f->links, uint32_t, i);

    g_array_append_val(f->weights, f->share[link]);
    f->share[link] = 0;
  }
}

/* Starts a flow of @task over them, in its queue: @amount_s after
 * @latency_s. */
static void
begin_flow(RaFlows *f, RaTaskId task, double amount_s, double latency_s)
{
  const RaTaskGraph *g = f->graph;
  uint32_t lane = ra_topology_queue_lane(f->topology, task);
  uint32_t queue = f->first_queue + lane * RA_N_STREAMS + g->stream[task];
  double one = 1;

  for (guint i = 0; i < f->links->len; i++)
    f->busy_s[g_array_index(f->links, uint32_t, i)] +=
        amount_s * g_array_index(f->weights, double, i);
  g_array_append_val(f->links, queue);
  g_array_append_val(f->weights, one);
  ra_network_start(f->network, (const uint32_t *)(void *)f->links->data,
                   (const double *)(void *)f->weights->data, f->links->len,
                   amount_s, latency_s, task);
}

/* Cycles of computing and communicating of a part, at most about so many: the
 * resolution where the part has more steps. */
#define CYCLES 128

/* Share by which cycles are shorter than the law, so that rounding makes none
 * late. */
#define ROOM_FRAC 1e-12

/* A generation that runs. */
typedef struct {
  guint slot; /* in hand */
  uint64_t cycle, n_cycles;
  double compute_scale, comm_scale; /* of the task's time to its slots' */
  double cycle_s;                   /* longest that a cycle should take */
} Chain;

static const RaDecodeLinks *
links_of(const RaFlows *f, RaTaskId task)
{
  uint32_t d = f->graph->dynamic ? f->graph->dynamic[task] : RA_NONE;

  return d == RA_NONE ? NULL : f->decodes[d];
}

static uint32_t
part_of(const RaFlows *f, RaTaskId task)
{
  return f->graph->mini_batch[task] -
         f->graph->dynamics[f->graph->dynamic[task]].first_part;
}

static void
add_decodes(RaFlows *f, const RaEstimator *estimator)
{
  const RaTaskGraph *graph = f->graph;
  g_autofree uint32_t *stages = NULL, *kinds = NULL;

  f->chains = g_hash_table_new_full(NULL, NULL, NULL, g_free);
  f->decodes = g_new0(RaDecodeLinks *, (gsize)graph->n_dynamics + 1);
  f->n_decodes = graph->n_dynamics;
  if (f->n_kinds > 1)
    kinds = ra_dynamic_kinds_new(graph, &stages);
  for (uint32_t d = 0; d < graph->n_dynamics; d++)
    f->decodes[d] = ra_decode_links_new(graph, estimator, d,
                                        kinds ? kinds + stages[d] : NULL);
}

static void
free_decodes(RaFlows *f)
{
  for (uint32_t d = 0; d < f->n_decodes; d++) /* the graph may be gone */
    ra_decode_links_free(f->decodes[d]);
  g_free(f->decodes);
  if (f->chains)
    g_hash_table_unref(f->chains);
}

/* TRUE if @task is a generation that communicates. */
static gboolean
is_decode(const RaFlows *f, RaTaskId task)
{
  const RaDecodeLinks *links = links_of(f, task);

  return links && ra_decode_links_any(links);
}

/* Seconds that a row has a link full for, by the laws of its nodes' kinds; of a
 * link of several kinds the most. */
static double
slot_full_s(const RaFlows *f, const RaDecodeLinks *links, uint32_t part,
            guint slot, uint32_t row, const RaPathLink *at)
{
  uint32_t kinds = ra_topology_link_kinds(f->topology, at->link);
  double most_s = 0;

  for (uint32_t k = 0; k < f->n_kinds; k++) {
    const RaDecodeUse *use = ra_decode_links_use(links, part, slot, row, k);
    double of_s = at->use == RA_USE_INTRA ? use->intra_s : use->inter_s;

    if (kinds >> k & 1)
      most_s = MAX(most_s, of_s);
  }
  return most_s;
}

/* Takes the slot's links for @comm_s; what messages wait for links' own latency
 * in it, a stage on average. */
static double
take_slot(RaFlows *f, RaTaskId task, guint slot, double comm_s)
{
  const RaDecodeLinks *links = links_of(f, task);
  uint32_t part = part_of(f, task);
  uint32_t pp = f->graph->dynamics[f->graph->dynamic[task]].n_stages;
  double late_s = 0;

  for (uint32_t row = 0; row < 2 * pp - 1; row++) {
    uint32_t of = MIN(row, pp);
    double latency_s;
    const GArray *path =
        ra_topology_row_path(f->topology, task, row, &latency_s);

    late_s += ra_decode_links_use(links, part, slot, of, 0)->n_messages *
              latency_s / pp;
    for (guint i = 0; i < path->len; i++) {
      const RaPathLink *at = &g_array_index(path, RaPathLink, i);
      double used_s = slot_full_s(f, links, part, slot, of, at);

      if (used_s > 0)
        take_link(f, at->link, at->share * MIN(used_s / comm_s, 1));
    }
  }
  return late_s;
}

/* Takes and weighs all links of the generation. */
static void
list_decode(RaFlows *f, RaTaskId task)
{
  guint n;
  const RaDecodeSlot *slots =
      ra_decode_links_slots(links_of(f, task), part_of(f, task), &n);

  g_array_set_size(f->links, 0);
  for (guint slot = 0; slot < n; slot++)
    if (slots[slot].comm_s > 0)
      take_slot(f, task, slot, slots[slot].comm_s);
  weigh_links(f);
}

/* The next cycle of the chain: first computes, then communicates. */
static void
start_cycle(RaFlows *f, RaTaskId task, Chain *chain)
{
  guint n;
  const RaDecodeSlot *slot = &ra_decode_links_slots(
      links_of(f, task), part_of(f, task), &n)[chain->slot];
  double compute_s = (slot->wall_s - slot->comm_s) * chain->compute_scale;
  double comm_s = slot->comm_s * chain->comm_scale, late_s = 0;

  if (chain->cycle == 0) {
    double n_cycles = (compute_s + comm_s) / chain->cycle_s;

    chain->n_cycles =
        (uint64_t)CLAMP(n_cycles + 0.5, 1, MAX((double)slot->n_steps, 1));
  }
  g_array_set_size(f->links, 0);
  if (comm_s > 0)
    late_s = take_slot(f, task, chain->slot, slot->comm_s);
  weigh_links(f);
  begin_flow(f, task, comm_s / (double)chain->n_cycles,
             (compute_s + late_s) / (double)chain->n_cycles);
  if (++chain->cycle == chain->n_cycles) {
    chain->slot++;
    chain->cycle = 0;
  }
}

/* The task's time is its slots', but for rounding, jitter, a service: what it
 * takes longer it computes. */
static void
set_scales(Chain *chain, const RaDecodeSlot *slots, guint n, double duration_s)
{
  double wall_s = 0, comm_s = 0;

  for (guint i = 0; i < n; i++) {
    wall_s += slots[i].wall_s;
    comm_s += slots[i].comm_s;
  }
  duration_s *= 1 - ROOM_FRAC;
  if (duration_s > comm_s && wall_s > comm_s) {
    chain->compute_scale = (duration_s - comm_s) / (wall_s - comm_s);
    chain->comm_scale = 1;
  } else {
    chain->compute_scale = chain->comm_scale =
        wall_s > 0 ? duration_s / wall_s : 0;
  }
}

static void
start_decode(RaFlows *f, RaTaskId task, double duration_s)
{
  Chain *chain = g_new0(Chain, 1);
  guint n;
  const RaDecodeSlot *slots =
      ra_decode_links_slots(links_of(f, task), part_of(f, task), &n);

  set_scales(chain, slots, n, duration_s);
  chain->cycle_s = duration_s / CYCLES;
  g_hash_table_insert(f->chains, GUINT_TO_POINTER(task), chain);
  if (n > 0) {
    start_cycle(f, task, chain);
    return;
  }
  g_array_set_size(f->links, 0);
  weigh_links(f);
  begin_flow(f, task, 0, 0);
}

gboolean
ra_flows_go_on(RaFlows *f, RaTaskId task)
{
  Chain *chain = g_hash_table_lookup(f->chains, GUINT_TO_POINTER(task));
  guint n;

  if (!chain)
    return FALSE;
  ra_decode_links_slots(links_of(f, task), part_of(f, task), &n);
  if (chain->slot < n) {
    start_cycle(f, task, chain);
    return TRUE;
  }
  g_hash_table_remove(f->chains, GUINT_TO_POINTER(task));
  return FALSE;
}

/* A queue runs one task at a time: its link keeps rates at 1 at most. */
static void
make_network(RaFlows *f)
{
  uint32_t n = ra_topology_n_links(f->topology);
  uint32_t n_queues = f->graph->n_lanes * RA_N_STREAMS;
  g_autofree double *capacity = g_new(double, n + n_queues + 1);

  f->first_queue = n;
  for (uint32_t link = 0; link < n; link++)
    capacity[link] = ra_topology_capacity(f->topology)[link];
  for (uint32_t i = 0; i < n_queues; i++)
    capacity[n + i] = 1;
  f->network = ra_network_new(capacity, n + n_queues);
}

/* Adds the link use of all ops of a work; an op that overlaps another uses its
 * links like any. */
static void
add_uses(const RaTaskGraph *graph, const RaEstimator *estimator, uint32_t work,
         RaLinkUse *sum, double *n_messages)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops = ra_work_ops(graph, work, ops);
  uint32_t shard = graph->works[work].shard;
  gboolean generates = shard != RA_NONE && graph->shards[shard].sampling;

  for (guint i = 0; i < n_ops; i++) {
    RaOpClass class = ra_op_class((RaOpKind)ops[i].kind);
    double n = ops[i].count;
    RaLinkUse use;

    if (class != RA_OP_CLASS_COMM && class != RA_OP_CLASS_COPY)
      continue;
    ra_estimator_link_use(estimator, &ops[i], generates, &use);
    *n_messages += n * ra_link_messages(&ops[i], &use);
    sum->total_s += n * use.total_s;
    sum->intra_s += n * use.intra_s;
    sum->inter_s += n * use.inter_s;
    sum->host_s += n * use.host_s;
  }
}

RaFlows *
ra_flows_new(const RaTaskGraph *graph, const RaEstimator *estimator,
             GError **error)
{
  g_autoptr(RaFlows) f = g_new0(RaFlows, 1);
  uint32_t n;

  f->graph = graph;
  f->topology = ra_topology_new(graph, error);
  if (!f->topology)
    return NULL;
  make_network(f);
  n = ra_topology_n_links(f->topology);
  f->busy_s = g_new0(double, n + 1);
  f->waited_s = g_new0(double, n + 1);
  f->share = g_new0(double, n + 1);
  f->links = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  f->weights = g_array_new(FALSE, FALSE, sizeof(double));
  f->n_kinds = ra_estimator_n_kinds(estimator);
  f->uses = g_new0(RaLinkUse, (gsize)graph->n_works * f->n_kinds + 1);
  f->n_messages = g_new0(double, (gsize)graph->n_works + 1);
  for (uint32_t work = 0; work < graph->n_works; work++)
    for (uint32_t k = 0; k < f->n_kinds; k++) {
      double n_messages = 0;

      add_uses(graph, ra_estimator_kind(estimator, k), work,
               &f->uses[(gsize)k * graph->n_works + work], &n_messages);
      f->n_messages[work] = MAX(f->n_messages[work], n_messages);
    }
  add_decodes(f, estimator);
  return g_steal_pointer(&f);
}

void
ra_flows_free(RaFlows *f)
{
  if (!f)
    return;
  ra_topology_free(f->topology);
  ra_network_free(f->network);
  g_free(f->uses);
  g_free(f->n_messages);
  g_free(f->busy_s);
  g_free(f->waited_s);
  g_free(f->share);
  free_decodes(f);
  if (f->links)
    g_array_unref(f->links);
  if (f->weights)
    g_array_unref(f->weights);
  g_free(f);
}

/* TRUE if @task uses links. */
static gboolean
communicates(const RaFlows *f, RaTaskId task, double duration_s)
{
  uint32_t work = f->graph->work[task];
  uint32_t group = f->graph->group[task];

  return duration_s > 0 && work != RA_NONE && f->uses[work].total_s > 0 &&
         f->graph->group_begin[group] < f->graph->group_begin[group + 1];
}

gboolean
ra_flows_takes(const RaFlows *f, RaTaskId task, double duration_s)
{
  return communicates(f, task, duration_s) &&
         f->graph->works[f->graph->work[task]].shard == RA_NONE;
}

gboolean
ra_flows_inside(const RaFlows *f, RaTaskId task, double duration_s)
{
  const RaLinkUse *use;

  if (is_decode(f, task))
    return duration_s > 0;
  if (!communicates(f, task, duration_s) ||
      f->graph->works[f->graph->work[task]].shard == RA_NONE)
    return FALSE;
  use = &f->uses[f->graph->work[task]];
  return use->intra_s > 0 || use->inter_s > 0;
}

/* Seconds that @work has a link full for, by the law of its node's kind; of a
 * link of several kinds the most. */
static double
full_s(const RaFlows *f, uint32_t work, const RaPathLink *at)
{
  uint32_t kinds = ra_topology_link_kinds(f->topology, at->link);
  double most_s = 0;

  for (uint32_t k = 0; k < f->n_kinds; k++) {
    const RaLinkUse *use = &f->uses[(gsize)k * f->graph->n_works + work];
    double of_s = at->use == RA_USE_INTRA   ? use->intra_s
                  : at->use == RA_USE_INTER ? use->inter_s
                                            : use->host_s;

    if (kinds >> k & 1)
      most_s = MAX(most_s, of_s);
  }
  return most_s;
}

/* The task's links and what it takes of each at rate 1, a link once. */
static void
list_links(RaFlows *f, RaTaskId task, double duration_s)
{
  const GArray *path = ra_topology_path(f->topology, task);
  uint32_t work = f->graph->work[task];

  g_array_set_size(f->links, 0);
  for (guint i = 0; i < path->len; i++) {
    const RaPathLink *at = &g_array_index(path, RaPathLink, i);

    take_link(f, at->link,
              at->share * MIN(full_s(f, work, at) / duration_s, 1));
  }
  weigh_links(f);
}

void
ra_flows_start(RaFlows *f, RaTaskId task, double duration_s)
{
  if (is_decode(f, task)) {
    start_decode(f, task, duration_s);
    return;
  }
  list_links(f, task, duration_s);
  begin_flow(f, task, duration_s,
             f->n_messages[f->graph->work[task]] *
                 ra_topology_latency_s(f->topology, task));
}

void
ra_flows_end(RaFlows *f, RaTaskId task, double late_s)
{
  const double *capacity = ra_topology_capacity(f->topology);
  uint32_t most = RA_NONE;
  double most_frac = 0;

  if (!(late_s > 0))
    return;
  if (is_decode(f, task))
    list_decode(f, task);
  else
    list_links(f, task, 1);
  for (guint i = 0; i < f->links->len; i++) {
    uint32_t link = g_array_index(f->links, uint32_t, i);
    double frac = f->busy_s[link] / capacity[link];

    if (frac > most_frac) {
      most_frac = frac;
      most = link;
    }
  }
  if (most != RA_NONE)
    f->waited_s[most] += late_s;
}

RaNetwork *
ra_flows_network(RaFlows *flows)
{
  return flows->network;
}

const RaTopology *
ra_flows_topology(const RaFlows *flows)
{
  return flows->topology;
}

static int
compare_busy(const void *a, const void *b)
{
  const RaLinkBusy *x = a, *y = b;

  if (x->busy_s != y->busy_s)
    return x->busy_s > y->busy_s ? -1 : 1;
  return (x->link > y->link) - (x->link < y->link);
}

RaLinkBusy *
ra_flows_busy(const RaFlows *f, guint *out_n)
{
  uint32_t n = ra_topology_n_links(f->topology);
  RaLinkBusy *busy = g_new(RaLinkBusy, n + 1);

  *out_n = 0;
  for (uint32_t link = 0; link < n; link++)
    if (f->busy_s[link] > 0)
      busy[(*out_n)++] = (RaLinkBusy){link, f->busy_s[link], f->waited_s[link]};
  qsort(busy, *out_n, sizeof *busy, compare_busy);
  return busy;
}
