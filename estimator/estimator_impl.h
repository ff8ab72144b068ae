/* What an estimator is made of; for estimator/ and its tests alone. */
#ifndef RA_ESTIMATOR_ESTIMATOR_IMPL_H
#define RA_ESTIMATOR_ESTIMATOR_IMPL_H

#include "estimator/attention.h"
#include "estimator/collective.h"
#include "estimator/estimator.h"
#include "estimator/gemm.h"
#include "estimator/memory_op.h"

/* Which law a memory-bound op follows. */
typedef enum {
  RA_MEMORY_NORM,
  RA_MEMORY_ROPE,
  RA_MEMORY_ACTIVATION,
  RA_MEMORY_ADD,
  RA_MEMORY_EMBEDDING,
  RA_MEMORY_OTHER,
  RA_N_MEMORY_LAWS
} RaMemoryLawKind;

struct _RaEstimator {
  RaGemmLaw gemm;                        /* bf16, fp16, fp32 */
  RaGemmLaw gemm_fp8;                    /* fp8; bf16's where there is none */
  RaAttentionLaw attention;              /* whole sequences */
  RaDecodeAttentionLaw decode_attention; /* one token a sequence */
  RaMemoryLaw memory[RA_N_MEMORY_LAWS];  /* by RaMemoryLawKind */
  RaLinkLaws links;                      /* what GPUs send */
  double eager_launch_s;                 /* host time of a kernel */
  double graph_launch_s;                 /* host time of a list in a graph */
  double graph_gap_s;                    /* before each kernel of a graph */
  RaSystemConstants system;              /* of the system that runs on it */
};

/* Launches of a list, what the host adds to it, and cost's total. */
void ra_estimator_add_host(const RaEstimator *estimator, guint64 n_launches,
                           int launch, RaCost *cost);

#endif
