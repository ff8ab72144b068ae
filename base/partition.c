/* Refinement of classes by a hash table of (old colour, key). */
#include "config.h"

#include "base/hash.h"
#include "base/partition.h"

/* A (colour, key) that was seen, in a table with open addressing. */
typedef struct {
  uint64_t pair;
  uint32_t id; /* new colour + 1; 0: free */
} Slot;

static Slot *
find_slot(Slot *slots, uint32_t mask, uint64_t pair)
{
  uint32_t i = (uint32_t)ra_hash_u64(RA_HASH_INIT, pair) & mask;

  while (slots[i].id != 0 && slots[i].pair != pair)
    i = (i + 1) & mask;
  return &slots[i];
}

/* A power of two, at least twice the things. */
static uint32_t
table_size(uint32_t n)
{
  uint32_t size = 16;

  while (size < 2 * (uint64_t)n && size < UINT32_C(1) << 31)
    size *= 2;
  return size;
}

uint32_t
ra_partition_refine(uint32_t *colour, const uint32_t *key, uint32_t n)
{
  uint32_t size = table_size(n), n_classes = 0, last_id = 0;
  g_autofree Slot *slots = g_new0(Slot, size);
  uint64_t last = 0;

  for (uint32_t i = 0; i < n; i++) {
    uint64_t pair = (uint64_t)colour[i] << 32 | key[i];

    if (i == 0 || pair != last) { /* neighbours are mostly alike */
      Slot *slot = find_slot(slots, size - 1, pair);
      if (slot->id == 0)
        *slot = (Slot){pair, ++n_classes};
      last = pair;
      last_id = slot->id;
    }
    colour[i] = last_id - 1;
  }
  return n_classes;
}
