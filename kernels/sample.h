/* Sampling of the next token on a GPU: temperature, top-k, top-p; one block a
 * row, or RA_K_SAMPLE_PARTS where all tokens are kept.
 *
 * The rule is that of kernels/cpu/cpu_sample.h, the reference.  The weight of a
 * probability is an integer, exp((z - max) / t) x 2^40 rounded.  So sums are
 * exact in any order, and equal uniform numbers give equal tokens on any GPU.
 * The token differs from that of the reference only if its margin is below
 * RA_K_SAMPLE_MARGIN: the weights differ by exp's error, 2^-22, and by n 2^-41
 * of the largest.
 *
 * Logits are bf16, and equal ones have equal weights.  So top-k and top-p count
 * the tokens of 8,192 values at a time, from the largest value down, and weigh
 * values, not tokens.  Of equal weights at the limit, the first tokens are
 * kept.  A row is read four to eight times, from L2.
 */
#ifndef RA_KERNELS_SAMPLE_H
#define RA_KERNELS_SAMPLE_H

#include "kernels/cpu/cpu_sample.h"

#define RA_K_SAMPLE_MAX (1u << 22) /* tokens, whose weights sum below 2^63 */
#define RA_K_SAMPLE_MARGIN 4e-6f
#define RA_K_SAMPLE_PARTS 8 /* blocks of a row: 16 rows have a GPU's 132 */

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of workspace. */
size_t ra_k_sample_workspace(size_t n_rows);

/**
 * ra_k_sample:
 * @n_rows: sequences
 * @n: tokens, 1 to RA_K_SAMPLE_MAX
 * @logits: (n_rows, n) bf16
 * @sampling: parameters of all rows
 * @uniforms: (n_rows) in [0, 1)
 * @slots: (n_rows) places in @newest; read with @newest only
 * @newest: (nullable): where the token of a row also goes, for
 *   ra_k_embedding()
 * @out: (n_rows); margins are within RA_K_SAMPLE_MARGIN of the reference's
 * @workspace: (nullable): ra_k_sample_workspace() bytes, 16-byte aligned; NULL:
 *   a block a row, which takes longer and gives the same bits
 * @counts: (n_rows) zeroes, and zeroes again afterwards; with @workspace
 *
 * All arrays are device memory.
 *
 * Returns: a cudaError_t
 */
int ra_k_sample(size_t n_rows, uint32_t n, const uint16_t *logits,
                const RaCpuSampling *sampling, const double *uniforms,
                const uint32_t *slots, uint32_t *newest, RaCpuSample *out,
                void *workspace, uint32_t *counts, void *stream);

#ifdef __cplusplus
}
#endif

#endif
