/* Hashing of byte strings, eight bytes at a time. */
#include "config.h"

#include <string.h>

#include "base/hash.h"

/* @n_bytes <= 8 bytes as an integer, the first least significant. */
static uint64_t
little_endian(const unsigned char *bytes, gsize n_bytes)
{
  uint64_t value = 0;

  for (gsize i = 0; i < n_bytes; i++)
    value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

uint64_t
ra_hash_bytes(uint64_t hash, const void *bytes, gsize n_bytes)
{
  g_return_val_if_fail(bytes != NULL || n_bytes == 0, hash);

  const unsigned char *p = bytes;
  gsize rest = n_bytes;

  for (; rest >= 8; rest -= 8, p += 8)
    hash = ra_hash_u64(hash, little_endian(p, 8));
  if (rest > 0)
    hash = ra_hash_u64(hash, little_endian(p, rest));
  return ra_hash_u64(hash, n_bytes);
}

uint64_t
ra_hash_text(uint64_t hash, const char *text)
{
  g_return_val_if_fail(text != NULL, hash);

  return ra_hash_bytes(hash, text, strlen(text));
}
