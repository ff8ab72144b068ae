/* Grouped GEMM: groups of rows, each with a matrix of its own, in one launch,
 * as for the rows of experts.
 *
 * The rows of a group follow those of the groups before it.  The kernel reads
 * the numbers of rows on the device: the host only knows their sum and never
 * waits, and a group without rows costs nothing.  Persistent blocks go over the
 * tiles of all groups.  There are two variants, with the same order of sums:
 *
 *  - any device: tiles of 64 x 128, mma.sync, two blocks a multiprocessor, sums
 *    over 64 terms at a time, two such steps in flight while one is computed;
 *  - capability 9.0: tiles of 128 x 256, wgmma and bulk copies, a block a
 *    multiprocessor, three steps in flight (grouped_sm90a.cu).
 *
 *     RaKGroups g = {.n_groups = 128, .n_rows = 8 * tokens, .counts = counts,
 *                    .n = 1536, .k = 2048, .n_processors = 132};
 *     ra_k_grouped(&g, x, weight, y, stream);
 *
 * The first is meant for few rows a group, when reading the matrices dominates:
 * on capability 9.0 mma.sync has about 0.6 of the rate of the tensor cores
 * (arXiv 2402.13499).  For many rows the library was faster than it; the second
 * has not run on a GPU.  The library needs the counts on the host, also for
 * groups (cublasGemmGroupedBatchedEx()).  The caller chooses:
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
  size_t n_rows;          /* rows of all groups, < 2^31 */
  const uint32_t *counts; /* device: (n_groups) rows of each group */
  size_t n, k;            /* the matrix of a group is (n, k): multiples of 8 */
  uint32_t n_processors;  /* multiprocessors of the GPU */
} RaKGroups;

/* A product: its result, and the terms of its sums. */
typedef enum {
  RA_K_OUTPUT, /* y (rows, n), k terms */
  RA_K_INPUT,  /* d_x (rows, k), n terms */
  RA_K_WEIGHT  /* d_weight (n, k), the group's rows */
} RaKProduct;

/**
 * ra_k_grouped:
 * @x: (n_rows, k) bf16
 * @weight: (n_groups, n, k) bf16
 * @y: (n_rows, n) bf16, written: y = x weight' for each group
 * @stream: a cudaStream_t
 *
 * All arrays are device memory, 16-byte aligned, as for the two gradients.
 * Starts the variant for the device, ra_k_grouped_wgmma() or
 * ra_k_grouped_mma(), and returns.
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

/* The variant for any device with bf16 (since capability 8.0).  @left, @right
 * and @out are the arrays of @product's function above, in its order. */
int ra_k_grouped_mma(RaKProduct product, const RaKGroups *groups,
                     const uint16_t *left, const uint16_t *right, void *out,
                     void *stream);

/* The variant for capability 9.0 alone.  Returns: also 801
 * (cudaErrorNotSupported) on another device, and nothing runs. */
int ra_k_grouped_wgmma(RaKProduct product, const RaKGroups *groups,
                       const uint16_t *left, const uint16_t *right, void *out,
                       void *stream);

#ifdef __cplusplus
}
#endif

#endif
