/* Builder of task graphs: queues, edges, shared records. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "graph/expand/builder.h"

/* A task as it waits to be laid out in columns. */
typedef struct {
  uint8_t kind, stream;
  uint16_t stage, mini_batch, micro_batch, bucket;
  uint32_t replica, node, work, dynamic, group;
} RaRow;

/* An edge as it waits to be sorted by its source. */
typedef struct {
  RaTaskId from, to;
} RaPendingEdge;

/* Where a work is found. */
typedef struct {
  uint32_t id;   /* work + 1, 0: free */
  uint32_t hash; /* of it, so that others need not be looked at */
} RaWorkSlot;

struct _RaBuilder {
  const RaAugmented *augmented;
  RaFidelity fidelity;
  uint64_t seed;
  RaArena *arena; /* becomes the graph's */
  RaLaneMap *lanes;
  RaTaskId *tail;            /* (lanes x streams) last task of each queue */
  RaTaskId *node_end;        /* (nodes) */
  uint64_t *transfer_bytes;  /* (nodes) arena; NULL: no transfers */
  RaSequenceSet **sets;      /* (iterations x calls) made on demand */
  RaSequenceSet **trip_sets; /* (iterations x calls x max-trips) the same; NULL:
                                no trips */
  RaRow *rows;               /* (n_tasks) */
  uint64_t n_tasks, row_capacity;
  RaPendingEdge *edges; /* (n_edges) */
  uint64_t n_edges, edge_capacity;
  GArray *works, *shards, *dynamics;
  RaWorkSlot *slots; /* (n_slots) open addressing */
  uint32_t n_slots;  /* a power of two */
};

RaBuilder *
ra_builder_new(const RaAugmented *augmented, RaFidelity fidelity, uint64_t seed)
{
  RaBuilder *b = g_new0(RaBuilder, 1);
  gsize n_queues;

  b->augmented = augmented;
  b->fidelity = fidelity;
  b->seed = seed;
  b->arena = ra_arena_new(0);
  b->lanes = ra_lane_map_new(b->arena, augmented->plan);
  n_queues = (gsize)ra_lane_map_n_lanes(b->lanes) * RA_N_STREAMS;
  b->tail = g_new(RaTaskId, MAX(n_queues, 1));
  memset(b->tail, 0xff, n_queues * sizeof *b->tail);
  b->node_end = g_new(RaTaskId, MAX(augmented->n_nodes, 1u));
  memset(b->node_end, 0xff, augmented->n_nodes * sizeof *b->node_end);
  b->sets = g_new0(RaSequenceSet *, (gsize)augmented->n_iterations *
                                        augmented->plan->workload->n_calls);
  b->works = g_array_new(FALSE, FALSE, sizeof(RaWork));
  b->shards = g_array_new(FALSE, FALSE, sizeof(RaShard));
  b->dynamics = g_array_new(FALSE, FALSE, sizeof(RaDynamic));
  b->n_slots = 1024;
  b->slots = g_new0(RaWorkSlot, b->n_slots);
  return b;
}

void
ra_builder_free(RaBuilder *b)
{
  if (!b)
    return;
  ra_lane_map_free(b->lanes);
  ra_arena_free(b->arena);
  g_free(b->tail);
  g_free(b->node_end);
  g_free(b->sets);
  g_free(b->trip_sets);
  g_free(b->rows);
  g_free(b->edges);
  g_array_unref(b->works);
  g_array_unref(b->shards);
  g_array_unref(b->dynamics);
  g_free(b->slots);
  g_free(b);
}

const RaAugmented *
ra_builder_augmented(const RaBuilder *builder)
{
  return builder->augmented;
}

RaLaneMap *
ra_builder_lanes(RaBuilder *builder)
{
  return builder->lanes;
}

RaArena *
ra_builder_arena(RaBuilder *builder)
{
  return builder->arena;
}

const RaSequenceSet *
ra_builder_sequences(RaBuilder *b, uint32_t set, uint32_t iteration)
{
  const RaPlan *plan = b->augmented->plan;
  RaSequenceSet **slot =
      &b->sets[(gsize)iteration * plan->workload->n_calls + set];

  if (!*slot)
    *slot = ra_sequence_set_new(b->arena, plan, set, iteration, b->seed);
  return *slot;
}

const RaSequenceSet *
ra_builder_node_sequences(RaBuilder *b, uint32_t node)
{
  const RaPlan *plan = b->augmented->plan;
  const RaWorkload *w = plan->workload;
  const RaNode *n = &b->augmented->nodes[node];
  const RaCall *call = &w->calls[n->call];
  gsize n_cells = (gsize)b->augmented->n_iterations * w->n_calls;
  uint32_t set =
      n->kind == RA_NODE_TRANSFER ? w->calls[n->source].set : call->set;
  RaSequenceSet **slot;

  if (!call->each_trip)
    return ra_builder_sequences(b, set, n->iteration);
  if (!b->trip_sets)
    b->trip_sets = g_new0(RaSequenceSet *, n_cells * w->max_trips);
  slot = &b->trip_sets[((gsize)n->iteration * w->n_calls + set) * w->max_trips +
                       n->trip];
  if (!*slot)
    *slot = ra_sequence_set_new_trip(b->arena, plan, set, n->iteration, n->trip,
                                     b->seed);
  return *slot;
}

void
ra_builder_edge(RaBuilder *b, RaTaskId from, RaTaskId to)
{
  if (from == RA_NONE || to == RA_NONE)
    return;
  if (b->n_edges == b->edge_capacity) {
    b->edge_capacity = MAX(1024, b->edge_capacity * 2);
    b->edges = g_renew(RaPendingEdge, b->edges, b->edge_capacity);
  }
  b->edges[b->n_edges++] = (RaPendingEdge){from, to};
}

/* Puts @task at the end of its queue on every lane of @group. */
static void
enqueue(RaBuilder *b, RaTaskId task, uint32_t group, RaStream stream)
{
  uint32_t n;
  const uint32_t *lanes = ra_lane_map_lanes(b->lanes, group, &n);
  RaTaskId last = RA_NONE;

  for (uint32_t i = 0; i < n; i++) {
    RaTaskId *tail = &b->tail[(gsize)lanes[i] * RA_N_STREAMS + stream];
    if (*tail != last && *tail != task) /* neighbours mostly share one */
      ra_builder_edge(b, last = *tail, task);
    *tail = task;
  }
}

void
ra_builder_after(RaBuilder *b, uint32_t group, RaStream stream, RaTaskId to)
{
  uint32_t n;
  const uint32_t *lanes = ra_lane_map_lanes(b->lanes, group, &n);
  RaTaskId last = RA_NONE;

  for (uint32_t i = 0; i < n; i++) {
    RaTaskId tail = b->tail[(gsize)lanes[i] * RA_N_STREAMS + stream];
    if (tail != last) /* neighbours mostly share one */
      ra_builder_edge(b, last = tail, to);
  }
}

RaTaskId
ra_builder_task(RaBuilder *b, const RaTaskSpec *s)
{
  RaTaskId task = (RaTaskId)b->n_tasks;

  if (b->n_tasks == b->row_capacity) {
    b->row_capacity = MAX(1024, b->row_capacity * 2);
    b->rows = g_renew(RaRow, b->rows, b->row_capacity);
  }
  b->rows[b->n_tasks++] =
      (RaRow){(uint8_t)s->kind, (uint8_t)s->stream, s->stage,   s->mini_batch,
              s->micro_batch,   s->bucket,          s->replica, s->node,
              s->work,          s->dynamic,         s->group};
  if (s->receiver != RA_NONE) {
    enqueue(b, task, s->sender, s->stream);
    enqueue(b, task, s->receiver, s->stream + 1);
  } else if (s->stream != RA_STREAM_NONE) {
    enqueue(b, task, s->group, s->stream);
  }
  return task;
}

uint32_t
ra_builder_task_weight(const RaBuilder *b, RaTaskId task)
{
  return ra_lane_map_group_weight(b->lanes, b->rows[task].group);
}

/* A work's content without the padding of its struct. */
static uint64_t
work_hash(const RaWork *w)
{
  uint64_t h = ra_hash_u64(RA_HASH_INIT, w->shard);

  if (w->shard == RA_NONE) {
    h = ra_hash_u64(h, w->op.kind | (uint64_t)w->op.dtype << 8 |
                           (uint64_t)w->op.count << 32);
    for (guint i = 0; i < RA_OP_DIMS; i++)
      h = ra_hash_u64(h, w->op.dim[i]);
    return h;
  }
  h = ra_hash_u64(h, w->phase | (uint64_t)w->piece.has_embedding << 8 |
                         (uint64_t)w->piece.has_head << 16 |
                         (uint64_t)w->piece.n_layers << 32);
  h = ra_hash_u64(h, w->piece.first_layer);
  h = ra_hash_u64(h, w->batch.n_sequences);
  h = ra_hash_u64(h, w->batch.q_tokens);
  h = ra_hash_u64(h, w->batch.kv_tokens);
  return ra_hash_u64(h, w->batch.pairs);
}

static gboolean
work_equal(const RaWork *a, const RaWork *b)
{
  if (a->shard != b->shard)
    return FALSE;
  if (a->shard == RA_NONE)
    return a->op.kind == b->op.kind && a->op.dtype == b->op.dtype &&
           a->op.count == b->op.count &&
           memcmp(a->op.dim, b->op.dim, sizeof a->op.dim) == 0;
  return a->phase == b->phase && a->piece.first_layer == b->piece.first_layer &&
         a->piece.n_layers == b->piece.n_layers &&
         a->piece.has_embedding == b->piece.has_embedding &&
         a->piece.has_head == b->piece.has_head &&
         a->batch.n_sequences == b->batch.n_sequences &&
         a->batch.q_tokens == b->batch.q_tokens &&
         a->batch.kv_tokens == b->batch.kv_tokens &&
         a->batch.pairs == b->batch.pairs;
}

/* The slot of @work, or the free one where it belongs. */
static RaWorkSlot *
find_slot(RaBuilder *b, const RaWork *work, uint32_t hash)
{
  uint32_t mask = b->n_slots - 1, i = hash & mask;

  while (
      b->slots[i].id &&
      (b->slots[i].hash != hash ||
       !work_equal(&g_array_index(b->works, RaWork, b->slots[i].id - 1), work)))
    i = (i + 1) & mask;
  return &b->slots[i];
}

/* Twice the slots: no two works are equal, so hashes are enough. */
static void
grow_slots(RaBuilder *b)
{
  uint32_t n = b->n_slots, mask = 2 * n - 1;
  RaWorkSlot *slots = g_new0(RaWorkSlot, 2 * (gsize)n);

  for (uint32_t j = 0; j < n; j++) {
    uint32_t i = b->slots[j].hash & mask;
    if (!b->slots[j].id)
      continue;
    while (slots[i].id)
      i = (i + 1) & mask;
    slots[i] = b->slots[j];
  }
  g_free(b->slots);
  b->slots = slots;
  b->n_slots = 2 * n;
}

uint32_t
ra_builder_work(RaBuilder *b, const RaWork *work)
{
  uint32_t hash = (uint32_t)work_hash(work);
  RaWorkSlot *slot = find_slot(b, work, hash);

  if (slot->id)
    return slot->id - 1;
  g_array_append_vals(b->works, work, 1);
  *slot = (RaWorkSlot){b->works->len, hash};
  if (b->works->len * 2 > b->n_slots)
    grow_slots(b);
  return b->works->len - 1;
}

uint32_t
ra_builder_shard(RaBuilder *b, const RaShard *shard)
{
  g_array_append_vals(b->shards, shard, 1);
  return b->shards->len - 1;
}

uint32_t
ra_builder_dynamic(RaBuilder *b, const RaDynamic *dynamic)
{
  g_array_append_vals(b->dynamics, dynamic, 1);
  return b->dynamics->len - 1;
}

RaTaskId
ra_builder_node_end(const RaBuilder *builder, uint32_t node)
{
  return builder->node_end[node];
}

void
ra_builder_set_node_end(RaBuilder *builder, uint32_t node, RaTaskId task)
{
  builder->node_end[node] = task;
}

void
ra_builder_set_transfer(RaBuilder *b, uint32_t node, uint64_t bytes)
{
  if (!b->transfer_bytes)
    b->transfer_bytes = ra_arena_alloc(b->arena, b->augmented->n_nodes,
                                       sizeof *b->transfer_bytes);
  b->transfer_bytes[node] = bytes;
}

/* Counting sort of the edges by source, stable: successors stay in the order
 * in which edges were added. */
static void
finish_edges(RaBuilder *b, RaTaskGraph *g)
{
  uint32_t n = g->n_tasks;
  uint32_t *begin = ra_arena_alloc(g->arena, (gsize)n + 1, sizeof *begin);
  RaTaskId *succ = ra_arena_alloc(g->arena, b->n_edges, sizeof *succ);
  uint32_t *n_pred = ra_arena_alloc(g->arena, n, sizeof *n_pred);

  for (uint64_t e = 0; e < b->n_edges; e++) {
    begin[b->edges[e].from + 1]++;
    n_pred[b->edges[e].to]++;
  }
  for (uint32_t t = 0; t < n; t++)
    begin[t + 1] += begin[t];
  for (uint64_t e = 0; e < b->n_edges; e++)
    succ[begin[b->edges[e].from]++] = b->edges[e].to;
  for (uint32_t t = n; t > 0; t--)
    begin[t] = begin[t - 1];
  begin[0] = 0;
  g->succ_begin = begin;
  g->succ = succ;
  g->n_pred = n_pred;
}

#define COLUMN(name)                                                           \
  do {                                                                         \
    __typeof__(b->rows->name) *column =                                        \
        ra_arena_alloc(g->arena, g->n_tasks, sizeof *column);                  \
    for (uint32_t t = 0; t < g->n_tasks; t++)                                  \
      column[t] = b->rows[t].name;                                             \
    g->name = column;                                                          \
  } while (0)

static void
finish_columns(RaBuilder *b, RaTaskGraph *g)
{
  COLUMN(kind);
  COLUMN(stream);
  COLUMN(stage);
  COLUMN(mini_batch);
  COLUMN(micro_batch);
  COLUMN(bucket);
  COLUMN(replica);
  COLUMN(node);
  COLUMN(work);
  COLUMN(dynamic);
  COLUMN(group);
}

static void *
keep(RaArena *arena, const GArray *array)
{
  gsize size = g_array_get_element_size((GArray *)(gpointer)array);
  void *copy = ra_arena_alloc(arena, array->len, size);
  if (array->len)
    memcpy(copy, array->data, array->len * size);
  return copy;
}

/* The rollouts of the sets that were asked for. */
static const RaRollout *const *
keep_rollouts(RaBuilder *b, RaArena *arena)
{
  const RaWorkload *w = b->augmented->plan->workload;
  gsize n = (gsize)b->augmented->n_iterations * w->n_calls;
  const RaRollout **rollouts = NULL;

  for (gsize i = 0; i < n; i++) {
    if (!b->sets[i] || !b->sets[i]->rollout)
      continue;
    if (!rollouts)
      rollouts = ra_arena_alloc(arena, n, sizeof *rollouts);
    rollouts[i] = b->sets[i]->rollout;
  }
  return rollouts;
}

RaTaskGraph *
ra_builder_finish(RaBuilder *b, GError **error)
{
  RaTaskGraph *g;

  if (b->n_tasks >= RA_NONE || b->n_edges >= RA_NONE) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "the plan makes %" G_GUINT64_FORMAT
                " tasks and %" G_GUINT64_FORMAT
                " edges, expected fewer than 2^32 of each",
                b->n_tasks, b->n_edges);
    return NULL;
  }
  g = g_new0(RaTaskGraph, 1);
  g->arena = g_steal_pointer(&b->arena);
  g->augmented = b->augmented;
  g->fidelity = b->fidelity;
  g->seed = b->seed;
  g->n_tasks = (uint32_t)b->n_tasks;
  finish_columns(b, g);
  g_clear_pointer(&b->rows, g_free);
  finish_edges(b, g);
  g->n_works = b->works->len;
  g->works = keep(g->arena, b->works);
  g->n_shards = b->shards->len;
  g->shards = keep(g->arena, b->shards);
  g->rollouts = keep_rollouts(b, g->arena);
  g->transfer_bytes = b->transfer_bytes;
  g->n_dynamics = b->dynamics->len;
  g->dynamics = keep(g->arena, b->dynamics);
  ra_lane_map_finish(b->lanes, g);
  return g;
}
