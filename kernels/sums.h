/* Sums on a GPU over ranks that share it, over rows, and of a bias to rows; and
 * whether an array has what is not a number.
 *
 * Formulas are those of kernels/cpu/cpu_pointwise.h.  All return a cudaError_t,
 * 1 (cudaErrorInvalidValue) for what is not allowed, and then nothing runs.
 * Arrays are device memory of their type's alignment.
 *
 * Errors: sums are in fp32, term by term in order, u = 2^-24:
 *
 *     reduce       (ranks) u sum |terms|, of bf16 then one rounding, U = 2^-8
 *     add_bias     u (|x| + |bias|) and U
 *     add_columns  (rows) u sum |terms|
 */
#ifndef RA_KERNELS_SUMS_H
#define RA_KERNELS_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define RA_K_RANKS 64 /* most arrays of a reduction */

/* Arrays of a reduction: they go to the kernel by value. */
typedef struct {
  uint32_t n_in, n_out; /* 1 to RA_K_RANKS, 0 to it */
  const void *in[RA_K_RANKS];
  void *out[RA_K_RANKS]; /* each may be one of @in */
} RaKRanks;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ra_k_reduce:
 * @n: elements, bf16 or, with @f32, fp32
 * @largest: their largest in place of their sum
 *
 * Element i of every @out becomes the sum of elements i of all @in, in their
 * order.
 */
int ra_k_reduce(const RaKRanks *ranks, size_t n, int f32, int largest,
                void *stream);

/* @y (n_rows, n) += @bias (n), bf16 */
int ra_k_add_bias(size_t n_rows, size_t n, const uint16_t *bias, uint16_t *y,
                  void *stream);

/* @sum (n) fp32 += the columns of @x (n_rows, n) bf16, in a fixed order */
int ra_k_add_columns(size_t n_rows, size_t n, const uint16_t *x, float *sum,
                     void *stream);

/* *@flag = @code if it is 0 and one of @x (n), bf16 or fp32, is not finite;
 * else as it is.  @flag: of the device or of pinned host memory. */
int ra_k_find_odd(size_t n, const void *x, int f32, uint32_t code,
                  uint32_t *flag, void *stream);

#ifdef __cplusplus
}
#endif

#endif
