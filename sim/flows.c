/* Flows of communication tasks over the links of a cluster. */
#include "config.h"

#include "sim/flows_impl.h"

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

  for (guint i = 0; i < n_ops; i++) {
    RaOpClass class = ra_op_class((RaOpKind)ops[i].kind);
    double n = ops[i].count;
    RaLinkUse use;

    if (class != RA_OP_CLASS_COMM && class != RA_OP_CLASS_COPY)
      continue;
    ra_estimator_link_use(estimator, &ops[i], &use);
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
  ra_flows_add_decodes(f, estimator);
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
  ra_flows_free_decodes(f);
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

  if (ra_flows_decodes(f, task))
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

void
ra_flows_take(RaFlows *f, uint32_t link, double weight)
{
  if (!(weight > 0))
    return;
  if (f->share[link] == 0)
    g_array_append_val(f->links, link);
  f->share[link] += weight;
}

void
ra_flows_weigh(RaFlows *f)
{
  g_array_set_size(f->weights, 0);
  for (guint i = 0; i < f->links->len; i++) {
    uint32_t link = g_array_index(f->links, uint32_t, i);

    g_array_append_val(f->weights, f->share[link]);
    f->share[link] = 0;
  }
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

    ra_flows_take(f, at->link,
                  at->share * MIN(full_s(f, work, at) / duration_s, 1));
  }
  ra_flows_weigh(f);
}

void
ra_flows_begin(RaFlows *f, RaTaskId task, double amount_s, double latency_s)
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

void
ra_flows_start(RaFlows *f, RaTaskId task, double duration_s)
{
  if (ra_flows_decodes(f, task)) {
    ra_flows_start_decode(f, task, duration_s);
    return;
  }
  list_links(f, task, duration_s);
  ra_flows_begin(f, task, duration_s,
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
  if (ra_flows_decodes(f, task))
    ra_flows_list_decode(f, task);
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
