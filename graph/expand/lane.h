/* Lanes: sets of GPUs that no call of a plan treats differently.
 *
 * Two GPUs are in one lane if every call has them at the same dp and pp
 * coordinates or uses neither.  Every task then runs on both or on neither, and
 * the graph represents them once.  The tp and cp ranks of a stage are a lane
 * unless another call divides it: rings and expert exchanges are in the op
 * lists of the tasks.  The map also makes the groups of lanes on which tasks
 * run:
 *
 *     RaLaneMap *map = ra_lane_map_new(arena, plan);
 *     uint32_t stage = ra_lane_map_unit(map, call, d, s);   a group
 *
 * Typical sizes: 1,024 GPUs in 128 lanes; 10^3 groups.
 */
#ifndef RA_GRAPH_EXPAND_LANE_H
#define RA_GRAPH_EXPAND_LANE_H

#include "base/arena.h"
#include "graph/expand/task.h"

typedef struct _RaLaneMap RaLaneMap;

/* (transfer full): the lanes, refined by every call of @plan.  @arena owns the
 * arrays that the graph takes over.  O(GPUs x calls). */
RaLaneMap *ra_lane_map_new(RaArena *arena, const RaPlan *plan);
void ra_lane_map_free(RaLaneMap *map);

/* Writes, (n_lanes), the unit dp * pp + stage of @call to which each lane
 * belongs; RA_NONE: @call does not use it.  O(GPUs). */
void ra_lane_map_units(const RaLaneMap *map, uint32_t call, uint32_t *out_unit);

/**
 * ra_lane_map_fold:
 * @class_of: (array length=n_lanes): class of each lane, numbered by first
 *   appearance
 * @n_classes: number of classes of lanes
 * @weights: (array length=n_calls) (transfer none): for each call NULL or (dp)
 *   the number of replicas that each replica represents; 0: another one
 *   represents it
 *
 * Makes each class of lanes one lane (graph/expand/fold.h).  Call it before any
 * group is made; @weights outlive the map.  O(GPUs).
 */
void ra_lane_map_fold(RaLaneMap *map, const uint32_t *class_of,
                      uint32_t n_classes, const uint32_t *const *weights);

/* Replicas that replica @dp of @call represents; 0: another represents it. */
uint32_t ra_lane_map_weight(const RaLaneMap *map, uint32_t call, uint32_t dp);

/* Groups of call @call; each is made once, on demand. */
/* stage @pp of replica @dp */
uint32_t ra_lane_map_unit(RaLaneMap *map, uint32_t call, uint32_t dp,
                          uint32_t pp);
/* two stages of replica @dp, the ends of a send */
uint32_t ra_lane_map_pair(RaLaneMap *map, uint32_t call, uint32_t dp,
                          uint32_t from_pp, uint32_t to_pp);
/* stage @pp of all replicas */
uint32_t ra_lane_map_stage(RaLaneMap *map, uint32_t call, uint32_t pp);
/* stage @pp of replicas @dp to @dp + @n - 1 */
uint32_t ra_lane_map_shards(RaLaneMap *map, uint32_t call, uint32_t dp,
                            uint32_t n, uint32_t pp);
/* all stages of replica @dp */
uint32_t ra_lane_map_replica(RaLaneMap *map, uint32_t call, uint32_t dp);
/* the mesh of @call, or of two calls together (@other RA_NONE: one) */
uint32_t ra_lane_map_mesh(RaLaneMap *map, uint32_t call, uint32_t other);

/* Lanes of @group, ascending; valid until the next group is made. */
const uint32_t *ra_lane_map_lanes(const RaLaneMap *map, uint32_t group,
                                  uint32_t *out_n);
/* Replicas that a task on @group represents. */
uint32_t ra_lane_map_group_weight(const RaLaneMap *map, uint32_t group);
uint32_t ra_lane_map_n_lanes(const RaLaneMap *map);

/* Moves lanes and groups into @graph, copied to its arena. */
void ra_lane_map_finish(RaLaneMap *map, RaTaskGraph *graph);

/* Geometry of a collective along one axis: placement of its ranks on nodes. */
typedef struct {
  uint32_t ranks;           /* degree */
  uint32_t ranks_per_node;  /* of one group, on the node of its first rank */
  uint32_t groups_per_node; /* groups of the axis with a rank on one node */
} RaAxisGeometry;

RaAxisGeometry ra_axis_geometry(const RaCallPlan *plan,
                                const RaCluster *cluster, RaAxis axis);

/* Groups of the ranks of a stage. */
typedef enum {
  RA_DATA_ALL,      /* reduce gradients of dense tensors: dp x cp ranks */
  RA_DATA_EP,       /* exchange tokens: ep ranks, expert-tp apart */
  RA_DATA_EXPERTS,  /* hold the same of the same experts */
  RA_DATA_EXPERT_TP /* cut the same experts: expert-tp neighbours */
} RaDataGroup;

/* Geometry of such a group. */
RaAxisGeometry ra_data_geometry(const RaCallPlan *plan,
                                const RaCluster *cluster, RaDataGroup group);

/* Geometry of the data ranks of @n replicas that are @stride apart along dp;
 * @n_cp of each replica: cp, or 1. */
RaAxisGeometry ra_replica_geometry(const RaCallPlan *plan,
                                   const RaCluster *cluster, uint32_t n,
                                   uint32_t stride, uint32_t n_cp);

/* Geometry of a rank of the first stage and its peer of the last; pp > 1. */
RaAxisGeometry ra_ends_geometry(const RaCallPlan *plan,
                                const RaCluster *cluster);

#endif
