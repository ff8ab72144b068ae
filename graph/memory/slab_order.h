/* Blocks of a slab placed in an order, one after the other, and placed again
 * where one moves in it.  Private to graph/memory/slab_*.c.
 *
 * Each lies in a gap between those before it in the order that are there
 * together with it (near it); no other says where.  So when one moves, only
 * those behind are placed again that are near it, or near one that came to lie
 * elsewhere: of thousands of blocks a few.
 */
#ifndef RA_GRAPH_MEMORY_SLAB_ORDER_H
#define RA_GRAPH_MEMORY_SLAB_ORDER_H

#include "graph/memory/slab_plan.h"

/* Where a block lies: [begin, end) of the slab. */
typedef struct {
  uint64_t begin, end;
} RaSlabPlace;

typedef struct {
  uint32_t n;
  const RaSlabBlock *blocks; /* (n) borrowed */
  uint64_t *bytes;           /* (n) rounded up */
  uint32_t *near_begin;      /* (n + 1) CSR */
  uint32_t *near;            /* blocks that are there together */
  uint32_t *order;           /* (n) */
  uint32_t *at;              /* (n) place in it of each */
  uint64_t *offset;          /* (n) */
  gboolean *is_due;          /* (n) to be placed again */
  gboolean lowest;           /* each in its first gap, not its smallest */
  RaSlabPlace *places;       /* room for those near one */
  uint64_t n_looks;          /* at another block, so far */
} RaSlabOrder;

/* Of @blocks, borrowed; nothing is placed. */
void ra_slab_order_init(RaSlabOrder *order, uint32_t n,
                        const RaSlabBlock *blocks, uint64_t align);
void ra_slab_order_clear(RaSlabOrder *order);

/* Places all in the order @blocks (n).   Returns: bytes of the slab */
uint64_t ra_slab_order_place(RaSlabOrder *order, const uint32_t *blocks,
                             gboolean lowest);

/* The one at place @from of the order comes to @to, before it or behind.
 * Returns: bytes of the slab */
uint64_t ra_slab_order_move(RaSlabOrder *order, uint32_t from, uint32_t to);

/* A block begins or ends. */
typedef struct {
  uint32_t moment;
  gboolean begins;
  uint32_t block;
} RaSlabEvent;

/* (transfer full) (array length=2 n): in order; at one moment ends come
 * first. */
RaSlabEvent *ra_slab_events_new(uint32_t n, const RaSlabBlock *blocks);

static inline uint64_t
ra_slab_rounded(uint64_t bytes, uint64_t align)
{
  return (bytes + align - 1) / align * align;
}

typedef void (*RaSlabPairFunc)(uint32_t x, uint32_t y, gpointer data);

/* Calls @visit once for every two that are there together. */
void ra_slab_visit_pairs(uint32_t n, const RaSlabBlock *blocks,
                         RaSlabPairFunc visit, gpointer data);

#endif
