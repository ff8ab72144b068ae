/* Placement of memory blocks with known lifetimes in one slab.
 *
 * A block has a size and a lifetime; two blocks with overlapping lifetimes may
 * not share a byte.  The *load* of a moment is the sum of the blocks that exist
 * then.  No slab is smaller than the largest load; its excess over that is
 * fragmentation.
 *
 *     RaSlabBlock blocks[] = {{100, 0, 4, 0}, {50, 0, 2, 0}, {50, 2, 4, 0}};
 *     ra_slab_plan(3, blocks, 1);     150: the two short ones share a place
 *     blocks[2].offset
 *
 * Finding the smallest slab is NP-hard (Garey and Johnson, SR2, dynamic storage
 * allocation).  Blocks are therefore placed one after the other, each in the
 * best-fitting gap between concurrent blocks, in several orders: long lifetimes
 * first, large blocks first, largest areas first, by begin.
 *
 * If none of these reaches the load, a local search follows
 * (graph/memory/slab_order.h).  It repeatedly moves a block that reaches the
 * top, or one concurrent with it, earlier in the order, as long as the slab
 * does not grow.  It starts with the large blocks alone, which are few and
 * decisive, then orders all others behind these.  Counts, not a clock, bound
 * the work, and random choices have a seed, so a plan is the same everywhere.
 *
 * Typical sizes: 10^2 to 10^4 blocks per GPU, each concurrent with some 30
 * others.
 */
#ifndef RA_GRAPH_MEMORY_SLAB_PLAN_H
#define RA_GRAPH_MEMORY_SLAB_PLAN_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  uint64_t bytes;
  uint32_t begin;  /* first moment */
  uint32_t end;    /* one past the last moment; > begin */
  uint64_t offset; /* out: in the slab, a multiple of the alignment */
} RaSlabBlock;

/**
 * ra_slab_plan:
 * @n: number of blocks
 * @blocks: (inout) (array length=n): their offsets are set
 * @align: bytes, a power of two; sizes are rounded up to multiples of it
 *
 * Cost: O(concurrent pairs x orders), plus some 10^7 comparisons if the load is
 * not reached.
 *
 * Returns: bytes of the slab
 */
uint64_t ra_slab_plan(uint32_t n, RaSlabBlock *blocks, uint64_t align);

/**
 * ra_slab_load:
 * @n: number of blocks
 * @blocks: (array length=n)
 * @align: as for ra_slab_plan()
 *
 * Cost: O(n log n).
 *
 * Returns: largest load of a moment, bytes
 */
uint64_t ra_slab_load(uint32_t n, const RaSlabBlock *blocks, uint64_t align);

/* Check of a plan: TRUE if two concurrent blocks share a byte, or one ends past
 * @bytes.  O(n log n + concurrent pairs). */
gboolean ra_slab_overlaps(uint32_t n, const RaSlabBlock *blocks,
                          uint64_t bytes);

#endif
