/* Private parts of the evaluator; only search/evaluate/evaluate*.c include
 * this.
 */
#ifndef RA_SEARCH_EVALUATE_EVALUATE_IMPL_H
#define RA_SEARCH_EVALUATE_EVALUATE_IMPL_H

#include "graph/memory/memory_table.h"
#include "search/evaluate/evaluate.h"

#define RA_EACH_LANE(i) for (int i = 0; i < RA_LANES; i++)

/* Compiles a function for several vector widths; the loader picks the widest
 * that the processor has. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__)
#define RA_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RA_WIDEST
#endif

/* Inlines a function into each of these versions of its caller. */
#if defined(__GNUC__)
#define RA_INTO static inline __attribute__((always_inline))
#else
#define RA_INTO static inline
#endif

/* One number per lane; an operation applies to all lanes at once. */
typedef struct {
  double of[RA_LANES];
} RaLaneReal;

/* All ones: true; 0: false. */
typedef struct {
  uint64_t of[RA_LANES];
} RaLaneMask;

/* Changes of a call's bytes on a GPU.  Index by RaFoot up to packed for memory
 * that appears, then the begin of the call and each step of its cache, then the
 * sum of those.  Memory that goes is in a second table, after those of all
 * calls. */
enum {
  RA_CHANGE_BEGIN = RA_FOOT_PACKED + 1,
  RA_CHANGE_ALL = RA_CHANGE_BEGIN + RA_MEMORY_STEPS,
  RA_N_CHANGES = 16,
  RA_CHANGE_GOES = RA_POINT_MAX * RA_N_CHANGES
};

/* A begin, growth or end of memory at a node of a program: the form of a moment
 * (search/evaluate/evaluate_memory.c). */
typedef struct {
  uint16_t node;
  uint16_t change;    /* index into the walk's table */
  uint16_t switch_at; /* absent while this switch is off; NONE: always there */
  uint8_t step;       /* step of a growing cache; 0: none */
  uint8_t call;       /* call whose bytes change */
  uint8_t is_end;
} RaMomentForm;

/* A program, with indices of the slots and switches that each call affects. */
typedef struct {
  uint8_t key[RA_SIGNATURE_BYTES];
  RaFlatGraph *program; /* owned */
  uint16_t *edge;       /* (n_slots) TRANSFER: its edge; else NONE */
  uint16_t *slots;      /* by call: slots that it affects */
  uint16_t *switches;   /* by call: switches that it affects */
  uint32_t slot_begin[RA_POINT_MAX + 1];
  uint32_t switch_begin[RA_POINT_MAX + 1];
  uint16_t realloc_switch[RA_POINT_MAX]; /* of the move to the layout of a call,
                                            or NONE */
  RaMomentForm *forms; /* (n_forms) all moments that a plan may have; owned */
  uint32_t n_forms;
  uint16_t *at_first; /* (n_at_first) items that are there initially; owned */
  uint32_t n_at_first;
} RaFlatGraphUse;

/* Seconds of a transfer by dp of both ends and kinds of nodes; NAN: unknown. */
typedef struct {
  RaFlatGraphSlot slot;
  double *seconds; /* (n_dp, n_dp, 2, n_kind_sets), owned */
} RaEdgeCost;

/* A reallocation with known cost. */
typedef struct {
  uint64_t key; /* 0: none */
  double seconds;
} RaReallocSlot;

/* Change of the memory in use.  Moments at one time are ordered: first the ends
 * of nodes that take time, then by node. */
typedef struct {
  double time_s;
  uint32_t tie; /* node; a bit above it is set unless this is the end of a node
                   that takes time */
  uint32_t change;
} RaMemoryMoment;

#define RA_REALLOC_SLOTS 65536 /* a power of two; 1 MiB */

/* Class of a pair of choices at sets of nodes, cached because computing the
 * hash is a tenth of an evaluation. */
typedef struct {
  uint64_t from, to; /* candidate and position of each */
  uint64_t key;      /* 0: none */
  uint32_t to_call;
  uint32_t adapters;
} RaPairSlot;

#define RA_PAIR_SLOTS 16384 /* a power of two; 512 KiB */

/* Cells of the sets of a candidate. */
typedef struct {
  const RaMesh *sets; /* borrowed */
  uint32_t n;
  uint64_t *cells; /* (n) owned */
} RaSetCells;

/* Data of a candidate that screening reads.  They are compact because proposals
 * are of any candidate. */
typedef struct {
  double least_s; /* least time of all parts in any iteration, as far as it is
                     known */
  uint32_t n_gpus, first, step, n_runs;
} RaBrief;
_Static_assert(sizeof(RaBrief) <= 24, "briefs of 10^5 candidates stay near");

/* Data of a candidate that only lanes read. */
typedef struct {
  const uint64_t *places; /* (n_sets) borrowed: cells of its sets */
  uint32_t layout;
  uint16_t dp_at; /* index of its dp among those of the candidates */
} RaTraits;

/* Replay of the calls alone, for plans that are in no lane: opaque. */
typedef struct _RaScreen RaScreen;

/* State of a lane other than the numbers of the replay. */
typedef struct {
  RaPoint point;
  RaFlatGraphUse *use;
  const RaCandidate *candidate[RA_POINT_MAX];
  uint32_t begin[RA_POINT_MAX], end[RA_POINT_MAX]; /* GPUs of the meshes */
  const RaMesh *set[RA_POINT_MAX]; /* the meshes that are no interval; NULL:
                                      interval */
  uint64_t cells[RA_POINT_MAX];    /* cells that the meshes touch */
  uint32_t node[RA_POINT_MAX]; /* node of the mesh; RA_NONE: it has several */
  const double *parts[RA_POINT_MAX]; /* seconds of the parts; NULL: unknown */
  uint32_t layout[RA_POINT_MAX];     /* of the choices */
  uint16_t dp_at[RA_POINT_MAX];      /* of the choices */
  uint32_t unknown; /* bits of calls whose costs are still bounds */
  uint32_t unasked; /* bits of calls to which the cost of the reallocation is
                       unknown */
  gboolean is_set;
} RaLane1;

struct _RaEvaluator {
  RaCostTable *costs;         /* borrowed */
  const RaSpace *space;       /* borrowed */
  const RaWorkload *workload; /* borrowed */
  uint32_t n_calls, n_iterations, n_like;
  uint32_t n_parts[RA_POINT_MAX]; /* of all trips */
  uint32_t trainer[RA_POINT_MAX]; /* by call: trainer of its model; RA_NONE */
  uint8_t varies[RA_POINT_MAX]; /* by call: its layout affects the choice of the
                                   program, even without host memory */
  gboolean any_varies;
  RaBrief *briefs[RA_POINT_MAX];  /* by call and candidate; owned */
  RaTraits *traits[RA_POINT_MAX]; /* likewise */
  uint8_t *mine[RA_POINT_MAX]; /* likewise: computed by this evaluator; owned */
  gint round; /* costs that others computed before this round are visible */
  RaScreen *screen; /* owned; NULL: not yet */
  /* The cluster's GPUs are cut into 64 cells of 2^cell_shift GPUs or less.
   * Most sets consist of whole cells, which then describe them exactly. */
  uint32_t cell_shift;
  gboolean sets_are_cells;
  GArray *places; /* RaSetCells: cells of the sets of candidates; owned */
  uint32_t n_dp;
  uint32_t n_kind_sets; /* 2^(kinds of nodes); 1 if all are alike */
  uint32_t n_kind_ends;
  uint32_t kind_ends[RA_KIND_RUNS_MAX]; /* GPUs at which another kind begins */
  double limit_bytes;                   /* memory of the largest GPU */
  uint64_t lack_bytes[RA_NODE_KINDS_MAX]; /* by kind: memory that its GPUs lack
                                             compared with the largest; it
                                             counts as in use */
  double *least_s[RA_POINT_MAX]; /* by call: (n_like, n_parts) least over its
                                    candidates */
  GHashTable *programs;          /* key -> RaFlatGraphUse, owned */
  RaFlatGraphUse *last_use;      /* without host memory; NULL: none */
  uint8_t last_residency[RA_POINT_MAX]; /* residencies of last_use */
  GArray *edges;                        /* RaEdgeCost */
  RaReallocSlot *reallocs;
  RaPairSlot *pairs;
  RaEvaluatorWork work;
  RaLane1 lanes[RA_LANES];
  gsize n_nodes, n_slots, n_switches; /* capacity */
  gsize n_moments;                    /* capacity */
  RaMemoryMoment *moments;            /* (n_moments) scratch, owned */
  uint32_t *gpus; /* scratch: GPUs of all stages of a plan; owned */

  /* numbers of the lanes, 64-byte aligned */
  void *block;
  RaLaneReal *duration_s;  /* (n_slots) */
  RaLaneMask *on;          /* (n_switches) */
  RaLaneReal *begin_s;     /* (n_nodes) in the last replay */
  RaLaneReal *end_s;       /* (n_nodes) */
  RaLaneMask *reach;       /* (n_switches, n_calls) scratch */
  RaLaneReal *queue;       /* (RA_N_QUEUES, n_calls) scratch */
  RaLaneMask *overlap;     /* (n_calls, n_calls) both share a GPU */
  RaLaneMask *cover;       /* (n_calls, n_calls) [c][d]: d has c's first GPU */
  RaLaneMask *share;       /* as overlap, for sets */
  RaLaneReal *call_s;      /* (n_calls, n_like) all parts */
  RaLaneReal *last_s;      /* (n_calls, n_like) the last part */
  RaLaneReal *standing;    /* (n_calls) bytes at most, without transients */
  RaLaneReal *transient;   /* (n_calls) bytes while it runs */
  RaLaneReal *realloc_s;   /* (n_calls) move to the layout of a call; 0: none */
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

/* a = max(a, b where mask, else 0): times are not negative. */
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

/* TRUE if calls @a and @b begin at one GPU and are on one set, or on none. */
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

/* Cells of the non-empty range of GPUs [@begin, @end). */
static inline uint64_t
ra_cells_of(const RaEvaluator *e, uint32_t begin, uint32_t end)
{
  uint32_t first = begin >> e->cell_shift, last = (end - 1) >> e->cell_shift;

  return UINT64_MAX >> (63 - (last - first)) << first;
}

/* Rank of @gpu in @set of whole nodes, or RA_NONE; without a division. */
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

/* Rank of @gpu in the mesh of @call, or RA_NONE. */
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

/* Cost of a candidate that is visible to this evaluator; NULL: none. */
static inline const double *
ra_evaluator_seen_s(const RaEvaluator *e, uint32_t call, uint32_t candidate)
{
  return e->mine[call][candidate]
             ? ra_cost_table_known_s(e->costs, call, candidate)
             : ra_cost_table_seen_s(e->costs, call, candidate, e->round);
}

/* --- search/evaluate/evaluate_lane.c --- */

/* Records the choice of @lane for @call; the lane's numbers stay as they are.
 */
void ra_simd_choose(RaEvaluator *e, guint lane, uint32_t call, RaChoice choice);

/* Writes all numbers of @lane; its program is known. */
void ra_simd_fill(RaEvaluator *e, guint lane);

/* Writes the numbers that depend on the choice for @call. */
void ra_simd_fill_moved(RaEvaluator *e, guint lane, uint32_t call);

/* Writes the numbers of @call that do not depend on other calls. */
void ra_simd_fill_own(RaEvaluator *e, guint lane, uint32_t call);

/* Writes the duration of slot @s. */
void ra_simd_fill_slot(RaEvaluator *e, guint lane, uint32_t s);

/* Cache entry of the reallocation from @from to @to in @l. */
RaReallocSlot *ra_simd_realloc_slot(RaEvaluator *e, const RaLane1 *l,
                                    uint32_t from, uint32_t to,
                                    uint64_t *out_key);

/* --- search/evaluate/evaluate_mesh.c --- */

/* Writes which calls of @lane share GPUs, and which have the first GPU of
 * which. */
void ra_simd_fill_meshes(RaEvaluator *e, guint lane);

/* Allocates and frees the cells of candidates' sets. */
void ra_evaluator_init_cells(RaEvaluator *e);
void ra_evaluator_clear_cells(RaEvaluator *e);

/* Cells of the sets of @candidate; %NULL: it has none. */
const uint64_t *ra_evaluator_places(RaEvaluator *e,
                                    const RaCandidate *candidate);

/* As ra_simd_fill_meshes(), for @call alone. */
void ra_simd_fill_mesh(RaEvaluator *e, guint lane, uint32_t call);

/* --- search/evaluate/evaluate_ask.c --- */

/* Simulates the calls of @lane with unknown costs. */
void ra_simd_learn(RaEvaluator *e, guint lane);

/* --- search/evaluate/evaluate_replay.c --- */

/* Replays the lanes that have the program of @use. */
void ra_evaluator_replay(RaEvaluator *e, const RaFlatGraphUse *use);

/* Writes an upper bound of the memory of all lanes into most_bytes. */
void ra_evaluator_memory_bound(RaEvaluator *e);

/* --- search/evaluate/evaluate_screen.c --- */

void ra_screen_free(RaScreen *screen);

/* --- search/evaluate/evaluate_memory.c --- */

/* Greatest memory in use on any GPU of @lane in the last replay, bytes. */
uint64_t ra_evaluator_most_bytes(RaEvaluator *e, guint lane,
                                 uint32_t *out_kind);

/* Memory that is certainly in use on some GPU, bytes. */
uint64_t ra_evaluator_least_bytes(RaEvaluator *e, guint lane);

/* --- search/evaluate/evaluate_moment.c --- */

/* Computes the part of a program's moments that does not depend on times. */
void ra_evaluator_form_moments(RaEvaluator *e, RaFlatGraphUse *use);

/* Lists the moments of the calls of @there in the last replay of @lane, in
 * order.  Returns their number. */
uint32_t ra_evaluator_list_moments(RaEvaluator *e, guint lane, uint32_t there);

/* --- search/evaluate/evaluate_graph.c --- */

guint ra_signature_hash(gconstpointer key);
gboolean ra_signature_equal(gconstpointer a, gconstpointer b);

/* The program of @point, created if it is new.  n_nodes, n_slots and n_switches
 * may then have grown; the numbers of all lanes must grow as well. */
RaFlatGraphUse *ra_evaluator_use(RaEvaluator *e, const RaPoint *point);
void ra_flat_graph_use_free(gpointer use);

#endif
