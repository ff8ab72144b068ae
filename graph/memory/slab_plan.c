/* Placement of blocks in a slab: several orders, then local search. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "graph/memory/slab_order.h"

/* Looks at others after which no other placement is begun: some 0.3 s. */
#define MOST_LOOKS ((uint64_t)20 * 1000 * 1000)
/* Moves that are tried from an order. */
#define MOST_MOVES 4096
/* Blocks are large that are at least one part in so many of the largest load:
 * with the first some 10 of a GPU's are, with the last some 100. */
#define LEAST_PARTS 8
#define MOST_PARTS 32

/* The best placement so far. */
typedef struct {
  uint64_t bytes;
  uint64_t *offset; /* (n) */
  uint32_t *order;  /* (n) that led to it */
} Best;

uint64_t
ra_slab_load(uint32_t n, const RaSlabBlock *blocks, uint64_t align)
{
  g_autofree RaSlabEvent *events = ra_slab_events_new(n, blocks);
  uint64_t now = 0, most = 0;

  for (gsize i = 0; i < 2 * (gsize)n; i++) {
    uint64_t bytes = ra_slab_rounded(blocks[events[i].block].bytes, align);

    now = events[i].begins ? now + bytes : now - bytes;
    most = MAX(most, now);
  }
  return most;
}

typedef enum { BY_LIFE, BY_BYTES, BY_AREA, BY_BEGIN, N_SORTINGS } Sorting;

static double
rank_of(const RaSlabOrder *o, uint32_t block, Sorting by)
{
  double life = (double)(o->blocks[block].end - o->blocks[block].begin);
  double bytes = (double)o->bytes[block];

  switch (by) {
  case BY_LIFE:
    return life;
  case BY_BYTES:
    return bytes;
  case BY_AREA:
    return life * bytes;
  default:
    return -(double)o->blocks[block].begin;
  }
}

typedef struct {
  double first, second;
  uint32_t block;
} Ranked;

static int
compare_ranked(const void *a, const void *b)
{
  const Ranked *x = a, *y = b;

  if (x->first > y->first || x->first < y->first)
    return x->first > y->first ? -1 : 1;
  if (x->second > y->second || x->second < y->second)
    return x->second > y->second ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

static void
sort_order(const RaSlabOrder *o, Sorting by, uint32_t *out_order)
{
  g_autofree Ranked *ranked = g_new(Ranked, (gsize)o->n + 1);

  for (uint32_t i = 0; i < o->n; i++)
    ranked[i] = (Ranked){rank_of(o, i, by),
                         rank_of(o, i, by == BY_BYTES ? BY_LIFE : BY_BYTES), i};
  qsort(ranked, o->n, sizeof *ranked, compare_ranked);
  for (uint32_t i = 0; i < o->n; i++)
    out_order[i] = ranked[i].block;
}

static void
best_init(Best *best, uint32_t n)
{
  *best = (Best){.bytes = UINT64_MAX,
                 .offset = g_new(uint64_t, (gsize)n + 1),
                 .order = g_new(uint32_t, (gsize)n + 1)};
}

static void
best_clear(Best *best)
{
  g_free(best->offset);
  g_free(best->order);
}

/* Keeps the placement at hand if it is the best so far. */
static void
keep(const RaSlabOrder *o, uint64_t bytes, Best *best)
{
  if (bytes >= best->bytes)
    return;
  best->bytes = bytes;
  memcpy(best->offset, o->offset, o->n * sizeof *o->offset);
  memcpy(best->order, o->order, o->n * sizeof *o->order);
}

/* One of those that reach the top of the placement at hand: its place. */
static uint32_t
draw_top(const RaSlabOrder *o, uint64_t bytes, RaRng *rng)
{
  uint32_t n = 0, chosen = 0;

  for (uint32_t i = 0; i < o->n; i++)
    if (o->offset[i] + o->bytes[i] == bytes && ra_rng_below(rng, ++n) == 0)
      chosen = o->at[i];
  return chosen;
}

/* That place, or as often one of a block near it. */
static uint32_t
draw_moved(const RaSlabOrder *o, uint32_t top, RaRng *rng)
{
  uint32_t block = o->order[top], begin = o->near_begin[block];
  uint32_t n = o->near_begin[block + 1] - begin;

  if (n == 0 || ra_rng_below(rng, 2) == 0)
    return top;
  return o->at[o->near[begin + ra_rng_below(rng, n)]];
}

/* Where one near that at @from comes before it; @from: there is none. */
static uint32_t
draw_earlier(const RaSlabOrder *o, uint32_t from, RaRng *rng)
{
  uint32_t n = 0, chosen = from, block = o->order[from];

  for (uint32_t i = o->near_begin[block]; i < o->near_begin[block + 1]; i++)
    if (o->at[o->near[i]] < from && ra_rng_below(rng, ++n) == 0)
      chosen = o->at[o->near[i]];
  return chosen;
}

/* From @order on: one that reaches the top, or is there with such a one, is
 * placed before another that is there with it, as long as that makes nothing
 * higher. */
static void
climb(RaSlabOrder *o, const uint32_t *order, uint64_t load, Best *best)
{
  RaRng rng = ra_rng_init(0, o->n);
  uint64_t now = ra_slab_order_place(o, order, TRUE);
  uint64_t most = o->n_looks + MOST_LOOKS;

  keep(o, now, best);
  for (guint k = 0; k < MOST_MOVES && now > load && o->n_looks < most; k++) {
    uint32_t from = draw_moved(o, draw_top(o, now, &rng), &rng);
    uint32_t to = draw_earlier(o, from, &rng);
    uint64_t bytes = ra_slab_order_move(o, from, to);

    keep(o, bytes, best);
    if (bytes <= now)
      now = bytes;
    else
      ra_slab_order_move(o, to, from);
  }
}

/* Several orders, in each of them those of @before (n_before) first. */
static void
try_orders(RaSlabOrder *o, uint32_t n_before, const uint32_t *before,
           uint64_t load, Best *best)
{
  g_autofree uint32_t *order = g_new(uint32_t, (gsize)o->n + 1);
  g_autofree uint32_t *sorted = g_new(uint32_t, (gsize)o->n + 1);
  g_autofree gboolean *is_before = g_new0(gboolean, (gsize)o->n + 1);

  for (uint32_t i = 0; i < n_before; i++) {
    is_before[before[i]] = TRUE;
    order[i] = before[i];
  }
  for (int by = 0; by < N_SORTINGS; by++) {
    uint32_t n = n_before;

    sort_order(o, (Sorting)by, sorted);
    for (uint32_t i = 0; i < o->n; i++)
      if (!is_before[sorted[i]])
        order[n++] = sorted[i];
    for (int lowest = 0; lowest < 2 && best->bytes > load; lowest++)
      keep(o, ra_slab_order_place(o, order, lowest), best);
  }
}

/* Finds, among blocks of at least @least bytes that are concurrent with the
 * same others of these, the largest, into whose place each of them fits.  A
 * collision of keys only costs a worse order.
 *
 * @out: (out) (n) ascending   Returns: how many */
static uint32_t
find_large(const RaSlabOrder *o, uint64_t least, uint32_t *out)
{
  g_autoptr(GHashTable) largest = g_hash_table_new(NULL, NULL);
  g_autofree uint64_t *key = g_new0(uint64_t, o->n); /* of the others */
  uint32_t n = 0;

  for (uint32_t x = 0; x < o->n; x++) {
    gpointer at, other;

    if (o->bytes[x] < least)
      continue;
    for (uint32_t i = o->near_begin[x]; i < o->near_begin[x + 1]; i++)
      if (o->bytes[o->near[i]] >= least)
        key[x] += ra_hash_u64(RA_HASH_INIT, o->near[i]);
    at = GSIZE_TO_POINTER(key[x]);
    if (!g_hash_table_lookup_extended(largest, at, NULL, &other) ||
        o->bytes[GPOINTER_TO_UINT(other)] < o->bytes[x])
      g_hash_table_insert(largest, at, GUINT_TO_POINTER(x));
  }
  for (uint32_t x = 0; x < o->n; x++)
    if (o->bytes[x] >= least && GPOINTER_TO_UINT(g_hash_table_lookup(
                                    largest, GSIZE_TO_POINTER(key[x]))) == x)
      out[n++] = x;
  return n;
}

/* The large ones by themselves, which are few, so that many orders of them can
 * be tried; then, in the best, with all others behind. */
static void
try_large(RaSlabOrder *o, uint64_t align, uint64_t least, uint64_t load,
          Best *best)
{
  g_autofree uint32_t *large = g_new(uint32_t, o->n);
  uint32_t n = find_large(o, least, large);
  g_autofree RaSlabBlock *blocks = g_new(RaSlabBlock, (gsize)n + 1);
  g_autofree uint32_t *order = g_new(uint32_t, (gsize)n + 1);
  RaSlabOrder few;
  uint64_t most;
  Best alone;

  for (uint32_t i = 0; i < n; i++)
    blocks[i] = o->blocks[large[i]];
  most = ra_slab_load(n, blocks, align);
  ra_slab_order_init(&few, n, blocks, align);
  best_init(&alone, n);
  try_orders(&few, 0, NULL, most, &alone);
  for (int by = 0; by < N_SORTINGS && alone.bytes > most; by++) {
    sort_order(&few, (Sorting)by, order);
    climb(&few, order, most, &alone);
  }
  for (uint32_t i = 0; i < n; i++)
    order[i] = large[alone.order[i]];
  try_orders(o, n, order, load, best);
  ra_slab_order_clear(&few);
  best_clear(&alone);
}

uint64_t
ra_slab_plan(uint32_t n, RaSlabBlock *blocks, uint64_t align)
{
  g_autofree uint32_t *order = g_new(uint32_t, (gsize)n + 1);
  RaSlabOrder o;
  uint64_t load;
  Best best;

  g_return_val_if_fail(align > 0, 0);
  if (n == 0)
    return 0;
  load = ra_slab_load(n, blocks, align);
  ra_slab_order_init(&o, n, blocks, align);
  best_init(&best, n);
  try_orders(&o, 0, NULL, load, &best);
  for (uint64_t parts = LEAST_PARTS; parts <= MOST_PARTS; parts *= 2)
    if (best.bytes > load)
      try_large(&o, align, load / parts, load, &best);
  if (best.bytes > load) {
    memcpy(order, best.order, n * sizeof *order);
    climb(&o, order, load, &best);
  }
  for (uint32_t i = 0; i < n; i++)
    blocks[i].offset = best.offset[i];
  ra_slab_order_clear(&o);
  best_clear(&best);
  return best.bytes;
}

typedef struct {
  const RaSlabBlock *blocks;
  gboolean overlaps;
} Check;

static void
check_pair(uint32_t x, uint32_t y, gpointer data)
{
  Check *c = data;
  const RaSlabBlock *a = &c->blocks[x], *b = &c->blocks[y];

  if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
    c->overlaps = TRUE;
}

gboolean
ra_slab_overlaps(uint32_t n, const RaSlabBlock *blocks, uint64_t bytes)
{
  Check check = {blocks, FALSE};

  for (uint32_t i = 0; i < n; i++)
    if (blocks[i].offset + blocks[i].bytes > bytes)
      return TRUE;
  ra_slab_visit_pairs(n, blocks, check_pair, &check);
  return check.overlaps;
}
