/* Builder of op lists, and the ops of LoRA adapters.
 *
 * Private to graph/op/op_list.c, op_cast.c, op_mixer.c, op_vision.c and
 * op_lora.c.
 */
#ifndef RA_GRAPH_OP_OP_LORA_H
#define RA_GRAPH_OP_OP_LORA_H

#include "graph/op/op.h"

#define RA_OP_LATE_MAX (3 * RA_MODEL_MAX_KINDS) /* steps of a list's mixers */

/* List under construction, and the sizes of its ops. */
typedef struct {
  const RaShard *shard;
  const RaModel *model;
  const RaBatch *batch;
  RaPhase phase;
  uint32_t positions;   /* of a sequence: more than one with drafts */
  uint32_t cp;          /* ranks that share a sequence, >= 1 */
  uint32_t ep;          /* ranks that share experts, >= 1 */
  uint32_t expert_tp;   /* ranks that cut an expert, >= 1 */
  uint64_t tokens;      /* rows of one cp rank in the tensor-parallel regions */
  uint64_t sp_tokens;   /* rows between them: fewer with sequence parallelism */
  uint32_t kind;        /* of the layers that are added next */
  const RaBatch *mix;   /* batch that mixers see: batch, or chunks of it */
  const RaBatch *steps; /* nullable: sequences that decode beside chunks */
  uint64_t q_heads;     /* of one tp rank */
  uint64_t kv_heads;    /* of one tp rank: at least one, then replicated */
  uint64_t vocab;       /* rows of one tp rank, padded */
  uint32_t element_bytes; /* of an activation between GEMMs */
  uint32_t count;         /* count of the ops that are added next */
  gboolean keeps;         /* a backward follows what is added next, without
                             computing it again */
  RaOp *ops;
  guint n_ops;
  RaOp *late; /* (RA_OP_LATE_MAX) ops of steps, to be added last */
  guint n_late;
} RaOpBuilder;

void ra_op_add(RaOpBuilder *b, RaOpKind kind, uint64_t d0, uint64_t d1,
               uint64_t d2, uint64_t d3);

/* Adds a linear layer y(m, n) = x(m, k) W.  Backward: dx = dy W', and, if W is
 * trained, dW = x' dy. */
void ra_op_add_linear(RaOpBuilder *b, uint64_t m, uint64_t n, uint64_t k,
                      uint64_t batch);

/* The same of a matrix that is not a linear layer's where GEMMs are fp8: of a
 * router, a head, a gate, a vision tower. */
void ra_op_add_matrix(RaOpBuilder *b, uint64_t m, uint64_t n, uint64_t k,
                      uint64_t batch);

/* Adds a collective of the tp group over activations of @bytes. */
void ra_op_add_tp(RaOpBuilder *b, RaOpKind kind, uint64_t bytes);

/* Bytes of the activations of one cp rank. */
uint64_t ra_op_activation_bytes(const RaOpBuilder *b);

/* Before a column-parallel layer: sequence parallelism gathers its input
 * (forward) and scatters its input's gradient (backward); plain tensor
 * parallelism only sums that gradient (arXiv 2205.05198, figure 5).  The
 * gather of the input that Megatron repeats for the weight gradient runs
 * behind the GEMM of the input gradient and is left out. */
void ra_op_enter(RaOpBuilder *b);

/* After a row-parallel layer: the sum of its parts, scattered or not; backward
 * under sequence parallelism the gather of its output's gradient. */
void ra_op_leave(RaOpBuilder *b);

void ra_op_add_norm(RaOpBuilder *b, uint64_t tokens, uint64_t width);

/* The embedding and what follows it; the final norm, the head and the loss, or
 * the sampler; backward in reverse. */
void ra_op_add_embedding(RaOpBuilder *b);
void ra_op_add_head(RaOpBuilder *b);

/* Matrices that read the same input and are multiplied in one GEMM. */
typedef struct {
  RaTensorKind kind[4];
  uint64_t out[4]; /* of one tp rank */
  guint n;
  uint64_t in; /* of one tp rank */
} RaOpMatrices;

/**
 * ra_op_add_adapters:
 * @w: matrices whose GEMM has just been added, in the same phase
 *
 * Adds the ops of their t adapters of rank r.  Forward: s(m, t r) = x A', then
 * y += s B' for each.  Backward: for each ds = dy B and dB = dy' s, then
 * dx += ds A and dA = ds' x.  Partial sums of the tp ranks are reduced: s in
 * training if the input is cut, ds if the outputs are.
 */
void ra_op_add_adapters(RaOpBuilder *b, const RaOpMatrices *w);

#endif
