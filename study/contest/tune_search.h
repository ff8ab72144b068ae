/* Plans that a search finds for the framework of a configuration, as changes of
 * its keys.
 *
 *     g_autoptr(GPtrArray) found =
 *         ra_tune_search(&options, tune, plan, &until, 3, NULL, NULL);
 *     for (guint i = 0; i < found->len; i++)
 *       try(found->pdata[i]);             NULL-terminated `KEY=VALUE`
 *
 * The search has the framework's own plans only (study/contest/sayable.h) and
 * begins with that of the configuration as well.  Both that one and a plan
 * found are exported; the keys in which these two differ are the changes.
 */
#ifndef RA_STUDY_CONTEST_TUNE_SEARCH_H
#define RA_STUDY_CONTEST_TUNE_SEARCH_H

#include "study/contest/tune.h"

/**
 * ra_tune_search:
 * @tune: its setup and framework
 * @from: (nullable): text of the plan to begin with, of the configuration as it
 *   is; %NULL: as given
 * @until: when over, the best so far are the result
 * @n: most plans
 * @progress: (nullable): the best time so far
 *
 * Cost: a contest (study/contest/contest.h).
 *
 * Returns: (transfer full) (element-type GStrv): changes `KEY=VALUE` for each
 * plan that is faster or fits, the fastest first; empty where nothing is
 * exported to the framework, or no plan of the workload
 */
GPtrArray *ra_tune_search(const RaTuneOptions *options, const RaTune *tune,
                          const char *from, const RaUntil *until, guint n,
                          void (*progress)(double best_s, void *data),
                          void *data);

#endif
