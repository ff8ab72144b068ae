/* Tiles and splits of FlashAttention, by generation. */
#include "config.h"

#include <math.h>

#include "estimator/flash.h"

/* Names of dim[] of the attention ops. */
enum { SEQUENCES, Q_TOKENS, KV_TOKENS, PAIRS, Q_HEADS, KV_HEADS, HEAD_DIM };

/* Constants of num_splits_heuristic(): waves so full need no splits; the least
 * number of splits that comes so close to the best will do. */
#define FULL_FRAC 0.8
#define NEAR_FRAC 0.85

/* Keys of a block of generation 2, of heads wider than 128
 * (set_params_splitkv() of flash_api.cpp, run_mha_fwd_splitkv_dispatch()). */
#define WIDE_KEYS 64

/* Thread blocks of a tile when @most are allowed, on @slots. */
static double
splits(double n_tiles, double slots, double most)
{
  double full_frac = MIN(n_tiles * most / slots, 1);

  if (n_tiles >= FULL_FRAC * slots || most <= 1)
    return 1;
  return CLAMP(ceil(NEAR_FRAC * full_frac * slots / n_tiles), 1, most);
}

void
ra_flash_cut(guint generation, double sms, const RaOp *op, RaFlash *out_cut)
{
  double sequences = (double)op->dim[SEQUENCES];
  double q_heads = (double)op->dim[Q_HEADS];
  double kv_heads = (double)CLAMP(op->dim[KV_HEADS], 1, op->dim[Q_HEADS]);
  double group = q_heads / kv_heads;
  double queries = (double)op->dim[Q_TOKENS] / sequences;
  double keys = (double)op->dim[KV_TOKENS] / sequences;
  double block_keys = generation == 2 && op->dim[HEAD_DIM] > RA_FLASH_WIDTH
                          ? WIDE_KEYS
                          : RA_FLASH_KEYS;
  double blocks = ceil(keys / block_keys);
  /* FlashInfer's kernels, for a cache of fp8, always share tiles. */
  gboolean windowed = op->flags & RA_OP_WINDOW && op->dtype != RA_DTYPE_FP8;
  gboolean swaps = generation == 2 && queries <= 1 && group > 1 && !windowed;
  gboolean packs = generation >= 3 || swaps;
  double rows = packs ? queries * group : queries;
  double heads = packs ? kv_heads : q_heads;

  *out_cut = (RaFlash){.tile_rows = MAX(queries, 1),
                       .n_tiles = sequences * heads,
                       .n_rows = (double)op->dim[Q_TOKENS] * heads,
                       .n_splits = 1,
                       .block_keys = block_keys,
                       .n_keys = keys};
  if (generation == 0)
    return;
  out_cut->tile_rows = generation == 2 || rows <= 64 ? 64
                       : op->dim[HEAD_DIM] <= 64     ? 192
                                                     : 128;
  out_cut->n_tiles = sequences * heads * ceil(rows / out_cut->tile_rows);
  out_cut->n_rows = out_cut->n_tiles * out_cut->tile_rows;
  out_cut->copies = swaps && sequences > 1 && kv_heads > 1;
  if (swaps)
    out_cut->n_splits =
        splits(out_cut->n_tiles, 2 * sms, MIN(MIN(128, 2 * sms), blocks));
  else if (generation >= 3 && blocks > RA_FLASH_WHOLE_BLOCKS)
    out_cut->n_splits =
        splits(out_cut->n_tiles, sms, MIN(MIN(32, sms), blocks));
}
