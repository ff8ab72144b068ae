/* bfloat16, and the arithmetic that a kernel shares with its CPU reference.
 *
 * A bf16 is stored as its 16 bits: sign, 8 bits of exponent, 7 of fraction,
 * which is the upper half of an fp32.  With the hidden bit it has p = 8
 * significant bits, so the error of rounding a normal number to nearest is at
 * most
 *
 *     RA_BF16_U = 2^-8 (relative), RA_F32_U = 2^-24 for fp32.
 *
 * From this one source, the C compiler compiles the functions for the reference
 * and nvcc for the device.  +, x, / and sqrt are IEEE 754 on both sides (nvcc's
 * defaults -prec-div=true -prec-sqrt=true; never -use_fast_math), so the
 * results have the same bits.
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
 * @bits: any bf16, including NaN and infinity
 *
 * Returns: the same number; every bf16 is an fp32, so there is no rounding
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
 * Subnormals are kept, overflow gives infinity, and a NaN stays a NaN (quiet;
 * on the host with its sign and upper fraction bits).
 *
 * Adding 0x7fff plus the lowest kept bit carries into the kept half exactly
 * when the dropped half is above 0x8000, or equal to it and the kept half odd.
 *
 * A GPU has one instruction (cvt.rn.bf16.f32, PTX ISA 9.7.9.21) instead of six.
 * This matters: with 132 multiprocessors x 128 lanes x 1.98 GHz, a kernel that
 * moves 6 bytes an element at 4.3 TB/s has 47 instructions an element.
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
