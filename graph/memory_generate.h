/* What generation holds that is not in its tasks' works: for graph/memory*.c.
 */
#ifndef RA_GRAPH_MEMORY_GENERATE_H
#define RA_GRAPH_MEMORY_GENERATE_H

#include "graph/memory_peak.h"
#include "graph/sequence.h"
#include "graph/task.h"

/* A step of continuous batching as large as any of the replica. */
RaBatch ra_dynamic_largest_step(const RaDynamic *dynamic);

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
