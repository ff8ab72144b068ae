/* The final of a contest: the best plans against each other, as fine as the
 * simulator can, and more than once.
 *
 *     RaFinalOptions options = {.n_top = 3, .n_draws = 5, .n_iterations = 3};
 *     g_autoptr(RaFinal) final = ra_final_new(sizing, &options, &error);
 *     if (final && final->winner != RA_NONE)
 *       use(g_array_index(final->finalists, RaFinalist, final->winner));
 *
 * Who wins a contest is said by one replay at stage fidelity, of one draw of
 * the lengths.  Here the best few, and the best family beside them, are
 * replayed at op fidelity under several draws, the same for all, and the best
 * mean wins.  A plan that does not fit under one of the draws does not fit.
 *
 * How far the winner is ahead is a mean over the draws too, of the ratio in
 * each: plans slow down and speed up together with the lengths, so that ratio
 * spreads less than times do.
 *
 * Typical sizes: 3 or 4 finalists, 1 to 10 draws; 0.01 to 1 s a replay, one a
 * thread.
 */
#ifndef RA_STUDY_CONTEST_FINAL_H
#define RA_STUDY_CONTEST_FINAL_H

#include "study/contest/sizing.h"

typedef struct {
  guint n_top;           /* >= 1 */
  guint n_draws;         /* 0: 3 where something is drawn, else 1 */
  uint32_t n_iterations; /* >= 2 */
  uint64_t seed;         /* of the first draw; the next is one more */
  guint n_threads;       /* 0: as many as processors */
} RaFinalOptions;

typedef struct {
  uint32_t size;      /* of the sizing */
  uint32_t contender; /* of that size's contest */
  const char *name;   /* of it; borrowed */
  RaWorth *draws;     /* (n_draws), owned */
  RaWorth mean;       /* over the draws */
  double deviation_s; /* of the time of an iteration, of a draw; 0 with one */
  double peak_bytes;  /* the highest */
  guint n_fits;       /* draws under which it fits */
  double ahead_frac;  /* the winner's value is that part less, mean */
  double deviation_frac; /* of that, of a draw */
} RaFinalist;

typedef struct {
  const RaSizing *sizing; /* borrowed */
  RaObjective objective;
  GArray *finalists; /* (RaFinalist), best of the contest first; owned */
  guint n_draws;
  uint32_t winner; /* RA_NONE: none fits */
  uint32_t second; /* the next by the mean; RA_NONE */
  uint32_t family; /* the best that no search found, unless it is the winner;
                      RA_NONE */
} RaFinal;

/**
 * ra_final_new:
 * @sizing: with a winner; borrowed, outlives the final
 * @objective: that it was made for
 * @options: borrowed during the call
 * @error: as ra_replay_new()
 *
 * Returns: (transfer full): ra_final_free() it
 */
RaFinal *ra_final_new(const RaSizing *sizing, const RaObjective *objective,
                      const RaFinalOptions *options, GError **error);
void ra_final_free(RaFinal *final);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaFinal, ra_final_free)

const RaContender *ra_finalist_contender(const RaFinal *final, uint32_t i);
const RaSize *ra_finalist_size(const RaFinal *final, uint32_t i);

/**
 * ra_final_model_error:
 *
 * What predictions of the winner are off by: the median error of its system on
 * runs that were not fitted, else of the worst of its profile's laws on data
 * that were not; NAN where neither was measured.
 *
 * A difference of plans below that is within the model's error, though
 * errors that both plans share cancel.
 */
double ra_final_model_error(const RaFinal *final);

/* One row a finalist. */
RaTable *ra_final_table(const RaFinal *final);

#endif
