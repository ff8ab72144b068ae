/* Schedulers of a replica with continuous batching: one per micro-batch.
 *
 * With several stages each micro-batch has its own scheduler, as an engine has
 * one for every batch in its pipeline (vLLM's virtual engines).  Sequences,
 * slots and blocks are divided evenly, and no sequence changes its micro-batch.
 *
 *     for (uint32_t g = 0; g < dynamic->n_groups; g++)
 *       batchers[g] = ra_dynamic_batcher_new(dynamic, g);
 */
#ifndef RA_GRAPH_EXPAND_DYNAMIC_H
#define RA_GRAPH_EXPAND_DYNAMIC_H

#include "graph/expand/task.h"

/* First sequence of micro-batch @group of @dynamic; for n_groups, the number of
 * all sequences. */
uint32_t ra_dynamic_begin(const RaDynamic *dynamic, uint32_t group);

/* Number of sequences of micro-batch @group. */
uint32_t ra_dynamic_size(const RaDynamic *dynamic, uint32_t group);

/**
 * ra_dynamic_batcher_new:
 * @dynamic: a dynamic with continuous batching; outlives the result
 *
 * Scheduler of micro-batch @group, whose sequences have not arrived.  For a
 * phase it starts from the state at the phase's begin.
 *
 * Returns: (transfer full): ra_batcher_free() it
 */
RaBatcher *ra_dynamic_batcher_new(const RaDynamic *dynamic, uint32_t group);

#endif
