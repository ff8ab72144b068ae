/* Placement of the blocks of a slab in an order, one after the other, and its
 * incremental update when a block moves in the order.  Private to
 * graph/memory/slab_*.c.
 *
 * Two blocks are *near* each other if their lifetimes overlap.  Each block is
 * placed in a gap between the near blocks that precede it in the order; other
 * blocks do not matter.  When one moves, only later blocks that are near it, or
 * near a block that changed its place, are placed again: a few of thousands.
 */
#ifndef RA_GRAPH_MEMORY_SLAB_ORDER_H
#define RA_GRAPH_MEMORY_SLAB_ORDER_H

#include "graph/memory/slab_plan.h"

/* Place of a block: [begin, end) of the slab. */
typedef struct {
  uint64_t begin, end;
} RaSlabPlace;

typedef struct {
  uint32_t n;
  const RaSlabBlock *blocks; /* (n) borrowed */
  uint64_t *bytes;           /* (n) rounded up */
  uint32_t *near_begin;      /* (n + 1) CSR */
  uint32_t *near;            /* near blocks of each block */
  uint32_t *order;           /* (n) blocks in order */
  uint32_t *at;              /* (n) position of each block in the order */
  uint64_t *offset;          /* (n) */
  gboolean *is_due;          /* (n) must be placed again */
  gboolean lowest;           /* use the first gap, not the smallest */
  RaSlabPlace *places;       /* scratch for the near blocks of one */
  uint64_t n_looks;          /* comparisons with another block so far */
} RaSlabOrder;

/* Initializes @order for @blocks, borrowed, without placing them. */
void ra_slab_order_init(RaSlabOrder *order, uint32_t n,
                        const RaSlabBlock *blocks, uint64_t align);
void ra_slab_order_clear(RaSlabOrder *order);

/* Places all blocks in the order @blocks (n).   Returns: bytes of the slab */
uint64_t ra_slab_order_place(RaSlabOrder *order, const uint32_t *blocks,
                             gboolean lowest);

/* Moves the block at position @from of the order to position @to, either way,
 * and updates the places.   Returns: bytes of the slab */
uint64_t ra_slab_order_move(RaSlabOrder *order, uint32_t from, uint32_t to);

/* Begin or end of a block. */
typedef struct {
  uint32_t moment;
  gboolean begins;
  uint32_t block;
} RaSlabEvent;

/* (transfer full) (array length=2 n): events in order; at one moment ends come
 * first. */
RaSlabEvent *ra_slab_events_new(uint32_t n, const RaSlabBlock *blocks);

static inline uint64_t
ra_slab_rounded(uint64_t bytes, uint64_t align)
{
  return (bytes + align - 1) / align * align;
}

typedef void (*RaSlabPairFunc)(uint32_t x, uint32_t y, gpointer data);

/* Calls @visit once for every pair of near blocks. */
void ra_slab_visit_pairs(uint32_t n, const RaSlabBlock *blocks,
                         RaSlabPairFunc visit, gpointer data);

#endif
