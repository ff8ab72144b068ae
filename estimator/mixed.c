/* A step of continuous batching: chunks of prompts together with sequences that
 * decode.
 */
#include "config.h"

#include <math.h>

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

/* The sequences that are verified: of those that get a token in a step, as many
 * as a pass has tokens come from one pass. */
static RaBatch
verified(const RaShard *shard, const RaBatch *decode)
{
  double passes = 1 / ra_shard_tokens_per_pass(shard);
  uint32_t n = (uint32_t)ceil(decode->n_sequences * passes);
  uint64_t kv = (uint64_t)ceil((double)decode->kv_tokens * passes);

  return shard->draft_tokens > 0 ? (RaBatch){n, n, kv, kv} : *decode;
}

guint
ra_op_list_mixed(const RaShard *shard, const RaPiece *piece,
                 const RaMixedBatch *batch, RaOp *out_ops)
{
  RaBatch decode = verified(shard, &batch->decode);
  uint32_t positions = ra_shard_positions(shard);
  RaBatch all = {.n_sequences = batch->n_sampled - batch->decode.n_sequences +
                                decode.n_sequences * positions,
                 .q_tokens =
                     batch->chunks.q_tokens + decode.q_tokens * positions,
                 .kv_tokens = batch->chunks.kv_tokens,
                 .pairs = batch->chunks.pairs};

  return ra_op_list_step(shard, piece, &all, &batch->chunks, &decode, out_ops);
}

/* Adds the host time of a step with prompts, which has no captured graph. */
static void
add_prompts(const RaEstimator *estimator, const RaPiece *piece, RaCost *cost)
{
  double host_s = piece->n_layers * estimator->system.prefill_layer_s;

  if (host_s > cost->total_s) {
    cost->host_s += host_s - cost->total_s;
    cost->total_s = host_s;
  }
}

void
ra_estimator_mixed(const RaEstimator *estimator, const RaShard *shard,
                   const RaPiece *piece, const RaMixedBatch *batch,
                   RaCost *out_cost)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops = ra_op_list_mixed(shard, piece, batch, ops);
  RaBatch decode = verified(shard, &batch->decode);
  guint64 n_launches;

  *out_cost = (RaCost){0};
  n_launches = ra_estimator_sum_ops(estimator, ops, n_ops, TRUE, out_cost);
  ra_estimator_add_host(estimator, n_launches, RA_LAUNCH_EAGER, out_cost);
  add_prompts(estimator, piece, out_cost);
  ra_estimator_add_layers(estimator, shard, piece, out_cost);
  ra_estimator_add_between(estimator, piece,
                           batch->n_sampled - batch->decode.n_sequences +
                               decode.n_sequences,
                           out_cost);
  ra_estimator_add_drafts(estimator, shard, piece, &decode, out_cost);
}
