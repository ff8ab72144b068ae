/* Fitting: a law's coefficients and table from measured rows.
 *
 * Predictions are the estimator's own (ra_estimator_op_s()), so that a law's
 * formula stands once.  What is left over after the law goes into its table,
 * where the law has one.  The held-out error is measured by leaving out whole
 * lines (every row of an n, of a k, of a number of query heads ...), one at a
 * time, and fitting law and table on the rest.
 *
 *     RaMemoryVerdict *fit = ra_memory_verdict_new(profile, &cluster,
 *     ra_fit_law("gemm.bf16"));
 *     ra_fit_all(fit, rows);          profile now has coefficients and table
 *     GArray *errors = ra_fit_cross(fit, rows);
 */
#ifndef RA_ESTIMATOR_FIT_H
#define RA_ESTIMATOR_FIT_H

#include "estimator/residual.h"
#include "traces/measured.h"

#define RA_FIT_TABLES 3
/* Rows nearer to the law are no outliers: four digits of a coefficient are half
 * of 1e-4, a nanosecond of a trace is 3e-4 of the shortest kernels. */
#define RA_FIT_ROUNDED 1e-3

/* A coefficient's start and bounds; low = high: not fitted. */
typedef struct {
  const char *name;
  double start, low, high;
} RaFitCoefficient;

/* Axes of a table, in order; ended by RA_N_FEATURES. */
typedef RaFeature RaFitAxes[RA_GRID_AXES + 1];

/* How one law is fitted. */
typedef struct {
  const char *law;    /* of the profile */
  const char *source; /* of ra_measured_sources */
  const RaFitCoefficient *coefficients;
  guint n_coefficients;
  guint stride;            /* every so many rows serve the search */
  guint lines;             /* bit i: line i of a row is left out in turn */
  const RaFitAxes *tables; /* candidates; the least held-out error wins */
  guint n_tables;          /* 0: the law alone */
  gboolean anneals;        /* ra_robust_anneal(): for rows without noise */
  gboolean needs_table;    /* the least held-out error of those with one */
  gboolean keeps_tables;   /* those of other laws count while it is fitted */
  const char *text;        /* what the rows are */
  const char *range;       /* of validity */
  const char *held_out;    /* which lines are left out */
} RaFitLaw;

/* One row, predicted by a fit that had not seen its line. */
typedef struct {
  guint row;    /* of the rows */
  guint line;   /* which line was left out, 0 or 1 */
  double error; /* predicted / measured - 1 */
} RaHeldOut;

typedef struct {
  double loss;        /* mean of min(|ln(law / measured)|, 1) */
  double scale;       /* of ln(law / measured): 1.4826 median */
  guint n_outliers;   /* rows beyond RA_ROBUST_OUTLIER scales of it */
  guint worst;        /* row of the furthest */
  double worst_ratio; /* there, measured / law */
} RaFitResult;

guint ra_fit_n_laws(void);
const RaFitLaw *ra_fit_law_at(guint index);
/* (nullable): the one that fits law @name. */
const RaFitLaw *ra_fit_law(const char *name);

/* The same for rows of a host back end, whose laws are those of its ops: more
 * of them, and with the bounds of a core (estimator/fit_host.c). */
guint ra_fit_n_host_laws(void);
const RaFitLaw *ra_fit_host_law_at(guint index);
/* (nullable): the one that fits law @name. */
const RaFitLaw *ra_fit_host_law(const char *name);

/* Every law that rows of a trace may be of: those above, then those that no
 * published table has, and sends between nodes, ra_fit_pair(TRUE). */
guint ra_fit_n_trace_laws(void);
const RaFitLaw *ra_fit_trace_law_at(guint index);

/* The name of the law that costs @op in a profile that has every law, static;
 * NULL: none does it alone (a core of attention, host work). */
const char *ra_fit_law_of(const RaOp *op);

/* The same in @profile, which may lack laws that others then stand in for. */
const char *ra_fit_law_in(const RaProfile *profile, const RaOp *op);

/* Whether @law, of ra_fit_trace_law_at(), is what costs @op in @profile; none
 * is for a product that says a reuse (graph/op/op_reuse.h) where the profile
 * does not know what that makes of it. */
gboolean ra_fit_takes(const RaFitLaw *law, const RaProfile *profile,
                      const RaOp *op);

/* Whether @law has coefficients of their own for 2, 4 and 8 GPUs, each a third.
 */
gboolean ra_fit_has_ranks(const RaFitLaw *law);

/* The law of sends fitted on pairs of GPUs of other systems than the profiles',
 * in a node or (@across) over a slow network: to score the method. */
const RaFitLaw *ra_fit_pair(gboolean across);

/**
 * ra_fit_predict:
 * @profile: with every law that @rows need
 * @rows: (element-type RaMeasured)
 * @out_s: (array): seconds of each row
 *
 * What the profile says of measured rows, on the nodes that they are from.
 */
void ra_fit_predict(const RaProfile *profile, const GArray *rows,
                    double *out_s);

/**
 * ra_fit_coefficients:
 * @profile: its law's coefficients are set, to four digits, its table taken
 *   away
 * @rows: (element-type RaMeasured): at least one
 *
 * Fits the law alone on all rows.
 */
void ra_fit_coefficients(const RaFitLaw *law, RaProfile *profile,
                         const GArray *rows, RaFitResult *out_result);

/**
 * ra_fit_table:
 * @profile: with the coefficients fitted and no table
 * @axes: of law->tables
 *
 * Returns: (transfer full): ln(measured / law) at the rows, filled
 */
RaGrid *ra_fit_table(const RaFitLaw *law, const RaProfile *profile,
                     const GArray *rows, const RaFeature *axes);

/* The values that @feature takes of @rows, as an axis of @grid. */
void ra_fit_add_axis(RaGrid *grid, RaFeature feature, const GArray *rows);

/**
 * ra_fit_reuse:
 * @rows: (element-type RaMeasured): of products, each with a reuse
 *   (graph/op/op_reuse.h)
 * @lap_mib: that of the rows that their law is fitted on
 * @held_out: (element-type RaHeldOut): appended to: what each row between two
 *   others of its shape is off when it is read between them
 *
 * Shape by shape, as shapes differ: ln(time / time at the lap), the nearest
 * values that do not fall as the reuse grows.
 *
 * Returns: (transfer full): over m, n, k and the reuse, filled; %NULL where no
 *   shape has rows at the lap and at another reuse
 */
RaGrid *ra_fit_reuse(const GArray *rows, double lap_mib, GArray *held_out);

/**
 * ra_fit_merge:
 * @profile: with @law's coefficients and table
 * @rows: (element-type RaMeasured): new samples
 *
 * Adds ln(measured / law) of @rows to the table: a cell that has samples then
 * has the number, mean and deviation of all of them; knots that it lacks come
 * to its axes, at most RA_GRID_KNOTS to one (samples between then count for the
 * knot below).
 *
 * Returns: (transfer full): the new table; %NULL where @law has none
 */
RaGrid *ra_fit_merge(const RaFitLaw *law, RaProfile *profile,
                     const GArray *rows);

/**
 * ra_fit_refit:
 * @profile: with @law's coefficients and table
 * @rows: (element-type RaMeasured): of runs, each `file` one of them
 *
 * Moves the cells between which @rows lie towards what they say.  However many
 * samples a run has of an op, it is one draw of what one run differs from
 * another by, and so is each cell: tau^2, by moments over all rows of the law,
 *
 *     sum (d^2 - u - sum_c a_c^2 u_c) / sum (1 / runs + sum_c a_c^2)
 *
 * with d = ln(measured / predicted), u the squared standard error of a mean,
 * a_c the weight of cell c in what was predicted; at least 0 (the method of
 * moments of random effects: DerSimonian, Laird, Controlled Clinical Trials 7,
 * 1986; Hedges, Olkin, 1985).  A cell moves by the gain of the linear estimate
 * from the weighted mean of the shifts around it,
 *
 *     a (u_c + tau^2) / (sum_k a_k^2 (u_k + tau^2) + u + tau^2 / runs)
 *
 * which is 1/2 for one run at a knot where both are repeated often; where runs
 * differ by no more than repeats do, tau is 0, and each mean counts by its own
 * error.  Numbers and deviations of
 * cells stay those of the calibration; a cell that nobody had measured gets
 * those of the run.
 *
 * Returns: (transfer full): the new table; %NULL where @law has none
 */
RaGrid *ra_fit_refit(const RaFitLaw *law, RaProfile *profile,
                     const GArray *rows);

/**
 * ra_fit_cross:
 * @profile: with the data sheet and any coefficients; untouched at the end
 * @out_table: (out): which of law->tables did best (by the mean of median and
 *   third of the 90th percentile), counted from 1; 0: the law alone
 *
 * Leaves out every line in turn, but none called RA_MEASURED_KEPT.
 *
 * Returns: (transfer full) (element-type RaHeldOut): of that table
 */
GArray *ra_fit_cross(const RaFitLaw *law, RaProfile *profile,
                     const GArray *rows, guint *out_table);

/* Median and 90th percentile of the errors' size. */
void ra_fit_errors(const GArray *held_out, double *out_median_frac,
                   double *out_p90_frac);

#endif
