/* Lanes, groups of lanes, and the geometry of collectives. */
#include "config.h"

#include <string.h>

#include "base/hash.h"
#include "base/partition.h"
#include "graph/expand/lane.h"

struct _RaLaneMap {
  RaArena *arena;
  const RaPlan *plan;
  uint32_t n_gpus;       /* of the cluster */
  uint32_t *lane_of_gpu; /* (n_gpus), arena; RA_NONE: unused */
  RaLane *lanes;         /* (n_lanes), arena */
  uint32_t n_lanes;
  GArray *begin;                  /* (n_groups + 1) uint32_t */
  GArray *lane;                   /* uint32_t */
  GArray *group_n_gpus;           /* (n_groups) uint32_t */
  GHashTable *by_key;             /* RaGroupKey -> group + 1 */
  GArray *group_weight;           /* (n_groups) uint32_t */
  uint8_t *seen;                  /* (n_lanes) scratch, zero between calls */
  const uint32_t *const *weights; /* of ra_lane_map_fold(); NULL: not folded */
};

/* Which GPUs of a call: each bound RA_NONE for "all". */
typedef struct {
  uint32_t call;
  uint32_t dp;
  uint32_t pp, other_pp; /* the second end of a pair; RA_NONE: none */
  uint32_t n_dp;         /* replicas from dp on; 0: one */
} RaSelection;

enum { KIND_UNIT, KIND_PAIR, KIND_STAGE, KIND_REPLICA, KIND_MESH, KIND_SHARDS };

/* Record of what a group was made from. */
typedef struct {
  uint32_t kind;
  RaSelection a, b; /* b: zero unless two meshes */
} RaGroupKey;

static guint
key_hash(gconstpointer key)
{
  return (guint)ra_hash_bytes(RA_HASH_INIT, key, sizeof(RaGroupKey));
}

static gboolean
key_equal(gconstpointer a, gconstpointer b)
{
  return memcmp(a, b, sizeof(RaGroupKey)) == 0;
}

/* The unit (replica and stage) of each GPU in @call; RA_NONE: not in it.  No
 * task tells the cp ranks of a unit apart. */
static void
mark_units(const RaPlan *plan, const RaCallPlan *call, uint32_t *out_unit)
{
  uint32_t n = ra_mesh_n_gpus(&call->mesh);

  for (uint32_t rank = 0; rank < n; rank++) {
    RaCoord c = ra_call_plan_coord(call, rank);
    uint32_t unit = c.at[RA_AXIS_DP] * call->pp + c.at[RA_AXIS_PP];
    out_unit[ra_mesh_gpu(&call->mesh, plan->cluster, rank)] = unit;
  }
}

/* Numbers the lanes in use by their first GPU; GPUs that no call uses get none.
 */
static void
number_lanes(RaLaneMap *map, const uint8_t *used, uint32_t n_classes)
{
  g_autofree uint32_t *number = g_new(uint32_t, n_classes);

  memset(number, 0xff, n_classes * sizeof *number);
  for (uint32_t g = 0; g < map->n_gpus; g++) {
    uint32_t class = map->lane_of_gpu[g];
    if (!used[g]) {
      map->lane_of_gpu[g] = RA_NONE;
      continue;
    }
    if (number[class] == RA_NONE) {
      number[class] = map->n_lanes;
      map->lanes[map->n_lanes++] = (RaLane){.first_gpu = g};
    }
    map->lane_of_gpu[g] = number[class];
    map->lanes[number[class]].n_gpus++;
  }
}

RaLaneMap *
ra_lane_map_new(RaArena *arena, const RaPlan *plan)
{
  RaLaneMap *map = g_new0(RaLaneMap, 1);
  uint32_t n = ra_cluster_n_gpus(plan->cluster), n_classes = 1;
  uint32_t zero = 0, one = 1;
  g_autofree uint32_t *unit = g_new(uint32_t, n);
  g_autofree uint8_t *used = g_new0(uint8_t, n);

  map->arena = arena;
  map->plan = plan;
  map->n_gpus = n;
  map->lane_of_gpu = ra_arena_alloc(arena, n, sizeof *map->lane_of_gpu);
  for (guint i = 0; i < plan->workload->n_calls; i++) {
    if (!plan->calls[i].set)
      continue;
    memset(unit, 0xff, n * sizeof *unit);
    mark_units(plan, &plan->calls[i], unit);
    n_classes = ra_partition_refine(map->lane_of_gpu, unit, n);
    for (uint32_t g = 0; g < n; g++)
      used[g] |= unit[g] != RA_NONE;
  }
  map->lanes = ra_arena_alloc(arena, n_classes, sizeof *map->lanes);
  number_lanes(map, used, n_classes);
  map->seen = g_new0(uint8_t, MAX(map->n_lanes, 1u));
  map->begin = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  /* Sized, so that group 0, which has no lane, points somewhere. */
  map->lane = g_array_sized_new(FALSE, FALSE, sizeof(uint32_t), 64);
  map->group_n_gpus = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  map->group_weight = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  map->by_key = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
  g_array_append_val(map->begin, zero);
  g_array_append_val(map->begin, zero); /* group 0: no lane */
  g_array_append_val(map->group_n_gpus, zero);
  g_array_append_val(map->group_weight, one);
  return map;
}

void
ra_lane_map_free(RaLaneMap *map)
{
  if (!map)
    return;
  g_array_unref(map->begin);
  g_array_unref(map->lane);
  g_array_unref(map->group_n_gpus);
  g_array_unref(map->group_weight);
  g_hash_table_unref(map->by_key);
  g_free(map->seen);
  g_free(map);
}

void
ra_lane_map_units(const RaLaneMap *map, uint32_t call, uint32_t *out_unit)
{
  const RaCallPlan *plan = &map->plan->calls[call];
  /* As mark_selected(): of the mesh of a host call its first GPU's lane. */
  uint32_t n = plan->set ? plan->dp * plan->tp * plan->pp * plan->cp : 0;

  memset(out_unit, 0xff, map->n_lanes * sizeof *out_unit);
  for (uint32_t rank = 0; rank < n; rank++) {
    RaCoord c = ra_call_plan_coord(plan, rank);
    uint32_t gpu = ra_mesh_gpu(&plan->mesh, map->plan->cluster, rank);
    out_unit[map->lane_of_gpu[gpu]] =
        c.at[RA_AXIS_DP] * plan->pp + c.at[RA_AXIS_PP];
  }
}

void
ra_lane_map_fold(RaLaneMap *map, const uint32_t *class_of, uint32_t n_classes,
                 const uint32_t *const *weights)
{
  RaLane *lanes = ra_arena_alloc(map->arena, n_classes, sizeof *lanes);
  uint32_t n_seen = 0;

  g_return_if_fail(map->group_n_gpus->len == 1);
  for (uint32_t l = 0; l < map->n_lanes; l++) {
    uint32_t class = class_of[l];
    if (class == n_seen)
      lanes[n_seen++].first_gpu = map->lanes[l].first_gpu;
    lanes[class].n_gpus += map->lanes[l].n_gpus;
  }
  g_assert(n_seen == n_classes);
  for (uint32_t g = 0; g < map->n_gpus; g++)
    if (map->lane_of_gpu[g] != RA_NONE)
      map->lane_of_gpu[g] = class_of[map->lane_of_gpu[g]];
  map->lanes = lanes;
  map->n_lanes = n_classes;
  map->weights = weights;
}

uint32_t
ra_lane_map_weight(const RaLaneMap *map, uint32_t call, uint32_t dp)
{
  return map->weights && map->weights[call] ? map->weights[call][dp] : 1;
}

/* Twins run on the same classes of lanes, so those that stand for others are
 * enough. */
static void
mark_selected(RaLaneMap *map, const RaSelection *s)
{
  const RaCallPlan *call = &map->plan->calls[s->call];
  uint32_t dp0 = s->dp == RA_NONE ? 0 : s->dp;
  uint32_t dp1 = s->dp == RA_NONE ? call->dp : s->dp + MAX(s->n_dp, 1u);

  for (uint32_t d = dp0; d < dp1; d++)
    for (uint32_t p = 0; p < call->pp; p++) {
      if (ra_lane_map_weight(map, s->call, d) == 0)
        break;
      if (s->pp != RA_NONE && p != s->pp && p != s->other_pp)
        continue;
      for (uint32_t c = 0; c < call->cp; c++)
        for (uint32_t t = 0; t < call->tp; t++) {
          RaCoord coord = {.at = {[RA_AXIS_TP] = t,
                                  [RA_AXIS_CP] = c,
                                  [RA_AXIS_DP] = d,
                                  [RA_AXIS_PP] = p}};
          uint32_t gpu = ra_mesh_gpu(&call->mesh, map->plan->cluster,
                                     ra_call_plan_rank(call, &coord));
          map->seen[map->lane_of_gpu[gpu]] = 1;
        }
    }
}

/* The group of all marked lanes, appended; clears the marks. */
static uint32_t
add_marked(RaLaneMap *map, uint32_t weight)
{
  uint32_t n_gpus = 0;

  for (uint32_t l = 0; l < map->n_lanes; l++) {
    if (!map->seen[l])
      continue;
    g_array_append_val(map->lane, l);
    n_gpus += map->lanes[l].n_gpus;
    map->seen[l] = 0;
  }
  g_array_append_val(map->begin, map->lane->len);
  g_array_append_val(map->group_n_gpus, n_gpus);
  g_array_append_val(map->group_weight, weight);
  return map->group_n_gpus->len - 1;
}

/* Twins of a selection.  A set of n replicas has as many as its replicas have
 * of theirs, on average: twin sets have as many of each class. */
static uint32_t
selection_weight(const RaLaneMap *map, const RaSelection *s)
{
  uint32_t n = MAX(s->n_dp, 1u), sum = 0;

  if (s->dp == RA_NONE)
    return 1;
  for (uint32_t d = s->dp; d < s->dp + n; d++)
    sum += ra_lane_map_weight(map, s->call, d);
  g_assert(sum % n == 0);
  return sum / n;
}

static uint32_t
select_group(RaLaneMap *map, uint32_t kind, const RaSelection *a,
             const RaSelection *b)
{
  RaGroupKey key = {.kind = kind, .a = *a};
  gpointer known;
  uint32_t group;

  if (b)
    key.b = *b;
  known = g_hash_table_lookup(map->by_key, &key);
  if (known)
    return GPOINTER_TO_UINT(known) - 1;
  mark_selected(map, a);
  if (b)
    mark_selected(map, b);
  group = add_marked(map, selection_weight(map, a));
  g_hash_table_insert(map->by_key, g_memdup2(&key, sizeof key),
                      GUINT_TO_POINTER(group + 1));
  return group;
}

uint32_t
ra_lane_map_unit(RaLaneMap *map, uint32_t call, uint32_t dp, uint32_t pp)
{
  RaSelection s = {call, dp, pp, RA_NONE, 0};
  return select_group(map, KIND_UNIT, &s, NULL);
}

uint32_t
ra_lane_map_pair(RaLaneMap *map, uint32_t call, uint32_t dp, uint32_t from_pp,
                 uint32_t to_pp)
{
  RaSelection s = {call, dp, MIN(from_pp, to_pp), MAX(from_pp, to_pp), 0};
  return select_group(map, KIND_PAIR, &s, NULL);
}

uint32_t
ra_lane_map_stage(RaLaneMap *map, uint32_t call, uint32_t pp)
{
  RaSelection s = {call, RA_NONE, pp, RA_NONE, 0};
  return select_group(map, KIND_STAGE, &s, NULL);
}

uint32_t
ra_lane_map_shards(RaLaneMap *map, uint32_t call, uint32_t dp, uint32_t n,
                   uint32_t pp)
{
  RaSelection s = {call, dp, pp, RA_NONE, n};
  return select_group(map, KIND_SHARDS, &s, NULL);
}

uint32_t
ra_lane_map_replica(RaLaneMap *map, uint32_t call, uint32_t dp)
{
  RaSelection s = {call, dp, RA_NONE, RA_NONE, 0};
  return select_group(map, KIND_REPLICA, &s, NULL);
}

uint32_t
ra_lane_map_mesh(RaLaneMap *map, uint32_t call, uint32_t other)
{
  RaSelection a = {call, RA_NONE, RA_NONE, RA_NONE, 0};
  RaSelection b = {other, RA_NONE, RA_NONE, RA_NONE, 0};
  return select_group(map, KIND_MESH, &a, other == RA_NONE ? NULL : &b);
}

const uint32_t *
ra_lane_map_lanes(const RaLaneMap *map, uint32_t group, uint32_t *out_n)
{
  uint32_t begin = g_array_index(map->begin, uint32_t, group);
  *out_n = g_array_index(map->begin, uint32_t, group + 1) - begin;
  /* no lane yet: nothing to point into */
  return *out_n ? (const uint32_t *)(gpointer)map->lane->data + begin : NULL;
}

uint32_t
ra_lane_map_group_weight(const RaLaneMap *map, uint32_t group)
{
  return g_array_index(map->group_weight, uint32_t, group);
}

uint32_t
ra_lane_map_n_lanes(const RaLaneMap *map)
{
  return map->n_lanes;
}

static void *
copy_array(RaArena *arena, const GArray *array)
{
  uint32_t *copy = ra_arena_alloc(arena, array->len, sizeof *copy);
  if (array->len)
    memcpy(copy, array->data, array->len * sizeof *copy);
  return copy;
}

void
ra_lane_map_finish(RaLaneMap *map, RaTaskGraph *graph)
{
  graph->n_lanes = map->n_lanes;
  graph->lanes = map->lanes;
  graph->lane_of_gpu = map->lane_of_gpu;
  graph->n_groups = map->group_n_gpus->len;
  graph->group_begin = copy_array(graph->arena, map->begin);
  graph->group_lane = copy_array(graph->arena, map->lane);
  graph->group_n_gpus = copy_array(graph->arena, map->group_n_gpus);
  graph->group_weight = copy_array(graph->arena, map->group_weight);
}

static uint32_t
node_of(const RaCallPlan *plan, const RaCluster *cluster, const RaCoord *coord)
{
  return ra_mesh_gpu(&plan->mesh, cluster, ra_call_plan_rank(plan, coord)) /
         cluster->gpus_per_node;
}

RaAxisGeometry
ra_axis_geometry(const RaCallPlan *plan, const RaCluster *cluster, RaAxis axis)
{
  RaAxisGeometry g = {.ranks = ra_call_plan_degree(plan, axis)};
  RaCoord coord = {.at = {0}};
  uint32_t first = node_of(plan, cluster, &coord);

  for (uint32_t i = 0; i < g.ranks; i++) {
    coord.at[axis] = i;
    g.ranks_per_node += node_of(plan, cluster, &coord) == first;
  }
  g.groups_per_node = MAX(1u, plan->mesh.gpus_per_node / g.ranks_per_node);
  return g;
}

RaAxisGeometry
ra_data_geometry(const RaCallPlan *plan, const RaCluster *cluster,
                 RaDataGroup group)
{
  const RaCoord zero = {.at = {0}};
  uint32_t cut = ra_call_plan_expert_tp(plan), ep = ra_call_plan_ep(plan);
  /* expert ranks of the group of rank 0: 0, stride, 2 stride ... */
  const struct {
    uint32_t ranks, stride;
  } groups[] = {
      [RA_DATA_ALL] = {plan->dp * plan->cp, plan->tp},
      [RA_DATA_EP] = {ep, cut},
      [RA_DATA_EXPERTS] = {ra_call_plan_expert_dp(plan), ep * cut},
      [RA_DATA_EXPERT_TP] = {cut, 1},
  };
  uint32_t first = node_of(plan, cluster, &zero);
  RaAxisGeometry g = {.ranks = groups[group].ranks};

  for (uint32_t i = 0; i < g.ranks; i++) {
    RaCoord coord =
        ra_call_plan_expert_coord(plan, zero, i * groups[group].stride);
    g.ranks_per_node += node_of(plan, cluster, &coord) == first;
  }
  g.groups_per_node = MAX(1u, plan->mesh.gpus_per_node / g.ranks_per_node);
  return g;
}

RaAxisGeometry
ra_replica_geometry(const RaCallPlan *plan, const RaCluster *cluster,
                    uint32_t n, uint32_t stride, uint32_t n_cp)
{
  RaCoord coord = {.at = {0}};
  uint32_t first = node_of(plan, cluster, &coord);
  RaAxisGeometry g = {.ranks = n * n_cp};

  for (uint32_t i = 0; i < g.ranks; i++) {
    coord.at[RA_AXIS_DP] = i / n_cp * stride;
    coord.at[RA_AXIS_CP] = i % n_cp;
    g.ranks_per_node += node_of(plan, cluster, &coord) == first;
  }
  g.groups_per_node = MAX(1u, plan->mesh.gpus_per_node / g.ranks_per_node);
  return g;
}

RaAxisGeometry
ra_ends_geometry(const RaCallPlan *plan, const RaCluster *cluster)
{
  uint32_t n = ra_mesh_n_gpus(&plan->mesh), n_on_node = 0;
  RaCoord first = {.at = {0}}, last = {.at = {[RA_AXIS_PP] = plan->pp - 1}};
  uint32_t node = node_of(plan, cluster, &first);
  RaAxisGeometry g = {2, 1 + (node_of(plan, cluster, &last) == node), 1};

  /* Ranks ascend with GPUs. */
  for (uint32_t rank = 0; rank < n; rank++) {
    RaCoord coord = ra_call_plan_coord(plan, rank);
    uint32_t at = coord.at[RA_AXIS_PP];
    if (node_of(plan, cluster, &coord) != node)
      break;
    n_on_node += at == 0 || at == plan->pp - 1;
  }
  g.groups_per_node = MAX(1u, n_on_node / g.ranks_per_node);
  return g;
}
