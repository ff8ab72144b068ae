/* Dataflow: connects the calls of a workload by the names of their data.
 *
 * It is private to graph/input/workload.c, which calls it after reading.  The
 * calls have their keys: inputs by name and chunk count, outputs, kind, model,
 * mini-batches, and samples per prompt if they own a set.  These functions fill
 * the rest: producers, order, sets, sequences, parts.
 *
 *     if (!ra_dataflow_connect(workload, dataset, &error) ||
 *         !ra_dataflow_batch(workload, &error))
 *       return NULL;
 *
 * Typical sizes: 6 calls, 12 edges; bounds in graph/input/workload.h.
 */
#ifndef RA_GRAPH_INPUT_DATAFLOW_H
#define RA_GRAPH_INPUT_DATAFLOW_H

#include "graph/input/workload.h"

/**
 * ra_dataflow_connect:
 * @workload: calls as read; producers and `order` are written
 * @dataset: NULL-terminated names that no call makes
 * @error: %RA_ERROR_INPUT `file:line: ...`: data that two calls or none make
 *   (nearest suggested), a call that reads data twice, data of the dataset that
 *   no call reads, chunks of data that is made whole, a cycle (with its calls)
 *
 * Cost: O(calls^2 + edges).
 *
 * Returns: %TRUE on success
 */
gboolean ra_dataflow_connect(RaWorkload *workload, const char *const *dataset,
                             GError **error);

/**
 * ra_dataflow_batch:
 * @workload: after ra_dataflow_connect(); set, n_sequences and n_parts are
 *   written
 * @error: %RA_ERROR_INPUT `file:line: ...`: samples-per-prompt of a call
 *   that owns no set, too many sequences; sequences that do not divide by
 *   mini-batches, prompts by parts, or mini-batches by a train call's parts
 *
 * Cost: O(calls + edges).
 *
 * Returns: %TRUE on success
 */
gboolean ra_dataflow_batch(RaWorkload *workload, GError **error);

#endif
