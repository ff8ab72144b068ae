/* Ends of communicators in other processes (nccl_double_go_far()).
 *
 * Operations are matched in the process that created the id.  There, a stand-in
 * represents each end in another process and follows its messages over a link
 * (tests/double/nccl_double_link.h).  It joins, splits, and posts operations
 * with their inputs; outputs go back when an operation is over.  So the same
 * code matches operations from any processes, and an end without a matching
 * operation waits.
 *
 * All functions are called with the lock held.
 */
#ifndef RA_TESTS_DOUBLE_NCCL_DOUBLE_FAR_H
#define RA_TESTS_DOUBLE_NCCL_DOUBLE_FAR_H

#include "tests/double/nccl_double_impl.h"

/* Functions of an end, for what nccl_double_comm.c and nccl_double_op.c do with
 * peers in this process. */
int nccl_double_far_id(RaNcclId *out_id);
int nccl_double_far_join(Comm *c, uint32_t n_ranks, const RaNcclId *id,
                         uint32_t rank);
void nccl_double_far_split(Comm *c, int colour, int key, Comm *made);
void nccl_double_far_post(Op *op);
void nccl_double_far_unpost(Op *op);

/* Functions of a stand-in, which inform its end. */
void nccl_double_far_ready(const Comm *c);
void nccl_double_far_split_over(const Comm *c);
/* Frees @op. */
void nccl_double_far_over(Op *op);

#endif
