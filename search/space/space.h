/* The space of plans: what a search may choose for every call.
 *
 *     RaSpaceOptions options = {.kind = RA_SPACE_FULL, .n_iterations = 5};
 *     g_autoptr(RaSpace) space =
 *         ra_space_new(workload, cluster, &options, &error);
 *     for (uint32_t i = 0; i < space->calls[c].n; i++)
 *       use(&space->calls[c].candidates[i]);
 *     g_autoptr(RaDraft) ... RaPlan *plan = ra_space_plan_new(space, &point);
 *
 * A *candidate* of a call is the shape of a mesh and a strategy on it; with a
 * *position* it is a mesh of the cluster.  Nodes are alike, so costs and
 * footprints are the candidate's, and what positions add is only whom a call
 * meets on its GPUs: that is how equivalent meshes are one.  A mesh is an
 * interval of GPUs, an aligned slice of a node or whole nodes in a row, or
 * (FULL) a set of whole nodes (search/space/node_set.h).
 *
 * A *point* chooses a candidate and a position for every call, and for every
 * model where its parameters are between calls.
 *
 * Candidates are never cut by number.  What is left out is left out for a
 * reason (search/space/rejection.h): it does not divide, it does not fit into a
 * GPU by itself, another is never worse, or a limit forbids it.
 *
 * Two sets:
 *   REAL   ReaL's (arXiv 2406.14088): halves of a node and runs of nodes, tp
 *          1, 2, 4, 8 ..., pp a divisor; optimizer state sharded over dp;
 *          micro-batches and recomputation by rule: the fewest micro-batches
 *          that fill the pipeline (2 pp to train, else pp) and the least
 *          recomputation with which the work of one fills no more than
 *          RA_SHAPE_WORK_FRAC of a GPU
 *   FULL   also smaller slices; context parallelism by powers of two, a chunk
 *          no smaller than a tile of attention, one sequence at a time; expert
 *          parallelism by powers of two; zero 1, 2, 3; every recomputation; 1,
 *          2 or 4 times as many micro-batches; 1f1b, interleaved by 2 and by 4;
 *          sequence-parallel or not
 *
 * Both have the workload's number of mini-batches: another trains otherwise.
 * Where a limit of RA_LIMIT_MINI_BATCHES allows others, all that divide are
 * candidates.
 *
 * Of FULL some are left out because another is as quick and as small whatever
 * the rest of the plan is (RA_REJECT_DOMINATED), unless a limit names them:
 *   zero 0 with dp > 1       zero 1 moves no more and holds less
 *   selective recomputation  flash attention keeps nothing that it would save
 *   cp with chunks below a tile of attention, which take a tile's time
 * cp works on one sequence at a time: of more, its ranks as dp do the same
 * without the ring.  gpipe, which holds more than 1f1b but is not always
 * slower, is there only if a limit names it.
 *
 * Typical sizes: PPO on 64 GPUs 10^3 to 10^4 candidates, on 16,384
 * 10^4 to 10^5.
 */
#ifndef RA_SEARCH_SPACE_SPACE_H
#define RA_SEARCH_SPACE_SPACE_H

#include "search/space/footprint.h"
#include "search/space/node_set.h"
#include "search/space/rejection.h"

/* Calls and models that a point can hold. */
#define RA_POINT_MAX 16

typedef enum { RA_SPACE_REAL, RA_SPACE_FULL } RaSpaceKind;

/* What of a call a limit is about. */
typedef enum {
  RA_LIMIT_MESH, /* one mesh: begin and number of GPUs */
  RA_LIMIT_GPUS, /* number of GPUs */
  RA_LIMIT_TP,
  RA_LIMIT_DP,
  RA_LIMIT_PP,
  RA_LIMIT_MICRO_BATCHES,
  RA_LIMIT_ZERO,
  RA_LIMIT_RECOMPUTE, /* RaRecompute */
  RA_LIMIT_CP,
  RA_LIMIT_EP,
  RA_LIMIT_SCHEDULE,          /* 0: gpipe, 1: 1f1b, n: interleaved by n */
  RA_LIMIT_SEQUENCE_PARALLEL, /* 0, 1 */
  RA_LIMIT_RESIDENCY,         /* RaResidency of the call's model */
  RA_LIMIT_MINI_BATCHES, /* train: the only limit that makes candidates: without
                            it there is the workload's number alone */
  RA_N_LIMITS
} RaLimitKind;

#define RA_LIMIT_VALUES_MAX 32

/* A call may only have these values; RA_LIMIT_MESH: values[0] is the first GPU,
 * values[1] their number. */
typedef struct {
  uint32_t call;
  int kind;    /* RaLimitKind */
  RaMesh mesh; /* RA_LIMIT_MESH */
  uint32_t values[RA_LIMIT_VALUES_MAX];
  uint32_t n_values;
  gboolean has_range;   /* instead of values: */
  uint32_t least, most; /* both allowed */
} RaLimit;

/**
 * ra_limit_parse:
 * @text: `CALL.KEY=VALUE[,VALUE...]`: actor_train.tp=4,8,
 *   ref_inference.mesh=node[0-1], actor_train.recompute=none,
 *   actor_train.schedule=1f1b,interleaved:2; or `CALL.KEY=<=N` or `>=N`
 * @workload: whose calls
 * @cluster: in which a mesh lies
 * @out_limit: (out): untouched on error
 * @error: %RA_ERROR_INPUT: what is wrong with @text
 *
 * Returns: %TRUE on success
 */
gboolean ra_limit_parse(const char *text, const RaWorkload *workload,
                        const RaCluster *cluster, RaLimit *out_limit,
                        GError **error);

/**
 * ra_limits_add:
 * @limits: (element-type RaLimit): appended to
 * @text: as of ra_limit_parse(); a CALL of `all` is every call that the key
 *   says something about
 */
gboolean ra_limits_add(GArray *limits, const char *text,
                       const RaWorkload *workload, const RaCluster *cluster,
                       GError **error);

/**
 * ra_limits_read:
 * @limits: (element-type RaLimit): appended to
 * @file: groups `[call NAME]`, or `[call all]`, as a plan has them, with the
 *   keys that limits have; each value as after ra_limit_parse()'s `=`
 * @error: %RA_ERROR_INPUT `file:line: ...`: what ra_limit_parse() refuses, an
 *   unknown group or call
 */
gboolean ra_limits_read(GArray *limits, const RaKeyFile *file,
                        const RaWorkload *workload, const RaCluster *cluster,
                        GError **error);

typedef struct {
  int kind;              /* RaSpaceKind */
  uint32_t n_iterations; /* that plans are replayed for, >= 1 */
  uint64_t seed;         /* of the lengths */
  const RaLimit *limits; /* nullable (n_limits) */
  guint n_limits;
  double work_frac; /* REAL: 0: RA_SHAPE_WORK_FRAC */
  guint n_threads;  /* that make candidates; 0: as many as processors */
  uint32_t n_gpus;  /* meshes lie on so many from the first; 0: on all */
} RaSpaceOptions;

typedef struct {
  RaCallPlan plan;       /* its mesh at node 0, where nodes are of several
                            kinds at position 0; its stage_layers are owned */
  uint32_t n_gpus;       /* of the mesh; 0: a host call without a mesh */
  uint32_t first;        /* GPU at which the mesh of position 0 begins */
  uint32_t step;         /* GPUs from a position to the next */
  uint32_t n_positions;  /* >= 1, sets included */
  const RaMesh *sets;    /* (n_sets) borrowed: of the last positions */
  uint32_t n_sets;       /* <= n_positions */
  uint32_t kinds;        /* of nodes, bits: of the mesh at every position */
  uint32_t layout;       /* calls of one model lay their parameters out alike
                            iff this is equal and their meshes begin alike */
  RaFootprint footprint; /* owned; zero of a host call */
} RaCandidate;

typedef struct {
  RaCandidate
      *candidates; /* (n), owned; by GPUs, then tp x pp, then the rest */
  uint32_t n;
  uint32_t n_tried;                  /* shapes looked at */
  uint32_t n_rejected[RA_N_REJECTS]; /* of these; the rest are candidates */
} RaSpaceCall;

typedef struct {
  const RaWorkload *workload; /* borrowed */
  const RaCluster *cluster;   /* borrowed; its device filled */
  RaSpaceOptions options;     /* limits not kept */
  RaLimit *limits;            /* (options.n_limits), owned */
  RaLoads *loads;             /* owned */
  RaSpaceCall *calls;         /* (n_calls), owned */
  uint32_t n_layouts;         /* layouts that candidates have */
  RaNodeSets *sets;           /* owned: of nodes that are no runs */
  GPtrArray *added;           /* owned: RaMesh of ra_space_add() */
} RaSpace;

/* What a point chooses for one call. */
typedef struct {
  uint32_t candidate;
  uint32_t position;
} RaChoice;

typedef struct {
  RaChoice calls[RA_POINT_MAX];
  uint8_t residency[RA_POINT_MAX]; /* by model: RaResidency */
} RaPoint;

/**
 * ra_space_accepts:
 * @workload: (not nullable): with the lengths that are searched
 * @error: %RA_ERROR_INPUT: why it has no space
 *
 * What ra_space_new() refuses of a workload whatever the cluster, to be known
 * before anything is costed.
 *
 * Cost: O(calls).
 *
 * Returns: whether it can be searched
 */
gboolean ra_space_accepts(const RaWorkload *workload, GError **error);

/**
 * ra_space_new:
 * @workload: borrowed; at most RA_POINT_MAX calls and models
 * @cluster: borrowed; its device filled
 * @options: copied
 * @error: %RA_ERROR_NEGATIVE: a call has no candidate, and why the last shape
 *   was left out; %RA_ERROR_INPUT: too many calls
 *
 * Cost: a footprint each candidate, about 0.1 ms.
 *
 * Returns: (transfer full): ra_space_free() it
 */
RaSpace *ra_space_new(const RaWorkload *workload, const RaCluster *cluster,
                      const RaSpaceOptions *options, GError **error);
void ra_space_free(RaSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSpace, ra_space_free)

/**
 * ra_space_rejected:
 * @call: of the workload
 *
 * Cost: that of making the candidates of @call.
 *
 * Returns: (transfer full) (element-type RaRejection): why shapes of @call are
 *   no candidates, in the order in which they were tried
 */
GArray *ra_space_rejected(const RaSpace *space, uint32_t call);

/**
 * ra_space_add:
 * @space: before any table of its costs
 * @plan: of the space's workload and cluster
 * @out_point: (out): the point that is @plan
 *
 * Makes @plan a point of the space, with new candidates where it has none like
 * it: how plans of the literature become starts.
 *
 * Returns: %FALSE where @plan cannot be a point: GPUs that meshes may not have,
 *   slices of several nodes,
 *   more than RA_NODE_SET_RUNS runs of them, a
 *   rank order other than tp-cp-dp-pp, calls of a model that differ in
 *   residency, an optimizer in host memory, a host call with a mesh,
 *   continuous batching
 */
gboolean ra_space_add(RaSpace *space, const RaPlan *plan, RaPoint *out_point);

/* What a call that is not placed yet has for a candidate: on no GPU.  Its
 * choice's candidate is RA_NONE. */
extern const RaCandidate ra_candidate_nowhere;

/* What @choice is for @call. */
static inline const RaCandidate *
ra_space_candidate(const RaSpace *space, uint32_t call, RaChoice choice)
{
  return choice.candidate == RA_NONE
             ? &ra_candidate_nowhere
             : &space->calls[call].candidates[choice.candidate];
}

/* The set of nodes that @position is; %NULL: it is an interval. */
static inline const RaMesh *
ra_candidate_set(const RaCandidate *candidate, uint32_t position)
{
  uint32_t n_runs = candidate->n_positions - candidate->n_sets;

  return position < n_runs ? NULL : &candidate->sets[position - n_runs];
}

/* First GPU of the mesh of @choice. */
static inline uint32_t
ra_candidate_begin(const RaCandidate *candidate, uint32_t position)
{
  const RaMesh *set = ra_candidate_set(candidate, position);

  return set ? set->runs[0].first * set->gpus_per_node
             : candidate->first + position * candidate->step;
}

/* The position of the mesh that begins at GPU @begin, or is @set (nullable);
 * RA_NONE: @candidate has none. */
uint32_t ra_candidate_position(const RaCandidate *candidate, uint32_t begin,
                               const RaMesh *set);

/* The mesh of @candidate at @position. */
RaMesh ra_space_mesh_at(const RaSpace *space, const RaCandidate *candidate,
                        uint32_t position);

/**
 * ra_space_plan_new:
 * @point: of @space
 *
 * The plan that @point is, without a file: for ra_augment(), ra_plan_write().
 *
 * Returns: (transfer full): ra_space_plan_free() it
 */
RaPlan *ra_space_plan_new(const RaSpace *space, const RaPoint *point);
void ra_space_plan_free(RaPlan *plan);

/**
 * ra_space_check:
 * @point: perhaps of another space of the same workload
 *
 * Returns: %TRUE if every choice exists and residencies go together
 */
gboolean ra_space_check(const RaSpace *space, const RaPoint *point);

/* Whether limits allow the parameters of @model to be so (RaResidency). */
gboolean ra_space_allows_residency(const RaSpace *space, uint32_t model,
                                   int residency);

/* log10 of the number of points, residencies not counted. */
double ra_space_log10_points(const RaSpace *space);

/* As ra_residency_is_shared(): whether @call reads the weights that stand
 * beside another model's adapters.  O(calls). */
gboolean ra_space_is_shared(const RaSpace *space, const RaPoint *point,
                            uint32_t call);

#endif
