#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/slab_plan.h"

/* Looks at neighbours after which no other placement is begun: some 0.3 s. */
#define MOST_LOOKS ((uint64_t)20 * 1000 * 1000)
/* Moves that are tried of a small slab. */
#define MOST_MOVES 4096

/* Where a block lies: [begin, end) of the slab. */
typedef struct {
  uint64_t begin, end;
} Place;

typedef struct {
  uint32_t n;
  const RaSlabBlock *blocks; /* (n) */
  uint64_t *bytes;           /* (n) rounded up */
  uint32_t *near_begin;      /* (n + 1) CSR */
  uint32_t *near;            /* blocks that are there together */
  uint64_t *offset;          /* (n) of the placement at hand */
  gboolean *is_placed;       /* (n) in it */
  Place *places;             /* room for the neighbours of one */
  uint64_t n_looks;
} Plan;

/* The best placement so far. */
typedef struct {
  uint64_t bytes;
  uint64_t *offset; /* (n) */
  uint32_t *order;  /* (n) that led to it */
} Best;

static uint64_t
rounded(uint64_t bytes, uint64_t align)
{
  return (bytes + align - 1) / align * align;
}

/* A block begins or ends. */
typedef struct {
  uint32_t moment;
  gboolean begins;
  uint32_t block;
} Event;

/* At one moment ends come first. */
static int
compare_events(const void *a, const void *b)
{
  const Event *x = a, *y = b;

  if (x->moment != y->moment)
    return x->moment < y->moment ? -1 : 1;
  if (x->begins != y->begins)
    return x->begins ? 1 : -1;
  return (x->block > y->block) - (x->block < y->block);
}

/* (transfer full): of all blocks, in order. */
static Event *
events_new(uint32_t n, const RaSlabBlock *blocks)
{
  Event *events = g_new(Event, 2 * (gsize)n + 1);

  for (uint32_t i = 0; i < n; i++) {
    events[2 * (gsize)i] = (Event){blocks[i].begin, TRUE, i};
    events[2 * (gsize)i + 1] = (Event){blocks[i].end, FALSE, i};
  }
  qsort(events, 2 * (gsize)n, sizeof *events, compare_events);
  return events;
}

uint64_t
ra_slab_load(uint32_t n, const RaSlabBlock *blocks, uint64_t align)
{
  g_autofree Event *events = events_new(n, blocks);
  uint64_t now = 0, most = 0;

  for (gsize i = 0; i < 2 * (gsize)n; i++) {
    uint64_t bytes = rounded(blocks[events[i].block].bytes, align);

    now = events[i].begins ? now + bytes : now - bytes;
    most = MAX(most, now);
  }
  return most;
}

typedef void (*PairFunc)(uint32_t x, uint32_t y, gpointer data);

/* Calls @visit once for every two that are there together. */
static void
visit_pairs(uint32_t n, const RaSlabBlock *blocks, PairFunc visit,
            gpointer data)
{
  g_autofree Event *events = events_new(n, blocks);
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

static void
plan_init(Plan *p, uint32_t n, const RaSlabBlock *blocks, uint64_t align)
{
  g_autofree uint32_t *at = NULL;
  uint32_t most = 0;

  *p = (Plan){.n = n, .blocks = blocks};
  p->bytes = g_new(uint64_t, (gsize)n + 1);
  for (uint32_t i = 0; i < n; i++)
    p->bytes[i] = rounded(blocks[i].bytes, align);
  p->near_begin = g_new0(uint32_t, (gsize)n + 1);
  visit_pairs(n, blocks, count_pair, p->near_begin);
  for (uint32_t i = 0; i < n; i++) {
    most = MAX(most, p->near_begin[i + 1]);
    p->near_begin[i + 1] += p->near_begin[i];
  }
  p->near = g_new(uint32_t, (gsize)p->near_begin[n] + 1);
  at = g_memdup2(p->near_begin, ((gsize)n + 1) * sizeof *at);
  visit_pairs(n, blocks, add_pair, &(Filling){at, p->near});
  p->offset = g_new(uint64_t, (gsize)n + 1);
  p->is_placed = g_new(gboolean, (gsize)n + 1);
  p->places = g_new(Place, (gsize)most + 1);
}

static void
plan_clear(Plan *p)
{
  g_free(p->bytes);
  g_free(p->near_begin);
  g_free(p->near);
  g_free(p->offset);
  g_free(p->is_placed);
  g_free(p->places);
}

static int
compare_places(const void *a, const void *b)
{
  const Place *x = a, *y = b;

  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The smallest gap between the neighbours of @block that it fits into, or
 * @lowest the first; above them if there is none. */
static uint64_t
find_gap(Plan *p, uint32_t block, gboolean lowest)
{
  uint64_t free_from = 0, best = 0, room = UINT64_MAX;
  uint32_t n = 0;

  for (uint32_t i = p->near_begin[block]; i < p->near_begin[block + 1]; i++)
    if (p->is_placed[p->near[i]])
      p->places[n++] = (Place){p->offset[p->near[i]],
                               p->offset[p->near[i]] + p->bytes[p->near[i]]};
  p->n_looks += p->near_begin[block + 1] - p->near_begin[block];
  qsort(p->places, n, sizeof *p->places, compare_places);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t gap =
        p->places[i].begin > free_from ? p->places[i].begin - free_from : 0;

    if (gap >= p->bytes[block] && gap < room) {
      if (lowest)
        return free_from;
      best = free_from;
      room = gap;
    }
    free_from = MAX(free_from, p->places[i].end);
  }
  return room == UINT64_MAX ? free_from : best;
}

/* Bytes of the slab when blocks are placed in @order. */
static uint64_t
place(Plan *p, const uint32_t *order, gboolean lowest)
{
  uint64_t bytes = 0;

  memset(p->is_placed, 0, p->n * sizeof *p->is_placed);
  for (uint32_t i = 0; i < p->n; i++) {
    uint32_t block = order[i];

    p->offset[block] = find_gap(p, block, lowest);
    p->is_placed[block] = TRUE;
    bytes = MAX(bytes, p->offset[block] + p->bytes[block]);
  }
  return bytes;
}

typedef enum { BY_LIFE, BY_BYTES, BY_AREA, BY_BEGIN, N_ORDERS } Order;

static double
rank_of(const Plan *p, uint32_t block, Order by)
{
  double life = (double)(p->blocks[block].end - p->blocks[block].begin);
  double bytes = (double)p->bytes[block];

  switch (by) {
  case BY_LIFE:
    return life;
  case BY_BYTES:
    return bytes;
  case BY_AREA:
    return life * bytes;
  default:
    return -(double)p->blocks[block].begin;
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
sort_order(const Plan *p, Order by, uint32_t *out_order)
{
  g_autofree Ranked *ranked = g_new(Ranked, (gsize)p->n + 1);

  for (uint32_t i = 0; i < p->n; i++)
    ranked[i] = (Ranked){rank_of(p, i, by),
                         rank_of(p, i, by == BY_BYTES ? BY_LIFE : BY_BYTES), i};
  qsort(ranked, p->n, sizeof *ranked, compare_ranked);
  for (uint32_t i = 0; i < p->n; i++)
    out_order[i] = ranked[i].block;
}

/* Keeps the placement at hand, of @order, if it is the best so far. */
static void
keep(const Plan *p, const uint32_t *order, uint64_t bytes, Best *best)
{
  if (bytes >= best->bytes)
    return;
  best->bytes = bytes;
  memcpy(best->offset, p->offset, p->n * sizeof *p->offset);
  memcpy(best->order, order, p->n * sizeof *order);
}

/* One of those that reach the top of the placement at hand, in @order. */
static uint32_t
draw_top(const Plan *p, const uint32_t *order, uint64_t bytes, RaRng *rng)
{
  uint32_t n = 0, chosen = 0;

  for (uint32_t i = 0; i < p->n; i++)
    if (p->offset[order[i]] + p->bytes[order[i]] == bytes &&
        ra_rng_below(rng, ++n) == 0)
      chosen = i;
  return chosen;
}

/* Moves one that reaches the top to an earlier place of the order, as long as
 * that makes nothing higher. */
static void
climb(Plan *p, uint64_t load, Best *best)
{
  g_autofree uint32_t *order = g_memdup2(best->order, p->n * sizeof *order);
  g_autofree uint32_t *was = g_new(uint32_t, p->n);
  RaRng rng = ra_rng_init(0, p->n);
  uint64_t now = place(p, order, TRUE);

  keep(p, order, now, best);
  for (guint k = 0;
       k < MOST_MOVES && best->bytes > load && p->n_looks < MOST_LOOKS; k++) {
    uint32_t from = draw_top(p, order, now, &rng), block = order[from];
    uint32_t to = (uint32_t)ra_rng_below(&rng, from + 1);
    uint64_t bytes;

    memcpy(was, order, p->n * sizeof *order);
    memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = block;
    bytes = place(p, order, TRUE);
    keep(p, order, bytes, best);
    if (bytes <= now) {
      now = bytes;
      continue;
    }
    memcpy(order, was, p->n * sizeof *order);
    place(p, order, TRUE);
  }
}

uint64_t
ra_slab_plan(uint32_t n, RaSlabBlock *blocks, uint64_t align)
{
  g_autofree uint32_t *order = g_new(uint32_t, (gsize)n + 1);
  Best best = {.bytes = UINT64_MAX};
  uint64_t load;
  Plan p;

  g_return_val_if_fail(align > 0, 0);
  if (n == 0)
    return 0;
  load = ra_slab_load(n, blocks, align);
  plan_init(&p, n, blocks, align);
  best.offset = g_new(uint64_t, n);
  best.order = g_new(uint32_t, n);
  for (int by = 0; by < N_ORDERS; by++) {
    sort_order(&p, (Order)by, order);
    for (int lowest = 0; lowest < 2 && best.bytes > load; lowest++)
      keep(&p, order, place(&p, order, lowest), &best);
  }
  if (best.bytes > load)
    climb(&p, load, &best);
  for (uint32_t i = 0; i < n; i++)
    blocks[i].offset = best.offset[i];
  plan_clear(&p);
  g_free(best.offset);
  g_free(best.order);
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
  visit_pairs(n, blocks, check_pair, &check);
  return check.overlaps;
}
