/* Expansion of one call of one iteration to tasks at stage fidelity.
 *
 * graph/expand/expand.c uses it for each node that is a call, and
 * search/evaluate/call_bound.h for bounds of a call.
 */
#ifndef RA_GRAPH_EXPAND_EXPAND_CALL_H
#define RA_GRAPH_EXPAND_EXPAND_CALL_H

#include "graph/expand/builder.h"

/* Partition of the model of @call, which has one, under @plan. */
RaShard ra_call_shard(const RaPlan *plan, uint32_t call);

/* Data that all nodes of a call share; made once per graph. */
typedef struct {
  RaBuilder *builder;
  uint32_t call;
  const RaCall *c;
  const RaCallPlan *plan;
  const RaModel *model;
  RaDtype dtype;
  uint32_t shard;        /* id in the builder */
  RaShard shard_record;  /* the same */
  uint32_t n_pieces;     /* virtual stages: pp x chunks */
  RaPiece *pieces;       /* (n_pieces), arena */
  uint32_t *n_buckets;   /* (n_pieces) cached ra_piece_n_buckets(), arena; NULL:
                            not cached */
  RaAxisGeometry dp;     /* of dp x cp, which reduces gradients */
  int zero;              /* the plan's; 0 where a set of shards is one rank */
  uint32_t set_size;     /* replicas that share one set of shards; zero 0: dp */
  uint32_t n_sets;       /* dp / set_size */
  RaAxisGeometry set;    /* data ranks of a set */
  RaAxisGeometry across; /* equal shards of all sets */
  RaAxisGeometry
      experts;       /* of dp x cp / ep, which reduces experts' gradients */
  uint32_t *dynamic; /* (dp) of the current iteration: generate only, arena */
} RaCallContext;

RaCallContext *ra_call_context_new(RaBuilder *builder, uint32_t call);

/* Fills the fields that need no builder: all but pieces, buckets, shard id and
 * dynamics.  @context must be all zero. */
void ra_call_context_fill(RaCallContext *context, const RaPlan *plan,
                          uint32_t call);

/* Tasks before and after a node's tasks. */
typedef struct {
  uint32_t node;
  const RaTaskId *entries; /* (n_entries) tasks that must have ended before */
  guint n_entries;
  GArray *exits; /* RaTaskId: appended to; the node ends when all have ended */
} RaNodeEnds;

/* Compute task of a stage, in the order of its program. */
typedef struct {
  RaTaskId task;
  uint16_t piece, micro_batch, bucket;
  uint8_t backward;
} RaPipelineStep;

/* Micro-batch program of the stages of one replica. */
typedef struct {
  RaTaskId *first;  /* (pp) first compute task of each stage */
  RaTaskId *last;   /* (pp) last compute task of each stage */
  RaTaskId *bucket; /* (n_pieces x max_buckets) buckets of each last backward */
  uint32_t max_buckets;
  uint32_t pp;
  GArray **steps; /* (pp) RaPipelineStep; NULL below zero 2 */
} RaPipeline;

void ra_expand_train(RaCallContext *context, const RaNodeEnds *ends);
void ra_expand_inference(RaCallContext *context, const RaNodeEnds *ends);
void ra_expand_generate(RaCallContext *context, const RaNodeEnds *ends);

/* Expands a generate call with long-tail choices;
 * graph/expand/expand_rollout.c.  In a phase with a prefill the prefill waits
 * for the gate, else the decode tasks do. */
void ra_expand_rollout(RaCallContext *context, const RaNodeEnds *ends,
                       const RaRollout *rollout);

/* Send of a token's activations between stages, for one sequence.  It crosses
 * nodes if any of the replica's stage boundaries does. */
RaOp ra_token_send(const RaCallContext *context, uint32_t replica);

/* --- graph/expand/expand_pipeline.c, for all three kinds of calls --- */

/* Batches of a replica's pipeline, and its schedule. */
typedef struct {
  uint32_t node, replica;
  uint16_t mini_batch;
  const RaBatch *batches; /* (m) */
  uint32_t m;
  gboolean backward; /* train's schedule; else forwards alone */
} RaPipelineSpec;

/* Buckets into which the last backward of @piece is split: 1 without overlap.
 * Zero 2 splits every backward, zero 3 also every forward. */
uint32_t ra_piece_n_buckets(const RaCallContext *context, uint32_t piece);

/* Layers of bucket @bucket of @piece, last layers first. */
RaPiece ra_piece_bucket(const RaCallContext *context, uint32_t piece,
                        uint32_t bucket);

/* Parameters of that bucket whose gradients are also in another bucket of the
 * piece: those of a tied head with the embedding on the same stage. */
uint64_t ra_piece_bucket_shared(const RaCallContext *context, uint32_t piece,
                                uint32_t bucket);

/* (transfer full): ra_pipeline_free() it */
RaPipeline *ra_expand_pipeline(RaCallContext *context,
                               const RaPipelineSpec *spec);
void ra_pipeline_free(RaPipeline *pipeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPipeline, ra_pipeline_free)

/* Replicas that replica @dp represents (graph/expand/fold.h); 0: it has no
 * tasks, as another represents it. */
uint32_t ra_replica_weight(const RaCallContext *context, uint32_t dp);

/* TRUE if a message between two stages of a replica leaves the node. */
gboolean ra_send_crosses(const RaCallPlan *plan, const RaCluster *cluster,
                         uint32_t replica, uint32_t from_stage,
                         uint32_t to_stage);

/* Send of @bytes between stages of one replica, forward or back. */
RaOp ra_send_op(const RaCallContext *context, uint32_t replica,
                uint32_t from_stage, uint32_t to_stage, uint64_t bytes);

#endif
