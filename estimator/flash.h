/* How FlashAttention cuts an op into thread blocks.
 *
 * A tile is some query rows of one head; its thread block walks the visible
 * keys in blocks.  Where there are fewer tiles than multiprocessors the keys
 * are split between several thread blocks, and another kernel combines what
 * they found.  Which rows share a tile, and when keys are split, differs by
 * generation:
 *
 *     2  (before Hopper): tiles of 64 rows of one query head, two on a
 *        multiprocessor; one query a sequence whose heads share keys: these
 *        heads are the rows, queries and outputs are copied there and back, and
 *        keys may be split.  flash_api.cpp of vLLM's flash-attention
 *        (seqlenq_ngroups_swapped, num_splits_heuristic), paged keys:
 *        flash_fwd_launch_template.h, run_mha_fwd_splitkv_dispatch
 *     3  (Hopper; 4, of Blackwell, is taken for it): the heads that share keys
 *        always share tiles, of 128 rows, 192 of narrow heads, 64 where that is
 *        all; one on a multiprocessor; more than four blocks of keys may be
 *        split, in 32 at most within graphs.  hopper/tile_size.h,
 *        hopper/heuristics.h, vLLM's flash_attn_max_num_splits_for_cuda_graph
 *     0  no such kernel: a processor that takes row by row
 *
 *     RaFlash cut;
 *     ra_flash_cut(3, 132, &op, &cut);
 *     cut.n_tiles, cut.n_splits
 */
#ifndef RA_ESTIMATOR_FLASH_H
#define RA_ESTIMATOR_FLASH_H

#include "graph/op/op.h"

/* Keys that a thread block takes at once, at a width of 128. */
#define RA_FLASH_KEYS 128
/* So many blocks of keys are not split by generation 3. */
#define RA_FLASH_WHOLE_BLOCKS 4
/* Width of a head that constants are said at. */
#define RA_FLASH_WIDTH 128

typedef struct {
  double n_tiles;   /* before keys are split */
  double tile_rows; /* query rows of a tile, of all heads that share it */
  double n_rows;    /* of all tiles, filled or not */
  double n_splits;  /* thread blocks of a tile, >= 1 */
  double n_keys;    /* of a sequence, mean */
  gboolean copies;  /* queries and outputs are copied, each once */
} RaFlash;

/**
 * ra_flash_cut:
 * @generation: 2, 3 or 0
 * @sms: multiprocessors
 * @op: attention of any kind with sequences, queries and heads; unlike
 *   sequences count as alike
 *
 * The number of splits is what num_splits_heuristic() finds where thread blocks
 * fill a wave at most: the least that is within 0.85 of the fullest wave.
 *
 * Cost: about 10 ns.
 */
void ra_flash_cut(guint generation, double sms, const RaOp *op,
                  RaFlash *out_cut);

#endif
