/* Shapes of a call on a mesh: dp, tp, pp and numbers of micro-batches that
 * satisfy all divisibility rules.
 *
 *     RaShapeAsk ask = {.call = c, .mesh = mesh, .zero = 1};
 *     g_autoptr(GArray) shapes = ra_shapes_new(workload, cluster, &ask);
 *     const RaShape *first = &g_array_index(shapes, RaShape, 0);
 *
 * tp stays within a node; pp is at most the number of layers; dp is the rest.
 * Micro-batches are the fewest that fill the pipeline (2 pp to train, pp
 * otherwise) and keep the call's working memory below RA_SHAPE_WORK_FRAC of the
 * GPU's.  Experts are on every rank, or whole over the tp and dp ranks of a
 * stage: over those of a node, and of several where a node is too small.  Only
 * ZeRO up to 1 shares experts.
 *
 * Typical sizes: 1 to 30 shapes per call and mesh.
 */
#ifndef RA_SEARCH_FAMILY_SHAPE_H
#define RA_SEARCH_FAMILY_SHAPE_H

#include "search/family/need.h"

/* Share of the memory that one micro-batch may fill if more micro-batches help.
 * MEASURED: bench/fractions, best plans of four cases: 1.3 % above the best
 * fraction of each at 0.15 and at 0.2, 5 % at 0.1 and at 0.3, 10 % at 0.05. */
#define RA_SHAPE_WORK_FRAC 0.15

typedef struct {
  RaCallPlan plan; /* complete; its stage_layers are owned */
  RaNeed need;     /* its memory need */
  double time_s;   /* time of the isolated call, by the estimator; NAN: not
                      computed; infinite: not worth computing */
} RaShape;

/* Batching of generation. */
typedef enum {
  RA_SHAPE_STATIC,
  RA_SHAPE_EITHER,    /* static shapes first, then continuous ones */
  RA_SHAPE_CONTINUOUS /* search/family/continuous.h */
} RaShapeBatching;

typedef struct {
  uint32_t call;   /* of the workload; runs on GPUs */
  RaMesh mesh;     /* mesh of the call */
  int zero;        /* ZeRO stage where dp > 1 */
  int recompute;   /* RaRecompute, at least; full where less does not fit */
  uint32_t tp;     /* 0: any power of two within a node */
  uint32_t pp_max; /* 0: any */
  gboolean even;   /* pp a power of two only */
  int batching;    /* RaShapeBatching */
} RaShapeAsk;

/**
 * ra_shapes_new:
 * @workload: borrowed
 * @cluster: borrowed; its device filled
 * @ask: call, mesh and restrictions
 *
 * Order: least tp x pp first; of equal ones the largest tp first, as it divides
 * the weights with the least communication across nodes; of equal tp the least
 * ep first.
 *
 * Returns: (transfer full) (element-type RaShape): perhaps empty; elements are
 * cleared with the array
 */
GArray *ra_shapes_new(const RaWorkload *workload, const RaCluster *cluster,
                      const RaShapeAsk *ask);

/* An empty array that owns its shapes. */
GArray *ra_shapes_empty(void);

/* Appends a copy. */
void ra_shapes_add(GArray *shapes, const RaShape *shape);

/* TRUE if @tp divides the heads and widths of all kinds of layers of @model. */
gboolean ra_shape_tp_divides(const RaModel *model, uint32_t tp);

/* Largest tp for @model on @mesh: the largest power of two that divides a
 * node's share of the mesh and by which heads, key-value heads and MLP width
 * can be cut. */
uint32_t ra_shape_tp_max(const RaModel *model, const RaMesh *mesh);

/* GPUs of a node among which the sequences of every call divide: all of them,
 * or the largest power of two below, which a mesh may have. */
uint32_t ra_shape_node_gpus(const RaWorkload *workload,
                            const RaCluster *cluster);

/* A mesh of the nodes [@first, @first + @n). */
RaMesh ra_shape_mesh_nodes(const RaCluster *cluster, uint32_t first,
                           uint32_t n);

#endif
