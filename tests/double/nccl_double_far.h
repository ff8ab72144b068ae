/* Ends of communicators in other processes (nccl_double_go_far()).
 *
 * The process that made an id is where all meet.  Another's end has a double of
 * its own here, a stand-in, which does what it says over a link
 * (tests/double/nccl_double_link.h): it joins, splits, and posts operations
 * with what they read; what they write goes back when they are over.  So one
 * and the same code lets operations meet, whichever processes they come from,
 * and an end whose operation has met nobody waits.
 *
 * All of them are called locked.
 */
#ifndef RA_TESTS_DOUBLE_NCCL_DOUBLE_FAR_H
#define RA_TESTS_DOUBLE_NCCL_DOUBLE_FAR_H

#include "tests/double/nccl_double_impl.h"

/* Of an end: what nccl_double_comm.c and nccl_double_op.c do with peers of this
 * process. */
int nccl_double_far_id(RaNcclId *out_id);
int nccl_double_far_join(Comm *c, uint32_t n_ranks, const RaNcclId *id,
                         uint32_t rank);
void nccl_double_far_split(Comm *c, int colour, int key, Comm *made);
void nccl_double_far_post(Op *op);
void nccl_double_far_unpost(Op *op);

/* Of a stand-in: what its end is to know. */
void nccl_double_far_ready(const Comm *c);
void nccl_double_far_split_over(const Comm *c);
/* Frees @op. */
void nccl_double_far_over(Op *op);

#endif
