/* The laws of an estimator, private to estimator/ and its tests. */
#ifndef RA_ESTIMATOR_ESTIMATOR_IMPL_H
#define RA_ESTIMATOR_ESTIMATOR_IMPL_H

#include "estimator/attention.h"
#include "estimator/attention_core.h"
#include "estimator/collective.h"
#include "estimator/estimator.h"
#include "estimator/experts.h"
#include "estimator/gemm.h"
#include "estimator/memo.h"
#include "estimator/memory_op.h"
#include "estimator/overlap.h"
#include "estimator/roof.h"

/* The law of a memory-bound op. */
typedef enum {
  RA_MEMORY_NORM,
  RA_MEMORY_ROPE,
  RA_MEMORY_ACTIVATION,
  RA_MEMORY_ADD,
  RA_MEMORY_EMBEDDING,
  RA_MEMORY_OTHER,
  RA_MEMORY_NORM_BACKWARD, /* from here on optional in a profile */
  RA_MEMORY_ACTIVATION_BACKWARD,
  RA_MEMORY_EMBEDDING_BACKWARD,
  RA_MEMORY_CROSS_ENTROPY,
  RA_MEMORY_CROSS_ENTROPY_BACKWARD,
  RA_MEMORY_SAMPLE,
  RA_MEMORY_LOSS,
  RA_MEMORY_OPTIMIZER,
  RA_MEMORY_CAST,
  RA_N_MEMORY_LAWS
} RaMemoryLawKind;

RaForks *ra_forks_new(void);

/* Laws of attention; the first is that of what a profile has no other for. */
typedef enum {
  RA_PREFILL_CAUSAL,
  RA_PREFILL_WIDE,  /* of wide heads, or in a window */
  RA_PREFILL_WHOLE, /* without a mask */
  RA_PREFILL_FP8,   /* for an 8-bit cache */
  RA_N_PREFILLS
} RaPrefill;

typedef enum {
  RA_DECODE_NARROW,
  RA_DECODE_WIDE, /* of wide heads */
  RA_DECODE_FP8,  /* of an 8-bit cache */
  RA_N_DECODES
} RaDecodeLaw;

struct _RaEstimator {
  RaGemmLaw gemm;        /* bf16, fp16, fp32 */
  RaGemmLaw gemm_fp8;    /* fp8; bf16's if there is none */
  RaGemmLaw gemm_fp32;   /* fp32, if it was measured */
  RaGemmLaw gemm_block;  /* fp8 by blocks; else gemm_fp8 */
  RaGemmLaw gemm_narrow; /* NVFP4; else gemm_fp8 */
  RaExpertsLaws experts; /* by engine and type */
  gboolean has_fp32;     /* gemm_fp32 was measured */
  /* by engine, of which it has the common laws where the profile lacks its own
   */
  RaRoofLaw roofs[RA_N_KERNELS][RA_N_ROOFS];
  RaAttentionLaw attention[RA_N_PREFILLS];             /* whole sequences */
  RaDecodeAttentionLaw decode_attention[RA_N_DECODES]; /* a token a sequence */
  RaMemoryLaw memory[RA_N_MEMORY_LAWS];                /* by RaMemoryLawKind */
  RaLinkLaws links;                                    /* communication */
  double eager_launch_s;                 /* host time of a kernel */
  double graph_launch_s;                 /* host time of a list in a graph */
  double graph_gap_s;                    /* before each kernel of a graph */
  RaOverlapLaw overlap;                  /* slowdown by overlap */
  double wall_per_cpu;                   /* of computation and copies */
  RaSystemConstants system;              /* constants of the training system */
  gboolean is_real;                      /* calls cost what ReaL estimates */
  RaForks *forks;                        /* owned, by a fork borrowed */
  gboolean is_fork;                      /* memory of laws belongs to another */
  RaOpMemo *memo;                        /* memo of a fork; else NULL */
  RaLinesMemo *lines;                    /* likewise */
  RaEstimator *kinds[RA_NODE_KINDS_MAX]; /* further kinds of nodes, from 1 on;
                                            owned */
  guint n_kinds;                         /* >= 1 */
};

/* Reads the coefficients of @law again, and of the laws beside it.  @estimator
 * was made from @profile and @cluster; only @law has changed. */
void ra_estimator_renew(RaEstimator *estimator, const RaProfile *profile,
                        const RaCluster *cluster, const char *law);

/* The law of a memory-bound @op; RA_MEMORY_OTHER for ops without one of their
 * own. */
RaMemoryLawKind ra_estimator_memory_kind(const RaOp *op);

/* Frees what the laws of decode attention own. */
void ra_estimator_clear_decode(RaEstimator *estimator);

/* TRUE if @op is on an 8-bit cache and @kernels read it with the kernel of the
 * law for it.  On Hopper that is FlashAttention 3; TensorRT-LLM has kernels of
 * its own there (cpp/kernels/xqa), of which the measurements have no table: the
 * law of 16-bit caches, on the bytes of this one, stands for them.  From
 * generation 4 on the tables are of TensorRT-LLM's kernels, in FlashInfer. */
static inline gboolean
ra_estimator_has_8bit(const RaOp *op, guint flash, RaKernels kernels)
{
  return op->dtype == RA_DTYPE_FP8 &&
         !(kernels == RA_KERNELS_TRTLLM && flash == 3);
}

/* The law of @op, attention over whole sequences or its gradient. */
static inline const RaAttentionLaw *
ra_estimator_attention(const RaEstimator *estimator, const RaOp *op,
                       RaKernels kernels)
{
  const RaAttentionLaw *laws = estimator->attention;

  if (op->flags & RA_OP_NONCAUSAL)
    return &laws[RA_PREFILL_WHOLE];
  if (ra_estimator_has_8bit(op, laws[RA_PREFILL_FP8].flash, kernels))
    return &laws[RA_PREFILL_FP8];
  return &laws[ra_op_is_wide(op) ? RA_PREFILL_WIDE : RA_PREFILL_CAUSAL];
}

/* The law of @op, a decode step's attention. */
static inline const RaDecodeAttentionLaw *
ra_estimator_decode_attention(const RaEstimator *estimator, const RaOp *op,
                              RaKernels kernels)
{
  const RaDecodeAttentionLaw *laws = estimator->decode_attention;

  if (ra_estimator_has_8bit(op, laws[RA_DECODE_FP8].flash, kernels))
    return &laws[RA_DECODE_FP8];
  return &laws[ra_op_is_wide(op) ? RA_DECODE_WIDE : RA_DECODE_NARROW];
}

/* The roof law of @op; NULL: it has none, or the profile lacks it. */
const RaRoofLaw *ra_estimator_roof(const RaEstimator *estimator, const RaOp *op,
                                   RaKernels kernels);

/* The law of @op, an expert layer, if there is any. */
const RaExpertsLaw *ra_estimator_experts(const RaEstimator *estimator,
                                         const RaOp *op, RaKernels kernels);

/* ra_estimator_op_s() of a call: the engine's kernels run in those that
 * generate, the common ones in the others. */
double ra_estimator_call_op_s(const RaEstimator *estimator, const RaOp *op,
                              gboolean generates);

/* Adds the host time of @n_launches launches to @cost, and sets its total. */
void ra_estimator_add_host(const RaEstimator *estimator, guint64 n_launches,
                           int launch, RaCost *cost);

/* Adds device and host work of @ops of a call to @cost, without their launches.
 * Returns: number of kernels to launch */
guint64 ra_estimator_sum_ops(const RaEstimator *estimator, const RaOp *ops,
                             guint n_ops, gboolean generates, RaCost *cost);

/* The system's factor on the seconds of @op in calls that do not generate. */
double ra_estimator_factor(const RaEstimator *estimator, const RaOp *op);

/* Multiplies the device seconds of @cost, which is that of @ops, by the factors
 * of the system. */
void ra_estimator_scale(const RaEstimator *estimator, const RaOp *ops,
                        guint n_ops, RaCost *cost);

/* An eager forward or backward pass of train or inference under a system with
 * its own launch time: the sum over layers, embedding and head of
 *
 *     max(device, launches x train_launch)
 *
 * as the host does not run ahead from one to the next.  Expert layers count the
 * launches of training, not those of serving. */
void ra_estimator_segments(const RaEstimator *estimator, const RaShard *shard,
                           const RaWork *work, RaCost *out_cost);

/* Slope of the device time of decode @ops of @batch, s per token, and the last
 * number of tokens for which it is valid. */
double ra_estimator_device_line(const RaEstimator *estimator,
                                const RaModel *model, const RaBatch *batch,
                                const RaOp *ops, guint n_ops,
                                uint64_t *out_until_tokens);

/* The last whole number of tokens at which a line that rises by @slope from
 * @from_tokens has risen by at most @rise_s. */
uint64_t ra_crossing_tokens(uint64_t from_tokens, double rise_s, double slope);

/* ra_estimator_decode() with sharded weights, without the host: the cost of
 * @out_line has no host_s and no total.
 * Returns: number of kernels to launch */
guint64 ra_estimator_decode_gathered(const RaEstimator *estimator,
                                     const RaShard *shard, const RaPiece *piece,
                                     const RaBatch *batch,
                                     RaDecodeLine *out_line);

/* Adds to an eager decode step the excess of the system's host time over device
 * and launches. */
void ra_estimator_add_layers(const RaEstimator *estimator, const RaShard *shard,
                             const RaPiece *piece, RaCost *cost);

/* Adds the passes of the layer that drafts for one pass of @decode. */
void ra_estimator_add_drafts(const RaEstimator *estimator, const RaShard *shard,
                             const RaPiece *piece, const RaBatch *decode,
                             RaCost *cost);

/* Adds what the engine does between any two steps of generation, at the last
 * stage: nothing of it hides. */
void ra_estimator_add_between(const RaEstimator *estimator,
                              const RaPiece *piece, uint32_t n_sequences,
                              RaCost *cost);

#endif
