/* bfloat16 and the arithmetic that a kernel and its CPU reference share.
 *
 * A bf16 is kept as its 16 bits: sign, 8 bits of exponent, 7 of fraction, that
 * is the upper half of an fp32.  With the hidden bit it has p = 8 significant
 * bits, so that rounding a normal number to nearest is wrong by at most
 *
 *     RA_BF16_U = 2^-8 (relative), RA_F32_U = 2^-24 for fp32.
 *
 * The functions are compiled by the C compiler for the reference and by nvcc
 * for the device, from this one text; +, x, / and sqrt are IEEE 754 on both
 * sides (nvcc's defaults -prec-div=true -prec-sqrt=true; never
 * -use_fast_math), so what is written here gives the same bits on both.
 *
 *     float sum = ra_bf16_to_f32(x[i]) + ra_bf16_to_f32(r[i]);
 *     r[i] = ra_bf16_from_f32(sum);
 */
#ifndef RA_KERNELS_CPU_BF16_H
#define RA_KERNELS_CPU_BF16_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define RA_HD __host__ __device__ static inline
#else
#define RA_HD static inline
#endif

#define RA_BF16_U (1.0 / 256)     /* unit roundoff of bf16, 2^-8 */
#define RA_F32_U (1.0 / 16777216) /* unit roundoff of fp32, 2^-24 */

/**
 * ra_bf16_to_f32:
 * @bits: any bf16, NaN and infinity included
 *
 * Returns: the same number; every bf16 is an fp32, so nothing is rounded
 */
RA_HD float
ra_bf16_to_f32(uint16_t bits)
{
  uint32_t wide = (uint32_t)bits << 16;
  float value;

  memcpy(&value, &wide, sizeof value);
  return value;
}

/**
 * ra_bf16_from_f32:
 * @value: any fp32
 *
 * Rounds to nearest, ties to even, as PyTorch and the tensor cores do.
 * Subnormals are kept, overflow gives infinity, a NaN stays one (quiet; on the
 * host with its sign and upper fraction bits).
 *
 * Adding 0x7fff plus the lowest kept bit carries into the kept half exactly
 * when the dropped half is above 0x8000, or equal to it and the kept half odd.
 *
 * A GPU has an instruction (cvt.rn.bf16.f32, PTX ISA 9.7.9.21) for what would
 * be six.  It counts: of 132 processors x 128 lanes x 1.98 GHz a kernel that
 * moves 6 bytes an element at 4.3 TB/s has 47 instructions for it.
 *
 * Returns: the bits of the nearest bf16
 */
RA_HD uint16_t
ra_bf16_from_f32(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint16_t rounded;

  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
  return rounded;
#else
  uint32_t bits;

  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

#endif
