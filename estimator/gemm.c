/* The law of GEMMs: tiles, waves, memory, tables. */
#include "config.h"

#include "estimator/gemm.h"
#include "estimator/resolve.h"
#include "graph/op/op_reuse.h"

gboolean
ra_gemm_law_init(RaGemmLaw *law, const RaProfile *profile,
                 const RaDevice *device, const char *name, double flop_per_s,
                 GError **error)
{
  RaResolver r;
  double frac, small_frac;

  ra_resolver_init(&r, profile, name, error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->n_sms = ra_resolve(&r, "sms");
  law->per_split_k = ra_rate_s(ra_resolve(&r, "split-k"));
  law->wave_frac = ra_resolve(&r, "wave-frac");
  law->ramp_k = ra_resolve(&r, "ramp-k");
  law->serial_frac = ra_resolve(&r, "serial-frac");
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  law->tile_m[0] = (uint64_t)ra_resolve(&r, "tile-m");
  law->tile_n[0] = (uint64_t)ra_resolve(&r, "tile-n");
  frac = ra_resolve(&r, "peak-frac");
  small_frac = ra_resolve(&r, "small-tile-frac");
  law->is_fp32 = g_str_equal(name, "gemm.fp32");
  law->quantize_s_per_element = 0;
  if (g_str_has_prefix(name, "gemm.fp8") || g_str_equal(name, "gemm.nvfp4"))
    law->quantize_s_per_element = ra_resolve(&r, "quantize-bytes") *
                                  ra_rate_s(device->memory_bytes_per_s);
  if (!ra_resolver_ok(&r))
    return FALSE;
  law->per_sm = 1 / law->n_sms;
  /* Halve the longer side, then both. */
  law->tile_m[1] = law->tile_m[0];
  law->tile_n[1] = MAX(law->tile_n[0] / 2, 1);
  law->tile_m[2] = MAX(law->tile_m[1] / 2, 1);
  law->tile_n[2] = MAX(law->tile_n[1] / 2, 1);
  for (guint i = 0; i < RA_GEMM_TILES; i++) {
    law->s_per_wave_k[i] = 2.0 * (double)law->tile_m[i] *
                           (double)law->tile_n[i] * law->n_sms *
                           ra_rate_s(flop_per_s * frac);
    frac *= small_frac;
  }
  law->reuse = (RaResidual){.grid = NULL};
  return ra_residual_init(&law->residual, profile, name, error) &&
         (!law->is_fp32 ||
          ra_residual_init(&law->reuse, profile, RA_GEMM_REUSE, error));
}

/* Many rows are bound by arithmetic: the table ends where that was measured. */
static double
reuse_factor(const RaResidual *reuse, const RaOp *op)
{
  if (!reuse->grid || op->dim[RA_OP_REUSE_DIM] == 0)
    return 1;
  for (guint a = 0; a < reuse->grid->n_axes; a++) {
    const RaGridAxis *axis = &reuse->grid->axes[a];

    if (reuse->feature[a] == RA_FEATURE_M &&
        (double)op->dim[0] > axis->knots[axis->n_knots - 1])
      return 1;
  }
  return ra_residual_factor(reuse, op);
}

static double
n_tiles(uint64_t size, uint64_t tile)
{
  /* A sum of sizes near 2^64 cannot come from a model; it must not wrap. */
  return (double)(size / tile + (size % tile != 0));
}

/* ceil() of a number of waves: those that do not fit an integer are whole. */
static double
round_up(double x)
{
  double down;

  if (x >= 0x1p52)
    return x;
  down = (double)(uint64_t)x;
  return down < x ? down + 1 : down;
}

/* Seconds with tile shape @i. */
static double
tiled_s(const RaGemmLaw *law, const RaOp *op, guint i)
{
  double tiles = n_tiles(op->dim[0], law->tile_m[i]) *
                 n_tiles(op->dim[1], law->tile_n[i]) * (double)op->dim[3];
  double k = (double)op->dim[2];

  if (tiles < law->n_sms) {
    double split = MIN(law->n_sms / tiles, k * law->per_split_k);

    return law->s_per_wave_k[i] * (k / MAX(split, 1) + law->ramp_k);
  }
  double waves = tiles * law->per_sm;
  waves += law->wave_frac * (round_up(waves) - waves);
  return law->s_per_wave_k[i] * waves * (k + law->ramp_k);
}

double
ra_gemm_s(const RaGemmLaw *law, const RaOp *op)
{
  double memory_s = ra_op_bytes(op) * law->s_per_byte, compute_s, law_s;

  if (op->dim[0] == 0 || op->dim[1] == 0 || op->dim[2] == 0 || op->dim[3] == 0)
    return 0;
  compute_s = tiled_s(law, op, 0);
  for (guint i = 1; i < RA_GEMM_TILES; i++) {
    double s = tiled_s(law, op, i);

    compute_s = MIN(compute_s, s);
  }
  if (op->dtype == RA_DTYPE_FP32 && !law->is_fp32)
    compute_s *= 2;
  law_s = law->floor_s + MAX(compute_s, memory_s) +
          law->serial_frac * MIN(compute_s, memory_s);
  if (!(op->flags & RA_OP_QUANTIZED))
    law_s += (double)op->dim[0] * (double)op->dim[2] * (double)op->dim[3] *
             law->quantize_s_per_element;
  return op->dtype == RA_DTYPE_FP32 && !law->is_fp32
             ? law_s
             : law_s * ra_residual_factor(&law->residual, op) *
                   reuse_factor(&law->reuse, op);
}
