#include "config.h"

#include <string.h>

#include "exec/floats.h"
#include "exec/slabs.h"

/* Before a slab stands what it is; 16 floats keep the rest on a cache line of
 * its own. */
#define HEAD_FLOATS 16

typedef struct {
  gsize size; /* elements it has room for */
  gsize n;    /* asked for, while it is out */
} Head;

G_STATIC_ASSERT(sizeof(Head) <= HEAD_FLOATS * sizeof(float));

struct _RaSlabs {
  guint n_refs;
  GPtrArray *free; /* of heads, owned */
  guint64 out_bytes, most_bytes, bytes;
};

RaSlabs *
ra_slabs_new(void)
{
  RaSlabs *s = g_new0(RaSlabs, 1);

  s->n_refs = 1;
  s->free = g_ptr_array_new_with_free_func(g_free);
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
  g_ptr_array_unref(slabs->free);
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

/* The smallest free slab for @n elements, or a new one.  One that is much
 * larger is kept for who needs it. */
static Head *
find(RaSlabs *slabs, gsize n)
{
  guint best = slabs->free->len;
  Head *head;

  for (guint i = 0; i < slabs->free->len; i++) {
    gsize size = ((Head *)slabs->free->pdata[i])->size;

    if (size >= n && size <= 2 * n + 1024 &&
        (best == slabs->free->len ||
         size < ((Head *)slabs->free->pdata[best])->size))
      best = i;
  }
  if (best < slabs->free->len)
    return g_ptr_array_steal_index_fast(slabs->free, best);
  head = (Head *)(void *)ra_floats_new(rounded(n) + HEAD_FLOATS);
  head->size = rounded(n);
  slabs->bytes += head->size * sizeof(float);
  return head;
}

float *
ra_slabs_take(RaSlabs *slabs, gsize n)
{
  Head *head = find(slabs, n);

  head->n = n;
  slabs->out_bytes += n * sizeof(float);
  slabs->most_bytes = MAX(slabs->most_bytes, slabs->out_bytes);
  return (float *)(void *)head + HEAD_FLOATS;
}

void
ra_slabs_give(RaSlabs *slabs, float *slab)
{
  Head *head;

  if (!slab)
    return;
  head = (Head *)(void *)(slab - HEAD_FLOATS);
  slabs->out_bytes -= head->n * sizeof(float);
  g_ptr_array_add(slabs->free, head);
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
