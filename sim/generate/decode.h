/* Replay of the generation of one replica: exact per token, in closed form
 * where possible.
 *
 * A replica's sequences are in n_groups micro-batches that circulate through
 * the pp stages in steps t = 1, 2, ...  Group g passes stage s after stage s -
 * 1 and after the preceding visit of stage s; visits are in order of steps,
 * within a step in order of groups.  A group enters stage 0 after its own step
 * t - 1 has left the last stage.
 *
 * A sequence of r response tokens has the first from the prefill, so it takes
 * r - 1 steps and then leaves its group.  At step t it attends to
 * K = prompt + t tokens, including the one being processed.  Between two ends
 * the batch is constant and K grows by one per sequence and step, so a step's
 * time is linear in t (RaDecodeLine).  With one stage the steps sum in closed
 * form; with more the recurrence above runs step by step
 * (sim/generate/decode_pipe.h).
 *
 *     RaDecodeResult result = {.part_end_s = ends_s, .part_cost = costs};
 *     ra_decode_run(estimator, &graph->shards[d->shard], d, &result);
 *
 * With zero 3 each visit gathers the stage's weights (ra_estimator_decode()).
 * Real replicas of a shard group then step together.  Here each steps at its
 * own pace, which is the same while gathers, not sequences, bound the step.
 *
 * Typical sizes: 1 to 10^5 sequences, 10^3 to 10^5 steps; 1 to 8 stages.
 */
#ifndef RA_SIM_GENERATE_DECODE_H
#define RA_SIM_GENERATE_DECODE_H

#include "estimator/estimator.h"
#include "sim/generate/decode_watch.h"

/* Result of a replica's generation. */
typedef struct {
  double *part_end_s;   /* (n_parts) end of each part, seconds after the first
                           step's start; caller's array */
  RaCost *part_cost;    /* (n_parts) mean over the stages: compute, comm (with
                           sends for which a stage waits), host; the rest of
                           the part's time is bubble and not in total_s;
                           caller's array */
  uint64_t n_steps;     /* of the longest sequence */
  uint64_t n_evaluated; /* lines computed by the estimator; tests check it */
  const RaDecodeWatch *watch; /* the caller's; NULL: no callback */
} RaDecodeResult;

/* Visit: a group's step on one stage. */
typedef struct {
  uint32_t step;        /* from 1 */
  uint32_t group;       /* micro-batch of the replica */
  uint32_t stage;       /* of the pipeline */
  uint32_t n_sequences; /* in the step */
  uint64_t kv_tokens;   /* tokens to which they attend */
  double begin_s;       /* after the first step's start */
  double end_s;         /* of the computation */
  double passed_s;      /* time at which the next stage has the result; last
                           stage: end_s */
} RaDecodeVisit;

typedef void (*RaDecodeVisitFunc)(const RaDecodeVisit *visit, void *data);

/**
 * ra_decode_walk:
 * @dynamic: a replica with static batches
 * @shard: its shard (of the graph)
 * @kinds: (nullable) (array): kinds of nodes by stage, from
 *   ra_dynamic_kinds_new()
 * @visit: called for every step, group and stage, in this order
 * @inout_result: as for ra_decode_run(); times are equal up to rounding
 *
 * Replays step by step, even with one stage.
 *
 * Cost: O(steps x groups x stages).
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

/* Like ra_decode_run() with @kinds, nullable: the kinds of nodes of each stage,
 * a bit mask of RaMachineKind.  A stage's step, and a send between stages,
 * takes the time of the slowest kind. */
void ra_decode_run_kinds(const RaEstimator *estimator, const RaShard *shard,
                         const RaDynamic *dynamic, const uint32_t *kinds,
                         RaDecodeResult *inout_result);

#endif
