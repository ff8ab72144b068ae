/* Sums on a GPU over ranks that share it, over rows, and of a bias; and the
 * test for numbers that are not finite.
 *
 * Formulas are those of kernels/cpu/cpu_pointwise.h.  All functions return a
 * cudaError_t: 1 (cudaErrorInvalidValue) if an argument is not allowed, and
 * nothing runs.  Arrays are device memory with the alignment of their type.
 *
 * Errors: sums are in fp32, term by term in order, u = 2^-24:
 *
 *     reduce       (ranks) u sum |terms|; for bf16 one rounding more, U = 2^-8
 *     add_bias     u (|x| + |bias|) and U
 *     add_columns  (rows) u sum |terms|
 */
#ifndef RA_KERNELS_SUMS_H
#define RA_KERNELS_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define RA_K_RANKS 64 /* most arrays of a reduction */

/* Arrays of a reduction, passed to the kernel by value. */
typedef struct {
  uint32_t n_in, n_out; /* 1 to RA_K_RANKS, 0 to RA_K_RANKS */
  const void *in[RA_K_RANKS];
  void *out[RA_K_RANKS]; /* each may be one of @in */
} RaKRanks;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ra_k_reduce:
 * @n: elements, bf16 or, with @f32, fp32
 * @largest: the maximum instead of the sum
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

/* Sets *@flag to @code if it is 0 and an element of @x (n), bf16 or fp32, is
 * not finite.  @flag is in device memory or pinned host memory. */
int ra_k_find_odd(size_t n, const void *x, int f32, uint32_t code,
                  uint32_t *flag, void *stream);

#ifdef __cplusplus
}
#endif

#endif
