/* Replay of the generation of one replica with continuous batching: the
 * batcher's schedule (graph/rollout/batcher.h) in seconds.
 *
 * The time of a step in a stretch without prompts is linear in the tokens
 * attended to (RaDecodeLine), so its steps sum in closed form, as in
 * sim/generate/decode.h.  A step with chunks of prompts has a cost of its own.
 * Sequences may arrive over time: one that arrives during a step waits for the
 * next.
 *
 *     RaServeResult result = {.end_s = ends};
 *     ra_serve_run(&source, batcher, NULL, &result);
 *
 * A sequence with turns (graph/input/turns.h) pauses and comes back when its
 * tool has answered.  While all sequences pause, time advances to the first
 * answer.
 *
 * Cost: O(log running) and two costs of a step for each prompt and each end.
 * Typical sizes: 10^2 to 10^5 sequences, 10^4 to 10^6 steps.
 */
#ifndef RA_SIM_GENERATE_SERVE_H
#define RA_SIM_GENERATE_SERVE_H

#include "estimator/estimator.h"
#include "graph/rollout/batcher.h"
#include "sim/generate/decode_watch.h"

/* Source of times. */
typedef struct {
  /* Line of a step of @n_sequences >= 1 with one token each at @kv_tokens. */
  void (*line)(gconstpointer context, uint32_t n_sequences, uint64_t kv_tokens,
               RaDecodeLine *out_line);
  /* Cost of a step with chunks of prompts. */
  void (*mixed)(gconstpointer context, const RaBatchStretch *step,
                RaCost *out_cost);
  gconstpointer context; /* argument of both functions */
} RaServeSource;

typedef struct {
  double *first_s;      /* (n) time of each first token; caller's or NULL */
  double *end_s;        /* (n) time of each end; caller's or NULL */
  uint32_t n_parts;     /* part c ends when ceil((c + 1) n / n_parts) sequences
                           have ended; 0: no parts */
  double *part_end_s;   /* (n_parts) caller's */
  RaCost *part_cost;    /* (n_parts) caller's; it has no waiting */
  uint64_t max_steps;   /* set by the caller: limit of steps; 0: no limit */
  RaCost cost;          /* of all steps */
  double makespan_s;    /* end of the last step */
  uint64_t n_evaluated; /* lines and steps computed by the source */
  const RaDecodeWatch *watch; /* the caller's; NULL: no callback */
} RaServeResult;

/**
 * ra_serve_run:
 * @batcher: has @n sequences, none of which has run
 * @n: number of sequences
 * @arrival_s: (array length=n) (nullable): ascending; %NULL: all at 0
 * @inout_result: has the caller's arrays
 *
 * Runs all sequences to their ends.
 */
void ra_serve_run(const RaServeSource *source, RaBatcher *batcher, uint32_t n,
                  const double *arrival_s, RaServeResult *inout_result);

/* Context of a source for a replica of one stage. */
typedef struct {
  const RaEstimator *estimator; /* borrowed */
  const RaShard *shard;         /* borrowed */
  const RaPiece *piece;         /* borrowed: all of the model */
} RaServeReplica;

/* Source for @replica, which is borrowed and outlives the source. */
RaServeSource ra_serve_source(const RaServeReplica *replica);

#endif
