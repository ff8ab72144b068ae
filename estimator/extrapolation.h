/* Uses of a law beyond what was measured of it.
 *
 * A law goes on beyond its table (waves, rates, floors are physics), the
 * table's correction is held at its edge; that is said, not hidden:
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
  const char *axis; /* static: the first of the law's that is left */
  double value;     /* of the op */
  double limit;     /* the nearest that was measured */
} RaExtrapolation;

/**
 * ra_estimator_extrapolation:
 * @out_outside: (out): where @op is outside
 *
 * Laws without a table have a range for people alone (RaLaw.range): no op is
 * outside of it.
 * Cost: about 20 ns, no allocation.
 *
 * Returns: whether @op's cost is an extrapolation
 */
gboolean ra_estimator_extrapolation(const RaEstimator *estimator,
                                    const RaOp *op,
                                    RaExtrapolation *out_outside);

/* ra_collective_formula() of @op: whether a closed form carries what was
 * measured to it, and which algorithm and protocol it takes. */
gboolean ra_estimator_formula(const RaEstimator *estimator, const RaOp *op,
                              RaCollectiveChoice *out_choice);

#endif
