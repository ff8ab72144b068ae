/* Grouped GEMM: groups of rows, each with a matrix of its own, in one launch,
 * as for the rows of experts.
 *
 * The rows of a group follow those of the groups before it.  The kernel reads
 * the numbers of rows on the device: the host only knows their sum and never
 * waits, and a group without rows costs nothing.  Persistent blocks (two a
 * multiprocessor) go over the tiles of all groups, 64 x 128 of a result, with
 * mma.sync.  Sums go over 64 terms at a time, with two such steps in flight
 * while one is computed.
 *
 *     RaKGroups g = {.n_groups = 128, .n_rows = 8 * tokens, .counts = counts,
 *                    .n = 1536, .k = 2048, .n_processors = 132};
 *     ra_k_grouped(&g, x, weight, y, stream);
 *
 * It is meant for few rows a group, when reading the matrices dominates.  For
 * many rows the library is faster: on capability 9.0, mma.sync has about 0.6 of
 * the rate of the tensor cores (arXiv 2402.13499), and here threads do the
 * copying.  But the library needs the counts on the host, also for groups
 * (cublasGemmGroupedBatchedEx()).  The caller chooses:
 * exec/backend/backend_cuda_experts.c.
 *
 * Error of an element: t 2^-22 sum |terms| for its t terms (tensor cores
 * truncate; see exec/backend/cuda_selftest.c), then 2^-8 of it if it is bf16,
 * and 2^-24 if it is added to.  The order of a sum is that of its terms,
 * without atomics.  Reference: the sums in double.
 */
#ifndef RA_KERNELS_GROUPED_H
#define RA_KERNELS_GROUPED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RA_K_GROUPS 1024u

typedef struct {
  uint32_t n_groups;      /* <= RA_K_GROUPS */
  size_t n_rows;          /* rows of all groups, < 2^32 */
  const uint32_t *counts; /* device: (n_groups) rows of each group */
  size_t n, k;            /* the matrix of a group is (n, k): multiples of 8 */
  uint32_t n_processors;  /* multiprocessors of the GPU */
} RaKGroups;

/**
 * ra_k_grouped:
 * @x: (n_rows, k) bf16
 * @weight: (n_groups, n, k) bf16
 * @y: (n_rows, n) bf16, written: y = x weight' for each group
 * @stream: a cudaStream_t
 *
 * All arrays are device memory, 16-byte aligned, as for the two gradients.
 *
 * Returns: a cudaError_t; 1 (cudaErrorInvalidValue): a shape or an alignment
 *   is not allowed, and nothing runs
 */
int ra_k_grouped(const RaKGroups *groups, const uint16_t *x,
                 const uint16_t *weight, uint16_t *y, void *stream);

/* @d_x (n_rows, k) bf16, written: d_x = d_y weight for each group. */
int ra_k_grouped_input(const RaKGroups *groups, const uint16_t *d_y,
                       const uint16_t *weight, uint16_t *d_x, void *stream);

/* @d_weight (n_groups, n, k) fp32: d_weight += d_y' x for each group. */
int ra_k_grouped_weight(const RaKGroups *groups, const uint16_t *d_y,
                        const uint16_t *x, float *d_weight, void *stream);

#ifdef __cplusplus
}
#endif

#endif
