/* Keys and values of the sequences of a replica, on one stage, in pages.
 *
 * A page has `page_tokens` tokens of a sequence for all layers of the stage:
 * per layer its keys and then its values, (page_tokens, kv_heads, head_dim).
 * Token t of a sequence is at
 *
 *     row = page page_rows + t % page_tokens
 *     page_rows = 2 n_layers page_tokens, of latent attention half of that
 *
 * from ra_cache_keys() or ra_cache_values() of the layer.
 *
 * A sequence allocates pages as it grows and frees them when it ends.  Pages
 * are at the end of the region that is entered when the cache is made
 * (exec/model/slabs.h), no more than the peak needs, so a prefill and a decode
 * step can use the rest.  If the region has no room for them, all pages move to
 * other memory.
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
  uint32_t n_layers;    /* layers of the stage's pieces */
  uint32_t n_slots;     /* sequences */
  uint32_t n_positions; /* tokens per sequence, at most */
  uint32_t page_tokens;
  uint32_t n_pages; /* pages of all sequences at a time, at most; 0: as many as
                       they can need */
  gsize width;      /* kv_heads head_dim */
  gboolean latent;  /* a row of keys is that of values too */
} RaCacheShape;

typedef struct _RaCache RaCache;

/* (transfer full): free with ra_cache_free() */
RaCache *ra_cache_new(RaSlabs *slabs, const RaBackend *backend,
                      const RaCacheShape *shape);
void ra_cache_free(RaCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCache, ra_cache_free)

/* Reserves pages for @n_tokens of the sequence at @slot.  Cost: O(new pages);
 * O(all pages) if the cache must move. */
void ra_cache_reserve(RaCache *cache, uint32_t slot, uint32_t n_tokens);
/* Frees the pages of the sequence at @slot. */
void ra_cache_drop(RaCache *cache, uint32_t slot);

/* The shape at creation, with all numbers set. */
const RaCacheShape *ra_cache_shape(const RaCache *cache);
/* Maximal number of pages of a sequence. */
uint32_t ra_cache_max_pages(const RaCache *cache);
/* Rows from one page to the next. */
uint32_t ra_cache_page_rows(const RaCache *cache);
/* (max_pages) pages of the sequence at @slot; allocated ones come first. */
const uint32_t *ra_cache_pages(const RaCache *cache, uint32_t slot);
/* Row of a token, for which pages are reserved. */
uint32_t ra_cache_row(const RaCache *cache, uint32_t slot, uint32_t position);
/* Row 0 of layer @layer of the cache; valid until ra_cache_reserve(). */
RaElem *ra_cache_keys(const RaCache *cache, uint32_t layer);
RaElem *ra_cache_values(const RaCache *cache, uint32_t layer);
/* Bytes of the largest number of pages needed at a time; they are the last of
 * those from page 0 on. */
gsize ra_cache_held_bytes(const RaCache *cache);

#endif
