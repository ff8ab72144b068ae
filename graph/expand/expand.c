/* Expansion of the augmented graph, node by node. */
#include "config.h"

#include <math.h>

#include "graph/expand/data_transfer.h"
#include "graph/expand/expand.h"
#include "graph/expand/expand_call.h"
#include "graph/expand/fold.h"

/* An expansion in progress. */
typedef struct {
  RaBuilder *builder;
  const RaAugmented *augmented;
  RaFidelity fidelity;
  RaCallContext **contexts; /* (n_calls) on demand */
  GArray *entries, *exits;  /* RaTaskId, of the node in hand */
  RaTaskId end;             /* of the node before it; RA_NONE: none */
} RaExpansion;

static RaTaskSpec
node_spec(uint32_t node, RaTaskKind kind, RaStream stream, uint32_t group)
{
  RaTaskSpec t = RA_TASK_SPEC_INIT;

  t.kind = kind;
  t.stream = stream;
  t.node = node;
  t.group = group;
  return t;
}

/* The one task of a node that is not spread over stages. */
static void
add_single(RaExpansion *e, const RaTaskSpec *spec)
{
  RaTaskId id = ra_builder_task(e->builder, spec);

  for (guint i = 0; i < e->entries->len; i++)
    ra_builder_edge(e->builder, g_array_index(e->entries, RaTaskId, i), id);
  g_array_append_val(e->exits, id);
}

/* Bytes of what was drawn, in or out of the busiest GPU. */
static uint64_t
transfer_bytes(RaExpansion *e, uint32_t id)
{
  const RaNode *n = &e->augmented->nodes[id];
  const RaPlan *plan = e->augmented->plan;
  const RaCall *calls = plan->workload->calls;
  RaDataTransfer transfer = {
      .part = n->part,
      .n_parts = n->n_parts,
      .from = ra_data_end(&calls[n->source], &plan->calls[n->source]),
      .to = ra_data_end(&calls[n->call], &plan->calls[n->call])};
  const RaSequenceSet *set = ra_builder_node_sequences(e->builder, id);

  ra_builder_set_transfer(
      e->builder, id, n->token_bytes * ra_data_transfer_tokens(&transfer, set));
  return n->token_bytes * ra_data_transfer_most_tokens(&transfer, set);
}

static void
add_move(RaExpansion *e, uint32_t id)
{
  const RaNode *n = &e->augmented->nodes[id];
  gboolean realloc = n->kind == RA_NODE_REALLOC;
  RaWork work = {.shard = RA_NONE,
                 .op = {.kind = RA_OP_REALLOC,
                        .count = 1,
                        .dim = {(uint64_t)ceil(n->max_intra_bytes),
                                (uint64_t)ceil(n->max_inter_bytes), n->n_steps,
                                n->cast_elements}}};
  RaTaskSpec t = node_spec(
      id, realloc ? RA_TASK_REALLOC : RA_TASK_TRANSFER,
      realloc ? RA_STREAM_REALLOC : RA_STREAM_TRANSFER,
      ra_lane_map_mesh(ra_builder_lanes(e->builder), n->source, n->call));

  if (!realloc) /* within a node or beyond, as it is expected */
    work.op.dim[work.op.dim[1] > 0] = transfer_bytes(e, id);
  t.work = ra_builder_work(e->builder, &work);
  add_single(e, &t);
}

/* Between the GPUs of a call and their hosts: each link to the host carries
 * what the GPUs behind it have, as if each had as much as the one with most. */
static void
add_copy(RaExpansion *e, uint32_t id)
{
  const RaNode *n = &e->augmented->nodes[id];
  gboolean out = n->kind == RA_NODE_OFFLOAD;
  const RaPlan *plan = e->augmented->plan;
  double n_sharing =
      ra_mesh_n_sharing_host(&plan->calls[n->call].mesh, plan->cluster);
  RaWork work = {.shard = RA_NONE,
                 .op = {.kind = out ? RA_OP_OFFLOAD : RA_OP_RELOAD,
                        .count = 1,
                        .dim = {(uint64_t)ceil(n->max_copy_bytes * n_sharing),
                                (uint64_t)(n->max_state_bytes * n_sharing)}}};
  RaTaskSpec t = node_spec(
      id, out ? RA_TASK_OFFLOAD : RA_TASK_RELOAD,
      out ? RA_STREAM_COPY_OUT : RA_STREAM_COPY_IN,
      ra_lane_map_mesh(ra_builder_lanes(e->builder), n->call, RA_NONE));

  t.work = ra_builder_work(e->builder, &work);
  add_single(e, &t);
}

static void
add_host(RaExpansion *e, uint32_t id)
{
  const RaPlan *plan = e->augmented->plan;
  uint32_t call = e->augmented->nodes[id].call;
  const RaCall *c = &plan->workload->calls[call];
  RaWork work = {.shard = RA_NONE,
                 .op = {.kind = RA_OP_HOST,
                        .count = 1,
                        .dim = {(uint64_t)llround(c->host_s * 1e9)}}};
  RaTaskSpec t = node_spec(
      id, RA_TASK_HOST, RA_STREAM_HOST,
      plan->calls[call].set
          ? ra_lane_map_mesh(ra_builder_lanes(e->builder), call, RA_NONE)
          : 0);

  t.work = ra_builder_work(e->builder, &work);
  add_single(e, &t);
}

static RaCallContext *
context_of(RaExpansion *e, uint32_t call)
{
  if (!e->contexts[call])
    e->contexts[call] = ra_call_context_new(e->builder, call);
  return e->contexts[call];
}

static void
add_call(RaExpansion *e, uint32_t id)
{
  const RaNode *n = &e->augmented->nodes[id];
  RaNodeEnds ends = {id, (const RaTaskId *)(gpointer)e->entries->data,
                     e->entries->len, e->exits};

  switch (e->augmented->plan->workload->calls[n->call].kind) {
  case RA_CALL_HOST:
    add_host(e, id);
    break;
  case RA_CALL_TRAIN:
    ra_expand_train(context_of(e, n->call), &ends);
    break;
  case RA_CALL_INFERENCE:
    ra_expand_inference(context_of(e, n->call), &ends);
    break;
  default:
    ra_expand_generate(context_of(e, n->call), &ends);
  }
}

/* At call fidelity every part of a call is one task on its mesh. */
static void
add_whole_call(RaExpansion *e, uint32_t id)
{
  const RaNode *n = &e->augmented->nodes[id];
  RaTaskSpec t = node_spec(
      id, RA_TASK_CALL, RA_STREAM_COMPUTE,
      ra_lane_map_mesh(ra_builder_lanes(e->builder), n->call, RA_NONE));

  add_single(e, &t);
}

/* One task that ends when all of the node has ended: what others wait for.
 * Without it every exit would have an edge to every entry of every reader. */
static void
close_node(RaExpansion *e, uint32_t id)
{
  RaTaskId end = RA_NONE;

  if (e->exits->len == 1)
    end = g_array_index(e->exits, RaTaskId, 0);
  /* One exit that stands for several is joined as they would be. */
  if (end == RA_NONE || ra_builder_task_weight(e->builder, end) > 1) {
    RaTaskSpec t = node_spec(id, RA_TASK_JOIN, RA_STREAM_NONE, 0);
    end = ra_builder_task(e->builder, &t);
    for (guint i = 0; i < e->exits->len; i++)
      ra_builder_edge(e->builder, g_array_index(e->exits, RaTaskId, i), end);
  }
  ra_builder_set_node_end(e->builder, id, end);
  e->end = end;
}

static void
add_node(RaExpansion *e, uint32_t id, gboolean alone)
{
  const RaAugmented *a = e->augmented;
  const RaNode *n = &a->nodes[id];

  g_array_set_size(e->entries, 0);
  g_array_set_size(e->exits, 0);
  for (uint32_t i = a->pred_begin[id]; !alone && i < a->pred_begin[id + 1];
       i++) {
    RaTaskId end = ra_builder_node_end(e->builder, a->pred[i]);
    g_array_append_val(e->entries, end);
  }
  /* Trips follow each other. */
  if (alone && n->trip > 0 && n->part == 0)
    g_array_append_val(e->entries, e->end);
  if (n->kind == RA_NODE_OFFLOAD || n->kind == RA_NODE_RELOAD)
    add_copy(e, id);
  else if (n->kind != RA_NODE_CALL)
    add_move(e, id);
  else if (e->fidelity == RA_FIDELITY_CALL &&
           a->plan->workload->calls[n->call].kind != RA_CALL_HOST)
    add_whole_call(e, id);
  else
    add_call(e, id);
  close_node(e, id);
}

RaTaskGraph *
ra_expand_with(const RaAugmented *augmented, const RaExpandOptions *options,
               GError **error)
{
  RaExpansion e = {.augmented = augmented, .fidelity = options->fidelity};
  RaFoldScope scope = {options->one_call ? options->call : RA_NONE,
                       options->iteration,
                       options->fidelity == RA_FIDELITY_CALL};
  RaTaskGraph *graph = NULL;

  e.builder = ra_builder_new(augmented, options->fidelity, options->seed);
  /* Replicas on unlike nodes are no twins. */
  if (options->fold && !augmented->plan->cluster->kinds)
    ra_fold_apply(e.builder, &scope);
  e.contexts = g_new0(RaCallContext *, augmented->plan->workload->n_calls);
  e.entries = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  e.exits = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  for (uint32_t i = 0;
       i < augmented->n_nodes && !ra_until_is_over(options->until); i++) {
    const RaNode *n = &augmented->nodes[i];
    if (!options->one_call ||
        (n->kind == RA_NODE_CALL && n->call == options->call &&
         n->iteration == options->iteration))
      add_node(&e, i, options->one_call);
  }
  if (!ra_until_is_over(options->until))
    graph = ra_builder_finish(e.builder, error);
  else
    ra_until_fail(error);
  if (graph) {
    graph->is_folded = options->fold;
    graph->until = options->until;
  }
  ra_builder_free(e.builder);
  g_free(e.contexts);
  g_array_unref(e.entries);
  g_array_unref(e.exits);
  return graph;
}

RaTaskGraph *
ra_expand(const RaAugmented *augmented, RaFidelity fidelity, uint64_t seed,
          GError **error)
{
  RaExpandOptions options = {.fidelity = fidelity, .seed = seed};
  return ra_expand_with(augmented, &options, error);
}
