/* The thread blocks of FlashAttention.
 *
 * A tile is some query rows of one head; its thread block walks the visible
 * keys in blocks.  If there are fewer tiles than multiprocessors, the keys are
 * split between several thread blocks, and another kernel combines the results.
 * The rows of a tile, and the condition for a split, depend on the generation:
 *
 *     2  (before Hopper): tiles of 64 rows of one query head, two on a
 *        multiprocessor.  With one query a sequence and no window, heads that
 *        share keys are the rows: queries and outputs are copied there and
 *        back, and keys may be split, in blocks of 64 for heads beyond 128.
 *        flash_api.cpp of vLLM's flash-attention (seqlenq_ngroups_swapped,
 *        num_splits_heuristic); for paged keys flash_fwd_launch_template.h,
 *        run_mha_fwd_splitkv_dispatch
 *     3, 4  (Hopper, Blackwell's servers): heads that share keys always share
 *        tiles, of 128 rows, 192 for narrow heads, 64 if there are no more; one
 *        on a multiprocessor.  More than four blocks of keys may be split, into
 *        at most 32 parts within CUDA graphs.  hopper/tile_size.h,
 *        hopper/heuristics.h, vLLM's flash_attn_max_num_splits_for_cuda_graph
 *     0  no such kernel: a processor that works row by row
 *
 *     RaFlash cut;
 *     ra_flash_cut(3, 132, &op, &cut);
 *     cut.n_tiles, cut.n_splits
 */
#ifndef RA_ESTIMATOR_FLASH_H
#define RA_ESTIMATOR_FLASH_H

#include "graph/op/op.h"

/* Keys of a block, at a head width of 128. */
#define RA_FLASH_KEYS 128
/* Most blocks of keys that generation 3 does not split. */
#define RA_FLASH_WHOLE_BLOCKS 4
/* Head width to which constants refer. */
#define RA_FLASH_WIDTH 128

typedef struct {
  double n_tiles;    /* tiles, before keys are split */
  double tile_rows;  /* query rows of a tile, of all heads that share it */
  double n_rows;     /* rows of all tiles, filled or not */
  double n_splits;   /* thread blocks of a tile, >= 1 */
  double block_keys; /* keys of a block */
  double n_keys;     /* mean keys of a sequence */
  gboolean copies;   /* queries and outputs are copied, each once */
} RaFlash;

/**
 * ra_flash_cut:
 * @generation: 2, 3, 4 or 0
 * @sms: multiprocessors
 * @op: attention of any kind with sequences, queries and heads; sequences of
 *   different lengths count as equal ones
 *
 * The number of splits is that of num_splits_heuristic() if thread blocks fill
 * at most a wave: the smallest within 0.85 of the fullest wave.
 *
 * Cost: about 10 ns.
 */
void ra_flash_cut(guint generation, double sms, const RaOp *op,
                  RaFlash *out_cut);

#endif
