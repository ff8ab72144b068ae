#include "config.h"

#include "graph/expand_call.h"

/* Forwards of one replica over @batches, gated by the node's entries. */
static RaPipeline *
add_forwards(RaCallContext *x, const RaNodeEnds *ends, uint32_t replica,
             const RaBatch *batches)
{
  const RaNode *node = &ra_builder_augmented(x->builder)->nodes[ends->node];
  RaPipelineSpec spec = {ends->node,
                         replica,
                         (uint16_t)node->part,
                         batches,
                         x->plan->n_micro_batches,
                         FALSE};
  RaPipeline *pipeline = ra_expand_pipeline(x, &spec);

  for (guint e = 0; e < ends->n_entries; e++)
    ra_builder_edge(x->builder, ends->entries[e], pipeline->first[0]);
  return pipeline;
}

void
ra_expand_inference(RaCallContext *x, const RaNodeEnds *ends)
{
  const RaCallPlan *p = x->plan;
  const RaNode *node = &ra_builder_augmented(x->builder)->nodes[ends->node];
  const RaSequenceSet *set =
      ra_builder_sequences(x->builder, x->c->set, node->iteration);
  uint32_t share = x->c->n_sequences / node->n_parts;
  uint32_t size = share / p->dp / p->n_micro_batches;
  g_autofree RaBatch *batches = g_new(RaBatch, p->n_micro_batches);

  for (uint32_t d = 0; d < p->dp; d++) {
    g_autoptr(RaPipeline) pipeline = NULL;
    if (ra_replica_weight(x, d) == 0)
      continue;
    for (uint32_t i = 0; i < p->n_micro_batches; i++) {
      uint32_t first = node->part * share + (d * p->n_micro_batches + i) * size;
      batches[i] = ra_sequence_set_batch(set, first, first + size);
    }
    pipeline = add_forwards(x, ends, d, batches);
    g_array_append_val(ends->exits, pipeline->last[p->pp - 1]);
  }
}

/* A token's activations between stages, for one sequence; across nodes where
 * any of the replica's boundaries is. */
static RaOp
token_send(const RaCallContext *x, uint32_t replica)
{
  uint64_t bytes = (uint64_t)x->model->hidden * ra_dtype_bytes(x->dtype);
  RaOp op = ra_send_op(x, replica, 0, 0, bytes);

  for (uint32_t s = 0; s + 1 < x->plan->pp; s++) {
    RaOp other = ra_send_op(x, replica, s, s + 1, bytes);
    if (other.dim[1])
      op = other;
  }
  return op;
}

static void
add_prefill(RaCallContext *x, const RaNodeEnds *ends, uint32_t replica,
            const RaSequenceSet *set)
{
  const RaCallPlan *p = x->plan;
  uint32_t share = x->c->n_sequences / p->dp, first = replica * share;
  g_autofree RaBatch *batches = g_new(RaBatch, p->n_micro_batches);
  RaDynamic dynamic = {.node = ends->node,
                       .shard = x->shard,
                       .n_groups = p->n_micro_batches,
                       .n_stages = p->pp,
                       .pieces = x->pieces,
                       .send = token_send(x, replica),
                       .n_sequences = share,
                       .prompt = set->prompt + first,
                       .response = set->response + first,
                       .n_parts = x->c->n_parts,
                       .weight = ra_replica_weight(x, replica)};

  for (uint32_t g = 0; g < p->n_micro_batches; g++)
    batches[g] = ra_sequence_set_prompts(
        set, first + (uint32_t)((uint64_t)g * share / p->n_micro_batches),
        first + (uint32_t)((uint64_t)(g + 1) * share / p->n_micro_batches));
  ra_pipeline_free(add_forwards(x, ends, replica, batches));
  x->dynamic[replica] = ra_builder_dynamic(x->builder, &dynamic);
}

/* The decode of a part follows the prefill, or the part before it, in the
 * queues of the replica's stages. */
void
ra_expand_generate(RaCallContext *x, const RaNodeEnds *ends)
{
  const RaNode *node = &ra_builder_augmented(x->builder)->nodes[ends->node];
  const RaSequenceSet *set =
      ra_builder_sequences(x->builder, x->c->set, node->iteration);

  for (uint32_t d = 0; d < x->plan->dp; d++) {
    RaTaskSpec t = RA_TASK_SPEC_INIT;
    RaTaskId id;
    if (ra_replica_weight(x, d) == 0)
      continue;
    if (node->part == 0)
      add_prefill(x, ends, d, set);
    t.kind = RA_TASK_DECODE;
    t.stream = RA_STREAM_COMPUTE;
    t.mini_batch = (uint16_t)node->part;
    t.replica = d;
    t.node = ends->node;
    t.dynamic = x->dynamic[d];
    t.group = ra_lane_map_replica(ra_builder_lanes(x->builder), x->call, d);
    id = ra_builder_task(x->builder, &t);
    g_array_append_val(ends->exits, id);
  }
}
