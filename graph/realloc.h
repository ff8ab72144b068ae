/* Parameter reallocation: moving a model's parameters between two layouts.
 *
 * A layout says which rectangle of which tensor each GPU of a mesh holds: a call
 * plan (mesh, dp, tp, pp, rank order, stage layers) applied to a model's tensors (RaTensor of
 * graph/model.h).  A reallocation is the set of tensor-slice moves, who sends which
 * bytes to whom, so that each destination GPU ends with what its layout asks; what it already
 * holds does not travel.
 *
 *     RaRealloc *r = ra_realloc_new(model, 2, &train, &generate, cluster, RA_REALLOC_BROADCAST);
 *     ra_realloc_cost_dims(r)->inter_bytes ...
 *
 * Tensor slices are counted, not copied: cost O(GPUs x stages), not O(tensors x GPUs).
 * Typical: 80 layers, 128 GPUs to 128 GPUs, under 1 ms.
 */
#ifndef RA_GRAPH_REALLOC_H
#define RA_GRAPH_REALLOC_H

#include "graph/plan.h"

typedef enum {
  RA_REALLOC_BROADCAST, /* ReaL: each destination node is served by its own source where it
                           has one, else by the least loaded; then the node's links fan out */
  RA_REALLOC_P2P,       /* shard to shard: every destination GPU from one source GPU (Xiao et al.) */
  RA_REALLOC_ALL_GATHER /* HybridFlow: every source gathers the whole group, then slices */
} RaReallocScheme;

/* One flow: bytes from a GPU to a GPU (cluster-wide numbers). */
typedef struct {
  uint32_t from, to;
  uint64_t bytes;
} RaMove;

typedef struct {
  uint64_t total_bytes;       /* all flows */
  uint64_t held_bytes;        /* already in place, not moved, summed over destinations */
  uint64_t max_intra_bytes;   /* largest in or out of one GPU, within its node */
  uint64_t max_inter_bytes;   /* largest in or out of one GPU's share of the NICs, across nodes */
  uint32_t n_steps;           /* largest number of flows in or out of one GPU */
} RaReallocLoad;

typedef struct {
  RaMove *moves;   /* (n_moves), merged by (from, to), sorted; owned */
  gsize n_moves;
  RaReallocLoad load;
} RaRealloc;

RaRealloc *ra_realloc_new(const RaModel *model, guint element_bytes,
                          const RaCallPlan *from, const RaCallPlan *to,
                          const RaCluster *cluster, RaReallocScheme scheme);
void ra_realloc_free(RaRealloc *realloc);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRealloc, ra_realloc_free)

#endif
