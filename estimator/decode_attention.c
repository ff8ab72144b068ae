/* The law of attention in a decode step. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/attention.h"
#include "estimator/flash.h"
#include "estimator/resolve.h"

/* Names of dim[] of the attention ops. */
enum { SEQUENCES, Q_TOKENS, KV_TOKENS, PAIRS, Q_HEADS, KV_HEADS, HEAD_DIM };

/* Bytes that @op moves, at @kv_tokens. */
static double
moved_bytes(const RaOp *op, const RaFlash *cut, double kv_tokens)
{
  double width_bytes =
      (double)op->dim[HEAD_DIM] * ra_dtype_bytes((RaDtype)op->dtype);
  double outside = (double)op->dim[SEQUENCES] * (double)op->dim[Q_HEADS];

  return 2 * width_bytes *
         (kv_tokens * (double)op->dim[KV_HEADS] +
          (cut->copies ? 3 : 1) * outside);
}

/* The law's formula, at sequences of @length tokens. */
static double
formula_s(const RaDecodeAttentionLaw *law, const RaOp *op, double length)
{
  RaOp at = *op;
  RaFlash cut;
  double bytes, memory_s, tiles_s, chain_s, products_s, missed, blocks;

  at.dim[KV_TOKENS] = (uint64_t)(length * (double)op->dim[SEQUENCES]);
  at.dim[Q_TOKENS] = at.dim[SEQUENCES];
  ra_flash_cut(law->flash, law->sms, &at, &cut);
  bytes = moved_bytes(op, &cut, length * (double)op->dim[SEQUENCES]);
  memory_s = bytes * law->s_per_byte;
  tiles_s = cut.n_tiles * cut.n_splits * law->tile_s / law->sms;
  if (law->flash == 0)
    return law->floor_s + tiles_s + memory_s;
  missed = CLAMP(2 * bytes / law->cache_bytes - 1, 0, 1);
  blocks = ceil(ceil(length / cut.block_keys) / cut.n_splits) * cut.block_keys /
           RA_FLASH_KEYS;
  chain_s = blocks * law->block_s * (double)op->dim[HEAD_DIM] / RA_FLASH_WIDTH;
  products_s = 4 * cut.n_rows * length *
               ((double)op->dim[HEAD_DIM] + law->head_dim_half) *
               law->s_per_flop;
  return law->floor_s +
         ((cut.copies ? 2 : 0) + (cut.n_splits > 1 ? 1 : 0)) * law->launch_s +
         (cut.n_splits > 1 ? cut.n_splits * law->split_s : 0) +
         MAX(MAX(chain_s, tiles_s), MAX(missed * memory_s, products_s));
}

/* A piece of the time as a line in the tokens attended to. */
typedef struct {
  double from_tokens;  /* begins there */
  double until_tokens; /* ends there */
  double begin_s;      /* seconds at the begin */
  double slope;        /* s per token */
} Piece;

/* The formula at @length, a power of two, and no less than where generation 3
 * does not split yet: the only length at which it falls. */
static double
knot_formula_s(const RaDecodeAttentionLaw *law, const RaOp *op, double length)
{
  double s = formula_s(law, op, length);
  double whole = RA_FLASH_WHOLE_BLOCKS * RA_FLASH_KEYS;

  return law->flash >= 3 && length > whole ? MAX(s, formula_s(law, op, whole))
                                           : s;
}

/* The law alone: the formula at powers of two, a line between two. */
static Piece
law_piece(const RaDecodeAttentionLaw *law, const RaOp *op, double kv_tokens)
{
  double n = (double)op->dim[SEQUENCES], length = kv_tokens / n, from, end_s;
  Piece piece = {.from_tokens = kv_tokens, .until_tokens = n};
  int exponent;

  if (law->flash == 0) {
    piece.until_tokens = (double)INFINITY;
    piece.begin_s = formula_s(law, op, length);
    piece.slope = 2 * (double)op->dim[KV_HEADS] * (double)op->dim[HEAD_DIM] *
                  ra_dtype_bytes((RaDtype)op->dtype) * law->s_per_byte;
    return piece;
  }
  if (length < 1) {
    piece.begin_s = formula_s(law, op, 1);
    return piece;
  }
  (void)frexp(length, &exponent);
  from = ldexp(1, exponent - 1);
  piece.from_tokens = from * n;
  piece.until_tokens = 2 * from * n;
  piece.begin_s = knot_formula_s(law, op, from);
  end_s = knot_formula_s(law, op, 2 * from);
  piece.slope = MAX(end_s - piece.begin_s, 0) / (from * n);
  return piece;
}

/* The law alone, at @kv_tokens; at the begin of a piece its end is not needed.
 */
static double
law_s(const RaDecodeAttentionLaw *law, const RaOp *op, double kv_tokens)
{
  double length = kv_tokens / (double)op->dim[SEQUENCES];
  Piece piece;
  int exponent;

  if (law->flash != 0 && length >= 1 && frexp(length, &exponent) == 0.5)
    return knot_formula_s(law, op, length);
  piece = law_piece(law, op, kv_tokens);
  return piece.begin_s + piece.slope * (kv_tokens - piece.from_tokens);
}

/* The op with the value @at of each axis, whatever @op says of it. */
static RaOp
op_at(const RaResidual *residual, const RaOp *op, const double *at)
{
  RaOp there = *op;
  double heads = 0, group = 0;

  for (guint a = 0; a < residual->grid->n_axes; a++) {
    switch ((RaFeature)residual->feature[a]) {
    case RA_FEATURE_SEQUENCES:
      there.dim[SEQUENCES] = (uint64_t)at[a];
      break;
    case RA_FEATURE_Q_HEADS:
      there.dim[Q_HEADS] = (uint64_t)at[a];
      break;
    case RA_FEATURE_KV_HEADS:
      there.dim[KV_HEADS] = (uint64_t)at[a];
      break;
    case RA_FEATURE_WIDTH:
      there.dim[HEAD_DIM] = (uint64_t)at[a];
      break;
    case RA_FEATURE_HEADS:
      heads = at[a];
      break;
    case RA_FEATURE_GROUP:
      group = at[a];
      break;
    default:
      break;
    }
  }
  if (group > 0)
    there.dim[Q_HEADS] = (uint64_t)(group * (double)there.dim[KV_HEADS]);
  if (heads > 0)
    there.dim[Q_HEADS] =
        (uint64_t)MAX(heads / (double)MAX(there.dim[SEQUENCES], 1), 1);
  return there;
}

/* ln of seconds at every cell. */
static float *
tabulate(const RaDecodeAttentionLaw *law)
{
  const RaGrid *grid = law->residual.grid;
  guint n = grid->axes[0].n_knots;
  float *table = g_new(float, grid->n_cells);

  for (gsize line = 0; line < grid->n_cells; line += n) {
    double at[RA_GRID_AXES];
    RaOp op = {.dtype = (uint8_t)law->dtype};

    for (guint a = 0; a < grid->n_axes; a++)
      at[a] =
          grid->axes[a].knots[line / grid->stride[a] % grid->axes[a].n_knots];
    op = op_at(&law->residual, &op, at);
    for (guint i = 0; i < n; i++) {
      float *log_s = &table[line + i];
      double tokens = grid->axes[0].knots[i] * (double)op.dim[SEQUENCES];

      *log_s = (float)(ra_log(law_s(law, &op, tokens)) +
                       (double)grid->values[line + i]);
      if (i > 0)
        *log_s = MAX(*log_s, log_s[-1]);
    }
  }
  return table;
}

static const float *
cells(const RaDecodeAttentionLaw *law)
{
  if (g_once_init_enter(&law->table->is_made)) {
    law->table->log_s = tabulate(law);
    g_once_init_leave(&law->table->is_made, 1);
  }
  return law->table->log_s;
}

/* Axes that say what every cell costs: the length first, then sequences, key
 * heads, width and query heads in one of three ways. */
static gboolean
has_axes(const RaResidual *residual)
{
  guint seen = 0;

  for (guint a = 0; a < residual->grid->n_axes; a++)
    seen |= 1u << residual->feature[a];
  return residual->feature[0] == RA_FEATURE_LENGTH &&
         (seen & 1u << RA_FEATURE_SEQUENCES) &&
         (seen & 1u << RA_FEATURE_KV_HEADS) &&
         (seen & 1u << RA_FEATURE_WIDTH) &&
         (seen & (1u << RA_FEATURE_HEADS | 1u << RA_FEATURE_Q_HEADS |
                  1u << RA_FEATURE_GROUP));
}

gboolean
ra_decode_attention_law_init(RaDecodeAttentionLaw *law,
                             const RaProfile *profile, const RaDevice *device,
                             const char *name, GError **error)
{
  const RaLaw *own = ra_profile_law(profile, name);
  RaResolver r;

  ra_resolver_init(&r, profile, "attention", error);
  law->s_per_flop =
      ra_rate_s(device->bf16_flop_per_s * ra_resolve(&r, "peak-frac"));
  law->head_dim_half = ra_resolve(&r, "head-dim-half");
  if (!ra_resolver_ok(&r))
    return FALSE;
  law->dtype = g_str_has_suffix(name, ".fp8") ? RA_DTYPE_FP8 : RA_DTYPE_BF16;
  ra_resolver_init(&r, profile, name, error);
  law->sms = ra_resolve(&r, "sms");
  law->flash = (guint)ra_resolve(&r, "flash");
  law->cache_bytes = ra_resolve(&r, "cache-bytes");
  law->floor_s = ra_resolve(&r, "floor-s");
  law->launch_s = ra_resolve(&r, "launch-s");
  law->split_s = ra_resolve(&r, "split-s");
  law->block_s = ra_resolve(&r, "block-s");
  law->tile_s = ra_resolve(&r, "tile-s");
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  if (!ra_resolver_ok(&r) ||
      !ra_residual_init(&law->residual, profile, name, error))
    return FALSE;
  if (!own->transferred) /* the fit's rows say what products take */
    law->s_per_flop = 0;
  if (law->residual.grid && !has_axes(&law->residual)) {
    int group = ra_key_file_find_group(profile->file, "table", name);

    return ra_key_file_fail(profile->file, (guint)MAX(group, 0), NULL, error,
                            "the axes of this table are not 'length' first, "
                            "'sequences', 'kv-heads', 'width' and 'q-heads', "
                            "'heads' or 'group'");
  }
  if (law->residual.grid)
    law->table = g_new0(RaDecodeTable, 1);
  return TRUE;
}

void
ra_decode_attention_law_clear(RaDecodeAttentionLaw *law)
{
  if (law->table)
    g_free(law->table->log_s);
  g_clear_pointer(&law->table, g_free);
}

static gboolean
is_idle(const RaOp *op)
{
  return op->dim[SEQUENCES] == 0 || op->dim[Q_TOKENS] == 0 ||
         op->dim[Q_HEADS] == 0 || op->dim[HEAD_DIM] == 0;
}

/* Where an op stands in the table, but for its length. */
typedef struct {
  RaGridSpot at;
  RaOp inside;      /* the op, held to the table's edges */
  gboolean outside; /* it was beyond them */
  gboolean above;   /* one of them at least at its upper end */
  guint n_lengths; /* table's lengths of which @most_s is the most; ascending */
  double most_s;   /* of a smaller op */
} Spot;

static void
find_spot(const RaDecodeAttentionLaw *law, const RaOp *op, const double *at,
          Spot *spot)
{
  const RaGrid *grid = law->residual.grid;
  double edge[RA_GRID_AXES];

  spot->outside = spot->above = FALSE;
  spot->n_lengths = 0;
  spot->most_s = 0;
  edge[0] = at[0];
  for (guint a = 1; a < grid->n_axes; a++) {
    const RaGridAxis *axis = &grid->axes[a];
    double last = axis->knots[axis->n_knots - 1];

    edge[a] = CLAMP(at[a], axis->knots[0], last);
    spot->above |= at[a] > last;
    spot->outside |= at[a] < axis->knots[0] || at[a] > last;
  }
  ra_grid_spot(grid, edge, 1, &spot->at);
  if (spot->outside)
    spot->inside = op_at(&law->residual, op, edge);
}

/* Seconds at the table's @i-th length of an op that is smaller than all that
 * was measured: its law with what is left over at the edge, which must not fall
 * with the length, and no more than the edge's own @edge_s.  @spot keeps what
 * the lengths before take. */
static double
smaller_s(const RaDecodeAttentionLaw *law, const RaOp *op, Spot *spot, guint i,
          double edge_s)
{
  const RaGrid *grid = law->residual.grid;

  for (; spot->n_lengths <= i; spot->n_lengths++) {
    guint j = spot->n_lengths;
    double tokens = grid->axes[0].knots[j] * (double)op->dim[SEQUENCES];
    double r = ra_grid_spot_value(&spot->at, grid->values + j);
    double s = law_s(law, op, tokens) * ra_residual_exp(r);

    spot->most_s = MAX(spot->most_s, s);
  }
  return MIN(spot->most_s, edge_s);
}

/* The same, of a cache of the table's type. */
static double
knot_own_s(const RaDecodeAttentionLaw *law, const RaOp *op, Spot *spot, guint i)
{
  double length = law->residual.grid->axes[0].knots[i];
  double log_s = ra_grid_spot_value(&spot->at, cells(law) + i);
  double s = ra_residual_exp(log_s), more_s;

  if (!spot->outside)
    return s;
  if (!spot->above)
    return smaller_s(law, op, spot, i, s);
  more_s =
      law_s(law, op, length * (double)op->dim[SEQUENCES]) -
      law_s(law, &spot->inside, length * (double)spot->inside.dim[SEQUENCES]);
  return s + MAX(more_s, 0);
}

/* Seconds at the table's @i-th length.  A cache of other numbers than the
 * table's takes as much more or less as the law says. */
static double
knot_s(const RaDecodeAttentionLaw *law, const RaOp *op, Spot *spot, guint i)
{
  double tokens =
      law->residual.grid->axes[0].knots[i] * (double)op->dim[SEQUENCES];
  double s = knot_own_s(law, op, spot, i);
  RaOp own = *op;

  own.dtype = (uint8_t)law->dtype;
  if (ra_dtype_bytes(op->dtype) == ra_dtype_bytes(law->dtype))
    return s;
  return s * law_s(law, op, tokens) / law_s(law, &own, tokens);
}

/* The piece on which @op's kv_tokens are, with a table. */
static Piece
table_piece(const RaDecodeAttentionLaw *law, const RaOp *op)
{
  const RaGridAxis *axis = &law->residual.grid->axes[0];
  double n = (double)op->dim[SEQUENCES], tokens = (double)op->dim[KV_TOKENS];
  double at[RA_GRID_AXES], frac, end_s;
  guint last = axis->n_knots - 1, i;
  Piece piece = {.until_tokens = (double)INFINITY};
  Spot spot;

  ra_residual_features(&law->residual, op, at);
  find_spot(law, op, at, &spot);
  if (tokens < axis->knots[0] * n) {
    piece.until_tokens = axis->knots[0] * n;
    piece.begin_s = knot_s(law, op, &spot, 0);
    return piece;
  }
  if (tokens >= axis->knots[last] * n) {
    piece.from_tokens = axis->knots[last] * n;
    piece.begin_s = knot_s(law, op, &spot, last);
    piece.slope = law_piece(law, op, piece.from_tokens).slope;
    return piece;
  }
  i = ra_grid_axis_at(axis, tokens / n, &frac);
  piece.from_tokens = axis->knots[i] * n;
  piece.until_tokens = axis->knots[i + 1] * n;
  piece.begin_s = knot_s(law, op, &spot, i);
  end_s = knot_s(law, op, &spot, i + 1);
  piece.slope =
      MAX(end_s - piece.begin_s, 0) / (piece.until_tokens - piece.from_tokens);
  return piece;
}

double
ra_decode_attention_s(const RaDecodeAttentionLaw *law, const RaOp *op)
{
  Piece piece;

  if (is_idle(op))
    return 0;
  if (!law->table)
    return law_s(law, op, (double)op->dim[KV_TOKENS]);
  piece = table_piece(law, op);
  return piece.begin_s +
         piece.slope * ((double)op->dim[KV_TOKENS] - piece.from_tokens);
}

double
ra_decode_attention_line(const RaDecodeAttentionLaw *law, const RaOp *op,
                         uint64_t *out_until_tokens)
{
  Piece piece;

  *out_until_tokens = UINT64_MAX;
  if (is_idle(op))
    return 0;
  piece = law->table ? table_piece(law, op)
                     : law_piece(law, op, (double)op->dim[KV_TOKENS]);
  if (piece.until_tokens < 0x1p63)
    *out_until_tokens = (uint64_t)piece.until_tokens;
  return piece.slope;
}
