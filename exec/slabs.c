#include "config.h"

#include "exec/slabs.h"

/* A slab begins on a cache line of its own. */
#define LINE_BYTES 64

typedef struct {
  void *memory; /* of the back end, owned */
  gsize size;   /* bytes it has room for */
  gsize n;      /* asked for, while it is out */
} Slab;

struct _RaSlabs {
  guint n_refs;
  const RaBackend *backend; /* borrowed */
  GPtrArray *free;          /* of Slab, owned */
  GHashTable *out;          /* of Slab by where it begins, owned */
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
  slab = g_new(Slab, 1);
  slab->size = rounded(n);
  slab->memory = slabs->backend->alloc(slab->size + LINE_BYTES);
  slabs->bytes += slab->size;
  return slab;
}

void *
ra_slabs_take(RaSlabs *slabs, gsize n_bytes)
{
  Slab *slab = find(slabs, n_bytes);

  slab->n = n_bytes;
  slabs->out_bytes += n_bytes;
  slabs->most_bytes = MAX(slabs->most_bytes, slabs->out_bytes);
  g_hash_table_insert(slabs->out, begin_of(slab), slab);
  return begin_of(slab);
}

void
ra_slabs_give(RaSlabs *slabs, void *slab)
{
  gpointer given;

  if (!slab || !g_hash_table_steal_extended(slabs->out, slab, NULL, &given))
    return;
  slabs->out_bytes -= ((Slab *)given)->n;
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
