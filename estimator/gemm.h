/* The law of a matrix multiplication (GEMM).
 *
 * A GEMM out(m, n) = in(m, k) x weight(k, n) is cut into output tiles, which
 * the multiprocessors compute wave by wave.  The law tries three tile shapes,
 * the large one and two halvings, and takes the fastest, as cuBLAS's heuristics
 * do.  A GEMM of less than one wave is split along k.
 *
 *     RaGemmLaw law;
 *     ra_gemm_law_init(&law, profile, device, "gemm.bf16",
 *                      device->bf16_flop_per_s, &error);
 *     double s = ra_gemm_s(&law, &op);
 */
#ifndef RA_ESTIMATOR_GEMM_H
#define RA_ESTIMATOR_GEMM_H

#include "estimator/residual.h"
#include "graph/input/cluster.h"
#include "graph/op/op.h"
#include "traces/profile.h"

#define RA_GEMM_TILES 3

/* Slowdown of rows whose length is not a multiple of 8 elements.  cuBLAS falls
 * back to kernels that load element by element, "tripling that layer's
 * execution time", for a head with an odd vocabulary: Netflix, Scaling LLM
 * Post-Training at Netflix, 13 February 2026. */
#define RA_GEMM_RAGGED_FACTOR 3

/* The law of a profile with the speed-up of weights that are read again. */
#define RA_GEMM_REUSE "gemm.fp32.reuse"

typedef struct {
  double floor_s;     /* added to every GEMM */
  double n_sms;       /* multiprocessors */
  double per_sm;      /* 1 / n_sms */
  double per_split_k; /* 1 / least k of a split, 1 / elements */
  double wave_frac;   /* lost share of a partly filled wave, [0,1] */
  double ramp_k;      /* overhead of a tile, in elements of k */
  double s_per_byte;  /* memory */
  double serial_frac; /* share of the lesser part that is not hidden */
  double quantize_s_per_element;      /* of the operand in(m, k), beforehand */
  uint64_t tile_m[RA_GEMM_TILES];     /* rows, elements, >= 1 */
  uint64_t tile_n[RA_GEMM_TILES];     /* columns, elements, >= 1 */
  double s_per_wave_k[RA_GEMM_TILES]; /* time of a tile per element of k */
  gboolean is_fp32;                   /* measured on fp32 operands */
  RaResidual residual;                /* over m, n, k */
  RaResidual reuse;                   /* fp32: over m, n, k and the reuse */
} RaGemmLaw;

/**
 * ra_gemm_law_init:
 * @device: for the rates of its memory
 * @name: "gemm.bf16", "gemm.fp8" or "gemm.fp32"
 * @flop_per_s: dense peak of the operands' type, > 0
 * @error: %RA_ERROR_INPUT: the law is missing
 */
gboolean ra_gemm_law_init(RaGemmLaw *law, const RaProfile *profile,
                          const RaDevice *device, const char *name,
                          double flop_per_s, GError **error);

/**
 * ra_gemm_s:
 * @op: an %RA_OP_GEMM
 *
 * Device seconds of one GEMM:
 *
 *     tiles   = ceil(m / tile_m) ceil(n / tile_n) batch
 *     split   = max(1, min(sms / tiles, k / split_k))        tiles < sms
 *     waves   = 1                                            tiles < sms
 *             = x + wave_frac (ceil(x) - x), x = tiles / sms otherwise
 *     compute = min over tile shapes of
 *               waves 2 tile_m tile_n (k / split + ramp_k) sms
 *               / (peak_flop_per_s peak_frac small_tile_frac^i)
 *     memory  = bytes / (memory_bytes_per_s bandwidth_frac)
 *     quantize = m k batch quantize_bytes / memory_bytes_per_s       only fp8,
 *                unless the operand comes in fp8 (%RA_OP_QUANTIZED)
 *     law     = floor + max(compute, memory) + serial_frac min(compute, memory)
 *               + quantize
 *     t       = law exp(r + c)
 *               r from the table over m, n batch, k; 0 for fp32 without a law
 *                 of its own
 *               c from the table of "gemm.fp32.reuse" over m, n batch, k and
 *                 the reuse distance (graph/op/op_reuse.h); 0 if the op does
 *                 not state one, above the most rows of the table, and for all
 *                 but fp32 with its own law
 *
 * Weights that are still in a cache when they are needed again are faster to
 * read.  The effect is not a factor of the memory term: on a core, kernels for
 * few rows become bound by arithmetic sooner if k is long, which a single peak
 * does not model.  Therefore c is measured on whole GEMMs.
 *
 * The law never falls as m, n, k or batch grows; measured times do.
 * With tile 1 x 1 on one SM, no ramp and no floor it is 2 m n k batch / peak:
 * the roofline.  fp32 GEMMs run as TF32, at half the rate of bf16 (data sheets
 * of A100 and H100), unless the profile has "gemm.fp32".
 * Valid: m 1..32768; n, k 128..65536; extrapolation by the same formula.  A
 * batch counts as one GEMM of all its columns, which fills the device and
 * streams its weights like the batch; `reallot validate --level=expert-layers`
 * scores this.
 * Source: tile and wave quantization, NVIDIA, Matrix Multiplication Background
 * User's Guide, sections 3 and 4; split-k, CUTLASS documentation,
 * "Parallelized reductions"; coefficients, the profile.
 * Cost: about 60 ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 if a dimension is 0
 */
double ra_gemm_s(const RaGemmLaw *law, const RaOp *op);

#endif
