/* Plan space: the choices that a search may make for every call.
 *
 *     RaSpaceOptions options = {.kind = RA_SPACE_FULL, .n_iterations = 5};
 *     g_autoptr(RaSpace) space =
 *         ra_space_new(workload, cluster, &options, &error);
 *     for (uint32_t i = 0; i < space->calls[c].n; i++)
 *       use(&space->calls[c].candidates[i]);
 *     RaPlan *plan = ra_space_plan_new(space, &point);
 *
 * A *candidate* of a call is the shape of a mesh with a strategy; with a
 * *position* it is a mesh of the cluster.  Nodes are alike, so costs and
 * footprints depend on the candidate alone.  A position only decides which
 * other calls share the GPUs.  Equivalent meshes are thereby one candidate.  A
 * mesh is an interval of GPUs (an aligned slice of a node, or whole nodes in a
 * row) or (FULL) a set of whole nodes (search/space/node_set.h).
 *
 * A *point* chooses a candidate and a position for every call, and for every
 * model where its parameters are between calls.
 *
 * The number of candidates is never capped.  A shape is left out for one of
 * these reasons (search/space/rejection.h): it does not divide, it does not fit
 * into a GPU by itself, another is never worse, or a limit forbids it.
 *
 * Three sets:
 *   REAL  ReaL's (arXiv 2406.14088): halves of a node and runs of nodes; tp 1,
 *         2, 4, 8 ..., pp a divisor; optimizer state sharded over dp.  A rule
 *         sets micro-batches and recomputation: the fewest micro-batches that
 *         fill the pipeline (2 pp to train, else pp), and the least
 *         recomputation with which the working memory of one fills at most
 *         RA_SHAPE_WORK_FRAC of a GPU.
 *   FULL  Also smaller slices; context parallelism by powers of two, with
 *         chunks no smaller than a tile of attention, one sequence at a time;
 *         expert parallelism by powers of two; zero 1, 2, 3; every
 *         recomputation; 1, 2 or 4 times as many micro-batches; 1f1b,
 *         interleaved by 2 and by 4; sequence-parallel or not.
 *   COMMON What frameworks run: REAL's meshes and rules, and with them full
 *         recomputation; zero 3 without a pipeline (FSDP), also where nothing
 *         trains; cp from 2,048 tokens a rank on; experts over data ranks, or
 *         whole over tp and data ranks (expert-tp 1).
 *
 * COMMON and FULL generate with static and with continuous batches.  Of these
 * there is one with room for the whole KV cache, and one for each tenth of a
 * GPU's memory that holds the longest sequence but not all.  Of a workload with
 * turns there are no others.
 *
 * All have the workload's number of mini-batches, as another number changes
 * the training itself.  Where a limit of RA_LIMIT_MINI_BATCHES allows others,
 * all that divide are candidates.
 *
 * FULL leaves out shapes for which another is as fast and as small whatever the
 * rest of the plan is (RA_REJECT_DOMINATED), unless a limit names them:
 *   zero 0 with dp > 1       zero 1 moves no more and holds less
 *   selective recomputation  flash attention keeps nothing that it would save
 *   small cp chunks          a chunk below a tile of attention takes a tile's
 *                            time
 *   cp on several sequences  its ranks as dp do the same without the ring, so
 *                            cp works on one sequence at a time
 * gpipe is included only if a limit names it: it holds more than 1f1b but is
 * not always slower.
 *
 * Typical sizes: PPO has 10^3 to 10^4 candidates on 64 GPUs, and 10^4 to 10^5
 * on 16,384.
 */
#ifndef RA_SEARCH_SPACE_SPACE_H
#define RA_SEARCH_SPACE_SPACE_H

#include "base/until.h"
#include "search/space/footprint.h"
#include "search/space/node_set.h"
#include "search/space/rejection.h"

/* Calls and models that a point can hold. */
#define RA_POINT_MAX 16

typedef enum { RA_SPACE_REAL, RA_SPACE_FULL, RA_SPACE_COMMON } RaSpaceKind;

/* Property of a call that a limit restricts. */
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
  RA_LIMIT_BATCHING,          /* RaBatchingKind */
  RA_LIMIT_MINI_BATCHES, /* train: the only limit that adds candidates; without
                            it only the workload's number is tried */
  RA_N_LIMITS
} RaLimitKind;

#define RA_LIMIT_VALUES_MAX 32

/* Allowed values of one property of a call.  RA_LIMIT_MESH: values[0] is the
 * first GPU, values[1] the number of GPUs. */
typedef struct {
  uint32_t call;
  int kind;    /* RaLimitKind */
  RaMesh mesh; /* RA_LIMIT_MESH */
  uint32_t values[RA_LIMIT_VALUES_MAX];
  uint32_t n_values;
  gboolean has_range;   /* least and most are used instead of values */
  uint32_t least, most; /* inclusive */
} RaLimit;

/**
 * ra_limits_add:
 * @limits: (element-type RaLimit): appended to, untouched on error
 * @text: `CALL.KEY=VALUE[,VALUE...]`: actor_train.tp=4,8,
 *   ref_inference.mesh=node[0-1], actor_train.recompute=none,
 *   actor_train.schedule=1f1b,interleaved:2; or `CALL.KEY=<=N` or `>=N`; a CALL
 *   of `all` means every call to which the key applies
 * @workload: workload of the calls
 * @cluster: cluster of the meshes
 * @error: %RA_ERROR_INPUT: what is wrong with @text
 *
 * Returns: %TRUE on success
 */
gboolean ra_limits_add(GArray *limits, const char *text,
                       const RaWorkload *workload, const RaCluster *cluster,
                       GError **error);

/**
 * ra_limits_read:
 * @limits: (element-type RaLimit): appended to
 * @file: groups `[call NAME]` or `[call all]`, as in a plan, with the keys of
 *   limits; each value as after ra_limits_add()'s `=`
 * @error: %RA_ERROR_INPUT `file:line: ...`: errors of ra_limits_add(), an
 *   unknown group or call
 */
gboolean ra_limits_read(GArray *limits, const RaKeyFile *file,
                        const RaWorkload *workload, const RaCluster *cluster,
                        GError **error);

typedef struct {
  int kind;              /* RaSpaceKind */
  uint32_t n_iterations; /* iterations that plans are replayed for, >= 1 */
  uint64_t seed;         /* seed of the lengths */
  const RaLimit *limits; /* nullable (n_limits) */
  guint n_limits;
  double work_frac; /* REAL: maximum share of memory, 0: RA_SHAPE_WORK_FRAC */
  guint n_threads;  /* threads that make candidates; 0: as many as processors */
  uint32_t n_gpus;  /* meshes use the first n_gpus only; 0: all */
  const RaUntil *until; /* nullable, outlives the space and tables of it: when
                           over, no more candidates are made, so that a call
                           may have none, nor costs or bounds above 0 before
                           they are asked for */
  const RaUntil *end;   /* nullable, likewise: when over, a cost that is asked
                           for and not known is RA_COST_NO_TIME_S */
} RaSpaceOptions;

typedef struct {
  RaCallPlan plan; /* its mesh is at node 0, or at position 0 where nodes are of
                      several kinds; its stage_layers are owned */
  uint32_t n_gpus; /* GPUs of the mesh; a host call's: 1, the first of its mesh,
                      where its data are gathered; 0: it has no mesh */
  uint32_t first;  /* first GPU of the mesh at position 0 */
  uint32_t step;   /* GPUs from one position to the next */
  uint32_t n_positions; /* >= 1, sets included */
  const RaMesh *sets;   /* (n_sets) borrowed: meshes of the last positions */
  uint32_t n_sets;      /* <= n_positions */
  uint32_t kinds;       /* bits of the node kinds of the mesh, the same at every
                           position */
  uint32_t layout; /* two calls of one model lay out parameters alike iff this
                      is equal and their meshes begin alike; RA_NONE: a host
                      call, whose plan has its whole mesh */
  uint64_t layout_hash; /* of what the layout is, whatever its number here */
  gboolean pins; /* its plan's residency replaces that of the point's model,
                      or its optimizer is in host memory */
  RaFootprint footprint; /* owned; zero for a host call */
} RaCandidate;

typedef struct {
  RaCandidate
      *candidates; /* (n), owned; ordered by GPUs, then tp x pp, then the
                      rest */
  uint32_t n;
  uint32_t n_tried;                  /* shapes that were tried */
  uint32_t n_rejected[RA_N_REJECTS]; /* those rejected; the rest are
                                        candidates */
} RaSpaceCall;

typedef struct {
  const RaWorkload *workload; /* borrowed */
  const RaCluster *cluster;   /* borrowed; its device filled */
  RaSpaceOptions options;     /* a copy; its limits are not kept */
  RaLimit *limits;            /* (options.n_limits), owned */
  RaLoads *loads;             /* owned */
  RaSpaceCall *calls;         /* (n_calls), owned */
  uint32_t n_layouts;         /* number of layouts of the candidates */
  RaNodeSets *sets;           /* owned: sets of nodes that are not in a row */
  GPtrArray *added;           /* owned: RaMesh added by ra_space_add() */
  gboolean pins;              /* some candidate pins its residency */
  gboolean host_meshes;       /* some host call has a mesh */
  gboolean services;          /* some candidate is a rollout service, which
                                 shares no GPU (ra_plan_check_service()) */
  uint32_t most_sync[RA_POINT_MAX]; /* of the candidates of a call that were
                                       added: iterations between versions */
  gboolean carries; /* some candidate carries sequences over, so that
                                 its iterations differ */
} RaSpace;

/* Choice of a point for one call. */
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
 * @error: %RA_ERROR_INPUT: why the workload has no space
 *
 * Checks whether @workload can be searched on any cluster, before anything is
 * costed.  ra_space_new() makes the same checks.
 *
 * Cost: O(calls).
 *
 * Returns: %TRUE if it can be searched
 */
gboolean ra_space_accepts(const RaWorkload *workload, GError **error);

/**
 * ra_space_new:
 * @workload: borrowed; at most RA_POINT_MAX calls and models
 * @cluster: borrowed; its device filled
 * @options: copied
 * @error: %RA_ERROR_NEGATIVE: a call has no candidate, with the reason for the
 *   last rejected shape; %RA_ERROR_INPUT: too many calls
 *
 * Cost: one footprint per candidate, about 0.1 ms.
 *
 * Returns: (transfer full): free with ra_space_free()
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
 * Returns: (transfer full) (element-type RaRejection): the rejected shapes of
 * @call, in the order in which they were tried
 */
GArray *ra_space_rejected(const RaSpace *space, uint32_t call);

/**
 * ra_space_add:
 * @space: no table of its costs exists yet
 * @plan: a plan for the space's workload and cluster
 * @out_point: (out): the point that equals @plan
 *
 * Makes @plan a point of the space, adding candidates where none equals its
 * calls.  Plans of families and frameworks become starting points this way.
 * ra_space_plan_new() gives back an equal plan, but that calls which read the
 * copy that training writes, or a frozen one, say `release` for `keep`, as
 * nothing could restore them.
 *
 * Returns: %FALSE where @plan cannot be a point: GPUs that meshes may not have,
 * slices of several nodes, more than RA_NODE_SET_RUNS runs of them (one, for a
 * host call), a rank order other than tp-cp-dp-pp, adapters whose calls differ
 * in residency, and, where lengths are sampled, a tail that over-samples or
 * whose sequences are streamed (other calls have those that are complete first)
 */
gboolean ra_space_add(RaSpace *space, const RaPlan *plan, RaPoint *out_point);

/**
 * ra_space_add_beside:
 * @space: no table of its costs exists yet, or it was called for @point before
 * @point: of the space
 *
 * Plans that differ from @point in the recomputation of one call that is no
 * generation, or have twice or half as many micro-batches there, become points
 * of the space.  Rules of candidates choose one of these by memory alone.
 *
 * Returns: (transfer full) (element-type RaPoint): these plans
 */
GArray *ra_space_add_beside(RaSpace *space, const RaPoint *point);

/* The same, and with micro-batches of as many sequences or tokens, and with
 * gradients and optimizer or parameters too (zero 1 or 3) sharded. */
GArray *ra_space_add_details(RaSpace *space, const RaPoint *point);

/**
 * ra_space_residency:
 * @call: a call with a model, all of whose calls are placed
 *
 * Location of the parameters of @call between calls: its candidate's, if that
 * pins it, or of the first call that shares the layout and pins it; else the
 * point's for the model, but not `keep` where the call lags and training's
 * parameters leave the GPUs.
 *
 * Returns: RaResidency
 */
int ra_space_residency(const RaSpace *space, const RaPoint *point,
                       uint32_t call);

/* Iterations by which @call waits for training at the earliest: no candidate
 * needs a version that a later one wrote (ra_plan_version()). */
static inline uint32_t
ra_space_lag(const RaSpace *space, uint32_t call)
{
  return MAX(space->most_sync[call], 1u) *
         (1 + space->workload->calls[call].staleness);
}

/* Candidate of a call that is not placed yet: it is on no GPU.  The choice's
 * candidate is then RA_NONE. */
extern const RaCandidate ra_candidate_nowhere;

/* The candidate of @call that @choice names. */
static inline const RaCandidate *
ra_space_candidate(const RaSpace *space, uint32_t call, RaChoice choice)
{
  return choice.candidate == RA_NONE
             ? &ra_candidate_nowhere
             : &space->calls[call].candidates[choice.candidate];
}

/* The set of nodes at @position; %NULL: an interval. */
static inline const RaMesh *
ra_candidate_set(const RaCandidate *candidate, uint32_t position)
{
  uint32_t n_runs = candidate->n_positions - candidate->n_sets;

  return position < n_runs ? NULL : &candidate->sets[position - n_runs];
}

/* First GPU of the mesh of @candidate at @position. */
static inline uint32_t
ra_candidate_begin(const RaCandidate *candidate, uint32_t position)
{
  const RaMesh *set = ra_candidate_set(candidate, position);

  return set ? set->runs[0].first * set->gpus_per_node
             : candidate->first + position * candidate->step;
}

/* Position of the mesh that begins at GPU @begin, or is @set (nullable).
 * RA_NONE:
 * @candidate has none. */
uint32_t ra_candidate_position(const RaCandidate *candidate, uint32_t begin,
                               const RaMesh *set);

/* The mesh of @candidate at @position. */
RaMesh ra_space_mesh_at(const RaSpace *space, const RaCandidate *candidate,
                        uint32_t position);

/**
 * ra_space_plan_new:
 * @point: of @space
 *
 * Builds the plan of @point, without a file, for ra_augment() and
 * ra_plan_write().
 *
 * Returns: (transfer full): free with ra_space_plan_free()
 */
RaPlan *ra_space_plan_new(const RaSpace *space, const RaPoint *point);
void ra_space_plan_free(RaPlan *plan);

/**
 * ra_space_check:
 * @point: may come from another space of the same workload
 *
 * Returns: %TRUE if every choice exists and the residencies are compatible
 */
gboolean ra_space_check(const RaSpace *space, const RaPoint *point);

/* TRUE if the limits allow @residency (RaResidency) for the parameters of
 * @model, and plans do: what runs in each trip is not in host memory. */
gboolean ra_space_allows_residency(const RaSpace *space, uint32_t model,
                                   int residency);

/* log10 of the number of points, without residencies. */
double ra_space_log10_points(const RaSpace *space);

/* TRUE if @call reads weights that another model's adapters share, as
 * ra_residency_is_shared(). O(calls). */
gboolean ra_space_is_shared(const RaSpace *space, const RaPoint *point,
                            uint32_t call);

#endif
