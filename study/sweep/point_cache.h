/* Cache of finished trials, keyed by content, so that a study with one more
 * value on an axis runs only the new points.
 *
 *     g_autoptr(RaPointCache) cache = ra_point_cache_new(NULL);
 *     uint64_t key = ra_point_cache_key(cache, &spec);
 *     if (!ra_point_cache_get(cache, key, &trial)) {
 *       ra_trial_run(&spec, &trial);
 *       ra_point_cache_put(cache, key, &trial);
 *     }
 *
 * A key covers the request (paths, changes, options) and the running program.
 * An entry (base/content_cache.h) lists the files that its trial has read, with
 * hashes of their contents, and is valid as long as these have not changed.  A
 * damaged entry is run again.  Refusals of a plan's family are kept, faults are
 * not.
 *
 * Thread: one at a time.   Typical sizes: 10^3 entries of 1 kB.
 */
#ifndef RA_STUDY_SWEEP_POINT_CACHE_H
#define RA_STUDY_SWEEP_POINT_CACHE_H

#include "study/sweep/trial.h"

typedef struct _RaPointCache RaPointCache;

/**
 * ra_point_cache_new:
 * @folder: (nullable): the cache's folder; %NULL: reallot/study in the user's
 *   cache directory ($XDG_CACHE_HOME)
 *
 * The folder is created with the first entry.
 *
 * Returns: (transfer full): free with ra_point_cache_free()
 */
RaPointCache *ra_point_cache_new(const char *folder);
void ra_point_cache_free(RaPointCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPointCache, ra_point_cache_free)

uint64_t ra_point_cache_key(RaPointCache *cache, const RaTrialSpec *spec);

/* TRUE if there is a valid entry; @out_trial: clear with ra_trial_clear(). */
gboolean ra_point_cache_get(RaPointCache *cache, uint64_t key,
                            RaTrial *out_trial);

/* Stores @trial.  FALSE: the folder cannot be written. */
gboolean ra_point_cache_put(RaPointCache *cache, uint64_t key,
                            const RaTrial *trial);

/* Number of damaged entries; @out_first: (nullable): the path of one. */
guint ra_point_cache_n_damaged(const RaPointCache *cache,
                               const char **out_first);

#endif
