/* Gathers and reductions of sharded parameters and gradients. */
#include "config.h"

#include "graph/expand/expand_zero.h"

RaOp
ra_zero_op(const RaCallContext *x, RaOpKind kind, RaDtype dtype,
           uint64_t n_params)
{
  return (RaOp){.kind = (uint8_t)kind,
                .dtype = (uint8_t)dtype,
                .count = 1,
                .dim = {n_params * ra_dtype_bytes(dtype), x->set.ranks,
                        x->set.ranks_per_node, x->set.groups_per_node}};
}

uint64_t
ra_zero_n_fp8_experts(const RaCallContext *x, const RaPiece *piece)
{
  RaPiece fp8 = ra_piece_fp8_layers(&x->shard_record, piece);

  return ra_piece_n_trained_experts(&x->shard_record, &fp8);
}

RaOp
ra_zero_gather_op(const RaCallContext *x, const RaPiece *pieces, uint32_t stage,
                  uint64_t n_params)
{
  RaOp op = ra_zero_op(x, RA_OP_ALL_GATHER, x->dtype, n_params);
  uint64_t n_fp8 = 0, saved = ra_dtype_bytes(x->dtype) - 1;

  if (!x->plan->fp8_params || x->shard_record.model->lora_rank > 0)
    return op;
  for (uint32_t u = stage; u < x->n_pieces; u += x->plan->pp) {
    n_fp8 += ra_piece_n_fp8(&x->shard_record, &pieces[u]);
    if (ra_call_plan_spreads_experts(x->plan))
      n_fp8 -= ra_zero_n_fp8_experts(x, &pieces[u]);
  }
  op.dim[0] -= MIN(n_fp8, n_params) * saved;
  return op;
}

uint32_t
ra_zero_lanes(const RaCallContext *x, uint32_t set, uint32_t stage)
{
  RaLaneMap *lanes = ra_builder_lanes(x->builder);

  return x->n_sets == 1 ? ra_lane_map_stage(lanes, x->call, stage)
                        : ra_lane_map_shards(lanes, x->call, set * x->set_size,
                                             x->set_size, stage);
}

gboolean
ra_zero_has(const RaCallContext *x, uint32_t set)
{
  for (uint32_t d = set * x->set_size; d < (set + 1) * x->set_size; d++)
    if (ra_replica_weight(x, d) > 0)
      return TRUE;
  return FALSE;
}

static uint32_t
op_work(const RaCallContext *x, const RaOp *op)
{
  RaWork work = {.shard = RA_NONE, .op = *op};

  return ra_builder_work(x->builder, &work);
}

/* The task of one set after @spec, on the dp stream. */
static RaTaskSpec
set_spec(const RaCallContext *x, const RaTaskSpec *spec, uint32_t set)
{
  RaTaskSpec t = *spec;

  t.stream = RA_STREAM_DP;
  t.replica = x->n_sets == 1 ? RA_NONE : set * x->set_size;
  t.group = ra_zero_lanes(x, set, spec->stage % x->plan->pp);
  return t;
}

RaTaskId
ra_zero_experts_task(const RaCallContext *x, RaTaskSpec spec, uint32_t bucket,
                     RaOpKind kind, RaDtype dtype, uint64_t n_params)
{
  RaOp op = {.kind = (uint8_t)kind,
             .dtype = (uint8_t)dtype,
             .count = 1,
             .dim = {n_params * ra_dtype_bytes(dtype), x->experts.ranks,
                     x->experts.ranks_per_node, x->experts.groups_per_node}};

  if (n_params == 0 || x->experts.ranks == 1)
    return RA_NONE;
  spec.bucket = (uint16_t)bucket;
  spec.work = op_work(x, &op);
  return ra_builder_task(x->builder, &spec);
}

/* The sum of all sets' shards, when each has its own; its bucket counts on, to
 * set its name apart. */
static RaTaskId
reduce_across(RaCallContext *x, const RaTaskSpec *spec, uint64_t n_params)
{
  RaDtype dtype = (RaDtype)x->plan->grad_dtype;
  RaTaskSpec t = *spec;
  uint64_t n = (n_params + x->set.ranks - 1) / x->set.ranks;
  RaOp op = {.kind = RA_OP_ALL_REDUCE,
             .dtype = (uint8_t)dtype,
             .count = 1,
             .dim = {n * ra_dtype_bytes(dtype), x->across.ranks,
                     x->across.ranks_per_node, x->across.groups_per_node}};

  t.stream = RA_STREAM_DP;
  t.bucket = (uint16_t)(spec->bucket + ra_piece_n_buckets(x, spec->stage));
  t.group = ra_lane_map_stage(ra_builder_lanes(x->builder), x->call,
                              spec->stage % x->plan->pp);
  t.work = op_work(x, &op);
  return ra_builder_task(x->builder, &t);
}

void
ra_zero_reduce(RaCallContext *x, const RaTaskSpec *spec, uint64_t n_params,
               const RaTaskId *ready, gboolean across, RaTaskId *out_ends)
{
  RaOp op = ra_zero_op(x, x->zero ? RA_OP_REDUCE_SCATTER : RA_OP_ALL_REDUCE,
                       (RaDtype)x->plan->grad_dtype, n_params);
  uint32_t work = op_work(x, &op);
  RaTaskId all = RA_NONE;

  for (uint32_t q = 0; q < x->n_sets; q++) {
    RaTaskSpec t = set_spec(x, spec, q);
    RaTaskId id;
    if (out_ends)
      out_ends[q] = RA_NONE;
    if (!ra_zero_has(x, q))
      continue;
    t.work = work;
    id = ra_builder_task(x->builder, &t);
    for (uint32_t d = q * x->set_size; d < (q + 1) * x->set_size; d++)
      ra_builder_edge(x->builder, ready[d], id);
    if (out_ends)
      out_ends[q] = id;
  }
  if (x->n_sets > 1 && across)
    all = reduce_across(x, spec, n_params);
  for (uint32_t q = 0; q < x->n_sets && out_ends && all != RA_NONE; q++)
    out_ends[q] = all;
}

static RaTaskSpec
pass_spec(const RaZeroPass *pass, RaTaskKind kind, const RaPipelineStep *step)
{
  RaTaskSpec t = RA_TASK_SPEC_INIT;

  t.kind = kind;
  t.stage = step->piece;
  t.mini_batch = pass->mini_batch;
  t.micro_batch = step->micro_batch;
  t.bucket = step->bucket;
  t.node = pass->node;
  return t;
}

static RaGather
add_gather(RaZeroPass *pass, const RaPipelineStep *step, uint32_t set)
{
  RaCallContext *x = pass->x;
  RaTaskSpec spec = pass_spec(pass, RA_TASK_PARAM_GATHER, step);
  RaTaskSpec t = set_spec(x, &spec, set);
  RaPiece part = ra_piece_bucket(x, step->piece, step->bucket);
  RaOp op = ra_op_gather(&x->shard_record, &part);
  RaOp experts = ra_op_gather_experts(&x->shard_record, &part);
  uint32_t n = ra_piece_n_buckets(x, step->piece);
  RaGather gather;

  t.work = op_work(x, &op);
  if (step->backward)
    t.bucket = (uint16_t)(t.bucket + n);
  gather.first = gather.last = ra_builder_task(x->builder, &t);
  if (experts.dim[0] > 0 && experts.dim[1] > 1) {
    t.work = op_work(x, &experts);
    t.bucket = (uint16_t)(t.bucket + 2 * n);
    gather.last = ra_builder_task(x->builder, &t);
  }
  return gather;
}

/* Every schedule begins with the first micro-batch's forward through a
 * stage's first piece, and that with its last bucket. */
void
ra_zero_begin(RaZeroPass *pass, RaCallContext *x, uint32_t node,
              uint16_t mini_batch, const RaTaskId *gates, guint n_gates)
{
  *pass = (RaZeroPass){x, node, mini_batch, NULL};
  if (x->zero < 3)
    return;
  pass->first = g_new(RaGather, (gsize)x->plan->pp * x->n_sets);
  for (uint32_t s = 0; s < x->plan->pp; s++)
    for (uint32_t q = 0; q < x->n_sets; q++) {
      RaPipelineStep step = {.piece = (uint16_t)s,
                             .bucket =
                                 (uint16_t)(ra_piece_n_buckets(x, s) - 1)};
      RaGather id = {RA_NONE, RA_NONE};
      if (ra_zero_has(x, q))
        id = add_gather(pass, &step, q);
      pass->first[s * x->n_sets + q] = id;
      if (id.first == RA_NONE)
        continue;
      ra_builder_after(x->builder, ra_zero_lanes(x, q, s), RA_STREAM_COMPUTE,
                       id.first);
      for (guint i = 0; i < n_gates; i++)
        ra_builder_edge(x->builder, gates[i], id.first);
    }
}

/* Replica 0 is never folded into another. */
static const RaPipelineStep *
step_at(RaPipeline *const *pipelines, uint32_t stage, guint i)
{
  return &g_array_index(pipelines[0]->steps[stage], RaPipelineStep, i);
}

/* Step @i of the replica; RA_NONE: it is folded into another. */
static RaTaskId
task_at(RaPipeline *const *pipelines, uint32_t replica, uint32_t stage, guint i)
{
  return pipelines[replica] ? g_array_index(pipelines[replica]->steps[stage],
                                            RaPipelineStep, i)
                                  .task
                            : RA_NONE;
}

/* The gathers of the stage's step @i: before it, after the step before the
 * last one; after the last one if gathers take turns with a forward. */
static void
gather_step(RaZeroPass *pass, RaPipeline *const *pipelines, uint32_t stage,
            guint i)
{
  RaCallContext *x = pass->x;
  gboolean in_turn = x->plan->gathers == RA_GATHERS_IN_TURN &&
                     !step_at(pipelines, stage, i)->backward;
  guint back = in_turn ? 1 : 2;

  for (uint32_t q = 0; q < x->n_sets; q++) {
    RaGather id = pass->first[stage * x->n_sets + q];
    if (id.first == RA_NONE)
      continue;
    if (i > 0)
      id = add_gather(pass, step_at(pipelines, stage, i), q);
    for (uint32_t d = q * x->set_size; d < (q + 1) * x->set_size; d++) {
      if (i >= back)
        ra_builder_edge(x->builder, task_at(pipelines, d, stage, i - back),
                        id.first);
      ra_builder_edge(x->builder, id.last, task_at(pipelines, d, stage, i));
    }
  }
}

/* The reduction of experts' gradients behind the dense one, of the only set. */
static void
add_experts_reduce(RaCallContext *x, const RaTaskSpec *spec, uint64_t n_params,
                   RaTaskId *ends)
{
  RaTaskSpec t = set_spec(x, spec, 0);
  RaTaskId id = ra_zero_experts_task(
      x, t, t.bucket + ra_piece_n_buckets(x, spec->stage), RA_OP_REDUCE_SCATTER,
      (RaDtype)x->plan->grad_dtype, n_params);

  if (id != RA_NONE)
    ends[0] = id;
}

/* The reductions after step @i, if it made gradients; without overlap the
 * next step waits for them. */
static void
reduce_step(RaZeroPass *pass, RaPipeline *const *pipelines, uint32_t stage,
            guint i, guint n)
{
  RaCallContext *x = pass->x;
  const RaCallPlan *p = x->plan;
  const RaPipelineStep *step = step_at(pipelines, stage, i);
  RaTaskSpec spec = pass_spec(pass, RA_TASK_GRAD_REDUCE, step);
  RaPiece part = ra_piece_bucket(x, step->piece, step->bucket);
  uint64_t n_experts = ra_call_plan_spreads_experts(p)
                           ? ra_piece_n_trained_experts(&x->shard_record, &part)
                           : 0;
  uint64_t n_params = ra_piece_n_trained(&x->shard_record, &part) - n_experts -
                      ra_piece_bucket_shared(x, step->piece, step->bucket);
  g_autofree RaTaskId *ready = NULL, *ends = NULL;

  if (!step->backward)
    return;
  ready = g_new(RaTaskId, p->dp);
  ends = g_new(RaTaskId, x->n_sets);
  for (uint32_t d = 0; d < p->dp; d++)
    ready[d] = task_at(pipelines, d, stage, i);
  ra_zero_reduce(x, &spec, n_params, ready,
                 step->micro_batch == p->n_micro_batches - 1, ends);
  add_experts_reduce(x, &spec, n_experts, ends);
  for (uint32_t d = 0; d < p->dp && !p->overlap_grad_reduce && i + 1 < n; d++)
    ra_builder_edge(x->builder, ends[d / x->set_size],
                    task_at(pipelines, d, stage, i + 1));
}

void
ra_zero_end(RaZeroPass *pass, RaPipeline *const *pipelines)
{
  RaCallContext *x = pass->x;

  for (uint32_t s = 0; s < x->plan->pp && x->zero >= 2; s++) {
    guint n = pipelines[0]->steps[s]->len;

    /* A gather goes ahead of the reduction before it: it is waited for. */
    for (guint i = 0; i < n; i++) {
      if (x->zero == 3)
        gather_step(pass, pipelines, s, i);
      if (i > 0)
        reduce_step(pass, pipelines, s, i - 1, n);
    }
    reduce_step(pass, pipelines, s, n - 1, n);
  }
  g_clear_pointer(&pass->first, g_free);
}
