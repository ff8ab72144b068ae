/* The schedulers of a replica that batches continuously: one a micro-batch.
 *
 * With several stages each micro-batch has a scheduler of its own, as an
 * engine has one for every batch that is on its way through a pipeline (vLLM's
 * virtual engines): sequences, places and blocks are divided evenly, and no
 * sequence changes its micro-batch.
 *
 *     for (uint32_t g = 0; g < dynamic->n_groups; g++)
 *       batchers[g] = ra_dynamic_batcher_new(dynamic, g);
 */
#ifndef RA_GRAPH_EXPAND_DYNAMIC_H
#define RA_GRAPH_EXPAND_DYNAMIC_H

#include "graph/expand/task.h"

/* First sequence of micro-batch @group of @dynamic; of n_groups: all of them.
 */
uint32_t ra_dynamic_begin(const RaDynamic *dynamic, uint32_t group);

/* Sequences of it. */
uint32_t ra_dynamic_size(const RaDynamic *dynamic, uint32_t group);

/**
 * ra_dynamic_batcher_new:
 * @dynamic: of continuous batching; outlives the result
 *
 * The scheduler of micro-batch @group, whose sequences have not arrived; one
 * of a phase goes on from where it begins.
 *
 * Returns: (transfer full): ra_batcher_free() it
 */
RaBatcher *ra_dynamic_batcher_new(const RaDynamic *dynamic, uint32_t group);

#endif
