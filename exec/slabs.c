#include "config.h"

#include "exec/slabs.h"

/* A slab begins on a cache line of its own. */
#define LINE_BYTES 64

typedef struct Slab {
  void *memory;           /* of the back end, owned */
  gsize size;             /* bytes it has room for */
  gsize n;                /* asked for, while it is out */
  RaRegion *region;       /* that it is of; NULL: memory of its own */
  struct Slab *rehearsed; /* the same in another; owned; NULL: there is none */
} Slab;

/* Taken of a region: [begin, end). */
typedef struct {
  gsize begin, end;
} Taken;

struct _RaRegion {
  char *memory; /* borrowed */
  gsize n_bytes;
  GArray *taken; /* Taken, ascending, owned */
  gsize extent;  /* where what was taken ended, at most */
};

struct _RaSlabs {
  guint n_refs;
  const RaBackend *backend; /* borrowed */
  GPtrArray *free;          /* of Slab, owned */
  GHashTable *out;          /* of Slab by where it begins, owned */
  RaRegion *region;         /* entered, borrowed; NULL: none */
  RaRegion *rehearsed;      /* likewise */
  guint64 out_bytes, most_bytes, bytes;
};

RaSlabs *
ra_slabs_new(const RaBackend *backend)
{
  RaSlabs *s = g_new0(RaSlabs, 1);

  s->n_refs = 1;
  s->backend = backend;
  s->free = g_ptr_array_new();
  s->out = g_hash_table_new(NULL, NULL);
  return s;
}

RaSlabs *
ra_slabs_ref(RaSlabs *slabs)
{
  slabs->n_refs++;
  return slabs;
}

void
ra_slabs_unref(RaSlabs *slabs)
{
  if (!slabs || --slabs->n_refs > 0)
    return;
  for (guint i = 0; i < slabs->free->len; i++) {
    slabs->backend->free(((Slab *)slabs->free->pdata[i])->memory);
    g_free(slabs->free->pdata[i]);
  }
  g_ptr_array_unref(slabs->free);
  g_hash_table_unref(slabs->out);
  g_free(slabs);
}

/* The next of 4, 5, 6, 7 times a power of two. */
static gsize
rounded(gsize n)
{
  gsize step = 1;

  while (step < n / 7)
    step *= 2;
  return (n + step - 1) / step * step;
}

/* Where what is taken of @slab begins. */
static void *
begin_of(const Slab *slab)
{
  guintptr at = (guintptr)slab->memory + LINE_BYTES - 1;

  return (void *)(at - at % LINE_BYTES);
}

RaRegion *
ra_slabs_open(RaSlabs *slabs, void *memory, gsize n_bytes)
{
  RaRegion *r = g_new0(RaRegion, 1);

  (void)slabs;
  g_return_val_if_fail((guintptr)memory % LINE_BYTES == 0, NULL);
  r->memory = memory;
  r->n_bytes = n_bytes;
  r->taken = g_array_new(FALSE, FALSE, sizeof(Taken));
  return r;
}

void
ra_slabs_close(RaSlabs *slabs, RaRegion *region)
{
  g_assert(region->taken->len == 0);
  if (slabs->region == region)
    slabs->region = NULL;
  g_array_unref(region->taken);
  g_free(region);
}

RaRegion *
ra_slabs_enter(RaSlabs *slabs, RaRegion *region)
{
  RaRegion *before = slabs->region;

  slabs->region = region;
  return before;
}

void
ra_slabs_rehearse(RaSlabs *slabs, RaRegion *region)
{
  slabs->rehearsed = region;
}

gsize
ra_slabs_extent(const RaRegion *region)
{
  return region->extent;
}

/* (nullable): @n bytes of the region, in the smallest gap, and behind all where
 * there is no other: so that the same finds the same in a larger region.
 * @last: at the end of the last gap. */
static Slab *
find_in_region(RaRegion *region, gsize n, gboolean last)
{
  gsize size = (MAX(n, 1) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
  gsize free_from = 0, room = G_MAXSIZE;
  Taken best = {0, 0};
  guint at = 0;
  Slab *slab;

  for (guint i = 0; i <= region->taken->len; i++) {
    const Taken *t =
        i < region->taken->len ? &g_array_index(region->taken, Taken, i) : NULL;
    gsize end = t ? t->begin : region->n_bytes;
    gsize gap = t ? end - free_from : G_MAXSIZE - 1;
    gsize begin = last ? (end - size) / LINE_BYTES * LINE_BYTES : free_from;

    if (end >= free_from + size && begin >= free_from && (last || gap < room)) {
      room = gap;
      best = (Taken){begin, begin + size};
      at = i;
    }
    free_from = t ? t->end : free_from;
  }
  if (best.end == 0)
    return NULL;
  g_array_insert_val(region->taken, at, best);
  region->extent = MAX(region->extent, best.end);
  slab = g_new0(Slab, 1);
  slab->memory = region->memory + best.begin;
  slab->size = size;
  slab->region = region;
  return slab;
}

static void
give_to_region(Slab *slab)
{
  GArray *taken = slab->region->taken;
  gsize begin = (gsize)((char *)slab->memory - slab->region->memory);
  guint i = 0;

  while (g_array_index(taken, Taken, i).begin != begin)
    i++;
  g_array_remove_index(taken, i);
  g_free(slab);
}

/* The smallest free slab for @n bytes, or a new one.  One that is much
 * larger is kept for who needs it. */
static Slab *
find(RaSlabs *slabs, gsize n)
{
  guint best = slabs->free->len;
  Slab *slab;

  for (guint i = 0; i < slabs->free->len; i++) {
    gsize size = ((Slab *)slabs->free->pdata[i])->size;

    if (size >= n && size <= 2 * n + 4096 &&
        (best == slabs->free->len ||
         size < ((Slab *)slabs->free->pdata[best])->size))
      best = i;
  }
  if (best < slabs->free->len)
    return g_ptr_array_steal_index_fast(slabs->free, best);
  slab = g_new0(Slab, 1);
  slab->size = rounded(n);
  slab->memory = slabs->backend->alloc(slab->size + LINE_BYTES);
  slabs->bytes += slab->size;
  return slab;
}

static void *
take(RaSlabs *slabs, gsize n_bytes, gboolean last)
{
  Slab *slab =
      slabs->region ? find_in_region(slabs->region, n_bytes, last) : NULL;

  slab = slab ? slab : find(slabs, n_bytes);

  if (slabs->rehearsed)
    slab->rehearsed = find_in_region(slabs->rehearsed, n_bytes, last);
  slab->n = n_bytes;
  slabs->out_bytes += n_bytes;
  slabs->most_bytes = MAX(slabs->most_bytes, slabs->out_bytes);
  g_hash_table_insert(slabs->out, begin_of(slab), slab);
  return begin_of(slab);
}

void *
ra_slabs_take(RaSlabs *slabs, gsize n_bytes)
{
  return take(slabs, n_bytes, FALSE);
}

void *
ra_slabs_take_last(RaSlabs *slabs, gsize n_bytes)
{
  return take(slabs, n_bytes, TRUE);
}

void
ra_slabs_give(RaSlabs *slabs, void *slab)
{
  gpointer given;

  if (!slab || !g_hash_table_steal_extended(slabs->out, slab, NULL, &given))
    return;
  slabs->out_bytes -= ((Slab *)given)->n;
  if (((Slab *)given)->rehearsed)
    give_to_region(g_steal_pointer(&((Slab *)given)->rehearsed));
  if (((Slab *)given)->region)
    give_to_region(given);
  else
    g_ptr_array_add(slabs->free, given);
}

guint64
ra_slabs_most_bytes(const RaSlabs *slabs)
{
  return slabs->most_bytes;
}

guint64
ra_slabs_bytes(const RaSlabs *slabs)
{
  return slabs->bytes;
}
