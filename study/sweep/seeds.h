/* Seeds: plans under several seeds, to show how far sampling changes an
 * iteration.
 *
 * The seed determines the sampled lengths, jitter and stragglers, so one replay
 * is one sample.  Every (plan, seed) is a separate replay.  Threads take them
 * one by one; results are in the order of plans and seeds for any number of
 * threads.
 *
 *     g_autoptr(GArray) runs =
 *         ra_seeds_run(setups, 2, &options, 20, 0, &error);
 *     g_autoptr(RaTable) spread = ra_seeds_spread(runs, setups, 2);
 */
#ifndef RA_STUDY_SWEEP_SEEDS_H
#define RA_STUDY_SWEEP_SEEDS_H

#include "base/table.h"
#include "study/odds.h"
#include "study/replay.h"

/* One replay. */
typedef struct {
  uint32_t plan; /* index into the setups */
  uint64_t seed;
  double iteration_s;
  double tokens_per_s;
  double usd;            /* of an iteration; NAN: no price */
  RaDoubt doubt;         /* how wrong the iteration may be; owned */
  double peak_bytes;     /* highest of all GPUs */
  double capacity_bytes; /* of that GPU */
  double *calls_s; /* (n_calls of the workload) owned: wall time of each */
  uint32_t n_gpus; /* of the plan */
  uint64_t fingerprint;
} RaSeedRun;

/* TRUE if its highest peak is within the memory of that GPU. */
gboolean ra_seed_run_fits(const RaSeedRun *run);

/**
 * ra_seeds_run:
 * @setups: (array length=n_setups): with plans; borrowed
 * @options: options of every replay; its seed is the first, the others follow
 *   it
 * @n_threads: 0: as many as processors
 * @error: as ra_replay_new(): of the first plan and seed that fails
 *
 * Returns: (transfer full) (element-type RaSeedRun): plan by plan, by seed
 */
GArray *ra_seeds_run(RaSetup *const *setups, uint32_t n_setups,
                     const RaReplayOptions *options, uint32_t n_seeds,
                     guint n_threads, GError **error);

/* Table with a row per run (transfer full): `plan seed iteration_s tokens_per_s
 * peak_bytes fits fingerprint`. */
RaTable *ra_seeds_table(const GArray *runs, RaSetup *const *setups);

/* Table with a row per plan (transfer full): mean and standard deviation (n -
 * 1; none for one run) of iteration_s over its runs, and its quantiles:
 * minimum, 5 %, median, 95 %, maximum (ra_robust_quantile()). */
RaTable *ra_seeds_spread(const GArray *runs, RaSetup *const *setups,
                         uint32_t n_setups);

#endif
