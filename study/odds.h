/* Odds: in how many of the worlds that the model's errors allow a plan is the
 * best.
 *
 *     RaOddsPlan plans[2] = {{12.3, &doubt_a},
 *                            {12.5, &doubt_b}};
 *     RaOdds odds[2];
 *     ra_odds_draw(plans, 2, seed, odds);
 *     printf("%u of %u worlds\n", odds[0].n_best, RA_ODDS_WORLDS);
 *
 * A world is one outcome of the errors of study/model_error.h: each law is off
 * by a factor, the same for all plans that use it, and so is each way to run a
 * call, by what no law has.  A plan takes exp(RA_ERROR_SIGMA x
 * ra_model_error_draw()) times as long: a law's factor to the power of the
 * law's share of the plan's critical path, which is the path of the replay,
 * whatever the factors.  Where nothing is off a plan takes exactly what was
 * predicted.
 *
 * So plans that share a bottleneck or a call's layout slow down together, and a
 * lead between them is more certain than a time.  Worlds are the same on every
 * machine.
 */
#ifndef RA_STUDY_ODDS_H
#define RA_STUDY_ODDS_H

#include "study/model_error.h"
#include "study/replay.h"

/* A share of one half has a standard deviation of 1.6 %. */
#define RA_ODDS_WORLDS 1000

/* How wrong the time of a run may be, and how simple its plan is. */
typedef struct {
  RaModelError error; /* frac is NAN: not known */
  GArray *parts;      /* (RaErrorPart) owned; NULL: not known */
  guint n_layouts;    /* different ones of its calls */
  guint n_reallocs;   /* of parameters, in an iteration */
} RaDoubt;

typedef struct {
  double value; /* what is to be the least: the time of an iteration, or what
                   grows with it; > 0 */
  const RaDoubt *doubt; /* borrowed; known */
} RaOddsPlan;

typedef struct {
  guint n_best; /* worlds in which it is the best; of equal plans the first */
  double regret_frac;     /* by how much more than the best, mean of worlds */
  double regret_p95_frac; /* 95th percentile of the same */
} RaOdds;

/**
 * ra_doubt_take:
 * @setup: with the plan of @run; borrowed
 * @run: borrowed
 * @breakdown: of @run; borrowed
 * @doubt: (inout): zero, or taken before; ra_doubt_clear() it
 *
 * Cost: that of ra_model_error().
 */
void ra_doubt_take(const RaSetup *setup, const RaReplay *run,
                   const RaBreakdown *breakdown, RaDoubt *doubt);
void ra_doubt_clear(RaDoubt *doubt);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaDoubt, ra_doubt_clear)

gboolean ra_doubt_is_known(const RaDoubt *doubt);

/**
 * ra_odds_draw:
 * @plans: (array length=n)
 * @seed: of the worlds
 * @out_odds: (out caller-allocates) (array length=n)
 *
 * Cost: some 1 us a plan and world.
 */
void ra_odds_draw(const RaOddsPlan *plans, guint n, uint64_t seed,
                  RaOdds *out_odds);

/* Number of worlds in which @a has less than @b. */
guint ra_odds_wins(const RaOddsPlan *a, const RaOddsPlan *b, uint64_t seed);

/* TRUE if one of two plans, of which one wins in @n_wins worlds, wins in more
 * of them than a coin would (two-sided, 95 %). */
gboolean ra_odds_tell_apart(guint n_wins);

/**
 * ra_odds_risk:
 * @setup: its plan is replaced
 * @now: text of a plan for it
 * @then: text of the plan that is to replace it
 * @seed: of worlds and sampled lengths
 * @until: (nullable): as in RaReplayOptions
 * @out_frac: (out): share of the worlds in which @then takes longer than @now;
 *   NAN: nobody has measured how wrong the laws are
 * @error: as ra_setup_read_plan(), ra_replay_new()
 *
 * Cost: two replays at stage fidelity.
 */
gboolean ra_odds_risk(RaSetup *setup, const char *now, const char *then,
                      uint64_t seed, const RaUntil *until, double *out_frac,
                      GError **error);

#endif
