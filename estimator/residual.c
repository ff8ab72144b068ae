/* Features of ops, and look-up of residuals in tables. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "estimator/residual.h"
#include "graph/op/op_reuse.h"

/* A key head for each query head, as a knot of its own. */
#define OWN_KEY_HEADS 64.0
#define SHARED_KEY_HEADS 32.0

static const char *const names[RA_N_FEATURES] = {
    [RA_FEATURE_M] = "m",
    [RA_FEATURE_N] = "n",
    [RA_FEATURE_K] = "k",
    [RA_FEATURE_REUSE] = "reuse",
    [RA_FEATURE_LENGTH] = "length",
    [RA_FEATURE_SEQUENCES] = "sequences",
    [RA_FEATURE_HEADS] = "heads",
    [RA_FEATURE_Q_HEADS] = "q-heads",
    [RA_FEATURE_KV_HEADS] = "kv-heads",
    [RA_FEATURE_KV_OR_ALL] = "kv-or-64",
    [RA_FEATURE_GROUP] = "group",
    [RA_FEATURE_WIDTH] = "width",
    [RA_FEATURE_TOKENS] = "tokens",
    [RA_FEATURE_BYTES] = "bytes",
    [RA_FEATURE_RANKS] = "ranks",
    [RA_FEATURE_NODES] = "nodes",
    [RA_FEATURE_LOAD] = "load",
    [RA_FEATURE_LOCAL] = "local",
    [RA_FEATURE_AREA] = "area",
    [RA_FEATURE_SKEW] = "skew",
    [RA_FEATURE_EXPERTS] = "experts",
    [RA_FEATURE_READS] = "reads",
    [RA_FEATURE_BLOCKS] = "blocks",
    [RA_FEATURE_QUERIES] = "queries",
    [RA_FEATURE_SPAN] = "span",
    [RA_FEATURE_SMS] = "multiprocessors",
};

const char *
ra_feature_name(RaFeature feature)
{
  return names[feature];
}

gboolean
ra_feature_is_coarse(RaFeature feature)
{
  return feature == RA_FEATURE_SPAN ||
         (feature >= RA_FEATURE_LOAD && feature <= RA_FEATURE_AREA);
}

/* The same of a scan: heads of values, each with a state. */
static double
scan_feature(RaFeature feature, const uint64_t *d)
{
  switch (feature) {
  case RA_FEATURE_LENGTH:
    return d[0] > 0 ? (double)d[1] / (double)d[0] : 0;
  case RA_FEATURE_SEQUENCES:
    return (double)d[0];
  case RA_FEATURE_HEADS:
    return (double)d[0] * (double)d[3];
  case RA_FEATURE_Q_HEADS:
    return (double)d[3];
  default:
    return 0;
  }
}

/* Elements of a convolution's output beyond any cache: more are looked up as
 * these. */
#define AREA_MAX 0x1p30

/* The same of a convolution. */
static double
conv_feature(RaFeature feature, const uint64_t *d)
{
  if (feature == RA_FEATURE_LENGTH)
    return (double)d[0] / (double)MAX(d[3], 1);
  if (feature == RA_FEATURE_HEADS)
    return (double)d[3] * (double)d[1];
  return feature == RA_FEATURE_AREA ? MIN((double)d[0] * (double)d[1], AREA_MAX)
                                    : 0;
}

/* Width of the rows of a matrix that is cast whole, in which nothing is bound
 * by their number. */
#define CAST_WIDTH 8192.0

/* The same of a cast. */
static double
cast_feature(RaFeature feature, const uint64_t *d)
{
  double width = d[4] > 0 ? (double)d[4] : CAST_WIDTH;

  switch (feature) {
  case RA_FEATURE_TOKENS:
    return (double)d[0] / width;
  case RA_FEATURE_WIDTH:
    return width;
  case RA_FEATURE_READS:
    return (double)d[1];
  default:
    return 0;
  }
}

/* @x to an eighth of its octave. */
static double
rounded(double x)
{
  int exponent;
  double mantissa = frexp(x, &exponent);

  return ldexp(floor(16 * mantissa + 0.5), exponent - 4);
}

/* The same of an exchange of tokens with experts. */
static double
exchange_feature(RaFeature feature, const uint64_t *d)
{
  switch (feature) {
  case RA_FEATURE_RANKS: /* where it goes as any other all-to-all */
    return (double)d[1];
  case RA_FEATURE_TOKENS:
    return (double)d[5];
  case RA_FEATURE_SMS:
    return (double)d[6];
  case RA_FEATURE_WIDTH: /* bytes that a token sends */
    return rounded((double)d[0] / (double)d[5]);
  default:
    return 0;
  }
}

/* The feature of an op that has dimensions as attention and products do. */
static double
common_feature(RaFeature feature, const RaOp *op)
{
  const uint64_t *d = op->dim;

  switch (feature) {
  case RA_FEATURE_M:
    return (double)d[0];
  case RA_FEATURE_N: /* a batch is looked up as one product of all columns */
    return (double)d[1] * (double)d[3];
  case RA_FEATURE_RANKS:
    return (double)d[1];
  case RA_FEATURE_K:
    return (double)d[2];
  case RA_FEATURE_REUSE:
    return (double)d[RA_OP_REUSE_DIM];
  case RA_FEATURE_LENGTH:
  case RA_FEATURE_SPAN:
    return d[0] > 0 ? (double)d[2] / (double)d[0] : 0;
  case RA_FEATURE_SEQUENCES:
  case RA_FEATURE_TOKENS:
    return (double)d[0];
  case RA_FEATURE_HEADS:
    return (double)d[0] * (double)d[4];
  case RA_FEATURE_Q_HEADS:
    return (double)d[4];
  case RA_FEATURE_KV_HEADS:
    return (double)d[5];
  case RA_FEATURE_KV_OR_ALL:
    return d[4] <= d[5] ? OWN_KEY_HEADS : MIN((double)d[5], SHARED_KEY_HEADS);
  case RA_FEATURE_GROUP:
    return d[5] > 0 ? (double)d[4] / (double)d[5] : 0;
  case RA_FEATURE_WIDTH:
    return (double)d[6];
  case RA_FEATURE_BYTES:
    return ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMPUTE
               ? ra_op_bytes(op)
               : (double)d[0];
  case RA_FEATURE_NODES:
    return d[2] > 0 ? (double)d[1] / (double)d[2] : 0;
  case RA_FEATURE_LOAD:
    return d[3] > 0 ? (double)d[0] * (double)d[4] / (double)d[3] : 0;
  case RA_FEATURE_LOCAL:
    return d[5] > 0 ? (double)d[3] / (double)d[5] : (double)d[3];
  case RA_FEATURE_AREA:
    return (double)d[1] * (double)d[2];
  case RA_FEATURE_EXPERTS:
    return (double)d[3];
  case RA_FEATURE_SKEW:
    return d[6] > 0 && d[6] != RA_OP_SKEW_DEALT ? 2 : 1;
  case RA_FEATURE_BLOCKS:
    return (double)d[0] * ceil((double)d[4] / (double)RA_LATENT_BLOCK_HEADS);
  case RA_FEATURE_QUERIES:
    return d[0] > 0 ? (double)d[1] / (double)d[0] : 0;
  default:
    return 0;
  }
}

double
ra_feature(RaFeature feature, const RaOp *op)
{
  const uint64_t *d = op->dim;

  if (op->kind >= RA_OP_SCAN && op->kind <= RA_OP_SCAN_STEP)
    return scan_feature(feature, d);
  if (op->kind == RA_OP_CONV || op->kind == RA_OP_CONV_BACKWARD)
    return conv_feature(feature, d);
  if (op->kind == RA_OP_CAST)
    return cast_feature(feature, d);
  if (op->kind == RA_OP_ALL_TO_ALL && d[5] > 0 && feature != RA_FEATURE_BYTES)
    return exchange_feature(feature, d);
  return common_feature(feature, op);
}

gboolean
ra_residual_init(RaResidual *residual, const RaProfile *profile,
                 const char *name, GError **error)
{
  const RaLaw *law = ra_profile_law(profile, name);

  *residual = (RaResidual){.grid = law ? law->grid : NULL,
                           .law = law ? law->name : NULL};
  if (!residual->grid)
    return TRUE;
  for (guint a = 0; a < residual->grid->n_axes; a++) {
    const char *axis = residual->grid->axes[a].name;
    guint f = 0;

    while (f < RA_N_FEATURES && strcmp(names[f], axis) != 0)
      f++;
    if (f == RA_N_FEATURES) {
      int group = ra_key_file_find_group(profile->file, "table", name);

      return ra_key_file_fail(profile->file, (guint)MAX(group, 0), NULL, error,
                              "axis '%s' of the table of '%s' is unknown", axis,
                              name);
    }
    residual->feature[a] = (guint8)f;
  }
  return TRUE;
}

void
ra_residual_features(const RaResidual *residual, const RaOp *op, double *out_at)
{
  for (guint a = 0; a < residual->grid->n_axes; a++)
    out_at[a] = ra_feature((RaFeature)residual->feature[a], op);
}

double
ra_residual_exp(double r)
{
  double x = r * 0.0625, x2 = x * x, y;

  if (r < -1 || r > 1)
    return ra_exp(r);
  /* (e^(r/16))^16; the first term left out is 0.0625^7 / 7! = 7e-13. */
  y = (1 + x) + x2 * ((1. / 2 + x * (1. / 6)) +
                      x2 * ((1. / 24 + x * (1. / 120)) + x2 * (1. / 720)));
  y *= y;
  y *= y;
  y *= y;
  return y * y;
}

double
ra_residual_factor(const RaResidual *residual, const RaOp *op)
{
  double at[RA_GRID_AXES];

  if (!residual->grid)
    return 1;
  ra_residual_features(residual, op, at);
  return ra_residual_exp(ra_grid_at(residual->grid, at));
}

gboolean
ra_residual_outside(const RaResidual *residual, const RaOp *op, guint *out_axis)
{
  const RaGrid *grid = residual->grid;

  for (guint a = 0; grid && a < grid->n_axes; a++) {
    const RaGridAxis *axis = &grid->axes[a];
    double at = ra_feature((RaFeature)residual->feature[a], op);

    if (at < axis->knots[0] || at > axis->knots[axis->n_knots - 1]) {
      *out_axis = a;
      return TRUE;
    }
  }
  return FALSE;
}
