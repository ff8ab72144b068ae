/* Generation of one replica, token by token, without visiting every token where
 * it can.
 *
 * A replica's sequences are in n_groups micro-batches that go round the pp
 * stages: in step t, group g passes stage s after stage s-1 and after group g-1
 * has left stage s, and enters stage 0 after its own step t-1 has left the last
 * stage.  A sequence that reaches its length leaves its group.  Between two
 * ends the batch is constant and the tokens attended to grow by one a sequence
 * and step, so a step's time is a line (RaDecodeLine): with one stage the steps
 * sum in closed form; with more the recurrence above is run step by step.
 */
#ifndef RA_SIM_DECODE_H
#define RA_SIM_DECODE_H

#include "estimator/estimator.h"

/* What a replica did. */
typedef struct {
  double *part_end_s; /* (n_parts) end of each part, seconds after the first
                         step's start; caller's */
  RaCost *part_cost; /* (n_parts) mean over the stages: compute, comm, host; the
                        rest of the part's time is waiting (bubble) and not in
                        total_s; caller's */
  uint64_t n_steps;  /* of the longest sequence */
  uint64_t n_evaluated; /* lines asked of the estimator: for the cost claim in
                           tests */
} RaDecodeResult;

/**
 * ra_decode_run:
 * @dynamic: the replica
 * @shard: its shard (of the graph)
 * @inout_result: @part_end_s and @part_cost point to the caller's arrays
 *
 * Cost: one stage: O(ends x pieces); more: O(steps x groups x stages).
 */
void ra_decode_run(const RaEstimator *estimator, const RaShard *shard,
                   const RaDynamic *dynamic, RaDecodeResult *inout_result);

#endif
