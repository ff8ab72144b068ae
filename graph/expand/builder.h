/* Builder of a task graph, private to graph/.
 *
 * Its users append tasks; the builder derives queues and edges.  The order in
 * the queues is the order of appending.
 */
#ifndef RA_GRAPH_EXPAND_BUILDER_H
#define RA_GRAPH_EXPAND_BUILDER_H

#include "graph/expand/lane.h"
#include "graph/expand/sequence.h"
#include "graph/expand/task.h"

typedef struct _RaBuilder RaBuilder;

/* Task to append; RA_TASK_SPEC_INIT sets the fields whose default is not 0. */
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

/* Sequences of @set in @iteration, made once. */
const RaSequenceSet *ra_builder_sequences(RaBuilder *builder, uint32_t set,
                                          uint32_t iteration);

/* Sequences of CALL node @node, or those whose data TRANSFER node @node moves;
 * for a call that runs in each trip, those of the node's trip. */
const RaSequenceSet *ra_builder_node_sequences(RaBuilder *builder,
                                               uint32_t node);

/* Appends @spec, with edges from the preceding tasks in its queues; returns its
 * id. */
RaTaskId ra_builder_task(RaBuilder *builder, const RaTaskSpec *spec);

/* Number of tasks of the unfolded graph that @task represents. */
uint32_t ra_builder_task_weight(const RaBuilder *builder, RaTaskId task);

/* Makes @to wait for @from; no effect if either is RA_NONE. */
void ra_builder_edge(RaBuilder *builder, RaTaskId from, RaTaskId to);

/* Makes @to wait for the last task so far in queue @stream of each of @group's
 * lanes. */
void ra_builder_after(RaBuilder *builder, uint32_t group, RaStream stream,
                      RaTaskId to);

/* Ids of shared records; equal works get the same id. */
uint32_t ra_builder_work(RaBuilder *builder, const RaWork *work);
uint32_t ra_builder_shard(RaBuilder *builder, const RaShard *shard);
uint32_t ra_builder_dynamic(RaBuilder *builder, const RaDynamic *dynamic);

/* Task that ends when all of node @node has ended; RA_NONE before it is set. */
RaTaskId ra_builder_node_end(const RaBuilder *builder, uint32_t node);
void ra_builder_set_node_end(RaBuilder *builder, uint32_t node, RaTaskId task);

/* Sets the bytes of TRANSFER node @node for the sampled lengths. */
void ra_builder_set_transfer(RaBuilder *builder, uint32_t node, uint64_t bytes);

/* (transfer full): the finished graph; NULL with @error set if ids ran out.
 * The builder is not freed. */
RaTaskGraph *ra_builder_finish(RaBuilder *builder, GError **error);

#endif
