/* Philox4x32-10, inline, from one source for the host and for a GPU.
 *
 * Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011; multipliers from its table 2, key increments: the
 * golden ratio and sqrt(3) - 1 in 32 bits.
 */
#ifndef RA_BASE_PHILOX_H
#define RA_BASE_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define RA_PHILOX_INLINE __host__ __device__ static inline
#else
#define RA_PHILOX_INLINE static inline
#endif

#define RA_PHILOX_ROUNDS 10
#define RA_PHILOX_MULTIPLIER_0 UINT64_C(0xd2511f53)
#define RA_PHILOX_MULTIPLIER_1 UINT64_C(0xcd9e8d57)
#define RA_PHILOX_WEYL_0 UINT32_C(0x9e3779b9)
#define RA_PHILOX_WEYL_1 UINT32_C(0xbb67ae85)

/**
 * ra_philox:
 * @counter: 128 bits, least significant word first
 * @key: 64 bits, likewise
 * @out: (out): 128 bits
 */
RA_PHILOX_INLINE void
ra_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];

  for (int i = 0; i < RA_PHILOX_ROUNDS; i++) {
    uint64_t p0 = RA_PHILOX_MULTIPLIER_0 * c0;
    uint64_t p1 = RA_PHILOX_MULTIPLIER_1 * c2;

    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += RA_PHILOX_WEYL_0;
    k1 += RA_PHILOX_WEYL_1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

#endif
