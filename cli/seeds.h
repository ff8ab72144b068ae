/* Output of `reallot simulate` for several seeds or plans. */
#ifndef RA_CLI_SEEDS_H
#define RA_CLI_SEEDS_H

#include "cli/options.h"

/**
 * ra_simulate_seeds:
 * @options: of `reallot simulate`; its files are plans
 * @unfolded: --no-fold
 * @n_seeds: number of seeds, from --seed on
 * @n_threads: 0: as many as processors
 *
 * @out_fits: (out): all fit the memory of their GPUs
 *
 * Replays each plan under each seed; prints the spread and a row per replay, or
 * several plans with one seed side by side.
 */
gboolean ra_simulate_seeds(const RaOptions *options, gboolean unfolded,
                           uint32_t n_seeds, guint n_threads,
                           gboolean *out_fits, GError **error);

#endif
