/* Cache of computed results in files, keyed by everything that they depend on.
 *
 *     g_autoptr(RaContentCache) cache =
 *         ra_content_cache_new(NULL, "study", "point", 64 << 20);
 *     uint64_t key = ra_hash_u64(ra_content_cache_program(cache), ...);
 *     if (!ra_content_cache_get(cache, key, &text, &n_bytes))
 *       ra_content_cache_put(cache, key, text, n_bytes);
 *
 * An entry is a file of its own with a hash over its contents.  It is replaced
 * atomically, so any number of processes may read and write: the last writer of
 * an entry wins.  What is damaged, or was put there by others, is counted and
 * taken for missing.  When all entries are larger than the cache may be, those
 * that were used longest ago are removed.
 *
 * Thread: one at a time.   Typical sizes: 10^3 entries of 1 kB to 1 MB.
 */
#ifndef RA_BASE_CONTENT_CACHE_H
#define RA_BASE_CONTENT_CACHE_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaContentCache RaContentCache;

/**
 * ra_content_cache_new:
 * @folder: (nullable): the cache's folder; %NULL: reallot/@name in the user's
 *   cache directory ($XDG_CACHE_HOME)
 * @name: static
 * @kind: static: what an entry is; the suffix of its file
 * @most_bytes: of all entries
 *
 * The folder is created with the first entry.
 *
 * Returns: (transfer full): free with ra_content_cache_free()
 */
RaContentCache *ra_content_cache_new(const char *folder, const char *name,
                                     const char *kind, uint64_t most_bytes);
void ra_content_cache_free(RaContentCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaContentCache, ra_content_cache_free)

/* Hash of the running program: its version, and its contents if they can be
 * read. */
uint64_t ra_content_cache_program(RaContentCache *cache);

/* Hash of the contents of @path, which is read once; 0: it cannot be read. */
uint64_t ra_content_cache_file(RaContentCache *cache, const char *path);

/**
 * ra_content_cache_get:
 * @out_text: (out) (transfer full): what was put; NUL appended
 *
 * Returns: %FALSE if there is no such entry, or only a damaged one
 */
gboolean ra_content_cache_get(RaContentCache *cache, uint64_t key,
                              char **out_text, gsize *out_n_bytes);

/* Stores @n_bytes of @text under @key.  FALSE: they are more than a sixteenth
 * of what the cache may have, or the folder cannot be written. */
gboolean ra_content_cache_put(RaContentCache *cache, uint64_t key,
                              const char *text, gsize n_bytes);

/* Number of damaged entries; @out_first: (nullable): the path of one. */
guint ra_content_cache_n_damaged(const RaContentCache *cache,
                                 const char **out_first);

#endif
