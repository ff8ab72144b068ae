/* Generation of one replica with continuous batching: the batcher's schedule
 * (graph/rollout/batcher.h) in seconds.
 *
 * A stretch without prompts is a line in the tokens attended to (RaDecodeLine),
 * so its steps sum in closed form, as in sim/generate/decode.h; a step that
 * computes chunks of prompts beside is asked for by itself.  Sequences may
 * arrive over time: one that arrives during a step waits for the next.
 *
 *     RaServeResult result = {.end_s = ends};
 *     ra_serve_run(&source, batcher, NULL, &result);
 *
 * Of sequences with turns (graph/input/turns.h) each that pauses comes back
 * when its tool has answered; while all do, time goes by.
 *
 * Cost: O(log running) and two costs of a step for each prompt and each end.
 * Typical sizes: 10^2 to 10^5 sequences, 10^4 to 10^6 steps.
 */
#ifndef RA_SIM_GENERATE_SERVE_H
#define RA_SIM_GENERATE_SERVE_H

#include "estimator/estimator.h"
#include "graph/rollout/batcher.h"
#include "sim/generate/decode_watch.h"

/* Where the times are from. */
typedef struct {
  /* A step of @n_sequences >= 1 with a token each at @kv_tokens, and its line.
   */
  void (*line)(gconstpointer context, uint32_t n_sequences, uint64_t kv_tokens,
               RaDecodeLine *out_line);
  /* A step with chunks of prompts. */
  void (*mixed)(gconstpointer context, const RaBatchStretch *step,
                RaCost *out_cost);
  gconstpointer context; /* handed to both */
} RaServeSource;

typedef struct {
  double *first_s;    /* (n) when each had its first token; caller's or NULL */
  double *end_s;      /* (n) when each ended; caller's or NULL */
  uint32_t n_parts;   /* part c ends when ceil((c + 1) n / n_parts) sequences
                         have; 0: none asked for */
  double *part_end_s; /* (n_parts) caller's */
  RaCost *part_cost;  /* (n_parts) caller's; all of it is busy */
  uint64_t max_steps; /* the caller's: stops after so many; 0: runs all to
                         their ends */
  RaCost cost;        /* of all steps */
  double makespan_s;  /* end of the last step */
  uint64_t n_evaluated;       /* lines and steps asked of the source */
  const RaDecodeWatch *watch; /* the caller's; NULL: nobody is told */
} RaServeResult;

/**
 * ra_serve_run:
 * @batcher: with @n sequences none of which was served
 * @n: sequences
 * @arrival_s: (array length=n) (nullable): ascending; %NULL: all at 0
 * @inout_result: with the caller's arrays
 *
 * Runs all sequences to their ends.
 */
void ra_serve_run(const RaServeSource *source, RaBatcher *batcher, uint32_t n,
                  const double *arrival_s, RaServeResult *inout_result);

/* A replica of one stage as a source. */
typedef struct {
  const RaEstimator *estimator; /* borrowed */
  const RaShard *shard;         /* borrowed */
  const RaPiece *piece;         /* borrowed: all of the model */
} RaServeReplica;

/* @replica: borrowed, outlives the source. */
RaServeSource ra_serve_source(const RaServeReplica *replica);

#endif
