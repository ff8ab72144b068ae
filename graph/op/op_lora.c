/* Ops of LoRA adapters, and the functions that add ops to a list. */
#include "config.h"

#include "graph/input/lora.h"
#include "graph/op/op_cast.h"

void
ra_op_add(RaOpBuilder *b, RaOpKind kind, uint64_t d0, uint64_t d1, uint64_t d2,
          uint64_t d3)
{
  gboolean by_block = b->shard->by_block &&
                      (kind == RA_OP_GEMM || kind == RA_OP_EXPERTS) &&
                      b->shard->dtype == RA_DTYPE_FP8;

  g_assert(b->n_ops < RA_OP_LIST_MAX);
  b->ops[b->n_ops++] = (RaOp){.kind = (uint8_t)kind,
                              .dtype = ra_op_dtype(kind, b->shard->dtype),
                              .flags = by_block ? RA_OP_BLOCK : 0,
                              .count = b->count,
                              .dim = {d0, d1, d2, d3}};
}

void
ra_op_add_matrix(RaOpBuilder *b, uint64_t m, uint64_t n, uint64_t k,
                 uint64_t batch)
{
  gboolean frozen = b->model->lora_rank > 0;

  if (b->phase != RA_PHASE_BACKWARD) {
    ra_op_add(b, RA_OP_GEMM, m, n, k, batch);
    if (frozen && b->shard->loss)
      b->ops[b->n_ops - 1].flags |= RA_OP_FROZEN;
    return;
  }
  ra_op_add(b, RA_OP_GEMM, m, k, n, batch);
  if (!frozen)
    ra_op_add(b, RA_OP_GEMM, n, k, m, batch);
}

void
ra_op_add_linear(RaOpBuilder *b, uint64_t m, uint64_t n, uint64_t k,
                 uint64_t batch)
{
  gboolean back = b->phase == RA_PHASE_BACKWARD;
  guint first;

  ra_op_add_cast(b, m * (back ? n : k) * batch, back ? n : k);
  first = b->n_ops;
  ra_op_add_matrix(b, m, n, k, batch);
  ra_op_set_fp8(b, first);
}

void
ra_op_add_tp(RaOpBuilder *b, RaOpKind kind, uint64_t bytes)
{
  if (b->shard->tp > 1)
    ra_op_add(b, kind, bytes, b->shard->tp, b->shard->tp_ranks_per_node,
              b->shard->tp_groups_per_node);
}

/* TRUE if tensor parallelism cuts the input of @kind, not its output. */
static gboolean
cuts_input(RaTensorKind kind)
{
  return kind == RA_TENSOR_O || kind == RA_TENSOR_DOWN ||
         kind == RA_TENSOR_LINEAR_OUT;
}

/* Outputs of the matrices of @w that have adapters; returns their number. */
static guint
adapted(const RaModel *model, const RaOpMatrices *w, uint64_t *out,
        uint64_t *sum)
{
  guint n = 0;

  *sum = 0;
  for (guint i = 0; i < w->n; i++)
    if (ra_lora_has(model, w->kind[i])) {
      out[n++] = w->out[i];
      *sum += w->out[i];
    }
  return n;
}

static void
add_forward(RaOpBuilder *b, const RaOpMatrices *w, const uint64_t *out, guint n,
            uint64_t sum)
{
  uint64_t r = b->model->lora_rank;

  ra_op_add(b, RA_OP_GEMM, b->tokens, n * r, w->in, 1);
  if (cuts_input(w->kind[0]) && b->shard->loss)
    ra_op_add_tp(b, RA_OP_ALL_REDUCE, b->tokens * n * r * b->element_bytes);
  for (guint i = 0; i < n; i++)
    ra_op_add(b, RA_OP_GEMM, b->tokens, out[i], r, 1);
  ra_op_add(b, RA_OP_ADD, b->tokens, sum, 0, 0);
}

static void
add_backward(RaOpBuilder *b, const RaOpMatrices *w, const uint64_t *out,
             guint n)
{
  uint64_t r = b->model->lora_rank;

  for (guint i = 0; i < n; i++) {
    ra_op_add(b, RA_OP_GEMM, b->tokens, r, out[i], 1);
    ra_op_add(b, RA_OP_GEMM, out[i], r, b->tokens, 1);
  }
  if (!cuts_input(w->kind[0]))
    ra_op_add_tp(b, RA_OP_ALL_REDUCE, b->tokens * n * r * b->element_bytes);
  ra_op_add(b, RA_OP_GEMM, b->tokens, w->in, n * r, 1);
  ra_op_add(b, RA_OP_GEMM, n * r, w->in, b->tokens, 1);
  ra_op_add(b, RA_OP_ADD, b->tokens, w->in, 0, 0);
}

void
ra_op_add_adapters(RaOpBuilder *b, const RaOpMatrices *w)
{
  uint64_t out[4], sum;
  guint n = b->model->lora_rank > 0 ? adapted(b->model, w, out, &sum) : 0;

  if (n == 0)
    return;
  if (b->phase == RA_PHASE_BACKWARD)
    add_backward(b, w, out, n);
  else
    add_forward(b, w, out, n, sum);
}
