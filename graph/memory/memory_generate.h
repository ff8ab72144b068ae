/* What generation holds that is not in its tasks' works: for
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
 * @block: B, tokens of a block of keys and values
 * @n_parts: chunks; part c ends when ceil((c + 1) n / n_parts) have ended
 * @out_peak: (out) (array length=n_parts): most tokens that there is room for
 *   during each part
 * @out_left: (out) (array length=n_parts): likewise after each part
 *
 * With all sequences in step, after decode step t, of those with responses of
 * t + 1 tokens at least (a last token is not attended to):
 *
 *     tokens = sum B ceil((prompt + t) / B)
 *
 * which grows between two ends, so the most is at an end.  Part 0 counts from
 * the prompts alone.   Cost: O(B + n log(n B)).
 */
void ra_kv_peak_tokens(uint32_t n, const uint32_t *prompt,
                       const uint32_t *response, uint32_t block,
                       uint32_t n_parts, uint64_t *out_peak,
                       uint64_t *out_left);

/* A step of continuous batching as large as any of the replica. */
RaBatch ra_dynamic_largest_step(const RaDynamic *dynamic);

/* Room for keys and values of @n prompts, in whole blocks, tokens. */
uint64_t ra_prompts_kv_room(const RaCallPlan *call, uint32_t n,
                            const uint32_t *prompt);

/* A decode task of a replica that a prefill is before. */
typedef struct {
  uint32_t node, replica, mini_batch;
  uint32_t dynamic; /* index into the graph's */
} RaPrefilled;

/* (transfer full) (element-type RaPrefilled): of all decode tasks of @graph, in
 * order.  Cost: O(tasks + decodes log decodes). */
GArray *ra_prefilled_new(const RaTaskGraph *graph);

/* Tokens that the forward @task of a generate call makes room for, in whole
 * blocks.  Cost: O(its sequences + log decodes). */
uint64_t ra_prefill_kv_room(const RaTaskGraph *graph, const GArray *prefilled,
                            RaTaskId task);

/* Room for keys and values of the replica of @dynamic, tokens. */
typedef struct {
  uint64_t before, peak, left;
} RaPartRoom;

/* Of part @part, of a task of @call: as it begins, at most, and after it. */
RaPartRoom ra_dynamic_kv_room(const RaDynamic *dynamic, const RaCallPlan *call,
                              uint32_t part);

/* All that @n sequences with turns can come back with as prompts: more than
 * they do. */
RaBatch ra_turns_largest_prompts(uint32_t n, const uint32_t *prompt,
                                 const uint32_t *response);

/* Tokens whose keys and values come to and go from each lane (n_lanes) by the
 * migration @task. */
void ra_migration_lane_tokens(const RaTaskGraph *graph, RaTaskId task,
                              uint64_t *out_in, uint64_t *out_out);

/* The larger of each count of the two, into @most. */
void ra_batch_raise(RaBatch *most, RaBatch batch);

/* The most of any phase of @rollout into @load. */
void ra_rollout_add_load(const RaPlan *plan, uint32_t call,
                         const RaRollout *rollout, RaCallLoad *load);

#endif
