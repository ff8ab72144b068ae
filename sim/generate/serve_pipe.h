/* Generation of one replica of several pipeline stages with continuous
 * batching: a scheduler a micro-batch (graph/expand/dynamic.h), in seconds.
 *
 * A micro-batch's next step enters the first stage when its last one has left
 * the last stage; the one that is ready first goes first, so with no tools
 * steps go round in the order of (step, micro-batch), by the clock of
 * sim/generate/stage_clock.h.  A sequence's tokens are there, and its tool is
 * called, when its step leaves the last stage.
 *
 * With one stage and one micro-batch it is ra_serve_run() step by step.
 *
 *     RaServePipeSource source = ra_serve_pipe_source(&replica);
 *     ra_serve_pipe(&source, dynamic, &result);
 *
 * Typical sizes: 2 to 8 stages, 10^4 to 10^5 steps.
 */
#ifndef RA_SIM_GENERATE_SERVE_PIPE_H
#define RA_SIM_GENERATE_SERVE_PIPE_H

#include "graph/expand/dynamic.h"
#include "sim/generate/serve.h"

/* Where the times are from. */
typedef struct {
  /* As of RaServeSource, of one stage. */
  void (*line)(gconstpointer context, uint32_t stage, uint32_t n_sequences,
               uint64_t kv_tokens, RaDecodeLine *out_line);
  void (*mixed)(gconstpointer context, uint32_t stage,
                const RaBatchStretch *step, RaCost *out_cost);
  /* Seconds to pass the activations of so many tokens to the next stage. */
  double (*send_s)(gconstpointer context, uint64_t n_tokens);
  gconstpointer context; /* handed to all */
} RaServePipeSource;

/**
 * ra_serve_pipe:
 * @dynamic: of it neither shard nor pieces nor send is read
 * @inout_result: as of ra_serve_run(), its arrays by the sequence's number in
 *   @dynamic; costs are means over the stages
 *
 * Cost: O(steps x stages).
 */
void ra_serve_pipe(const RaServePipeSource *source, const RaDynamic *dynamic,
                   RaServeResult *inout_result);

/* A replica as a source. */
typedef struct {
  const RaEstimator *estimator; /* borrowed */
  const RaShard *shard;         /* borrowed */
  const RaDynamic *dynamic;     /* borrowed */
  const uint32_t *kinds;        /* nullable (n_stages): of nodes, bits */
} RaServePipe;

/* @replica: borrowed, outlives the source.  A stage's step takes what it does
 * on the slowest of its kinds of nodes, a send what it does on the slowest of
 * all. */
RaServePipeSource ra_serve_pipe_source(const RaServePipe *replica);

#endif
