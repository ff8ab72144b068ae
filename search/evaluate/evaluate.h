/* What points of the space cost: the replay of the augmented graph from
 * tables.
 *
 * Times and peaks are those of `reallot simulate --fidelity=call`, to the last
 * bit (tests/search/check_evaluate.c).
 *
 *     RaEvaluator *e = ra_evaluator_new(costs);         one a thread
 *     ra_evaluator_set(e, 0, &point);                   up to RA_LANES plans
 *     ra_evaluator_copy(e, 1, 0);
 *     ra_evaluator_move(e, 1, call, choice);            what changed only
 *     ra_evaluator_run(e, 2, scores);                   both at once
 *
 * A lane holds the parameters of one plan: durations of its nodes, which calls
 * share GPUs, what it does without.  ra_evaluator_run() replays lanes beside
 * each other with vector instructions; a lane's result does not depend on
 * the others.  A change of one call writes its row of the lane and leaves the
 * rest; the replay itself is a few hundred additions and maxima.
 *
 * No allocation, no string, nothing that grows with the cluster in set, copy,
 * move and run; but for what was never asked before: a program (0.1 ms), a
 * reallocation (ra_cost_table_realloc_s()).
 *
 * Memory.  A bound is computed with every replay; where it stays below the GPU
 * the plan fits.  Otherwise, and on request, the exact peak is replayed, GPU
 * by GPU of those that differ.
 */
#ifndef RA_SEARCH_EVALUATE_EVALUATE_H
#define RA_SEARCH_EVALUATE_EVALUATE_H

#include "search/evaluate/cost_table.h"
#include "search/evaluate/flat_graph.h"

/* Plans side by side. */
#define RA_LANES 8

typedef struct _RaEvaluator RaEvaluator;

typedef struct {
  double run_s;       /* end of the last call of the last iteration, by the
                         iterations: what a search makes small */
  double iteration_s; /* as `simulate` prints: from the end of the first to that
                         of the last, by one less; of one iteration run_s */
  double makespan_s;  /* end of all nodes */
  double peak_bytes;  /* of the fullest GPU, with framework and slack; an upper
                         bound unless exact */
  double over_bytes;  /* exact: what it has too few; 0: fits */
  gboolean is_exact;  /* peak_bytes is the peak */
  gboolean is_bound;  /* times are no more than those of the plan */
} RaScore;

/* What evaluations are made of, counted since the evaluator is: where they
 * become slower, one of these has grown (tests/search/check_evaluate_work.c).
 *  */
typedef struct {
  uint64_t n_filled;     /* plans put into a lane from nothing */
  uint64_t n_moved;      /* calls of a lane changed */
  uint64_t n_signatures; /* programs looked for by signature, not at hand */
  uint64_t n_pairs;      /* pairs of meshes compared */
  uint64_t n_slots;      /* durations looked up */
  uint64_t n_hashes;   /* reallocations named by a hash of two sets of nodes */
  uint64_t n_replays;  /* of up to RA_LANES plans */
  uint64_t n_nodes;    /* that these had */
  uint64_t n_peaks;    /* exact peaks */
  uint64_t n_moments;  /* that these put in order */
  uint64_t n_gpus;     /* and followed on so many GPUs */
  uint64_t lane_bytes; /* not counted: what the numbers of all lanes take */
} RaEvaluatorWork;

/**
 * ra_evaluator_new:
 * @costs: borrowed; shared by evaluators of other threads
 *
 * Returns: (transfer full): ra_evaluator_free() it
 */
RaEvaluator *ra_evaluator_new(RaCostTable *costs);
void ra_evaluator_free(RaEvaluator *evaluator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaEvaluator, ra_evaluator_free)

/* Puts @point, which ra_space_check() accepts, into @lane. */
void ra_evaluator_set(RaEvaluator *evaluator, guint lane, const RaPoint *point);

/* Makes @lane what @from is. */
void ra_evaluator_copy(RaEvaluator *evaluator, guint lane, guint from);

/* Makes lanes 0 to RA_LANES - 1 what @from is, at the price of about two. */
void ra_evaluator_spread(RaEvaluator *evaluator, guint from);

/* Changes one call of @lane: the same as setting the changed point. */
void ra_evaluator_move(RaEvaluator *evaluator, guint lane, uint32_t call,
                       RaChoice choice);

/* Changes the residency of one model of @lane. */
void ra_evaluator_move_residency(RaEvaluator *evaluator, guint lane,
                                 uint32_t model, int residency);

/* What is in @lane. */
const RaPoint *ra_evaluator_point(const RaEvaluator *evaluator, guint lane);

/**
 * ra_evaluator_bound:
 * @n: lanes 0 to n - 1
 * @out_run_s: (out) (array length=n): no more than run_s of each
 *
 * From the durations of calls and reallocations: the longest path through n
 * iterations of them, and of every GPU the sum of the calls that share it. What
 * rounding could add is taken off.  Of a candidate that was not costed yet its
 * own bound counts.
 */
void ra_evaluator_bound(RaEvaluator *evaluator, guint n, double *out_run_s);

/* A change of some calls of a plan. */
#define RA_PROPOSAL_MAX 4
typedef struct {
  uint32_t n;
  uint32_t call[RA_PROPOSAL_MAX]; /* (n) each once */
  RaChoice choice[RA_PROPOSAL_MAX];
} RaProposal;

/* Makes the plan in @lane the one that its proposals are screened from. */
void ra_evaluator_screen_from(RaEvaluator *evaluator, guint lane);

/**
 * ra_evaluator_screen:
 * @lanes: bits of the lanes whose proposals are screened
 * @proposals: (array length=RA_LANES): changes of the plan that the lane was
 *   screened from, in no lane yet
 * @out_run_s: (out) (array length=RA_LANES): of those no more than run_s
 *
 * A replay of the calls alone, each behind those before it on its GPUs.  What
 * rounding could add is taken off; of a candidate that was not costed yet its
 * bound counts.  Cost: 0.3 us, of one lane or of all.
 */
void ra_evaluator_screen(RaEvaluator *evaluator, guint lanes,
                         const RaProposal *proposals, double *out_run_s);

/* Whether @proposal, a change of the plan that @lane was screened from, takes
 * more than @limit_s for certain, at a glance: one call, whose longest path
 * does.  O(1). */
gboolean ra_evaluator_is_hopeless(const RaEvaluator *evaluator, guint lane,
                                  const RaProposal *proposal, double limit_s);

/* Changes @lane by @proposal. */
void ra_evaluator_apply(RaEvaluator *evaluator, guint lane,
                        const RaProposal *proposal);

/**
 * ra_evaluator_relaxed:
 * @n: lanes 0 to n - 1; their calls may be nowhere (candidate RA_NONE)
 * @out_run_s: (out) (array length=n): no more than run_s of any plan that
 *   places them
 *
 * A replay in which a call that is nowhere takes the least that any candidate
 * of it does and moves nothing, and what was not asked before counts with its
 * bound.  Nothing may be in host memory.
 */
void ra_evaluator_relaxed(RaEvaluator *evaluator, guint n, double *out_run_s);

/* What the parameters of @call in @lane take from their training to its layout,
 * at least; 0: they do not move, or one of the two is nowhere. */
double ra_evaluator_realloc_s(const RaEvaluator *evaluator, guint lane,
                              uint32_t call);

/* Bits of the calls of @lane that share a GPU with @call. */
uint16_t ra_evaluator_meets(const RaEvaluator *evaluator, guint lane,
                            uint32_t call);

/* After ra_evaluator_relaxed(): whether some GPU is too small for what is there
 * when a call of @lane that is placed runs, wherever the others are. */
gboolean ra_evaluator_certainly_over(RaEvaluator *evaluator, guint lane);

/**
 * ra_evaluator_run:
 * @n: lanes 0 to n - 1 are replayed
 * @out_scores: (out) (array length=n)
 */
void ra_evaluator_run(RaEvaluator *evaluator, guint n, RaScore *out_scores);

/* What searches go by: a plan that does not fit takes longer by the share of a
 * GPU that it is over, many times, so that they can leave it. */
double ra_evaluator_penalised_s(const RaEvaluator *evaluator,
                                const RaScore *score);

/* As ra_evaluator_run(), but the exact peak only where the penalised time may
 * be at most limit_s[lane].  Of the others over_bytes is a bound too: an upper
 * one where run_s is above the limit, else a lower one with which the penalised
 * time is. */
void ra_evaluator_run_below(RaEvaluator *evaluator, guint n,
                            const double *limit_s, RaScore *out_scores);

/* As ra_evaluator_run_below() of the lanes whose bits are in @lanes, but asks
 * for nothing: what was not asked before counts with its bound, and then
 * is_bound is set. */
void ra_evaluator_run_asked(RaEvaluator *evaluator, guint lanes,
                            const double *limit_s, RaScore *out_scores);

/* Asks for one cost that is not known of the plan in @lane, if there is one:
 * reallocations first. */
void ra_evaluator_ask(RaEvaluator *evaluator, guint lane);

/* What that takes, in proposals of a chain; 0: all is known. */
double ra_evaluator_ask_price(const RaEvaluator *evaluator, guint lane);

/* From now on what others asked before @round of the table of costs is seen,
 * and what this evaluator asked; at first all is.  Lanes stay as they are. */
void ra_evaluator_see(RaEvaluator *evaluator, gint round);

/* As ra_evaluator_run() of the last replay's @lane, with the exact peak. */
void ra_evaluator_exact_peak(RaEvaluator *evaluator, guint lane,
                             RaScore *inout_score);

/* Set and run one point, exact peak included. */
void ra_evaluate(RaEvaluator *evaluator, const RaPoint *point,
                 RaScore *out_score);

/* Ends of the nodes of @lane of the last replay, by node of its program:
 * @out_program gets it, borrowed.  For whoever explains a plan. */
const RaFlatGraph *ra_evaluator_program(const RaEvaluator *evaluator,
                                        guint lane);
double ra_evaluator_node_end_s(const RaEvaluator *evaluator, guint lane,
                               uint32_t node);

/* What was done so far. */
const RaEvaluatorWork *ra_evaluator_work(const RaEvaluator *evaluator);

/* Nodes replayed for @lane. */
uint32_t ra_evaluator_n_nodes(const RaEvaluator *evaluator, guint lane);

#endif
