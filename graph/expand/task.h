/* The task graph: what the simulator replays and the executor runs.
 *
 * Structure of arrays, 32-bit ids, CSR edges, one arena.  A task runs on one
 * device group and one stream.
 *
 * *Lane*: a set of GPUs that no task of the graph tells apart (the tp ranks of
 * a stage, say).  A *group* is a set of lanes: a stage of a replica, the
 * dp replicas of a stage, the two ends of a send, a whole mesh.  Every lane has
 * one FIFO queue a stream; the order of the queues is the program that every
 * rank follows, fixed when the graph is made.  It stands in the graph as edges:
 * task t has an edge from the task before it in each queue it is in.  So a task
 * may start when all its predecessors have ended, on all its lanes at once: a
 * collective starts when its last member arrives, a send is a rendezvous, and
 * nothing is decided at run time.  (Departure from ReaL's ready queue: a static
 * order makes replay monotone in the durations, and is what SPMD
 * ranks can follow without talking.)
 *
 *     for (RaTaskId t = 0; t < g->n_tasks; t++)
 *       for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
 *         visit(t, g->succ[e]);
 *
 * A folded graph (graph/expand/fold.h) has one of all replicas that do the same
 * at the same times: its lanes are all GPUs that do, its tasks stand for as
 * many as group_weight says, and all that is computed from it is what the
 * unfolded graph gives, to the last bit.
 *
 * Typical sizes: 10^3 to 10^7 tasks, 3 edges each; 10^7 fit in 2 GiB.
 */
#ifndef RA_GRAPH_EXPAND_TASK_H
#define RA_GRAPH_EXPAND_TASK_H

#include "base/arena.h"
#include "graph/augment/augment.h"
#include "graph/input/plan.h"
#include "graph/op/op.h"
#include "graph/rollout/batcher.h"
#include "graph/rollout/rollout.h"

typedef uint32_t RaTaskId;

typedef enum {
  RA_TASK_FORWARD,     /* a micro-batch through a stage: training, inference or
                          prefill */
  RA_TASK_BACKWARD,    /* and back (a bucket of its layers, for the last one) */
  RA_TASK_SEND,        /* activations or their gradients to the next stage */
  RA_TASK_GRAD_REDUCE, /* gradients over dp: all-reduce or reduce-scatter */
  RA_TASK_CLIP,        /* gradient norm over all ranks of the call */
  RA_TASK_OPTIMIZER,
  RA_TASK_PARAM_GATHER, /* over dp: updated parameters (zero 1 and 2), or a
                           bucket before it computes (zero 3) */
  RA_TASK_DECODE,   /* dynamic: a replica's token by token generation, up to a
                       chunk boundary */
  RA_TASK_HOST,     /* a host call */
  RA_TASK_REALLOC,  /* parameter reallocation */
  RA_TASK_TRANSFER, /* data between calls */
  RA_TASK_CALL,     /* call fidelity: a whole part of a call */
  RA_TASK_JOIN,     /* no time, no lanes: all of a node has ended */
  RA_TASK_OFFLOAD,  /* GPUs to pinned host memory */
  RA_TASK_RELOAD,   /* and back */
  RA_TASK_EMBEDDING_REDUCE, /* gradients of tied embeddings, first and last
                               stage */
  RA_TASK_MIGRATE, /* sequences between the replicas of a generate call */
  RA_N_TASK_KINDS
} RaTaskKind;

typedef enum {
  RA_STREAM_COMPUTE,
  RA_STREAM_TP,           /* op fidelity: tensor parallel collectives */
  RA_STREAM_DP,           /* gradient and parameter collectives */
  RA_STREAM_PP_SEND,      /* activations out */
  RA_STREAM_PP_RECV,      /* activations in */
  RA_STREAM_PP_SEND_BACK, /* gradients out */
  RA_STREAM_PP_RECV_BACK, /* gradients in */
  RA_STREAM_REALLOC,      /* parameters between calls */
  RA_STREAM_TRANSFER,     /* data between calls */
  RA_STREAM_COPY_IN,
  RA_STREAM_COPY_OUT,
  RA_STREAM_HOST,
  RA_STREAM_NONE, /* joins: no queue */
  RA_N_STREAMS
} RaStream;

typedef enum { RA_FIDELITY_CALL, RA_FIDELITY_STAGE, RA_FIDELITY_OP } RaFidelity;

/* What a task does, shared by all tasks that do the same (interned). */
typedef struct {
  uint32_t shard; /* index into shards, RA_NONE: `op` alone */
  uint8_t phase;  /* RaPhase, with a shard */
  RaPiece piece;  /* with a shard */
  RaBatch batch;  /* with a shard */
  RaOp op;        /* without */
} RaWork;

/* The dynamic part of a generate call on one replica: who is generated. */
typedef struct {
  uint32_t node;  /* augmented node of its first part */
  uint32_t shard; /* index into shards */
  uint32_t
      n_groups; /* micro-batches that follow each other through the stages */
  uint32_t n_stages;     /* pp */
  const RaPiece *pieces; /* (n_stages) */
  RaOp send; /* token activations between stages, count 1; bytes for one
                sequence */
  uint32_t n_sequences;
  const uint32_t *prompt; /* (n_sequences) tokens; group g has [g n / n_groups,
                             (g+1) n / n_groups) */
  const uint32_t *
      response; /* (n_sequences) tokens to generate, the first by the prefill */
  uint32_t n_parts; /* part c ends when ceil((c + 1) n / n_parts) sequences have
                       ended */
  uint32_t weight;  /* replicas that it stands for, >= 1 */
  uint32_t
      first_part; /* of a phase of graph/rollout/rollout.h: the phase, which its
                           task has for a mini-batch, as its only part */
  gboolean
      is_phase; /* of graph/rollout/rollout.h: keys of `prompt` tokens are there
                           as it begins, so many as are left stay */
  uint64_t left_tokens;        /* PHASE: of keys and values */
  uint64_t generated_tokens;   /* PHASE */
  const uint32_t *group_begin; /* (n_groups + 1) first sequence of each, where
                                  it is not as above; else NULL */
  const RaBatchStart *starts;  /* PHASE, continuous: (n_groups) */
  uint64_t n_steps; /* PHASE, continuous: of each group, at most; 0: all */
  uint64_t before_tokens; /* PHASE, continuous: of keys and values there */
  uint64_t peak_tokens;   /* PHASE, continuous: that there is room for */
  const uint32_t *made;   /* PHASE, continuous: (n_sequences) response tokens
                             known after it */
  RaBatching batching;    /* continuous, of each group, prompts within;
                          max_sequences 0: static */
  RaBatchTurns turns;     /* begin NULL: one a sequence */
} RaDynamic;

/* One entry of a lane's GPUs. */
typedef struct {
  uint32_t first_gpu; /* cluster-wide number; the lane's GPUs are `gpus` of the
                         graph */
  uint32_t n_gpus;
} RaLane;

typedef struct {
  RaArena *arena;               /* owns all below */
  const RaAugmented *augmented; /* borrowed; with it plan, workload, cluster */
  RaFidelity fidelity;
  uint64_t seed;      /* of the lengths */
  gboolean is_folded; /* made with folding, whether or not there were twins */

  uint32_t n_tasks;
  const uint8_t *kind; /* (n_tasks) RaTaskKind */
  const uint8_t
      *stream; /* (n_tasks) RaStream of the first lane; sends: see group */
  const uint16_t *stage;       /* (n_tasks) virtual stage; send: the sender's */
  const uint16_t *mini_batch;  /* (n_tasks) epoch * mini-batches + mini-batch;
                                  decode: part */
  const uint16_t *micro_batch; /* (n_tasks) bucket for grad reduce */
  const uint16_t
      *bucket; /* (n_tasks) piece of a split pass, gradient bucket; else 0.
                  Zero 3's gathers for backward count on after the forward's */
  const uint32_t *replica; /* (n_tasks) dp coordinate, of a set of shards its
                              first; RA_NONE: all */
  const uint32_t *node;    /* (n_tasks) augmented node */
  const uint32_t
      *work; /* (n_tasks) index into works; RA_NONE: none (dynamic or call) */
  const uint32_t *dynamic; /* (n_tasks) index into dynamics or RA_NONE; may be
                              NULL: none at all */
  const uint32_t *group;   /* (n_tasks) index into groups */
  const uint32_t
      *n_pred; /* (n_tasks) predecessors, with multiplicity in succ */

  const uint32_t *succ_begin; /* (n_tasks + 1) CSR */
  const RaTaskId *succ;       /* (succ_begin[n_tasks]) */

  uint32_t n_works;
  const RaWork *works;
  uint32_t n_shards;
  const RaShard *shards;
  uint32_t n_dynamics;
  const RaDynamic *dynamics;

  const RaRollout *const *rollouts; /* (iterations, calls) of generate calls
                                       whose sequences move or are over-sampled,
                                       else NULL; NULL: no call has one */

  const uint64_t *transfer_bytes; /* (augmented nodes) that a TRANSFER carries
                                     of what was drawn; NULL: there are none */

  uint32_t n_groups; /* group 0 has no lane: joins, host calls without a mesh */
  const uint32_t *group_begin;  /* (n_groups + 1) CSR into group_lane */
  const uint32_t *group_lane;   /* lanes of the group, ascending */
  const uint32_t *group_n_gpus; /* (n_groups) GPUs in all its lanes */
  const uint32_t *group_weight; /* (n_groups) tasks of the unfolded graph that
                                   a task on it stands for: replicas; may be
                                   NULL: 1 */

  uint32_t n_lanes;
  const RaLane *lanes; /* (n_lanes) */
  const uint32_t
      *lane_of_gpu; /* (cluster GPUs) lane, RA_NONE: no call uses it */
} RaTaskGraph;

/* Tasks of the unfolded graph that @task stands for, >= 1. */
static inline uint32_t
ra_task_weight(const RaTaskGraph *graph, RaTaskId task)
{
  return graph->group_weight ? graph->group_weight[graph->group[task]] : 1;
}

/* Tasks of the unfolded graph: the sum of all weights.  O(tasks). */
uint64_t ra_task_graph_n_unfolded(const RaTaskGraph *graph);

/* (n_ops) the ops of a work, in order: ra_op_list() or its one op. */
guint ra_work_ops(const RaTaskGraph *graph, uint32_t work, RaOp *out_ops);

/**
 * ra_task_name:
 * @out: (out) (array length=n_bytes): NUL-terminated
 *
 * The same in every trace of the same plan: `it0/actor_train/d1/s2/b0/m3/fwd`,
 * that is iteration, call, replica, stage, mini-batch or part, micro-batch,
 * kind; fields that a kind does not have are left out.
 */
void ra_task_name(const RaTaskGraph *graph, RaTaskId task, char *out,
                  gsize n_bytes);

/* Hash of the name's parts, for fingerprints; equal names hash equal. O(1). */
uint64_t ra_task_name_hash(const RaTaskGraph *graph, RaTaskId task);

/* (transfer full): cluster-wide GPU numbers of @group as ranges, "0-7,16-23";
 * "-" for none. */
char *ra_group_ranks(const RaTaskGraph *graph, uint32_t group);

const char *ra_task_kind_name(RaTaskKind kind);
const char *ra_stream_name(RaStream stream);
const char *ra_fidelity_name(RaFidelity fidelity); /* "stage" */

/**
 * ra_task_graph_gpus: the GPUs of each lane, ascending
 * @n_gpus: of the cluster
 * @out_begin: (out) (transfer full) (array length=n_lanes+1): of lane l,
 *   entries @out_begin[l] to @out_begin[l + 1]
 *
 * O(GPUs + lanes).
 *
 * Returns: (transfer full): the entries; g_free() both
 */
uint32_t *ra_task_graph_gpus(const RaTaskGraph *graph, uint32_t n_gpus,
                             uint32_t **out_begin);

void ra_task_graph_free(RaTaskGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTaskGraph, ra_task_graph_free)

#endif
