/* Weights that a run begins with, a pure function of the seed and the place in
 * the model, and their fp32 copy.
 *
 * A model of some billion weights would take a host minutes.  The numbers are
 * uniform with deviation 0.02, so of width 0.02 sqrt(12).  A block of Philox
 * gives 32 bits; with a half they and their difference from 1/2 are exact in
 * double, and the product is rounded once, whether or not it is fused.  So both
 * sides have the same bits.
 */
#ifndef RA_KERNELS_SEED_H
#define RA_KERNELS_SEED_H

#include <stddef.h>

#include "base/philox.h"
#include "kernels/cpu/bf16.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RA_SEED_WIDTH 0.06928203230275509 /* 0.02 sqrt(12) */
#define RA_SEED_STREAM 0x5eedu

/* A rectangle of a tensor. */
typedef struct {
  uint64_t seed;
  uint32_t tensor;   /* its number in the model */
  uint64_t row, col; /* of its first element */
  uint64_t n_cols;
} RaSeedRect;

/* Element @i of @rect, by rows. */
RA_HD float
ra_seeded(const RaSeedRect *rect, uint64_t i)
{
  uint32_t counter[4] = {(uint32_t)(rect->col + i % rect->n_cols),
                         (uint32_t)(rect->row + i / rect->n_cols), rect->tensor,
                         RA_SEED_STREAM};
  uint32_t key[2] = {(uint32_t)rect->seed, (uint32_t)(rect->seed >> 32)};
  uint32_t out[4];

  ra_philox(counter, key, out);
  return (float)(RA_SEED_WIDTH * (((double)out[0] + 0.5) * 0x1p-32 - 0.5));
}

/**
 * ra_k_seed:
 * @n: elements of @rect, fewer than 2^39
 * @out: (n) bf16
 *
 * 2 bytes an element.   Returns: a CUDA error code
 */
int ra_k_seed(size_t n, const RaSeedRect *rect, uint16_t *out, void *stream);

/**
 * ra_k_widen:
 * @n: elements, fewer than 2^39
 * @x: (n) bf16, anywhere
 * @out: (n) fp32, the same numbers
 *
 * 6 bytes an element.   Returns: a CUDA error code
 */
int ra_k_widen(size_t n, const uint16_t *x, float *out, void *stream);

#ifdef __cplusplus
}
#endif

#endif
