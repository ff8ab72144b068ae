/* Memory account of a lane as blocks with lifetimes. */
#include "config.h"

#include <string.h>

#include "graph/memory/memory_blocks.h"
#include "graph/memory/slab_plan.h"
#include "graph/op/activation.h"

/* Blocks that a pass's activations are in, at most. */
#define KEPT_BLOCKS 4

/* A micro-batch of a train call. */
typedef struct {
  uint32_t node, replica;
  uint16_t stage, mini_batch, micro_batch;
} MicroBatch;

/* Memory that passes have for a holder. */
typedef struct {
  uint64_t bytes;      /* now */
  uint64_t room_bytes; /* of its blocks */
  uint32_t n_blocks;   /* of these */
  uint32_t last;       /* the newest */
} Holding;

typedef struct {
  const RaMemoryTable *table;
  uint32_t lane;
  RaMemoryAhead ahead;
  GArray *blocks;     /* RaMemoryBlock */
  GHashTable *kept;   /* index of its block + 1 by MicroBatch, owned keys */
  uint32_t *of_item;  /* (n_items) block, RA_NONE: none yet */
  Holding *of_holder; /* (n_holders) what passes have */
} Builder;

static guint
micro_batch_hash(gconstpointer data)
{
  const MicroBatch *m = data;

  return ((m->node * 31 + m->replica) * 31 + m->stage) * 8191 +
         m->mini_batch * 127u + m->micro_batch;
}

static gboolean
micro_batch_equal(gconstpointer x, gconstpointer y)
{
  const MicroBatch *a = x, *b = y;

  return a->node == b->node && a->replica == b->replica &&
         a->stage == b->stage && a->mini_batch == b->mini_batch &&
         a->micro_batch == b->micro_batch;
}

static MicroBatch
micro_batch_of(const RaTaskGraph *g, RaTaskId t)
{
  return (MicroBatch){g->node[t], g->replica[t], g->stage[t], g->mini_batch[t],
                      g->micro_batch[t]};
}

static RaMemoryBlock *
block_at(const Builder *b, uint32_t i)
{
  return &g_array_index(b->blocks, RaMemoryBlock, i);
}

/* Adds a block from @first to the end of the run, until its end is set. */
static uint32_t
add_block(Builder *b, uint32_t holder, uint32_t item, RaTaskId first,
          uint64_t bytes)
{
  RaMemoryBlock block = {.holder = holder,
                         .item = item,
                         .first = first,
                         .last = b->table->graph->n_tasks - 1,
                         .begin = RA_NONE,
                         .end = RA_NONE,
                         .before = RA_NONE,
                         .bytes = bytes,
                         .offset = 0};

  g_array_append_val(b->blocks, block);
  return b->blocks->len - 1;
}

static void
add_while(Builder *b, uint32_t holder, RaTaskId t, uint64_t bytes)
{
  if (bytes > 0)
    block_at(b, add_block(b, holder, RA_NONE, t, bytes))->last = t;
}

/* Adds @bytes to holder @holder, or frees them.  Bytes that a task adds are a
 * block, and all of them end when nothing is left. */
static void
change_holder(Builder *b, uint32_t holder, RaTaskId t, int64_t bytes)
{
  Holding *h = &b->of_holder[holder];
  RaMemoryBlock *last;

  if (bytes == 0)
    return;
  h->bytes = (uint64_t)((int64_t)h->bytes + bytes);
  if (h->bytes > h->room_bytes) {
    last = h->n_blocks > 0 ? block_at(b, h->last) : NULL;
    if (last && last->first == t) {
      last->bytes += h->bytes - h->room_bytes;
    } else {
      uint32_t at = add_block(b, holder, RA_NONE, t, h->bytes - h->room_bytes);

      block_at(b, at)->before = h->n_blocks > 0 ? h->last : RA_NONE;
      h->last = at;
      h->n_blocks++;
    }
    h->room_bytes = h->bytes;
  }
  if (h->bytes > 0)
    return;
  for (uint32_t i = h->last; h->n_blocks > 0; h->n_blocks--) {
    block_at(b, i)->last = t;
    i = block_at(b, i)->before;
  }
  h->room_bytes = 0;
}

/* Adds the memory that the forward @first has kept for the backward @t, in
 * blocks of layers, which need not be adjacent. */
static void
add_kept(Builder *b, uint32_t holder, RaTaskId first, RaTaskId t)
{
  const RaTaskGraph *g = b->table->graph;
  const RaWork *w = &g->works[g->work[t]];
  uint32_t n = CLAMP(w->piece.n_layers, 1, KEPT_BLOCKS);

  for (uint32_t i = 0; i < n; i++) {
    uint32_t begin = w->piece.n_layers * i / n;
    RaPiece part = {.first_layer = w->piece.first_layer + begin,
                    .n_layers = w->piece.n_layers * (i + 1) / n - begin,
                    .has_embedding = w->piece.has_embedding && i == 0,
                    .has_head = w->piece.has_head && i == n - 1};
    uint64_t bytes =
        ra_activation_bytes(&g->shards[w->shard], &part, &w->batch);

    if (bytes > 0)
      block_at(b, add_block(b, holder, RA_NONE, first, bytes))->last = t;
  }
}

/* Parts of a backward each drop what their layers kept. */
static void
add_effect(Builder *b, RaTaskId t, const RaMemoryEffect *e)
{
  uint32_t holder = ra_holder((RaHold)e->hold, e->call);
  MicroBatch m = micro_batch_of(b->table->graph, t);

  add_while(b, ra_holder((RaHold)e->work_hold, e->call), t, e->work_bytes);
  if (e->take_bytes > 0)
    g_hash_table_insert(b->kept, g_memdup2(&m, sizeof m), GUINT_TO_POINTER(t));
  else if (e->drop_bytes > 0)
    add_kept(b, holder, GPOINTER_TO_UINT(g_hash_table_lookup(b->kept, &m)), t);
}

static void
add_change(Builder *b, const RaMemoryChange *c)
{
  RaMemoryBlock *block;

  if (c->item == RA_NONE) {
    change_holder(b, c->holder, c->task, c->bytes);
    return;
  }
  if (c->bytes > 0)
    b->of_item[c->item] =
        add_block(b, c->holder, c->item, ra_memory_ahead_task(&b->ahead, c),
                  (uint64_t)c->bytes);
  block = block_at(b, b->of_item[c->item]);
  if (c->bytes > 0) {
    block->begin = ra_memory_ahead_moment(&b->ahead, c);
  } else {
    block->last = c->task;
    block->end = ra_memory_ahead_moment(&b->ahead, c);
  }
}

/* Fills the moments of blocks that no copy brings or takes away. */
static void
fill_moments(Builder *b)
{
  for (guint i = 0; i < b->blocks->len; i++) {
    RaMemoryBlock *block = block_at(b, i);

    if (block->begin == RA_NONE)
      block->begin = 2 * block->first;
    if (block->end == RA_NONE)
      block->end = 2 * block->last + 2;
  }
}

uint64_t
ra_memory_lane_item_bytes(const RaMemoryTable *table, const RaMemoryItem *item,
                          uint32_t lane)
{
  uint64_t most = 0;

  for (uint32_t i = table->kind_begin[lane]; i < table->kind_begin[lane + 1];
       i++)
    most =
        MAX(most, ra_memory_item_bytes(table->memory, item, table->kinds[i]));
  return most;
}

/* Adds the memory that is present when the run begins. */
static void
add_base(Builder *b)
{
  for (guint i = 0; i < b->table->items->len; i++) {
    const RaMemoryItem *item = &g_array_index(b->table->items, RaMemoryItem, i);
    uint64_t bytes = ra_memory_lane_item_bytes(b->table, item, b->lane);

    if (item->first == RA_NONE && bytes > 0)
      b->of_item[i] = add_block(b, item->holder, i, 0, bytes);
  }
}

static gboolean
is_on(const RaTaskGraph *g, RaTaskId t, uint32_t lane)
{
  for (uint32_t i = g->group_begin[g->group[t]];
       i < g->group_begin[g->group[t] + 1]; i++)
    if (g->group_lane[i] == lane)
      return TRUE;
  return FALSE;
}

GArray *
ra_memory_blocks(const RaMemoryTable *table, uint32_t lane)
{
  const RaTaskGraph *g = table->graph;
  uint32_t n_holders = ra_memory_n_holders(table->memory);
  uint32_t n_items = table->items->len;
  uint32_t k = table->change_begin[lane];
  Builder b = {.table = table, .lane = lane};

  b.blocks = g_array_new(FALSE, FALSE, sizeof(RaMemoryBlock));
  b.kept =
      g_hash_table_new_full(micro_batch_hash, micro_batch_equal, g_free, NULL);
  b.of_item = g_new(uint32_t, (gsize)n_items + 1);
  b.of_holder = g_new0(Holding, (gsize)n_holders + 1);
  memset(b.of_item, 0xff, n_items * sizeof *b.of_item);
  ra_memory_ahead_init(&b.ahead, table, lane);
  add_base(&b);
  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    if (table->effect[t] != RA_NONE && is_on(g, t, lane))
      add_effect(&b, t, &table->effects[table->effect[t]]);
    for (; k < table->change_begin[lane + 1] && table->changes[k].task == t;
         k++)
      add_change(&b, &table->changes[k]);
  }
  fill_moments(&b);
  ra_memory_ahead_clear(&b.ahead);
  g_hash_table_unref(b.kept);
  g_free(b.of_item);
  g_free(b.of_holder);
  return b.blocks;
}

/* Change of an item that overlaps a call. */
typedef struct {
  uint32_t moment;
  int64_t bytes;
} Moved;

/* Order of changes: frees come first. */
static int
compare_moved(const void *a, const void *b)
{
  const Moved *x = a, *y = b;

  if (x->moment != y->moment)
    return x->moment < y->moment ? -1 : 1;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* (transfer full) */
static GArray *
moved_of(const RaMemoryAhead *ahead, uint32_t lane)
{
  const RaMemoryTable *table = ahead->table;
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Moved));

  for (uint32_t k = table->change_begin[lane];
       k < table->change_begin[lane + 1]; k++) {
    const RaMemoryChange *c = &table->changes[k];
    Moved moved = {ra_memory_ahead_moment(ahead, c), c->bytes};

    if (moved.moment % 2 == 1)
      g_array_append_val(all, moved);
  }
  g_array_sort(all, compare_moved);
  return all;
}

uint64_t
ra_memory_order_peak(const RaMemoryTable *table, uint32_t lane)
{
  const RaTaskGraph *g = table->graph;
  uint32_t n_holders = ra_memory_n_holders(table->memory);
  g_autofree uint64_t *base = g_new(uint64_t, (gsize)n_holders + 1);
  uint32_t k = table->change_begin[lane], k_end = table->change_begin[lane + 1];
  RaMemoryAhead ahead;
  g_autoptr(GArray) moved = NULL;
  guint n_moved = 0;
  int64_t now, most;

  ra_memory_ahead_init(&ahead, table, lane);
  moved = moved_of(&ahead, lane);
  ra_memory_table_base(table, lane, base);
  most = now = (int64_t)ra_memory_sum(base, n_holders);
  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    gboolean has = table->effect[t] != RA_NONE && is_on(g, t, lane);
    const RaMemoryEffect *e = has ? &table->effects[table->effect[t]] : NULL;

    now += e ? (int64_t)(e->take_bytes + e->work_bytes) : 0;
    for (uint32_t step = 0; step <= RA_MEMORY_STEPS; step++) {
      for (; k < k_end && table->changes[k].task == t &&
             table->changes[k].step == step;
           k++)
        if (!ra_memory_ahead_moves(&ahead, &table->changes[k]))
          now += table->changes[k].bytes;
      if (step < RA_MEMORY_STEPS)
        most = MAX(most, now);
      for (; n_moved < moved->len &&
             g_array_index(moved, Moved, n_moved).moment == 2 * t + 1;
           n_moved++)
        now += g_array_index(moved, Moved, n_moved).bytes;
    }
    now -= e ? (int64_t)(e->work_bytes + e->drop_bytes) : 0;
  }
  ra_memory_ahead_clear(&ahead);
  return (uint64_t)most;
}

uint64_t
ra_memory_blocks_plan(GArray *blocks, uint64_t align)
{
  g_autofree RaSlabBlock *slab = g_new(RaSlabBlock, (gsize)blocks->len + 1);
  uint64_t bytes;

  for (guint i = 0; i < blocks->len; i++) {
    const RaMemoryBlock *m = &g_array_index(blocks, RaMemoryBlock, i);

    slab[i] = (RaSlabBlock){m->bytes, m->begin, m->end, 0};
  }
  bytes = ra_slab_plan(blocks->len, slab, align);
  for (guint i = 0; i < blocks->len; i++)
    g_array_index(blocks, RaMemoryBlock, i).offset = slab[i].offset;
  return bytes;
}
