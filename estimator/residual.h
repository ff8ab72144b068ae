/* What a law leaves over: a measured table of ln(measured / law).
 *
 * A law has the steps and the limits that hardware has (waves, floors, memory,
 * protocols); what is left is smooth, and is looked up in the law's table of
 * the profile, whose axes are named features of an op.
 *
 *     RaResidual residual;
 *     ra_residual_init(&residual, profile, "gemm.bf16", &error);
 *     double s = law_s * ra_residual_factor(&residual, &op);
 *
 * Beyond the outermost knots of an axis the value there holds.
 */
#ifndef RA_ESTIMATOR_RESIDUAL_H
#define RA_ESTIMATOR_RESIDUAL_H

#include "graph/op/op.h"
#include "traces/profile.h"

typedef enum {
  RA_FEATURE_M,         /* "m" */
  RA_FEATURE_N,         /* "n": columns of all products of the batch */
  RA_FEATURE_K,         /* "k" */
  RA_FEATURE_REUSE,     /* "reuse": of a product's weights, MiB */
  RA_FEATURE_LENGTH,    /* "length": tokens attended to by a sequence */
  RA_FEATURE_SEQUENCES, /* "sequences" */
  RA_FEATURE_HEADS,     /* "heads": query heads of all sequences */
  RA_FEATURE_Q_HEADS,   /* "q-heads" */
  RA_FEATURE_KV_HEADS,  /* "kv-heads" */
  RA_FEATURE_KV_OR_ALL, /* "kv-or-64": 64 where every query head has its own */
  RA_FEATURE_GROUP,     /* "group": query heads that share a key head */
  RA_FEATURE_WIDTH,     /* "width": of a head */
  RA_FEATURE_TOKENS,    /* "tokens": of a norm, an activation ... */
  RA_FEATURE_BYTES,     /* "bytes": of a message; that an op moves */
  RA_FEATURE_RANKS,     /* "ranks": of a collective */
  RA_FEATURE_NODES,     /* "nodes": of a collective */
  RA_N_FEATURES
} RaFeature;

typedef struct {
  const RaGrid *grid;           /* borrowed from the profile; NULL: no table */
  const char *law;              /* borrowed too: whose table it is */
  guint8 feature[RA_GRID_AXES]; /* RaFeature of each axis */
} RaResidual;

/* "m" and so on, static. */
const char *ra_feature_name(RaFeature feature);

/* A feature of @op; 0 where it makes no sense. */
double ra_feature(RaFeature feature, const RaOp *op);

/* Takes the table of law @name, if it has one; @error: %RA_ERROR_INPUT: an axis
 * is no feature. */
gboolean ra_residual_init(RaResidual *residual, const RaProfile *profile,
                          const char *name, GError **error);

/* The features of @op that are the axes of the table. */
void ra_residual_features(const RaResidual *residual, const RaOp *op,
                          double *out_at);

/* exp, the same on every machine, within 2e-11; short for what is small. */
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
 * @out_axis: (out): the first axis of which @op is beyond the knots
 *
 * Returns: whether @op is outside of what was measured
 */
gboolean ra_residual_outside(const RaResidual *residual, const RaOp *op,
                             guint *out_axis);

#endif
