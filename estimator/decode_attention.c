#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "estimator/attention.h"
#include "estimator/resolve.h"

/* Names of dim[] of the attention ops. */
enum { SEQUENCES, Q_TOKENS, KV_TOKENS, PAIRS, Q_HEADS, KV_HEADS, HEAD_DIM };

/* Seconds for each token of the cache, on the sloped line. */
static double
s_per_token(const RaDecodeAttentionLaw *law, const RaOp *op)
{
  return 2.0 * (double)op->dim[KV_HEADS] * (double)op->dim[HEAD_DIM] *
         ra_dtype_bytes(op->dtype) * law->s_per_byte;
}

/* The law alone, at @kv_tokens. */
static double
law_s(const RaDecodeAttentionLaw *law, const RaOp *op, double kv_tokens)
{
  double grows_s = law->base_s + kv_tokens * s_per_token(law, op);

  return (double)op->dim[SEQUENCES] *
             ((double)op->dim[Q_HEADS] * law->head_s + law->sequence_s) +
         MAX(law->floor_s, grows_s);
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
static void
tabulate(RaDecodeAttentionLaw *law)
{
  const RaGrid *grid = law->residual.grid;
  guint n = grid->axes[0].n_knots;

  law->log_s = g_new(float, grid->n_cells);
  for (gsize line = 0; line < grid->n_cells; line += n) {
    double at[RA_GRID_AXES];
    RaOp op = {.dtype = RA_DTYPE_BF16};

    for (guint a = 0; a < grid->n_axes; a++)
      at[a] =
          grid->axes[a].knots[line / grid->stride[a] % grid->axes[a].n_knots];
    op = op_at(&law->residual, &op, at);
    for (guint i = 0; i < n; i++) {
      float *log_s = &law->log_s[line + i];
      double tokens = grid->axes[0].knots[i] * (double)op.dim[SEQUENCES];

      *log_s = (float)(ra_log(law_s(law, &op, tokens)) +
                       (double)grid->values[line + i]);
      if (i > 0)
        *log_s = MAX(*log_s, log_s[-1]);
    }
  }
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
                             GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "decode-attention", error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->base_s = ra_resolve(&r, "base-s");
  law->head_s = ra_resolve(&r, "head-s");
  law->sequence_s = ra_resolve(&r, "sequence-s");
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  if (!ra_resolver_ok(&r) ||
      !ra_residual_init(&law->residual, profile, "decode-attention", error))
    return FALSE;
  if (law->residual.grid && !has_axes(&law->residual)) {
    int group =
        ra_key_file_find_group(profile->file, "table", "decode-attention");

    return ra_key_file_fail(profile->file, (guint)MAX(group, 0), NULL, error,
                            "the axes of this table are not 'length' first, "
                            "'sequences', 'kv-heads', 'width' and 'q-heads', "
                            "'heads' or 'group'");
  }
  if (law->residual.grid)
    tabulate(law);
  return TRUE;
}

void
ra_decode_attention_law_clear(RaDecodeAttentionLaw *law)
{
  g_clear_pointer(&law->log_s, g_free);
}

static gboolean
is_idle(const RaOp *op)
{
  return op->dim[SEQUENCES] == 0 || op->dim[Q_TOKENS] == 0 ||
         op->dim[Q_HEADS] == 0 || op->dim[HEAD_DIM] == 0;
}

/* A piece of the time as a line in the tokens attended to. */
typedef struct {
  double from_tokens;  /* begins there */
  double until_tokens; /* ends there */
  double begin_s;      /* seconds at the begin */
  double slope;        /* s per token */
} Piece;

/* Where an op stands in the table, but for its length. */
typedef struct {
  RaGridSpot at;
  RaOp inside;      /* the op, held to the table's edges */
  gboolean outside; /* it was beyond them */
  gboolean above;   /* one of them at least at its upper end */
} Spot;

static void
find_spot(const RaDecodeAttentionLaw *law, const RaOp *op, const double *at,
          Spot *spot)
{
  const RaGrid *grid = law->residual.grid;
  double edge[RA_GRID_AXES];

  spot->outside = spot->above = FALSE;
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
 * with the length, and no more than the edge's own @edge_s. */
static double
smaller_s(const RaDecodeAttentionLaw *law, const RaOp *op, const Spot *spot,
          guint i, double edge_s)
{
  const RaGrid *grid = law->residual.grid;
  double most_s = 0;

  for (guint j = 0; j <= i; j++) {
    double tokens = grid->axes[0].knots[j] * (double)op->dim[SEQUENCES];
    double r = ra_grid_spot_value(&spot->at, grid->values + j);
    double s = law_s(law, op, tokens) * ra_residual_exp(r);

    most_s = MAX(most_s, s);
  }
  return MIN(most_s, edge_s);
}

/* The same, of a cache of two bytes a number. */
static double
knot_half_s(const RaDecodeAttentionLaw *law, const RaOp *op, const Spot *spot,
            guint i)
{
  double length = law->residual.grid->axes[0].knots[i];
  double log_s = ra_grid_spot_value(&spot->at, law->log_s + i);
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

/* Seconds at the table's @i-th length.  The table is of half precision: a cache
 * of other numbers takes as much more or less as the law says. */
static double
knot_s(const RaDecodeAttentionLaw *law, const RaOp *op, const Spot *spot,
       guint i)
{
  double tokens =
      law->residual.grid->axes[0].knots[i] * (double)op->dim[SEQUENCES];
  double s = knot_half_s(law, op, spot, i);
  RaOp half = *op;

  half.dtype = RA_DTYPE_BF16;
  if (ra_dtype_bytes(op->dtype) == ra_dtype_bytes(half.dtype))
    return s;
  return s * law_s(law, op, tokens) / law_s(law, &half, tokens);
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
    piece.slope = s_per_token(law, op);
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

/* The same without a table: flat, then sloped. */
static Piece
law_piece(const RaDecodeAttentionLaw *law, const RaOp *op)
{
  double slope = s_per_token(law, op);
  double knot_tokens = slope > 0 ? (law->floor_s - law->base_s) / slope : 0;
  Piece piece = {.until_tokens = (double)INFINITY,
                 .begin_s = law_s(law, op, (double)op->dim[KV_TOKENS])};

  /* At the knot itself the next token already costs the slope. */
  piece.from_tokens = (double)op->dim[KV_TOKENS];
  if (piece.from_tokens >= knot_tokens)
    piece.slope = slope;
  else
    piece.until_tokens = knot_tokens;
  return piece;
}

double
ra_decode_attention_s(const RaDecodeAttentionLaw *law, const RaOp *op)
{
  Piece piece;

  if (is_idle(op))
    return 0;
  if (!law->log_s)
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
  piece = law->log_s ? table_piece(law, op) : law_piece(law, op);
  if (piece.until_tokens < 0x1p63)
    *out_until_tokens = (uint64_t)piece.until_tokens;
  return piece.slope;
}
