/* Upper bound of the peak of memory over the augmented graph. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/memory/memory_generate.h"

/* The optimizer runs when no activation is left. */
static void
fill_train(const RaMemory *memory, uint32_t call, const RaBatch *batch,
           RaTransients *out)
{
  const RaCallMemory *c = &memory->calls[call];
  g_autofree uint64_t *work = g_new(uint64_t, memory->plan->calls[call].pp);

  for (uint32_t s = 0; s < memory->plan->calls[call].pp; s++) {
    uint64_t kept = ra_call_activation_bytes(memory, call, s, batch);
    uint64_t step = c->stages[s].step_bytes;

    if (c->stages[s].like < s)
      work[s] = work[c->stages[s].like];
    else
      work[s] = MAX(
          ra_call_workspace_bytes(memory, call, s, RA_PHASE_FORWARD, batch),
          ra_call_workspace_bytes(memory, call, s, RA_PHASE_BACKWARD, batch));
    if (kept + work[s] < step)
      out[s] = (RaTransients){.buffers = step};
    else
      out[s] = (RaTransients){.activations = kept, .workspace = work[s]};
  }
}

/* The prefill has large batches and a small cache, decoding the reverse. */
static RaTransients
generation(const RaMemory *memory, uint32_t call, uint32_t stage,
           const RaCallLoad *load)
{
  uint64_t token = ra_call_kv_token_bytes(memory, call, stage);
  uint64_t cache =
      load->kv_tokens * token + ra_call_kv_fixed_bytes(memory, call, stage);
  uint64_t prompts = load->prompt_tokens * token;
  uint64_t prefill = ra_call_workspace_bytes(memory, call, stage,
                                             RA_PHASE_FORWARD, &load->batch);
  uint64_t decode = ra_call_workspace_bytes(memory, call, stage,
                                            RA_PHASE_DECODE, &load->decode);
  gboolean continuous = load->prompt_tokens == 0;
  gboolean early = !continuous && prompts + prefill > cache + decode;
  gboolean prompts_most = early || (continuous && prefill > decode);

  return (RaTransients){.kv = early ? prompts : cache,
                        .workspace = prompts_most ? prefill : decode};
}

RaTransients *
ra_call_transients_new(const RaMemory *memory, uint32_t call,
                       const RaCallLoad *load)
{
  int kind = memory->plan->workload->calls[call].kind;
  const RaStageMemory *stages = memory->calls[call].stages;
  uint32_t pp = memory->plan->calls[call].pp;
  RaTransients *out = g_new0(RaTransients, pp);

  if (kind == RA_CALL_TRAIN)
    fill_train(memory, call, &load->batch, out);
  for (uint32_t s = 0; kind != RA_CALL_TRAIN && s < pp; s++)
    if (stages[s].like < s)
      out[s] = out[stages[s].like];
    else if (kind == RA_CALL_GENERATE)
      out[s] = generation(memory, call, s, load);
    else
      out[s].workspace = ra_call_workspace_bytes(
          memory, call, s, RA_PHASE_FORWARD, &load->batch);
  return out;
}

void
ra_transients_add(const RaTransients *t, uint32_t call, uint64_t *inout_bytes)
{
  inout_bytes[ra_holder(RA_HOLD_ACTIVATIONS, call)] += t->activations;
  inout_bytes[ra_holder(RA_HOLD_WORKSPACE, call)] += t->workspace;
  inout_bytes[ra_holder(RA_HOLD_KV, call)] += t->kv;
  inout_bytes[ra_holder(RA_HOLD_BUFFERS, call)] += t->buffers;
}

/* Bytes, and those of them that are firm (ra_memory_is_firm()). */
typedef struct {
  uint64_t used, firm;
} Bytes;

/* A node, or all parts of a call in one iteration. */
typedef struct {
  uint32_t first, last; /* nodes */
  uint32_t call;        /* RA_NONE: not a call with a model */
} Moment;

/* Data from which the bound is made. */
typedef struct {
  const RaMemory *memory;
  const RaAugmented *augmented;
  const RaCallLoad *loads;
  GArray *items; /* RaMemoryItem */
  guint *chain;  /* (items) items of one chain are there one at a time */
  guint n_chains;
  uint64_t *chain_bytes; /* (n_chains) of the moment in hand */
  GArray *moments;       /* Moment */
  uint8_t *there;        /* (moments, items) 1: the item may be there */
  uint64_t *item_bytes;  /* (items) on the GPU in hand */
  RaTransients **most;   /* (n_calls) (pp), NULL: not yet */
  uint64_t *scratch;     /* (n_holders) */
} Bound;

static void
add_moments(Bound *b)
{
  const RaAugmented *a = b->augmented;

  for (uint32_t n = 0; n < a->n_nodes; n++) {
    const RaNode *node = &a->nodes[n];
    Moment m = {n, n, RA_NONE};
    if (node->kind == RA_NODE_CALL) {
      if (node->part > 0 || b->memory->calls[node->call].copy == RA_NONE)
        continue;
      m.last = n + node->n_parts - 1;
      m.call = node->call;
    }
    g_array_append_val(b->moments, m);
  }
}

/* Marks @to and all that must have ended before it begins. */
static void
mark_before(const RaAugmented *a, uint32_t to, uint8_t *marks)
{
  memset(marks, 0, a->n_nodes);
  marks[to] = 1;
  for (uint32_t n = to + 1; n-- > 0;)
    for (uint32_t e = a->pred_begin[n]; marks[n] && e < a->pred_begin[n + 1];
         e++)
      marks[a->pred[e]] = 1;
}

/* Marks @from and all that begins only after it has ended. */
static void
mark_after(const RaAugmented *a, uint32_t from, uint8_t *marks)
{
  memset(marks, 0, a->n_nodes);
  marks[from] = 1;
  for (uint32_t n = from + 1; n < a->n_nodes; n++)
    for (uint32_t e = a->pred_begin[n]; e < a->pred_begin[n + 1]; e++)
      marks[n] |= marks[a->pred[e]];
}

/* Puts items of one holder that follow each other, the one's last node before
 * the other's first, into one chain. */
static void
fill_chains(Bound *b)
{
  const RaMemoryItem *items =
      (const RaMemoryItem *)(gconstpointer)b->items->data;
  g_autofree uint8_t *marks = g_new0(uint8_t, MAX(b->augmented->n_nodes, 1u));

  b->chain = g_new(guint, MAX(b->items->len, 1u));
  memset(b->chain, 0xff, b->items->len * sizeof *b->chain);
  for (guint i = 0; i < b->items->len; i++) {
    guint tail = i;
    if (b->chain[i] != G_MAXUINT)
      continue;
    b->chain[i] = b->n_chains++;
    for (guint k = i + 1; k < b->items->len; k++) {
      if (items[tail].last == RA_NONE)
        break;
      if (b->chain[k] != G_MAXUINT || items[k].holder != items[i].holder ||
          items[k].first == RA_NONE || items[k].first == items[tail].last)
        continue;
      mark_after(b->augmented, items[tail].last, marks);
      if (!marks[items[k].first])
        continue;
      b->chain[k] = b->chain[i];
      tail = k;
    }
  }
  b->chain_bytes = g_new0(uint64_t, MAX(b->n_chains, 1u));
}

/* An item is not there at a moment that must end before its first node begins,
 * or that begins after its last node has ended. */
static void
fill_there(Bound *b)
{
  guint n_items = b->items->len;
  g_autofree uint8_t *marks = g_new0(uint8_t, MAX(b->augmented->n_nodes, 1u));

  b->there = g_new(uint8_t, MAX((gsize)n_items * b->moments->len, 1));
  memset(b->there, 1, (gsize)n_items * b->moments->len);
  for (guint i = 0; i < n_items; i++) {
    const RaMemoryItem *item = &g_array_index(b->items, RaMemoryItem, i);
    if (item->first != RA_NONE)
      mark_before(b->augmented, item->first, marks);
    for (guint k = 0; item->first != RA_NONE && k < b->moments->len; k++) {
      const Moment *m = &g_array_index(b->moments, Moment, k);
      if (marks[m->last] && m->last != item->first)
        b->there[(gsize)k * n_items + i] = 0;
    }
    if (item->last != RA_NONE)
      mark_after(b->augmented, item->last, marks);
    for (guint k = 0; item->last != RA_NONE && k < b->moments->len; k++) {
      const Moment *m = &g_array_index(b->moments, Moment, k);
      if (marks[m->first] && m->first != item->last &&
          !(m->first <= item->last && item->last <= m->last))
        b->there[(gsize)k * n_items + i] = 0;
    }
  }
}

/* Transients of a call on a stage; computed once. */
static const RaTransients *
transients(Bound *b, uint32_t call, uint32_t stage)
{
  if (!b->most[call])
    b->most[call] = ra_call_transients_new(b->memory, call, &b->loads[call]);
  return &b->most[call][stage];
}

static Bytes
transient_bytes(Bound *b, uint32_t call, uint32_t stage)
{
  uint32_t n = ra_memory_n_holders(b->memory);

  memset(b->scratch, 0, n * sizeof *b->scratch);
  ra_transients_add(transients(b, call, stage), call, b->scratch);
  return (Bytes){ra_memory_sum(b->scratch, n),
                 ra_memory_firm_sum(b->memory, b->scratch)};
}

/* Stage of the moment's call on @gpu, RA_NONE: it has none there. */
static uint32_t
moment_stage(const Bound *b, const Moment *m, uint32_t gpu)
{
  return m->call == RA_NONE ? RA_NONE
                            : ra_memory_stage(b->memory, m->call, gpu);
}

/* Sum over chains of the largest item that may exist at moment @k. */
static Bytes
chains_bytes(Bound *b, guint k)
{
  const uint8_t *there = &b->there[(gsize)k * b->items->len];
  Bytes sum = {0, 0};

  memset(b->chain_bytes, 0, b->n_chains * sizeof *b->chain_bytes);
  for (guint i = 0; i < b->items->len; i++) {
    uint64_t *most = &b->chain_bytes[b->chain[i]];
    uint64_t more = b->item_bytes[i] - MIN(*most, b->item_bytes[i]);
    if (!there[i] || more == 0)
      continue;
    sum.used += more;
    if (ra_memory_is_firm(b->memory,
                          g_array_index(b->items, RaMemoryItem, i).holder))
      sum.firm += more;
    *most = b->item_bytes[i];
  }
  return sum;
}

static double
moment_total(Bound *b, uint32_t gpu, guint k)
{
  const Moment *m = &g_array_index(b->moments, Moment, k);
  uint32_t stage = moment_stage(b, m, gpu);
  Bytes all = chains_bytes(b, k), of_call = {0, 0};

  if (stage != RA_NONE)
    of_call = transient_bytes(b, m->call, stage);
  return ra_memory_total(
      b->memory, ra_memory_weighed(b->memory, (double)(all.used + of_call.used),
                                   (double)(all.firm + of_call.firm)));
}

/* Holders of @gpu at moment @k. */
static void
fill_holders(Bound *b, uint32_t gpu, guint k, uint64_t *out_bytes)
{
  const Moment *m = &g_array_index(b->moments, Moment, k);
  uint32_t stage = moment_stage(b, m, gpu);

  memset(out_bytes, 0, ra_memory_n_holders(b->memory) * sizeof *out_bytes);
  chains_bytes(b, k);
  for (guint i = 0; i < b->items->len; i++) {
    uint32_t holder = g_array_index(b->items, RaMemoryItem, i).holder;
    out_bytes[holder] += b->chain_bytes[b->chain[i]];
    b->chain_bytes[b->chain[i]] = 0;
  }
  if (stage != RA_NONE)
    ra_transients_add(transients(b, m->call, stage), m->call, out_bytes);
}

static void
try_gpu(Bound *b, uint32_t gpu, RaMemoryPeak *peak)
{
  guint fullest = G_MAXUINT;

  for (guint i = 0; i < b->items->len; i++)
    b->item_bytes[i] = ra_memory_item_bytes(
        b->memory, &g_array_index(b->items, RaMemoryItem, i), gpu);
  for (guint k = 0; k < b->moments->len; k++) {
    double total = moment_total(b, gpu, k);
    if (total <= peak->total_bytes)
      continue;
    peak->total_bytes = total;
    fullest = k;
  }
  if (fullest == G_MAXUINT)
    return;
  peak->gpu = gpu;
  peak->call = g_array_index(b->moments, Moment, fullest).call;
  fill_holders(b, gpu, fullest, peak->bytes);
}

static int
compare_gpus(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return x < y ? -1 : x > y;
}

/* Adds where @mesh begins and ends; per node if it is a slice. */
static void
add_mesh_edges(const RaMesh *mesh, const RaCluster *cluster, GArray *gpus)
{
  uint32_t per_node = cluster->gpus_per_node;
  gboolean whole = mesh->gpus_per_node == per_node;

  for (uint32_t r = 0; r < mesh->n_runs; r++)
    for (uint32_t k = 0; k < (whole ? 1 : mesh->runs[r].n); k++) {
      uint32_t begin = (mesh->runs[r].first + k) * per_node + mesh->first_gpu;
      uint32_t end =
          begin + mesh->gpus_per_node * (whole ? mesh->runs[r].n : 1);
      g_array_append_val(gpus, begin);
      if (end < ra_cluster_n_gpus(cluster))
        g_array_append_val(gpus, end);
    }
}

/* GPUs at which something changes, ascending, perhaps several times. */
static GArray *
edge_gpus(const RaMemory *memory)
{
  const RaPlan *plan = memory->plan;
  GArray *gpus = g_array_new(FALSE, FALSE, sizeof(uint32_t));

  for (uint32_t i = 0; i < plan->workload->n_calls; i++) {
    const RaCallPlan *p = &plan->calls[i];
    uint32_t block = 1;
    if (!p->set || memory->calls[i].copy == RA_NONE)
      continue;
    add_mesh_edges(&p->mesh, plan->cluster, gpus);
    for (guint k = 0; k < RA_N_AXES && p->axis[k] != RA_AXIS_PP; k++)
      block *= ra_call_plan_degree(p, (RaAxis)p->axis[k]);
    for (uint32_t r = 0; p->pp > 1 && r < ra_mesh_n_gpus(&p->mesh);
         r += block) {
      uint32_t gpu = ra_mesh_gpu(&p->mesh, plan->cluster, r);
      g_array_append_val(gpus, gpu);
    }
  }
  g_array_sort(gpus, compare_gpus);
  return gpus;
}

void
ra_memory_peak(const RaMemory *memory, const RaAugmented *augmented,
               const RaCallLoad *loads, RaMemoryPeak *out_peak)
{
  Bound b = {.memory = memory, .augmented = augmented, .loads = loads};
  g_autoptr(GArray) gpus = NULL;
  uint32_t last = RA_NONE, n_calls;

  g_return_if_fail(memory && augmented && loads && out_peak);
  gpus = edge_gpus(memory);
  n_calls = memory->plan->workload->n_calls;
  *out_peak = (RaMemoryPeak){.call = RA_NONE};
  out_peak->bytes = g_new0(uint64_t, ra_memory_n_holders(memory));
  b.items = ra_memory_items(memory, augmented);
  b.moments = g_array_new(FALSE, FALSE, sizeof(Moment));
  add_moments(&b);
  fill_there(&b);
  fill_chains(&b);
  b.item_bytes = g_new0(uint64_t, MAX(b.items->len, 1u));
  b.most = g_new0(RaTransients *, n_calls);
  b.scratch = g_new0(uint64_t, ra_memory_n_holders(memory));
  for (guint i = 0; i < gpus->len; i++) {
    uint32_t gpu = g_array_index(gpus, uint32_t, i);
    if (gpu != last)
      try_gpu(&b, gpu, out_peak);
    last = gpu;
  }
  for (uint32_t i = 0; i < n_calls; i++)
    g_free(b.most[i]);
  g_free(b.most);
  g_free(b.scratch);
  g_free(b.item_bytes);
  g_array_unref(b.items);
  g_array_unref(b.moments);
  g_free(b.there);
  g_free(b.chain);
  g_free(b.chain_bytes);
}

void
ra_memory_peak_clear(RaMemoryPeak *peak)
{
  g_clear_pointer(&peak->bytes, g_free);
}
