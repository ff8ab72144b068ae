/* Pages of keys and values. */
#include "config.h"

#include "exec/model/cache.h"

struct _RaCache {
  RaCacheShape shape;
  const RaBackend *backend; /* borrowed */
  RaSlabTail *tail;         /* owned: of the slabs, all pages */
  uint32_t max_pages;       /* pages of a sequence */
  uint32_t n_held;          /* pages, the last ones: in use or free */
  uint32_t *free;           /* (n_free) of them, owned */
  uint32_t n_free;
  uint32_t *pages; /* (n_slots, max_pages) owned */
  uint32_t *n_of;  /* (n_slots) pages of each, owned */
};

static gsize
page_bytes(const RaCache *c)
{
  return ra_cache_page_rows(c) * c->shape.width * c->backend->elem_bytes;
}

RaCache *
ra_cache_new(RaSlabs *slabs, const RaBackend *backend,
             const RaCacheShape *shape)
{
  RaCache *c = g_new0(RaCache, 1);

  c->shape = *shape;
  c->backend = backend;
  c->max_pages =
      (shape->n_positions + shape->page_tokens - 1) / shape->page_tokens;
  if (shape->n_pages == 0)
    c->shape.n_pages = shape->n_slots * c->max_pages;
  g_assert((gsize)c->shape.n_pages * ra_cache_page_rows(c) <= UINT32_MAX);
  c->tail = ra_slabs_open_tail(slabs, c->shape.n_pages * page_bytes(c));
  c->free = g_new(uint32_t, (gsize)c->shape.n_pages + 1);
  c->pages = g_new0(uint32_t, (gsize)shape->n_slots * c->max_pages + 1);
  c->n_of = g_new0(uint32_t, (gsize)shape->n_slots + 1);
  return c;
}

void
ra_cache_free(RaCache *cache)
{
  if (!cache)
    return;
  ra_slab_tail_close(cache->tail);
  g_free(cache->free);
  g_free(cache->pages);
  g_free(cache->n_of);
  g_free(cache);
}

/* The tail cannot grow, because its memory is in use: moves all pages to memory
 * of their own. */
static void
move(RaCache *c)
{
  RaSlabTail *to = ra_slab_tail_new_apart(c->tail);
  gsize n_bytes = c->n_held * page_bytes(c);
  gsize at = c->shape.n_pages * page_bytes(c) - n_bytes;

  if (n_bytes > 0)
    c->backend->copy((char *)ra_slab_tail_memory(to) + at,
                     (const char *)ra_slab_tail_memory(c->tail) + at, n_bytes);
  ra_slab_tail_close(c->tail);
  c->tail = to;
}

/* One that is free, or one more. */
static uint32_t
take_page(RaCache *c)
{
  if (c->n_free > 0)
    return c->free[--c->n_free];
  g_assert(c->n_held < c->shape.n_pages);
  if (!ra_slab_tail_hold(c->tail, (c->n_held + 1) * page_bytes(c)))
    move(c);
  return c->shape.n_pages - ++c->n_held;
}

void
ra_cache_reserve(RaCache *c, uint32_t slot, uint32_t n_tokens)
{
  uint32_t n = (n_tokens + c->shape.page_tokens - 1) / c->shape.page_tokens;

  g_assert(slot < c->shape.n_slots && n <= c->max_pages);
  while (c->n_of[slot] < n)
    c->pages[(gsize)slot * c->max_pages + c->n_of[slot]++] = take_page(c);
}

void
ra_cache_drop(RaCache *c, uint32_t slot)
{
  while (c->n_of[slot] > 0)
    c->free[c->n_free++] =
        c->pages[(gsize)slot * c->max_pages + --c->n_of[slot]];
}

const RaCacheShape *
ra_cache_shape(const RaCache *cache)
{
  return &cache->shape;
}

uint32_t
ra_cache_max_pages(const RaCache *cache)
{
  return cache->max_pages;
}

uint32_t
ra_cache_page_rows(const RaCache *cache)
{
  return (cache->shape.latent ? 1 : 2) * cache->shape.n_layers *
         cache->shape.page_tokens;
}

const uint32_t *
ra_cache_pages(const RaCache *c, uint32_t slot)
{
  return c->pages + (gsize)slot * c->max_pages;
}

uint32_t
ra_cache_row(const RaCache *c, uint32_t slot, uint32_t position)
{
  uint32_t page = position / c->shape.page_tokens;

  g_assert(page < c->n_of[slot]);
  return ra_cache_pages(c, slot)[page] * ra_cache_page_rows(c) +
         position % c->shape.page_tokens;
}

/* Part @part of a page: keys and values of the layers in turn. */
static RaElem *
part_of(const RaCache *c, uint32_t part)
{
  RaElem *first = ra_slab_tail_memory(c->tail);

  return ra_elem_at(c->backend, first,
                    (gsize)part * c->shape.page_tokens * c->shape.width);
}

RaElem *
ra_cache_keys(const RaCache *cache, uint32_t layer)
{
  return part_of(cache, cache->shape.latent ? layer : 2 * layer);
}

RaElem *
ra_cache_values(const RaCache *cache, uint32_t layer)
{
  return part_of(cache, cache->shape.latent ? layer : 2 * layer + 1);
}

gsize
ra_cache_held_bytes(const RaCache *cache)
{
  return cache->n_held * page_bytes(cache);
}
