/* Placement of blocks in an order, and its incremental update. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/memory/slab_order.h"

/* --- Near blocks --- */

static int
compare_events(const void *a, const void *b)
{
  const RaSlabEvent *x = a, *y = b;

  if (x->moment != y->moment)
    return x->moment < y->moment ? -1 : 1;
  if (x->begins != y->begins)
    return x->begins ? 1 : -1;
  return (x->block > y->block) - (x->block < y->block);
}

RaSlabEvent *
ra_slab_events_new(uint32_t n, const RaSlabBlock *blocks)
{
  RaSlabEvent *events = g_new(RaSlabEvent, 2 * (gsize)n + 1);

  for (uint32_t i = 0; i < n; i++) {
    events[2 * (gsize)i] = (RaSlabEvent){blocks[i].begin, TRUE, i};
    events[2 * (gsize)i + 1] = (RaSlabEvent){blocks[i].end, FALSE, i};
  }
  qsort(events, 2 * (gsize)n, sizeof *events, compare_events);
  return events;
}

void
ra_slab_visit_pairs(uint32_t n, const RaSlabBlock *blocks, RaSlabPairFunc visit,
                    gpointer data)
{
  g_autofree RaSlabEvent *events = ra_slab_events_new(n, blocks);
  g_autofree uint32_t *there = g_new(uint32_t, (gsize)n + 1);
  g_autofree uint32_t *at = g_new(uint32_t, (gsize)n + 1);
  uint32_t n_there = 0;

  for (gsize i = 0; i < 2 * (gsize)n; i++) {
    uint32_t block = events[i].block;

    if (events[i].begins) {
      for (uint32_t k = 0; k < n_there; k++)
        visit(there[k], block, data);
      at[block] = n_there;
      there[n_there++] = block;
    } else {
      there[at[block]] = there[--n_there];
      at[there[at[block]]] = at[block];
    }
  }
}

static void
count_pair(uint32_t x, uint32_t y, gpointer data)
{
  uint32_t *count = data;

  count[x + 1]++;
  count[y + 1]++;
}

typedef struct {
  uint32_t *at; /* (n) next free entry of each */
  uint32_t *near;
} Filling;

static void
add_pair(uint32_t x, uint32_t y, gpointer data)
{
  Filling *f = data;

  f->near[f->at[x]++] = y;
  f->near[f->at[y]++] = x;
}

void
ra_slab_order_init(RaSlabOrder *o, uint32_t n, const RaSlabBlock *blocks,
                   uint64_t align)
{
  g_autofree uint32_t *at = NULL;
  uint32_t most = 0;

  *o = (RaSlabOrder){.n = n, .blocks = blocks};
  o->bytes = g_new(uint64_t, (gsize)n + 1);
  for (uint32_t i = 0; i < n; i++)
    o->bytes[i] = ra_slab_rounded(blocks[i].bytes, align);
  o->near_begin = g_new0(uint32_t, (gsize)n + 1);
  ra_slab_visit_pairs(n, blocks, count_pair, o->near_begin);
  for (uint32_t i = 0; i < n; i++) {
    most = MAX(most, o->near_begin[i + 1]);
    o->near_begin[i + 1] += o->near_begin[i];
  }
  o->near = g_new(uint32_t, (gsize)o->near_begin[n] + 1);
  at = g_memdup2(o->near_begin, ((gsize)n + 1) * sizeof *at);
  ra_slab_visit_pairs(n, blocks, add_pair, &(Filling){at, o->near});
  o->order = g_new(uint32_t, (gsize)n + 1);
  o->at = g_new(uint32_t, (gsize)n + 1);
  o->offset = g_new0(uint64_t, (gsize)n + 1);
  o->is_due = g_new0(gboolean, (gsize)n + 1);
  o->places = g_new(RaSlabPlace, (gsize)most + 1);
}

void
ra_slab_order_clear(RaSlabOrder *o)
{
  g_free(o->bytes);
  g_free(o->near_begin);
  g_free(o->near);
  g_free(o->order);
  g_free(o->at);
  g_free(o->offset);
  g_free(o->is_due);
  g_free(o->places);
}

/* --- where they lie --- */

static int
compare_places(const void *a, const void *b)
{
  const RaSlabPlace *x = a, *y = b;

  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The smallest gap between those near @block and before it that it fits into,
 * or the first; above them if there is none. */
static uint64_t
find_gap(RaSlabOrder *o, uint32_t block)
{
  uint64_t free_from = 0, best = 0, room = UINT64_MAX;
  uint32_t n = 0;

  for (uint32_t i = o->near_begin[block]; i < o->near_begin[block + 1]; i++) {
    uint32_t x = o->near[i];

    if (o->at[x] < o->at[block])
      o->places[n++] = (RaSlabPlace){o->offset[x], o->offset[x] + o->bytes[x]};
  }
  o->n_looks += o->near_begin[block + 1] - o->near_begin[block];
  qsort(o->places, n, sizeof *o->places, compare_places);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t gap =
        o->places[i].begin > free_from ? o->places[i].begin - free_from : 0;

    if (gap >= o->bytes[block] && gap < room) {
      if (o->lowest)
        return free_from;
      best = free_from;
      room = gap;
    }
    free_from = MAX(free_from, o->places[i].end);
  }
  return room == UINT64_MAX ? free_from : best;
}

/* Places what is due from place @first of the order on, and what that moves. */
static uint64_t
settle(RaSlabOrder *o, uint32_t first)
{
  uint64_t bytes = 0;

  for (uint32_t i = first; i < o->n; i++) {
    uint32_t block = o->order[i];
    uint64_t was = o->offset[block];

    if (!o->is_due[block])
      continue;
    o->is_due[block] = FALSE;
    o->offset[block] = find_gap(o, block);
    if (o->offset[block] == was)
      continue;
    for (uint32_t k = o->near_begin[block]; k < o->near_begin[block + 1]; k++)
      if (o->at[o->near[k]] > i)
        o->is_due[o->near[k]] = TRUE;
  }
  for (uint32_t i = 0; i < o->n; i++)
    bytes = MAX(bytes, o->offset[i] + o->bytes[i]);
  return bytes;
}

uint64_t
ra_slab_order_place(RaSlabOrder *o, const uint32_t *blocks, gboolean lowest)
{
  memcpy(o->order, blocks, o->n * sizeof *blocks);
  o->lowest = lowest;
  for (uint32_t i = 0; i < o->n; i++) {
    o->at[o->order[i]] = i;
    o->is_due[i] = TRUE;
  }
  return settle(o, 0);
}

uint64_t
ra_slab_order_move(RaSlabOrder *o, uint32_t from, uint32_t to)
{
  uint32_t block = o->order[from], first = MIN(from, to);
  gsize n = MAX(from, to) - first;

  if (from > to)
    memmove(o->order + to + 1, o->order + to, n * sizeof *o->order);
  else
    memmove(o->order + from, o->order + from + 1, n * sizeof *o->order);
  o->order[to] = block;
  for (uint32_t i = first; i <= first + n; i++)
    o->at[o->order[i]] = i;
  o->is_due[block] = TRUE;
  for (uint32_t k = o->near_begin[block]; k < o->near_begin[block + 1]; k++)
    if (o->at[o->near[k]] >= first)
      o->is_due[o->near[k]] = TRUE;
  return settle(o, first);
}
