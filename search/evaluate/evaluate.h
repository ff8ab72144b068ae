/* Evaluator: computes time and memory of points of the space by replaying the
 * augmented graph from cost tables.
 *
 * Times and peaks equal those of `reallot simulate --fidelity=call`, to the
 * last bit (tests/search/check_evaluate.c).
 *
 *     RaEvaluator *e = ra_evaluator_new(costs);         one a thread
 *     ra_evaluator_set(e, 0, &point);                   up to RA_LANES plans
 *     ra_evaluator_copy(e, 1, 0);
 *     ra_evaluator_move(e, 1, call, choice);            what changed only
 *     ra_evaluator_run(e, 2, scores);                   both at once
 *
 * A lane holds the numbers of one plan: durations of its nodes, which calls
 * share GPUs, which moves are switched off.  ra_evaluator_run() replays all
 * lanes at once with vector instructions; a lane's result does not depend on
 * the others.  A change of one call rewrites only that call's part of the lane.
 * The replay itself is a few hundred additions and maxima.
 *
 * set, copy, move and run do not allocate, use no strings, and do no work that
 * grows with the cluster.  The exceptions are first requests: a program (0.1
 * ms) and a reallocation (ra_cost_table_realloc_s()).
 *
 * Memory: every replay computes an upper bound of the peak.  If the bound fits
 * the GPU, the plan fits.  Otherwise, and on request, the exact peak is
 * replayed on one GPU of each group that differs.
 */
#ifndef RA_SEARCH_EVALUATE_EVALUATE_H
#define RA_SEARCH_EVALUATE_EVALUATE_H

#include "search/evaluate/cost_table.h"
#include "search/evaluate/flat_graph.h"

/* Plans that one evaluator replays at once. */
#define RA_LANES 8

typedef struct _RaEvaluator RaEvaluator;

typedef struct {
  double run_s; /* end of the last call of the last iteration, divided by the
                   iterations: the time that a search minimizes */
  double iteration_s; /* as `simulate` prints it: from the end of the first
                         iteration to that of the last, divided by one less;
                         run_s for a single iteration */
  double makespan_s;  /* end of all nodes */
  double peak_bytes;  /* of the fullest GPU, with framework and slack; an upper
                         bound unless is_exact */
  double over_bytes;  /* exact: bytes that do not fit, all of a GPU where a call
                         has GPUs of a rollout service; 0: the plan fits */
  gboolean is_exact;  /* peak_bytes is the exact peak */
  gboolean is_bound;  /* times are lower bounds of the plan's */
} RaScore;

/* Work counters, from the creation of the evaluator.  When evaluations become
 * slower, one of them has grown (tests/search/check_evaluate_work.c). */
typedef struct {
  uint64_t n_filled;     /* plans written into a lane in full */
  uint64_t n_moved;      /* calls of a lane that were changed */
  uint64_t n_signatures; /* programs looked up by signature */
  uint64_t n_pairs;      /* pairs of meshes that were compared */
  uint64_t n_slots;      /* durations that were looked up */
  uint64_t n_hashes;     /* reallocations named by a hash of two node sets */
  uint64_t n_replays;    /* replays of up to RA_LANES plans */
  uint64_t n_nodes;      /* nodes of these replays */
  uint64_t n_peaks;      /* exact peaks that were computed */
  uint64_t n_moments;    /* moments that these sorted */
  uint64_t n_gpus;       /* GPUs that these followed */
  uint64_t lane_bytes;   /* not a counter: memory of the numbers of all lanes */
} RaEvaluatorWork;

/**
 * ra_evaluator_new:
 * @costs: borrowed; evaluators of several threads share it
 *
 * Returns: (transfer full): free with ra_evaluator_free()
 */
RaEvaluator *ra_evaluator_new(RaCostTable *costs);
void ra_evaluator_free(RaEvaluator *evaluator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaEvaluator, ra_evaluator_free)

/* Puts @point, which ra_space_check() accepts, into @lane. */
void ra_evaluator_set(RaEvaluator *evaluator, guint lane, const RaPoint *point);

/* Copies the plan of lane @from into @lane. */
void ra_evaluator_copy(RaEvaluator *evaluator, guint lane, guint from);

/* Copies the plan of lane @from into all lanes, at the cost of about two
 * copies. */
void ra_evaluator_spread(RaEvaluator *evaluator, guint from);

/* Changes one call of @lane, with the same result as setting the changed point.
 */
void ra_evaluator_move(RaEvaluator *evaluator, guint lane, uint32_t call,
                       RaChoice choice);

/* Changes the residency of one model of @lane. */
void ra_evaluator_move_residency(RaEvaluator *evaluator, guint lane,
                                 uint32_t model, int residency);

/* The plan in @lane. */
const RaPoint *ra_evaluator_point(const RaEvaluator *evaluator, guint lane);

/**
 * ra_evaluator_bound:
 * @n: lanes 0 to n - 1
 * @out_run_s: (out) (array length=n): at most the run_s of each lane
 *
 * Computes a lower bound from the durations of calls and reallocations.  It is
 * the greater of the longest path through n iterations and, per GPU, the sum of
 * the calls that share it.  Possible rounding errors are subtracted.  A
 * candidate that was not costed yet counts with its own bound.
 */
void ra_evaluator_bound(RaEvaluator *evaluator, guint n, double *out_run_s);

/* Change of some calls of a plan. */
#define RA_PROPOSAL_MAX 4
typedef struct {
  uint32_t n;
  uint32_t call[RA_PROPOSAL_MAX]; /* (n) each once */
  RaChoice choice[RA_PROPOSAL_MAX];
} RaProposal;

/* Makes the plan in @lane the base from which its proposals are screened. */
void ra_evaluator_screen_from(RaEvaluator *evaluator, guint lane);

/**
 * ra_evaluator_screen:
 * @lanes: bits of the lanes whose proposals are screened
 * @proposals: (array length=RA_LANES): changes of each lane's base plan, not
 *   yet in a lane
 * @out_run_s: (out) (array length=RA_LANES): at most the run_s of each changed
 *   plan
 *
 * Replays the calls alone, each after the earlier calls on its GPUs.  Possible
 * rounding errors are subtracted; a candidate that was not costed yet counts
 * with its bound.  Cost: 0.3 us for one lane or for all.
 */
void ra_evaluator_screen(RaEvaluator *evaluator, guint lanes,
                         const RaProposal *proposals, double *out_run_s);

/* TRUE if @proposal, a change of the base plan of @lane, certainly takes more
 * than
 * @limit_s.  Only detects proposals of one call whose longest path is too long.
 *   O(1). */
gboolean ra_evaluator_is_hopeless(const RaEvaluator *evaluator, guint lane,
                                  const RaProposal *proposal, double limit_s);

/* Applies @proposal to the plan in @lane. */
void ra_evaluator_apply(RaEvaluator *evaluator, guint lane,
                        const RaProposal *proposal);

/**
 * ra_evaluator_relaxed:
 * @n: lanes 0 to n - 1; their calls may have no place (candidate RA_NONE)
 * @out_run_s: (out) (array length=n): at most the run_s of any plan that places
 *   these calls
 *
 * Replays lanes in which an unplaced call costs the least of its candidates and
 * moves nothing.  Unknown costs count with their bounds.  No residency may be
 * host memory.
 */
void ra_evaluator_relaxed(RaEvaluator *evaluator, guint n, double *out_run_s);

/* Lower bound of the time to move the parameters of @call in @lane from their
 * training to the call's layout.  0: they do not move, or one of the two calls
 * has no place. */
double ra_evaluator_realloc_s(const RaEvaluator *evaluator, guint lane,
                              uint32_t call);

/* Calls of @lane that share a GPU with @call, as bits. */
uint16_t ra_evaluator_meets(const RaEvaluator *evaluator, guint lane,
                            uint32_t call);

/* TRUE if some GPU is certainly too small: it cannot hold the placed calls of
 * @lane while one of them runs, wherever the other calls are.  Call after
 * ra_evaluator_relaxed(). */
gboolean ra_evaluator_certainly_over(RaEvaluator *evaluator, guint lane);

/**
 * ra_evaluator_run:
 * @n: number of lanes to replay, from lane 0
 * @out_scores: (out) (array length=n): score of each lane
 */
void ra_evaluator_run(RaEvaluator *evaluator, guint n, RaScore *out_scores);

/* Time that searches minimize: run_s plus a steep penalty for a plan that does
 * not fit, in proportion to the missing share of a GPU, so that a search can
 * leave it. */
double ra_evaluator_penalised_s(const RaEvaluator *evaluator,
                                const RaScore *score);

/* As ra_evaluator_run() for the lanes whose bits are in @lanes, but computes no
 * new costs: unknown costs count with their bounds, and is_bound is then set.
 * @limit_s: (nullable): the exact peak is computed only where the penalised
 * time may be at most limit_s[lane].  Elsewhere over_bytes is a bound, too: an
 * upper bound where run_s exceeds the limit, otherwise a lower bound with which
 * the penalised time exceeds it. */
void ra_evaluator_run_asked(RaEvaluator *evaluator, guint lanes,
                            const double *limit_s, RaScore *out_scores);

/* Computes one unknown cost of the plan in @lane, if there is one;
 * reallocations come first. */
void ra_evaluator_ask(RaEvaluator *evaluator, guint lane);

/* Time of the next ra_evaluator_ask(), in proposals of a chain; 0: all costs
 * are known. */
double ra_evaluator_ask_price(const RaEvaluator *evaluator, guint lane);

/* Makes visible the costs that others computed before @round of the cost table,
 * and those that this evaluator computed.  Initially all known costs are
 * visible.  Lanes stay as they are. */
void ra_evaluator_see(RaEvaluator *evaluator, gint round);

/* Computes the exact peak of @lane in the last replay and updates the score as
 * ra_evaluator_run() would. */
void ra_evaluator_exact_peak(RaEvaluator *evaluator, guint lane,
                             RaScore *inout_score);

/* Evaluates one point, exact peak included. */
void ra_evaluate(RaEvaluator *evaluator, const RaPoint *point,
                 RaScore *out_score);

/* Program of @lane in the last replay, borrowed. */
const RaFlatGraph *ra_evaluator_program(const RaEvaluator *evaluator,
                                        guint lane);

/* Counters of the work so far. */
const RaEvaluatorWork *ra_evaluator_work(const RaEvaluator *evaluator);

/* Number of nodes replayed for @lane. */
uint32_t ra_evaluator_n_nodes(const RaEvaluator *evaluator, guint lane);

#endif
