/* Expected error of a prediction, from held-out measurements.
 *
 *     RaModelError error;
 *     ra_model_error(setup, estimator, graph, sim, &error);
 *     if (isfinite(error.frac))
 *       printf("%.1f %%", 100 * error.frac);
 *
 * Two things make a step's time wrong.  A law that is off by a fraction moves
 * the step by that fraction of the law's share of the critical path, and errors
 * of different laws are independent:
 *
 *     laws^2 = sum over laws of (share x median error)^2
 *
 * A law whose error nobody has measured counts with the largest error of the
 * profile's laws.  The time of host calls is given, not predicted.  Waiting has
 * the error of what is waited for: shares are of the time that laws have.  The
 * computation of decode tasks, which are not split by op, counts as GEMMs and
 * attention in equal parts, their communication as all-reduces.
 *
 * What no law has is the framework: that of the system's held-out steps if
 * there is a system, else RA_ERROR_FRAMEWORK_P90.  The two add up by squares.
 * Its errors have longer tails than normal ones: a 90th percentile of 3 to 4
 * medians, not of 2.4.  So the normal law in its place has its 90th percentile,
 * by which intervals of nine of ten are, and not its median.
 *
 * Parts are kept apart as they may be common: steps on one GPU have their laws'
 * errors in common, steps of one plan on one chip what no law has, so that
 * comparisons are more certain than the steps (study/odds.h,
 * study/sweep/spread.h).  GPUs of
 * the same dense peak are one chip: H100 and H200 differ in memory.
 *
 * Nor do plans that run a call with other degrees have that call's rest in
 * common: of 144 pairs of runs of dgxc-bench of one model on H100 with other
 * degrees, predictions of nine of ten are off from each other by up to 26.3 %,
 * where two such errors apart make 25.7 %.  With the same degrees on other
 * numbers of GPUs it is 3.6 % (276 pairs): bench/peer/error_pairs.sh.
 *
 * Held against measured pairs of runs, on two GPUs or in two layouts, by
 * `reallot validate --level='pairs-*'`: how many ratios their intervals
 * contain.
 */
#ifndef RA_STUDY_MODEL_ERROR_H
#define RA_STUDY_MODEL_ERROR_H

#include "sim/breakdown.h"
#include "study/setup.h"

/* Ratio of the 90 % range to the median absolute error, for normal errors: the
 * 95 % quantile of the normal law over its median size.  Half of the
 * predictions are within the median error, nine of ten within this multiple of
 * it. */
#define RA_ERROR_NINE_OF_TEN (1.6448536269514722 / 0.6744897501960817)

/* Standard deviation of a normal law whose median absolute value is 1. */
#define RA_ERROR_SIGMA (1 / 0.6744897501960817)

/* 90th percentile of the absolute error of steps of a framework to which
 * nothing is fitted, on a GPU whose laws are measured: `train-tables-open` of
 * dgxc-bench, 102 runs on H100 (docs/validation.md; their median is 6.0 %). */
#define RA_ERROR_FRAMEWORK_P90 0.182

#define RA_ERROR_LAWS_MAX 96 /* >= ra_law_n_specs() */

typedef struct {
  double frac; /* median absolute relative error of a step; NAN: unknown */
  double whole_frac;                  /* part of it that no law has */
  double law_frac[RA_ERROR_LAWS_MAX]; /* by index of ra_law_spec_at(): share x
                                         error */
  uint64_t gpu;                       /* hash of the device: whose laws */
  uint64_t chip;                      /* hash of its dense peak and of what
                                         system runs the plan */
} RaModelError;

/**
 * ra_model_error:
 * @setup: with a plan; borrowed
 * @estimator: of the run, as the next two; borrowed
 * @out_error: (out caller-allocates)
 *
 * Cost: that of ra_critical_path_shares().
 */
void ra_model_error(const RaSetup *setup, const RaEstimator *estimator,
                    const RaTaskGraph *graph, const RaSim *sim,
                    RaModelError *out_error);

/* A part of what no law has: as much of it as all steps with @key have in
 * common.  The squares of the weights of a step's parts add up to 1. */
typedef struct {
  uint64_t key;
  double weight;
} RaErrorPart;

/**
 * ra_model_error_parts:
 * @plan: of the run; borrowed
 * @breakdown: of the run; borrowed
 *
 * A part for each call, by its time.  Its key is how the call is run: its
 * degrees, sequences of a micro-batch, schedule, sharding, recomputation,
 * overlap, launch and batching, whatever the mesh and the number of replicas.
 *
 * Returns: (transfer full) (element-type RaErrorPart)
 */
GArray *ra_model_error_parts(const RaPlan *plan, const RaBreakdown *breakdown);

/**
 * ra_model_error_draw:
 * @error: of a step
 * @parts: (array length=n_parts): of what no law has
 * @seed: of the draws
 * @draw: which
 *
 * How wrong the step is in a draw: the sum of its parts, each times a normal
 * number that all steps with that part have in common.  The step takes
 * exp(RA_ERROR_SIGMA x this) times as long.
 *
 * Returns: as a median error: 0 is what was predicted
 */
double ra_model_error_draw(const RaModelError *error, const RaErrorPart *parts,
                           guint n_parts, uint64_t seed, guint draw);

/**
 * ra_model_error_apart:
 * @a: of a step; known
 * @a_parts: (element-type RaErrorPart): of what no law has of it
 * @b: of another one; known
 * @b_parts: (element-type RaErrorPart): likewise
 *
 * How wrong the ratio of two predictions is: the median of the size of the
 * difference of their draws.  What both have in common cancels.
 *
 * Returns: 0 for a step and itself
 */
double ra_model_error_apart(const RaModelError *a, const GArray *a_parts,
                            const RaModelError *b, const GArray *b_parts);

#endif
