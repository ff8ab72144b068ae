/* Building a task graph: tasks are appended, queues and edges follow.
 *
 * Private to graph/: used by the files that expand.  A task is appended once
 * its place in the queues of its lanes is known: the queue order is the order
 * of appending.
 */
#ifndef RA_GRAPH_EXPAND_BUILDER_H
#define RA_GRAPH_EXPAND_BUILDER_H

#include "graph/expand/lane.h"
#include "graph/expand/sequence.h"
#include "graph/expand/task.h"

typedef struct _RaBuilder RaBuilder;

/* A task to append; zero is a good default but for replica, work, dynamic. */
typedef struct {
  RaTaskKind kind;
  RaStream stream; /* sends: the sender's; the receiver's is the next one */
  uint16_t stage, mini_batch, micro_batch, bucket;
  uint32_t replica, node, work, dynamic;
  uint32_t group;
  uint32_t receiver; /* sends: the receiver's unit; else RA_NONE */
  uint32_t sender;   /* sends: the sender's unit */
} RaTaskSpec;

#define RA_TASK_SPEC_INIT                                                      \
  {                                                                            \
    .replica = RA_NONE, .work = RA_NONE, .dynamic = RA_NONE,                   \
    .receiver = RA_NONE, .sender = RA_NONE                                     \
  }

RaBuilder *ra_builder_new(const RaAugmented *augmented, RaFidelity fidelity,
                          uint64_t seed);
void ra_builder_free(RaBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaBuilder, ra_builder_free)

const RaAugmented *ra_builder_augmented(const RaBuilder *builder);
RaLaneMap *ra_builder_lanes(RaBuilder *builder);
RaArena *ra_builder_arena(RaBuilder *builder);

/* The sequences of @set in @iteration, made once. */
const RaSequenceSet *ra_builder_sequences(RaBuilder *builder, uint32_t set,
                                          uint32_t iteration);

/* The sequences that CALL node @node works on, or those whose data TRANSFER
 * node @node moves: those, or of a call that runs in
 * each trip its trip's. */
const RaSequenceSet *ra_builder_node_sequences(RaBuilder *builder,
                                               uint32_t node);

/* Appends @spec; its id.  Edges from the tasks before it in its queues are
 * added. */
RaTaskId ra_builder_task(RaBuilder *builder, const RaTaskSpec *spec);

/* Tasks of the unfolded graph that @task stands for. */
uint32_t ra_builder_task_weight(const RaBuilder *builder, RaTaskId task);

/* @to waits for @from; either RA_NONE: nothing. */
void ra_builder_edge(RaBuilder *builder, RaTaskId from, RaTaskId to);

/* @to waits for the last task so far in each of @group's queues @stream. */
void ra_builder_after(RaBuilder *builder, uint32_t group, RaStream stream,
                      RaTaskId to);

/* Ids of shared records; equal works get the same id. */
uint32_t ra_builder_work(RaBuilder *builder, const RaWork *work);
uint32_t ra_builder_shard(RaBuilder *builder, const RaShard *shard);
uint32_t ra_builder_dynamic(RaBuilder *builder, const RaDynamic *dynamic);

/* The task that ends when all of node @node has ended, RA_NONE before it is
 * set. */
RaTaskId ra_builder_node_end(const RaBuilder *builder, uint32_t node);
void ra_builder_set_node_end(RaBuilder *builder, uint32_t node, RaTaskId task);

/* Bytes that TRANSFER node @node carries of what was drawn. */
void ra_builder_set_transfer(RaBuilder *builder, uint32_t node, uint64_t bytes);

/* Turns what was built into a graph; NULL and @error where ids ran out. Frees
 * nothing. */
RaTaskGraph *ra_builder_finish(RaBuilder *builder, GError **error);

#endif
