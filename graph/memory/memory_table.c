/* Memory table: effects and changes of all tasks of a graph. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/input/plan_batching.h"
#include "graph/memory/memory_generate.h"
#include "graph/memory/memory_table.h"
#include "graph/op/activation.h"

/* The table under construction. */
typedef struct {
  const RaTaskGraph *graph;
  const RaMemory *memory;
  RaMemoryTable *table;
  GArray *effects;     /* RaMemoryEffect */
  GArray *changes;     /* RaMemoryChange */
  uint32_t *by_work;   /* (n_works x 2) effect of a work in a call that trains
                        (1) or not (0); RA_NONE: not yet */
  GArray *items;       /* RaMemoryItem */
  uint32_t *row;       /* (n_nodes) row of `ends` of a node that items name, or
                        RA_NONE */
  uint32_t *ends;      /* (rows, 2, n_lanes) first and last task of the node */
  GArray *prefilled;   /* RaPrefilled */
  RaCallLoad *loads;   /* (n_calls), call fidelity only */
  RaTransients **most; /* (n_calls) (pp), NULL: not yet; call fidelity only */
} RaTableBuilder;

/* First (0) or last (1) task of @node on @lane. */
static uint32_t *
end_of(const RaTableBuilder *b, uint32_t node, uint32_t last, uint32_t lane)
{
  return &b->ends[((gsize)b->row[node] * 2 + last) * b->graph->n_lanes + lane];
}

static void
add_item_change(RaTableBuilder *b, uint32_t lane, RaTaskId task, uint32_t step,
                uint32_t holder, uint32_t item, int64_t bytes)
{
  RaMemoryChange change = {lane, task, holder, step, item, bytes};

  if (bytes != 0)
    g_array_append_val(b->changes, change);
}

static void
add_change(RaTableBuilder *b, uint32_t lane, RaTaskId task, uint32_t step,
           uint32_t holder, int64_t bytes)
{
  add_item_change(b, lane, task, step, holder, RA_NONE, bytes);
}

/* @bytes on @lane while @task runs. */
static void
add_while(RaTableBuilder *b, uint32_t lane, RaTaskId task, uint32_t holder,
          uint64_t bytes)
{
  add_change(b, lane, task, 0, holder, (int64_t)bytes);
  add_change(b, lane, task, RA_MEMORY_STEPS, holder, -(int64_t)bytes);
}

/* Stage fidelity: a lane is on one stage of a call. */
static uint32_t
stage_of(const RaTableBuilder *b, uint32_t call, uint32_t lane)
{
  return ra_memory_stage(b->memory, call, b->graph->lanes[lane].first_gpu);
}

/* Stage of @call that computes @piece, or part of one of its chunks. */
static uint32_t
stage_of_piece(const RaMemory *memory, uint32_t call, const RaPiece *piece)
{
  const RaCallMemory *c = &memory->calls[call];
  uint32_t u = c->n_pieces - 1;

  while (u > 0 && c->pieces[u].first_layer > piece->first_layer)
    u--;
  return u % memory->plan->calls[call].pp;
}

/* Effect of a pass of a micro-batch. */
static RaMemoryEffect
pass_effect(const RaMemory *memory, const RaTaskGraph *g, uint32_t call,
            const RaWork *w)
{
  int kind = memory->plan->workload->calls[call].kind;
  const RaShard *shard = &g->shards[w->shard];
  RaMemoryEffect e = {.call = call,
                      .hold = RA_HOLD_ACTIVATIONS,
                      .work_hold = RA_HOLD_WORKSPACE};
  uint64_t kept;

  e.work_bytes =
      ra_workspace_bytes(shard, &w->piece, (RaPhase)w->phase, &w->batch) +
      ra_call_whole_bytes(memory, call, (RaPhase)w->phase, &w->piece) +
      memory->calls[call]
          .stages[stage_of_piece(memory, call, &w->piece)]
          .fp8_bytes;
  if (kind == RA_CALL_TRAIN) {
    kept = ra_activation_bytes(shard, &w->piece, &w->batch);
    if (w->phase == RA_PHASE_BACKWARD)
      e.drop_bytes = kept;
    else
      e.take_bytes = kept;
  }
  return e;
}

static uint32_t
add_effect(RaTableBuilder *b, const RaMemoryEffect *effect)
{
  g_array_append_vals(b->effects, effect, 1);
  return b->effects->len - 1;
}

static void
add_pass(RaTableBuilder *b, RaTaskId t, uint32_t call)
{
  const RaTaskGraph *g = b->graph;
  uint32_t *known = &b->by_work[g->work[t]];

  if (*known == RA_NONE) {
    RaMemoryEffect e = pass_effect(b->memory, g, call, &g->works[g->work[t]]);
    *known = add_effect(b, &e);
  }
  b->table->effect[t] = *known;
}

/* Adds what a prefill leaves: the keys and values of its prompts. */
static void
add_prefill(RaTableBuilder *b, RaTaskId t, uint32_t call)
{
  const RaTaskGraph *g = b->graph;
  const RaWork *w = &g->works[g->work[t]];
  uint64_t bytes = ra_prefill_kv_room(g, b->prefilled, t) *
                   ra_kv_token_bytes(&g->shards[w->shard], &w->piece);

  for (uint32_t i = g->group_begin[g->group[t]];
       i < g->group_begin[g->group[t] + 1]; i++)
    add_change(b, g->group_lane[i], t, 0, ra_holder(RA_HOLD_KV, call),
               (int64_t)bytes);
}

/* 16-bit gradients are copied to fp32 while the optimizer runs. */
static void
add_step(RaTableBuilder *b, RaTaskId t, uint32_t call)
{
  const RaTaskGraph *g = b->graph;
  uint32_t group = g->group[t];

  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++) {
    uint32_t lane = g->group_lane[i], stage = stage_of(b, call, lane);
    add_while(b, lane, t, ra_holder(RA_HOLD_BUFFERS, call),
              b->memory->calls[call].stages[stage].step_bytes);
  }
}

/* A cache that grows evenly from @before to @most tokens; by the begin of a
 * step it has all that the step brings. */
static void
add_growth(RaTableBuilder *b, uint32_t lane, RaTaskId t, uint32_t holder,
           uint64_t before, uint64_t most, uint64_t token_bytes)
{
  uint64_t now = before;

  for (uint32_t k = 0; k < RA_MEMORY_STEPS; k++) {
    uint64_t next = before + (most - before) * (k + 1) / RA_MEMORY_STEPS;
    add_change(b, lane, t, k, holder, (int64_t)((next - now) * token_bytes));
    now = next;
  }
}

/* Workspace of a step, which with continuous batching may be all prompts. */
static uint64_t
decode_workspace(const RaTableBuilder *b, uint32_t call, uint32_t stage,
                 gboolean continuous, const RaBatch *step)
{
  uint64_t decode =
      ra_call_workspace_bytes(b->memory, call, stage, RA_PHASE_DECODE, step);
  uint64_t prefill = continuous
                         ? ra_call_workspace_bytes(b->memory, call, stage,
                                                   RA_PHASE_FORWARD, step)
                         : 0;

  return MAX(decode, prefill);
}

/* A replica's cache grows to the part's most and shrinks to what still lives
 * after it. */
static void
add_decode(RaTableBuilder *b, RaTaskId t, uint32_t call)
{
  const RaTaskGraph *g = b->graph;
  const RaDynamic *d = &g->dynamics[g->dynamic[t]];
  uint32_t part = g->mini_batch[t] - d->first_part, group = g->group[t];
  uint32_t size = (d->n_sequences + d->n_groups - 1) / d->n_groups;
  gboolean continuous = d->batching.max_sequences > 0;
  RaBatch step = {size, size, 0, 0};
  RaPartRoom room = ra_dynamic_kv_room(d, &b->memory->plan->calls[call], part);

  if (continuous)
    step = ra_dynamic_largest_step(d);
  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++) {
    uint32_t lane = g->group_lane[i], stage = stage_of(b, call, lane);
    uint64_t token = ra_call_kv_token_bytes(b->memory, call, stage);
    uint32_t kv = ra_holder(RA_HOLD_KV, call);

    add_growth(b, lane, t, kv, room.before, room.peak, token);
    add_while(b, lane, t, kv, ra_call_kv_fixed_bytes(b->memory, call, stage));
    add_change(b, lane, t, RA_MEMORY_STEPS, kv,
               -(int64_t)((room.peak - room.left) * token));
    add_while(b, lane, t, ra_holder(RA_HOLD_WORKSPACE, call),
              decode_workspace(b, call, stage, continuous, &step));
  }
}

/* Transients of @call on the stage of @lane that has most of them. */
static void
fill_most(RaTableBuilder *b, uint32_t call, uint32_t lane, uint64_t *out_bytes,
          uint64_t *scratch)
{
  const RaMemoryTable *table = b->table;
  uint32_t n = ra_memory_n_holders(b->memory);
  uint64_t most = 0;

  memset(out_bytes, 0, n * sizeof *out_bytes);
  if (!b->most[call])
    b->most[call] = ra_call_transients_new(b->memory, call, &b->loads[call]);
  for (uint32_t i = table->kind_begin[lane]; i < table->kind_begin[lane + 1];
       i++) {
    uint32_t stage = ra_memory_stage(b->memory, call, table->kinds[i]);
    uint64_t sum = 0;
    memset(scratch, 0, n * sizeof *scratch);
    if (stage != RA_NONE)
      ra_transients_add(&b->most[call][stage], call, scratch);
    for (uint32_t h = 0; h < n; h++)
      sum += scratch[h];
    if (sum <= most)
      continue;
    most = sum;
    memcpy(out_bytes, scratch, n * sizeof *out_bytes);
  }
}

/* At call fidelity a call holds its most while it runs; a cache grows. */
static void
add_whole_call(RaTableBuilder *b, RaTaskId t, uint32_t call)
{
  const RaTaskGraph *g = b->graph;
  uint32_t group = g->group[t], n = ra_memory_n_holders(b->memory);
  uint32_t kv = ra_holder(RA_HOLD_KV, call);
  g_autofree uint64_t *bytes = g_new(uint64_t, n);
  g_autofree uint64_t *scratch = g_new(uint64_t, n);

  if (!b->loads) {
    b->loads = ra_call_loads_new(g->augmented->plan, g->augmented->n_iterations,
                                 g->seed);
    b->most = g_new0(RaTransients *, b->memory->n_calls);
  }
  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++) {
    uint32_t lane = g->group_lane[i];

    fill_most(b, call, lane, bytes, scratch);
    add_growth(b, lane, t, kv, 0, bytes[kv], 1);
    add_change(b, lane, t, RA_MEMORY_STEPS, kv, -(int64_t)bytes[kv]);
    bytes[kv] = 0;
    for (uint32_t h = 0; h < n; h++)
      add_while(b, lane, t, h, bytes[h]);
  }
}

/* Notes the task as its node's, on all its lanes.  Of a call only the compute
 * queue counts: it is in order, and nothing of the call runs after it that
 * needs the parameters. */
static void
note_ends(RaTableBuilder *b, RaTaskId t)
{
  const RaTaskGraph *g = b->graph;
  uint32_t node = g->node[t], group = g->group[t];

  if (b->row[node] == RA_NONE ||
      (g->augmented->nodes[node].kind == RA_NODE_CALL &&
       g->stream[t] != RA_STREAM_COMPUTE))
    return;
  for (uint32_t i = g->group_begin[group]; i < g->group_begin[group + 1]; i++) {
    uint32_t *first = end_of(b, node, 0, g->group_lane[i]);
    if (*first == RA_NONE)
      *first = t;
    *end_of(b, node, 1, g->group_lane[i]) = t;
  }
}

/* Keys and values that are copied are at both ends while they move. */
static void
add_migration(RaTableBuilder *b, RaTaskId t, uint32_t call)
{
  uint32_t n = b->graph->n_lanes, kv = ra_holder(RA_HOLD_KV, call);
  g_autofree uint64_t *in = g_new0(uint64_t, 2 * (gsize)n);

  ra_migration_lane_tokens(b->graph, t, in, in + n);
  for (uint32_t lane = 0; lane < n; lane++) {
    uint32_t s = stage_of(b, call, lane);
    int64_t token =
        s == RA_NONE ? 0 : (int64_t)ra_call_kv_token_bytes(b->memory, call, s);

    add_change(b, lane, t, 0, kv, (int64_t)in[lane] * token);
    add_change(b, lane, t, RA_MEMORY_STEPS, kv, -(int64_t)in[n + lane] * token);
  }
}

static void
add_task(RaTableBuilder *b, RaTaskId t)
{
  const RaTaskGraph *g = b->graph;
  uint32_t call = g->augmented->nodes[g->node[t]].call;

  note_ends(b, t);
  switch (g->kind[t]) {
  case RA_TASK_FORWARD:
  case RA_TASK_BACKWARD:
    add_pass(b, t, call);
    if (b->memory->plan->workload->calls[call].kind == RA_CALL_GENERATE)
      add_prefill(b, t, call);
    break;
  case RA_TASK_OPTIMIZER:
    add_step(b, t, call);
    break;
  case RA_TASK_DECODE:
    add_decode(b, t, call);
    break;
  case RA_TASK_MIGRATE:
    add_migration(b, t, call);
    break;
  case RA_TASK_CALL:
    add_whole_call(b, t, call);
    break;
  default:
    break;
  }
}

/* Gives every node that an item names a row. */
static void
add_rows(RaTableBuilder *b)
{
  uint32_t n_nodes = b->graph->augmented->n_nodes, n_rows = 0;
  gsize n_ends;

  b->items = ra_memory_items(b->memory, b->graph->augmented);
  b->row = g_new(uint32_t, MAX(n_nodes, 1u));
  memset(b->row, 0xff, n_nodes * sizeof *b->row);
  for (guint i = 0; i < b->items->len; i++) {
    const RaMemoryItem *item = &g_array_index(b->items, RaMemoryItem, i);
    if (item->first != RA_NONE && b->row[item->first] == RA_NONE)
      b->row[item->first] = n_rows++;
    if (item->last != RA_NONE && b->row[item->last] == RA_NONE)
      b->row[item->last] = n_rows++;
  }
  n_ends = (gsize)n_rows * 2 * b->graph->n_lanes;
  b->ends = g_new(uint32_t, MAX(n_ends, 1));
  memset(b->ends, 0xff, n_ends * sizeof *b->ends);
}

/* TRUE if two GPUs are on the same stages of all calls. */
static gboolean
same_stages(const RaMemory *memory, uint32_t x, uint32_t y)
{
  for (uint32_t i = 0; i < memory->plan->workload->n_calls; i++)
    if (ra_memory_stage(memory, i, x) != ra_memory_stage(memory, i, y))
      return FALSE;
  return TRUE;
}

/* One GPU of a lane a kind: at call fidelity a folded lane may have several
 * stages.  Neighbours are compared, so a kind may come twice. */
static void
add_kinds(RaTableBuilder *b)
{
  const RaTaskGraph *g = b->graph;
  uint32_t n_gpus = ra_cluster_n_gpus(g->augmented->plan->cluster);
  uint32_t n_lanes = g->n_lanes, n = 0;
  g_autofree uint32_t *last = g_new(uint32_t, MAX(n_lanes, 1u));
  g_autofree uint8_t *is_new = g_new0(uint8_t, MAX(n_gpus, 1u));

  memset(last, 0xff, n_lanes * sizeof *last);
  b->table->kind_begin = g_new0(uint32_t, (gsize)n_lanes + 1);
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    uint32_t lane = g->lane_of_gpu[gpu];
    if (lane == RA_NONE)
      continue;
    is_new[gpu] =
        last[lane] == RA_NONE || (g->fidelity == RA_FIDELITY_CALL &&
                                  !same_stages(b->memory, last[lane], gpu));
    b->table->kind_begin[lane + 1] += is_new[gpu];
    n += is_new[gpu];
    last[lane] = gpu;
  }
  for (uint32_t l = 0; l < n_lanes; l++)
    last[l] = b->table->kind_begin[l + 1] += b->table->kind_begin[l];
  b->table->kinds = g_new(uint32_t, MAX(n, 1u));
  for (uint32_t gpu = n_gpus; gpu-- > 0;)
    if (is_new[gpu])
      b->table->kinds[--last[g->lane_of_gpu[gpu]]] = gpu;
}

/* An item on a lane; one whose nodes have no task there is none. */
static void
add_item(RaTableBuilder *b, uint32_t index, uint32_t lane)
{
  const RaMemoryItem *item = &g_array_index(b->items, RaMemoryItem, index);
  int64_t bytes = (int64_t)ra_memory_lane_item_bytes(b->table, item, lane);
  uint32_t first = RA_NONE, last = RA_NONE;

  if (bytes == 0)
    return;
  if (item->first != RA_NONE &&
      (first = *end_of(b, item->first, 0, lane)) == RA_NONE)
    return;
  if (first != RA_NONE)
    add_item_change(b, lane, first, 0, item->holder, index, bytes);
  if (item->last != RA_NONE)
    last = *end_of(b, item->last, 1, lane);
  if (last != RA_NONE)
    add_item_change(b, lane, last, RA_MEMORY_STEPS, item->holder, index,
                    -bytes);
}

static int
compare_changes(const void *a, const void *b)
{
  const RaMemoryChange *x = a, *y = b;

  if (x->lane != y->lane)
    return x->lane < y->lane ? -1 : 1;
  if (x->task != y->task)
    return x->task < y->task ? -1 : 1;
  return x->step < y->step ? -1 : x->step > y->step;
}

static void
finish(RaTableBuilder *b)
{
  RaMemoryTable *table = b->table;
  uint32_t n_lanes = b->graph->n_lanes, n = b->changes->len;

  g_array_sort(b->changes, compare_changes);
  table->change_begin = g_new0(uint32_t, (gsize)n_lanes + 1);
  for (uint32_t i = 0; i < n; i++)
    table
        ->change_begin[g_array_index(b->changes, RaMemoryChange, i).lane + 1]++;
  for (uint32_t l = 0; l < n_lanes; l++)
    table->change_begin[l + 1] += table->change_begin[l];
  table->changes = (RaMemoryChange *)(gpointer)g_array_free(b->changes, FALSE);
  table->n_effects = b->effects->len;
  table->effects = (RaMemoryEffect *)(gpointer)g_array_free(b->effects, FALSE);
  table->items = b->items;
  g_array_unref(b->prefilled);
  g_free(b->by_work);
  g_free(b->row);
  g_free(b->ends);
  for (uint32_t i = 0; b->most && i < b->memory->n_calls; i++)
    g_free(b->most[i]);
  g_free(b->most);
  g_free(b->loads);
}

RaMemoryTable *
ra_memory_table_new(const RaTaskGraph *graph)
{
  RaTableBuilder b = {.graph = graph};

  g_return_val_if_fail(graph, NULL);
  b.table = g_new0(RaMemoryTable, 1);
  b.table->graph = graph;
  b.table->memory = ra_memory_new(graph->augmented->plan);
  b.memory = b.table->memory;
  b.effects = g_array_new(FALSE, FALSE, sizeof(RaMemoryEffect));
  b.changes = g_array_new(FALSE, FALSE, sizeof(RaMemoryChange));
  b.prefilled = ra_prefilled_new(graph);
  b.by_work = g_new(uint32_t, MAX(graph->n_works, 1u));
  memset(b.by_work, 0xff, graph->n_works * sizeof *b.by_work);
  add_rows(&b);
  add_kinds(&b);
  b.table->effect = g_new(uint32_t, MAX(graph->n_tasks, 1u));
  memset(b.table->effect, 0xff, graph->n_tasks * sizeof *b.table->effect);
  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    add_task(&b, t);
  for (guint i = 0; i < b.items->len; i++)
    for (uint32_t lane = 0; lane < graph->n_lanes; lane++)
      add_item(&b, i, lane);
  finish(&b);
  return b.table;
}

void
ra_memory_table_free(RaMemoryTable *table)
{
  if (!table)
    return;
  ra_memory_free(table->memory);
  g_array_unref(table->items);
  g_free(table->kind_begin);
  g_free(table->kinds);
  g_free(table->effects);
  g_free(table->effect);
  g_free(table->change_begin);
  g_free(table->changes);
  g_free(table);
}

void
ra_memory_table_base(const RaMemoryTable *table, uint32_t lane,
                     uint64_t *out_bytes)
{
  memset(out_bytes, 0, ra_memory_n_holders(table->memory) * sizeof *out_bytes);
  for (guint i = 0; i < table->items->len; i++) {
    const RaMemoryItem *item = &g_array_index(table->items, RaMemoryItem, i);
    if (item->first == RA_NONE)
      out_bytes[item->holder] += ra_memory_lane_item_bytes(table, item, lane);
  }
}
