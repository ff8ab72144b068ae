/* Contest: the plans of the placement strategies and of the search, compared by
 * simulation.
 *
 * Every family of search/family/strategy.h that has a plan takes part.  It is a
 * starting point of the search (search/mcmc.h) and is simulated together with
 * the result of the search.  The winner is therefore never worse than a family.
 *
 *     RaContestOptions options = {.time_limit_s = 5, .n_iterations = 3};
 *     g_autoptr(RaContest) contest =
 *         ra_contest_new(setup, &options, &error);
 *     if (contest && contest->winner != RA_NONE)
 *       use(g_array_index(contest->contenders, RaContender,
 *                         contest->winner).text);
 *
 * A plan has two times: the one that the search minimizes, at call fidelity
 * from tables, and that of a replay at stage fidelity, which decides the
 * contest.
 *
 * Typical sizes: 7 to 10 contenders; seconds.
 */
#ifndef RA_STUDY_CONTEST_CONTEST_H
#define RA_STUDY_CONTEST_CONTEST_H

#include "base/table.h"
#include "search/exact.h"
#include "search/mcmc.h"
#include "study/objective.h"
#include "study/odds.h"
#include "study/setup.h"

/* How far a contest is. */
typedef struct {
  const char *phase;   /* static: "planning strategies", "preparing layouts",
                        "searching" */
  guint n_done, n_all; /* of the phase's parts; n_all 0: not counted */
  double best_s;       /* searching: best time so far; NAN: none */
  double bound_s;
  uint64_t n_steps;
} RaContestNews;

typedef struct {
  RaSpaceKind kind;          /* candidates of a call */
  const char *const *limits; /* nullable, NULL-terminated: ra_limits_add() */
  const char *pins;          /* nullable: a file of limits: ra_limits_read() */
  const char *target;     /* nullable: of ra_export_plan(): only plans that the
                         framework can be told whole; no limits, no peers */
  const char *given;      /* nullable: text of a plan that a search for @target
                        begins with, instead of the families' */
  RaObjective objective;  /* criterion of the winner */
  gboolean families_only; /* no search */
  uint32_t n_gpus;        /* searched plans use only the first n_gpus; 0: all */
  gboolean eager; /* decode steps are launched op by op, not as a graph */
  guint n_near; /* number of neighbours, which differ from the found plan in one
                   call */
  uint32_t n_iterations; /* >= 2, per replay */
  uint64_t seed;         /* seed of lengths and chains */
  guint n_draws; /* seeds from @seed on under which the best found plan has to
                    fit; 0: @seed alone */
  uint64_t n_steps;    /* steps of each chain; 0: no bound */
  double time_limit_s; /* of all of it, but what processes do together before
                          their chains; 0: none; n_steps or this must be set */
  double prove_s;      /* limit of branch and bound after the chains; 0: none */
  guint n_threads;     /* 0: as many as processors */
  gboolean keeps_costs; /* reads and writes costs in the user's cache; the
                           estimator is that of the setup's files */
  const char *workload; /* name of the workload in plans */
  const char *cluster;  /* likewise */
  const char *system;   /* nullable: likewise */
  const RaUntil *whole; /* nullable: when over, replays of plans end too */
  const gint *stop;     /* nullable: non-zero: stop with the best plan so far */
  const gint *give_up;  /* nullable: non-zero: stop even without a plan */
  RaMcmcPeers *peers;   /* nullable: processes that all make this call with the
                           same options; @stop is then theirs */
  void (*progress)(const RaContestNews *news, void *data); /* nullable; any
                                                              thread */
  void *data; /* argument of progress */
} RaContestOptions;

/* The search, with the lengths that the seed samples. */
typedef struct {
  RaMcmcResult found;  /* result of the chains; its curve is owned */
  gboolean bounded;    /* branch and bound has run, and exact is set */
  RaExactResult exact; /* the certificate */
  double best_s;       /* run_s of the best plan found; NAN: none */
  double bound_s; /* lower bound of run_s in the space: from the calls at their
                     fastest; if bounded, by branch and bound, for plans with
                     the residencies of the plan found */
  double prepare_s;    /* wall time of candidates and their costs */
  double log10_points; /* size of its space */
} RaContestRound;

/* One plan, or the reason why there is none. */
typedef struct {
  char *name;        /* owned: "hybridflow", "search" */
  char *refusal;     /* owned, nullable: why there is no plan, or why it was not
                    replayed; then only name and text are valid */
  char *text;        /* owned, nullable: text of the plan */
  char *unsaid;      /* owned, nullable: what the target cannot say of the plan:
                        it may not win */
  gboolean is_found; /* by the search, not by a family */
  gboolean is_start; /* starting point of some search */
  RaPoint point;     /* of the space, if found or a start */
  double call_s;     /* time of an iteration at call fidelity, from the search's
                        tables; NAN: not known */
  RaWorth worth;     /* at stage fidelity */
  double peak_bytes; /* of the fullest GPU */
  gboolean fits;
  gboolean is_sure; /* @fits is known of all draws, as far as time was */
  RaDoubt doubt;    /* of the time at stage fidelity; owned */
} RaContender;

typedef struct {
  RaContestRound round; /* if searched */
  gboolean searched;
  gboolean
      is_cut; /* some family was not planned or replayed for lack of time */
  gboolean by_mean; /* the search took all lengths for the mean, as the
                       workload's own cannot be searched: its bound does not
                       hold for them */
  char *refusal; /* owned, nullable: why it was not searched; then the families
                    are what is compared */
  GArray *contenders;  /* (RaContender), families first; owned */
  RaTable *candidates; /* owned, nullable: candidates tried and rejected
                          (study/contest/rejected.h) */
  RaObjective objective;
  gboolean limited; /* limits or fewer GPUs are set: families cannot win */
  uint32_t winner;  /* the best that fits at stage fidelity; RA_NONE */
} RaContest;

/**
 * ra_contest_new:
 * @setup: from ra_setup_load_pair(); its plan is replaced
 * @options: copied
 * @error: an invalid limit; %RA_ERROR_NEGATIVE: limits leave a call without a
 *   candidate; errors of an expansion
 *
 * Families are planned first and have half of the time; those that it does not
 * suffice for are refused.  Without limits, a workload that cannot be searched,
 * a call without a candidate, or a lack of time leave the families: they
 * decide.
 *
 * Returns: (transfer full): with winner %RA_NONE where no plan fits
 */
RaContest *ra_contest_new(RaSetup *setup, const RaContestOptions *options,
                          GError **error);
void ra_contest_free(RaContest *contest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaContest, ra_contest_free)

/* One row per contender: the plan and its time, or why it has no plan. */
RaTable *ra_contest_table(const RaContest *contest);

/* TRUE if @i may win: it fits, has a value, and satisfies the limits. */
gboolean ra_contest_may_win(const RaContest *contest, uint32_t i);

/* One row per improvement of the best plan: proposals, seconds, best, and the
 * bound of the round, which is known at its end. */
RaTable *ra_contest_curve(const RaContest *contest);

#endif
