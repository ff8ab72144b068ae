/* Expansion of a replica's micro-batches into a pipeline of tasks. */
#include "config.h"

#include "graph/expand/expand_zero.h"
#include "graph/expand/schedule.h"
#include "graph/input/lora.h"

/* Megatron-LM's distributed data parallel reduces gradients in buckets of at
 * least max(40e6, 1e6 * dp) elements (megatron/core/distributed,
 * DistributedDataParallelConfig and DistributedDataParallel). */
#define BUCKET_ELEMENTS 40e6
#define BUCKET_ELEMENTS_PER_REPLICA 1e6

RaShard
ra_call_shard(const RaPlan *plan, uint32_t call)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  const RaWorkloadModel *m = &plan->workload->models[c->model];
  RaAxisGeometry tp = ra_axis_geometry(p, plan->cluster, RA_AXIS_TP);
  RaAxisGeometry cp = ra_axis_geometry(p, plan->cluster, RA_AXIS_CP);
  RaAxisGeometry ep = ra_data_geometry(p, plan->cluster, RA_DATA_EP);
  RaAxisGeometry cut = ra_data_geometry(p, plan->cluster, RA_DATA_EXPERT_TP);

  return (RaShard){.model = ra_lora_call_model(plan->workload, call),
                   .tp = p->tp,
                   .tp_ranks_per_node = tp.ranks_per_node,
                   .tp_groups_per_node = tp.groups_per_node,
                   .cp = cp.ranks,
                   .cp_rings_per_node =
                       cp.ranks_per_node < cp.ranks ? cp.groups_per_node : 0,
                   .ep = ep.ranks,
                   .dispatch = (uint8_t)p->dispatch,
                   .ep_ranks_per_node = ep.ranks_per_node,
                   .ep_groups_per_node = ep.groups_per_node,
                   .expert_tp = cut.ranks,
                   .expert_tp_ranks_per_node = cut.ranks_per_node,
                   .expert_tp_groups_per_node = cut.groups_per_node,
                   .groups_experts = plan->cluster->device.groups_experts != 0,
                   .dtype = (uint8_t)ra_call_plan_dtype(p, m),
                   .kv_dtype = (uint8_t)(1 + ra_call_plan_kv_dtype(p, m)),
                   .by_block = p->dtype > 0,
                   .expert_dtype = (uint8_t)p->expert_dtype,
                   .fp8_gemms = p->fp8_gemms != FALSE,
                   .fp8_scaling = (uint8_t)p->fp8_scaling,
                   .bf16_first = p->bf16_first,
                   .bf16_last = p->bf16_last,
                   .recompute = (uint8_t)p->recompute,
                   .attention = (uint8_t)p->attention,
                   .cross_entropy = (uint8_t)p->cross_entropy,
                   .scatter_sends = p->scatter_sends != FALSE && p->pp > 1,
                   .sequence_parallel = p->sequence_parallel != FALSE,
                   .launch = (uint8_t)p->launch,
                   .sampling = c->kind == RA_CALL_GENERATE,
                   .second_stream = c->kind == RA_CALL_GENERATE &&
                                    plan->cluster->second_stream,
                   .loss = c->kind == RA_CALL_TRAIN,
                   .draft_tokens = (uint8_t)c->drafts.n_tokens,
                   .draft_layer = c->drafts.kind == RA_DRAFTS_LAYER,
                   .draft_accepted_frac = (float)c->drafts.accepted_frac,
                   .in_place_loss =
                       p->zero == 3 && plan->cluster->habits.in_place_loss};
}

/* Sets of replicas that share shards, and groups that reduce gradients. */
static void
set_shards(RaCallContext *x, const RaCluster *cluster)
{
  const RaCallPlan *p = x->plan;

  x->zero = ra_call_plan_zero_ranks(p) > 1 ||
                    (ra_call_plan_spreads_experts(p) && x->experts.ranks > 1)
                ? p->zero
                : 0;
  x->set_size = x->zero ? p->zero_group : p->dp;
  x->n_sets = p->dp / x->set_size;
  x->set = x->n_sets == 1
               ? x->dp
               : ra_replica_geometry(p, cluster, x->set_size, 1, p->cp);
  x->across = ra_replica_geometry(p, cluster, x->n_sets, x->set_size, 1);
  if (x->zero < 3)
    return;
  x->shard_record.zero_ranks = x->set.ranks;
  x->shard_record.zero_ranks_per_node = x->set.ranks_per_node;
  x->shard_record.zero_groups_per_node = x->set.groups_per_node;
  if (!ra_call_plan_spreads_experts(p))
    return;
  x->shard_record.zero_expert_ranks = x->experts.ranks;
  x->shard_record.zero_expert_ranks_per_node = x->experts.ranks_per_node;
  x->shard_record.zero_expert_groups_per_node = x->experts.groups_per_node;
}

static uint32_t
count_buckets(const RaCallContext *x, const RaPiece *piece)
{
  double bucket =
      MAX(BUCKET_ELEMENTS, BUCKET_ELEMENTS_PER_REPLICA * x->dp.ranks);
  double n;

  if (x->zero == 3)
    return CLAMP(piece->n_layers, 1u, RA_ZERO_MAX_BUCKETS);
  if (!x->plan->overlap_grad_reduce || x->dp.ranks == 1)
    return 1; /* nothing but replicas of experts within a tp group, perhaps */
  n = (double)ra_piece_n_trained(&x->shard_record, piece) / bucket;
  return (uint32_t)CLAMP(n, 1.0, (double)MAX(piece->n_layers, 1u));
}

void
ra_call_context_fill(RaCallContext *x, const RaPlan *plan, uint32_t call)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];

  x->call = call;
  x->c = c;
  x->plan = p;
  if (c->model == RA_NONE)
    return;
  x->model = plan->workload->models[c->model].model;
  x->dtype = ra_call_plan_dtype(p, &plan->workload->models[c->model]);
  x->shard_record = ra_call_shard(plan, call);
  x->dp = ra_data_geometry(p, plan->cluster, RA_DATA_ALL);
  x->experts = ra_data_geometry(p, plan->cluster, RA_DATA_EXPERTS);
  set_shards(x, plan->cluster);
  x->n_pieces = p->pp * p->n_virtual;
}

RaCallContext *
ra_call_context_new(RaBuilder *builder, uint32_t call)
{
  const RaPlan *plan = ra_builder_augmented(builder)->plan;
  RaArena *arena = ra_builder_arena(builder);
  RaCallContext *x = ra_arena_alloc(arena, 1, sizeof *x);
  const RaCallPlan *p = &plan->calls[call];

  x->builder = builder;
  ra_call_context_fill(x, plan, call);
  if (x->c->model == RA_NONE)
    return x;
  x->shard = ra_builder_shard(builder, &x->shard_record);
  x->pieces = ra_arena_alloc(arena, x->n_pieces, sizeof *x->pieces);
  for (uint32_t u = 0; u < x->n_pieces; u++)
    x->pieces[u] = (RaPiece){.first_layer = ra_call_plan_first_layer(p, u),
                             .n_layers = p->stage_layers[u],
                             .has_embedding = u == 0,
                             .has_head = u == x->n_pieces - 1};
  x->n_buckets = ra_arena_alloc(arena, x->n_pieces, sizeof *x->n_buckets);
  for (uint32_t u = 0; u < x->n_pieces; u++)
    x->n_buckets[u] = count_buckets(x, &x->pieces[u]);
  x->dynamic = ra_arena_alloc(arena, p->dp, sizeof *x->dynamic);
  return x;
}

uint32_t
ra_piece_n_buckets(const RaCallContext *x, uint32_t piece)
{
  return x->n_buckets ? x->n_buckets[piece]
                      : count_buckets(x, &x->pieces[piece]);
}

RaPiece
ra_piece_bucket(const RaCallContext *x, uint32_t piece, uint32_t bucket)
{
  RaPiece p = x->pieces[piece];
  uint32_t n = ra_piece_n_buckets(x, piece), layers = p.n_layers;
  uint32_t begin = (uint32_t)((uint64_t)(n - 1 - bucket) * layers / n);
  uint32_t end = (uint32_t)((uint64_t)(n - bucket) * layers / n);

  return (RaPiece){.first_layer = p.first_layer + begin,
                   .n_layers = end - begin,
                   .has_embedding = p.has_embedding && bucket == n - 1,
                   .has_head = p.has_head && bucket == 0};
}

uint64_t
ra_piece_bucket_shared(const RaCallContext *x, uint32_t piece, uint32_t bucket)
{
  const RaModel *m = x->model;
  const RaPiece *p = &x->pieces[piece];

  if (!m->tied_embeddings || m->head != RA_HEAD_LM || !p->has_embedding ||
      !p->has_head || bucket > 0 || m->lora_rank > 0 ||
      ra_piece_n_buckets(x, piece) == 1)
    return 0;
  return ((uint64_t)m->vocab + x->plan->tp - 1) / x->plan->tp * m->hidden;
}

uint32_t
ra_replica_weight(const RaCallContext *x, uint32_t dp)
{
  return ra_lane_map_weight(ra_builder_lanes(x->builder), x->call, dp);
}

gboolean
ra_send_crosses(const RaCallPlan *plan, const RaCluster *cluster,
                uint32_t replica, uint32_t from_stage, uint32_t to_stage)
{
  uint32_t node[2], stage[2] = {from_stage, to_stage};

  for (guint i = 0; i < 2; i++) {
    RaCoord coord = {.at = {[RA_AXIS_DP] = replica, [RA_AXIS_PP] = stage[i]}};
    node[i] =
        ra_mesh_gpu(&plan->mesh, cluster, ra_call_plan_rank(plan, &coord)) /
        cluster->gpus_per_node;
  }
  return node[0] != node[1];
}

RaOp
ra_send_op(const RaCallContext *x, uint32_t replica, uint32_t from_stage,
           uint32_t to_stage, uint64_t bytes)
{
  const RaCluster *cluster = ra_builder_augmented(x->builder)->plan->cluster;
  gboolean crosses =
      ra_send_crosses(x->plan, cluster, replica, from_stage, to_stage);

  return (RaOp){
      .kind = RA_OP_SEND,
      .dtype = (uint8_t)x->dtype,
      .count = 1,
      .dim = {bytes, (uint64_t)crosses, x->shard_record.tp_ranks_per_node}};
}

/* One replica's pipeline while its tasks are appended. */
typedef struct {
  RaCallContext *x;
  const RaPipelineSpec *spec;
  RaPipeline *pipeline;
  RaSlot *slots; /* (pp, n_slots) */
  guint n_slots; /* of a stage */
  uint32_t max_buckets;
  uint32_t *unit;         /* (pp) groups of the stages */
  RaTaskId *forward;      /* (n_pieces x m) first task of each forward */
  RaTaskId *forward_end;  /* (n_pieces x m) last */
  RaTaskId *backward;     /* (n_pieces x m) first task of each backward */
  RaTaskId *backward_end; /* (n_pieces x m) last */
} RaPipelineState;

static uint32_t
piece_of(const RaPipelineState *s, uint32_t stage, const RaSlot *slot)
{
  return slot->chunk * s->x->plan->pp + stage;
}

static RaTaskSpec
compute_spec(const RaPipelineState *s, uint32_t stage, uint32_t piece,
             uint32_t micro_batch)
{
  RaTaskSpec t = RA_TASK_SPEC_INIT;

  t.stream = RA_STREAM_COMPUTE;
  t.stage = (uint16_t)piece;
  t.mini_batch = s->spec->mini_batch;
  t.micro_batch = (uint16_t)micro_batch;
  t.replica = s->spec->replica;
  t.node = s->spec->node;
  t.group = s->unit[stage];
  return t;
}

static RaTaskId
add_compute(RaPipelineState *s, RaTaskSpec *t, RaPhase phase,
            const RaPiece *piece)
{
  RaWork work = {.shard = s->x->shard,
                 .phase = (uint8_t)phase,
                 .piece = *piece,
                 .batch = s->spec->batches[t->micro_batch]};

  t->kind = phase == RA_PHASE_BACKWARD ? RA_TASK_BACKWARD : RA_TASK_FORWARD;
  t->work = ra_builder_work(s->x->builder, &work);
  return ra_builder_task(s->x->builder, t);
}

/* Remembers a task where zero will hang its collectives on, or where replicas
 * that share experts meet. */
static void
add_step(RaPipelineState *s, uint32_t stage, RaTaskId id, const RaTaskSpec *t)
{
  RaPipelineStep step = {id, t->stage, t->micro_batch, t->bucket,
                         t->kind == RA_TASK_BACKWARD};

  if (s->pipeline->steps)
    g_array_append_val(s->pipeline->steps[stage], step);
}

static void
add_backward(RaPipelineState *s, RaTaskSpec *t, uint32_t stage, uint32_t piece)
{
  uint32_t m = s->spec->m, i = piece * m + t->micro_batch;
  gboolean last = t->micro_batch == m - 1;
  gboolean split = last || s->x->zero >= 2;
  uint32_t n = split ? ra_piece_n_buckets(s->x, piece) : 1;

  for (uint32_t k = 0; k < n; k++) {
    RaPiece part =
        split ? ra_piece_bucket(s->x, piece, k) : s->x->pieces[piece];
    RaTaskId id;
    t->bucket = (uint16_t)k;
    id = add_compute(s, t, RA_PHASE_BACKWARD, &part);
    add_step(s, stage, id, t);
    if (k == 0)
      s->backward[i] = id;
    if (last)
      s->pipeline->bucket[piece * s->max_buckets + k] = id;
    s->backward_end[i] = id;
  }
}

/* With zero 3 bucket by bucket, which are numbered from the last layers on. */
static void
add_forward(RaPipelineState *s, RaTaskSpec *t, uint32_t stage, uint32_t piece)
{
  uint32_t i = piece * s->spec->m + t->micro_batch;
  uint32_t n = s->x->zero == 3 ? ra_piece_n_buckets(s->x, piece) : 1;

  for (uint32_t k = n; k-- > 0;) {
    RaPiece part =
        n > 1 ? ra_piece_bucket(s->x, piece, k) : s->x->pieces[piece];
    RaTaskId id;
    t->bucket = (uint16_t)k;
    id = add_compute(s, t, RA_PHASE_FORWARD, &part);
    add_step(s, stage, id, t);
    if (k == n - 1)
      s->forward[i] = id;
    s->forward_end[i] = id;
  }
}

/* The compute queue of one stage, in the order of its schedule. */
static void
add_stage(RaPipelineState *s, uint32_t stage)
{
  for (guint i = 0; i < s->n_slots; i++) {
    const RaSlot *slot = &s->slots[stage * s->n_slots + i];
    uint32_t piece = piece_of(s, stage, slot);
    uint32_t cell = piece * s->spec->m + slot->micro_batch;
    RaTaskSpec t = compute_spec(s, stage, piece, slot->micro_batch);
    if (slot->backward)
      add_backward(s, &t, stage, piece);
    else
      add_forward(s, &t, stage, piece);
    if (i == 0)
      s->pipeline->first[stage] = s->forward[cell];
    s->pipeline->last[stage] =
        slot->backward ? s->backward_end[cell] : s->forward_end[cell];
  }
}

static uint64_t
message_bytes(const RaPipelineState *s, uint32_t micro_batch)
{
  const RaCallContext *x = s->x;
  uint64_t tokens = s->spec->batches[micro_batch].q_tokens;
  uint64_t bytes = (tokens + x->plan->cp - 1) / x->plan->cp *
                   ra_model_stream_width(x->model) *
                   ra_dtype_bytes(ra_activation_dtype(x->dtype));
  return x->plan->sequence_parallel || x->plan->scatter_sends
             ? (bytes + x->plan->tp - 1) / x->plan->tp
             : bytes;
}

/* The message that follows one slot, if a stage comes after it. */
static void
add_send(RaPipelineState *s, uint32_t stage, const RaSlot *slot)
{
  RaCallContext *x = s->x;
  uint32_t pp = x->plan->pp, piece = piece_of(s, stage, slot);
  uint32_t to = slot->backward ? piece - 1 : piece + 1;
  uint32_t m = s->spec->m, mb = slot->micro_batch;
  RaLaneMap *lanes = ra_builder_lanes(x->builder);
  RaTaskSpec t = compute_spec(s, stage, piece, mb);
  RaWork work = {.shard = RA_NONE};
  RaTaskId id;

  if (slot->backward ? piece == 0 : piece == x->n_pieces - 1)
    return;
  work.op =
      ra_send_op(x, s->spec->replica, stage, to % pp, message_bytes(s, mb));
  t.kind = RA_TASK_SEND;
  t.stream = slot->backward ? RA_STREAM_PP_SEND_BACK : RA_STREAM_PP_SEND;
  t.work = ra_builder_work(x->builder, &work);
  t.sender = t.group;
  t.receiver = s->unit[to % pp];
  t.group = ra_lane_map_pair(lanes, x->call, s->spec->replica, stage, to % pp);
  id = ra_builder_task(x->builder, &t);
  if (slot->backward) {
    ra_builder_edge(x->builder, s->backward_end[piece * m + mb], id);
    ra_builder_edge(x->builder, id, s->backward[to * m + mb]);
  } else {
    ra_builder_edge(x->builder, s->forward_end[piece * m + mb], id);
    ra_builder_edge(x->builder, id, s->forward[to * m + mb]);
  }
}

static void
fill_slots(RaPipelineState *s)
{
  const RaCallPlan *p = s->x->plan;
  uint32_t m = s->spec->m;

  s->slots = g_new(RaSlot, (gsize)p->pp * 2 * p->n_virtual * m);
  s->n_slots = s->spec->backward ? 2 * p->n_virtual * m : m;
  for (uint32_t stage = 0; stage < p->pp; stage++) {
    RaSlot *out = s->slots + (gsize)stage * s->n_slots;
    if (s->spec->backward)
      ra_schedule_fill(p->schedule, p->pp, p->n_virtual, m, stage, out);
    else
      ra_schedule_fill_forward(m, out);
  }
}

RaPipeline *
ra_expand_pipeline(RaCallContext *x, const RaPipelineSpec *spec)
{
  RaPipelineState s = {.x = x, .spec = spec, .max_buckets = 1};
  gsize n_cells = (gsize)x->n_pieces * spec->m;
  gboolean steps = x->zero >= 2 || ra_call_plan_ep_replicas(x->plan) > 1;

  s.pipeline = g_new0(RaPipeline, 1);
  for (uint32_t u = 0; spec->backward && u < x->n_pieces; u++)
    s.max_buckets = MAX(s.max_buckets, ra_piece_n_buckets(x, u));
  s.pipeline->first = g_new(RaTaskId, x->plan->pp);
  s.pipeline->last = g_new(RaTaskId, x->plan->pp);
  s.pipeline->bucket = g_new(RaTaskId, (gsize)x->n_pieces * s.max_buckets);
  s.pipeline->max_buckets = s.max_buckets;
  s.pipeline->pp = x->plan->pp;
  if (steps)
    s.pipeline->steps = g_new(GArray *, x->plan->pp);
  for (uint32_t stage = 0; steps && stage < x->plan->pp; stage++)
    s.pipeline->steps[stage] =
        g_array_new(FALSE, FALSE, sizeof(RaPipelineStep));
  s.forward = g_new(RaTaskId, n_cells);
  s.forward_end = g_new(RaTaskId, n_cells);
  s.backward = g_new(RaTaskId, n_cells);
  s.backward_end = g_new(RaTaskId, n_cells);
  s.unit = g_new(uint32_t, x->plan->pp);
  for (uint32_t stage = 0; stage < x->plan->pp; stage++)
    s.unit[stage] = ra_lane_map_unit(ra_builder_lanes(x->builder), x->call,
                                     spec->replica, stage);
  fill_slots(&s);

  for (uint32_t stage = 0; stage < x->plan->pp; stage++)
    add_stage(&s, stage);
  for (uint32_t stage = 0; stage < x->plan->pp; stage++)
    for (guint i = 0; i < s.n_slots; i++)
      add_send(&s, stage, &s.slots[stage * s.n_slots + i]);
  g_free(s.unit);
  g_free(s.slots);
  g_free(s.forward);
  g_free(s.forward_end);
  g_free(s.backward);
  g_free(s.backward_end);
  return s.pipeline;
}

void
ra_pipeline_free(RaPipeline *pipeline)
{
  if (!pipeline)
    return;
  g_free(pipeline->first);
  g_free(pipeline->last);
  for (uint32_t stage = 0; pipeline->steps && stage < pipeline->pp; stage++)
    g_array_unref(pipeline->steps[stage]);
  g_free(pipeline->steps);
  g_free(pipeline->bucket);
  g_free(pipeline);
}
