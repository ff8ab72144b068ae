/* The continuous batchers of a replica: one a micro-batch, stepping in turns.
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
 * @out_peak: (out) (array length=n_parts): most tokens that have room during
 *   each part: whole blocks; all of them where they are limited, as an engine
 *   takes them when it starts
 * @out_left: (out) (array length=n_parts): after it
 *
 * As ra_kv_peak_tokens() of graph/memory/memory_generate.h, for a replica of @n
 * sequences that are all there at the start; of several micro-batches the sum
 * of the most of each.   Cost: of the batchers' run.
 */
void ra_batching_kv_tokens(const RaBatching *batching, uint32_t n_groups,
                           uint32_t n, const uint32_t *prompt,
                           const uint32_t *response, uint32_t n_parts,
                           uint64_t *out_peak, uint64_t *out_left);

/* A step as large as any of a replica whose prompts are @prompts in all. */
RaBatch ra_batching_largest_step(const RaBatching *batching, RaBatch prompts);

/* (array length=n): the sequences in order of their ends, those of one step by
 * micro-batch, then by number. */
void ra_batching_order(const RaBatching *batching, uint32_t n_groups,
                       uint32_t n, const uint32_t *prompt,
                       const uint32_t *response, uint32_t *out_order);

#endif
