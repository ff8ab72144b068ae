/* From the augmented graph to the task graph: pipeline schedules,
 * micro-batches, lanes.
 *
 * The one lowering.  At `call` fidelity a node is one task; at `stage` fidelity
 * a call becomes its micro-batch schedule on every replica: forwards, backwards
 * and sends in the order of GPipe, 1F1B or interleaved 1F1B, gradient reduction
 * (in buckets behind the last backward where the plan overlaps), clipping,
 * optimizer; a generate call its prefill pipeline and one dynamic decode task a
 * replica and part.  At `op` fidelity the tasks are those of `stage`, and each
 * stands for the steps of its work's program (graph/expand/op_program.h).
 */
#ifndef RA_GRAPH_EXPAND_EXPAND_H
#define RA_GRAPH_EXPAND_EXPAND_H

#include "graph/expand/task.h"

/**
 * ra_expand:
 * @augmented: borrowed, outlives the graph
 * @fidelity: how fine
 * @seed: of the sampled lengths
 * @error: %RA_ERROR_INPUT: more than 2^32 - 2 tasks, or sizes that overflow
 *
 * Cost: O(tasks + edges), one arena.
 *
 * Returns: (transfer full): ra_task_graph_free() it
 */
RaTaskGraph *ra_expand(const RaAugmented *augmented, RaFidelity fidelity,
                       uint64_t seed, GError **error);

/* How much of what is expanded. */
typedef struct {
  RaFidelity fidelity; /* how fine */
  uint64_t seed;       /* of the sampled lengths */
  gboolean fold;       /* twins once (graph/expand/fold.h) */
  gboolean one_call;   /* only the parts of `call` in `iteration` */
  uint32_t call;       /* if so */
  uint32_t iteration;  /* if so: of the augmented graph */
} RaExpandOptions;

/**
 * ra_expand_with:
 * @augmented: borrowed, outlives the graph
 * @options: what and how
 * @error: as ra_expand()
 *
 * ra_expand() and ra_expand_call() are this, unfolded.
 *
 * Returns: (transfer full): ra_task_graph_free() it
 */
RaTaskGraph *ra_expand_with(const RaAugmented *augmented,
                            const RaExpandOptions *options, GError **error);

/**
 * ra_expand_call:
 * @call: a call of the plan's workload
 *
 * As ra_expand() at stage fidelity, for the parts of one call of iteration 0
 * alone: what a call costs by itself.
 */
RaTaskGraph *ra_expand_call(const RaAugmented *augmented, uint32_t call,
                            uint64_t seed, GError **error);

#endif
