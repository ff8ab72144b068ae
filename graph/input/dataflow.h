/* From names of data to a graph: what graph/input/workload.c does after
 * reading.
 *
 * Private to graph/input/workload.c.  Works on a workload whose calls have
 * their keys (inputs by name and chunk count, outputs, kind, model,
 * mini-batches, samples per prompt of the calls that own a set) and fills the
 * rest: producers, order, sets, sequences, parts.
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
 * @error: %RA_ERROR_INPUT `file:line: ...`: data made twice or by nobody
 *   (nearest suggested), a call that reads something twice, data of the
 *   dataset that no call reads, chunks of data that comes whole, a cycle
 *   (naming its calls)
 *
 * Cost: O(calls^2 + edges).
 *
 * Returns: %TRUE on success
 */
gboolean ra_dataflow_connect(RaWorkload *workload, const char *const *dataset,
                             GError **error);

/**
 * ra_dataflow_batch:
 * @workload: connected; set, n_sequences and n_parts are written
 * @error: %RA_ERROR_INPUT `file:line: ...`: samples-per-prompt of a call
 *   that owns no set, too many sequences, sequences that do not divide by
 *   mini-batches, prompts by parts, mini-batches by a train call's parts
 *
 * Cost: O(calls + edges).
 *
 * Returns: %TRUE on success
 */
gboolean ra_dataflow_batch(RaWorkload *workload, GError **error);

#endif
