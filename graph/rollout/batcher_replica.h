/* Continuous batchers of a replica: one per micro-batch, stepping in turns.
 *
 *     RaBatching batching = ra_call_batching(plan, call);
 *     ra_batching_order(&batching, n_groups, n, prompt, response, order);
 *
 * Each of the @n_groups micro-batches of a replica of n sequences has
 * sequences g n / n_groups to (g + 1) n / n_groups and a batcher of its own
 * (graph/rollout/batcher.h).
 */
#ifndef RA_GRAPH_ROLLOUT_BATCHER_REPLICA_H
#define RA_GRAPH_ROLLOUT_BATCHER_REPLICA_H

#include "graph/op/op.h"
#include "graph/rollout/batcher.h"

/**
 * ra_batching_kv_tokens:
 * @batching: continuous, of each micro-batch
 * @n_groups: micro-batches
 * @out_peak: (out) (array length=n_parts): largest capacity of the blocks in
 *   use during each part, tokens.  If blocks are limited, of all of them, as an
 *   engine allocates them when it starts
 * @out_left: (out) (array length=n_parts): capacity in use after each part
 *
 * Like ra_kv_peak_tokens() of graph/memory/memory_generate.h, for a replica of
 * @n sequences that all arrive at the start.  For several micro-batches it is
 * the sum of their peaks.
 *
 * Cost: that of running the batchers.
 */
void ra_batching_kv_tokens(const RaBatching *batching, uint32_t n_groups,
                           uint32_t n, const uint32_t *prompt,
                           const uint32_t *response, uint32_t n_parts,
                           uint64_t *out_peak, uint64_t *out_left);

/* Upper bound of the steps of a replica whose prompts sum to @prompts. */
RaBatch ra_batching_largest_step(const RaBatching *batching, RaBatch prompts);

/* Computes @out_order, (n): sequences in order of their ends; those that end in
 * one step by micro-batch, then by number. */
void ra_batching_order(const RaBatching *batching, uint32_t n_groups,
                       uint32_t n, const uint32_t *prompt,
                       const uint32_t *response, uint32_t *out_order);

#endif
