/* A step of continuous batching: chunks of prompts together with sequences that
 * decode.
 */
#include "config.h"

#include "estimator/estimator_impl.h"

RaMixedBatch
ra_mixed_batch(const RaBatchStretch *step)
{
  return (RaMixedBatch){.chunks = {.n_sequences = step->n_chunks,
                                   .q_tokens = step->chunk_tokens,
                                   .kv_tokens = step->chunk_kv_tokens,
                                   .pairs = step->chunk_pairs},
                        .decode = {.n_sequences = step->n_decoding,
                                   .q_tokens = step->n_decoding,
                                   .kv_tokens = step->kv_tokens,
                                   .pairs = step->kv_tokens},
                        .n_sampled = step->n_decoding + step->n_whole};
}

guint
ra_op_list_mixed(const RaShard *shard, const RaPiece *piece,
                 const RaMixedBatch *batch, RaOp *out_ops)
{
  RaBatch all = {.n_sequences = batch->n_sampled,
                 .q_tokens = batch->chunks.q_tokens + batch->decode.q_tokens,
                 .kv_tokens = batch->chunks.kv_tokens,
                 .pairs = batch->chunks.pairs};
  guint n = ra_op_list(shard, piece, RA_PHASE_FORWARD, &all, out_ops);
  guint n_ops = n;

  for (guint i = 0; i < n; i++) {
    RaOp *op = &out_ops[i];

    if (op->kind != RA_OP_ATTENTION)
      continue;
    op->dim[0] = batch->chunks.n_sequences;
    op->dim[1] = batch->chunks.q_tokens;
    if (batch->decode.n_sequences == 0)
      continue;
    g_assert(n_ops < RA_OP_LIST_MAX);
    out_ops[n_ops] = *op;
    out_ops[n_ops].kind = RA_OP_DECODE_ATTENTION;
    out_ops[n_ops].dtype = ra_op_dtype(RA_OP_DECODE_ATTENTION, shard->dtype);
    out_ops[n_ops].dim[0] = batch->decode.n_sequences;
    out_ops[n_ops].dim[1] = batch->decode.q_tokens;
    out_ops[n_ops].dim[2] = batch->decode.kv_tokens;
    out_ops[n_ops].dim[3] = batch->decode.pairs;
    n_ops++;
  }
  return n_ops;
}

void
ra_estimator_mixed(const RaEstimator *estimator, const RaShard *shard,
                   const RaPiece *piece, const RaMixedBatch *batch,
                   RaCost *out_cost)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops = ra_op_list_mixed(shard, piece, batch, ops);
  guint64 n_launches;

  *out_cost = (RaCost){0};
  n_launches = ra_estimator_sum_ops(estimator, ops, n_ops, out_cost);
  ra_estimator_engine_sums(estimator, ops, n_ops, out_cost);
  ra_estimator_add_host(estimator, n_launches, RA_LAUNCH_EAGER, out_cost);
  ra_estimator_add_prompts(estimator, piece, out_cost);
  ra_estimator_add_system(estimator, shard->launch, piece, out_cost);
}
