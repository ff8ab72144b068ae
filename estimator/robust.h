/* Robust least squares: coefficients of a law from rows with outliers.
 *
 * A problem is a function that gives the residual of each row (here always
 * ln(predicted / measured)) for positive parameters within bounds.  A coarse
 * search by coordinates finds the right branch of laws that consist of minima
 * and maxima.  Levenberg-Marquardt steps on the logarithms of the parameters,
 * with Tukey's weights, then refine it.  There are no random numbers: equal
 * rows give equal results.
 *
 *     RaRobust problem = {.n_rows = n, .n_parameters = 3, .low = low,
 *                         .high = high, .residuals = residuals, .data = rows};
 *     ra_robust_search(&problem, parameters);
 *     double scale = ra_robust_polish(&problem, parameters);
 */
#ifndef RA_ESTIMATOR_ROBUST_H
#define RA_ESTIMATOR_ROBUST_H

#include <glib.h>

#define RA_ROBUST_PARAMETERS 24

/* @out_residuals: (array length=n_rows); finite. */
typedef void (*RaRobustResiduals)(gpointer data, const double *parameters,
                                  double *out_residuals);

typedef struct {
  guint n_rows;
  guint n_parameters; /* 1..RA_ROBUST_PARAMETERS */
  const double *low;  /* (n_parameters) > 0 */
  const double *high; /* (n_parameters) >= low; equal: pinned */
  RaRobustResiduals residuals;
  gpointer data;
  double least_scale; /* for ra_robust_polish(); 0: that of rounding */
} RaRobust;

/**
 * ra_robust_search:
 * @parameters: (inout): a start within the bounds
 *
 * Minimises the mean of min(|residual|, 1): scales every parameter up and down
 * in turn, with steps that shrink from 3/2 over 16 rounds.
 */
void ra_robust_search(const RaRobust *problem, double *parameters);

/**
 * ra_robust_polish:
 * @parameters: (inout): a start near the answer
 *
 * Minimises the sum of Tukey's biweight of residual / scale (tuning constant
 * 4.685: 95 % efficient for normal errors; Holland, Welsch, 1977).  The scale
 * is 1.4826 median |r| before each of at most 12 steps (Levenberg, 1944;
 * Marquardt, 1963).  Its own arithmetic has one order on every processor.
 *
 * Returns: the scale; rows further than RA_ROBUST_OUTLIER scales away had no
 *   weight
 */
double ra_robust_polish(const RaRobust *problem, double *parameters);

/**
 * ra_robust_anneal:
 * @parameters: (inout): the result of ra_robust_polish()
 *
 * Polishes with a least scale of 0.1, which then shrinks to 0, and keeps the
 * result if its mean of min(|residual|, 1) is less.  This helps if a part of
 * the rows fits almost exactly: their scale makes outliers of the others, which
 * a better solution would fit too (graduated non-convexity; Blake, Zisserman,
 * 1987).
 *
 * Returns: as ra_robust_polish()
 */
double ra_robust_anneal(const RaRobust *problem, double *parameters);

#define RA_ROBUST_OUTLIER 4.685

/**
 * ra_robust_solve:
 * @n: rows
 * @a: (inout): n x n, symmetric; its lower triangle is read, and becomes its
 *   Cholesky factor
 * @b: (inout): becomes x of a x = b
 *
 * One order of + - x / and square roots: a LAPACK's is that of the processor,
 * and the last digit of a fit would be as well.   Cost: n^3 / 3.
 *
 * Returns: %FALSE where @a is not positive definite
 */
gboolean ra_robust_solve(guint n, double *a, double *b);

/* 1.4826 median |r|; changes @residuals and their order. */
double ra_robust_scale(double *residuals, guint n);

/* The @q-quantile of @values, which it sorts; 0 if there are none. */
double ra_robust_quantile(double *values, guint n, double q);

#endif
