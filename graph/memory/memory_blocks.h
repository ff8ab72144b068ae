/* The memory account of one lane as blocks: from which task to which there are
 * how many bytes, and what for.
 *
 * A lane runs its tasks in the order of their numbers, so that order is the
 * clock: a block is there while the tasks from its first to its last run.  What
 * ends with a task is gone before the next begins; but copies to and from host
 * memory go on beside a call (graph/memory/memory_ahead.h has the moments).
 *
 *     g_autoptr(GArray) blocks = ra_memory_blocks(table, lane);
 *     uint64_t bytes = ra_memory_blocks_plan(blocks, 256);
 *     g_array_index(blocks, RaMemoryBlock, 0).offset
 *
 * items        one each: copies, gradients, optimizer states, packed layers
 * activations  of a micro-batch, from its forward to the part of its backward
 *              that reads them, at most four a part, each of some layers
 * workspace, step buffers   one a task
 * KV cache     one for what each prefill brings and one for what decoding adds
 *              at most, until nothing is left: its pages lie where they are
 *
 * Typical sizes: 10^2 to 10^4 blocks a lane.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_BLOCKS_H
#define RA_GRAPH_MEMORY_MEMORY_BLOCKS_H

#include "graph/memory/memory_ahead.h"

typedef struct {
  uint32_t holder;
  uint32_t item;   /* of the table; RA_NONE: none */
  RaTaskId first;  /* that it is there for; 0 of what is there at the begin */
  RaTaskId last;   /* likewise; the graph's last where it stays */
  uint32_t begin;  /* first moment, as a rule 2 first */
  uint32_t end;    /* past its last, as a rule 2 last + 2 */
  uint32_t before; /* block of the same cache that came before; RA_NONE */
  uint64_t bytes;
  uint64_t offset; /* in the lane's slab, once it is planned */
} RaMemoryBlock;

/**
 * ra_memory_blocks:
 * @table: of the graph
 * @lane: of it
 *
 * Cost: O(tasks).
 *
 * Returns: (transfer full) (element-type RaMemoryBlock): none of 0 bytes;
 *   g_array_unref() it
 */
GArray *ra_memory_blocks(const RaMemoryTable *table, uint32_t lane);

/**
 * ra_memory_order_peak:
 *
 * Returns: the most bytes that the account has on @lane when tasks run one
 *   after the other, without framework and slack.  O(tasks).
 */
uint64_t ra_memory_order_peak(const RaMemoryTable *table, uint32_t lane);

/**
 * ra_memory_blocks_plan:
 * @blocks: (inout) (element-type RaMemoryBlock): get offsets
 * @align: bytes, a power of two
 *
 * graph/memory/slab_plan.h says how.
 *
 * Returns: bytes of the slab
 */
uint64_t ra_memory_blocks_plan(GArray *blocks, uint64_t align);

#endif
