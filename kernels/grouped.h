/* Products of groups of rows, each group with a matrix of its own, in one
 * launch: what experts make of their rows.
 *
 * Rows of group g lie behind those of the groups before it.  How many each has
 * is read on the device, by the kernel: the host knows their sum and waits for
 * nothing, and a group without rows costs nothing.  Blocks that stay (two a
 * processor) go over the tiles of all groups, 64 x 128 of a result, by
 * mma.sync; sums go over 64 terms at a time, two such steps on their way while
 * one is worked on.
 *
 *     RaKGroups g = {.n_groups = 128, .n_rows = 8 * tokens, .counts = counts,
 *                    .n = 1536, .k = 2048, .n_processors = 132};
 *     ra_k_grouped(&g, x, weight, y, stream);
 *
 * For few rows a group, where reading the matrices takes longest.  For many the
 * library is quicker: on capability 9.0 mma.sync has some 0.6 of the tensor
 * cores' rate (arXiv 2402.13499), and here threads do the copying.  But the
 * library wants the counts from the host, also where it takes groups
 * (cublasGemmGroupedBatchedEx()).  Who calls chooses:
 * exec/backend/backend_cuda_experts.c.
 *
 * Error of an element: t 2^-22 sum |terms| of its t terms (tensor cores
 * truncate; see exec/backend/cuda_selftest.c), then 2^-8 of it where it is
 * bf16, and 2^-24 where it is added to.  The order of a sum is that of its
 * terms, and there is no atomic.  Reference: the sums in double.
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
  size_t n_rows;          /* of all groups, < 2^32 */
  const uint32_t *counts; /* device: (n_groups) rows of each */
  size_t n, k;            /* a group's matrix is (n, k): multiples of 8 */
  uint32_t n_processors;  /* of the GPU */
} RaKGroups;

/**
 * ra_k_grouped:
 * @x: (n_rows, k) bf16
 * @weight: (n_groups, n, k) bf16
 * @y: (n_rows, n) bf16, written: of a group y = x weight'
 * @stream: a cudaStream_t
 *
 * All device memory, 16-byte aligned, as for the two gradients.
 *
 * Returns: a cudaError_t; 1 (cudaErrorInvalidValue): a shape or an alignment
 *   that is not allowed, and then nothing runs
 */
int ra_k_grouped(const RaKGroups *groups, const uint16_t *x,
                 const uint16_t *weight, uint16_t *y, void *stream);

/* @d_x (n_rows, k), written: of a group d_x = d_y weight. */
int ra_k_grouped_input(const RaKGroups *groups, const uint16_t *d_y,
                       const uint16_t *weight, uint16_t *d_x, void *stream);

/* @d_weight (n_groups, n, k) fp32, added to: of a group d_weight += d_y' x. */
int ra_k_grouped_weight(const RaKGroups *groups, const uint16_t *d_y,
                        const uint16_t *x, float *d_weight, void *stream);

#ifdef __cplusplus
}
#endif

#endif
