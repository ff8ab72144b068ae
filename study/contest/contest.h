/* A contest of plans: the placement families and what the search finds.
 *
 * Every family of search/family/strategy.h that can be planned enters, is a
 * start of the search (search/mcmc.h), and is simulated beside what the search
 * found. So the winner is never behind a family.
 *
 *     RaContestOptions options = {.time_limit_s = 5, .n_iterations = 3};
 *     g_autoptr(RaContest) contest =
 *         ra_contest_new(setup, &flags, &options, &error);
 *     if (contest && contest->winner != RA_NONE)
 *       use(g_array_index(contest->contenders, RaContender,
 *                         contest->winner).text);
 *
 * Two times stand beside each other: what the search made small, at call
 * fidelity from tables, and a replay at stage fidelity, by which the contest
 * is decided.
 *
 * Typical sizes: 7 to 10 contenders; seconds.
 */
#ifndef RA_STUDY_CONTEST_CONTEST_H
#define RA_STUDY_CONTEST_CONTEST_H

#include "base/table.h"
#include "search/exact.h"
#include "search/mcmc.h"
#include "study/objective.h"
#include "study/setup.h"

typedef struct {
  RaSpaceKind kind;          /* candidates of a call */
  const char *const *limits; /* nullable, NULL-terminated: ra_limit_parse() */
  const char *pins;          /* nullable: a file of them: ra_limits_read() */
  RaObjective objective;     /* what the winner is chosen for */
  gboolean families_only;    /* nothing is searched: n_rounds is 0 */
  uint32_t n_gpus; /* plans found are for so many from the first; 0: for all */
  gboolean eager;  /* decode steps are launched op by op, not as a graph */
  guint n_near;    /* plans beside what was found that differ in one call */
  uint32_t n_iterations; /* >= 2, replayed */
  uint64_t seed;         /* of lengths and chains */
  uint64_t n_steps;      /* of each chain; 0: no bound */
  double time_limit_s;   /* of the chains; 0: none; one of the two */
  double prove_s;        /* of branch and bound behind them; 0: none */
  guint n_threads;       /* 0: as many as processors */
  const char *workload;  /* as plans shall name it */
  const char *cluster;   /* likewise */
  const char *system;    /* nullable: likewise */
  const gint *stop;      /* nullable: not 0: the best so far will do */
  RaMcmcPeers *peers;    /* nullable: processes that all do this, with the same
                            options; @stop is theirs */
  void (*progress)(double best_s, double bound_s, uint64_t n_steps,
                   void *data); /* nullable */
  void *data;                   /* of it */
} RaContestOptions;

/* One search.  Drawn lengths are searched twice, as if all had the mean and as
 * if all were as long as can be, since costs of drawn lengths have no bounds
 * that spare their simulation; the replay that decides has them drawn. */
typedef struct {
  const char *name;    /* "search", "search-mean", "search-long": static */
  RaMcmcResult found;  /* of the chains; its curve is owned */
  gboolean bounded;    /* branch and bound has run: */
  RaExactResult exact; /* the certificate */
  double best_s;       /* run_s of the best that was found; NAN: none was */
  double bound_s;      /* no plan of the space has a lower run_s: of the calls
                          at their quickest; bounded: by branch and bound, of
                          plans with the residencies of what was found */
  double prepare_s;    /* candidates and their costs, wall */
  double log10_points; /* of its space */
} RaContestRound;

#define RA_CONTEST_ROUNDS 2

/* One plan, or why there is none. */
typedef struct {
  char *name;        /* owned: "hybridflow", "search" */
  char *refusal;     /* owned, nullable: why there is no plan; only the name
                        counts then */
  char *text;        /* owned, nullable: of the plan */
  gboolean is_found; /* by the search, not a family's */
  gboolean is_start; /* some search began at it */
  double call_s;     /* an iteration at call fidelity, from the search's
                        tables; NAN: not known */
  RaWorth worth;     /* at stage fidelity */
  double peak_bytes; /* of the fullest GPU */
  gboolean fits;
} RaContender;

typedef struct {
  RaContestRound rounds[RA_CONTEST_ROUNDS]; /* (n_rounds) */
  guint n_rounds;      /* 1: lengths are fixed; 0: not searched */
  GArray *contenders;  /* (RaContender), families first; owned */
  RaTable *candidates; /* owned, nullable: of the first round, what was tried
                          and rejected (study/contest/rejected.h) */
  RaObjective objective;
  gboolean limited; /* limits or fewer GPUs: families only stand beside */
  uint32_t winner;  /* the best that fits at stage fidelity; RA_NONE */
} RaContest;

/**
 * ra_contest_new:
 * @setup: of ra_setup_load_pair(); a plan that it has is replaced
 * @flags: that it was loaded with
 * @options: copied
 * @error: a limit that is none; %RA_ERROR_NEGATIVE: a call has no candidate;
 *   what an expansion refuses
 *
 * Returns: (transfer full): with winner %RA_NONE where no plan fits
 */
RaContest *ra_contest_new(RaSetup *setup, const RaSetupFlags *flags,
                          const RaContestOptions *options, GError **error);
void ra_contest_free(RaContest *contest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaContest, ra_contest_free)

/**
 * ra_contest_second:
 *
 * Returns: the best contender that fits and is worse than the winner; of
 *   families alone where the winner was found; %RA_NONE: there is none
 */
uint32_t ra_contest_second(const RaContest *contest);

/* One row a contender: what it is and takes, or why it has no plan. */
RaTable *ra_contest_table(const RaContest *contest);

/* Whether @i may win: it fits, it has a value, and keeps to what is limited. */
gboolean ra_contest_may_win(const RaContest *contest, uint32_t i);

/* One row each time that the best has changed: proposals, seconds, best, and
 * the bound of the round, which is known at its end. */
RaTable *ra_contest_curve(const RaContest *contest);

#endif
