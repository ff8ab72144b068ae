/* Expansion of a train call: mini-batches, reductions, optimizer. */
#include "config.h"

#include "graph/expand/expand_experts.h"
#include "graph/expand/expand_zero.h"

/* One mini-batch in the making. */
typedef struct {
  RaCallContext *x;
  const RaNodeEnds *ends;
  uint16_t mini_batch;    /* epoch x mini-batches + mini-batch */
  RaPipeline **pipelines; /* (dp) NULL: folded into another */
  RaTaskId *gathers; /* (pp x n_sets) parameter gathers of the last mini-batch,
                        RA_NONE: none */
  RaZeroPass zero;
} RaMiniBatch;

static uint64_t
ceil_div(uint64_t a, uint64_t b)
{
  return (a + b - 1) / b;
}

static RaTaskSpec
dp_spec(const RaMiniBatch *b, RaTaskKind kind, uint32_t stage)
{
  RaTaskSpec t = RA_TASK_SPEC_INIT;

  t.kind = kind;
  t.stream = RA_STREAM_DP;
  t.stage = (uint16_t)stage;
  t.mini_batch = b->mini_batch;
  t.node = b->ends->node;
  t.group = ra_lane_map_stage(ra_builder_lanes(b->x->builder), b->x->call,
                              stage % b->x->plan->pp);
  return t;
}

static uint32_t
op_work(const RaCallContext *x, RaOpKind kind, RaDtype dtype, uint64_t d0,
        uint64_t d1, uint64_t d2, uint64_t d3)
{
  RaWork work = {.shard = RA_NONE,
                 .op = {.kind = (uint8_t)kind,
                        .dtype = (uint8_t)dtype,
                        .count = 1,
                        .dim = {d0, d1, d2, d3}}};
  return ra_builder_work(x->builder, &work);
}

/* Parameters of a GPU by the ranks that have them too. */
typedef struct {
  uint64_t dense;   /* all dp x cp ranks */
  uint64_t experts; /* those of RA_DATA_EXPERTS; 0: experts are not spread */
} RaCounts;

static void
add_counts(const RaCallContext *x, const RaPiece *piece, RaCounts *counts)
{
  uint64_t n = ra_piece_n_trained(&x->shard_record, piece);
  uint64_t experts = ra_call_plan_spreads_experts(x->plan)
                         ? ra_piece_n_trained_experts(&x->shard_record, piece)
                         : 0;

  counts->dense += n - experts;
  counts->experts += experts;
}

static RaOpKind
reduce_kind(const RaCallContext *x)
{
  return x->zero ? RA_OP_REDUCE_SCATTER : RA_OP_ALL_REDUCE;
}

/* The sums of gradients that all replicas have once @ready have ended; @n_names
 * is the number of names of dense ones.  In a single replica only experts that
 * its tp ranks hold in common are summed. */
static void
add_reduce(RaCallContext *x, const RaTaskSpec *t, const RaCounts *counts,
           uint32_t n_names, const RaTaskId *ready)
{
  RaTaskId id;

  if (x->dp.ranks > 1)
    ra_zero_reduce(x, t, counts->dense, ready, TRUE, NULL);
  id = ra_zero_experts_task(x, *t, n_names + t->bucket, reduce_kind(x),
                            (RaDtype)x->plan->grad_dtype, counts->experts);
  if (x->dp.ranks == 1 && id != RA_NONE)
    ra_builder_edge(x->builder, ready[0], id);
}

/* Each bucket is reduced once all replicas have its gradients. */
static void
add_bucket_reduces(RaMiniBatch *b, uint32_t piece)
{
  RaCallContext *x = b->x;
  uint32_t n = ra_piece_n_buckets(x, piece);
  g_autofree RaTaskId *ready = g_new(RaTaskId, x->plan->dp);

  for (uint32_t k = 0; k < n; k++) {
    RaTaskSpec t = dp_spec(b, RA_TASK_GRAD_REDUCE, piece);
    RaPiece part = ra_piece_bucket(x, piece, k);
    RaCounts counts = {0};
    add_counts(x, &part, &counts);
    counts.dense -= ra_piece_bucket_shared(x, piece, k);
    t.bucket = (uint16_t)k;
    for (uint32_t d = 0; d < x->plan->dp; d++) {
      const RaPipeline *p = b->pipelines[d];
      ready[d] = p ? p->bucket[piece * p->max_buckets + k] : RA_NONE;
    }
    add_reduce(x, &t, &counts, n, ready);
  }
}

static RaCounts
stage_n_params(const RaCallContext *x, uint32_t stage)
{
  RaCounts counts = {0};
  for (uint32_t u = stage; u < x->n_pieces; u += x->plan->pp)
    add_counts(x, &x->pieces[u], &counts);
  return counts;
}

/* Elements of the gather of @n updated parameters of experts of stage @stage:
 * bytes, if those in fp8 are stored so. */
static uint64_t
n_gathered_experts(const RaCallContext *x, uint32_t stage, uint64_t n)
{
  uint64_t n_fp8 = 0;

  if (!x->plan->fp8_params)
    return n;
  for (uint32_t u = stage; u < x->n_pieces; u += x->plan->pp)
    n_fp8 += ra_zero_n_fp8_experts(x, &x->pieces[u]);
  return n_fp8 + (n - MIN(n_fp8, n)) * ra_dtype_bytes(x->dtype);
}

/* Without overlap a stage reduces all it has once its last backward is done. */
static void
add_stage_reduce(RaMiniBatch *b, uint32_t stage)
{
  RaCallContext *x = b->x;
  RaTaskSpec t = dp_spec(b, RA_TASK_GRAD_REDUCE, stage);
  RaCounts counts = stage_n_params(x, stage);
  g_autofree RaTaskId *ready = g_new(RaTaskId, x->plan->dp);

  for (uint32_t d = 0; d < x->plan->dp; d++)
    ready[d] = b->pipelines[d] ? b->pipelines[d]->last[stage] : RA_NONE;
  add_reduce(x, &t, &counts, 1, ready);
}

static void
add_reduces(RaMiniBatch *b)
{
  const RaCallPlan *p = b->x->plan;

  if ((b->x->dp.ranks == 1 && b->x->experts.ranks == 1) || b->x->zero >= 2)
    return;
  for (uint32_t stage = 0; stage < p->pp; stage++)
    if (p->overlap_grad_reduce)
      for (uint32_t v = p->n_virtual; v-- > 0;) /* last chunk is done first */
        add_bucket_reduces(b, v * p->pp + stage);
    else
      add_stage_reduce(b, stage);
}

/* A tied table is on the first and the last stage, and each copy has a part of
 * its gradient.  Megatron-LM sums the two after the reductions over dp
 * (megatron/core/distributed/finalize_model_grads.py); shards by shards where
 * zero keeps gradients so. */
static void
add_embedding_reduces(RaMiniBatch *b)
{
  RaCallContext *x = b->x;
  const RaCallPlan *p = x->plan;
  const RaPlan *plan = ra_builder_augmented(x->builder)->plan;
  RaAxisGeometry ends = ra_ends_geometry(p, plan->cluster);
  uint32_t n_shards = x->zero >= 2 ? x->set.ranks : 1;
  uint64_t rows = (x->model->vocab + p->tp - 1) / p->tp;
  uint64_t n = (rows * x->model->hidden + n_shards - 1) / n_shards;
  RaDtype dtype = (RaDtype)p->grad_dtype;

  if (!x->model->tied_embeddings || x->model->head != RA_HEAD_LM ||
      p->pp == 1 || x->model->lora_rank > 0)
    return;
  for (uint32_t d = 0; d < p->dp; d++) {
    RaTaskSpec t = dp_spec(b, RA_TASK_EMBEDDING_REDUCE, 0);
    RaTaskId id;
    if (ra_replica_weight(x, d) == 0)
      continue;
    t.replica = d;
    t.group = ra_lane_map_pair(ra_builder_lanes(x->builder), x->call, d, 0,
                               p->pp - 1);
    t.work = op_work(x, RA_OP_ALL_REDUCE, dtype, n * ra_dtype_bytes(dtype),
                     ends.ranks, ends.ranks_per_node, ends.groups_per_node);
    id = ra_builder_task(x->builder, &t);
    for (uint32_t s = 0; s < p->pp && x->dp.ranks == 1; s += p->pp - 1)
      ra_builder_edge(x->builder, b->pipelines[d]->last[s], id);
  }
}

/* The gradient norm needs every gradient, so all stages meet here. */
static RaTaskId
add_clip(RaMiniBatch *b)
{
  RaCallContext *x = b->x;
  const RaCallPlan *p = x->plan;
  uint32_t n = ra_mesh_n_gpus(&p->mesh);
  RaTaskSpec t = dp_spec(b, RA_TASK_CLIP, 0);
  RaTaskId id;

  t.group = ra_lane_map_mesh(ra_builder_lanes(x->builder), x->call, RA_NONE);
  t.work = op_work(x, RA_OP_ALL_REDUCE, RA_DTYPE_FP32, sizeof(float), n,
                   p->mesh.gpus_per_node, 1);
  id = ra_builder_task(x->builder, &t);
  for (uint32_t d = 0; d < p->dp && x->dp.ranks == 1; d++)
    for (uint32_t s = 0; s < p->pp;
         s++) /* reduces stand before it in its queue */
      ra_builder_edge(x->builder, b->pipelines[d]->last[s], id);
  return id;
}

/* Zero 1 and 2: the updated parameters of a stage, from the shards of each
 * set. */
static void
add_gathers(RaMiniBatch *b, uint32_t stage, const RaTaskId *steps,
            gboolean is_last)
{
  RaCallContext *x = b->x;
  RaCounts n = stage_n_params(x, stage);
  RaOp op = ra_zero_gather_op(x, x->pieces, stage, n.dense);
  RaWork work = {.shard = RA_NONE, .op = op};

  for (uint32_t q = 0; q < x->n_sets; q++) {
    RaTaskSpec t = dp_spec(b, RA_TASK_PARAM_GATHER, stage);
    RaTaskId first, last, experts;
    if (!ra_zero_has(x, q))
      continue;
    t.work = ra_builder_work(x->builder, &work);
    t.group = ra_zero_lanes(x, q, stage);
    if (x->n_sets > 1)
      t.replica = q * x->set_size;
    first = x->dp.ranks > 1 ? ra_builder_task(x->builder, &t) : RA_NONE;
    /* in the same queue: once it has ended both have */
    experts =
        ra_zero_experts_task(x, t, 1, RA_OP_ALL_GATHER,
                             x->plan->fp8_params ? RA_DTYPE_FP8 : x->dtype,
                             n_gathered_experts(x, stage, n.experts));
    last = experts != RA_NONE ? experts : first;
    first = first != RA_NONE ? first : experts;
    for (uint32_t d = q * x->set_size; d < (q + 1) * x->set_size; d++)
      if (first != RA_NONE)
        ra_builder_edge(x->builder, steps[d], first);
      else
        last = steps[d]; /* of the only replica */
    b->gathers[stage * x->n_sets + q] = last;
    if (is_last)
      g_array_append_val(b->ends->exits, last);
  }
}

/* Traffic of the casts of the weights of stage @stage that the step has
 * changed: each rank casts all that it computes with. */
static uint64_t
cast_bytes(const RaCallContext *x, uint32_t stage)
{
  uint64_t n = 0;

  if (x->plan->fp8_params || x->shard_record.model->lora_rank > 0)
    return 0;
  for (uint32_t u = stage; u < x->n_pieces; u += x->plan->pp)
    n += ra_piece_n_fp8(&x->shard_record, &x->pieces[u]);
  return ra_op_fp8_weight_traffic(&x->shard_record, n);
}

static uint32_t
optimizer_work(RaCallContext *x, uint32_t stage, uint64_t n_params)
{
  RaOp op = {.kind = RA_OP_OPTIMIZER,
             .dtype = (uint8_t)x->dtype,
             .count = 1,
             .dim = {n_params, cast_bytes(x, stage)}};
  RaWork work = {.shard = RA_NONE, .op = op};

  if (x->plan->optimizer_residency == RA_RESIDENCY_CPU)
    work.op.flags = RA_OP_ON_CPU;
  return ra_builder_work(x->builder, &work);
}

/* Optimizer steps of all stages, of shards where zero has them, and the
 * gathers that follow. */
static void
add_updates(RaMiniBatch *b, RaTaskId clip, gboolean is_last)
{
  RaCallContext *x = b->x;
  const RaCallPlan *p = x->plan;
  gboolean gathers = x->zero == 1 || x->zero == 2;
  g_autofree RaTaskId *steps = g_new(RaTaskId, p->dp);

  for (uint32_t s = 0; s < p->pp; s++) {
    RaCounts n = stage_n_params(x, s);
    uint64_t n_params = x->zero ? ceil_div(n.dense, x->set.ranks) +
                                      ceil_div(n.experts, x->experts.ranks)
                                : n.dense + n.experts;
    for (uint32_t d = 0; d < p->dp; d++) {
      RaTaskSpec t = dp_spec(b, RA_TASK_OPTIMIZER, s);
      steps[d] = RA_NONE;
      if (ra_replica_weight(x, d) == 0)
        continue;
      t.stream = RA_STREAM_COMPUTE;
      t.replica = d;
      t.group = ra_lane_map_unit(ra_builder_lanes(x->builder), x->call, d, s);
      t.work = optimizer_work(x, s, n_params);
      steps[d] = ra_builder_task(x->builder, &t);
      ra_builder_edge(x->builder, clip, steps[d]);
      if (is_last && !gathers)
        g_array_append_val(b->ends->exits, steps[d]);
    }
    for (uint32_t q = 0; q < x->n_sets; q++)
      b->gathers[s * x->n_sets + q] = RA_NONE;
    if (gathers)
      add_gathers(b, s, steps, is_last);
  }
}

/* Runs the replicas' pipelines over mini-batch @index of the set. */
static void
add_pipelines(RaMiniBatch *b, uint32_t index, gboolean is_first)
{
  RaCallContext *x = b->x;
  const RaCallPlan *p = x->plan;
  uint32_t iteration =
      ra_builder_augmented(x->builder)->nodes[b->ends->node].iteration;
  const RaSequenceSet *set =
      ra_builder_sequences(x->builder, x->c->set, iteration);
  uint32_t share = x->c->n_sequences / ra_call_plan_n_pieces(x->c, p);
  uint32_t size = share / p->dp;
  g_autofree RaBatch *batches = g_new(RaBatch, p->n_micro_batches);

  ra_zero_begin(&b->zero, x, b->ends->node, b->mini_batch, b->ends->entries,
                is_first ? b->ends->n_entries : 0);
  for (uint32_t d = 0; d < p->dp; d++) {
    RaPipelineSpec spec = {b->ends->node,      d,   b->mini_batch, batches,
                           p->n_micro_batches, TRUE};
    if (ra_replica_weight(x, d) == 0)
      continue;
    ra_sequence_set_cut(set, index * share + d * size, size, p->n_micro_batches,
                        p, batches, NULL);
    b->pipelines[d] = ra_expand_pipeline(x, &spec);
    for (guint e = 0; is_first && e < b->ends->n_entries; e++)
      ra_builder_edge(x->builder, b->ends->entries[e],
                      b->pipelines[d]->first[0]);
    for (uint32_t s = 0; !is_first && s < p->pp; s++)
      ra_builder_edge(x->builder, b->gathers[s * x->n_sets + d / x->set_size],
                      b->pipelines[d]->first[s]);
  }
  ra_experts_meet(x, b->pipelines);
  ra_zero_end(&b->zero, b->pipelines);
}

void
ra_expand_train(RaCallContext *x, const RaNodeEnds *ends)
{
  const RaCallPlan *p = x->plan;
  const RaNode *node = &ra_builder_augmented(x->builder)->nodes[ends->node];
  uint32_t n = ra_call_plan_n_pieces(x->c, p);
  uint32_t begin = (uint32_t)((uint64_t)node->part * n / node->n_parts);
  uint32_t end = (uint32_t)((uint64_t)(node->part + 1) * n / node->n_parts);
  RaMiniBatch b = {.x = x, .ends = ends};

  if (node->part == node->n_parts - 1) /* later epochs need all of the data */
    end = n * x->c->n_epochs;
  b.pipelines = g_new0(RaPipeline *, p->dp);
  b.gathers = g_new(RaTaskId, (gsize)p->pp * x->n_sets);
  for (uint32_t i = begin; i < end; i++) {
    RaTaskId clip = RA_NONE;
    b.mini_batch = (uint16_t)i;
    add_pipelines(&b, i % n, i == begin);
    add_reduces(&b);
    add_embedding_reduces(&b);
    if (ra_mesh_n_gpus(&p->mesh) > 1)
      clip = add_clip(&b);
    add_updates(&b, clip, i == end - 1);
    for (uint32_t d = 0; d < p->dp; d++)
      g_clear_pointer(&b.pipelines[d], ra_pipeline_free);
  }
  g_free(b.pipelines);
  g_free(b.gathers);
}
