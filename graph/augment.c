#include "config.h"

#include <string.h>

#include "graph/augment.h"
#include "graph/realloc.h"

/* Bytes of one datum a token: an int32 token id, an fp32 log-prob or value. */
#define TOKEN_DATUM_BYTES 4

/* The graph under construction. */
typedef struct {
  const RaPlan *plan;
  const RaWorkload *workload;
  uint32_t n_iterations;
  GArray *nodes;      /* RaNode */
  GArray *pred_begin; /* uint32_t, one ahead of nodes */
  GArray *pred;       /* uint32_t */
  uint32_t *first; /* (n_iterations, n_calls) node of part 0, RA_NONE before */
  uint32_t
      *version; /* (n_iterations, n_calls) REALLOC node that brings the call
                   what training wrote in that iteration; RA_NONE: none */
  RaReallocLoad *load; /* (n_calls) of the reallocation to the call's layout */
  gboolean *has_load;  /* (n_calls) computed */
  double tokens;       /* expected tokens of a sequence */
} RaAugmenter;

static uint32_t *
at(const RaAugmenter *a, uint32_t *table, uint32_t iteration, uint32_t call)
{
  return &table[(gsize)iteration * a->workload->n_calls + call];
}

static void
add_pred(RaAugmenter *a, uint32_t node)
{
  uint32_t from = g_array_index(a->pred_begin, uint32_t, a->nodes->len);

  if (node == RA_NONE)
    return;
  for (guint i = from; i < a->pred->len; i++)
    if (g_array_index(a->pred, uint32_t, i) == node)
      return;
  g_array_append_val(a->pred, node);
}

/* Appends @node with the predecessors added since the last one. */
static uint32_t
add_node(RaAugmenter *a, const RaNode *node)
{
  g_array_append_vals(a->nodes, node, 1);
  g_array_append_val(a->pred_begin, a->pred->len);
  return a->nodes->len - 1;
}

/* The node of the last part of a call, RA_NONE where it has not run. */
static uint32_t
last_part(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  uint32_t first = *at(a, a->first, iteration, call);
  return first == RA_NONE ? RA_NONE
                          : first + a->workload->calls[call].n_parts - 1;
}

/* Data stay where they are if both calls spread the same replicas over the
 * same GPUs; a host call without a mesh reads from wherever they are. */
static gboolean
needs_transfer(const RaAugmenter *a, uint32_t from, uint32_t to)
{
  const RaCallPlan *x = &a->plan->calls[from], *y = &a->plan->calls[to];
  return x->set && y->set &&
         !(ra_mesh_equal(&x->mesh, &y->mesh) && x->dp == y->dp);
}

/* Node that must have ended before @part of @call may read input @input; adds
 * the transfer where there is one.  Called before the part's node is added. */
static uint32_t
input_node(RaAugmenter *a, uint32_t iteration, uint32_t call, uint32_t part,
           const RaInput *input)
{
  const RaCall *c = &a->workload->calls[call];
  uint32_t n = a->workload->calls[input->producer].n_parts;
  uint32_t first = *at(a, a->first, iteration, input->producer);
  uint32_t chunk = n - 1; /* whole: its last part */

  if (input->n_chunks > 1) /* ceil((part + 1) n / parts) - 1 */
    chunk =
        (uint32_t)(((uint64_t)(part + 1) * n + c->n_parts - 1) / c->n_parts) -
        1;
  return first + chunk;
}

/* The transfer that carries all that @call reads of @producer for @part. */
static uint32_t
add_transfer(RaAugmenter *a, uint32_t iteration, uint32_t call, uint32_t part,
             const RaInput *input)
{
  const RaCall *c = &a->workload->calls[call];
  const RaCallPlan *from = &a->plan->calls[input->producer];
  const RaCallPlan *to = &a->plan->calls[call];
  uint32_t n_parts = input->n_chunks > 1 ? c->n_parts : 1, n_data = 0;
  uint32_t few = MIN(from->dp, to->dp), many = MAX(from->dp, to->dp);
  gboolean one_node = from->mesh.n_nodes == 1 && to->mesh.n_nodes == 1 &&
                      from->mesh.runs[0].first == to->mesh.runs[0].first;
  double bytes;
  RaNode node = {.kind = RA_NODE_TRANSFER,
                 .iteration = iteration,
                 .call = call,
                 .source = input->producer,
                 .part = part,
                 .n_parts = n_parts,
                 .n_steps = (many + few - 1) / few};

  for (guint i = 0; i < c->n_inputs; i++)
    n_data += c->inputs[i].producer == input->producer;
  bytes =
      TOKEN_DATUM_BYTES * (double)n_data * a->tokens * c->n_sequences / n_parts;
  node.bytes = bytes;
  if (one_node)
    node.max_intra_bytes = bytes / few;
  else
    node.max_inter_bytes = bytes / few;
  add_pred(a, input_node(a, iteration, call, part, input));
  return add_node(a, &node);
}

/* Transfers for one part of a call, one a producer and granularity: @out
 * (n_inputs) gets their nodes; what came whole came with part 0, @whole. */
static void
add_transfers(RaAugmenter *a, uint32_t iteration, uint32_t call, uint32_t part,
              const uint32_t *whole, uint32_t *out)
{
  const RaCall *c = &a->workload->calls[call];

  for (guint i = 0; i < c->n_inputs; i++) {
    const RaInput *input = &c->inputs[i];
    out[i] = RA_NONE;
    if (input->producer == RA_NONE || !needs_transfer(a, input->producer, call))
      continue;
    if (input->n_chunks <= 1 && part > 0) {
      out[i] = whole[i];
      continue;
    }
    for (guint j = 0; j < i && out[i] == RA_NONE; j++)
      if (c->inputs[j].producer == input->producer &&
          c->inputs[j].n_chunks == input->n_chunks)
        out[i] = out[j];
    if (out[i] == RA_NONE)
      out[i] = add_transfer(a, iteration, call, part, input);
  }
}

/* The parameters that @call runs on: version iteration - 1 - staleness. */
static void
add_version(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  const RaCall *c = &a->workload->calls[call];
  uint32_t trainer, lag = 1 + c->staleness, made;

  if (c->model == RA_NONE)
    return;
  trainer = ra_workload_trainer(a->workload, c->model);
  if (trainer == RA_NONE || iteration < lag)
    return;
  made = iteration - lag;
  if (*at(a, a->version, made, call) != RA_NONE)
    add_pred(a, *at(a, a->version, made, call));
  else
    add_pred(a, last_part(a, made, trainer));
  if (call != trainer)
    return;
  /* Training writes over what a reallocation may still read. */
  for (guint i = 0; i < a->workload->n_calls; i++)
    add_pred(a, *at(a, a->version, made, i));
}

/* Parts stand next to each other, after all transfers to them: last_part(). */
static void
add_call(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  const RaCall *c = &a->workload->calls[call];
  g_autofree uint32_t *moved =
      g_new(uint32_t, (gsize)c->n_parts * MAX(c->n_inputs, 1u));

  for (uint32_t part = 0; part < c->n_parts; part++)
    add_transfers(a, iteration, call, part, moved, moved + part * c->n_inputs);
  for (uint32_t part = 0; part < c->n_parts; part++) {
    RaNode node = {.kind = RA_NODE_CALL,
                   .iteration = iteration,
                   .call = call,
                   .source = RA_NONE,
                   .part = part,
                   .n_parts = c->n_parts};
    const uint32_t *from = moved + part * c->n_inputs;
    for (guint i = 0; i < c->n_inputs; i++)
      if (from[i] != RA_NONE)
        add_pred(a, from[i]);
      else if (c->inputs[i].producer != RA_NONE)
        add_pred(a, input_node(a, iteration, call, part, &c->inputs[i]));
    if (part == 0) {
      add_version(a, iteration, call);
      *at(a, a->first, iteration, call) = a->nodes->len;
    } else {
      add_pred(a, a->nodes->len - 1);
    }
    add_node(a, &node);
  }
}

/* What moves when @user's layout is filled from its model's trainer; once. */
static const RaReallocLoad *
load_of(RaAugmenter *a, uint32_t trainer, uint32_t user)
{
  if (!a->has_load[user]) {
    const RaWorkloadModel *m =
        &a->workload->models[a->workload->calls[user].model];
    g_autoptr(RaRealloc) r = ra_realloc_new(
        m->model, ra_dtype_bytes((RaDtype)m->dtype), &a->plan->calls[trainer],
        &a->plan->calls[user], a->plan->cluster, RA_REALLOC_BROADCAST);
    a->load[user] = r->load;
    a->has_load[user] = TRUE;
  }
  return &a->load[user];
}

/* Version @iteration, just trained, goes to every other layout that a later
 * iteration runs it in: pushed at once, so that the next training need not wait
 * for its reader.  A call that may lag has a second copy to write into; one
 * that may not must have ended. */
static void
add_reallocs(RaAugmenter *a, uint32_t iteration, uint32_t trainer)
{
  const RaWorkload *w = a->workload;

  for (guint u = 0; u < w->n_calls; u++) {
    const RaCall *user = &w->calls[u];
    RaNode node = {.kind = RA_NODE_REALLOC,
                   .iteration = iteration,
                   .call = u,
                   .source = trainer,
                   .n_parts = 1};
    const RaReallocLoad *load;
    uint32_t id;
    if (u == trainer || user->model != w->calls[trainer].model ||
        *at(a, a->version, iteration, u) != RA_NONE ||
        iteration + 1 + user->staleness >= a->n_iterations ||
        ra_call_plan_same_layout(&a->plan->calls[trainer], &a->plan->calls[u]))
      continue;
    load = load_of(a, trainer, u);
    node.bytes = (double)load->total_bytes;
    node.max_intra_bytes = (double)load->max_intra_bytes;
    node.max_inter_bytes = (double)load->max_inter_bytes;
    node.n_steps = load->n_steps;
    add_pred(a, last_part(a, iteration, trainer));
    for (guint v = u; v < w->n_calls; v++)
      if (v != trainer && w->calls[v].model == user->model &&
          w->calls[v].staleness == 0 &&
          ra_call_plan_same_layout(&a->plan->calls[u], &a->plan->calls[v]))
        add_pred(a, last_part(a, iteration, v));
    id = add_node(a, &node);
    for (guint v = u; v < w->n_calls; v++)
      if (v != trainer && w->calls[v].model == user->model &&
          ra_call_plan_same_layout(&a->plan->calls[u], &a->plan->calls[v]))
        *at(a, a->version, iteration, v) = id;
  }
}

static RaAugmented *
finish(RaAugmenter *a)
{
  RaArena *arena = ra_arena_new(0);
  RaAugmented *g = g_new0(RaAugmented, 1);
  RaNode *nodes = ra_arena_alloc(arena, a->nodes->len, sizeof *nodes);
  uint32_t *begin = ra_arena_alloc(arena, a->pred_begin->len, sizeof *begin);
  uint32_t *pred = ra_arena_alloc(arena, a->pred->len, sizeof *pred);

  memcpy(nodes, a->nodes->data, a->nodes->len * sizeof *nodes);
  memcpy(begin, a->pred_begin->data, a->pred_begin->len * sizeof *begin);
  if (a->pred->len)
    memcpy(pred, a->pred->data, a->pred->len * sizeof *pred);
  *g = (RaAugmented){arena, a->plan, a->n_iterations, a->nodes->len, nodes,
                     begin, pred};
  return g;
}

RaAugmented *
ra_augment(const RaPlan *plan, uint32_t n_iterations)
{
  const RaWorkload *w = plan->workload;
  gsize n_cells = (gsize)n_iterations * w->n_calls;
  RaAugmenter a = {.plan = plan, .workload = w, .n_iterations = n_iterations};
  RaAugmented *result;
  uint32_t zero = 0;

  g_return_val_if_fail(n_iterations >= 1, NULL);
  a.nodes = g_array_new(FALSE, FALSE, sizeof(RaNode));
  a.pred_begin = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  a.pred = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_array_append_val(a.pred_begin, zero);
  a.first = g_new(uint32_t, n_cells);
  a.version = g_new(uint32_t, n_cells);
  memset(a.first, 0xff, n_cells * sizeof *a.first);
  memset(a.version, 0xff, n_cells * sizeof *a.version);
  a.load = g_new0(RaReallocLoad, w->n_calls);
  a.has_load = g_new0(gboolean, w->n_calls);
  a.tokens =
      ra_length_mean(&w->prompt_length) + ra_length_mean(&w->response_length);

  for (uint32_t k = 0; k < n_iterations; k++)
    for (guint i = 0; i < w->n_calls; i++) {
      uint32_t call = w->order[i];
      add_call(&a, k, call);
      if (w->calls[call].model != RA_NONE &&
          ra_workload_trainer(w, w->calls[call].model) == call)
        add_reallocs(&a, k, call);
    }
  result = finish(&a);
  g_array_unref(a.nodes);
  g_array_unref(a.pred_begin);
  g_array_unref(a.pred);
  g_free(a.first);
  g_free(a.version);
  g_free(a.load);
  g_free(a.has_load);
  return result;
}

void
ra_augmented_free(RaAugmented *augmented)
{
  if (!augmented)
    return;
  ra_arena_free(augmented->arena);
  g_free(augmented);
}

char *
ra_node_name(const RaAugmented *augmented, uint32_t node)
{
  const RaNode *n = &augmented->nodes[node];
  const RaCall *calls = augmented->plan->workload->calls;
  GString *text = g_string_new(NULL);

  g_string_append_printf(text, "it%u/", n->iteration);
  if (n->kind == RA_NODE_CALL)
    g_string_append(text, calls[n->call].name);
  else
    g_string_append_printf(text, "%s/%s>%s",
                           n->kind == RA_NODE_REALLOC ? "realloc" : "transfer",
                           calls[n->source].name, calls[n->call].name);
  if (n->n_parts > 1)
    g_string_append_printf(text, ".p%u", n->part);
  return g_string_free(text, FALSE);
}
