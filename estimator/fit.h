/* Fitting: a law's coefficients and table from measured rows.
 *
 * Predictions are the estimator's own (ra_estimator_op_s()), so that the
 * formula of a law exists once.  The residual of the law goes into its table,
 * if the law has one.  The held-out error is measured by leaving out whole
 * groups of rows (every row of one n, one k, one number of query heads ...),
 * one group at a time, and fitting law and table on the rest.
 *
 *     ra_fit_coefficients(law, profile, rows, &result);
 *     GArray *errors = ra_fit_cross(law, profile, rows, &table);
 *     RaGrid *grid =
 *         ra_fit_table(law, profile, rows, law->tables[table - 1]);
 */
#ifndef RA_ESTIMATOR_FIT_H
#define RA_ESTIMATOR_FIT_H

#include "estimator/residual.h"
#include "traces/measured.h"

#define RA_FIT_TABLES 3
/* Rows closer than this to the law are never outliers.  The last of four digits
 * of a coefficient is half of 1e-4; a nanosecond of a trace is 3e-4 of the
 * shortest kernels. */
#define RA_FIT_ROUNDED 1e-3

/* A coefficient's start and bounds; low = high: not fitted. */
typedef struct {
  const char *name;
  double start, low, high;
} RaFitCoefficient;

/* Axes of a table, in order; ended by RA_N_FEATURES. */
typedef RaFeature RaFitAxes[RA_GRID_AXES + 1];

/* The method of fitting one law. */
typedef struct {
  const char *law;    /* name in the profile */
  const char *source; /* one of ra_measured_sources */
  const RaFitCoefficient *coefficients;
  guint n_coefficients;
  guint stride;              /* the search uses every stride-th row */
  guint lines;               /* bit i: groups i of rows are left out in turn */
  const RaFitAxes *tables;   /* candidates; the least held-out error wins */
  guint n_tables;            /* 0: the law alone */
  gboolean anneals;          /* ra_robust_anneal(): for rows without noise */
  gboolean needs_table;      /* a candidate wins over the law alone */
  gboolean keeps_tables;     /* tables of other laws apply during the fit */
  const GPtrArray *siblings; /* (nullable) (GArray of RaMeasured): rows of other
                                GPUs that its tables borrow, an array each */
  const char *text;          /* description of the rows */
  const char *range;         /* range of validity */
  const char *held_out;      /* description of the groups left out */
} RaFitLaw;

/* One row, predicted by a fit that had not seen its group. */
typedef struct {
  guint row;    /* index of the row */
  guint line;   /* grouping by which it was left out, 0 or 1 */
  double error; /* predicted / measured - 1 */
} RaHeldOut;

typedef struct {
  double loss;        /* mean of min(|ln(law / measured)|, 1) */
  double scale;       /* 1.4826 median of |ln(law / measured)| */
  guint n_outliers;   /* rows more than RA_ROBUST_OUTLIER scales away */
  guint worst;        /* row that is furthest away */
  double worst_ratio; /* measured / law of that row */
} RaFitResult;

/* The fits of laws by published tables. */
guint ra_fit_n_laws(void);
const RaFitLaw *ra_fit_law_at(guint index);
/* (nullable): the fit of law @name. */
const RaFitLaw *ra_fit_law(const char *name);

/* (nullable): the fit of law @name for rows of a host back end, which has more
 * laws, those of its ops, with the bounds of a core (estimator/fit_host.c). */
const RaFitLaw *ra_fit_host_law(const char *name);

/* The fits for rows of a trace: those of published tables, then those of laws
 * without published tables, and sends between nodes, ra_fit_pair(TRUE). */
guint ra_fit_n_trace_laws(void);
const RaFitLaw *ra_fit_trace_law_at(guint index);

/* The name of the law of @op in a profile that has every law, static; NULL: @op
 * has no single law (a core of attention, host work). */
const char *ra_fit_law_of(const RaOp *op);

/* The same in @profile, in which other laws may replace missing ones. */
const char *ra_fit_law_in(const RaProfile *profile, const RaOp *op);

/* TRUE if @law, from ra_fit_trace_law_at(), is the law of @op in @profile.  A
 * GEMM with a stated reuse distance (graph/op/op_reuse.h) has none if the
 * profile lacks the effect of reuse. */
gboolean ra_fit_takes(const RaFitLaw *law, const RaProfile *profile,
                      const RaOp *op);

/* TRUE if @law has separate coefficients for 2, 4 and 8 GPUs, a third each. */
gboolean ra_fit_has_ranks(const RaFitLaw *law);

/* The law of sends fitted on pairs of GPUs of other systems than the profiles',
 * in a node or (@across) over a slow network: to score the method. */
const RaFitLaw *ra_fit_pair(gboolean across);

/* Fills `beside_s` of @rows (element-type RaMeasured): what @profile, which has
 * every law that the ops of their blocks need, predicts of these beside the
 * row's own.  Rows of single ops stay. */
void ra_fit_beside(const RaProfile *profile, GArray *rows);

/**
 * ra_fit_predict:
 * @profile: has every law that @rows need
 * @rows: (element-type RaMeasured)
 * @out_s: (array): seconds of each row
 *
 * The profile's predictions of measured rows, on the nodes of the rows.
 */
void ra_fit_predict(const RaProfile *profile, const GArray *rows,
                    double *out_s);

/**
 * ra_fit_coefficients:
 * @profile: the law's coefficients are set, to four digits, and its table is
 *   removed
 * @rows: (element-type RaMeasured): at least one
 *
 * Fits the law alone on all rows.
 */
void ra_fit_coefficients(const RaFitLaw *law, RaProfile *profile,
                         const GArray *rows, RaFitResult *out_result);

/**
 * ra_fit_table:
 * @profile: has the fitted coefficients and no table
 * @axes: one of law->tables
 *
 * Returns: (transfer full): ln(measured / law) at the rows and at those that
 * law->siblings lend, filled
 */
RaGrid *ra_fit_table(const RaFitLaw *law, const RaProfile *profile,
                     const GArray *rows, const RaFeature *axes);

/* TRUE if law->siblings may be set. */
gboolean ra_fit_borrows(const RaFitLaw *law);

/**
 * ra_fit_borrow:
 * @law: has siblings
 * @rows: (element-type RaMeasured)
 * @out_share: (out): the share of ln(seconds) that what is lent should have
 *   beside the table's own estimate
 *
 * Sizes that @rows lack and a sibling has: its time, times the ratio of the
 * GPU's times to its own at the nearest smaller and larger size that both have,
 * other dimensions equal, linear in ln(size), or at the nearest where there is
 * but one; of several siblings the geometric mean.  What is read along one
 * dimension is there for the next.
 *
 * Returns: (transfer full) (element-type RaMeasured): @rows, then those
 */
GArray *ra_fit_borrow(const RaFitLaw *law, const GArray *rows,
                      double *out_share);

/* Adds the values of @feature in @rows to @grid as an axis. */
void ra_fit_add_axis(RaGrid *grid, RaFeature feature, const GArray *rows);

/**
 * ra_fit_reuse:
 * @rows: (element-type RaMeasured): GEMMs, each with a reuse distance
 *   (graph/op/op_reuse.h)
 * @lap_mib: reuse distance of the rows of the law's fit
 * @held_out: (element-type RaHeldOut): appended to: the error of each row that
 *   is between two others of its shape, if interpolated between them
 *
 * The effect of reuse, shape by shape as shapes differ: ln(time / time at
 * @lap_mib), the nearest values that do not fall as the reuse distance grows.
 *
 * Returns: (transfer full): a grid over m, n, k and the reuse distance, filled;
 *   %NULL if no shape has rows at @lap_mib and at another distance
 */
RaGrid *ra_fit_reuse(const GArray *rows, double lap_mib, GArray *held_out);

/**
 * ra_fit_merge:
 * @profile: has @law's coefficients and table
 * @rows: (element-type RaMeasured): new samples
 *
 * Adds ln(measured / law) of @rows to the table.  A cell with samples then has
 * the number, mean and deviation of all of them.  Missing knots are added to an
 * axis up to RA_GRID_KNOTS; further samples count for the knot below.
 *
 * Returns: (transfer full): the new table; %NULL if @law has none
 */
RaGrid *ra_fit_merge(const RaFitLaw *law, RaProfile *profile,
                     const GArray *rows);

/**
 * ra_fit_refit:
 * @profile: has @law's coefficients and table
 * @rows: (element-type RaMeasured): rows of runs, each `file` one run
 *
 * Moves the cells around @rows towards the measurements.  Any number of samples
 * of an op in a run is only one sample of the variation between runs, and so is
 * each cell.  The variance between runs, by moments over all rows of the law,
 * is
 *
 *     tau^2 = sum (d^2 - u - sum_c a_c^2 u_c) / sum (1 / runs + sum_c a_c^2)
 *
 * and at least 0.  Here d = ln(measured / predicted), u is the squared standard
 * error of a mean, and a_c the weight of cell c in the prediction (the method
 * of moments of random effects: DerSimonian, Laird, Controlled Clinical Trials
 * 7, 1986; Hedges, Olkin, 1985).  A cell moves by the weighted mean of the
 * shifts around it, times the gain of the linear estimate:
 *
 *     a (u_c + tau^2) / (sum_k a_k^2 (u_k + tau^2) + u + tau^2 / runs)
 *
 * The gain is 1/2 for one run at a knot if both have many repeats.  If runs
 * differ no more than repeats, tau is 0 and each mean counts by its own error.
 * Numbers and deviations of cells stay those of the calibration; a cell without
 * samples gets those of the run.
 *
 * Returns: (transfer full): the new table; %NULL if @law has none
 */
RaGrid *ra_fit_refit(const RaFitLaw *law, RaProfile *profile,
                     const GArray *rows);

/**
 * ra_fit_cross:
 * @profile: has the data sheet and any coefficients; unchanged at the end
 * @out_table: (out): the best of law->tables (by the mean of the median and a
 *   third of the 90th percentile), counted from 1; 0: the law alone
 *
 * Cross-validation: leaves out every group in turn, except RA_MEASURED_KEPT.
 *
 * Returns: (transfer full) (element-type RaHeldOut): errors with that table
 */
GArray *ra_fit_cross(const RaFitLaw *law, RaProfile *profile,
                     const GArray *rows, guint *out_table);

/* Median and 90th percentile of the absolute errors. */
void ra_fit_errors(const GArray *held_out, double *out_median_frac,
                   double *out_p90_frac);

#endif
