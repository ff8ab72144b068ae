/* The law of an expert layer on one GPU: routing, permutation, the grouped
 * GEMMs of its experts, and the weighted sum.
 *
 *     RaExpertsLaws laws;
 *     ra_experts_laws_init(&laws, profile, device, &error);
 *     double s = ra_experts_s(ra_experts_law(&laws, &op, kernels), &op);
 */
#ifndef RA_ESTIMATOR_EXPERTS_H
#define RA_ESTIMATOR_EXPERTS_H

#include "estimator/residual.h"
#include "graph/input/cluster.h"
#include "graph/op/op.h"
#include "traces/law.h"
#include "traces/profile.h"

/* bf16, fp8, in blocks, MXFP4, NVFP4, MXFP4 with tokens of 8 bits */
#define RA_N_EXPERTS_LAWS 6

typedef struct {
  double floor_s;      /* added to every layer */
  double expert_s;     /* of each expert that is visited */
  double tile_rows;    /* rows to which an expert's are filled up, half of it on
                          average */
  double s_per_flop;   /* products */
  double s_per_byte;   /* weights */
  double s_per_row;    /* an element of a row that is permuted and summed */
  double s_per_token;  /* an element of a token that enters the layer */
  double serial_frac;  /* share of the lesser part that is not hidden */
  double skew_frac;    /* effect of uneven loads */
  double weight_bytes; /* an element of a weight */
  double cache_bytes;  /* in which weights of the last run may be; 0: none */
  RaResidual residual;
} RaExpertsLaw;

/* The laws of a profile, by engine: of each type, and of rows in fp8 by blocks
 * that an exchange brings, at most RA_OP_MASKED_TOKENS a rank, and more. */
typedef struct {
  gboolean any; /* the profile has that of bf16 */
  RaExpertsLaw by_type[RA_N_KERNELS][RA_N_EXPERTS_LAWS];
  RaExpertsLaw exchanged[RA_N_KERNELS][2];
} RaExpertsLaws;

/* As for GEMMs, a type that was not measured takes the law of a wider one; one
 * that was not measured of an engine, the common law.
 * @error: %RA_ERROR_INPUT: a law lacks a coefficient. */
gboolean ra_experts_laws_init(RaExpertsLaws *laws, const RaProfile *profile,
                              const RaDevice *device, GError **error);

/* From now on @laws are of replays of one layer alone, as tables are: it finds
 * its weights in the @cache_bytes of the last-level cache.  Rows of exchanges
 * do not show it. */
void ra_experts_laws_replay(RaExpertsLaws *laws, double cache_bytes);

/* (transfer none): the common law of @op, an %RA_OP_EXPERTS or its backward. */
const char *ra_experts_law_name(const RaOp *op);

/* The law of @op, an %RA_OP_EXPERTS or its backward, by @kernels. */
const RaExpertsLaw *ra_experts_law(const RaExpertsLaws *laws, const RaOp *op,
                                   RaKernels kernels);

/**
 * ra_experts_s:
 * @op: an %RA_OP_EXPERTS or its backward
 *
 * Device seconds of one layer.  t tokens choose k of E experts, of which this
 * GPU has g = E / ep:
 *
 *     heavy   = 1 + skew_frac cv sqrt(2 ln(ep) / g), at most ep; 1 where loads
 *               are even.  cv: deviation of loads x from a power law of
 *               exponent a between lo and hi, relative to their mean:
 *               sqrt(I2 I0 / I1^2 - 1), Ij the integral of x^(j - a); lo, hi =
 *               1, 0.8 t, or 0.01, 2 where t k <= E
 *     rows    = heavy t k / ep,  load = rows / g
 *     visited = g (1 - (1 - k / E)^t)            even by chance
 *               min(g, rows)                     dealt in turn
 *               g max(half, load - load^2 / 2)   by a power law; half: share of
 *               x with half a row of load, that is x >= I1 / I0 / (2 load)
 *     compute = (rows + visited tile_rows / 2) hidden width matrices 2
 *               / (peak_flop_per_s peak_frac)
 *     weights = visited hidden width matrices bytes
 *     memory  = weights / (memory_bytes_per_s bandwidth_frac); of a replay none
 *               up to half of the cache, all from the whole of it
 *     law     = floor + visited expert_s
 *               + (rows row_bytes + tokens token_bytes) hidden
 *               / memory_bytes_per_s
 *               + max(compute, memory) + serial_frac min(compute, memory)
 *     t       = law exp(r),  r from the table
 *
 * A GPU routes, quantises and sums all t tokens, whoever has their experts;
 * t / ep of them where an exchange brings it rows (%RA_OP_ROUTED).
 *
 * Backward computes and reads twice, for the gradients of inputs and of weights
 * (once with frozen weights), and permutes once, as forward: no table of it is
 * published, so the correction is the forward's.
 *
 * The heaviest of ep groups of g loads is the mean and sqrt(2 ln(ep))
 * deviations of a group's mean (extreme of normal draws).
 * Valid: 1..16384 tokens; 8..896 experts; ep 1..256, tp 1..32.
 * Source: coefficients, the profile.   Cost: about 60 ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 without tokens or experts
 */
double ra_experts_s(const RaExpertsLaw *law, const RaOp *op);

#endif
