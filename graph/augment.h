/* The augmented dataflow graph: workload x plan x iterations.
 *
 * Nodes are parts of model function calls and what the plan adds between them:
 * parameter reallocation and data transfer, first class and costed.  Node ids
 * are the program order: iteration by iteration, calls in topological order,
 * what a call waits for before it.
 *
 * Edges: data (a part of a consumer waits for the chunk that it needs),
 * parameter versions (a call of iteration k on a trained model waits for what
 * training wrote in iteration k - 1 - staleness), and through the added nodes
 * both.
 *
 * Typical sizes: 6 calls x 3 iterations = 40 nodes, 60 edges.
 */
#ifndef RA_GRAPH_AUGMENT_H
#define RA_GRAPH_AUGMENT_H

#include "base/arena.h"
#include "graph/plan.h"

typedef enum {
  RA_NODE_CALL,    /* part `part` of call `call` */
  RA_NODE_REALLOC, /* parameters of `model` from call `source`'s layout to
                      `call`'s */
  RA_NODE_TRANSFER /* data from call `source` to call `call` */
} RaNodeKind;

typedef struct {
  uint8_t kind; /* RaNodeKind */
  uint32_t iteration;
  uint32_t call; /* the call that runs, or that waits for it */
  uint32_t
      source;    /* REALLOC, TRANSFER: call that it comes from; else RA_NONE */
  uint32_t part; /* CALL: 0 .. n_parts - 1; TRANSFER: chunk */
  uint32_t n_parts;
  double bytes; /* TRANSFER: payload in all; REALLOC: all that travels */
  double max_intra_bytes; /* REALLOC, TRANSFER: largest in or out of a GPU
                             within its node */
  double max_inter_bytes; /* and across nodes */
  uint32_t n_steps;       /* messages in a row at the busiest GPU */
} RaNode;

typedef struct {
  RaArena *arena;     /* owns nodes and edges */
  const RaPlan *plan; /* borrowed, with its workload and cluster */
  uint32_t n_iterations;
  uint32_t n_nodes;
  const RaNode *nodes;        /* (n_nodes) program order */
  const uint32_t *pred_begin; /* (n_nodes + 1) CSR */
  const uint32_t *pred;       /* ids smaller than the node's own */
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
void ra_augmented_free(RaAugmented *augmented);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaAugmented, ra_augmented_free)

/* (transfer full): "it0/actor_generate",
 * "it1/realloc/actor_train>actor_generate", ... */
char *ra_node_name(const RaAugmented *augmented, uint32_t node);

#endif
