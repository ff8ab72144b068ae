/* Memos of an estimator: small caches in front of its laws.
 *
 * Tasks repeat ops: every layer, stage and pass of a micro-batch has GEMMs of
 * the same shapes.  A slot has the whole last op of its hash, so an answer is
 * always the law's own, to the last bit.
 *
 *     RaOpMemo *memo = ra_op_memo_new();
 *     double s = ra_op_memo_s(memo, estimator, &op, law);
 *
 * Decode steps repeat, too: every replica, trip and iteration of a call, and
 * every plan of a search with the same shard, has steps of as many sequences
 * whose tokens lie on a line that has been met.
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

/* All that lines of decode steps depend on; without padding, so that equal ones
 * have equal bytes. */
typedef struct {
  RaShard shard;
  uint32_t first_layer, n_layers, ends; /* of a RaPiece; if all layers are of
                                           one kind, the first is 0 or 1 */
  uint32_t n_sequences;
  uint64_t anchor_tokens; /* from which the lines follow each other */
} RaLineSubject;

#define RA_LINES_MAX 3 /* most have one; a host-bound piece ends in between */

/* The first lines of a subject. */
typedef struct {
  RaLineSubject subject;
  guint n;
  RaDecodeLine lines[RA_LINES_MAX];
} RaKnownLines;

typedef struct _RaLinesMemo RaLinesMemo;

RaLinesMemo *ra_lines_memo_new(void);
void ra_lines_memo_free(RaLinesMemo *memo);

/* The lines of @subject that are known; if it is new, none, to be filled. */
RaKnownLines *ra_lines_memo_at(RaLinesMemo *memo, const RaLineSubject *subject);

#endif
