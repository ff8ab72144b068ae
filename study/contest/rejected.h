/* Why shapes of calls are no candidates of a search, as tables.
 *
 *     g_autoptr(GPtrArray) tables =
 *         ra_rejected_new(setup, &options, "actor_train", &error);
 */
#ifndef RA_STUDY_CONTEST_REJECTED_H
#define RA_STUDY_CONTEST_REJECTED_H

#include "study/contest/contest.h"

/**
 * ra_rejected_new:
 * @setup: of ra_setup_load_pair()
 * @options: of the search that would follow: set, limits, seed
 * @call: name of a call, or "all"
 * @error: a limit that is none, no such call; %RA_ERROR_NEGATIVE: a call has
 *   no candidate
 *
 * Three tables: how many shapes of each call were tried and rejected by reason;
 * ra_rejected_meshes(); and one row a rejected shape of @call: its degrees and
 * strategy as far as they were chosen, the reason, the rule in words, and how
 * many bytes a GPU would be over.
 *
 * Cost: as ra_space_new(), twice.
 *
 * Returns: (transfer full) (element-type RaTable): freed with the array
 */
GPtrArray *ra_rejected_new(RaSetup *setup, const RaContestOptions *options,
                           const char *call, GError **error);

/* (transfer full): the first of these tables. */
RaTable *ra_rejected_counts(const RaSpace *space);

/* (transfer full): by size, how many meshes of whole nodes are runs, how many
 * sets of nodes, how many are no meshes here as an exchange of equal nodes
 * makes them one of those, and how many are left (search/space/node_set.h); or
 * why there are no sets. */
RaTable *ra_rejected_meshes(const RaSpace *space);

#endif
