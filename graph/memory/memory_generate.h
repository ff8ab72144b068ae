/* Memory of generation that is not in its tasks' works; private to
 * graph/memory/memory*.c.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_GENERATE_H
#define RA_GRAPH_MEMORY_MEMORY_GENERATE_H

#include "graph/expand/sequence.h"
#include "graph/expand/task.h"
#include "graph/memory/memory_peak.h"

/**
 * ra_kv_peak_tokens:
 * @n: sequences
 * @prompt: (array length=n): tokens
 * @response: (array length=n): tokens to generate, the first by the prefill
 * @block: B, tokens per block of keys and values
 * @n_parts: chunks; part c ends when ceil((c + 1) n / n_parts) have ended
 * @out_peak: (out) (array length=n_parts): largest capacity of the blocks in
 *   use during each part, tokens
 * @out_left: (out) (array length=n_parts): capacity in use after each part,
 *   tokens
 *
 * All sequences decode in step.  After decode step t, the sum over sequences
 * with responses of at least t + 1 tokens (a last token is not attended to) is
 *
 *     tokens = sum B ceil((prompt + t) / B)
 *
 * It grows between two ends, so the maximum is at an end.  Part 0 starts with
 * the prompts alone.
 *
 * Cost: O(B + n log(n B)).
 */
void ra_kv_peak_tokens(uint32_t n, const uint32_t *prompt,
                       const uint32_t *response, uint32_t block,
                       uint32_t n_parts, uint64_t *out_peak,
                       uint64_t *out_left);

/* Upper bound of the replica's steps with continuous batching. */
RaBatch ra_dynamic_largest_step(const RaDynamic *dynamic);

/* Capacity of the whole blocks for keys and values of @n prompts, tokens. */
uint64_t ra_prompts_kv_room(const RaCallPlan *call, uint32_t n,
                            const uint32_t *prompt);

/* Decode task of a replica that follows a prefill. */
typedef struct {
  uint32_t node, replica, mini_batch;
  uint32_t dynamic; /* index into the graph's dynamics */
} RaPrefilled;

/* (transfer full) (element-type RaPrefilled): records of all decode tasks of
 * @graph, in order.  Cost: O(tasks + decodes log decodes). */
GArray *ra_prefilled_new(const RaTaskGraph *graph);

/* Capacity of the whole blocks that the forward @task of a generate call
 * allocates, tokens.  Cost: O(its sequences + log decodes). */
uint64_t ra_prefill_kv_room(const RaTaskGraph *graph, const GArray *prefilled,
                            RaTaskId task);

/* Capacity for keys and values on the replica of a dynamic, tokens: at the
 * begin of a part, largest during it, and after it. */
typedef struct {
  uint64_t before, peak, left;
} RaPartRoom;

/* Capacity in part @part of @dynamic, a task of @call. */
RaPartRoom ra_dynamic_kv_room(const RaDynamic *dynamic, const RaCallPlan *call,
                              uint32_t part);

/* Upper bound of the prompts with which @n sequences with turns come back. */
RaBatch ra_turns_largest_prompts(uint32_t n, const uint32_t *prompt,
                                 const uint32_t *response);

/* Tokens whose keys and values the migration @task brings to and takes from
 * each lane, (n_lanes) each. */
void ra_migration_lane_tokens(const RaTaskGraph *graph, RaTaskId task,
                              uint64_t *out_in, uint64_t *out_out);

/* Raises each count of @most to that of @batch if it is larger. */
void ra_batch_raise(RaBatch *most, RaBatch batch);

/* Raises @load to the largest of all phases of @rollout. */
void ra_rollout_add_load(const RaPlan *plan, uint32_t call,
                         const RaRollout *rollout, RaCallLoad *load);

#endif
