/* Extrapolation: uses of a law outside its measurements.
 *
 * Outside its table, a law itself still holds (waves, rates and floors are
 * physics), and the table's correction stays that of the edge.  Callers can
 * report this:
 *
 *     RaExtrapolation outside;
 *     if (ra_estimator_extrapolation(estimator, &op, &outside))
 *       "gemm.bf16 m 131072 > 32768"
 */
#ifndef RA_ESTIMATOR_EXTRAPOLATION_H
#define RA_ESTIMATOR_EXTRAPOLATION_H

#include "estimator/collective_model.h"
#include "estimator/estimator.h"

typedef struct {
  const char *law;  /* static */
  const char *axis; /* static: first axis outside the measurements */
  double value;     /* value of the op */
  double limit;     /* nearest measured value */
} RaExtrapolation;

/**
 * ra_estimator_extrapolation:
 * @out_outside: (out): the law, axis and values of the extrapolation
 *
 * The range of a law without a table is for people only (RaLaw.range): none of
 * its ops counts as an extrapolation.
 * Cost: about 20 ns, no allocation.
 *
 * Returns: %TRUE if the cost of @op is an extrapolation
 */
gboolean ra_estimator_extrapolation(const RaEstimator *estimator,
                                    const RaOp *op,
                                    RaExtrapolation *out_outside);

/* TRUE if @op is costed by a law of its own kind; FALSE: by the nearest one
 * (estimator/nearest.h), with an error that is not known. */
gboolean ra_estimator_has_law(const RaEstimator *estimator, const RaOp *op);

/* ra_collective_formula() of @op: TRUE if a closed form extends measurements to
 * @op, with the algorithm and protocol that it chooses. */
gboolean ra_estimator_formula(const RaEstimator *estimator, const RaOp *op,
                              RaCollectiveChoice *out_choice);

#endif
