/* Trials that have run, kept by content, so that a study whose axis gets one
 * more value runs only that.
 *
 *     g_autoptr(RaPointCache) cache = ra_point_cache_new(NULL);
 *     uint64_t key = ra_point_cache_key(cache, &spec);
 *     if (!ra_point_cache_get(cache, key, &trial)) {
 *       ra_trial_run(&spec, &trial);
 *       ra_point_cache_put(cache, key, &trial);
 *     }
 *
 * A key is of what is asked for (paths, changes, options) and of the running
 * program; an entry names the files that its trial has read with hashes of
 * their contents, and counts as long as these have not changed.  It is a small
 * file of its own, written aside and renamed, with a hash over it: one that is
 * damaged is counted and run again.  Refusals of a plan's family are kept,
 * faults are not.
 *
 * Thread: one at a time.   Typical sizes: 10^3 entries of 1 kB.
 */
#ifndef RA_STUDY_SWEEP_POINT_CACHE_H
#define RA_STUDY_SWEEP_POINT_CACHE_H

#include "study/sweep/trial.h"

typedef struct _RaPointCache RaPointCache;

/**
 * ra_point_cache_new:
 * @folder: (nullable): where it is; %NULL: reallot/study of the user's cache
 *   directory ($XDG_CACHE_HOME)
 *
 * The folder is made with the first entry.
 *
 * Returns: (transfer full): ra_point_cache_free() it
 */
RaPointCache *ra_point_cache_new(const char *folder);
void ra_point_cache_free(RaPointCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPointCache, ra_point_cache_free)

uint64_t ra_point_cache_key(RaPointCache *cache, const RaTrialSpec *spec);

/* Whether there is an entry that counts; @out_trial: ra_trial_clear() it. */
gboolean ra_point_cache_get(RaPointCache *cache, uint64_t key,
                            RaTrial *out_trial);

/* Keeps @trial; FALSE: the folder cannot be written. */
gboolean ra_point_cache_put(RaPointCache *cache, uint64_t key,
                            const RaTrial *trial);

/* Entries that were damaged; @out_first: (nullable): the path of one. */
guint ra_point_cache_n_damaged(const RaPointCache *cache,
                               const char **out_first);

#endif
