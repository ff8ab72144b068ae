/* Memory account of one lane as blocks: bytes, lifetime and holder of each.
 *
 * A lane runs its tasks in the order of their numbers, so that order is the
 * clock: a block exists while the tasks from its first to its last run.  A
 * block that ends with a task is freed before the next task begins.  Copies to
 * and from host memory overlap a call (moments: graph/memory/memory_ahead.h).
 *
 *     g_autoptr(GArray) blocks = ra_memory_blocks(table, lane);
 *     uint64_t bytes = ra_memory_blocks_plan(blocks, 256);
 *     g_array_index(blocks, RaMemoryBlock, 0).offset
 *
 * items        One block each: copies, gradients, optimizer states, packed
 *              layers.
 * activations  Blocks of a micro-batch from its forward to the part of its
 *              backward that reads them; at most four per part, each for some
 *              layers.
 * workspace, step buffers   One block per task.
 * KV cache     One block for the tokens of each prefill and one for the most
 *              that decoding adds, until the cache is empty: pages do not move.
 *
 * Typical sizes: 10^2 to 10^4 blocks per lane.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_BLOCKS_H
#define RA_GRAPH_MEMORY_MEMORY_BLOCKS_H

#include "graph/memory/memory_ahead.h"

typedef struct {
  uint32_t holder;
  uint32_t item;   /* index in the table; RA_NONE: none */
  RaTaskId first;  /* first task of its life; 0 if present at the begin */
  RaTaskId last;   /* last task of its life; the graph's last if never freed */
  uint32_t begin;  /* first moment, usually 2 first */
  uint32_t end;    /* one past the last moment, usually 2 last + 2 */
  uint32_t before; /* preceding block of the same cache; RA_NONE: none */
  uint64_t bytes;
  uint64_t offset; /* in the lane's slab, after ra_memory_blocks_plan() */
} RaMemoryBlock;

/**
 * ra_memory_blocks:
 * @table: memory table of the graph
 * @lane: lane of the graph
 *
 * Cost: O(tasks).
 *
 * Returns: (transfer full) (element-type RaMemoryBlock): blocks of more than 0
 *   bytes; g_array_unref() it
 */
GArray *ra_memory_blocks(const RaMemoryTable *table, uint32_t lane);

/**
 * ra_memory_order_peak:
 *
 * Cost: O(tasks).
 *
 * Returns: largest memory of the account on @lane when tasks run one after the
 *   other, without framework and slack, bytes
 */
uint64_t ra_memory_order_peak(const RaMemoryTable *table, uint32_t lane);

/**
 * ra_memory_blocks_plan:
 * @blocks: (inout) (element-type RaMemoryBlock): their offsets are set
 * @align: bytes, a power of two
 *
 * Places the blocks in a slab by graph/memory/slab_plan.h.
 *
 * Returns: bytes of the slab
 */
uint64_t ra_memory_blocks_plan(GArray *blocks, uint64_t align);

#endif
