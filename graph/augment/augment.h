/* The augmented dataflow graph: workload x plan x iterations.
 *
 * Nodes are parts of model function calls and what the plan adds between them:
 * parameter reallocation, data transfer, offload to and reload from pinned host
 * memory, first class and costed.  Node ids are the program order: iteration by
 * iteration, calls in topological order, what a call waits for before it.
 *
 * Where the workload has trips (graph/input/trips.h), calls of a trip stand
 * once for each, and each trip waits for the one before.
 *
 * Edges: data (a part of a consumer waits for the chunk that it needs),
 * parameter versions (a call of iteration k on a trained model waits for what
 * training wrote in iteration k - 1 - staleness), and through the added nodes
 * both.
 *
 * Copies say which models are where from which node to which; graph/memory
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
                       `source`: what a reallocation from there brought */
  RA_NODE_RELOAD    /* from pinned host memory to the GPUs of `call` */
} RaNodeKind;

/* What a copy, an offload or a reload is of: bits. */
typedef enum {
  RA_COPY_PARAMETERS = 1,
  RA_COPY_OPTIMIZER = 2 /* fp32 weights and moments, of the trainer's layout */
} RaCopyWhat;

typedef struct {
  uint8_t kind; /* RaNodeKind */
  uint32_t iteration;
  uint32_t call; /* the call that runs, or that waits for it */
  uint32_t
      source;    /* REALLOC, TRANSFER: call that it comes from; else RA_NONE */
  uint32_t part; /* CALL: 0 .. n_parts - 1; TRANSFER: chunk */
  uint32_t n_parts;
  uint32_t trip; /* CALL, TRANSFER of a call that runs in each: which; else 0 */
  double bytes;  /* TRANSFER: payload in all, expected; REALLOC: all that
                    travels */
  uint32_t token_bytes;   /* TRANSFER: of a token's data; the task carries those
                           of the tokens drawn (graph/expand/data_transfer.h) */
  double max_intra_bytes; /* REALLOC, TRANSFER: largest in or out of a GPU
                             within its node; TRANSFER: expected */
  double max_inter_bytes; /* and across nodes */
  uint32_t n_steps;       /* messages in a row at the busiest GPU */
  uint8_t what;           /* OFFLOAD, RELOAD: RaCopyWhat bits; else 0 */
  double max_copy_bytes;  /* OFFLOAD, RELOAD: of the GPU with most; `bytes` is
                             that of all GPUs */
} RaNode;

/* Where the bytes of a copy come from. */
typedef enum {
  RA_COPY_OWN,     /* there when the run begins */
  RA_COPY_REALLOC, /* a reallocation from the training layout */
  RA_COPY_RELOAD   /* pinned host memory */
} RaCopyOrigin;

/* A model in the layout of some of its calls, for some time: what holds memory
 * across calls.  Gradients, activations and caches are within a call. */
typedef struct {
  uint32_t model; /* index into the workload's models */
  uint32_t call;  /* the first of the calls whose layout it has */
  uint32_t first; /* node that allocates as it begins; RA_NONE: there when the
                     run begins */
  uint32_t last;  /* node that frees as it ends; RA_NONE: stays to the end */
  uint8_t what;   /* RaCopyWhat, one */
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
  const RaCopy *copies; /* (n_copies) by call; of a kept copy as many as it has
                           buffers */
} RaAugmented;

/**
 * ra_augment:
 * @plan: checked plan, borrowed
 * @n_iterations: >= 1
 *
 * Cost: O(iterations x (calls + edges)) and one ra_realloc_new() a pair of
 * layouts.
 *
 * Returns: (transfer full): ra_augmented_free() it
 */
RaAugmented *ra_augment(const RaPlan *plan, uint32_t n_iterations);

/**
 * ra_augment_drawn:
 * @seed: of the outcomes that say how many trips an iteration takes
 *   (graph/input/trips.h)
 *
 * As ra_augment(), which has seed 0.
 *
 * Returns: (transfer full): ra_augmented_free() it
 */
RaAugmented *ra_augment_drawn(const RaPlan *plan, uint32_t n_iterations,
                              uint64_t seed);

/**
 * ra_augment_bare:
 *
 * As ra_augment(), but nothing is asked how much moves: the bytes and steps of
 * reallocations, offloads and reloads are 0.  Nodes, edges, copies and
 * transfers are the same, so for whoever has the costs from elsewhere.
 *
 * Cost: O(iterations x (calls + edges)).
 *
 * Returns: (transfer full): ra_augmented_free() it
 */
RaAugmented *ra_augment_bare(const RaPlan *plan, uint32_t n_iterations);
void ra_augmented_free(RaAugmented *augmented);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaAugmented, ra_augmented_free)

/**
 * ra_augment_copy_bytes:
 * @plan: checked plan
 * @call: with a model
 * @what: RaCopyWhat bits
 * @out_most_bytes: (out): of the GPU with most
 *
 * What an offload or a reload of @call moves.
 *
 * Returns: bytes of all GPUs
 */
double ra_augment_copy_bytes(const RaPlan *plan, uint32_t call, uint8_t what,
                             double *out_most_bytes);

/* "call", "realloc", "transfer", "offload", "reload". */
const char *ra_node_kind_name(RaNodeKind kind);

/* (transfer full): "it0/actor_generate",
 * "it1/realloc/actor_train>actor_generate", "it1/reload/ref_inference"... */
char *ra_node_name(const RaAugmented *augmented, uint32_t node);

#endif
