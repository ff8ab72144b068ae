/* Augmented dataflow graph: workload x plan x iterations.
 *
 * Nodes are parts of model function calls and the operations that the plan adds
 * between them: parameter reallocation, data transfer, offload to and reload
 * from pinned host memory.  Each has a cost.  Node ids are in program order:
 * iteration by iteration, calls in topological order, predecessors of a call
 * before it.
 *
 * In a workload with trips (graph/input/trips.h), each trip has its own nodes
 * for its calls and waits for the trip before.
 *
 * Edges are data and parameter versions; both may pass through added nodes.  A
 * part of a consumer waits for the chunk that it needs.  A call of iteration k
 * on a trained model waits for what training wrote in iteration
 * k - 1 - staleness.
 *
 * Copies give the location of each model from one node to another; graph/memory
 * turns them into bytes over time.
 *
 * Typical sizes: 6 calls x 3 iterations = 40 nodes, 60 edges.
 */
#ifndef RA_GRAPH_AUGMENT_AUGMENT_H
#define RA_GRAPH_AUGMENT_AUGMENT_H

#include "base/arena.h"
#include "graph/input/plan.h"

typedef enum {
  RA_NODE_CALL,     /* part `part` of call `call` */
  RA_NODE_REALLOC,  /* parameters of `model` from call `source`'s layout to
                       `call`'s */
  RA_NODE_TRANSFER, /* data from call `source` to call `call` */
  RA_NODE_OFFLOAD,  /* from the GPUs of `call` to pinned host memory; with a
                       `source`: parameters reallocated from there */
  RA_NODE_RELOAD    /* from pinned host memory to the GPUs of `call` */
} RaNodeKind;

/* Content of a copy, an offload or a reload: bits. */
typedef enum {
  RA_COPY_PARAMETERS = 1,
  RA_COPY_OPTIMIZER = 2 /* fp32 weights and moments, in the trainer's layout */
} RaCopyWhat;

typedef struct {
  uint8_t kind; /* RaNodeKind */
  uint32_t iteration;
  uint32_t call;   /* call that runs, or that waits for this node */
  uint32_t source; /* REALLOC, TRANSFER: call that sends; else RA_NONE */
  uint32_t part;   /* CALL: 0 .. n_parts - 1; TRANSFER: chunk */
  uint32_t n_parts;
  uint32_t trip; /* CALL, TRANSFER of a call that runs in each trip: its trip;
                    else 0 */
  double bytes;  /* TRANSFER: expected total payload; REALLOC: all bytes that
                    travel */
  uint32_t token_bytes;   /* TRANSFER: of a token's data; the task has the bytes
                             of sampled tokens (graph/expand/data_transfer.h) */
  double max_intra_bytes; /* REALLOC, TRANSFER: largest traffic in or out of a
                             GPU within its node; TRANSFER: expected */
  double max_inter_bytes; /* the same across nodes */
  uint32_t n_steps;       /* consecutive messages at the busiest GPU */
  uint64_t cast_elements; /* REALLOC: weights that the GPU with most of them
                             casts to 8 bits */
  uint8_t what;           /* OFFLOAD, RELOAD: RaCopyWhat bits; else 0 */
  double max_copy_bytes;  /* OFFLOAD, RELOAD: of the GPU with most; `bytes` is
                             the sum over GPUs */
  double max_state_bytes; /* of these, the optimizer's state */
} RaNode;

/* Origin of the bytes of a copy. */
typedef enum {
  RA_COPY_OWN,     /* present when the run begins */
  RA_COPY_REALLOC, /* a reallocation from the training layout */
  RA_COPY_RELOAD   /* pinned host memory */
} RaCopyOrigin;

/* Copy: a model in the layout of some of its calls, for some time.  Copies are
 * the memory across calls; gradients, activations and caches are within a call.
 */
typedef struct {
  uint32_t model; /* index into the workload's models */
  uint32_t call;  /* the first of the calls whose layout it has */
  uint32_t first; /* node that allocates it at its begin; RA_NONE: present when
                     the run begins */
  uint32_t last;  /* node that frees it at its end; RA_NONE: never freed */
  uint8_t what;   /* RaCopyWhat, one bit */
  uint8_t origin; /* RaCopyOrigin */
  uint8_t pinned; /* in host memory, not on the GPUs */
} RaCopy;

typedef struct {
  RaArena *arena;     /* owns nodes and edges */
  const RaPlan *plan; /* borrowed, with its workload and cluster */
  uint32_t n_iterations;
  uint32_t n_nodes;
  const RaNode *nodes;        /* (n_nodes) program order */
  const uint32_t *pred_begin; /* (n_nodes + 1) CSR */
  const uint32_t *pred;       /* ids smaller than the node's own */
  uint32_t n_copies;
  const RaCopy *copies; /* (n_copies) by call; a kept copy has one entry per
                           buffer */
} RaAugmented;

/**
 * ra_augment:
 * @plan: checked plan, borrowed
 * @n_iterations: >= 1
 *
 * Cost: O(iterations x (calls + edges)) and one ra_realloc_new() per pair of
 * layouts.
 *
 * Returns: (transfer full): ra_augmented_free() it
 */
RaAugmented *ra_augment(const RaPlan *plan, uint32_t n_iterations);

/**
 * ra_augment_drawn:
 * @seed: seed of the samples that decide the number of trips of an iteration
 *   (graph/input/trips.h)
 *
 * Like ra_augment(), which has seed 0.
 *
 * Returns: (transfer full): ra_augmented_free() it
 */
RaAugmented *ra_augment_drawn(const RaPlan *plan, uint32_t n_iterations,
                              uint64_t seed);

/**
 * ra_augment_bare:
 *
 * Like ra_augment_drawn(), but the bytes and steps of reallocations, offloads
 * and reloads are not computed and are 0.  Nodes, edges, copies and transfers
 * are the same.  For callers that have these costs from another source.
 *
 * Cost: O(iterations x (calls + edges)).
 *
 * Returns: (transfer full): ra_augmented_free() it
 */
RaAugmented *ra_augment_bare(const RaPlan *plan, uint32_t n_iterations,
                             uint64_t seed);
void ra_augmented_free(RaAugmented *augmented);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaAugmented, ra_augmented_free)

/**
 * ra_augment_copy_bytes:
 * @plan: checked plan
 * @call: a call with a model
 * @what: RaCopyWhat bits
 * @out_most_bytes: (out): bytes of the GPUs with most parameters and most state
 * @out_state_bytes: (out): of these, the optimizer's state
 *
 * Bytes that an offload or a reload of @call moves.
 *
 * Returns: sum over all GPUs, bytes
 */
double ra_augment_copy_bytes(const RaPlan *plan, uint32_t call, uint8_t what,
                             double *out_most_bytes, double *out_state_bytes);

/* "call", "realloc", "transfer", "offload", "reload". */
const char *ra_node_kind_name(RaNodeKind kind);

/* (transfer full): "it0/actor_generate",
 * "it1/realloc/actor_train>actor_generate", "it1/reload/ref_inference"... */
char *ra_node_name(const RaAugmented *augmented, uint32_t node);

#endif
