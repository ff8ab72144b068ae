/* Memory of activations: kept tensors and workspace, from the op lists. */
#include "config.h"

#include "graph/input/model_vision.h"
#include "graph/input/plan.h"
#include "graph/op/activation.h"
#include "graph/op/op_cast.h"

/* Tensors of one run of an op, bytes. */
typedef struct {
  uint64_t in;   /* read */
  uint64_t out;  /* written */
  uint64_t kept; /* of both, until the backward */
} RaOpTensors;

/* Log-probabilities are made in fp32: logits are converted before the softmax
 * (Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py). */
#define FP32_BYTES 4

static RaOpTensors
both(uint64_t in, uint64_t out, uint64_t kept)
{
  return (RaOpTensors){in, out, kept};
}

/* A step of ring attention on another rank's keys, which come again in the
 * backward: only the step on the rank's own keeps q, k and v. */
static gboolean
is_foreign_step(const RaOp *op, const RaOp *end)
{
  return op + 1 < end && op[1].kind == RA_OP_SEND &&
         (op[1].flags & RA_OP_BEHIND) != 0;
}

/* TRUE if what attention @op makes is cast for the next layer, at once or after
 * steps of a ring, and a backward reads it. */
static gboolean
is_before_cast(const RaOp *op, const RaOp *end)
{
  for (op++; op < end && (op->kind == RA_OP_SEND || op->kind == RA_OP_ADD ||
                          op->kind == RA_OP_ATTENTION);)
    op++;
  return op + 1 < end && op->kind == RA_OP_CAST &&
         !(op[1].flags & RA_OP_FROZEN);
}

/* Memory of such a step in addition to the rank's own q, k and v and the sum to
 * which it adds: keys and values of the other rank, those arriving, its output.
 * Backward also the gradients of keys and values, its own and those that go
 * round, and of queries, its own and their sum (exec/model/stage_ring.c). */
static uint64_t
ring_bytes(const RaOp *op, gboolean back)
{
  const uint64_t *d = op->dim;
  uint64_t e = ra_dtype_bytes((RaDtype)op->dtype);
  uint64_t q = d[1] * d[4] * d[6] * e, kv = 2 * d[1] * d[5] * d[6] * e;

  return back ? 4 * kv + 2 * q : 2 * kv + q;
}

/* A core keeps its weights, and with dropout what is left of them and the
 * mask; the scores before the softmax are beside them for a while. */
static RaOpTensors
core_tensors(const RaOp *op, uint64_t in, uint64_t out)
{
  uint64_t e = ra_dtype_bytes((RaDtype)op->dtype);
  uint64_t n = (uint64_t)ra_op_n_scores(op);
  uint64_t kept = n * (op->flags & RA_OP_DROPOUT ? 2 * e + 1 : e);

  return both(in, out + n * e + kept, in + kept);
}

/* Kept are probabilities, of each choice its expert, place and weight, and how
 * many rows each expert has: words of 4 bytes all.  @d: tokens, experts,
 * chosen. */
static RaOpTensors
router_tensors(const uint64_t *d, uint64_t in)
{
  return both(in, d[0] * d[1] * FP32_BYTES,
              (d[0] * (d[1] + 3 * d[2]) + d[1]) * FP32_BYTES);
}

/* Its output is kept as the input of what follows, and for itself where that is
 * a cast, whose 8 bits are kept; @end: past the last op.  In 16 bits, of
 * whatever type the cache is. */
static RaOpTensors
attention_tensors(const RaOp *op, const RaOp *end)
{
  const uint64_t *d = op->dim;
  uint64_t e = ra_dtype_bytes(ra_activation_dtype((RaDtype)op->dtype));
  uint64_t in = d[1] * (d[4] + 2 * d[5]) * d[6] * e, out = d[1] * d[4] * d[6];
  uint64_t log_sums = d[1] * d[4] * FP32_BYTES; /* of weights */

  if (op->kind == RA_OP_DECODE_ATTENTION)
    return both(in, out * e, in);
  if (is_foreign_step(op, end))
    return both(in, out * e + log_sums, 0);
  return both(in, out * e + log_sums,
              in + log_sums + (is_before_cast(op, end) ? out * e : 0));
}

/* The backward of attention has, beside its gradients, those of queries in
 * fp32, as blocks of keys add to them, and a count a row; arXiv 2307.08691 has
 * the same.  A ring's kernels own the queries (kernels/attention.h). */
static uint64_t
attention_sums_bytes(const RaShard *shard, const RaOp *op)
{
  const uint64_t *d = op->dim;

  return op->kind == RA_OP_ATTENTION &&
                 (shard->cp <= 1 || op->flags & RA_OP_NONCAUSAL)
             ? d[1] * d[4] * (d[6] + 1) * FP32_BYTES
             : 0;
}

/* Queries and outputs of all heads, keys and values of all. */
static RaOpTensors
latent_tensors(const RaOp *op, const RaOp *end)
{
  const uint64_t *d = op->dim;
  uint64_t e = ra_dtype_bytes(ra_activation_dtype((RaDtype)op->dtype));
  uint64_t in = d[1] * d[4] * (2 * d[5] + d[6]) * e, out = d[1] * d[4] * d[6];
  uint64_t log_sums = d[1] * d[4] * FP32_BYTES;

  if (op->kind == RA_OP_LATENT_DECODE)
    return both(d[1] * d[4] * (d[5] + d[6]) * e, d[1] * d[4] * d[5] * e, 0);
  return both(in, out * e + log_sums,
              in + log_sums + (is_before_cast(op, end) ? out * e : 0));
}

/* Kept are queries, keys and values, and of a delta rule the chunks' inverses
 * (flash-linear-attention, ChunkGatedDeltaRuleFunction); states come again. */
static RaOpTensors
scan_tensors(const RaOp *op)
{
  const uint64_t *d = op->dim;
  uint64_t e = ra_dtype_bytes((RaDtype)op->dtype), state = d[3] * d[4] * d[5];
  uint64_t in = d[1] * (2 * d[2] * d[4] + d[3] * d[5]) * e;
  uint64_t out = d[1] * d[3] * d[5] * e;
  uint64_t inverse = op->flags & RA_OP_DELTA ? d[1] * d[3] * d[6] * e : 0;

  if (op->kind == RA_OP_SCAN_STEP)
    return both(in, out, in);
  return both(in, out + inverse + d[1] / MAX(d[6], 1) * state * FP32_BYTES,
              in + inverse);
}

/* TRUE if @op computes logits, whose rows have a padding. */
static gboolean
makes_logits(const RaOp *op, const RaOp *end)
{
  const RaOp *next = op + 1;

  if (next < end && next->kind == RA_OP_ALL_GATHER)
    next++; /* of what is drawn from, and of rows before a layer */
  return next < end &&
         (next->kind == RA_OP_CROSS_ENTROPY || next->kind == RA_OP_SAMPLE);
}

/* Logits to log-probs keep the fp32 softmax; in place, the logits that the
 * temperature has divided, beside those of the head.  @d: tokens, vocabulary.
 */
static RaOpTensors
loss_tensors(const RaShard *shard, const uint64_t *d, uint64_t e)
{
  uint64_t kept = d[0] * d[1] * (shard->in_place_loss ? e : FP32_BYTES);

  return both(d[0] * ra_logits_row(d[1], e) * e, kept, kept);
}

/* Statistics of a row of a norm: the inverse, for LayerNorm also the mean. */
static uint64_t
norm_stats_bytes(const RaModel *model)
{
  return (model->norm == RA_NORM_LAYER ? 2 : 1) * FP32_BYTES;
}

/* Tensors of the ops of other mixers than attention. */
static RaOpTensors
mixer_tensors(const RaOp *op, const RaOp *end)
{
  const uint64_t *d = op->dim;
  uint64_t e = ra_dtype_bytes((RaDtype)op->dtype), in, out, chosen;

  switch (op->kind) {
  case RA_OP_LATENT:
  case RA_OP_LATENT_DECODE:
    return latent_tensors(op, end);
  case RA_OP_COMPRESSED: /* queries and outputs; keys that are values too */
    in = (d[1] * d[4] + d[2]) * d[5] * e;
    out = d[1] * d[4] * (d[5] * e + FP32_BYTES);
    return both(in, out, in + d[1] * d[4] * FP32_BYTES);
  case RA_OP_INDEXER: /* what it has chosen, int32 */
    in = d[1] * d[4] * d[5] * e;
    chosen = d[1] * d[6] * FP32_BYTES;
    return both(in, chosen, chosen);
  case RA_OP_SCAN:
  case RA_OP_SCAN_STEP:
    return scan_tensors(op);
  case RA_OP_CONV:
    in = d[0] * d[1] * e;
    return both(in, in, in);
  default:
    return both(0, 0, 0);
  }
}

/* TRUE for the GEMM of a layer whose cast keeps its input. */
static gboolean
is_fp8_layer(const RaShard *shard, const RaOp *op)
{
  return shard->fp8_gemms && op->kind == RA_OP_GEMM &&
         op->dtype == RA_DTYPE_FP8;
}

/* The copy that the GEMM of the weight's gradient reads is kept with its
 * scales, the other one is read at once. */
static RaOpTensors
cast_tensors(const RaOp *op)
{
  const uint64_t *d = op->dim;
  uint64_t copy = ra_op_cast_copy_bytes(d[0], d[3]);
  uint64_t in = d[0] * ra_dtype_bytes((RaDtype)op->dtype);
  uint64_t kept = d[2] > 1 || d[1] == 0 ? copy : 0;

  return both(in, d[2] * copy, kept);
}

static RaOpTensors
gemm_tensors(const RaShard *shard, const RaOp *op, const RaOp *before,
             const RaOp *end)
{
  const uint64_t *d = op->dim;
  uint64_t in = d[0] * d[2] * d[3] * ra_dtype_bytes((RaDtype)op->dtype);
  uint64_t e = ra_dtype_bytes(ra_activation_dtype((RaDtype)op->dtype));
  uint64_t out =
      d[0] * d[3] * e * (makes_logits(op, end) ? ra_logits_row(d[1], e) : d[1]);

  if (op->flags & RA_OP_FROZEN || is_fp8_layer(shard, op))
    return both(in, out, 0);
  /* Sequence parallelism keeps its shard and gathers again (arXiv 2205.05198,
   * section 4.2.2). */
  if (before && before->kind == RA_OP_ALL_GATHER)
    return both(in, out, in / MAX(before->dim[1], 1));
  return both(in, out, in);
}

/* Tensors that op @op of @shard, after @before (NULL: the first), reads, writes
 * and keeps; @end is past the last. */
static RaOpTensors
op_tensors(const RaShard *shard, const RaOp *op, const RaOp *before,
           const RaOp *end)
{
  const RaModel *model = shard->model;
  const uint64_t *d = op->dim;
  uint64_t e = ra_dtype_bytes((RaDtype)op->dtype), in, kept;

  switch (op->kind) {
  case RA_OP_GEMM:
    return gemm_tensors(shard, op, before, end);
  case RA_OP_ATTENTION:
  case RA_OP_DECODE_ATTENTION:
    return attention_tensors(op, end);
  case RA_OP_ATTENTION_CORE:
    in = d[1] * (d[4] + 2 * d[5]) * d[6] * e;
    return core_tensors(op, in, d[1] * d[4] * d[6] * e);
  case RA_OP_NORM:
    in = d[0] * d[1] * e;
    kept = d[0] * norm_stats_bytes(model);
    return both(in, in + kept, in + kept);
  case RA_OP_ROPE:
    in = d[0] * d[1] * d[2] * e;
    return both(in, in, 0);
  case RA_OP_ACTIVATION:
    in = d[0] * d[1] * (d[2] ? 2 : 1) * e;
    return both(in, d[0] * d[1] * e, in);
  case RA_OP_ADD:
    return both(d[0] * d[1] * e, d[0] * d[1] * e, 0);
  case RA_OP_CAST:
    return cast_tensors(op);
  case RA_OP_EMBEDDING:
    return both(0, d[0] * d[1] * e, 0);
  case RA_OP_CROSS_ENTROPY:
    return loss_tensors(shard, d, e);
  case RA_OP_ROUTER:
    return router_tensors(d, d[0] * d[1] * e);
  case RA_OP_PERMUTE:
    in = d[0] * d[1] * e;
    /* Back from the experts: the gate's gradient needs their outputs. */
    return both(in, in, before && before->kind == RA_OP_GEMM ? in : 0);
  case RA_OP_SAMPLE:
    return both(d[0] * d[1] * e, d[0] * d[1] * FP32_BYTES, 0);
  case RA_OP_LOSS:
    return both(d[0] * FP32_BYTES, d[0] * FP32_BYTES, d[0] * FP32_BYTES);
  case RA_OP_ALL_GATHER:
    return both(d[0] / MAX(d[1], 1), d[0], 0);
  case RA_OP_REDUCE_SCATTER:
    return both(d[0], d[0] / MAX(d[1], 1), 0);
  case RA_OP_ALL_TO_ALL:
    return both(d[0], d[0], 0);
  case RA_OP_ALL_REDUCE: /* in place */
    return both(d[0], 0, 0);
  default:
    return mixer_tensors(op, end);
  }
}

/* The residual stream of a micro-batch: a layer's input. */
static uint64_t
residual_bytes(const RaShard *shard, const RaBatch *batch)
{
  uint64_t cp = MAX(shard->cp, 1u), tokens = (batch->q_tokens + cp - 1) / cp;

  if (shard->sequence_parallel)
    tokens = (tokens + shard->tp - 1) / shard->tp;
  return tokens * ra_model_stream_width(shard->model) *
         ra_dtype_bytes(ra_activation_dtype((RaDtype)shard->dtype));
}

/* Inputs of the layers of a vision tower, which full recomputation keeps. */
static uint64_t
tower_inputs_bytes(const RaShard *shard, const RaBatch *batch)
{
  const RaModel *m = shard->model;

  return ra_vision_patches(m, batch->n_sequences) * m->vision.n_layers *
         m->vision.hidden *
         ra_dtype_bytes(ra_activation_dtype((RaDtype)shard->dtype));
}

/* Bytes that the forward of @piece keeps if nothing is recomputed, with
 * @n_layers layers of a vision tower; where adapters are trained the tower is
 * not, and keeps nothing. */
static uint64_t
kept_with_tower(const RaShard *shard, const RaPiece *piece,
                const RaBatch *batch, guint32 n_layers)
{
  RaModel model = *shard->model;
  RaShard own = *shard;
  RaOp ops[RA_OP_LIST_MAX];
  guint n;
  uint64_t bytes = 0;

  own.model = &model;
  if (own.recompute == RA_RECOMPUTE_FULL) /* as the layer is computed again */
    own.recompute = RA_RECOMPUTE_NONE;
  model.vision.n_layers = n_layers;
  model.vision.n_whole = MIN(model.vision.n_whole, n_layers);
  if (model.lora_rank > 0)
    model.image_tokens = 0;
  n = ra_op_list_lower(ops,
                       ra_op_list(&own, piece, RA_PHASE_FORWARD, batch, ops));
  for (guint i = 0; i < n; i++) {
    RaOpTensors t = op_tensors(shard, &ops[i], i ? &ops[i - 1] : NULL, ops + n);
    /* A core that is recomputed keeps only queries, keys and values. */
    gboolean again = ops[i].kind == RA_OP_ATTENTION_CORE &&
                     shard->recompute == RA_RECOMPUTE_SELECTIVE;

    bytes += (again ? t.in : t.kept) * ops[i].count;
  }
  return bytes;
}

/* The same with all layers of the tower, or with the inputs of its layers if
 * those are computed again. */
static uint64_t
kept_bytes(const RaShard *shard, const RaPiece *piece, const RaBatch *batch)
{
  const RaModel *m = shard->model;

  if (!piece->has_embedding || shard->recompute != RA_RECOMPUTE_FULL)
    return kept_with_tower(shard, piece, batch, m->vision.n_layers);
  return kept_with_tower(shard, piece, batch, 0) +
         (m->lora_rank > 0 ? 0 : tower_inputs_bytes(shard, batch));
}

uint64_t
ra_activation_bytes(const RaShard *shard, const RaPiece *piece,
                    const RaBatch *batch)
{
  RaPiece ends = *piece;

  g_return_val_if_fail(shard && piece && batch, 0);
  if (shard->recompute != RA_RECOMPUTE_FULL)
    return kept_bytes(shard, piece, batch);
  ends.n_layers = 0;
  return piece->n_layers * residual_bytes(shard, batch) +
         kept_bytes(shard, &ends, batch);
}

/* Bytes of op @i of @n while it runs; @kept: its kept bytes count elsewhere. */
static uint64_t
running_bytes(const RaShard *shard, const RaOp *ops, guint n, guint i,
              gboolean kept, gboolean back)
{
  RaOpTensors t = op_tensors(shard, &ops[i], i ? &ops[i - 1] : NULL, ops + n);
  uint64_t bytes = t.in + t.out;

  /* Nobody keeps gradients, which have the shapes of what was read and written;
   * those of logits come where their softmax is kept (Megatron-LM's
   * vocab_parallel_cross_entropy). */
  if (back && ops[i].kind != RA_OP_CROSS_ENTROPY)
    kept = FALSE;
  if (back)
    bytes += attention_sums_bytes(shard, &ops[i]);
  /* Gradients of 16 bits, and two copies of the output's of 8. */
  if (back && is_fp8_layer(shard, &ops[i]))
    bytes = 2 * t.in + 2 * t.out;
  if (!is_foreign_step(&ops[i], ops + n))
    return bytes - (kept ? MIN(t.kept, bytes) : 0);
  /* Forward the step on the rank's own keys has kept what comes in; backward
   * in and out are gradients. */
  return bytes + ring_bytes(&ops[i], back) - (kept && !back ? t.in : 0);
}

/* Largest op of @piece. */
static uint64_t
largest_op_bytes(const RaShard *shard, const RaPiece *piece, RaPhase phase,
                 const RaBatch *batch, gboolean kept)
{
  RaOp ops[RA_OP_LIST_MAX];
  gboolean back = phase == RA_PHASE_BACKWARD;
  guint n = ra_op_list_lower(
      ops,
      ra_op_list(shard, piece, back ? RA_PHASE_FORWARD : phase, batch, ops));
  uint64_t largest = 0;

  for (guint i = 0; i < n; i++)
    largest = MAX(largest, running_bytes(shard, ops, n, i, kept, back));
  return largest;
}

/* The layer of @piece that keeps most: of all kinds, in fp8 and in 16 bits, and
 * of a vision tower. */
static uint64_t
layer_bytes(const RaShard *shard, const RaPiece *piece, const RaBatch *batch)
{
  RaPiece first = {.has_embedding = piece->has_embedding};
  uint64_t most = kept_with_tower(shard, &first, batch, 1) -
                  kept_with_tower(shard, &first, batch, 0);
  gboolean seen[2][RA_MODEL_MAX_KINDS] = {{FALSE}};
  gboolean differ = shard->bf16_first > 0 || shard->bf16_last > 0;
  uint32_t left = ra_model_n_kinds(shard->model) * (differ ? 2 : 1);

  for (uint32_t i = 0; i < piece->n_layers && left > 0; i++) {
    RaPiece one = {.first_layer = piece->first_layer + i, .n_layers = 1};
    uint32_t kind = ra_model_layer_kind(shard->model, one.first_layer);
    uint32_t fp8 = ra_piece_fp8_layers(shard, &one).n_layers;

    if (seen[fp8][kind])
      continue;
    seen[fp8][kind] = TRUE;
    left--;
    most = MAX(most, kept_bytes(shard, &one, batch));
  }
  return most;
}

/* @batch as it runs: a step of a token each that is a graph is of more
 * sequences, but where ranks cut its rows by their number
 * (exec/model/stage_decode.c). */
static RaBatch
batch_run(const RaShard *shard, RaPhase phase, const RaBatch *batch)
{
  RaBatch run = *batch;

  if (phase == RA_PHASE_DECODE && shard->draft_tokens > 0) {
    run.n_sequences *= ra_shard_positions(shard);
    run.q_tokens *= ra_shard_positions(shard);
  }
  if (phase != RA_PHASE_DECODE || shard->launch != RA_LAUNCH_GRAPH ||
      shard->sequence_parallel || batch->q_tokens != batch->n_sequences)
    return run;
  run.n_sequences = ra_graph_sequences(run.n_sequences);
  run.q_tokens = run.n_sequences;
  return run;
}

uint64_t
ra_workspace_bytes(const RaShard *shard, const RaPiece *piece, RaPhase phase,
                   const RaBatch *batch)
{
  RaBatch run;
  gboolean full = shard->loss && shard->recompute == RA_RECOMPUTE_FULL;
  RaPiece layers = *piece, ends = *piece;
  uint64_t of_layers, of_ends;

  g_return_val_if_fail(shard && piece && batch, 0);
  layers.has_embedding = layers.has_head = 0;
  ends.n_layers = 0;
  run = batch_run(shard, phase, batch);
  of_layers =
      largest_op_bytes(shard, &layers, phase, &run, shard->loss && !full);
  of_ends = largest_op_bytes(shard, &ends, phase, &run, shard->loss);
  if (phase == RA_PHASE_BACKWARD && full)
    of_layers = layer_bytes(shard, piece, &run) +
                largest_op_bytes(shard, &layers, phase, &run, TRUE);
  return residual_bytes(shard, &run) + MAX(of_layers, of_ends);
}

uint64_t
ra_kv_token_bytes(const RaShard *shard, const RaPiece *piece)
{
  uint64_t token, sequence;

  ra_model_cache_bytes(shard->model, piece->first_layer, piece->n_layers,
                       shard->tp, ra_dtype_bytes(ra_shard_kv_dtype(shard)), 0,
                       &token, &sequence);
  return token;
}

uint64_t
ra_kv_sequence_bytes(const RaShard *shard, const RaPiece *piece,
                     uint64_t n_tokens)
{
  uint64_t token, sequence;

  ra_model_cache_bytes(shard->model, piece->first_layer, piece->n_layers,
                       shard->tp, ra_dtype_bytes(ra_shard_kv_dtype(shard)),
                       n_tokens, &token, &sequence);
  return sequence;
}
