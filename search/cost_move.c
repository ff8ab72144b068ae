/* What moves between calls, and what stands outside of the GPUs. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/realloc.h"
#include "search/cost_table_impl.h"
#include "search/lone.h"
#include "search/space_impl.h"

/* How two meshes lie to each other, 16 bits: where they share a node the GPUs
 * from the one's begin to the other's, above OFFSET_ZERO. */
#define RELATION_BEFORE 1u /* in other nodes, the source first */
#define RELATION_AFTER 2u

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
  return RA_COST_OFFSET_ZERO + begin_to - begin_from;
}

uint64_t
ra_cost_table_realloc_key(const RaCostTable *table, const RaCandidate *from,
                          uint32_t begin_from, const RaCandidate *to,
                          uint32_t begin_to)
{
  uint64_t key = from->layout;

  key = key << RA_COST_LAYOUT_BITS | to->layout;
  key = key << RA_COST_SCHEME_BITS | (uint32_t)to->plan.realloc;
  return key << RA_COST_RELATION_BITS |
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

gboolean
ra_cost_table_realloc_known(RaCostTable *table, uint64_t key, double *out_s)
{
  const double *known;

  g_mutex_lock(&table->lock);
  known = g_hash_table_lookup(table->realloc_s, &key);
  if (known)
    *out_s = *known;
  g_mutex_unlock(&table->lock);
  return known != NULL;
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
  double seconds;

  if (ra_cost_table_realloc_known(table, key, &seconds))
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
