/* Expansion of the augmented graph to the task graph: pipeline schedules,
 * micro-batches, lanes.
 *
 * This is the only lowering.  The fidelity decides its unit:
 *
 * call   One task per node.
 * stage  A call becomes its micro-batch schedule on every replica: forwards,
 *        backwards and sends in the order of GPipe, 1F1B or interleaved 1F1B,
 *        gradient reduction (in buckets during the last backward if the plan
 *        overlaps), clipping, optimizer.  A generate call becomes its prefill
 *        pipeline and one dynamic decode task per replica and part.
 * op     The tasks of `stage`, each of which represents the steps of its work's
 *        program (graph/expand/op_program.h).
 */
#ifndef RA_GRAPH_EXPAND_EXPAND_H
#define RA_GRAPH_EXPAND_EXPAND_H

#include "graph/expand/task.h"

/**
 * ra_expand:
 * @augmented: borrowed, outlives the graph
 * @fidelity: unit of the graph
 * @seed: seed of the sampled lengths
 * @error: %RA_ERROR_INPUT: more than 2^32 - 2 tasks, or sizes that overflow
 *
 * Cost: O(tasks + edges), one arena.
 *
 * Returns: (transfer full): ra_task_graph_free() it
 */
RaTaskGraph *ra_expand(const RaAugmented *augmented, RaFidelity fidelity,
                       uint64_t seed, GError **error);

/* Options of an expansion. */
typedef struct {
  RaFidelity fidelity;  /* unit of the graph */
  uint64_t seed;        /* seed of the sampled lengths */
  gboolean fold;        /* expand twins once (graph/expand/fold.h) */
  gboolean one_call;    /* only the parts of `call` in `iteration` */
  uint32_t call;        /* with one_call */
  uint32_t iteration;   /* with one_call: iteration of the augmented graph */
  const RaUntil *until; /* nullable: the graph's */
} RaExpandOptions;

/**
 * ra_expand_with:
 * @augmented: borrowed, outlives the graph
 * @options: scope and fidelity
 * @error: as for ra_expand(); %RA_ERROR_NEGATIVE: the time was up
 *
 * General form of ra_expand(), which does not fold.
 *
 * Returns: (transfer full): ra_task_graph_free() it
 */
RaTaskGraph *ra_expand_with(const RaAugmented *augmented,
                            const RaExpandOptions *options, GError **error);

#endif
