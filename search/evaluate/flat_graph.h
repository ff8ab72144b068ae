/* Program: the augmented graph flattened, to replay many plans at once.
 *
 * Plans of one workload differ little in their nodes and edges: only in which
 * transfers and reallocations exist, and in which meshes share GPUs.  One
 * program therefore has every node and edge that plans of one *signature* may
 * have (ra_augment_bare() on a small plan of that signature). A plan switches
 * off what it lacks: a transfer between equal meshes, or a reallocation to the
 * training layout.  A node that is off ends when its first predecessor does.
 *
 * A node begins when all of its predecessors have ended and its queue is free
 * on all GPUs of its meshes (graph/expand/task.h). A queue on the GPUs of call
 * c is free at the latest end of the earlier nodes of that stream on a mesh
 * that shares a GPU with c's.
 *
 * The signature of a plan without copies in host memory consists of three
 * things: which readers of a trained model share a layout other than the
 * trainer's, which of those that share the trainer's lag behind it, and the
 * residencies; where rollout services are candidates, also how often they get a
 * version.  With copies in host memory it also has the order in which all
 * meshes begin and end.  Then only transfers are ever off.
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

/* Queues of a mesh. */
typedef enum {
  RA_QUEUE_COMPUTE,
  RA_QUEUE_REALLOC,
  RA_QUEUE_TRANSFER,
  RA_QUEUE_COPY_IN,
  RA_QUEUE_COPY_OUT,
  RA_QUEUE_HOST,
  RA_N_QUEUES
} RaQueueKind;

/* Node; the end times of its predecessors are looked up by node. */
typedef struct {
  uint32_t pred;      /* index of its first predecessor */
  uint16_t n_always;  /* predecessors that count even when it is off */
  uint16_t n_on;      /* further ones, which count when it is on */
  uint16_t slot;      /* slot of its duration */
  uint16_t switch_at; /* index of the switch; NONE: always on */
  uint16_t mesh_a;    /* call whose mesh it occupies; NONE: none */
  uint16_t mesh_b;    /* second such call; NONE: none, or the same */
  uint8_t queue;      /* RaQueueKind */
  uint8_t iteration;
  uint8_t is_call; /* its end counts for the end of its iteration */
} RaFlatGraphNode;

/* Key of a duration that nodes share. */
typedef struct {
  uint8_t kind;     /* RaNodeKind */
  uint16_t call;    /* call that runs, or that waits for the move */
  uint16_t source;  /* REALLOC, TRANSFER: call that it comes from; else NONE */
  uint16_t like;    /* CALL, TRANSFER: index among the costed iterations */
  uint16_t part;    /* CALL, TRANSFER; CALL: of all trips, one after another */
  uint16_t trip;    /* TRANSFER to a call that runs in each trip */
  uint16_t n_parts; /* TRANSFER */
  uint8_t what;     /* OFFLOAD, RELOAD: RaCopyWhat bits */
  uint32_t token_bytes; /* TRANSFER: bytes per token */
} RaFlatGraphSlot;

/* TRUE if both have the same duration in every plan. */
gboolean ra_flat_graph_slot_equal(const RaFlatGraphSlot *a,
                                  const RaFlatGraphSlot *b);

/* Switch of a transfer or a reallocation that some plans lack. */
typedef struct {
  uint8_t kind;    /* RaNodeKind */
  uint16_t call;   /* destination */
  uint16_t source; /* origin */
} RaFlatGraphSwitch;

/* Memory that a call's footprint occupies from one node to another. */
typedef struct {
  uint16_t call;  /* call whose footprint and mesh are meant */
  uint16_t first; /* node at whose begin it appears; NONE: initially there */
  uint16_t last;  /* node at whose end it goes; NONE: it stays */
  uint16_t switch_at; /* absent while this switch is off; NONE: always there */
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
  /* (n_calls) maximum number of simultaneous items by call and kind. */
  uint8_t most[RA_POINT_MAX][RA_N_FEET];
  /* (n_calls) number of permanent items by call and kind. */
  uint8_t standing[RA_POINT_MAX][RA_N_FEET];
} RaFlatGraph;

/**
 * ra_flat_graph_new:
 * @space: borrowed
 * @point: any point of the signature
 * @n_iterations: 1 to 255
 * @n_like: iterations for which calls are costed
 *
 * Cost: O(nodes x nodes), about 0.1 ms.
 *
 * Returns: (transfer full): free with ra_flat_graph_free()
 */
RaFlatGraph *ra_flat_graph_new(const RaSpace *space, const RaPoint *point,
                               uint32_t n_iterations, uint32_t n_like);
void ra_flat_graph_free(RaFlatGraph *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaFlatGraph, ra_flat_graph_free)

/**
 * ra_flat_graph_signature:
 *
 * Computes a signature that is equal for points that share a program and
 * different for others.  @out has RA_SIGNATURE_BYTES.
 *
 * Cost: O(calls^2), no allocation.
 */
#define RA_SIGNATURE_BYTES 224
/* Index of the byte with the number of significant bytes, after the stands. */
#define RA_SIGNATURE_LENGTH_AT (4 + RA_POINT_MAX)
void ra_flat_graph_signature(const RaSpace *space, const RaPoint *point,
                             uint8_t *out);

#endif
