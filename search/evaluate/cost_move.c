/* Costs of moves: reallocations, their keys and bounds; transfers; copies. */
/* Costs of data that move between calls, and of those that stand outside of the
 * GPUs. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "estimator/kinds.h"
#include "graph/augment/realloc.h"
#include "graph/expand/data_transfer.h"
#include "graph/input/lora.h"
#include "search/evaluate/cost_table_impl.h"
#include "search/space/isolated_call.h"
#include "search/space/space_impl.h"

/* How two meshes lie to each other, 16 bits: where they share a node the GPUs
 * from the one's begin to the other's, above OFFSET_ZERO. */
#define RELATION_BEFORE 1u /* in other nodes, the source first */
#define RELATION_AFTER 2u

/* Seconds of @op as an isolated task, as a task of the graph has it, on the
 * slowest of @kinds of nodes. */
static double
op_s(const RaCostTable *table, RaOp op, uint32_t kinds)
{
  RaWork work = {.shard = RA_NONE, .op = op};
  RaTaskGraph graph = {.n_works = 1, .works = &work};
  RaCost cost;

  work.op.count = 1;
  ra_kinds_work(table->estimator, &graph, 0, kinds, &cost);
  return cost.total_s;
}

/* The least on any kind of nodes. */
static double
least_op_s(const RaCostTable *table, RaOp op)
{
  double least_s = (double)INFINITY;

  for (guint k = 0; k < ra_estimator_n_kinds(table->estimator); k++) {
    double seconds = op_s(table, op, 1u << k);
    least_s = MIN(least_s, seconds);
  }
  return least_s;
}

double
ra_cost_table_transfer_s(const RaCostTable *table,
                         const RaFlatGraphSlot *transfer,
                         const RaCallPlan *from, const RaCallPlan *to,
                         gboolean one_node, uint32_t kinds)
{
  const RaCall *calls = table->space->workload->calls;
  RaDataTransfer data = {.part = transfer->part,
                         .n_parts = transfer->n_parts,
                         .from = ra_data_end(&calls[transfer->source], from),
                         .to = ra_data_end(&calls[transfer->call], to)};
  const RaSequenceSet *set =
      ra_loads_set(table->space->loads, table->any, calls[transfer->source].set,
                   transfer->like,
                   calls[transfer->call].each_trip ? transfer->trip : RA_NONE);
  uint32_t few = MIN(from->dp, to->dp), many = MAX(from->dp, to->dp);
  uint64_t most =
      transfer->token_bytes * ra_data_transfer_most_tokens(&data, set);
  RaOp op = {.kind = RA_OP_REALLOC,
             .dim = {one_node ? most : 0, one_node ? 0 : most,
                     (many + few - 1) / few}};

  return op_s(table, op, kinds);
}

double
ra_cost_table_host_s(const RaCostTable *table, uint32_t call)
{
  double host_s = table->space->workload->calls[call].host_s;
  RaOp op = {.kind = RA_OP_HOST, .dim = {(uint64_t)llround(host_s * 1e9)}};

  return op_s(table, op, 0);
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

/* Hashes are marked by the two bits that other names leave. */
#define HASH_MARK (UINT64_C(3) << 62)

/* Both meshes without the nodes that neither has: @out near node 0.  Returns a
 * hash of how they lie. */
static uint64_t
press(const RaMesh *meshes, RaMesh *out, uint32_t *out_n_nodes)
{
  uint32_t at[2] = {0, 0}, node = 0, n_nodes = 0;
  uint64_t hash = RA_HASH_INIT;

  for (guint k = 0; k < 2; k++) {
    out[k] = meshes[k];
    out[k].n_runs = 0;
  }
  while (at[0] < meshes[0].n_runs || at[1] < meshes[1].n_runs) {
    uint32_t end = UINT32_MAX, has = 0;

    for (guint k = 0; k < 2; k++) {
      const RaNodeRun *run = &meshes[k].runs[at[k]];

      if (at[k] == meshes[k].n_runs)
        continue;
      if (run->first <= node)
        has |= 1u << k;
      end = MIN(end, run->first <= node ? run->first + run->n : run->first);
    }
    for (guint k = 0; k < 2; k++) {
      RaNodeRun *last =
          out[k].runs + (out[k].n_runs > 0 ? out[k].n_runs - 1 : 0);

      if (at[k] < meshes[k].n_runs && (has >> k & 1) &&
          meshes[k].runs[at[k]].first + meshes[k].runs[at[k]].n == end)
        at[k]++;
      if (!(has >> k & 1))
        continue;
      if (out[k].n_runs > 0 && last->first + last->n == n_nodes)
        last->n += end - node;
      else
        out[k].runs[out[k].n_runs++] = (RaNodeRun){n_nodes, end - node};
    }
    if (has)
      n_nodes += end - node;
    node = end;
  }
  for (guint k = 0; k < 2; k++) {
    hash = ra_hash_u64(hash,
                       (uint64_t)out[k].first_gpu << 32 | out[k].gpus_per_node);
    for (uint32_t i = 0; i < out[k].n_runs; i++)
      hash = ra_hash_u64(hash, (uint64_t)out[k].runs[i].first << 32 |
                                   out[k].runs[i].n);
    hash = ra_hash_u64(hash, k);
  }
  *out_n_nodes = n_nodes;
  return hash;
}

/* Key for candidates of which one is at a set of nodes. */
static uint64_t
set_key(const RaCostTable *table, const RaCandidate *from, uint32_t at_from,
        const RaCandidate *to, uint32_t at_to, gboolean adapters)
{
  const RaMesh meshes[2] = {ra_space_mesh_at(table->space, from, at_from),
                            ra_space_mesh_at(table->space, to, at_to)};
  RaMesh pressed[2];
  uint32_t n_nodes;
  uint64_t hash = press(meshes, pressed, &n_nodes);

  hash = ra_hash_u64(hash, from->layout);
  hash = ra_hash_u64(hash, to->layout);
  hash = ra_hash_u64(hash, adapters != 0);
  return ra_hash_u64(hash, (uint64_t)to->plan.realloc) | HASH_MARK;
}

uint64_t
ra_cost_table_realloc_key(const RaCostTable *table, const RaCandidate *from,
                          uint32_t at_from, const RaCandidate *to,
                          uint32_t at_to, gboolean adapters)
{
  uint32_t begin_from = ra_candidate_begin(from, at_from);
  uint32_t begin_to = ra_candidate_begin(to, at_to);
  uint64_t key = from->layout;

  if (ra_candidate_set(from, at_from) || ra_candidate_set(to, at_to))
    return set_key(table, from, at_from, to, at_to, adapters);
  key = key << RA_COST_LAYOUT_BITS | to->layout;
  key = key << RA_COST_SCHEME_BITS | (uint32_t)to->plan.realloc;
  key = key << RA_COST_RELATION_BITS |
        relation_of(table, from, begin_from, to, begin_to);
  return adapters ? key | RA_COST_KEPT_BIT : key;
}

gboolean
ra_cost_table_moves_adapters(const RaCostTable *table, uint32_t call,
                             const uint8_t *residency)
{
  const RaWorkload *w = table->space->workload;
  uint32_t model = w->calls[call].model;

  return w->models[model].adapters &&
         ra_lora_moved_model(&w->models[model], residency[model]) ==
             w->models[model].adapters;
}

void
ra_cost_table_init_moves(RaCostTable *table)
{
  const RaWorkload *w = table->space->workload;
  RaOp op = {.kind = RA_OP_REALLOC, .dim = {UINT64_C(1) << 40, 0, 0}};

  table->model_bytes = g_new(double, w->n_models);
  table->layers_frac = g_new(double, w->n_models);
  for (guint m = 0; m < w->n_models; m++) {
    const RaWorkloadModel *model = &w->models[m];
    table->model_bytes[m] = (double)ra_model_n_params(model->model) *
                            ra_dtype_bytes((RaDtype)model->dtype);
    table->layers_frac[m] = (double)(ra_model_mixer_n_params(model->model, 0) +
                                     ra_model_mlp_n_params(model->model, 0)) *
                            model->model->n_layers /
                            (double)ra_model_n_params(model->model);
  }
  table->intra_s_per_byte = least_op_s(table, op) * 0x1p-40;
  op.dim[1] = op.dim[0];
  op.dim[0] = 0;
  table->inter_s_per_byte = least_op_s(table, op) * 0x1p-40;
}

static uint32_t
most_layers(const RaCallPlan *plan)
{
  uint32_t most = 0;

  for (uint32_t s = 0; s < plan->pp; s++) {
    uint32_t n = 0;
    for (uint32_t v = 0; v < plan->n_virtual; v++)
      n += plan->stage_layers[v * plan->pp + s];
    most = MAX(most, n);
  }
  return most;
}

/* Bytes that a GPU of @from at most has of what it needs as one of @to: of no
 * more layers than either has, and of the other tensors, no more than either's
 * part.  Norms, which all ranks have, are less than a thousandth. */
static double
most_held_bytes(const RaCostTable *table, uint32_t model,
                const RaCandidate *from, const RaCandidate *to)
{
  const RaModel *m = table->space->workload->models[model].model;
  double part = 1.0 / MAX(from->plan.tp, to->plan.tp);
  double all = table->model_bytes[model];
  double layers = MIN(most_layers(&from->plan), most_layers(&to->plan));
  double least = (double)from->footprint.most.bytes[RA_FOOT_PARAMS];

  if (m->n_experts > 0 || !ra_model_is_plain(m) ||
      MAX(from->plan.tp, to->plan.tp) > m->n_kv_heads)
    return least;
  layers = layers / m->n_layers * table->layers_frac[model];
  return MIN(least,
             all * part * (layers + 1 - table->layers_frac[model]) * 1.001);
}

double
ra_cost_table_realloc_bound_s(const RaCostTable *table, uint32_t model,
                              const RaCandidate *from, uint32_t at_from,
                              const RaCandidate *to, uint32_t at_to)
{
  gboolean is_set =
      ra_candidate_set(from, at_from) || ra_candidate_set(to, at_to);
  uint32_t begin_from = ra_candidate_begin(from, at_from);
  uint32_t begin_to = ra_candidate_begin(to, at_to);
  const RaCallPlan *x = &from->plan, *y = &to->plan;
  double a = table->intra_s_per_byte, b = table->inter_s_per_byte;
  double needs = (double)to->footprint.most.bytes[RA_FOOT_PARAMS];
  uint32_t width = table->space->cluster->gpus_per_node;
  double bound_s, nodes;

  if (table->space->workload->models[model].adapters)
    return 0;
  if (y->realloc != RA_REALLOC_BROADCAST || ra_call_plan_n_shards(x) > 1 ||
      ra_call_plan_n_shards(y) > 1 || ra_call_plan_spreads_experts(x) ||
      ra_call_plan_spreads_experts(y))
    return 0;
  if (is_set || (begin_from < begin_to + to->n_gpus &&
                 begin_to < begin_from + from->n_gpus))
    needs -= most_held_bytes(table, model, from, to);
  bound_s = MAX(needs, 0) * a * b / (a + b);
  if (!is_set &&
      relation_of(table, from, begin_from, to, begin_to) <= RELATION_AFTER) {
    nodes = MAX(1.0, (double)y->tp * y->dp / width);
    bound_s =
        MAX(bound_s, table->model_bytes[model] * nodes / from->n_gpus * b);
  }
  return bound_s * (1 - 1e-9);
}

/* Meshes that lie as those of two intervals do, near node 0; returns the nodes
 * up to their end. */
static uint32_t
near_node_0(const RaCostTable *table, const RaCandidate *from,
            uint32_t begin_from, const RaCandidate *to, uint32_t begin_to,
            RaMesh *out)
{
  const RaCluster *cluster = table->space->cluster;
  uint32_t width = cluster->gpus_per_node, first;

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
  out[0] = ra_space_mesh(cluster, begin_from, from->n_gpus);
  out[1] = ra_space_mesh(cluster, begin_to, to->n_gpus);
  return (MAX(begin_from + from->n_gpus, begin_to + to->n_gpus) + width - 1) /
         width;
}

/* The load of two meshes of the class. */
static double
realloc_s(const RaCostTable *table, uint32_t model, const RaCandidate *from,
          uint32_t at_from, const RaCandidate *to, uint32_t at_to,
          gboolean adapters)
{
  const RaWorkloadModel *m = &table->space->workload->models[model];
  RaCluster cluster = *table->space->cluster;
  RaCallPlan x = from->plan, y = to->plan;
  g_autoptr(RaRealloc) r = NULL;
  RaOp op = {.kind = RA_OP_REALLOC};
  RaMesh meshes[2];

  if (ra_candidate_set(from, at_from) || ra_candidate_set(to, at_to)) {
    const RaMesh whole[2] = {ra_space_mesh_at(table->space, from, at_from),
                             ra_space_mesh_at(table->space, to, at_to)};
    press(whole, meshes, &cluster.n_nodes);
  } else {
    cluster.n_nodes =
        near_node_0(table, from, ra_candidate_begin(from, at_from), to,
                    ra_candidate_begin(to, at_to), meshes);
  }
  x.mesh = meshes[0];
  y.mesh = meshes[1];
  r = ra_realloc_new(ra_lora_moved_model(m, adapters ? RA_RESIDENCY_KEEP
                                                     : RA_RESIDENCY_RELEASE),
                     ra_dtype_bytes((RaDtype)m->dtype), &x, &y, &cluster,
                     (RaReallocScheme)y.realloc);
  op.dim[0] = r->load.max_intra_bytes;
  op.dim[1] = r->load.max_inter_bytes;
  op.dim[2] = r->load.n_steps;
  op.dim[3] = r->load.cast_elements;
  return op_s(table, op, from->kinds | to->kinds);
}

/* Name of a move in the store, by its layouts, of which other spaces have other
 * numbers. */
static uint64_t
name_of(const RaCostTable *table, uint32_t model, const RaCandidate *from,
        uint32_t at_from, const RaCandidate *to, uint32_t at_to,
        gboolean adapters)
{
  uint64_t name = ra_hash_u64(RA_HASH_INIT, RA_COST_NAME_REALLOC);

  if (ra_candidate_set(from, at_from) || ra_candidate_set(to, at_to)) {
    const RaMesh whole[2] = {ra_space_mesh_at(table->space, from, at_from),
                             ra_space_mesh_at(table->space, to, at_to)};
    RaMesh pressed[2];
    uint32_t n_nodes;

    name = ra_hash_u64(name, press(whole, pressed, &n_nodes));
  } else {
    name = ra_hash_u64(name, relation_of(table, from,
                                         ra_candidate_begin(from, at_from), to,
                                         ra_candidate_begin(to, at_to)));
  }
  name = ra_hash_u64(name, model);
  name = ra_hash_u64(name, from->layout_hash);
  name = ra_hash_u64(name, to->layout_hash);
  name = ra_hash_u64(name, (uint64_t)to->plan.realloc);
  return ra_hash_u64(name, adapters != 0);
}

gboolean
ra_cost_table_realloc_seen(RaCostTable *table, uint64_t key, gint round,
                           double *out_s)
{
  const RaKnownRealloc *known;
  gboolean is_seen;

  g_mutex_lock(&table->lock);
  known = g_hash_table_lookup(table->reallocs, &key);
  is_seen = known && known->round < round;
  if (is_seen)
    *out_s = known->seconds;
  g_mutex_unlock(&table->lock);
  return is_seen;
}

double
ra_cost_table_realloc_s(RaCostTable *table, uint32_t from_call, RaChoice from,
                        uint32_t to_call, RaChoice to, gboolean adapters)
{
  const RaSpace *space = table->space;
  const RaCandidate *x = &space->calls[from_call].candidates[from.candidate];
  const RaCandidate *y = &space->calls[to_call].candidates[to.candidate];
  uint64_t key = ra_cost_table_realloc_key(table, x, from.position, y,
                                           to.position, adapters);
  uint32_t model = space->workload->calls[to_call].model;
  uint64_t name;
  double seconds;
  RaKnownRealloc known;

  if (ra_cost_table_realloc_seen(table, key, G_MAXINT, &seconds))
    return seconds;
  name = table->store
             ? name_of(table, model, x, from.position, y, to.position, adapters)
             : 0;
  if (!table->store || !ra_cost_store_get(table->store, name, &seconds, 1)) {
    seconds =
        realloc_s(table, model, x, from.position, y, to.position, adapters);
    if (table->store)
      ra_cost_store_put(table->store, name, &seconds, 1);
  }
  g_assert(seconds >= 0 && isfinite(seconds));
  known = (RaKnownRealloc){seconds, g_atomic_int_get(&table->round)};
  g_mutex_lock(&table->lock);
  if (!g_hash_table_contains(table->reallocs, &key)) {
    g_hash_table_insert(table->reallocs, g_memdup2(&key, sizeof key),
                        g_memdup2(&known, sizeof known));
    ra_cost_table_note_realloc(table, key, seconds);
  }
  g_mutex_unlock(&table->lock);
  return seconds;
}

double
ra_cost_table_copy_s(RaCostTable *table, uint32_t call, uint32_t candidate,
                     uint8_t what, gboolean out)
{
  const RaSpace *space = table->space;
  const RaCandidate *c = &space->calls[call].candidates[candidate];
  double *slot, seconds, most, state;

  g_return_val_if_fail(what < 4, 0);
  slot = &table->copy_s[call][((gsize)candidate * 2 + (out != 0)) * 4 + what];
  g_mutex_lock(&table->lock);
  seconds = *slot;
  g_mutex_unlock(&table->lock);
  if (isnan(seconds)) {
    g_autoptr(RaIsolatedCall) lone =
        ra_isolated_call_new(space->workload, space->cluster, call, &c->plan);
    RaOp op = {.kind = out ? RA_OP_OFFLOAD : RA_OP_RELOAD};
    double n_sharing =
        ra_mesh_n_sharing_host(&lone->plan->calls[call].mesh, space->cluster);

    ra_augment_copy_bytes(lone->plan, call, what, &most, &state);
    op.dim[0] = (uint64_t)ceil(most * n_sharing);
    op.dim[1] = (uint64_t)(state * n_sharing);
    seconds = op_s(table, op, c->kinds);
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
  n = g_hash_table_size(table->reallocs);
  g_mutex_unlock(&table->lock);
  return n;
}
