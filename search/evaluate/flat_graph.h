/* The augmented graph flattened for a replay of many plans at once.
 *
 * Nodes and edges of plans of one workload differ in little: which transfers
 * and reallocations there are, and what shares a GPU.  So the graph is made
 * once with everything that plans of one *signature* may have
 * (ra_augment_bare() on a small plan of that signature), and a plan switches
 * off what it has not: a transfer between equal meshes, a reallocation to the
 * training layout. What is switched off ends when its first predecessor does.
 *
 * A node begins when all of its predecessors have ended and its queue is free
 * on all GPUs of its meshes (graph/expand/task.h).  A queue on the GPUs of call
 * c is free at the most of the ends of the earlier nodes of that stream on a
 * mesh that shares a GPU with c's.
 *
 * The signature of a plan without copies in host memory: which calls that read
 * a trained model share a layout other than the trainer's, which of those that
 * share the trainer's lag behind it, and residencies.
 * With such copies also in which order all meshes begin and end, and nothing is
 * ever off but transfers.
 *
 * Typical sizes: PPO, 5 iterations: 93 nodes, 220 predecessors, 3 KB; one to
 * 10^2 signatures a search.
 */
#ifndef RA_SEARCH_EVALUATE_FLAT_GRAPH_H
#define RA_SEARCH_EVALUATE_FLAT_GRAPH_H

#include "graph/augment/augment.h"
#include "search/space/space.h"

/* No mesh, slot or node. */
#define RA_FLAT_GRAPH_NONE UINT16_MAX

/* Queues that meshes have. */
typedef enum {
  RA_QUEUE_COMPUTE,
  RA_QUEUE_REALLOC,
  RA_QUEUE_TRANSFER,
  RA_QUEUE_COPY_IN,
  RA_QUEUE_COPY_OUT,
  RA_QUEUE_HOST,
  RA_N_QUEUES
} RaQueueKind;

/* A node; times of predecessors are looked up by node. */
typedef struct {
  uint32_t pred;      /* first of its predecessors */
  uint16_t n_always;  /* that it waits for even when it is off */
  uint16_t n_on;      /* and further ones */
  uint16_t slot;      /* of its duration */
  uint16_t switch_at; /* index of the switch; NONE: always on */
  uint16_t mesh_a;    /* calls on whose meshes it is; NONE: none */
  uint16_t mesh_b;    /* NONE: none, or the same */
  uint8_t queue;      /* RaQueueKind */
  uint8_t iteration;
  uint8_t is_call; /* its end counts for its iteration's */
} RaFlatGraphNode;

/* What a slot is the duration of. */
typedef struct {
  uint8_t kind;         /* RaNodeKind */
  uint16_t call;        /* that runs, or waits */
  uint16_t source;      /* REALLOC, TRANSFER: NONE else */
  uint16_t like;        /* CALL, TRANSFER: iteration among those costed */
  uint16_t part;        /* CALL, TRANSFER */
  uint16_t n_parts;     /* TRANSFER */
  uint8_t what;         /* OFFLOAD, RELOAD: RaCopyWhat bits */
  uint32_t token_bytes; /* TRANSFER: of a token's data */
} RaFlatGraphSlot;

/* Whether they have the same duration in every plan. */
gboolean ra_flat_graph_slot_equal(const RaFlatGraphSlot *a,
                                  const RaFlatGraphSlot *b);

/* A transfer or a reallocation that a plan may do without. */
typedef struct {
  uint8_t kind;    /* RaNodeKind */
  uint16_t call;   /* to */
  uint16_t source; /* from */
} RaFlatGraphSwitch;

/* Memory from one node to another, of the footprint of a call. */
typedef struct {
  uint16_t call;      /* whose footprint and mesh */
  uint16_t first;     /* node as it begins; NONE: there at first */
  uint16_t last;      /* node as it ends; NONE: stays */
  uint16_t switch_at; /* not there while this is off; NONE: always */
  uint8_t foot;       /* RaFoot */
} RaFlatGraphItem;

typedef struct {
  uint32_t n_calls;
  uint32_t n_iterations;
  uint32_t n_nodes, n_preds, n_slots, n_switches, n_items;
  RaFlatGraphNode *nodes; /* program order */
  uint16_t *preds;        /* nodes, smaller than their reader */
  RaFlatGraphSlot *slots;
  RaFlatGraphSwitch *switches;
  RaFlatGraphItem *items;
  uint32_t *begins;   /* (n_nodes + 1) CSR into by_first */
  uint32_t *ends;     /* (n_nodes + 1) CSR into by_last */
  uint16_t *by_first; /* items that begin with a node */
  uint16_t *by_last;  /* items that end with a node */
  /* How many items of a call and kind are there at once, at most: (n_calls).
   */
  uint8_t most[RA_POINT_MAX][RA_N_FEET];
  /* And how many are there throughout. */
  uint8_t standing[RA_POINT_MAX][RA_N_FEET];
} RaFlatGraph;

/**
 * ra_flat_graph_new:
 * @space: borrowed
 * @point: any of the signature
 * @n_iterations: 1 to 255
 * @n_like: iterations that calls are costed for
 *
 * Cost: O(nodes x nodes), about 0.1 ms.
 *
 * Returns: (transfer full): ra_flat_graph_free() it
 */
RaFlatGraph *ra_flat_graph_new(const RaSpace *space, const RaPoint *point,
                               uint32_t n_iterations, uint32_t n_like);
void ra_flat_graph_free(RaFlatGraph *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaFlatGraph, ra_flat_graph_free)

/**
 * ra_flat_graph_signature:
 *
 * Equal for points that share a program, and different for others.  @out has
 * RA_SIGNATURE_BYTES.
 *
 * Cost: O(calls^2), no allocation.
 */
#define RA_SIGNATURE_BYTES 192
/* How many of them say something: the byte behind the stands. */
#define RA_SIGNATURE_LENGTH_AT (4 + RA_POINT_MAX)
void ra_flat_graph_signature(const RaSpace *space, const RaPoint *point,
                             uint8_t *out);

#endif
