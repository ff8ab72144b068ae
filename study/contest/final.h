/* Final of a contest: the best plans, compared at the finest fidelity, under
 * several seeds and over worlds in which the model is wrong.
 *
 *     RaFinalOptions options = {.n_top = 3, .n_draws = 5, .n_iterations = 3};
 *     g_autoptr(RaFinal) final = ra_final_new(sizing, &options, &error);
 *     if (final && final->winner != RA_NONE)
 *       use(g_array_index(final->finalists, RaFinalist, final->winner));
 *
 * One replay at stage fidelity, with one sample of the lengths, decides a
 * contest.  The final replays the best few plans, and the best two families
 * with them, as one may not fit, at op fidelity under several seeds, the same
 * for all.  The best mean wins.  A plan that does not fit under one of the
 * seeds does not fit.
 *
 * The winner's lead is a mean over the seeds, too: of the ratio under each
 * seed.  Plans slow down and speed up together with the lengths, so this ratio
 * spreads less than the times do.
 *
 * Worlds (study/odds.h) say how much the lead is worth.  Two plans cannot be
 * told apart if neither wins more worlds than a coin would.  Then the simpler
 * one wins, which is, in this order, a family's plan rather than a found one,
 * that with fewer layouts, or that with fewer reallocations of parameters.
 *
 * By the objective `regret` the best is not the one of the best mean, but that
 * which is the least behind the best of each world, on average; by `p95` it is
 * that of the least 95th percentile over the seeds.
 *
 * Typical sizes: 3 or 4 finalists, 1 to 10 seeds; 0.01 to 1 s per replay, one
 * per thread.
 */
#ifndef RA_STUDY_CONTEST_FINAL_H
#define RA_STUDY_CONTEST_FINAL_H

#include "study/contest/sizing.h"

/* Seeds unless said: the least that have a spread. */
#define RA_FINAL_DRAWS 3

typedef struct {
  guint n_top;   /* >= 1 */
  guint n_draws; /* number of seeds; 0: RA_FINAL_DRAWS where something is
                    sampled, else 1; 20 for a percentile */
  uint32_t n_iterations; /* >= 2 */
  uint64_t seed;         /* the first seed, and that of the worlds */
  guint n_threads;       /* 0: as many as processors */
  RaUntil until;         /* when over, replays end: those of a seed count if all
                    finalists have them */
} RaFinalOptions;

typedef struct {
  uint32_t size;         /* index of the size in the sizing */
  uint32_t contender;    /* index in that size's contest */
  const char *name;      /* the contender's; borrowed */
  RaWorth *draws;        /* (n_draws) figures per seed, owned */
  RaWorth mean;          /* over the seeds */
  double deviation_s;    /* standard deviation of the time of an iteration over
                            seeds; 0 with one */
  double peak_bytes;     /* the highest peak */
  guint n_fits;          /* number of seeds under which it fits */
  double p95_s;          /* 95th percentile of the time over seeds */
  RaOdds odds;           /* among the finalists, if the final has odds */
  double ahead_frac;     /* mean lead: the winner's value is lower by this
                            fraction */
  double deviation_frac; /* standard deviation of the lead over seeds */
} RaFinalist;

typedef struct {
  const RaSizing *sizing; /* borrowed */
  RaObjective objective;
  GArray *finalists; /* (RaFinalist), best of the contest first; owned */
  guint n_draws;
  uint64_t seed;     /* of the worlds */
  gboolean is_stage; /* there was no time to replay them op by op: their figures
                        are those of the contest */
  gboolean has_odds; /* errors are known and their worlds were drawn */
  uint32_t best;     /* by the objective; RA_NONE: none fits */
  uint32_t winner;   /* the simplest that cannot be told apart from it */
  uint32_t second;   /* the next by the mean; RA_NONE */
  uint32_t family; /* the best family plan, unless it is the winner; RA_NONE */
} RaFinal;

/**
 * ra_final_new:
 * @sizing: with a winner; borrowed, outlives the final
 * @objective: objective of the sizing
 * @options: borrowed during the call
 * @error: as ra_replay_new()
 *
 * Returns: (transfer full): free with ra_final_free()
 */
RaFinal *ra_final_new(const RaSizing *sizing, const RaObjective *objective,
                      const RaFinalOptions *options, GError **error);
void ra_final_free(RaFinal *final);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaFinal, ra_final_free)

const RaContender *ra_finalist_contender(const RaFinal *final, uint32_t i);
const RaSize *ra_finalist_size(const RaFinal *final, uint32_t i);

/* Number of worlds in which @i has less than @k. */
guint ra_final_wins(const RaFinal *final, uint32_t i, uint32_t k);

/* Figures that the objective compares: the mean, with the percentile as its
 * time if that is the objective. */
RaWorth ra_finalist_worth(const RaFinal *final, uint32_t i);

/* One row per finalist. */
RaTable *ra_final_table(const RaFinal *final);

#endif
