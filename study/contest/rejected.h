/* Tables of rejected shapes: why shapes of calls are not candidates of a
 * search.
 *
 *     g_autoptr(GPtrArray) tables =
 *         ra_rejected_new(setup, &options, "actor_train", &error);
 */
#ifndef RA_STUDY_CONTEST_REJECTED_H
#define RA_STUDY_CONTEST_REJECTED_H

#include "study/contest/contest.h"

/**
 * ra_rejected_new:
 * @setup: from ra_setup_load_pair()
 * @options: options of the search: set, limits, seed
 * @call: name of a call, or "all"
 * @error: an invalid limit, no such call; %RA_ERROR_NEGATIVE: a call has no
 *   candidate
 *
 * Makes three tables: the numbers of shapes of each call that were tried and
 * rejected, by reason; meshes of whole nodes by size: how many are runs, how
 * many are sets of nodes, how many are left out because an exchange of equal
 * nodes makes them one of those, and how many are left
 * (search/space/node_set.h), or why there are no sets; and one row per rejected
 * shape of
 * @call, with its degrees and strategy as far as they were chosen, the reason,
 * the rule in words, and the bytes by which a GPU would be exceeded.
 *
 * Cost: as ra_space_new(), twice.
 *
 * Returns: (transfer full) (element-type RaTable): freed with the array
 */
GPtrArray *ra_rejected_new(RaSetup *setup, const RaContestOptions *options,
                           const char *call, GError **error);

/* The first of these tables (transfer full). */
RaTable *ra_rejected_counts(const RaSpace *space);

#endif
