/* Inside the evaluator; only search/evaluate/evaluate*.c include this. */
#ifndef RA_SEARCH_EVALUATE_EVALUATE_IMPL_H
#define RA_SEARCH_EVALUATE_EVALUATE_IMPL_H

#include "graph/memory/memory_table.h"
#include "search/evaluate/evaluate.h"

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

/* Changes of a call's bytes on a GPU: what comes there by RaFoot up to packed,
 * then its begin and each step of its cache, then all of that; what goes is in
 * a second table behind those of all calls. */
enum {
  RA_CHANGE_BEGIN = RA_FOOT_PACKED + 1,
  RA_CHANGE_ALL = RA_CHANGE_BEGIN + RA_MEMORY_STEPS,
  RA_N_CHANGES = 16,
  RA_CHANGE_GOES = RA_POINT_MAX * RA_N_CHANGES
};

/* Something begins, grows or ends whenever a program is run: what a moment is
 * made of (search/evaluate/evaluate_memory.c). */
typedef struct {
  uint16_t node;
  uint16_t change;    /* of the walk's table */
  uint16_t switch_at; /* not there while this is off; NONE: always */
  uint8_t step;       /* of a cache that grows; 0: none */
  uint8_t call;       /* whose bytes */
  uint8_t is_end;
} RaMomentForm;

/* A program with where a call shows in it. */
typedef struct {
  uint8_t key[RA_SIGNATURE_BYTES];
  RaFlatGraph *program; /* owned */
  uint16_t *edge;       /* (n_slots) TRANSFER: its edge; else NONE */
  uint16_t *slots;      /* by call: slots that it has a part in */
  uint16_t *switches;   /* by call: switches that it has a part in */
  uint32_t slot_begin[RA_POINT_MAX + 1];
  uint32_t switch_begin[RA_POINT_MAX + 1];
  uint16_t realloc_switch[RA_POINT_MAX]; /* to the layout of a call, or NONE */
  RaMomentForm
      *forms; /* (n_forms) of all moments that a plan may have; owned */
  uint32_t n_forms;
  uint16_t *at_first; /* (n_at_first) items that are there at first; owned */
  uint32_t n_at_first;
} RaFlatGraphUse;

/* Seconds of a transfer by dp of both ends and kinds of nodes, NAN: not asked
 * yet. */
typedef struct {
  RaFlatGraphSlot slot;
  double *seconds; /* (n_dp, n_dp, 2, n_kind_sets), owned */
} RaEdgeCost;

/* A reallocation asked before. */
typedef struct {
  uint64_t key; /* 0: none */
  double seconds;
} RaReallocSlot;

/* A change of what GPUs hold; of one time first the ends of what takes time,
 * then by node. */
typedef struct {
  double time_s;
  uint32_t tie; /* node; with a bit above it, not the end of what takes time */
  uint32_t change;
} RaMemoryMoment;

#define RA_REALLOC_SLOTS 65536 /* a power of two; 1 MiB */

/* The class of a pair of choices at sets of nodes: what its name is hashed
 * from is a tenth of an evaluation. */
typedef struct {
  uint64_t from, to; /* candidate and position of both */
  uint64_t key;      /* 0: none */
  uint32_t to_call;
  uint32_t adapters;
} RaPairSlot;

#define RA_PAIR_SLOTS 16384 /* a power of two; 512 KiB */

/* The cells of some sets. */
typedef struct {
  const RaMesh *sets; /* borrowed */
  uint32_t n;
  uint64_t *cells; /* (n) owned */
} RaCliTransport;

/* What screening reads of a candidate, close together: proposals are of any. */
typedef struct {
  double least_s; /* of all parts, in any iteration: as far as it was asked */
  uint32_t n_gpus, first, step, n_runs;
} RaBrief;
_Static_assert(sizeof(RaBrief) <= 24, "briefs of 10^5 candidates stay near");

/* What of a candidate only a lane reads. */
typedef struct {
  const uint64_t *places; /* (n_sets) borrowed: the cells of its sets */
  uint32_t layout;
  uint16_t dp_at; /* its dp among those that candidates have */
} RaTraits;

/* The replay of calls alone, of other plans than those in lanes: opaque. */
typedef struct _RaScreen RaScreen;

/* What of a lane is not a number for the replay. */
typedef struct {
  RaPoint point;
  RaFlatGraphUse *use;
  const RaCandidate *candidate[RA_POINT_MAX];
  uint32_t begin[RA_POINT_MAX], end[RA_POINT_MAX]; /* GPUs of the meshes */
  const RaMesh *set[RA_POINT_MAX];   /* of the meshes that are no interval */
  uint64_t cells[RA_POINT_MAX];      /* of the meshes: cells that they touch */
  uint32_t node[RA_POINT_MAX];       /* of the mesh; RA_NONE: it has several */
  const double *parts[RA_POINT_MAX]; /* seconds of the parts; NULL: unknown */
  uint32_t layout[RA_POINT_MAX];     /* of the choices */
  uint16_t dp_at[RA_POINT_MAX];      /* of the choices */
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
  uint8_t varies[RA_POINT_MAX];   /* by call: its layout has a part in which
                                     program it is, without host memory too */
  gboolean any_varies;
  RaBrief *briefs[RA_POINT_MAX];  /* by call and candidate; owned */
  RaTraits *traits[RA_POINT_MAX]; /* likewise */
  uint8_t *mine[RA_POINT_MAX];    /* likewise: asked by this evaluator; owned */
  gint round;                     /* what others asked before it is seen */
  RaScreen *screen;               /* owned; NULL: not yet */
  /* The cluster's GPUs are cut into 64 cells of 2^cell_shift or less.  Sets
   * most often have whole cells, and then cells say all about them. */
  uint32_t cell_shift;
  gboolean sets_are_cells;
  GArray *places; /* RaCliTransport: of the sets that candidates have; owned */
  uint32_t n_dp;
  uint32_t n_kind_sets; /* 2^kinds of nodes; all alike: 1 */
  uint32_t n_kind_ends;
  uint32_t kind_ends[RA_KIND_RUNS_MAX]; /* GPUs at which another kind begins */
  double limit_bytes;                   /* memory of the largest GPU */
  uint64_t lack_bytes[RA_NODE_KINDS_MAX]; /* what a kind's GPUs have less, so
                                             that it counts as held */
  double *least_s[RA_POINT_MAX]; /* by call: (n_like, n_parts) of candidates */
  GHashTable *programs;          /* key -> RaFlatGraphUse, owned */
  RaFlatGraphUse *last_use;      /* without host memory; NULL: none */
  uint8_t last_residency[RA_POINT_MAX]; /* of it */
  GArray *edges;                        /* RaEdgeCost */
  RaReallocSlot *reallocs;
  RaPairSlot *pairs;
  RaEvaluatorWork work;
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
ra_simd_masked(double value, uint64_t mask)
{
  RaLaneWord word = {.real = value};

  word.bits &= mask;
  return word.real;
}

RA_INTO void
ra_simd_max(RaLaneReal *restrict a, const RaLaneReal *restrict b)
{
  RA_EACH_LANE(i)
  a->of[i] = a->of[i] > b->of[i] ? a->of[i] : b->of[i];
}

/* a = max(a, b where mask, 0 elsewhere): times are not negative. */
RA_INTO void
ra_simd_max_where(RaLaneReal *restrict a, const RaLaneReal *restrict b,
                  const RaLaneMask *restrict mask)
{
  RA_EACH_LANE(i)
  {
    double x = ra_simd_masked(b->of[i], mask->of[i]);
    a->of[i] = a->of[i] > x ? a->of[i] : x;
  }
}

/* Whether calls @a and @b begin at one GPU and are on one set, or on none. */
static inline gboolean
ra_simd_begin_alike(const RaEvaluator *e, const RaLane1 *l, uint32_t a,
                    uint32_t b)
{
  const RaMesh *x = l->set[a], *y = l->set[b];
  gboolean is = (l->begin[a] == l->begin[b]) & (!x == !y) &
                (!x | (l->cells[a] == l->cells[b]));

  if (e->sets_are_cells || !x)
    return is;
  return is && ra_mesh_equal(x, y);
}

/* The cells of GPUs [@begin, @end), which are some. */
static inline uint64_t
ra_cells_of(const RaEvaluator *e, uint32_t begin, uint32_t end)
{
  uint32_t first = begin >> e->cell_shift, last = (end - 1) >> e->cell_shift;

  return UINT64_MAX >> (63 - (last - first)) << first;
}

/* The rank that @gpu has in @set of whole nodes, or RA_NONE; as ra_mesh_rank()
 * without a division. */
static inline uint32_t
ra_set_rank(const RaMesh *set, uint32_t gpu)
{
  uint32_t width = set->gpus_per_node, before = 0;

  for (uint32_t i = 0; i < set->n_runs; i++) {
    uint32_t begin = set->runs[i].first * width, n = set->runs[i].n * width;

    if (gpu < begin)
      return RA_NONE;
    if (gpu - begin < n)
      return before + gpu - begin;
    before += n;
  }
  return RA_NONE;
}

/* The rank that @gpu has in the mesh of @call, or RA_NONE. */
static inline uint32_t
ra_simd_rank(const RaLane1 *l, uint32_t call, uint32_t gpu)
{
  if (l->set[call])
    return ra_set_rank(l->set[call], gpu);
  return gpu >= l->begin[call] && gpu < l->end[call] ? gpu - l->begin[call]
                                                     : RA_NONE;
}

static inline RaLaneMask *
ra_simd_pair(RaLaneMask *table, const RaEvaluator *e, uint32_t a, uint32_t b)
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

/* --- search/evaluate/evaluate_lane.c --- */

/* Notes what @lane has chosen for @call; its numbers stay as they are. */
void ra_simd_choose(RaEvaluator *e, guint lane, uint32_t call, RaChoice choice);

/* All numbers of @lane, whose program is known. */
void ra_simd_fill(RaEvaluator *e, guint lane);

/* Those that the choice for @call has a part in. */
void ra_simd_fill_moved(RaEvaluator *e, guint lane, uint32_t call);

/* The numbers of @call that do not depend on the others. */
void ra_simd_fill_own(RaEvaluator *e, guint lane, uint32_t call);

/* The duration of slot @s. */
void ra_simd_fill_slot(RaEvaluator *e, guint lane, uint32_t s);

/* What the reallocation from @from to @to of @l is kept by. */
RaReallocSlot *ra_simd_realloc_slot(RaEvaluator *e, const RaLane1 *l,
                                    uint32_t from, uint32_t to,
                                    uint64_t *out_key);

/* --- search/evaluate/evaluate_mesh.c --- */

/* Whom the calls of @lane share GPUs with, and whose first GPU is whose. */
void ra_simd_fill_meshes(RaEvaluator *e, guint lane);

/* Makes room to say where the sets of candidates are. */
void ra_evaluator_init_cells(RaEvaluator *e);
void ra_evaluator_clear_cells(RaEvaluator *e);

/* The cells of the sets of @candidate; %NULL: it has none. */
const uint64_t *ra_evaluator_places(RaEvaluator *e,
                                    const RaCandidate *candidate);

/* Those of @call. */
void ra_simd_fill_mesh(RaEvaluator *e, guint lane, uint32_t call);

/* --- search/evaluate/evaluate_ask.c --- */

/* Simulates the calls of @lane whose costs are not known. */
void ra_simd_learn(RaEvaluator *e, guint lane);

/* --- search/evaluate/evaluate_replay.c --- */

/* Replays the lanes that have the program of @use. */
void ra_evaluator_replay(RaEvaluator *e, const RaFlatGraphUse *use);

/* Bound of the memory of all lanes, bytes in use, into most_bytes. */
void ra_evaluator_memory_bound(RaEvaluator *e);

/* --- search/evaluate/evaluate_screen.c --- */

void ra_screen_free(RaScreen *screen);

/* --- search/evaluate/evaluate_memory.c --- */

/* Most bytes in use on any GPU of @lane in the last replay. */
uint64_t ra_evaluator_most_bytes(RaEvaluator *e, guint lane,
                                 uint32_t *out_kind);

/* Most bytes that are in use on some GPU for certain. */
uint64_t ra_evaluator_least_bytes(RaEvaluator *e, guint lane);

/* --- search/evaluate/evaluate_moment.c --- */

/* Of a program's moments what does not depend on times. */
void ra_evaluator_form_moments(RaEvaluator *e, RaFlatGraphUse *use);

/* Those of the calls of @there in the last replay of @lane, in order, into
 * moments; how many. */
uint32_t ra_evaluator_list_moments(RaEvaluator *e, guint lane, uint32_t there);

/* --- search/evaluate/evaluate_graph.c --- */

guint ra_signature_hash(gconstpointer key);
gboolean ra_signature_equal(gconstpointer a, gconstpointer b);

/* The program of @point, made if it is new: then n_nodes, n_slots and
 * n_switches may have grown, and the numbers of all lanes have to. */
RaFlatGraphUse *ra_evaluator_use(RaEvaluator *e, const RaPoint *point);
void ra_flat_graph_use_free(gpointer use);

#endif
