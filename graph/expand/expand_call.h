/* One call of one iteration, lowered to tasks at stage fidelity.
 *
 * What graph/expand/expand.c asks for each node that is a call, and what bounds
 * of a call (search/evaluate/call_bound.h) are made of.
 */
#ifndef RA_GRAPH_EXPAND_EXPAND_CALL_H
#define RA_GRAPH_EXPAND_EXPAND_CALL_H

#include "graph/expand/builder.h"

/* How @call of @plan, which has a model, cuts it. */
RaShard ra_call_shard(const RaPlan *plan, uint32_t call);

/* What all nodes of a call share; made once a graph. */
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
  uint32_t *n_buckets;   /* (n_pieces) ra_piece_n_buckets() kept, arena; NULL:
                             not */
  RaAxisGeometry dp;     /* of dp x cp: who sums gradients */
  int zero;              /* the plan's; 0 where a set of shards is one rank */
  uint32_t set_size;     /* replicas that share one set of shards; zero 0: dp */
  uint32_t n_sets;       /* dp / set_size */
  RaAxisGeometry set;    /* the data ranks of a set */
  RaAxisGeometry across; /* the equal shards of all sets */
  RaAxisGeometry experts; /* of dp x cp / ep: who sums those of experts */
  uint32_t *dynamic; /* (dp) of the iteration in hand: generate only, arena */
} RaCallContext;

RaCallContext *ra_call_context_new(RaBuilder *builder, uint32_t call);

/* What of it does not take a builder: no pieces, buckets, shard id or
 * dynamics.  @context is all zero before. */
void ra_call_context_fill(RaCallContext *context, const RaPlan *plan,
                          uint32_t call);

/* What stands before and after a node's tasks. */
typedef struct {
  uint32_t node;
  const RaTaskId *entries; /* (n_entries) tasks that must have ended before */
  guint n_entries;
  GArray *exits; /* RaTaskId: appended to; all ended = node ended */
} RaNodeEnds;

/* A compute task of a stage, in the order of its program. */
typedef struct {
  RaTaskId task;
  uint16_t piece, micro_batch, bucket;
  uint8_t backward;
} RaPipelineStep;

/* The stages' micro-batch program of one replica. */
typedef struct {
  RaTaskId *first;  /* (pp) first compute task of each stage */
  RaTaskId *last;   /* (pp) last compute task of each stage */
  RaTaskId *bucket; /* (n_pieces x max_buckets) parts of each last backward */
  uint32_t max_buckets;
  uint32_t pp;
  GArray **steps; /* (pp) RaPipelineStep; NULL below zero 2 */
} RaPipeline;

void ra_expand_train(RaCallContext *context, const RaNodeEnds *ends);
void ra_expand_inference(RaCallContext *context, const RaNodeEnds *ends);
void ra_expand_generate(RaCallContext *context, const RaNodeEnds *ends);

/* Of a generate call, where the plan chooses something about its long tail:
 * graph/expand/expand_rollout.c.  Without a prefill in a phase its decode tasks
 * wait for the gate, else the prefill does. */
void ra_expand_rollout(RaCallContext *context, const RaNodeEnds *ends,
                       const RaRollout *rollout);

/* A token's activations between stages, for one sequence; across nodes where
 * any of the replica's boundaries is. */
RaOp ra_token_send(const RaCallContext *context, uint32_t replica);

/* Shared by the three, in graph/expand/expand_pipeline.c. */

/* Which batch a replica's pipeline runs, and how. */
typedef struct {
  uint32_t node, replica;
  uint16_t mini_batch;
  const RaBatch *batches; /* (m) */
  uint32_t m;
  gboolean backward; /* train's schedule; else forwards alone */
} RaPipelineSpec;

/* Buckets that the last backward of @piece is split into: 1 without overlap.
 * With zero 2 every backward is, with zero 3 every forward too. */
uint32_t ra_piece_n_buckets(const RaCallContext *context, uint32_t piece);

/* The layers of bucket @bucket of @piece, last layers first. */
RaPiece ra_piece_bucket(const RaCallContext *context, uint32_t piece,
                        uint32_t bucket);

/* Parameters of that bucket whose gradients another bucket of the piece has
 * too: a tied head's, where the embedding is on the same stage. */
uint64_t ra_piece_bucket_shared(const RaCallContext *context, uint32_t piece,
                                uint32_t bucket);

/* (transfer full): ra_pipeline_free() it */
RaPipeline *ra_expand_pipeline(RaCallContext *context,
                               const RaPipelineSpec *spec);
void ra_pipeline_free(RaPipeline *pipeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPipeline, ra_pipeline_free)

/* Replicas that replica @dp stands for (graph/expand/fold.h); 0: it has no
 * tasks, as another stands for it. */
uint32_t ra_replica_weight(const RaCallContext *context, uint32_t dp);

/* Whether a message between two stages of a replica leaves the node. */
gboolean ra_send_crosses(const RaCallPlan *plan, const RaCluster *cluster,
                         uint32_t replica, uint32_t from_stage,
                         uint32_t to_stage);

/* A message of @bytes between stages, forward or back, of one replica. */
RaOp ra_send_op(const RaCallContext *context, uint32_t replica,
                uint32_t from_stage, uint32_t to_stage, uint64_t bytes);

#endif
