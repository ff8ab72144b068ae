/* Inside the evaluator; only search/evaluate*.c include this. */
#ifndef RA_SEARCH_EVALUATE_IMPL_H
#define RA_SEARCH_EVALUATE_IMPL_H

#include "search/evaluate.h"

#define RA_EACH_LANE(i) for (int i = 0; i < RA_LANES; i++)

/* For every processor that has them its widest vectors, chosen at load. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__)
#define RA_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RA_WIDEST
#endif

/* Into each of the versions of what calls it. */
#if defined(__GNUC__)
#define RA_INTO static inline __attribute__((always_inline))
#else
#define RA_INTO static inline
#endif

/* One number of every lane; what is done to it is done to all at once. */
typedef struct {
  double of[RA_LANES];
} RaLaneReal;

/* All ones: true; 0: false. */
typedef struct {
  uint64_t of[RA_LANES];
} RaLaneMask;

/* A program with where a call shows in it. */
typedef struct {
  uint8_t key[RA_SIGNATURE_BYTES];
  RaProgram *program; /* owned */
  uint16_t *edge;     /* (n_slots) TRANSFER: its edge; else NONE */
  uint16_t *slots;    /* by call: slots that it has a part in */
  uint16_t *switches; /* by call: switches that it has a part in */
  uint32_t slot_begin[RA_POINT_MAX + 1];
  uint32_t switch_begin[RA_POINT_MAX + 1];
  uint16_t realloc_switch[RA_POINT_MAX]; /* to the layout of a call, or NONE */
} RaProgramUse;

/* Seconds of a transfer by dp of both ends and kinds of nodes, NAN: not asked
 * yet. */
typedef struct {
  uint16_t call, source;
  double bytes;
  double *seconds; /* (n_dp, n_dp, 2, n_kind_sets), owned */
} RaEdgeCost;

/* A reallocation asked before. */
typedef struct {
  uint64_t key; /* 0: none */
  double seconds;
} RaReallocSlot;

/* Something begins, grows or ends: a change of search/evaluate_memory.c. */
typedef struct {
  double time_s;
  uint16_t node;
  uint8_t is_late; /* not the end of a node that takes time */
  int8_t sign;
  uint16_t change;
} RaMemoryMoment;

#define RA_REALLOC_SLOTS 65536 /* a power of two; 1 MiB */

/* What screening reads of a candidate, close together. */
typedef struct {
  double least_s; /* of all parts, in any iteration: as far as it was asked */
  uint32_t n_gpus, first, step, n_runs;
} RaBrief;

/* The replay of calls alone, of other plans than those in lanes: opaque. */
typedef struct _RaScreen RaScreen;

/* What of a lane is not a number for the replay. */
typedef struct {
  RaPoint point;
  RaProgramUse *use;
  const RaCandidate *candidate[RA_POINT_MAX];
  uint32_t begin[RA_POINT_MAX], end[RA_POINT_MAX]; /* GPUs of the meshes */
  const RaMesh *set[RA_POINT_MAX]; /* of the meshes that are no interval */
  uint32_t node[RA_POINT_MAX];     /* of the mesh; RA_NONE: it has several */
  uint8_t stand[RA_POINT_MAX];     /* of the signature */
  uint32_t unknown; /* bits of calls whose costs are bounds so far */
  uint32_t unasked; /* bits of calls the reallocation to which was not asked */
  gboolean is_set;
} RaLane1;

struct _RaEvaluator {
  RaCostTable *costs;         /* borrowed */
  const RaSpace *space;       /* borrowed */
  const RaWorkload *workload; /* borrowed */
  uint32_t n_calls, n_iterations, n_like;
  uint32_t trainer[RA_POINT_MAX]; /* by call: of its model; RA_NONE */
  uint16_t *dp_at[RA_POINT_MAX];  /* by call and candidate: index of dp */
  RaBrief *briefs[RA_POINT_MAX];  /* likewise; owned */
  uint8_t *mine[RA_POINT_MAX];    /* likewise: asked by this evaluator; owned */
  gint round;                     /* what others asked before it is seen */
  RaScreen *screen;               /* owned; NULL: not yet */
  uint32_t n_dp;
  uint32_t n_kind_sets; /* 2^kinds of nodes; all alike: 1 */
  uint32_t n_kind_ends;
  uint32_t kind_ends[RA_KIND_RUNS_MAX]; /* GPUs at which another kind begins */
  double limit_bytes;                   /* memory of the largest GPU */
  uint64_t lack_bytes[RA_NODE_KINDS_MAX]; /* what a kind's GPUs have less, so
                                             that it counts as held */
  double *least_s[RA_POINT_MAX]; /* by call: (n_like, n_parts) of candidates */
  GHashTable *programs;          /* key -> RaProgramUse, owned */
  GArray *edges;                 /* RaEdgeCost */
  RaReallocSlot *reallocs;
  RaLane1 lanes[RA_LANES];
  gsize n_nodes, n_slots, n_switches; /* room */
  gsize n_moments;                    /* room */
  RaMemoryMoment *moments;            /* (n_moments) scratch, owned */
  uint32_t *gpus;                     /* scratch: all stages of a plan; owned */

  /* numbers of the lanes, 64-byte aligned */
  void *block;
  RaLaneReal *duration_s;  /* (n_slots) */
  RaLaneMask *on;          /* (n_switches) */
  RaLaneReal *begin_s;     /* (n_nodes) of the last replay */
  RaLaneReal *end_s;       /* (n_nodes) */
  RaLaneMask *reach;       /* (n_switches, n_calls) scratch */
  RaLaneReal *queue;       /* (RA_N_QUEUES, n_calls) scratch */
  RaLaneMask *overlap;     /* (n_calls, n_calls) share a GPU */
  RaLaneMask *cover;       /* (n_calls, n_calls) [c][d]: d has c's first GPU */
  RaLaneMask *share;       /* the same, of sets: they share a GPU */
  RaLaneReal *call_s;      /* (n_calls, n_like) all parts */
  RaLaneReal *last_s;      /* (n_calls, n_like) the last part */
  RaLaneReal *standing;    /* (n_calls) bytes, at most, beside transients */
  RaLaneReal *transient;   /* (n_calls) bytes while it runs */
  RaLaneReal *realloc_s;   /* (n_calls) to the layout of a call; 0: none */
  RaLaneReal *iteration_s; /* (n_iterations) ends */
  RaLaneReal *bound_s;     /* (n_iterations, n_calls) scratch */
  RaLaneReal *makespan_s;  /* 1 */
  RaLaneReal *most_bytes;  /* 1 */
};

typedef union {
  double real;
  uint64_t bits;
} RaLaneWord;

RA_INTO double
ra_lane_masked(double value, uint64_t mask)
{
  RaLaneWord word = {.real = value};

  word.bits &= mask;
  return word.real;
}

RA_INTO void
ra_lane_max(RaLaneReal *restrict a, const RaLaneReal *restrict b)
{
  RA_EACH_LANE(i)
  a->of[i] = a->of[i] > b->of[i] ? a->of[i] : b->of[i];
}

/* a = max(a, b where mask, 0 elsewhere): times are not negative. */
RA_INTO void
ra_lane_max_where(RaLaneReal *restrict a, const RaLaneReal *restrict b,
                  const RaLaneMask *restrict mask)
{
  RA_EACH_LANE(i)
  {
    double x = ra_lane_masked(b->of[i], mask->of[i]);
    a->of[i] = a->of[i] > x ? a->of[i] : x;
  }
}

/* Whether @a and @b, nullable, are one set of nodes. */
static inline gboolean
ra_same_set(const RaMesh *a, const RaMesh *b)
{
  return a == b || (a && b && ra_mesh_equal(a, b));
}

/* The rank that @gpu has in the mesh of @call, or RA_NONE. */
static inline uint32_t
ra_lane_rank(const RaLane1 *l, uint32_t call, uint32_t gpu)
{
  if (l->set[call])
    return ra_mesh_rank(l->set[call], gpu);
  return gpu >= l->begin[call] && gpu < l->end[call] ? gpu - l->begin[call]
                                                     : RA_NONE;
}

/* Whether two calls, one of which is on a set of nodes, share a GPU. */
gboolean ra_lane_overlaps(const RaLane1 *l, uint32_t a, uint32_t b);

static inline RaLaneMask *
ra_lane_pair(RaLaneMask *table, const RaEvaluator *e, uint32_t a, uint32_t b)
{
  return &table[a * e->n_calls + b];
}

/* What may be known of a candidate's cost here; NULL: nothing. */
static inline const double *
ra_evaluator_seen_s(const RaEvaluator *e, uint32_t call, uint32_t candidate)
{
  return e->mine[call][candidate]
             ? ra_cost_table_known_s(e->costs, call, candidate)
             : ra_cost_table_seen_s(e->costs, call, candidate, e->round);
}

/* --- search/evaluate_lane.c --- */

/* Notes what @lane has chosen for @call; its numbers stay as they are. */
void ra_lane_choose(RaEvaluator *e, guint lane, uint32_t call, RaChoice choice);

/* All numbers of @lane, whose program is known. */
void ra_lane_fill(RaEvaluator *e, guint lane);

/* Those that the choice for @call has a part in. */
void ra_lane_fill_moved(RaEvaluator *e, guint lane, uint32_t call);

/* Simulates the calls of @lane whose costs are not known. */
void ra_lane_learn(RaEvaluator *e, guint lane);

/* --- search/evaluate_replay.c --- */

/* Replays the lanes that have the program of @use. */
void ra_evaluator_replay(RaEvaluator *e, const RaProgramUse *use);

/* Bound of the memory of all lanes, bytes in use, into most_bytes. */
void ra_evaluator_memory_bound(RaEvaluator *e);

/* --- search/evaluate_screen.c --- */

void ra_screen_free(RaScreen *screen);

/* --- search/evaluate_memory.c --- */

/* Most bytes in use on any GPU of @lane in the last replay. */
uint64_t ra_evaluator_most_bytes(RaEvaluator *e, guint lane,
                                 uint32_t *out_kind);

/* Most bytes that are in use on some GPU for certain. */
uint64_t ra_evaluator_least_bytes(RaEvaluator *e, guint lane);

/* --- search/evaluate_program.c --- */

guint ra_signature_hash(gconstpointer key);
gboolean ra_signature_equal(gconstpointer a, gconstpointer b);

/* The program of @point, made if it is new: then n_nodes, n_slots and
 * n_switches may have grown, and the numbers of all lanes have to. */
RaProgramUse *ra_evaluator_use(RaEvaluator *e, const RaPoint *point);
void ra_program_use_free(gpointer use);

#endif
