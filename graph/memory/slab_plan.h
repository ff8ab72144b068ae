/* Where blocks of memory lie in one slab, when all their lifetimes are known.
 *
 * A block is some bytes from one moment to another; two that are there at the
 * same time may not share a byte.  The *load* of a moment is the bytes of all
 * that are there, and no slab is smaller than the largest load; how much
 * higher one is than that is its fragmentation.
 *
 *     RaSlabBlock blocks[] = {{100, 0, 4, 0}, {50, 0, 2, 0}, {50, 2, 4, 0}};
 *     ra_slab_plan(3, blocks, 1);     150: the two short ones share a place
 *     blocks[2].offset
 *
 * To find the smallest slab is NP-hard (Garey and Johnson, SR2, dynamic storage
 * allocation), so blocks are placed one after the other, each in the gap that
 * it fills best between those that are there with it, in several orders (long
 * lives first, large blocks first, largest areas first, as they begin).  Where
 * none of them gives the load, one that reaches the top, or is there with such
 * a one, is placed earlier, again and again, as long as nothing gets higher by
 * it (graph/memory/slab_order.h): first among the large blocks alone, which are
 * few and decide, then among all behind these.  Work is bounded by counts, not
 * by a clock, and draws have a seed, so a plan is the same everywhere.
 *
 * Typical sizes: 10^2 to 10^4 blocks of a GPU, each there with some 30 others.
 */
#ifndef RA_GRAPH_MEMORY_SLAB_PLAN_H
#define RA_GRAPH_MEMORY_SLAB_PLAN_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  uint64_t bytes;
  uint32_t begin;  /* first moment */
  uint32_t end;    /* past its last; > begin */
  uint64_t offset; /* out: in the slab, a multiple of the alignment */
} RaSlabBlock;

/**
 * ra_slab_plan:
 * @n: blocks
 * @blocks: (inout) (array length=n): gets offsets
 * @align: bytes, a power of two, to a multiple of which each is rounded up
 *
 * Cost: O(pairs that are there together x orders), some 10^7 looks where the
 * load is not reached.
 *
 * Returns: bytes of the slab
 */
uint64_t ra_slab_plan(uint32_t n, RaSlabBlock *blocks, uint64_t align);

/**
 * ra_slab_load:
 * @n: blocks
 * @blocks: (array length=n)
 * @align: as above
 *
 * Cost: O(n log n).
 *
 * Returns: the most bytes that are there at one moment
 */
uint64_t ra_slab_load(uint32_t n, const RaSlabBlock *blocks, uint64_t align);

/* Whether two that are there together share a byte, or one ends past @bytes: a
 * check of a plan.  O(n log n + pairs that are there together). */
gboolean ra_slab_overlaps(uint32_t n, const RaSlabBlock *blocks,
                          uint64_t bytes);

#endif
