/* Tunings of a configuration on clusters of other sizes, and the least hardware
 * on which it fits.
 *
 *     g_autoptr(GPtrArray) sizes =
 *         ra_tune_sizes_new(&options, nodes, n, FALSE, &error);
 *     g_autoptr(RaTable) table = ra_tune_sizes_table(sizes);
 *
 * Sizes are what the framework's keys of nodes say (RaTuneOptions.n_nodes).
 */
#ifndef RA_STUDY_CONTEST_TUNE_SIZE_H
#define RA_STUDY_CONTEST_TUNE_SIZE_H

#include "study/contest/tune.h"

/**
 * ra_tune_sizes_new:
 * @options: borrowed during the call; each size has its part of the time
 * @counts: (array length=n): numbers of nodes, or of GPUs if @are_gpus; 0: as
 *   given
 * @error: as ra_tune_new()
 *
 * Returns: (transfer full) (element-type RaTune): in the order of @counts
 */
GPtrArray *ra_tune_sizes_new(const RaTuneOptions *options,
                             const uint32_t *counts, guint n, gboolean are_gpus,
                             GError **error);

/* The tuning of the least iteration time that fits; %RA_NONE: none fits. */
uint32_t ra_tune_sizes_best(const GPtrArray *sizes);

/* A row per size: its iteration as given and changed, tokens, memory, price. */
RaTable *ra_tune_sizes_table(const GPtrArray *sizes);

/**
 * ra_tune_least:
 * @options: of @tune
 * @tune: nothing fits
 *
 * Tries twice, four times ... sixty-four times the nodes, then GPUs with more
 * memory on as many nodes, the least first, until something fits.
 *
 * Cost: a tuning that ends when it fits for each, in the time that is left.
 *
 * Returns: (transfer full): what would do, in a sentence without its full stop
 */
char *ra_tune_least(const RaTuneOptions *options, const RaTune *tune);

#endif
