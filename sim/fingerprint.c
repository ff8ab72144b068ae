/* Fingerprint of a run: hash of names and times. */
#include "config.h"

#include "sim/fingerprint.h"

uint64_t
ra_fingerprint_ns(double time_s)
{
  double ns = time_s * 1e9 + 0.5;

  /* 2^63: a conversion of more is undefined. */
  return ns < 9223372036854775808.0 ? (uint64_t)ns : INT64_MAX;
}

uint64_t
ra_fingerprint_add(uint64_t fingerprint, uint64_t name_hash, double begin_s,
                   double end_s)
{
  fingerprint = ra_hash_u64(fingerprint, name_hash);
  fingerprint = ra_hash_u64(fingerprint, ra_fingerprint_ns(begin_s));
  return ra_hash_u64(fingerprint, ra_fingerprint_ns(end_s));
}
