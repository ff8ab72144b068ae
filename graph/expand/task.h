/* Task graph, which the simulator replays and the executor runs.
 *
 * It is a structure of arrays with 32-bit ids, CSR edges and one arena.  A task
 * runs on one device group and one stream.
 *
 * A *lane* is a set of GPUs that no task of the graph treats differently, such
 * as the tp ranks of a stage.  A *group* is a set of lanes: a stage of a
 * replica, the dp replicas of a stage, the two ends of a send, a whole mesh.
 *
 * Every lane has one FIFO queue per stream.  The order of the queues is the
 * program that every rank follows, fixed when the graph is made.  The graph
 * contains it as edges: task t has an edge from the preceding task in each of
 * its queues.  A task may thus start when all its predecessors have ended, on
 * all its lanes at once.  A collective starts when its last member arrives, a
 * send is a rendezvous, and nothing is decided at run time.  (ReaL has a ready
 * queue instead.  A static order makes replay monotone in the durations, and
 * SPMD ranks can follow it without communication.)
 *
 *     for (RaTaskId t = 0; t < g->n_tasks; t++)
 *       for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
 *         visit(t, g->succ[e]);
 *
 * A folded graph (graph/expand/fold.h) contains one of all replicas that do the
 * same work at the same times.  Its lanes are all GPUs that do so, and a task
 * represents group_weight tasks.  All results equal those of the unfolded
 * graph, to the last bit.
 *
 * Typical sizes: 10^3 to 10^7 tasks, 3 edges each; 10^7 fit in 2 GiB.
 */
#ifndef RA_GRAPH_EXPAND_TASK_H
#define RA_GRAPH_EXPAND_TASK_H

#include "base/arena.h"
#include "base/until.h"
#include "graph/augment/augment.h"
#include "graph/input/plan.h"
#include "graph/op/op.h"
#include "graph/rollout/batcher.h"
#include "graph/rollout/rollout.h"

typedef uint32_t RaTaskId;

typedef enum {
  RA_TASK_FORWARD,     /* a micro-batch through a stage: training, inference or
                          prefill */
  RA_TASK_BACKWARD,    /* its backward (the last one: a bucket of layers) */
  RA_TASK_SEND,        /* activations or their gradients to the next stage */
  RA_TASK_GRAD_REDUCE, /* gradients over dp: all-reduce or reduce-scatter */
  RA_TASK_CLIP,        /* gradient norm over all ranks of the call */
  RA_TASK_OPTIMIZER,
  RA_TASK_PARAM_GATHER, /* over dp: updated parameters (zero 1 and 2), or a
                           bucket before its computation (zero 3) */
  RA_TASK_DECODE,   /* dynamic: token by token generation of a replica, up to a
                       chunk boundary */
  RA_TASK_HOST,     /* a host call */
  RA_TASK_REALLOC,  /* parameter reallocation */
  RA_TASK_TRANSFER, /* data between calls */
  RA_TASK_CALL,     /* call fidelity: a whole part of a call */
  RA_TASK_JOIN,     /* no time, no lanes: all tasks of a node have ended */
  RA_TASK_OFFLOAD,  /* GPUs to pinned host memory */
  RA_TASK_RELOAD,   /* pinned host memory to GPUs */
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

/* Work of a task, shared by all tasks with equal work (interned). */
typedef struct {
  uint32_t shard; /* index into shards; RA_NONE: `op` alone */
  uint8_t phase;  /* RaPhase, with a shard */
  RaPiece piece;  /* with a shard */
  RaBatch batch;  /* with a shard */
  RaOp op;        /* without a shard */
} RaWork;

/* Dynamic part of a generate call on one replica: its sequences. */
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
  uint32_t weight;  /* replicas that it represents, >= 1 */
  uint32_t
      first_part; /* phase number, if it is a phase of graph/rollout/rollout.h:
                     its only part, which the task has as its mini-batch */
  gboolean
      is_phase; /* it is a phase of graph/rollout/rollout.h: keys of `prompt`
                   tokens exist at its begin, those of left_tokens stay */
  uint64_t left_tokens;        /* PHASE: of keys and values */
  uint64_t generated_tokens;   /* PHASE */
  const uint32_t *group_begin; /* (n_groups + 1) first sequence of each group,
                                  if not as above; else NULL */
  const RaBatchStart *starts;  /* PHASE, continuous: (n_groups) */
  uint64_t n_steps; /* PHASE, continuous: of each group, at most; 0: all */
  uint64_t before_tokens; /* PHASE, continuous: of keys and values, before it */
  uint64_t peak_tokens;   /* PHASE, continuous: largest capacity during it */
  const uint32_t *made;   /* PHASE, continuous: (n_sequences) response tokens
                             known after it */
  RaBatching batching;    /* continuous, of each group, including prompts;
                             max_sequences 0: static */
  RaBatchTurns turns;     /* begin NULL: one turn per sequence */
} RaDynamic;

/* Lane; ra_task_graph_gpus() lists its GPUs. */
typedef struct {
  uint32_t first_gpu; /* cluster-wide number of its first GPU */
  uint32_t n_gpus;
} RaLane;

typedef struct {
  RaArena *arena;               /* owns all arrays below */
  const RaAugmented *augmented; /* borrowed; with it plan, workload, cluster */
  RaFidelity fidelity;
  uint64_t seed;        /* seed of the sampled lengths */
  gboolean is_folded;   /* made with folding, with or without twins */
  const RaUntil *until; /* nullable, outlives the graph: when over, what
                           simulates it fails (RA_ERROR_NEGATIVE) */

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
                  Zero 3 numbers backward's gathers after forward's */
  const uint32_t *replica; /* (n_tasks) dp coordinate, for a set of shards its
                              first; RA_NONE: all */
  const uint32_t *node;    /* (n_tasks) augmented node */
  const uint32_t
      *work; /* (n_tasks) index into works; RA_NONE: none (dynamic or call) */
  const uint32_t *dynamic; /* (n_tasks) index into dynamics, or RA_NONE; NULL:
                              RA_NONE for all tasks */
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

  const RaRollout *const *rollouts; /* (iterations, calls) rollout of a generate
                                       call with long-tail choices, else NULL;
                                       NULL: no call has one */

  const uint64_t *transfer_bytes; /* (augmented nodes) bytes of a TRANSFER for
                                     the sampled lengths; NULL: no transfers */

  uint32_t n_groups; /* group 0 has no lane: joins, host calls without a mesh */
  const uint32_t *group_begin;  /* (n_groups + 1) CSR into group_lane */
  const uint32_t *group_lane;   /* lanes of the group, ascending */
  const uint32_t *group_n_gpus; /* (n_groups) GPUs in all its lanes */
  const uint32_t *group_weight; /* (n_groups) tasks of the unfolded graph
                                   (replicas) that a task on it represents;
                                   NULL: 1 for all groups */

  uint32_t n_lanes;
  const RaLane *lanes; /* (n_lanes) */
  const uint32_t
      *lane_of_gpu; /* (cluster GPUs) lane, RA_NONE: no call uses it */
} RaTaskGraph;

/* Number of tasks of the unfolded graph that @task represents, >= 1. */
static inline uint32_t
ra_task_weight(const RaTaskGraph *graph, RaTaskId task)
{
  return graph->group_weight ? graph->group_weight[graph->group[task]] : 1;
}

/* Number of tasks of the unfolded graph: the sum of all weights.  O(tasks). */
uint64_t ra_task_graph_n_unfolded(const RaTaskGraph *graph);

/* Writes the ops of a work, in order: ra_op_list() or its one op.  Returns
 * their number. */
guint ra_work_ops(const RaTaskGraph *graph, uint32_t work, RaOp *out_ops);

/**
 * ra_task_name:
 * @out: (out) (array length=n_bytes): NUL-terminated
 *
 * Name of @task, equal in every trace of the same plan:
 * `it0/actor_train/d1/s2/b0/m3/fwd`, that is iteration, call, replica, stage,
 * mini-batch or part, micro-batch, kind.  Fields that a kind does not have are
 * left out.
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
 * ra_task_graph_gpus:
 * @n_gpus: GPUs of the cluster
 * @out_begin: (out) (transfer full) (array length=n_lanes+1): lane l has the
 *   entries from @out_begin[l] to before @out_begin[l + 1]
 *
 * GPUs of each lane, ascending.
 *
 * Cost: O(GPUs + lanes).
 *
 * Returns: (transfer full): the entries; g_free() both
 */
uint32_t *ra_task_graph_gpus(const RaTaskGraph *graph, uint32_t n_gpus,
                             uint32_t **out_begin);

void ra_task_graph_free(RaTaskGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTaskGraph, ra_task_graph_free)

#endif
