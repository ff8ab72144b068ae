/* The training system's share in the ops of a stage: its factors, and a host
 * that does not run ahead. */
#include "config.h"

#include "estimator/estimator_impl.h"

/* Attention, or what runs between GEMMs: bound by memory. */
typedef enum { GEMM, ATTENTION, BETWEEN } Part;

static Part
part_of(const RaOp *op)
{
  if (ra_op_is_attention((RaOpKind)op->kind))
    return ATTENTION;
  return op->kind >= RA_OP_NORM && op->kind <= RA_OP_CROSS_ENTROPY_BACKWARD
             ? BETWEEN
             : GEMM;
}

double
ra_estimator_factor(const RaEstimator *estimator, const RaOp *op)
{
  const RaSystemConstants *system = &estimator->system;
  Part part = part_of(op);

  switch (ra_op_class((RaOpKind)op->kind)) {
  case RA_OP_CLASS_COMPUTE:
    return system->compute_factor * (part == ATTENTION
                                         ? system->attention_factor
                                     : part == BETWEEN ? system->memory_factor
                                                       : 1);
  case RA_OP_CLASS_COMM:
    return system->comm_factor;
  default:
    return 1;
  }
}

/* The time of @part of @ops by itself. */
static double
part_s(const RaEstimator *estimator, const RaOp *ops, guint n_ops, Part part)
{
  double s = 0;

  for (guint i = 0; i < n_ops; i++)
    if (part_of(&ops[i]) == part)
      s += ra_estimator_call_op_s(estimator, &ops[i], FALSE) * ops[i].count;
  return s;
}

void
ra_estimator_scale(const RaEstimator *estimator, const RaOp *ops, guint n_ops,
                   RaCost *cost)
{
  const RaSystemConstants *system = &estimator->system;

  if (system->attention_factor < 1 || system->attention_factor > 1)
    cost->compute_s += (system->attention_factor - 1) *
                       part_s(estimator, ops, n_ops, ATTENTION);
  if (system->memory_factor < 1 || system->memory_factor > 1)
    cost->compute_s +=
        (system->memory_factor - 1) * part_s(estimator, ops, n_ops, BETWEEN);
  cost->compute_s *= system->compute_factor;
  cost->beside_s *= system->compute_factor;
  cost->comm_s *= system->comm_factor;
}

/* Kernels and copies that Megatron-Core 0.13 issues one by one for an expert
 * layer: counted in megatron/core/transformer/moe, with the all-to-all
 * dispatcher, grouped products and nothing fused.  A backward has as many,
 * unless said.
 *
 *   11   router.py, moe_utils.py: scores in fp32, top-k, softmax, the routes
 *    8   token_dispatcher.py: sums of the routes, their gather, copies to the
 *        host, which waits for them
 *   14   permute(), unpermute(): masks, indices, rows, probabilities
 *    4   sort_chunks_by_idxs(), beside each: rows, probabilities
 *   17   experts.py: two products of Transformer Engine, each as much Python
 *        as six kernels, four of them backward; the activation, in fp32
 *
 * Less those of the op list, which are the fused ones of serving engines: the
 * router, two permutations, two products and an activation, or five.
 *
 * Backward a hook adds the gradient of each weight to the buffer of gradients
 * (distributed_data_parallel.py), two of every expert here: neither verl nor
 * NeMo-RL, whose image lacks Apex, has the product add it
 * (gradient_accumulation_fusion). */
#define EXPERT_LAUNCHES (11 + 8 + 14 + 4 + 17 - 6)
#define EXPERT_BACKWARD_LAUNCHES (EXPERT_LAUNCHES + 2 * 6 - 2)
#define EXPERT_WEIGHTS 2

static guint64
n_added(const RaShard *shard, const RaOp *ops, guint n_ops, int phase)
{
  gboolean back = phase == RA_PHASE_BACKWARD;
  guint64 n = 0, added = back ? EXPERT_BACKWARD_LAUNCHES : EXPERT_LAUNCHES;

  if (back && shard->model->lora_rank == 0)
    added += EXPERT_WEIGHTS * shard->model->n_experts / MAX(shard->ep, 1);
  for (guint i = 0; i < n_ops; i++)
    if (ops[i].kind == RA_OP_ROUTER)
      n += ops[i].count * added;
  return n;
}

/* Bytes of those copies, as a share of the op list's, which counts for each of
 * two permutations k rows on one side and one on the other, of k experts a
 * token.  index_select() reads and writes k; scatter_add_() reads k, and reads
 * and writes as many sums, which were set to 0: 5 k + 1 rows, all that there is
 * behind DeepEP; sort_chunks_by_idxs() beside an all-to-all of copies reads and
 * writes k on both sides of the experts. */
static double
copies_frac(double k, gboolean sorts)
{
  return ((sorts ? 9 : 5) * k + 1) / (2 * k + 2);
}

/* Seconds of the copies of @ops beyond the op list's. */
static double
copies_s(const RaEstimator *estimator, const RaShard *shard, const RaOp *ops,
         guint n_ops)
{
  gboolean sorts = shard->dispatch == RA_DISPATCH_COPIES;
  double s = 0;

  if (estimator->system.train_launch_s <= 0)
    return 0;
  for (guint i = 0; i < n_ops; i++)
    if (ops[i].kind == RA_OP_PERMUTE)
      s += (copies_frac((double)MAX(ops[i].dim[2], 1), sorts) - 1) *
           ra_estimator_call_op_s(estimator, &ops[i], FALSE) * ops[i].count;
  return s;
}

static void
add_segment(const RaEstimator *estimator, const RaShard *shard,
            const RaWork *work, const RaPiece *piece, RaCost *cost)
{
  RaOp ops[RA_OP_LIST_MAX];
  guint n_ops =
      ra_op_list(shard, piece, (RaPhase)work->phase, &work->batch, ops);
  RaCost part = {0};
  guint64 n_launches =
      ra_estimator_sum_ops(estimator, ops, n_ops, FALSE, &part);
  double idle_s;

  n_launches += n_added(shard, ops, n_ops, work->phase);
  part.compute_s += copies_s(estimator, shard, ops, n_ops);
  ra_estimator_scale(estimator, ops, n_ops, &part);
  idle_s = (double)n_launches * estimator->system.train_launch_s -
           part.compute_s - part.comm_s;
  idle_s = MAX(idle_s, 0);
  cost->compute_s += part.compute_s;
  cost->comm_s += part.comm_s;
  cost->host_s += part.host_s + idle_s;
  cost->beside_s += MAX(part.beside_s - idle_s, 0);
}

void
ra_estimator_segments(const RaEstimator *estimator, const RaShard *shard,
                      const RaWork *work, RaCost *out_cost)
{
  RaPiece layers = work->piece, embedding = work->piece, head = work->piece;

  layers.has_embedding = layers.has_head = 0;
  embedding.n_layers = embedding.has_head = 0;
  head.n_layers = head.has_embedding = 0;
  *out_cost = (RaCost){0};
  add_segment(estimator, shard, work, &layers, out_cost);
  add_segment(estimator, shard, work, &embedding, out_cost);
  add_segment(estimator, shard, work, &head, out_cost);
  out_cost->total_s = out_cost->compute_s + out_cost->comm_s + out_cost->host_s;
}
