/* Plans under several seeds: how far what is drawn moves an iteration.
 *
 * Lengths, jitter and stragglers are drawn by the seed, so one replay is one
 * draw.  Every (plan, seed) is a replay of its own; threads take them one by
 * one, and what comes out is in the order of plans and seeds whatever their
 * number.
 *
 *     g_autoptr(GArray) runs = ra_seeds_run(setups, 2, &options, 20, 0,
 * &error); g_autoptr(RaTable) spread = ra_seeds_spread(runs, setups, 2);
 */
#ifndef RA_STUDY_SWEEP_SEEDS_H
#define RA_STUDY_SWEEP_SEEDS_H

#include "base/table.h"
#include "study/replay.h"

/* A replay. */
typedef struct {
  uint32_t plan; /* index into the setups */
  uint64_t seed;
  double iteration_s;
  double tokens_per_s;
  uint64_t fingerprint;
} RaSeedRun;

/**
 * ra_seeds_run:
 * @setups: (array length=n_setups): with plans; borrowed
 * @options: of every replay; its seed is the first, the others follow it
 * @n_threads: 0: as many as processors
 * @error: as ra_replay_new(): of the first plan and seed that fails
 *
 * Returns: (transfer full) (element-type RaSeedRun): plan by plan, by seed
 */
GArray *ra_seeds_run(RaSetup *const *setups, uint32_t n_setups,
                     const RaReplayOptions *options, uint32_t n_seeds,
                     guint n_threads, GError **error);

/* (transfer full): a row a run: `plan seed iteration_s tokens_per_s
 * fingerprint`. */
RaTable *ra_seeds_table(const GArray *runs, RaSetup *const *setups);

/* (transfer full): a row a plan: over its runs the mean and the standard
 * deviation (n - 1; of one run none) of iteration_s, and its quantiles: least,
 * 5 %, half, 95 %, most (ra_robust_quantile()). */
RaTable *ra_seeds_spread(const GArray *runs, RaSetup *const *setups,
                         uint32_t n_setups);

#endif
