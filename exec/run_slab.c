/* The slab of a rank: all that the graph's account has on its GPU, in memory
 * that is allocated when the run is made.
 *
 * States have the offsets of a plan (graph/memory/slab_plan.h).  Parameters,
 * gradients and optimizer states exist from the task that brings them to the
 * task after which they go.  For most that is forever; those in host memory are
 * requested ahead (exec/run_copies.c).
 *
 * The passes of a call share a region of the account's peak during the call;
 * regions of consecutive calls share bytes.  Copies in another layout, which
 * the plan drops, stay: they are read after the run.
 */
#include "config.h"

#include "exec/run_impl.h"
#include "graph/input/residency.h"
#include "graph/memory/memory_blocks.h"
#include "graph/memory/slab_plan.h"

/* Alignment of a device's arrays, and of a cache line. */
#define ALIGN_BYTES 256
/* Arrays of a call's passes lie on lines of 64 bytes; one that is no multiple
 * loses less than a line, and there are some 30 at a time. */
#define LINES_BYTES 2048

/* A part for @params, which exists from before the run until after it, unless
 * the caller changes that. */
static RaRunPart
part_of(const RaRank *rank, uint32_t call, RaParams *params,
        RaParamsState state)
{
  uint32_t n_tasks = rank->run->graph->n_tasks;

  return (RaRunPart){.last = n_tasks - 1,
                     .end = 2 * n_tasks,
                     .reload = RA_NONE,
                     .lasts = TRUE,
                     .call = call,
                     .params = params,
                     .state = state,
                     .bytes = ra_params_state_bytes(params, state)};
}

static void
add_part(RaRankMemory *memory, const RaRunPart *part)
{
  if (part->bytes > 0)
    g_array_append_vals(memory->parts, part, 1);
}

/* TRUE if @state of what @call reads is not on its GPUs between calls. */
static gboolean
is_away(const RaPlan *plan, uint32_t call, RaParamsState state)
{
  const RaCallPlan *p = &plan->calls[call];

  if (state == RA_STATE_GRADS)
    return ra_residency_drops_gradients(plan, call);
  return (state == RA_STATE_OPTIMIZER ? p->optimizer_residency
                                      : p->residency) == RA_RESIDENCY_HOST;
}

/* The state that a node brings, or that a training writes. */
static RaParams *
brought_by(const RaRank *rank, const RaNode *node, uint32_t call,
           RaParamsState state)
{
  const RaRankCall *c = &rank->calls[call];

  if (state != RA_STATE_WEIGHTS)
    return c->params[0];
  if (node->kind == RA_NODE_REALLOC)
    return c->params[(node->iteration + 1) % c->n_versions];
  return ra_rank_stage(rank, node->call, node->iteration)->params;
}

/* The rank's task of node @node, which is one. */
static RaTaskId
reload_of(const RaRank *rank, uint32_t node)
{
  const RaTaskGraph *g = rank->run->graph;
  RaTaskId t = 0;

  while (g->node[t] != node || g->kind[t] != RA_TASK_RELOAD)
    t++;
  return t;
}

/* Items that come and go. */
static void
add_item(RaRank *rank, const RaMemoryItem *item, const RaMemoryBlock *block)
{
  const RaRun *run = rank->run;
  RaParamsState state = item->kind == RA_ITEM_PARAMS  ? RA_STATE_WEIGHTS
                        : item->kind == RA_ITEM_GRADS ? RA_STATE_GRADS
                                                      : RA_STATE_OPTIMIZER;
  const RaNode *node;
  RaRunPart part;

  if (item->kind == RA_ITEM_PACKED || item->first == RA_NONE ||
      !is_away(run->plan, item->call, state))
    return;
  node = &run->graph->augmented->nodes[item->first];
  part = part_of(rank, item->call, brought_by(rank, node, item->call, state),
                 state);
  part.lasts = FALSE;
  part.first = block->first;
  part.last = block->last;
  part.begin = block->begin;
  part.end = block->end;
  if (node->kind == RA_NODE_RELOAD)
    part.reload = reload_of(rank, item->first);
  add_part(&rank->memory, &part);
}

/* States that stay. */
static void
add_lasting(RaRank *rank)
{
  const RaRun *run = rank->run;

  for (uint32_t call = 0; call < run->workload->n_calls; call++) {
    const RaRankCall *c = &rank->calls[call];

    if (!c->is_in || ra_run_copy_of(run->plan, call) != call)
      continue;
    for (uint32_t v = 0; v < c->n_versions; v++)
      for (int state = 0; state < RA_N_STATES; state++) {
        uint32_t trainer = ra_workload_trainer(
            run->workload, run->workload->calls[call].model);
        uint32_t whose = state == RA_STATE_WEIGHTS ? call : trainer;

        /* versions other than the one that training writes are on the GPUs */
        if (whose != RA_NONE &&
            (!is_away(run->plan, whose, (RaParamsState)state) ||
             (c->is_own && v > 0))) {
          RaRunPart part =
              part_of(rank, call, c->params[v], (RaParamsState)state);

          add_part(&rank->memory, &part);
        }
      }
  }
}

/* The call that a task is of, and its iteration: passes of these share. */
static uint64_t
call_of(const RaRun *run, RaTaskId task)
{
  const RaNode *node = ra_run_node(run, task);

  return (uint64_t)node->iteration << 32 | node->call;
}

/* @blocks from @begin to before @end: of one call. */
static void
add_region(RaRank *rank, const GArray *blocks, guint begin, guint end)
{
  g_autofree RaSlabBlock *slab = g_new(RaSlabBlock, end - begin + 1);
  RaRunPart part = {.first = RA_NONE, .begin = RA_NONE, .reload = RA_NONE};

  for (guint i = begin; i < end; i++) {
    const RaMemoryBlock *b = &g_array_index(blocks, RaMemoryBlock, i);

    slab[i - begin] = (RaSlabBlock){b->bytes, b->begin, b->end, 0};
    part.first = MIN(part.first, b->first);
    part.last = MAX(part.last, b->last);
    part.begin = MIN(part.begin, b->begin);
    part.end = MAX(part.end, b->end);
  }
  part.call = ra_run_node(rank->run, part.first)->call;
  part.bytes = ra_slab_load(end - begin, slab, ALIGN_BYTES) + LINES_BYTES;
  g_array_append_val(rank->memory.parts, part);
}

static gint
compare_blocks(gconstpointer a, gconstpointer b, gpointer run)
{
  uint64_t x = call_of(run, ((const RaMemoryBlock *)a)->first);
  uint64_t y = call_of(run, ((const RaMemoryBlock *)b)->first);

  return (x > y) - (x < y);
}

static void
add_parts(RaRank *rank)
{
  RaRun *run = rank->run;
  g_autoptr(GArray) blocks =
      ra_memory_blocks(run->account, run->graph->lane_of_gpu[rank->gpu]);
  g_autoptr(GArray) passes = g_array_new(FALSE, FALSE, sizeof(RaMemoryBlock));

  add_lasting(rank);
  for (guint i = 0; i < blocks->len; i++) {
    const RaMemoryBlock *b = &g_array_index(blocks, RaMemoryBlock, i);

    if (b->item == RA_NONE)
      g_array_append_vals(passes, b, 1);
    else
      add_item(rank, &g_array_index(run->account->items, RaMemoryItem, b->item),
               b);
  }
  g_array_sort_with_data(passes, compare_blocks, run);
  for (guint begin = 0, end; begin < passes->len; begin = end) {
    for (end = begin;
         end < passes->len &&
         compare_blocks(&g_array_index(passes, RaMemoryBlock, begin),
                        &g_array_index(passes, RaMemoryBlock, end), run) == 0;)
      end++;
    add_region(rank, passes, begin, end);
  }
}

static void
place_parts(RaRank *rank)
{
  guint n = rank->memory.parts->len;
  g_autofree RaSlabBlock *slab = g_new(RaSlabBlock, n + 1);

  for (guint i = 0; i < n; i++) {
    const RaRunPart *p = &g_array_index(rank->memory.parts, RaRunPart, i);

    slab[i] = (RaSlabBlock){p->bytes, p->begin, p->end, 0};
  }
  rank->memory.slab_bytes = ra_slab_plan(n, slab, ALIGN_BYTES);
  ra_rank_slab_new(rank, rank->memory.slab_bytes + ALIGN_BYTES);
  for (guint i = 0; i < n; i++)
    g_array_index(rank->memory.parts, RaRunPart, i).offset = slab[i].offset;
}

/* An address that the device has aligned stays. */
static void *
memory_of(const RaRankMemory *memory, const RaRunPart *part)
{
  guintptr at = (guintptr)memory->slab + ALIGN_BYTES - 1;

  return (void *)(at - at % ALIGN_BYTES + part->offset);
}

/* --- while it runs --- */

/* Bytes of @state on the device, without the gaps between its arrays. */
static guint64
held_bytes(const RaParams *p, RaParamsState state)
{
  guint64 n = p->backend->elem_bytes == sizeof(float) ? 2 : 3;

  return state == RA_STATE_OPTIMIZER ? n * p->n_moments * sizeof *p->first
                                     : ra_params_state_bytes(p, state);
}

static void
take(RaRank *rank, RaRunPart *p)
{
  RaRankMemory *m = &rank->memory;

  ra_rank_follow_offloads(
      m, p->reload == RA_NONE ? RA_BACKEND_OPS : RA_BACKEND_IN, p);
  if (!p->params) {
    p->region = ra_slabs_open(m->slabs, memory_of(m, p), p->bytes);
    return;
  }
  g_assert(!p->is_there);
  p->is_there = TRUE;
  ra_params_place(p->params, p->state, memory_of(m, p));
  if (p->state == RA_STATE_GRADS)
    rank->run->backend->zero(memory_of(m, p), p->bytes);
  m->states_bytes += held_bytes(p->params, p->state);
  m->most_states_bytes = MAX(m->most_states_bytes, m->states_bytes);
}

static void
give(RaRankMemory *memory, RaRunPart *p)
{
  if (!p->params) {
    ra_slabs_close(memory->slabs, g_steal_pointer(&p->region));
    return;
  }
  p->is_there = FALSE;
  ra_params_place(p->params, p->state, NULL);
  memory->states_bytes -= held_bytes(p->params, p->state);
}

void
ra_rank_take_part(RaRank *rank, RaRunPart *part)
{
  take(rank, part);
}

void
ra_rank_begin_parts(RaRank *rank, RaTaskId task)
{
  uint32_t call = ra_run_node(rank->run, task)->call;

  for (guint i = 0; i < rank->memory.parts->len; i++) {
    RaRunPart *p = &g_array_index(rank->memory.parts, RaRunPart, i);

    if (p->first == task && !p->lasts && p->reload == RA_NONE)
      take(rank, p);
    if (p->region && p->call == call)
      ra_slabs_enter(rank->memory.slabs, p->region);
  }
}

void
ra_rank_end_parts(RaRankMemory *memory, RaTaskId task)
{
  for (guint i = 0; i < memory->parts->len; i++) {
    RaRunPart *p = &g_array_index(memory->parts, RaRunPart, i);

    if (p->last == task && !p->lasts)
      give(memory, p);
  }
}

void
ra_rank_skip_parts(RaRank *rank, uint32_t n)
{
  for (guint i = 0; i < rank->memory.parts->len; i++) {
    RaRunPart *p = &g_array_index(rank->memory.parts, RaRunPart, i);

    if (p->lasts || ra_run_node(rank->run, p->first)->iteration >= n ||
        ra_run_node(rank->run, p->last)->iteration < n)
      continue;
    take(rank, p);
    if (p->params && p->state != RA_STATE_GRADS)
      ra_params_reload(p->params, p->state);
  }
}

/* --- made --- */

/* A state without a place starts in memory of its own and moves to the host. */
static void
begin_params(RaRank *rank, RaParams *p, const RaWeights *weights)
{
  const RaBackend *b = p->backend;
  void *room[RA_N_STATES] = {NULL};
  gboolean is_trained = p->is_trained;

  for (int state = 0; state < RA_STATE_GRADS; state++) {
    gsize n_bytes = ra_params_state_bytes(p, (RaParamsState)state);
    gboolean is_there =
        state == RA_STATE_WEIGHTS ? p->weights != NULL : p->first != NULL;

    if (n_bytes == 0 || is_there)
      continue;
    room[state] = b->alloc(n_bytes);
    ra_params_place(p, (RaParamsState)state, room[state]);
  }
  b->zero(p->weights, p->n * b->elem_bytes);
  p->is_trained = FALSE;
  ra_params_seed(p, rank->run->options.seed);
  if (weights)
    ra_weights_read(weights, p);
  if (is_trained)
    ra_params_make_trainable(p);
  for (int state = 0; state < RA_STATE_GRADS; state++) {
    if (!room[state])
      continue;
    ra_params_offload(p, (RaParamsState)state);
    ra_params_place(p, (RaParamsState)state, NULL);
    b->free(room[state]);
  }
}

void
ra_rank_make_slab(RaRank *rank)
{
  const RaRun *run = rank->run;

  rank->memory.parts = g_array_new(FALSE, FALSE, sizeof(RaRunPart));
  rank->memory.account_bytes =
      ra_memory_order_peak(run->account, run->graph->lane_of_gpu[rank->gpu]);
  add_parts(rank);
  place_parts(rank);
  for (guint i = 0; i < rank->memory.parts->len; i++) {
    RaRunPart *p = &g_array_index(rank->memory.parts, RaRunPart, i);

    if (p->lasts)
      take(rank, p);
  }
  for (uint32_t call = 0; call < run->workload->n_calls; call++) {
    const RaRankCall *c = &rank->calls[call];
    uint32_t model = run->workload->calls[call].model;

    if (!c->is_in || ra_run_copy_of(run->plan, call) != call)
      continue;
    for (uint32_t v = 0; v < c->n_versions; v++)
      begin_params(rank, c->params[v],
                   run->options.weights ? run->options.weights[model] : NULL);
  }
}

void
ra_rank_free_slab(RaRank *rank)
{
  for (guint i = 0; rank->memory.parts && i < rank->memory.parts->len; i++) {
    RaRunPart *p = &g_array_index(rank->memory.parts, RaRunPart, i);

    if (p->region)
      ra_slabs_close(rank->memory.slabs, p->region);
  }
  if (rank->memory.parts)
    g_array_unref(rank->memory.parts);
  ra_rank_slab_free(rank);
}
