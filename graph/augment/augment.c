/* Augmented graph: its nodes in program order, data edges, transfers. */
#include "config.h"

#include <string.h>

#include "graph/augment/augment_impl.h"
#include "graph/input/trips.h"
#include "graph/input/turns.h"

/* Bytes of one datum a token: an int32 token id, an fp32 log-prob or value. */
#define TOKEN_DATUM_BYTES 4

uint32_t *
ra_augmenter_at(const RaAugmenter *a, uint32_t *table, uint32_t iteration,
                uint32_t call)
{
  return &table[(gsize)iteration * a->workload->n_calls + call];
}

void
ra_augmenter_pred(RaAugmenter *a, uint32_t node)
{
  uint32_t from = g_array_index(a->pred_begin, uint32_t, a->nodes->len);

  if (node == RA_NONE)
    return;
  for (guint i = from; i < a->pred->len; i++)
    if (g_array_index(a->pred, uint32_t, i) == node)
      return;
  g_array_append_val(a->pred, node);
}

uint32_t
ra_augmenter_node(RaAugmenter *a, const RaNode *node)
{
  g_array_append_vals(a->nodes, node, 1);
  g_array_append_val(a->pred_begin, a->pred->len);
  return a->nodes->len - 1;
}

uint32_t
ra_augmenter_last_part(const RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  uint32_t first = *ra_augmenter_at(a, a->first, iteration, call);
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
  uint32_t first = *ra_augmenter_at(a, a->first, iteration, input->producer);
  uint32_t chunk = n - 1; /* whole: its last part */

  if (input->n_chunks > 1) /* ceil((part + 1) n / parts) - 1 */
    chunk =
        (uint32_t)(((uint64_t)(part + 1) * n + c->n_parts - 1) / c->n_parts) -
        1;
  return first + chunk;
}

/* The transfer that carries for @part what @call reads of @input's producer in
 * @input's granularity.  Either side's replicas share the batch evenly, one GPU
 * of each sends or receives: the busiest is of the side with fewer of them, and
 * each of its replicas has to do with ceil(many / few) of the others. */
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
                 .trip = a->trip,
                 .n_steps = (many + few - 1) / few};

  for (guint i = 0; i < c->n_inputs; i++)
    n_data += c->inputs[i].producer == input->producer &&
              c->inputs[i].n_chunks == input->n_chunks;
  node.token_bytes = TOKEN_DATUM_BYTES * n_data;
  bytes = node.token_bytes * a->tokens * c->n_sequences / n_parts;
  node.bytes = bytes;
  if (one_node)
    node.max_intra_bytes = bytes / few;
  else
    node.max_inter_bytes = bytes / few;
  ra_augmenter_pred(a, input_node(a, iteration, call, part, input));
  return ra_augmenter_node(a, &node);
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

/* The next node, part of @call, waits for all of the trip before; by its
 * inputs, where it reads what its own trip made. */
static void
wait_trip(RaAugmenter *a, uint32_t call)
{
  const RaCall *c = &a->workload->calls[call];

  for (guint i = 0; i < c->n_inputs; i++)
    if (c->inputs[i].producer != RA_NONE)
      return;
  for (uint32_t i = 0; a->trip > 0 && i < a->workload->n_calls; i++)
    ra_augmenter_pred(a, a->before[i]);
}

/* Parts stand next to each other, after all transfers to them: last_part(). */
static void
add_call(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  const RaCall *c = &a->workload->calls[call];
  g_autofree uint32_t *moved =
      g_new(uint32_t, (gsize)c->n_parts * MAX(c->n_inputs, 1u));
  uint32_t reload;

  ra_augment_wake(a, iteration, call);
  for (uint32_t part = 0; part < c->n_parts; part++)
    add_transfers(a, iteration, call, part, moved, moved + part * c->n_inputs);
  reload = a->trip == 0 ? ra_augment_reload(a, iteration, call) : RA_NONE;
  for (uint32_t part = 0; part < c->n_parts; part++) {
    RaNode node = {.kind = RA_NODE_CALL,
                   .iteration = iteration,
                   .call = call,
                   .source = RA_NONE,
                   .part = part,
                   .n_parts = c->n_parts,
                   .trip = a->trip};
    const uint32_t *from = moved + part * c->n_inputs;
    for (guint i = 0; i < c->n_inputs; i++)
      if (from[i] != RA_NONE)
        ra_augmenter_pred(a, from[i]);
      else if (c->inputs[i].producer != RA_NONE)
        ra_augmenter_pred(a,
                          input_node(a, iteration, call, part, &c->inputs[i]));
    if (part == 0) {
      ra_augment_wait_version(a, iteration, call);
      wait_trip(a, call);
      ra_augment_wait_offloads(a, call);
      ra_augmenter_pred(a, reload);
      *ra_augmenter_at(a, a->first, iteration, call) = a->nodes->len;
    } else {
      ra_augmenter_pred(a, a->nodes->len - 1);
    }
    ra_augmenter_node(a, &node);
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
  RaCopy *copies = ra_arena_alloc(arena, a->copies->len, sizeof *copies);

  memcpy(nodes, a->nodes->data, a->nodes->len * sizeof *nodes);
  memcpy(begin, a->pred_begin->data, a->pred_begin->len * sizeof *begin);
  if (a->pred->len)
    memcpy(pred, a->pred->data, a->pred->len * sizeof *pred);
  if (a->copies->len)
    memcpy(copies, a->copies->data, a->copies->len * sizeof *copies);
  *g = (RaAugmented){arena, a->plan, a->n_iterations, a->nodes->len, nodes,
                     begin, pred,    a->copies->len,  copies};
  return g;
}

/* Trip by trip, the calls that run in each: they read none of the others. */
static void
add_trips(RaAugmenter *a, uint32_t iteration)
{
  const RaWorkload *w = a->workload;
  uint32_t n_trips = ra_trips_draw(w, iteration, a->seed, NULL);

  for (a->trip = 0; a->trip < n_trips; a->trip++) {
    for (guint i = 0; i < w->n_calls; i++)
      a->before[i] = a->trip > 0 && w->calls[i].each_trip
                         ? ra_augmenter_last_part(a, iteration, i)
                         : RA_NONE;
    for (guint i = 0; i < w->n_calls; i++)
      if (w->calls[w->order[i]].each_trip)
        add_call(a, iteration, w->order[i]);
  }
  a->trip = 0;
}

static void
add_iteration(RaAugmenter *a, uint32_t iteration)
{
  const RaWorkload *w = a->workload;
  gboolean trips = ra_trips_are_set(w);

  if (trips)
    add_trips(a, iteration);
  for (guint pass = trips ? 0 : 1; pass < 2; pass++)
    for (uint32_t i = 0; i < w->n_calls; i++) {
      uint32_t call = w->order[i];

      if (w->calls[call].each_trip != (pass == 0))
        continue;
      if (pass > 0)
        add_call(a, iteration, call);
      ra_augment_push_versions(a, iteration, call);
      ra_augment_offload(a, iteration, call);
    }
}

static RaAugmented *
augment(const RaPlan *plan, uint32_t n_iterations, uint64_t seed,
        gboolean is_bare)
{
  const RaWorkload *w = plan->workload;
  gsize n_cells = (gsize)n_iterations * w->n_calls;
  RaAugmenter a = {.plan = plan,
                   .workload = w,
                   .n_iterations = n_iterations,
                   .seed = seed,
                   .is_bare = is_bare};
  RaAugmented *result;
  uint32_t zero = 0;

  a.nodes = g_array_new(FALSE, FALSE, sizeof(RaNode));
  a.pred_begin = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  a.pred = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  a.copies = g_array_new(FALSE, FALSE, sizeof(RaCopy));
  a.host = ra_augment_host_new(plan, n_iterations);
  g_array_append_val(a.pred_begin, zero);
  a.before = g_new(uint32_t, w->n_calls);
  a.first = g_new(uint32_t, n_cells);
  a.version = g_new(uint32_t, n_cells);
  memset(a.first, 0xff, n_cells * sizeof *a.first);
  memset(a.version, 0xff, n_cells * sizeof *a.version);
  a.load = g_new0(RaReallocLoad, w->n_calls);
  a.has_load = g_new0(gboolean, w->n_calls);
  a.tokens = ra_length_mean(&w->prompt_length) + ra_turns_mean_tokens(w);

  for (uint32_t k = 0; k < n_iterations; k++)
    add_iteration(&a, k);
  ra_augment_copies(&a);
  result = finish(&a);
  g_array_unref(a.nodes);
  g_array_unref(a.pred_begin);
  g_array_unref(a.pred);
  g_array_unref(a.copies);
  ra_augment_host_free(a.host);
  g_free(a.before);
  g_free(a.first);
  g_free(a.version);
  g_free(a.load);
  g_free(a.has_load);
  return result;
}

RaAugmented *
ra_augment(const RaPlan *plan, uint32_t n_iterations)
{
  g_return_val_if_fail(n_iterations >= 1, NULL);
  return augment(plan, n_iterations, 0, FALSE);
}

RaAugmented *
ra_augment_drawn(const RaPlan *plan, uint32_t n_iterations, uint64_t seed)
{
  g_return_val_if_fail(n_iterations >= 1, NULL);
  return augment(plan, n_iterations, seed, FALSE);
}

RaAugmented *
ra_augment_bare(const RaPlan *plan, uint32_t n_iterations, uint64_t seed)
{
  g_return_val_if_fail(n_iterations >= 1, NULL);
  return augment(plan, n_iterations, seed, TRUE);
}

void
ra_augmented_free(RaAugmented *augmented)
{
  if (!augmented)
    return;
  ra_arena_free(augmented->arena);
  g_free(augmented);
}

const char *
ra_node_kind_name(RaNodeKind kind)
{
  static const char *const names[] = {"call", "realloc", "transfer", "offload",
                                      "reload"};

  g_return_val_if_fail(kind < G_N_ELEMENTS(names), "?");
  return names[kind];
}

char *
ra_node_name(const RaAugmented *augmented, uint32_t node)
{
  const RaNode *n = &augmented->nodes[node];
  const RaCall *calls = augmented->plan->workload->calls;
  GString *text = g_string_new(NULL);

  g_string_append_printf(text, "it%u/", n->iteration);
  if (n->kind != RA_NODE_CALL)
    g_string_append_printf(text, "%s/", ra_node_kind_name((RaNodeKind)n->kind));
  if (n->source != RA_NONE)
    g_string_append_printf(text, "%s>", calls[n->source].name);
  g_string_append(text, calls[n->call].name);
  if (n->n_parts > 1)
    g_string_append_printf(text, ".p%u", n->part);
  if (n->trip > 0)
    g_string_append_printf(text, ".t%u", n->trip);
  return g_string_free(text, FALSE);
}
