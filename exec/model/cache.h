/* Keys and values of the sequences of a replica, on one stage, in pages.
 *
 * A page has `page_tokens` tokens of a sequence in all layers of the stage: of
 * each layer its keys and then its values, (page_tokens, kv_heads, head_dim).
 * So token t of a sequence is in each of them at
 *
 *     row = page page_rows + t % page_tokens
 *     page_rows = 2 n_layers page_tokens
 *
 * of what begins at ra_cache_keys() or ra_cache_values() of that layer.
 *
 * A sequence takes pages as it grows and gives them back as it ends.  They are
 * the last bytes of the region that is entered as the cache is made
 * (exec/model/slabs.h), no more of them than were needed at a time, so that a
 * prefill and a step have the rest; where that has no room for them they lie
 * elsewhere, all of them.
 *
 *     g_autoptr(RaCache) cache = ra_cache_new(slabs, backend, &shape);
 *     ra_cache_reserve(cache, slot, n_tokens);
 *     row = ra_cache_row(cache, slot, position);
 *     ra_cache_drop(cache, slot);
 */
#ifndef RA_EXEC_MODEL_CACHE_H
#define RA_EXEC_MODEL_CACHE_H

#include "exec/model/slabs.h"

typedef struct {
  uint32_t n_layers;    /* of the stage's pieces */
  uint32_t n_slots;     /* sequences */
  uint32_t n_positions; /* tokens of each, at most */
  uint32_t page_tokens;
  uint32_t n_pages; /* of all sequences at a time, at most; 0: as many as they
                       can have */
  gsize width;      /* kv_heads head_dim */
} RaCacheShape;

typedef struct _RaCache RaCache;

/* (transfer full): ra_cache_free() it */
RaCache *ra_cache_new(RaSlabs *slabs, const RaBackend *backend,
                      const RaCacheShape *shape);
void ra_cache_free(RaCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCache, ra_cache_free)

/* Of the sequence at @slot there is room for @n_tokens from now on.  Cost:
 * O(pages that are new); those of all where the cache has to move. */
void ra_cache_reserve(RaCache *cache, uint32_t slot, uint32_t n_tokens);
/* Its pages are free. */
void ra_cache_drop(RaCache *cache, uint32_t slot);

/* As made, with all numbers. */
const RaCacheShape *ra_cache_shape(const RaCache *cache);
/* Pages that a sequence can have. */
uint32_t ra_cache_max_pages(const RaCache *cache);
/* Rows from a page to the next. */
uint32_t ra_cache_page_rows(const RaCache *cache);
/* (max_pages) pages of the sequence at @slot, those that it has first. */
const uint32_t *ra_cache_pages(const RaCache *cache, uint32_t slot);
/* Of a token for which there is room. */
uint32_t ra_cache_row(const RaCache *cache, uint32_t slot, uint32_t position);
/* Of layer @layer of the cache, from row 0 on; until ra_cache_reserve(). */
RaElem *ra_cache_keys(const RaCache *cache, uint32_t layer);
RaElem *ra_cache_values(const RaCache *cache, uint32_t layer);
/* Bytes of all pages that were ever needed at a time, which are the last of
 * those from page 0 on. */
gsize ra_cache_held_bytes(const RaCache *cache);

#endif
