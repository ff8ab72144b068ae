#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/realloc.h"
#include "search/cost_table.h"
#include "search/lone.h"
#include "search/space_impl.h"
#include "sim/call.h"

/* How two meshes lie to each other, 16 bits: where they share a node the GPUs
 * from the one's begin to the other's, above OFFSET_ZERO. */
#define RELATION_BITS 16
#define RELATION_BEFORE 1u /* in other nodes, the source first */
#define RELATION_AFTER 2u
#define OFFSET_ZERO 0x8000u
#define LAYOUT_BITS 22
#define SCHEME_BITS 2

struct _RaCostTable {
  const RaSpace *space;         /* borrowed */
  const RaEstimator *estimator; /* borrowed */
  uint32_t n_like;
  double **call_s;       /* (n_calls) (n, n_like, n_parts), owned */
  double **copy_s;       /* (n_calls) (n, 2, 4) NAN: not yet, owned */
  GMutex lock;           /* of what is kept on demand */
  GHashTable *realloc_s; /* key -> double, owned */
};

/* Candidates that threads take one by one. */
typedef struct {
  RaCostTable *table;
  gint next;     /* atomic: the next of all candidates, call by call */
  gint n_failed; /* atomic */
  GMutex lock;   /* of the error */
  GError *error; /* the first */
} Job;

/* --- calls --- */

static gboolean
cost_candidate(RaCostTable *table, uint32_t call, uint32_t candidate,
               GError **error)
{
  const RaSpace *space = table->space;
  const RaCandidate *c = &space->calls[call].candidates[candidate];
  uint32_t n_parts = space->workload->calls[call].n_parts;
  double *out =
      table->call_s[call] + (gsize)candidate * table->n_like * n_parts;
  g_autoptr(RaLone) lone = NULL;
  g_autoptr(RaAugmented) augmented = NULL;
  RaTaskGraph whole = {.seed = space->options.seed, .is_folded = TRUE};

  if (c->n_gpus == 0) {
    for (uint32_t i = 0; i < table->n_like * n_parts; i++)
      out[i] = ra_cost_table_host_s(table, call);
    return TRUE;
  }
  lone = ra_lone_new(space->workload, space->cluster, call, &c->plan);
  augmented = ra_augment_bare(lone->plan, table->n_like);
  whole.augmented = augmented;
  for (uint32_t k = 0; k < table->n_like; k++) {
    g_autofree RaCost *parts =
        ra_call_costs(&whole, call, k, table->estimator, error);
    if (!parts)
      return FALSE;
    for (uint32_t p = 0; p < n_parts; p++)
      out[k * n_parts + p] = parts[p].total_s;
  }
  return TRUE;
}

static gpointer
run_job(gpointer data)
{
  Job *job = data;
  const RaSpace *space = job->table->space;

  while (g_atomic_int_get(&job->n_failed) == 0) {
    uint32_t i = (uint32_t)g_atomic_int_add(&job->next, 1), call = 0;
    GError *error = NULL;

    while (call < space->workload->n_calls && i >= space->calls[call].n)
      i -= space->calls[call++].n;
    if (call == space->workload->n_calls)
      break;
    if (cost_candidate(job->table, call, i, &error))
      continue;
    g_atomic_int_inc(&job->n_failed);
    g_mutex_lock(&job->lock);
    if (!job->error)
      job->error = g_steal_pointer(&error);
    g_mutex_unlock(&job->lock);
    g_clear_error(&error);
  }
  return NULL;
}

static gboolean
cost_calls(RaCostTable *table, guint n_threads, GError **error)
{
  Job job = {.table = table};
  guint n = n_threads > 0 ? n_threads : g_get_num_processors();
  g_autofree GThread **threads = g_new0(GThread *, n);

  g_mutex_init(&job.lock);
  for (guint i = 1; i < n; i++)
    threads[i] = g_thread_new("cost", run_job, &job);
  run_job(&job);
  for (guint i = 1; i < n; i++)
    g_thread_join(threads[i]);
  g_mutex_clear(&job.lock);
  if (!job.error)
    return TRUE;
  g_propagate_error(error, job.error);
  return FALSE;
}

RaCostTable *
ra_cost_table_new(const RaSpace *space, const RaEstimator *estimator,
                  guint n_threads, GError **error)
{
  const RaWorkload *w = space->workload;
  g_autoptr(RaCostTable) table = g_new0(RaCostTable, 1);

  g_assert(space->n_layouts < 1u << LAYOUT_BITS);
  g_assert(ra_cluster_n_gpus(space->cluster) <= OFFSET_ZERO);
  table->space = space;
  table->estimator = estimator;
  table->n_like = w->prompt_length.kind == RA_LENGTH_FIXED &&
                          w->response_length.kind == RA_LENGTH_FIXED
                      ? 1
                      : space->options.n_iterations;
  g_mutex_init(&table->lock);
  table->realloc_s =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  table->call_s = g_new0(double *, w->n_calls);
  table->copy_s = g_new0(double *, w->n_calls);
  for (guint c = 0; c < w->n_calls; c++) {
    gsize n = (gsize)space->calls[c].n * 8;

    table->call_s[c] = g_new(double, (gsize)space->calls[c].n * table->n_like *
                                         w->calls[c].n_parts);
    table->copy_s[c] = g_new(double, n);
    for (gsize i = 0; i < n; i++)
      table->copy_s[c][i] = (double)NAN;
  }
  if (!cost_calls(table, n_threads, error))
    return NULL;
  return g_steal_pointer(&table);
}

void
ra_cost_table_free(RaCostTable *table)
{
  if (!table)
    return;
  for (guint c = 0; c < table->space->workload->n_calls; c++) {
    g_free(table->call_s[c]);
    g_free(table->copy_s[c]);
  }
  g_free(table->call_s);
  g_free(table->copy_s);
  g_hash_table_unref(table->realloc_s);
  g_mutex_clear(&table->lock);
  g_free(table);
}

const RaSpace *
ra_cost_table_space(const RaCostTable *table)
{
  return table->space;
}

uint32_t
ra_cost_table_n_like(const RaCostTable *table)
{
  return table->n_like;
}

const double *
ra_cost_table_call_s(const RaCostTable *table, uint32_t call,
                     uint32_t candidate)
{
  return table->call_s[call] + (gsize)candidate * table->n_like *
                                   table->space->workload->calls[call].n_parts;
}

/* --- what moves --- */

/* One op, as a task of the graph has it. */
static double
op_s(const RaCostTable *table, RaOp op)
{
  RaWork work = {.shard = RA_NONE, .op = op};
  RaTaskGraph graph = {.n_works = 1, .works = &work};
  RaCost cost;

  work.op.count = 1;
  ra_estimator_work(table->estimator, &graph, 0, &cost);
  return cost.total_s;
}

double
ra_cost_table_transfer_s(const RaCostTable *table, double bytes,
                         uint32_t dp_from, uint32_t dp_to, gboolean one_node)
{
  uint32_t few = MIN(dp_from, dp_to), many = MAX(dp_from, dp_to);
  uint64_t most = (uint64_t)ceil(bytes / few);
  RaOp op = {.kind = RA_OP_REALLOC,
             .dim = {one_node ? most : 0, one_node ? 0 : most,
                     (many + few - 1) / few}};

  return op_s(table, op);
}

double
ra_cost_table_host_s(const RaCostTable *table, uint32_t call)
{
  double host_s = table->space->workload->calls[call].host_s;
  RaOp op = {.kind = RA_OP_HOST, .dim = {(uint64_t)llround(host_s * 1e9)}};

  return op_s(table, op);
}

static uint32_t
relation_of(const RaCostTable *table, const RaCandidate *from,
            uint32_t begin_from, const RaCandidate *to, uint32_t begin_to)
{
  uint32_t width = table->space->cluster->gpus_per_node;

  if ((begin_from + from->n_gpus - 1) / width < begin_to / width)
    return RELATION_BEFORE;
  if ((begin_to + to->n_gpus - 1) / width < begin_from / width)
    return RELATION_AFTER;
  return OFFSET_ZERO + begin_to - begin_from;
}

uint64_t
ra_cost_table_realloc_key(const RaCostTable *table, const RaCandidate *from,
                          uint32_t begin_from, const RaCandidate *to,
                          uint32_t begin_to)
{
  uint64_t key = from->layout;

  key = key << LAYOUT_BITS | to->layout;
  key = key << SCHEME_BITS | (uint32_t)to->plan.realloc;
  return key << RELATION_BITS |
         relation_of(table, from, begin_from, to, begin_to);
}

/* The load of two meshes of the class, near node 0. */
static double
realloc_s(const RaCostTable *table, uint32_t model, const RaCandidate *from,
          uint32_t begin_from, const RaCandidate *to, uint32_t begin_to)
{
  const RaWorkloadModel *m = &table->space->workload->models[model];
  RaCluster cluster = *table->space->cluster;
  uint32_t width = cluster.gpus_per_node, first;
  RaCallPlan x = from->plan, y = to->plan;
  g_autoptr(RaRealloc) r = NULL;
  RaOp op = {.kind = RA_OP_REALLOC};

  first = MIN(begin_from, begin_to) / width * width;
  begin_from -= first;
  begin_to -= first;
  switch (relation_of(table, from, begin_from, to, begin_to)) {
  case RELATION_BEFORE:
    begin_to = (begin_from + from->n_gpus + width - 1) / width * width +
               begin_to % width;
    break;
  case RELATION_AFTER:
    begin_from = (begin_to + to->n_gpus + width - 1) / width * width +
                 begin_from % width;
    break;
  default:
    break;
  }
  x.mesh = ra_space_mesh(&cluster, begin_from, from->n_gpus);
  y.mesh = ra_space_mesh(&cluster, begin_to, to->n_gpus);
  cluster.n_nodes =
      (MAX(begin_from + from->n_gpus, begin_to + to->n_gpus) + width - 1) /
      width;
  r = ra_realloc_new(m->model, ra_dtype_bytes((RaDtype)m->dtype), &x, &y,
                     &cluster, (RaReallocScheme)y.realloc);
  op.dim[0] = r->load.max_intra_bytes;
  op.dim[1] = r->load.max_inter_bytes;
  op.dim[2] = r->load.n_steps;
  return op_s(table, op);
}

double
ra_cost_table_realloc_s(RaCostTable *table, uint32_t from_call, RaChoice from,
                        uint32_t to_call, RaChoice to)
{
  const RaSpace *space = table->space;
  const RaCandidate *x = &space->calls[from_call].candidates[from.candidate];
  const RaCandidate *y = &space->calls[to_call].candidates[to.candidate];
  uint32_t begin_x = ra_candidate_begin(x, from.position);
  uint32_t begin_y = ra_candidate_begin(y, to.position);
  uint64_t key = ra_cost_table_realloc_key(table, x, begin_x, y, begin_y);
  const double *known;
  double seconds;

  g_mutex_lock(&table->lock);
  known = g_hash_table_lookup(table->realloc_s, &key);
  seconds = known ? *known : -1;
  g_mutex_unlock(&table->lock);
  if (known)
    return seconds;
  seconds = realloc_s(table, space->workload->calls[to_call].model, x, begin_x,
                      y, begin_y);
  g_assert(seconds >= 0 && isfinite(seconds));
  g_mutex_lock(&table->lock);
  g_hash_table_insert(table->realloc_s, g_memdup2(&key, sizeof key),
                      g_memdup2(&seconds, sizeof seconds));
  g_mutex_unlock(&table->lock);
  return seconds;
}

double
ra_cost_table_copy_s(RaCostTable *table, uint32_t call, uint32_t candidate,
                     uint8_t what, gboolean out)
{
  const RaSpace *space = table->space;
  const RaCandidate *c = &space->calls[call].candidates[candidate];
  double *slot, seconds, most;

  g_return_val_if_fail(what < 4, 0);
  slot = &table->copy_s[call][((gsize)candidate * 2 + (out != 0)) * 4 + what];
  g_mutex_lock(&table->lock);
  seconds = *slot;
  g_mutex_unlock(&table->lock);
  if (isnan(seconds)) {
    g_autoptr(RaLone) lone =
        ra_lone_new(space->workload, space->cluster, call, &c->plan);
    RaOp op = {.kind = out ? RA_OP_OFFLOAD : RA_OP_RELOAD};

    ra_augment_copy_bytes(lone->plan, call, what, &most);
    op.dim[0] = (uint64_t)ceil(most);
    seconds = op_s(table, op);
    g_mutex_lock(&table->lock);
    *slot = seconds;
    g_mutex_unlock(&table->lock);
  }
  return seconds;
}

guint
ra_cost_table_n_reallocs(RaCostTable *table)
{
  guint n;

  g_mutex_lock(&table->lock);
  n = g_hash_table_size(table->realloc_s);
  g_mutex_unlock(&table->lock);
  return n;
}
