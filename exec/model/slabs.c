/* The pool of slabs, with regions and tails. */
#include "config.h"

#include "exec/model/slabs.h"

/* A slab begins on a cache line of its own. */
#define LINE_BYTES 64

typedef struct Slab {
  void *memory;           /* memory of the back end, owned */
  gsize size;             /* bytes it has room for */
  gsize n;                /* requested size, while it is in use */
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

struct _RaSlabTail {
  RaSlabs *slabs;   /* a reference */
  RaRegion *region; /* NULL: memory of its own */
  void *memory;     /* where most_bytes begin; a slab without a region */
  gsize end;        /* end in the region */
  gsize most_bytes, held_bytes;
};

struct _RaSlabs {
  guint n_refs;
  const RaBackend *backend; /* borrowed */
  GPtrArray *free;          /* Slab, owned */
  GHashTable *out;          /* Slab by address, owned */
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
 * there is no other: so that the same finds the same in a larger region. */
static Slab *
find_in_region(RaRegion *region, gsize n)
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

    if (end >= free_from + size && gap < room) {
      room = gap;
      best = (Taken){free_from, free_from + size};
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

/* The smallest free slab for @n bytes, or a new one.  One that is much larger
 * is kept for larger requests. */
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

static void
add_out(RaSlabs *slabs, gsize n_bytes)
{
  slabs->out_bytes += n_bytes;
  slabs->most_bytes = MAX(slabs->most_bytes, slabs->out_bytes);
}

/* From now on @slab is out. */
static void *
take(RaSlabs *slabs, Slab *slab, gsize n_bytes)
{
  slab->n = n_bytes;
  add_out(slabs, n_bytes);
  g_hash_table_insert(slabs->out, begin_of(slab), slab);
  return begin_of(slab);
}

void *
ra_slabs_take(RaSlabs *slabs, gsize n_bytes)
{
  Slab *slab = slabs->region ? find_in_region(slabs->region, n_bytes) : NULL;

  slab = slab ? slab : find(slabs, n_bytes);
  if (slabs->rehearsed)
    slab->rehearsed = find_in_region(slabs->rehearsed, n_bytes);
  return take(slabs, slab, n_bytes);
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

/* --- tails --- */

static RaSlabTail *
tail_new(RaSlabs *slabs, gsize most_bytes)
{
  RaSlabTail *t = g_new0(RaSlabTail, 1);

  t->slabs = ra_slabs_ref(slabs);
  t->most_bytes = most_bytes;
  return t;
}

RaSlabTail *
ra_slabs_open_tail(RaSlabs *slabs, gsize most_bytes)
{
  RaSlabTail *t = tail_new(slabs, most_bytes);
  RaRegion *r = slabs->region;
  gsize begin;

  if (r && most_bytes <= r->n_bytes) {
    begin = (r->n_bytes - most_bytes) / LINE_BYTES * LINE_BYTES;
    t->region = r;
    t->memory = r->memory + begin;
    t->end = begin + most_bytes;
  } else {
    t->memory = take(slabs, find(slabs, most_bytes), most_bytes);
  }
  return t;
}

RaSlabTail *
ra_slab_tail_new_apart(const RaSlabTail *tail)
{
  RaSlabTail *t = tail_new(tail->slabs, tail->most_bytes);

  t->memory = take(t->slabs, find(t->slabs, t->most_bytes), t->most_bytes);
  return t;
}

/* Ranges of the region but the tail's, which is the last where it holds any. */
static guint
n_others(const RaSlabTail *t)
{
  return t->region->taken->len - (t->held_bytes > 0);
}

gboolean
ra_slab_tail_hold(RaSlabTail *t, gsize n_bytes)
{
  GArray *taken = t->region ? t->region->taken : NULL;
  Taken mine = {t->end - n_bytes, t->end};
  guint n = taken ? n_others(t) : 0;

  g_assert(n_bytes > 0 && n_bytes >= t->held_bytes && n_bytes <= t->most_bytes);
  if (!taken)
    return TRUE;
  if (n > 0 && g_array_index(taken, Taken, n - 1).end > mine.begin)
    return FALSE;
  g_array_set_size(taken, n);
  g_array_append_val(taken, mine);
  add_out(t->slabs, n_bytes - t->held_bytes);
  t->held_bytes = n_bytes;
  return TRUE;
}

void *
ra_slab_tail_memory(const RaSlabTail *tail)
{
  return tail->memory;
}

void
ra_slab_tail_close(RaSlabTail *t)
{
  if (!t)
    return;
  if (t->region) {
    g_array_set_size(t->region->taken, n_others(t));
    t->slabs->out_bytes -= t->held_bytes;
  } else {
    ra_slabs_give(t->slabs, t->memory);
  }
  ra_slabs_unref(t->slabs);
  g_free(t);
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
