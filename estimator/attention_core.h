/* The law of attention that writes its scores to memory.
 *
 * Megatron-LM ran this before flash attention (megatron/model/transformer.py,
 * ParallelAttention, 2021 and 2022): a batched GEMM of queries and keys, a
 * fused softmax that scales and masks, dropout, and a batched GEMM with the
 * values.  It has no fit of its own: it combines the laws of GEMMs and of
 * memory-bound kernels.
 */
#ifndef RA_ESTIMATOR_ATTENTION_CORE_H
#define RA_ESTIMATOR_ATTENTION_CORE_H

#include "estimator/gemm.h"
#include "estimator/memory_op.h"

/**
 * ra_attention_core_s:
 * @gemm: law of the GEMMs
 * @memory: law of softmax, dropout and the copy of the output
 * @op: an %RA_OP_ATTENTION_CORE or its backward
 *
 * With s queries and keys, b sequences, a heads of d elements and e bytes an
 * element.  A batched GEMM counts as one of b a s rows, which has as many
 * tiles:
 *
 *     forward  = gemm(b a s, s, d) + gemm(b a s, d, s)
 *                + (2 e [+ 2 e + 1] b a s^2 + 2 e b a s d) / bandwidth
 *     backward = 2 gemm(b a s, s, d) + 2 gemm(b a s, d, s)
 *                + (3 e [+ 2 e + 1] b a s^2 + 2 e b a s d) / bandwidth
 *
 * The terms in brackets are for dropout.   Cost: two estimates of GEMMs.
 *
 * Returns: seconds, >= 0; 0 without work
 */
double ra_attention_core_s(const RaGemmLaw *gemm, const RaMemoryLaw *memory,
                           const RaOp *op);

#endif
