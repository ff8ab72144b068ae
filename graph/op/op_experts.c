/* The ops of one layer's experts by themselves. */
#include "config.h"

#include <string.h>

#include "graph/op/op.h"

/* One rank's share of one layer that has experts. */
static guint
layer_ops(const RaShard *shard, uint64_t tokens, RaOp *out_ops)
{
  const RaBatch batch = {.n_sequences = 1,
                         .q_tokens = tokens,
                         .kv_tokens = tokens,
                         .pairs = tokens};
  RaPiece piece = {.n_layers = 1};

  while (piece.first_layer + 1 < shard->model->n_layers &&
         !ra_model_layer_is_moe(shard->model, piece.first_layer))
    piece.first_layer++;
  return ra_op_list(shard, &piece, RA_PHASE_FORWARD, &batch, out_ops);
}

guint
ra_op_list_experts(const RaShard *shard, uint64_t tokens, uint64_t visited,
                   RaOp *out_ops)
{
  guint n = layer_ops(shard, tokens, out_ops), first = 0, end = n;
  uint64_t choices = tokens * shard->model->experts_per_token;

  g_return_val_if_fail(visited > 0, 0);
  /* From the router's product to the last permutation. */
  while (first < n && out_ops[first].kind != RA_OP_ROUTER)
    first++;
  g_return_val_if_fail(first > 0 && first < n, 0);
  while (out_ops[end - 1].kind != RA_OP_PERMUTE)
    end--;
  n = end - --first;
  memmove(out_ops, out_ops + first, n * sizeof *out_ops);
  for (guint i = 1; i < n; i++) {
    RaOp *op = &out_ops[i];
    uint64_t rows = (choices + visited - 1) / visited;

    if (op->kind == RA_OP_GEMM) {
      op->dim[0] = rows;
      op->dim[3] = visited;
    } else if (op->kind == RA_OP_ACTIVATION) {
      op->dim[0] = rows * visited;
    }
  }
  return n;
}
