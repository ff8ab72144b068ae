/* Replay of the generation of one replica of several pipeline stages with
 * continuous batching: one scheduler per micro-batch (graph/expand/dynamic.h).
 *
 * A micro-batch's next step enters the first stage when its preceding one has
 * left the last stage; the micro-batch that is ready first enters first.
 * Without tools, steps thus circulate in the order of (step, micro-batch), by
 * the clock of sim/generate/stage_clock.h.  When its step leaves the last
 * stage, a sequence has its tokens and its tool is called.
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

/* Source of times. */
typedef struct {
  /* As in RaServeSource, for one stage. */
  void (*line)(gconstpointer context, uint32_t stage, uint32_t n_sequences,
               uint64_t kv_tokens, RaDecodeLine *out_line);
  void (*mixed)(gconstpointer context, uint32_t stage,
                const RaBatchStretch *step, RaCost *out_cost);
  /* Seconds to pass the activations of @n_tokens to the next stage. */
  double (*send_s)(gconstpointer context, uint64_t n_tokens);
  gconstpointer context; /* argument of all functions */
  /* The first stage whose steps take the times of those of @stage; NULL: every
   * stage has times of its own. */
  uint32_t (*like)(gconstpointer context, uint32_t stage);
} RaServePipeSource;

/**
 * ra_serve_pipe:
 * @dynamic: its shard, pieces and send are not read
 * @inout_result: as for ra_serve_run(), with arrays by the sequence's number in
 *   @dynamic; costs are means over the stages
 *
 * Cost: O(steps x stages).
 */
void ra_serve_pipe(const RaServePipeSource *source, const RaDynamic *dynamic,
                   RaServeResult *inout_result);

/* Context of a source for a replica. */
typedef struct {
  const RaEstimator *estimator; /* borrowed */
  const RaShard *shard;         /* borrowed */
  const RaDynamic *dynamic;     /* borrowed */
  const uint32_t *kinds;        /* nullable (n_stages): kinds of nodes, bits */
} RaServePipe;

/* Source for @replica, which is borrowed and outlives the source.  A stage's
 * step takes the time of the slowest of its kinds of nodes, a send that of the
 * slowest of all kinds. */
RaServePipeSource ra_serve_pipe_source(const RaServePipe *replica);

#endif
