/* Generation of one replica, token by token, without visiting every token where
 * it can.
 *
 * A replica's sequences are in n_groups micro-batches that go round the pp
 * stages: in step t = 1, 2, ... group g passes stage s after stage s-1, after
 * what passed stage s before it (steps in order, in a step groups in order),
 * and enters stage 0 after its own step t-1 has left the last stage.  A
 * sequence of r response tokens has the first from the prefill, so it takes r -
 * 1 steps; at step t it attends to K = prompt + t tokens, the one being
 * processed among them.  Then it leaves its group.  Between two ends the batch
 * is constant and K grows by one a sequence and step, so a step's time is a
 * line (RaDecodeLine): with one stage the steps sum in closed form; with more
 * the recurrence above is run step by step (sim/generate/decode_pipe.h).
 *
 *     RaDecodeResult result = {.part_end_s = ends_s, .part_cost = costs};
 *     ra_decode_run(estimator, &graph->shards[d->shard], d, &result);
 *
 * With zero 3 each visit gathers the stage's weights (ra_estimator_decode()).
 * Replicas of a shard group then really step together; here each goes on at its
 * own pace, which is the same while gathers, not sequences, bound the step.
 *
 * Typical sizes: 1 to 10^5 sequences, 10^3 to 10^5 steps; 1 to 8 stages.
 */
#ifndef RA_SIM_GENERATE_DECODE_H
#define RA_SIM_GENERATE_DECODE_H

#include "estimator/estimator.h"
#include "sim/generate/decode_watch.h"

/* What a replica did. */
typedef struct {
  double *part_end_s;   /* (n_parts) end of each part, seconds after the first
                           step's start; caller's */
  RaCost *part_cost;    /* (n_parts) mean over the stages: compute, comm (with
                           the sends that a stage waits for), host; the rest of
                           the part's time is waiting (bubble) and not in
                           total_s; caller's */
  uint64_t n_steps;     /* of the longest sequence */
  uint64_t n_evaluated; /* lines asked of the estimator: for the cost claim in
                           tests */
  const RaDecodeWatch *watch; /* the caller's; NULL: nobody is told */
} RaDecodeResult;

/* A group's step on one stage. */
typedef struct {
  uint32_t step;        /* from 1 */
  uint32_t group;       /* of the replica's micro-batches */
  uint32_t stage;       /* of the pipeline */
  uint32_t n_sequences; /* in the step */
  uint64_t kv_tokens;   /* that they attend to */
  double begin_s;       /* after the first step's start */
  double end_s;         /* of the computation */
  double passed_s;      /* the next stage has its result; last stage: end_s */
} RaDecodeVisit;

typedef void (*RaDecodeVisitFunc)(const RaDecodeVisit *visit, void *data);

/**
 * ra_decode_walk:
 * @dynamic: the replica, of static batches
 * @shard: its shard (of the graph)
 * @kinds: (nullable) (array): of nodes, by stage, as of ra_dynamic_kinds_new()
 * @visit: called for every step, group and stage, in this order
 * @inout_result: as of ra_decode_run(), whose times it has up to rounding
 *
 * Step by step, with one stage too.  Cost: O(steps x groups x stages).
 */
void ra_decode_walk(const RaEstimator *estimator, const RaShard *shard,
                    const RaDynamic *dynamic, const uint32_t *kinds,
                    RaDecodeVisitFunc visit, void *data,
                    RaDecodeResult *inout_result);

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

/* The same with @kinds, nullable: of the nodes that each stage is on (bits of
 * RaMachineKind); a stage's step takes what it takes on the slowest, a send
 * between stages too. */
void ra_decode_run_kinds(const RaEstimator *estimator, const RaShard *shard,
                         const RaDynamic *dynamic, const uint32_t *kinds,
                         RaDecodeResult *inout_result);

#endif
