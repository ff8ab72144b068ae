/* Parts of an expert layer, and the ops of its experts by themselves. */
#include "config.h"

#include <string.h>

#include "graph/op/op.h"

/* A batch of @batch products with @m rows, and backward those of the gradients
 * of inputs and, where they are trained, of weights. */
static guint
add_products(const RaOp *op, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
             RaOp *out)
{
  gboolean back = op->kind == RA_OP_EXPERTS_BACKWARD;
  gboolean frozen = (op->flags & RA_OP_FROZEN) != 0;
  RaOp product = {.kind = RA_OP_GEMM,
                  .dtype = op->dtype,
                  .flags = op->flags &
                           (RA_OP_BLOCK | RA_OP_NARROW | RA_OP_QUANTIZED),
                  .count = op->count,
                  .dim = {m, back ? k : n, back ? n : k, batch}};

  out[0] = out[1] = product;
  if (!back && frozen)
    out[0].flags |= RA_OP_FROZEN;
  out[1].dim[0] = n;
  out[1].dim[2] = m;
  return back && !frozen ? 2 : 1;
}

/* The parts of @op, of @met experts with @rows rows each. */
static guint
add_parts(const RaOp *op, uint64_t rows, uint64_t met, RaOp *out)
{
  gboolean back = op->kind == RA_OP_EXPERTS_BACKWARD;
  gboolean gated = !(op->flags & RA_OP_PLAIN);
  uint64_t hidden = op->dim[1], width = op->dim[2];
  uint64_t up = gated ? 2 * width : width;
  RaOpKind kind = back ? RA_OP_ACTIVATION_BACKWARD : RA_OP_ACTIVATION;
  RaOp activation = {.kind = (uint8_t)kind,
                     .dtype = (uint8_t)ra_op_dtype(kind, (RaDtype)op->dtype),
                     .count = op->count,
                     .dim = {rows * met, width, gated}};
  guint n;

  if (back) {
    n = add_products(op, rows, hidden, width, met, out);
    out[n++] = activation;
    return n + add_products(op, rows, up, hidden, met, out + n);
  }
  n = add_products(op, rows, up, hidden, met, out);
  /* Tokens were quantised for the router, before they were copied. */
  out[0].flags |= RA_OP_QUANTIZED;
  out[n++] = activation;
  return n + add_products(op, rows, hidden, width, met, out + n);
}

guint
ra_op_list_lower(RaOp *ops, guint n_ops)
{
  for (guint i = 0; i < n_ops; i++) {
    const RaOp op = ops[i];
    RaOp parts[RA_OP_EXPERTS_PARTS];
    uint64_t met;
    guint n;

    if (op.kind != RA_OP_ALL_TO_ALL)
      ops[i].flags &= (uint16_t)~RA_OP_ROUTED;
    if (op.kind != RA_OP_EXPERTS && op.kind != RA_OP_EXPERTS_BACKWARD)
      continue;
    met = ra_op_experts_met(&op);
    n = add_parts(&op, (ra_op_experts_rows(&op) + met - 1) / met, met, parts);
    g_assert(n_ops + n - 1 <= RA_OP_LIST_MAX);
    memmove(ops + i + n, ops + i + 1, (n_ops - i - 1) * sizeof *ops);
    memcpy(ops + i, parts, n * sizeof *ops);
    n_ops += n - 1;
    i += n - 1;
  }
  return n_ops;
}

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
ra_op_list_experts(const RaShard *shard, uint64_t tokens, RaOp *out_ops)
{
  guint n = layer_ops(shard, tokens, out_ops), first = 0, end = n;

  /* From the router's product to the last permutation. */
  while (first < n && out_ops[first].kind != RA_OP_ROUTER)
    first++;
  g_return_val_if_fail(first > 0 && first < n, 0);
  while (out_ops[end - 1].kind != RA_OP_PERMUTE)
    end--;
  n = end - --first;
  memmove(out_ops, out_ops + first, n * sizeof *out_ops);
  return n;
}
