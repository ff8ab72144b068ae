/* The residual of a law: a measured table of ln(measured / law).
 *
 * A law has the steps and limits of the hardware (waves, floors, memory,
 * protocols).  The rest is smooth and comes from the law's table in the
 * profile, whose axes are named features of an op.
 *
 *     RaResidual residual;
 *     ra_residual_init(&residual, profile, "gemm.bf16", &error);
 *     double s = law_s * ra_residual_factor(&residual, &op);
 *
 * Outside the outermost knots of an axis, the value at the knot applies.
 */
#ifndef RA_ESTIMATOR_RESIDUAL_H
#define RA_ESTIMATOR_RESIDUAL_H

#include "graph/op/op.h"
#include "traces/profile.h"

typedef enum {
  RA_FEATURE_M,         /* "m" */
  RA_FEATURE_N,         /* "n": columns of all GEMMs of the batch */
  RA_FEATURE_K,         /* "k" */
  RA_FEATURE_REUSE,     /* "reuse": reuse distance of a GEMM's weights, MiB */
  RA_FEATURE_LENGTH,    /* "length": tokens attended to by a sequence */
  RA_FEATURE_SEQUENCES, /* "sequences" */
  RA_FEATURE_HEADS,     /* "heads": query heads of all sequences, or channels of
                           a convolution */
  RA_FEATURE_Q_HEADS,   /* "q-heads" */
  RA_FEATURE_KV_HEADS,  /* "kv-heads" */
  RA_FEATURE_KV_OR_ALL, /* "kv-or-64": 64 if every query head has its own */
  RA_FEATURE_GROUP,     /* "group": query heads that share a key head */
  RA_FEATURE_WIDTH,     /* "width": width of a head, or of a cast's row */
  RA_FEATURE_TOKENS,    /* "tokens": tokens of a norm, an activation ... */
  RA_FEATURE_BYTES,     /* "bytes": size of a message, or bytes an op moves */
  RA_FEATURE_RANKS,     /* "ranks": ranks of a collective */
  RA_FEATURE_NODES,     /* "nodes": nodes of a collective */
  RA_FEATURE_LOAD,      /* "load": rows of an expert if loads are even */
  RA_FEATURE_LOCAL,     /* "local": experts of a rank */
  RA_FEATURE_AREA,      /* "area": elements of one matrix of an expert, or
                           of a convolution's output */
  RA_FEATURE_EXPERTS,   /* "experts": of a layer */
  RA_FEATURE_SKEW,      /* "skew": 1 if loads are even, 2 if not */
  RA_FEATURE_READS,     /* "reads": passes over what is cast */
  RA_FEATURE_BLOCKS,    /* "blocks": of a latent decode step, of all sequences,
                           see RA_LATENT_BLOCK_HEADS */
  RA_FEATURE_QUERIES,   /* "queries": tokens of a sequence that attend */
  RA_FEATURE_SPAN,      /* "span": "length", in octaves */
  RA_FEATURE_SMS,       /* "multiprocessors": that an exchange of tokens has */
  RA_N_FEATURES
} RaFeature;

typedef struct {
  const RaGrid *grid;           /* borrowed from the profile; NULL: no table */
  const char *law;              /* law of the table, borrowed too */
  guint8 feature[RA_GRID_AXES]; /* RaFeature of each axis */
} RaResidual;

/* Name of a feature, "m" and so on; static. */
const char *ra_feature_name(RaFeature feature);

/* TRUE if the knots of @feature are powers of two, whatever values were
 * measured: quantities that are products of others have too many. */
gboolean ra_feature_is_coarse(RaFeature feature);

/* Heads of a sequence that a block of a latent decode step takes together: rows
 * of FlashMLA's tile (64 x 576), one wgmma of a warp group. */
#define RA_LATENT_BLOCK_HEADS 64

/* A feature of @op; 0 if @op does not have it. */
double ra_feature(RaFeature feature, const RaOp *op);

/* Uses the table of law @name, if it has one.  @error: %RA_ERROR_INPUT: an axis
 * is not a feature. */
gboolean ra_residual_init(RaResidual *residual, const RaProfile *profile,
                          const char *name, GError **error);

/* The features of @op that are the axes of the table. */
void ra_residual_features(const RaResidual *residual, const RaOp *op,
                          double *out_at);

/* exp, equal on every machine, within 2e-11; fast for small @r. */
double ra_residual_exp(double r);

/**
 * ra_residual_factor:
 *
 *     exp(r),  r linear in log2 of the features between measured knots
 *
 * Cost: 10 to 40 ns, no allocation.
 *
 * Returns: measured / law at @op; 1 without a table
 */
double ra_residual_factor(const RaResidual *residual, const RaOp *op);

/**
 * ra_residual_outside:
 * @out_axis: (out): the first axis on which @op is outside the knots
 *
 * Returns: %TRUE if @op is outside the measurements
 */
gboolean ra_residual_outside(const RaResidual *residual, const RaOp *op,
                             guint *out_axis);

#endif
