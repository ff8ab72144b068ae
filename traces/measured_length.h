/* Fit of a length distribution to measured responses: mean, standard deviation,
 * and correlation between responses to one prompt.
 *
 *     RaMeasuredLengthFit fit;
 *     if (!ra_measured_length_fit(tokens, prompt, n, &fit)) too few responses
 *
 * The fit is a one-way analysis of variance of the logarithms x_ij (response j
 * of n_i to prompt i of k, N responses in all):
 *
 *     within  = sum (x_ij - mean_i)^2 / (N - k)
 *     between = sum n_i (mean_i - mean)^2 / (k - 1)
 *     n0      = (N - sum n_i^2 / N) / (k - 1)
 *     rho     = (between - within) / (between + (n0 - 1) within)
 *
 * rho is the intraclass correlation (Donner, "A review of inference procedures
 * for the intraclass correlation coefficient", Int. Stat. Rev. 54 (1986)), cut
 * to [0, 1].  It is the value for a workload's `response-correlation`.  Lengths
 * in characters have the same rho as lengths in tokens, as long as the two are
 * proportional.
 */
#ifndef RA_TRACES_MEASURED_LENGTH_H
#define RA_TRACES_MEASURED_LENGTH_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  guint n_answers;    /* N */
  guint n_groups;     /* k */
  double mean;        /* of the lognormal law: e^(m + s^2 / 2); unit as given */
  double sd;          /* mean sqrt(e^(s^2) - 1) */
  double log_sd;      /* s, of all responses */
  double correlation; /* rho */
  double correlation_error; /* its standard error for groups of n0 */
} RaMeasuredLengthFit;

/**
 * ra_measured_length_fit:
 * @lengths: (array length=n): > 0, any one unit
 * @groups: (array length=n): prompt of each response; responses to one prompt
 *   are adjacent
 * @n: number of responses
 *
 * The standard error is sqrt(2 (1 - rho)^2 (1 + (n0 - 1) rho)^2 / (n0 (n0 - 1)
 * (k - 1))), Donner's for equal groups.   Cost: O(n).
 *
 * Returns: %FALSE, and @out_fit is untouched, if there are fewer than two
 *   prompts, no prompt with two responses, or only equal lengths
 */
gboolean ra_measured_length_fit(const double *lengths, const uint32_t *groups,
                                guint n, RaMeasuredLengthFit *out_fit);

#endif
