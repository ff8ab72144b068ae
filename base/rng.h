/* Random numbers that are the same on every machine and compiler.
 *
 * Counter based (Philox4x32-10, Salmon et al., SC 2011): the n-th number of
 * stream s under seed k is a pure function of (k, s, n).  Results therefore do
 * not depend on the number of threads or the order of sampling.  Logarithm and
 * exponential are our own (ra_log, ra_exp: + - x / and bit moves only).  Those
 * of libm differ in the last bit between machines, and a fingerprint must not.
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
  uint64_t counter; /* low half: numbers sampled so far */
} RaRng;

RaRng ra_rng_init(uint64_t seed, uint64_t stream);

/**
 * ra_rng_block:
 * @counter: 128 bits, least significant word first
 * @key: 64 bits, likewise
 * @out: (out): 128 bits
 *
 * The bare Philox4x32-10 function.
 */
void ra_rng_block(const uint32_t counter[4], const uint32_t key[2],
                  uint32_t out[4]);

/* 64 fresh bits: the low half of the block (stream, counter) under seed. */
uint64_t ra_rng_bits(RaRng *rng);

/* Uniform in the open interval (0, 1): an odd multiple of 2^-53, so that 0 and
 * 1 cannot occur and 1 - u is as likely as u. */
double ra_rng_uniform(RaRng *rng);

/* Uniform integer in [0, n), unbiased by rejection; n >= 1. */
uint64_t ra_rng_below(RaRng *rng, uint64_t n);

/* Standard normal: ra_normal_quantile() of one uniform number, in which it is
 * monotone. */
double ra_rng_normal(RaRng *rng);

/**
 * ra_normal_quantile:
 * @p: probability, 0 < p < 1
 *
 * The x with P(N(0,1) <= x) = @p.  Source: M. J. Wichura, algorithm AS 241
 * (PPND16), Applied Statistics 37 (1988); relative error about 1e-16.
 *
 * Returns: the quantile; bit-identical everywhere
 */
double ra_normal_quantile(double p);

/**
 * ra_normal_cdf:
 *
 * Distribution function of the standard normal law, absolute error below
 * 1e-15, with + - x / and ra_exp() only:
 *
 *     Phi(x) = 1/2 + phi(x) (x + x^3/3 + x^5/(3 5) + x^7/(3 5 7) + ...)
 *
 * Source: Marsaglia, "Evaluating the Normal Distribution", J. Stat. Softw. 11
 * (2004) issue 4.  All terms have x's sign, so nothing cancels for x > 0.
 *
 * Returns: P(N(0,1) <= @x); bit-identical everywhere
 */
double ra_normal_cdf(double x);

/* exp and log, bit-identical everywhere and within 2 ulp of the true value on
 * [-700, 700] and (0, inf).  Elsewhere they return what libm does: 0, inf,
 * -inf at 0, and NaN. */
double ra_exp(double x);
double ra_log(double x);

#endif
