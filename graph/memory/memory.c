/* Memory account: stages of all calls, items, transients of a train call. */
#include "config.h"

#include <math.h>

#include "graph/augment/layout.h"
#include "graph/expand/expand_call.h"
#include "graph/expand/schedule.h"
#include "graph/input/lora.h"
#include "graph/input/plan_batching.h"
#include "graph/input/residency.h"
#include "graph/memory/memory.h"
#include "graph/op/activation.h"

#define MASTER_BYTES 4 /* fp32 weights of the optimizer */

static const char *const hold_names[RA_N_HOLDS] = {
    [RA_HOLD_PARAMS] = "parameters of",
    [RA_HOLD_GRADS] = "gradients of",
    [RA_HOLD_OPTIMIZER] = "optimizer of",
    [RA_HOLD_COPY] = "parameters for",
    [RA_HOLD_ACTIVATIONS] = "activations of",
    [RA_HOLD_WORKSPACE] = "workspace of",
    [RA_HOLD_KV] = "KV cache of",
    [RA_HOLD_BUFFERS] = "buffers of",
    [RA_HOLD_FRAMEWORK] = "framework",
    [RA_HOLD_SLACK] = "allocator slack"};

char *
ra_holder_name(const RaWorkload *workload, uint32_t holder)
{
  RaHold kind = ra_holder_kind(holder);
  const RaCall *call = &workload->calls[ra_holder_call(holder)];

  if (kind >= RA_HOLD_FRAMEWORK)
    return g_strdup(hold_names[kind]);
  if (kind < RA_HOLD_COPY && call->model != RA_NONE)
    return g_strdup_printf("%s %s", hold_names[kind],
                           workload->models[call->model].name);
  return g_strdup_printf("%s %s", hold_names[kind], call->name);
}

uint32_t
ra_memory_n_holders(const RaMemory *memory)
{
  return memory->plan->workload->n_calls * RA_N_HOLDS;
}

/* Parameters, or those that are trained, of the largest layer of @piece; of
 * layers of a kind that follow each other one is counted. */
static uint64_t
largest_layer(const RaShard *shard, const RaPiece *piece,
              uint64_t (*n_params)(const RaShard *, const RaPiece *))
{
  uint64_t most = 0;

  for (uint32_t l = 0; l < piece->n_layers; l++) {
    RaPiece one = {.first_layer = piece->first_layer + l, .n_layers = 1};

    if (l == 0 || ra_model_layer_kind(shard->model, one.first_layer) !=
                      ra_model_layer_kind(shard->model, one.first_layer - 1))
      most = MAX(most, n_params(shard, &one));
  }
  return most;
}

/* Bytes of the largest layer of a stage, packed for sending: of the model's
 * type, which is cast where it arrives. */
static uint64_t
packed_bytes(const RaCallMemory *c, const RaCallPlan *p, RaDtype dtype,
             uint32_t stage)
{
  uint64_t most = 0;

  for (uint32_t u = stage; u < c->n_pieces; u += p->pp)
    most =
        MAX(most, largest_layer(&c->shard, &c->pieces[u], ra_piece_n_params));
  return most * ra_dtype_bytes(dtype);
}

/* Parameters of experts on a GPU of a stage, all or those that are trained. */
static uint64_t
n_expert_params(const RaCallMemory *c, const RaCallPlan *p, uint32_t stage,
                uint64_t (*n_params)(const RaShard *, const RaPiece *))
{
  uint64_t n = 0;

  for (uint32_t u = stage; u < c->n_pieces; u += p->pp)
    n += n_params(&c->shard, &c->pieces[u]);
  return n;
}

/* Bytes that experts of a stage have less than weights of the call's type. */
static uint64_t
narrowed_bytes(const RaCallMemory *c, const RaCallPlan *p,
               const RaWorkloadModel *m, uint32_t stage)
{
  double saved = ra_dtype_bytes(ra_call_plan_dtype(p, m)) -
                 ra_call_plan_expert_bytes(p, m);

  if (p->expert_dtype == RA_EXPERT_DTYPE_SAME)
    return 0;
  return (uint64_t)(saved * (double)n_expert_params(c, p, stage,
                                                    ra_piece_n_expert_params));
}

/* Bytes of a training stage, and what ZeRO divides.  With zero 3 @n_params is a
 * shard. */
static void
fill_training(RaStageMemory *s, const RaPlan *plan, uint32_t call,
              uint64_t n_params, uint64_t n_experts)
{
  const RaCallPlan *p = &plan->calls[call];
  const RaWorkloadModel *m =
      &plan->workload->models[plan->workload->calls[call].model];
  gboolean fp32 = ra_residency_is_fp32(plan, call);
  uint32_t master_bytes = ra_residency_master_bytes(plan, call);
  uint64_t shards = ra_call_plan_state_ranks(p, FALSE);
  uint64_t of_experts = ra_call_plan_state_ranks(p, TRUE);
  uint64_t owned = n_params, n_rest = n_params - MIN(n_experts, n_params);

  if (p->zero == 1 || p->zero == 2)
    owned = (n_rest + shards - 1) / shards +
            (n_params - n_rest + of_experts - 1) / of_experts;
  s->grad_bytes =
      (p->zero >= 2 ? owned : n_params) *
      (fp32 ? MASTER_BYTES : ra_dtype_bytes((RaDtype)p->grad_dtype));
  s->owned_params = owned;
  if (p->optimizer_residency == RA_RESIDENCY_CPU)
    return;
  if (m->optimizer == RA_OPTIMIZER_ADAMW)
    s->optimizer_bytes =
        owned * (ra_residency_moments_bytes(plan, call) + master_bytes);
  if (p->grad_dtype != RA_DTYPE_FP32 && !fp32 &&
      p->master_weights != RA_MASTER_NONE &&
      !ra_residency_has_remainders(plan, call))
    s->step_bytes = owned * ra_dtype_bytes(RA_DTYPE_FP32);
}

/* 8-bit copies of the weights of stage @stage; with fp8-params they are the
 * parameters themselves, 1 + 1 bytes in place of 2. */
static uint64_t
fp8_bytes(const RaCallMemory *c, const RaCallPlan *p, gboolean trains,
          uint32_t stage)
{
  uint64_t n = 0;

  for (uint32_t u = stage; u < c->n_pieces && !p->fp8_params; u += p->pp)
    n += ra_piece_n_fp8(&c->shard, &c->pieces[u]);
  return ra_op_fp8_weight_bytes(&c->shard, n) * (trains ? 2 : 1);
}

/* TRUE if the pieces of two stages are alike, one by one. */
static gboolean
are_alike(const RaCallMemory *c, uint32_t pp, uint32_t a, uint32_t b)
{
  for (uint32_t u = 0; u + MAX(a, b) < c->n_pieces; u += pp)
    if (!ra_piece_is_alike(&c->shard, &c->pieces[u + a], &c->pieces[u + b]))
      return FALSE;
  return TRUE;
}

/* Stages that are alike mostly follow each other, the embedding's and the
 * head's aside. */
static uint32_t
first_like(const RaCallMemory *c, uint32_t pp, uint32_t stage)
{
  for (uint32_t s = 0; s < stage; s++)
    if (c->stages[s].like == s && are_alike(c, pp, s, stage))
      return s;
  return stage;
}

static void
fill_stages(RaMemory *memory, uint32_t call)
{
  const RaWorkload *w = memory->plan->workload;
  const RaCallPlan *p = &memory->plan->calls[call];
  const RaWorkloadModel *m = &w->models[w->calls[call].model];
  RaCallMemory *c = &memory->calls[call];
  gboolean fp32 = ra_residency_is_fp32(memory->plan, call);
  uint64_t param_bytes =
      fp32 ? MASTER_BYTES : ra_dtype_bytes(ra_call_plan_dtype(p, m));
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(m->model);
  g_autofree uint64_t *n_params = g_new(uint64_t, p->pp);
  g_autofree uint64_t *n_trained = NULL;

  c->stages = g_new0(RaStageMemory, p->pp);
  ra_layout_stage_params(table, p, n_params);
  if (m->adapters) {
    g_autoptr(RaTensorTable) adapters = ra_tensor_table_new(m->adapters);

    n_trained = g_new(uint64_t, p->pp);
    ra_layout_stage_params(adapters, p, n_trained);
  }
  for (uint32_t s = 0; s < p->pp; s++) {
    uint64_t n = n_trained ? n_trained[s] : n_params[s];
    uint32_t like = first_like(c, p->pp, s);

    c->stages[s] = c->stages[like]; /* zero, if it is this one */
    c->stages[s].like = like;
    c->stages[s].param_bytes =
        n_params[s] * param_bytes - narrowed_bytes(c, p, m, s);
    if (like == s) {
      c->stages[s].packed_bytes = packed_bytes(c, p, (RaDtype)m->dtype, s);
      c->stages[s].fp8_bytes =
          fp8_bytes(c, p, w->calls[call].kind == RA_CALL_TRAIN, s);
    }
    if (w->calls[call].kind == RA_CALL_TRAIN)
      fill_training(&c->stages[s], memory->plan, call, n,
                    n_expert_params(c, p, s, ra_piece_n_trained_experts));
  }
}

static void
fill_call(RaMemory *memory, uint32_t call)
{
  const RaWorkload *w = memory->plan->workload;
  const RaCallPlan *p = &memory->plan->calls[call];
  RaCallMemory *c = &memory->calls[call];

  c->copy = RA_NONE;
  if (w->calls[call].model == RA_NONE)
    return;
  c->shard = ra_call_shard(memory->plan, call);
  if (p->zero == 3) {
    c->shard.zero_ranks = ra_call_plan_zero_ranks(p);
    if (ra_call_plan_spreads_experts(p))
      c->shard.zero_expert_ranks = ra_call_plan_n_expert_shards(p);
  }
  c->n_pieces = p->pp * p->n_virtual;
  c->pieces = g_new0(RaPiece, c->n_pieces);
  for (uint32_t u = 0; u < c->n_pieces; u++)
    c->pieces[u] = (RaPiece){.first_layer = ra_call_plan_first_layer(p, u),
                             .n_layers = p->stage_layers[u],
                             .has_embedding = u == 0,
                             .has_head = u == c->n_pieces - 1};
  fill_stages(memory, call);
}

/* Calls of one model and layout share a copy, and the first that trains it has
 * its gradients. */
static void
find_copy(RaMemory *memory, uint32_t call)
{
  const RaPlan *plan = memory->plan;
  RaCallMemory *c = &memory->calls[call];

  if (plan->workload->calls[call].model == RA_NONE)
    return;
  c->is_own = ra_residency_is_own(plan, call);
  c->has_grads = plan->workload->calls[call].kind == RA_CALL_TRAIN;
  for (uint32_t i = 0; i <= call; i++) {
    if (!ra_residency_same_copy(plan, i, call))
      continue;
    if (c->copy == RA_NONE)
      c->copy = i;
    if (i < call && plan->workload->calls[i].kind == RA_CALL_TRAIN)
      c->has_grads = FALSE;
  }
}

static RaMemory *
memory_new(const RaPlan *plan)
{
  RaMemory *memory = g_new0(RaMemory, 1);

  memory->plan = plan;
  memory->n_calls = plan->workload->n_calls;
  memory->calls = g_new0(RaCallMemory, memory->n_calls);
  return memory;
}

RaMemory *
ra_memory_new_call(const RaPlan *plan, uint32_t call)
{
  RaMemory *memory;

  g_return_val_if_fail(plan && call < plan->workload->n_calls, NULL);
  memory = memory_new(plan);
  fill_call(memory, call);
  return memory;
}

RaMemory *
ra_memory_new(const RaPlan *plan)
{
  RaMemory *memory;

  g_return_val_if_fail(plan, NULL);
  memory = memory_new(plan);
  for (guint i = 0; i < plan->workload->n_calls; i++)
    fill_call(memory, i);
  for (guint i = 0; i < plan->workload->n_calls; i++)
    find_copy(memory, i);
  return memory;
}

void
ra_memory_free(RaMemory *memory)
{
  if (!memory)
    return;
  for (guint i = 0; i < memory->n_calls; i++) {
    g_free(memory->calls[i].stages);
    g_free(memory->calls[i].pieces);
  }
  g_free(memory->calls);
  g_free(memory);
}

/* Rank of @gpu in @mesh, RA_NONE: not in it. */
static uint32_t
mesh_rank(const RaMesh *mesh, const RaCluster *cluster, uint32_t gpu)
{
  uint32_t node = gpu / cluster->gpus_per_node;
  uint32_t local = gpu % cluster->gpus_per_node, before = 0;

  if (local < mesh->first_gpu || local - mesh->first_gpu >= mesh->gpus_per_node)
    return RA_NONE;
  for (uint32_t i = 0; i < mesh->n_runs; i++) {
    if (node >= mesh->runs[i].first &&
        node - mesh->runs[i].first < mesh->runs[i].n)
      return (before + node - mesh->runs[i].first) * mesh->gpus_per_node +
             local - mesh->first_gpu;
    before += mesh->runs[i].n;
  }
  return RA_NONE;
}

uint32_t
ra_memory_stage(const RaMemory *memory, uint32_t call, uint32_t gpu)
{
  const RaCallPlan *p = &memory->plan->calls[call];
  uint32_t rank;

  if (!p->set || memory->calls[call].copy == RA_NONE)
    return RA_NONE;
  rank = mesh_rank(&p->mesh, memory->plan->cluster, gpu);
  return rank == RA_NONE ? RA_NONE : ra_call_plan_coord(p, rank).at[RA_AXIS_PP];
}

uint64_t
ra_memory_item_bytes(const RaMemory *memory, const RaMemoryItem *item,
                     uint32_t gpu)
{
  uint32_t stage = ra_memory_stage(memory, item->call, gpu);
  const RaStageMemory *s;

  if (stage == RA_NONE)
    return 0;
  s = &memory->calls[item->call].stages[stage];
  switch ((RaItemKind)item->kind) {
  case RA_ITEM_PARAMS:
    return s->param_bytes;
  case RA_ITEM_GRADS:
    return s->grad_bytes;
  case RA_ITEM_OPTIMIZER:
    return s->optimizer_bytes;
  default:
    return s->packed_bytes;
  }
}

static void
add_item(GArray *items, RaHold hold, uint32_t call, RaItemKind kind,
         uint32_t first, uint32_t last)
{
  RaMemoryItem item = {ra_holder(hold, call), call, first, last, (uint8_t)kind};

  g_array_append_val(items, item);
}

/* Gradients that exist while a call runs that trains the copy of @call. */
static void
add_brief_grads(const RaMemory *memory, const RaAugmented *a, uint32_t call,
                GArray *items)
{
  const RaCall *calls = memory->plan->workload->calls;

  for (uint32_t n = 0; n < a->n_nodes; n++)
    if (a->nodes[n].kind == RA_NODE_CALL && a->nodes[n].part == 0 &&
        calls[a->nodes[n].call].kind == RA_CALL_TRAIN &&
        memory->calls[a->nodes[n].call].copy == memory->calls[call].copy)
      add_item(items, RA_HOLD_GRADS, call, RA_ITEM_GRADS, n,
               n + a->nodes[n].n_parts - 1);
}

GArray *
ra_memory_items(const RaMemory *memory, const RaAugmented *a)
{
  GArray *items = g_array_new(FALSE, FALSE, sizeof(RaMemoryItem));

  for (uint32_t i = 0; i < a->n_copies; i++) {
    const RaCopy *c = &a->copies[i];
    gboolean own = memory->calls[c->call].is_own;
    if (c->pinned)
      continue;
    if (c->what == RA_COPY_OPTIMIZER)
      add_item(items, RA_HOLD_OPTIMIZER, c->call, RA_ITEM_OPTIMIZER, c->first,
               c->last);
    else
      add_item(items, own ? RA_HOLD_PARAMS : RA_HOLD_COPY,
               ra_residency_holder(memory->plan, c->call), RA_ITEM_PARAMS,
               c->first, c->last);
  }
  for (uint32_t i = 0; i < memory->plan->workload->n_calls; i++) {
    if (!memory->calls[i].has_grads)
      continue;
    if (ra_residency_drops_gradients(memory->plan, i))
      add_brief_grads(memory, a, i, items);
    else
      add_item(items, RA_HOLD_GRADS, i, RA_ITEM_GRADS, RA_NONE, RA_NONE);
  }
  for (uint32_t n = 0; n < a->n_nodes; n++) {
    if (a->nodes[n].kind != RA_NODE_REALLOC)
      continue;
    add_item(items, RA_HOLD_BUFFERS, a->nodes[n].source, RA_ITEM_PACKED, n, n);
    add_item(items, RA_HOLD_BUFFERS, a->nodes[n].call, RA_ITEM_PACKED, n, n);
  }
  return items;
}

gboolean
ra_memory_is_firm(const RaMemory *memory, uint32_t holder)
{
  RaHold kind = ra_holder_kind(holder);

  if (memory->plan->cluster->habits.expandable)
    return kind < RA_HOLD_FRAMEWORK;
  return (kind == RA_HOLD_KV || kind == RA_HOLD_COPY ||
          kind == RA_HOLD_WORKSPACE) &&
         ra_residency_is_engine(memory->plan, ra_holder_call(holder));
}

uint64_t
ra_memory_firm_sum(const RaMemory *memory, const uint64_t *bytes)
{
  uint64_t sum = 0;

  if (!memory->plan->cluster->habits.engine &&
      !memory->plan->cluster->habits.expandable)
    return 0;
  for (uint32_t i = 0; i < ra_memory_n_holders(memory); i++)
    if (bytes[i] > 0 && ra_memory_is_firm(memory, i))
      sum += bytes[i];
  return sum;
}

double
ra_memory_total(const RaMemory *memory, double used_bytes)
{
  const RaCluster *cluster = memory->plan->cluster;

  return cluster->framework_bytes + (1 + cluster->slack_frac) * used_bytes;
}

double
ra_memory_weighed(const RaMemory *memory, double used_bytes, double firm_bytes)
{
  return used_bytes - firm_bytes +
         firm_bytes / (1 + memory->plan->cluster->slack_frac);
}

uint64_t
ra_memory_slack(const RaMemory *memory, const uint64_t *bytes)
{
  uint64_t used = ra_memory_sum(bytes, ra_memory_n_holders(memory));

  return (uint64_t)llround(memory->plan->cluster->slack_frac *
                           (double)(used - ra_memory_firm_sum(memory, bytes)));
}

uint64_t
ra_call_kv_token_bytes(const RaMemory *memory, uint32_t call, uint32_t stage)
{
  const RaCallMemory *c = &memory->calls[call];
  uint64_t bytes = 0;

  for (uint32_t u = stage; u < c->n_pieces; u += memory->plan->calls[call].pp)
    bytes += ra_kv_token_bytes(&c->shard, &c->pieces[u]);
  return bytes;
}

uint64_t
ra_call_kv_fixed_bytes(const RaMemory *memory, uint32_t call, uint32_t stage)
{
  const RaCallMemory *c = &memory->calls[call];
  uint64_t longest = ra_call_longest_tokens(memory->plan->workload), bytes = 0;

  if (memory->plan->calls[call].kv_memory_bytes > 0)
    return 0;
  for (uint32_t u = stage; u < c->n_pieces; u += memory->plan->calls[call].pp)
    bytes += ra_kv_sequence_bytes(&c->shard, &c->pieces[u], longest);
  return bytes * ra_call_n_at_once(memory->plan, call);
}

static uint64_t
n_params_beside_experts(const RaShard *shard, const RaPiece *piece)
{
  return ra_piece_n_params(shard, piece) -
         ra_piece_n_expert_params(shard, piece);
}

uint64_t
ra_call_whole_bytes(const RaMemory *memory, uint32_t call, RaPhase phase,
                    const RaPiece *piece)
{
  const RaCallPlan *p = &memory->plan->calls[call];
  const RaShard *shard = &memory->calls[call].shard;
  uint64_t (*count)(const RaShard *, const RaPiece *) = ra_piece_n_params;
  RaPiece root = *piece;
  uint64_t bytes = 0, grads;

  if (ra_call_plan_zero_ranks(p) < 2 || p->zero < 2)
    return 0;
  root.n_layers = 0;
  /* Experts of one rank alone are never cut, and need no whole copy. */
  if (shard->zero_expert_ranks == 1 &&
      !ra_residency_is_fp32(memory->plan, call))
    count = n_params_beside_experts;
  if (ra_call_plan_n_shards(p) > 1)
    bytes += (2 * largest_layer(shard, piece, count) +
              ra_piece_n_params(shard, &root)) *
             ra_dtype_bytes((RaDtype)shard->dtype);
  if (phase == RA_PHASE_BACKWARD) {
    grads = MAX(ra_piece_n_trained(shard, &root),
                largest_layer(shard, piece, ra_piece_n_trained));
    bytes += grads * ra_dtype_bytes((RaDtype)p->grad_dtype);
  }
  return bytes;
}

uint64_t
ra_call_workspace_bytes(const RaMemory *memory, uint32_t call, uint32_t stage,
                        RaPhase phase, const RaBatch *batch)
{
  const RaCallMemory *c = &memory->calls[call];
  uint64_t most = 0;

  for (uint32_t u = stage; u < c->n_pieces; u += memory->plan->calls[call].pp)
    most =
        MAX(most, ra_workspace_bytes(&c->shard, &c->pieces[u], phase, batch) +
                      ra_call_whole_bytes(memory, call, phase, &c->pieces[u]));
  return most + c->stages[stage].fp8_bytes;
}

/* Follows the program of an interleaved stage. */
static uint64_t
interleaved_bytes(const RaMemory *memory, uint32_t call, uint32_t stage,
                  const RaBatch *batch)
{
  const RaCallMemory *c = &memory->calls[call];
  const RaCallPlan *p = &memory->plan->calls[call];
  uint32_t v = p->n_virtual;
  g_autofree RaSlot *slots = g_new(RaSlot, 2 * (gsize)v * p->n_micro_batches);
  g_autofree uint64_t *kept = g_new(uint64_t, v);
  guint n =
      ra_schedule_fill(p->schedule, p->pp, v, p->n_micro_batches, stage, slots);
  uint64_t held = 0, most = 0;

  for (uint32_t k = 0; k < v; k++)
    kept[k] =
        ra_activation_bytes(&c->shard, &c->pieces[k * p->pp + stage], batch);
  for (guint i = 0; i < n; i++) {
    if (slots[i].backward)
      held -= kept[slots[i].chunk];
    else
      held += kept[slots[i].chunk];
    most = MAX(most, held);
  }
  return most;
}

uint64_t
ra_call_activation_bytes(const RaMemory *memory, uint32_t call, uint32_t stage,
                         const RaBatch *batch)
{
  const RaCallMemory *c = &memory->calls[call];
  const RaCallPlan *p = &memory->plan->calls[call];
  uint64_t m = p->n_micro_batches;

  if (p->schedule == RA_SCHEDULE_INTERLEAVED)
    return interleaved_bytes(memory, call, stage, batch);
  return ra_activation_bytes(&c->shard, &c->pieces[stage], batch) *
         (p->schedule == RA_SCHEDULE_GPIPE ? m : MIN(p->pp - stage, m));
}
