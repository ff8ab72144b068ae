/* Costs that a search leaves in the user's cache for the next search of the
 * same files, so that it need not simulate the same calls again.
 *
 *     RaKeptCosts *kept = ra_kept_costs_new(NULL, setup, 3, 0);
 *     table = ra_cost_table_new_from(space, estimator, kept->store, 0, &error);
 *     ...
 *     ra_kept_costs_free(kept);           writes what is new
 *
 * An entry of the cache (base/content_cache.h) has all costs of one setup.  Its
 * key is a hash of the program, of all files that the setup was read from and
 * of the changes to them, and of what decides the samples of lengths.
 * Searches with other spaces, limits or starts share it.
 */
#ifndef RA_STUDY_CONTEST_KEPT_COSTS_H
#define RA_STUDY_CONTEST_KEPT_COSTS_H

#include "base/content_cache.h"
#include "search/evaluate/cost_store.h"
#include "study/setup.h"

/* Most bytes of the cache: some hundred setups of 10^4 candidates. */
#define RA_KEPT_COSTS_BYTES (UINT64_C(256) << 20)

typedef struct {
  RaCostStore *store;    /* owned */
  RaContentCache *cache; /* owned */
  uint64_t key;
} RaKeptCosts;

/**
 * ra_kept_costs_new:
 * @folder: (nullable): of the cache; %NULL: reallot/costs in the user's
 * @setup: as it is searched, its estimator unchanged since it was loaded
 * @n_iterations: that calls are costed for
 * @seed: of the lengths
 *
 * Cost: reading the program and the files, some 20 ms.
 *
 * Returns: (transfer full): free with ra_kept_costs_free()
 */
RaKeptCosts *ra_kept_costs_new(const char *folder, const RaSetup *setup,
                               uint32_t n_iterations, uint64_t seed);

/* Writes the costs that are new, with those that others have written since, and
 * frees @kept.  What cannot be written is not kept. */
void ra_kept_costs_free(RaKeptCosts *kept);

#endif
