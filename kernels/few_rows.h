/* A GEMM of a decode step: few rows, of which each takes all of the weights.
 *
 * y (m, n) = x (m, k) weight (n, k)' with m <= 16 reads the weights once and
 * little else, so it is bound by the bandwidth of memory.  A block has 16, 32
 * or 64 columns of y; its eight warps share the terms, each with loads of 16
 * bytes that go from memory to the operands of the tensor cores (mma.sync)
 * without shared memory, and their sums are added in the order of the warps.
 * Bytes: 2 n k, and the rows of x once a block, from the cache.
 *
 *     RaKFewRows g = {.m = 16, .n = rows, .k = hidden, .stride_x = hidden,
 *                     .stride_weight = hidden, .stride_y = rows,
 *                     .n_processors = 132};
 *     ra_k_few_rows(&g, x, weight, NULL, y, stream);
 *
 * Error of an element: k 2^-22 sum |terms| (tensor cores truncate; see
 * exec/backend/cuda_selftest.c), then 2^-8 of it if y is bf16.  Reference: the
 * sums in double.
 */
#ifndef RA_KERNELS_FEW_ROWS_H
#define RA_KERNELS_FEW_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RA_K_FEW_ROWS 16

typedef struct {
  size_t m;              /* <= RA_K_FEW_ROWS */
  size_t n;              /* <= 2^31 */
  size_t k;              /* a multiple of 8 */
  size_t stride_x;       /* elements between rows, >= k, a multiple of 8 */
  size_t stride_weight;  /* likewise */
  size_t stride_y;       /* elements between rows, >= n */
  bool f32;              /* y is fp32, else bf16 */
  bool adds;             /* y += ..., rounded once */
  unsigned n_processors; /* multiprocessors of the GPU */
} RaKFewRows;

/**
 * ra_k_few_rows:
 * @x: bf16, 16-byte aligned
 * @weight: bf16, 16-byte aligned
 * @bias: (nullable): (n) bf16, added before y is rounded
 * @y: bf16 or fp32
 *
 * Returns: a cudaError_t; 1 (cudaErrorInvalidValue): a shape or an alignment is
 *   not allowed, and nothing runs
 */
int ra_k_few_rows(const RaKFewRows *shape, const uint16_t *x,
                  const uint16_t *weight, const uint16_t *bias, void *y,
                  void *stream);

/* TRUE if ra_k_few_rows() takes @shape. */
bool ra_k_few_rows_ok(const RaKFewRows *shape);

#ifdef __cplusplus
}
#endif

#endif
