/* A memo of the costs of ops: a small cache in front of an estimator's laws.
 *
 * Tasks repeat ops: every layer, stage and pass of a micro-batch has GEMMs of
 * the same shapes.  A slot has the whole last op of its hash, so an answer is
 * always the law's own, to the last bit.
 *
 *     RaOpMemo *memo = ra_op_memo_new();
 *     double s = ra_op_memo_s(memo, estimator, &op, law);
 *
 * A memo belongs to one estimator and one thread; private to estimator/
 * (ra_estimator_fork()).   Cost: 10 ns for a known op.
 */
#ifndef RA_ESTIMATOR_MEMO_H
#define RA_ESTIMATOR_MEMO_H

#include "estimator/estimator.h"

typedef struct _RaOpMemo RaOpMemo;

/* Seconds of one run of @op, a function of it without its count. */
typedef double (*RaOpMemoAsk)(const RaEstimator *estimator, const RaOp *op);

RaOpMemo *ra_op_memo_new(void);
void ra_op_memo_free(RaOpMemo *memo);

/* The result of @ask for @op; calls @ask only if it is not known. */
double ra_op_memo_s(RaOpMemo *memo, const RaEstimator *estimator,
                    const RaOp *op, RaOpMemoAsk ask);

#endif
