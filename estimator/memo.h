/* What ops have cost before: a small table in front of an estimator's laws.
 *
 * Tasks repeat ops: every layer, stage and pass of a micro-batch has products
 * of the same shapes.  A slot holds the last op of its hash, all of it, so an
 * answer is the law's own to the last bit, whatever was asked in between.
 *
 *     RaOpMemo *memo = ra_op_memo_new();
 *     double s = ra_op_memo_s(memo, estimator, &op, law);
 *
 * Of one estimator and one thread; private to estimator/
 * (ra_estimator_fork()).  10 ns where the op is known.
 */
#ifndef RA_ESTIMATOR_MEMO_H
#define RA_ESTIMATOR_MEMO_H

#include "estimator/estimator.h"

typedef struct _RaOpMemo RaOpMemo;

/* Seconds of one run of @op, a function of it without its count. */
typedef double (*RaOpMemoAsk)(const RaEstimator *estimator, const RaOp *op);

RaOpMemo *ra_op_memo_new(void);
void ra_op_memo_free(RaOpMemo *memo);

/* What @ask says of @op, asked only where it is not known. */
double ra_op_memo_s(RaOpMemo *memo, const RaEstimator *estimator,
                    const RaOp *op, RaOpMemoAsk ask);

#endif
