/* Parameter reallocation: moving a model's parameters between two layouts.
 *
 * A layout is a call plan applied to a model's tensors
 * (graph/augment/layout.h): it gives each GPU of a mesh a rectangle of each
 * tensor.  A reallocation is the set of moves of tensor slices between GPUs
 * after which each destination GPU has the rectangles of its layout.
 *
 *     g_autoptr(RaRealloc) r = ra_realloc_new(model, 2, &train, &generate,
 *                                             cluster, RA_REALLOC_BROADCAST);
 *     r->load.max_inter_bytes / nic_share_bytes_per_s is its time if the
 *     network bounds it
 *     ra_realloc_slices(model, &train, &generate, cluster,
 *                       RA_REALLOC_BROADCAST, copy_slice, executor);
 *
 * Where the destination has 8-bit weights and the source has 16, 16 bits travel
 * and the receivers cast the matrices of linear layers as they arrive;
 * embeddings, norms, routers and the head are not cast.  A GPU casts its own
 * slices.  It casts the whole tensors of its stages with ALL_GATHER, or where
 * generation has an engine of its own (RaMemoryHabits): tensors come to the
 * engine's ranks by their names in the checkpoint and are cut after the cast
 * (verl, verl/utils/vllm/vllm_fp8_utils.py; NeMo-RL, load_weights() of its
 * fp8.py).
 *
 * Invariants: the moves' bytes sum to load.total_bytes.  With BROADCAST and
 * P2P, data that a GPU already holds does not travel, total plus held is the
 * size of the destination layout, and no GPU receives an element twice.
 *
 * Tensor slices are counted, not copied, so the cost does not grow with the
 * number of tensors.  Typical: 80 layers, 128 GPUs to 128 GPUs, under 2 ms.
 */
#ifndef RA_GRAPH_AUGMENT_REALLOC_H
#define RA_GRAPH_AUGMENT_REALLOC_H

#include "graph/input/plan.h"

typedef enum {
  RA_REALLOC_BROADCAST, /* ReaL (arXiv 2406.14088): a node in which a GPU
                           holds a piece serves itself; any other node receives
                           it once from the least loaded source, then its GPUs
                           forward it to each other */
  RA_REALLOC_P2P,       /* shard to shard: every destination GPU receives from a
                           source GPU, one in its node if that holds the piece
                           (Xiao et al., arXiv 2312.11819) */
  RA_REALLOC_ALL_GATHER /* HybridFlow (arXiv 2409.19256): every GPU of a
                           source replica gathers all parameters of its tp x pp
                           group, then slices; after that GPUs outside the
                           source mesh receive their pieces */
} RaReallocScheme;

/* Bytes from a GPU to a GPU (cluster-wide numbers). */
typedef struct {
  uint32_t from;  /* GPU of the cluster */
  uint32_t to;    /* GPU of the cluster, another */
  uint64_t bytes; /* > 0 */
} RaMove;

typedef struct {
  uint64_t total_bytes;     /* sum of all moves */
  uint64_t held_bytes;      /* already in place, not moved, summed over
                               destinations (ALL_GATHER: over gatherers) */
  uint64_t max_intra_bytes; /* largest traffic in or out of one GPU, within its
                               node */
  uint64_t max_inter_bytes; /* largest traffic in or out of one GPU's share of
                               the NICs, across nodes */
  uint32_t n_steps;         /* largest number of moves in or out of one GPU */
  uint64_t cast_elements;   /* weights that the GPU with most of them casts to
                               8 bits */
} RaReallocLoad;

typedef struct {
  RaMove *moves; /* (n_moves), merged by (from, to), sorted; owned */
  gsize n_moves;
  RaReallocLoad load;
} RaRealloc;

/**
 * ra_realloc_new:
 * @model: borrowed
 * @element_bytes: bytes of one parameter in transit, >= 1
 * @from: layout that holds the parameters
 * @to: layout that needs them; its mesh may overlap @from's
 * @cluster: borrowed
 * @scheme: choice of senders
 *
 * The result is deterministic: greedy over pieces in the order of layers and
 * tensor-parallel ranks, sources with least sent bytes first, ties to the
 * lowest GPU.  Layers travel whole, in enough runs to use all sources and, with
 * relays, all NICs of a destination node.
 *
 * ALL_GATHER enters a node once for each of its groups, as the rings of NCCL
 * do.  Every GPU of a group receives (t p - 1) / (t p) of the parameters that
 * divide evenly over its t x p ranks.  With expert parallelism a group is
 * t x p x ep GPUs, which together hold the model once.
 *
 * Cost: O(stage pairs x tp x GPUs); 16,384 GPUs under 1 s.   Thread: any.
 *
 * Returns: (transfer full): ra_realloc_free() it
 */
RaRealloc *ra_realloc_new(const RaModel *model, guint element_bytes,
                          const RaCallPlan *from, const RaCallPlan *to,
                          const RaCluster *cluster, RaReallocScheme scheme);
void ra_realloc_free(RaRealloc *realloc);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRealloc, ra_realloc_free)

/* Rectangle of one tensor that moves. */
typedef struct {
  uint32_t from;   /* GPU of the cluster */
  uint32_t to;     /* GPU of the cluster */
  uint32_t tensor; /* index for ra_model_tensor() */
  uint64_t row;    /* first row, in the orientation of RaTensor */
  uint64_t n_rows; /* >= 1 */
  uint64_t col;    /* first column */
  uint64_t n_cols; /* >= 1 */
} RaSlice;

typedef void (*RaSliceFunc)(const RaSlice *slice, gpointer data);

/**
 * ra_realloc_slices:
 * @func: called for every slice, in an order in which the sender has the slice
 *   in its own layout or has received it before
 *
 * Enumerates the slices of the moves of ra_realloc_new() with the same
 * arguments.  For each move, the slices' elements times the bytes of one are
 * its bytes.
 *
 * Cost: ra_realloc_new()'s plus O(slices).
 */
void ra_realloc_slices(const RaModel *model, const RaCallPlan *from,
                       const RaCallPlan *to, const RaCluster *cluster,
                       RaReallocScheme scheme, RaSliceFunc func, gpointer data);

#endif
