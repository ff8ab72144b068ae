/* Routing of tokens to experts that is uneven: loads drawn from a power law.
 *
 *     RaRouting loads = ra_routing(60, n_tokens, n_tokens * 8, 128);
 *     double imbalance = ra_routing_imbalance(&loads, 8, 16, 1);  // 1.5
 *
 * Loads x have a density of x^-a between lo and hi: 1 and 0.8 t of t tokens,
 * or 0.01 and 2 where there are no more choices than experts.  They are in
 * units of their own: only their spread counts.
 *
 * Source: kernels_moe/SOURCE.md, the collector's sampler (NVIDIA's
 * aiconfigurator).   Cost: tens of ns, no allocation.
 */
#ifndef RA_GRAPH_OP_ROUTING_H
#define RA_GRAPH_OP_ROUTING_H

#include <glib.h>

typedef struct {
  double exponent; /* a */
  double log_least, log_most;
  double moments[3]; /* I0, I1, I2 */
  double most_power; /* of I0: the most to its power */
} RaRouting;

/* @skew: a in hundredths; @choices: tokens times experts of a token. */
RaRouting ra_routing(guint64 skew, double n_tokens, double choices,
                     double n_experts);

/**
 * ra_routing_imbalance:
 * @n_ranks: that divide the experts
 * @n_local: experts of one
 * @deviations: share of the deviation that counts; 1: the closed form
 *
 * Load imbalance: that of the rank with most over the mean:
 *
 *     1 + deviations cv sqrt(2 ln(n_ranks) / n_local), at most n_ranks
 *     cv = sqrt(I2 I0 / I1^2 - 1),  Ij the integral of x^(j - a)
 *
 * as the heaviest of n sums of g loads is their mean and sqrt(2 ln(n))
 * deviations of such a sum (extreme of normal draws).
 *
 * Returns: >= 1; 1 for one rank
 */
double ra_routing_imbalance(const RaRouting *loads, double n_ranks,
                            double n_local, double deviations);

/**
 * ra_routing_visited:
 * @rows: mean load, rows
 *
 * Share of the experts with at least half a row: x >= I1 / I0 / (2 rows); few
 * rows find experts as by chance, to second order.
 *
 * Returns: 0 to 1
 */
double ra_routing_visited(const RaRouting *loads, double rows);

#endif
