/* A 64-bit running hash for fingerprints and interning (not for security).
 *
 * Independent of byte order: integers are fed least significant byte first.
 *
 *     uint64_t h = RA_HASH_INIT;
 *     h = ra_hash_u64(h, seq);
 *     h = ra_hash_text(h, name);
 */
#ifndef RA_BASE_HASH_H
#define RA_BASE_HASH_H

#include <glib.h>
#include <stdint.h>

#define RA_HASH_INIT UINT64_C(0x9e3779b97f4a7c15)

/* One multiply-xorshift round (Pelle Evensen's Moremur constants in the form
 * of Steele et al.'s SplitMix64): every input bit reaches every output bit. */
static inline uint64_t
ra_hash_u64(uint64_t hash, uint64_t value)
{
  uint64_t x =
      hash ^ (value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2));
  x ^= x >> 27;
  x *= UINT64_C(0x3c79ac492ba7b653);
  x ^= x >> 33;
  x *= UINT64_C(0x1c69b3f74ac4ae35);
  x ^= x >> 27;
  return x;
}

/* Bytes, 8 at a time, then the rest and the length. */
uint64_t ra_hash_bytes(uint64_t hash, const void *bytes, gsize n_bytes);

/* A NUL-terminated string, its length included. */
uint64_t ra_hash_text(uint64_t hash, const char *text);

#endif
