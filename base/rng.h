/* Random numbers that are the same on every machine and compiler.
 *
 * Counter based (Philox4x32-10, Salmon et al., SC 2011): the n-th number of
 * stream s under seed k is a pure function of (k, s, n), so results do not
 * depend on the number of threads or the order of draws.  Logarithm and exponential are
 * our own (ra_log, ra_exp: + - x / and bit moves only), because libm's differ in
 * the last bit between machines and a fingerprint must not.
 *
 *     RaRng rng = ra_rng_init(seed, stream);
 *     double u = ra_rng_uniform(&rng);         in (0, 1)
 */
#ifndef RA_BASE_RNG_H
#define RA_BASE_RNG_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  uint64_t seed;    /* key */
  uint64_t stream;  /* high half of the counter */
  uint64_t counter; /* low half: numbers drawn so far */
} RaRng;

RaRng ra_rng_init(uint64_t seed, uint64_t stream);

/* 64 fresh bits. */
uint64_t ra_rng_bits(RaRng *rng);

/* Uniform in the open interval (0, 1), 53 bits. */
double ra_rng_uniform(RaRng *rng);

/* Uniform integer in [0, n), unbiased; n >= 1. */
uint64_t ra_rng_below(RaRng *rng, uint64_t n);

/* Standard normal by the inverse distribution function (Acklam's rational approximation
 * refined by one Halley step on our own erfc, or Wichura's AS241: say which),
 * relative error below 1e-9: one draw a number, monotone in the uniform. */
double ra_rng_normal(RaRng *rng);

/* exp and log within 2 ulp of libm on [-700, 700] and (0, inf), bit-identical everywhere. */
double ra_exp(double x);
double ra_log(double x);

#endif
