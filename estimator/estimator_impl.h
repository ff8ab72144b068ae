/* What an estimator is made of; for estimator/ and its tests alone. */
#ifndef RA_ESTIMATOR_ESTIMATOR_IMPL_H
#define RA_ESTIMATOR_ESTIMATOR_IMPL_H

#include "estimator/attention.h"
#include "estimator/attention_core.h"
#include "estimator/collective.h"
#include "estimator/estimator.h"
#include "estimator/gemm.h"
#include "estimator/memo.h"
#include "estimator/memory_op.h"
#include "estimator/overlap.h"

/* Which law a memory-bound op follows. */
typedef enum {
  RA_MEMORY_NORM,
  RA_MEMORY_ROPE,
  RA_MEMORY_ACTIVATION,
  RA_MEMORY_ADD,
  RA_MEMORY_EMBEDDING,
  RA_MEMORY_OTHER,
  RA_MEMORY_NORM_BACKWARD, /* from here on a profile may lack it */
  RA_MEMORY_ACTIVATION_BACKWARD,
  RA_MEMORY_EMBEDDING_BACKWARD,
  RA_MEMORY_CROSS_ENTROPY,
  RA_MEMORY_CROSS_ENTROPY_BACKWARD,
  RA_MEMORY_SAMPLE,
  RA_MEMORY_LOSS,
  RA_MEMORY_OPTIMIZER,
  RA_N_MEMORY_LAWS
} RaMemoryLawKind;

struct _RaEstimator {
  RaGemmLaw gemm;                        /* bf16, fp16, fp32 */
  RaGemmLaw gemm_fp8;                    /* fp8; bf16's where there is none */
  RaGemmLaw gemm_fp32;                   /* fp32, where it was measured */
  gboolean has_fp32;                     /* it was */
  RaAttentionLaw attention;              /* whole sequences */
  RaDecodeAttentionLaw decode_attention; /* one token a sequence */
  RaMemoryLaw memory[RA_N_MEMORY_LAWS];  /* by RaMemoryLawKind */
  RaLinkLaws links;                      /* what GPUs send */
  double eager_launch_s;                 /* host time of a kernel */
  double graph_launch_s;                 /* host time of a list in a graph */
  double graph_gap_s;                    /* before each kernel of a graph */
  RaOverlapLaw overlap;                  /* of what runs together */
  double wall_per_cpu;                   /* of what computes and copies */
  RaSystemConstants system;              /* of the system that runs on it */
  double one_shot_s_per_byte;            /* of its own all-reduce */
  gboolean is_real;                      /* calls cost what ReaL says */
  gboolean is_fork;                      /* what laws own is another's */
  RaOpMemo *memo;                        /* of a fork; else NULL */
  RaEstimator *kinds[RA_NODE_KINDS_MAX]; /* of further kinds of nodes, from 1
                                            on; owned */
  guint n_kinds;                         /* >= 1 */
};

/* Which law a memory-bound @op follows; those that others follow have one of
 * RA_MEMORY_OTHER's. */
RaMemoryLawKind ra_estimator_memory_kind(const RaOp *op);

/* Launches of a list, what the host adds to it, and cost's total. */
void ra_estimator_add_host(const RaEstimator *estimator, guint64 n_launches,
                           int launch, RaCost *cost);

/* Device and host work of the ops added to @cost, without launching them.
 * Returns: kernels that are launched */
guint64 ra_estimator_sum_ops(const RaEstimator *estimator, const RaOp *ops,
                             guint n_ops, RaCost *cost);

/* What the system multiplies the seconds of @op with, in calls that do not
 * generate. */
double ra_estimator_factor(const RaEstimator *estimator, const RaOp *op);

/* @cost's device seconds, of @ops, by the factors of the system. */
void ra_estimator_scale(const RaEstimator *estimator, const RaOp *ops,
                        guint n_ops, RaCost *cost);

/* A forward or backward of train or inference, launched one by one, under a
 * system that has a launch time of its own: of layers, embedding and head
 *
 *     max(device, launches x train_launch)
 *
 * each, as the host does not run ahead from one to another. */
void ra_estimator_segments(const RaEstimator *estimator, const RaShard *shard,
                           const RaWork *work, RaCost *out_cost);

/* Slope of the device's time of decode @ops, s per token, and how far it
 * holds. */
double ra_estimator_device_line(const RaEstimator *estimator, const RaOp *ops,
                                guint n_ops, uint64_t *out_until_tokens);

/* The last whole number of tokens up to which a line that rises by @slope
 * from @from_tokens has not passed @rise_s. */
uint64_t ra_crossing_tokens(uint64_t from_tokens, double rise_s, double slope);

/* ra_estimator_decode() of weights in shards, without the host: @out_line's
 * cost has no host_s and no total.
 * Returns: kernels that are launched */
guint64 ra_estimator_decode_gathered(const RaEstimator *estimator,
                                     const RaShard *shard, const RaPiece *piece,
                                     const RaBatch *batch,
                                     RaDecodeLine *out_line);

/* All-reduces of generation's @ops by the engine's own kernels, where those are
 * quicker: takes what they save from @cost's comm_s.  With n ranks of a node
 * and the links' data sheet rate
 *
 *     one shot  = one_shot + (n - 1) bytes / rate         each reads all others
 *     two shots = 2 one_shot + 2 (n - 1) / n bytes / rate
 *
 * (vLLM's csrc/custom_all_reduce.cuh, TensorRT-LLM's customAllReduceKernels.cu:
 * one shot for small, two for large messages). */
void ra_estimator_engine_sums(const RaEstimator *estimator, const RaOp *ops,
                              guint n_ops, RaCost *cost);

/* Host time of a step with prompts, which no captured graph is for. */
void ra_estimator_add_prompts(const RaEstimator *estimator,
                              const RaPiece *piece, RaCost *cost);

/* What the system adds to a step of decoding: of its host, eager, what is
 * longer than device and launches; with graphs what stands between two of them.
 */
void ra_estimator_add_system(const RaEstimator *estimator, int launch,
                             const RaPiece *piece, RaCost *cost);

#endif
