/* Expansion of a generate call: prefill pipeline and decode tasks. */
#include "config.h"

#include "graph/expand/expand_experts.h"
#include "graph/expand/expand_zero.h"
#include "graph/input/plan_batching.h"
#include "graph/input/turns.h"

/* Forwards alone, of all replicas. */
typedef struct {
  RaCallContext *x;
  const RaNodeEnds *ends;
  RaPipeline **pipelines; /* (dp) */
  RaZeroPass zero;
} RaForwards;

static uint16_t
part_of(const RaCallContext *x, const RaNodeEnds *ends)
{
  return (uint16_t)ra_builder_augmented(x->builder)->nodes[ends->node].part;
}

static void
begin_forwards(RaForwards *f, RaCallContext *x, const RaNodeEnds *ends)
{
  *f = (RaForwards){.x = x, .ends = ends};
  f->pipelines = g_new0(RaPipeline *, x->plan->dp);
  ra_zero_begin(&f->zero, x, ends->node, part_of(x, ends), ends->entries,
                ends->n_entries);
}

/* Those of one replica over @batches, gated by the node's entries. */
static void
add_forwards(RaForwards *f, uint32_t replica, const RaBatch *batches)
{
  RaCallContext *x = f->x;
  RaPipelineSpec spec = {f->ends->node,
                         replica,
                         part_of(x, f->ends),
                         batches,
                         x->plan->n_micro_batches,
                         FALSE};
  RaPipeline *pipeline = ra_expand_pipeline(x, &spec);

  for (guint e = 0; e < f->ends->n_entries; e++)
    ra_builder_edge(x->builder, f->ends->entries[e], pipeline->first[0]);
  f->pipelines[replica] = pipeline;
}

static void
end_forwards(RaForwards *f)
{
  ra_experts_meet(f->x, f->pipelines);
  ra_zero_end(&f->zero, f->pipelines);
  for (uint32_t d = 0; d < f->x->plan->dp; d++)
    ra_pipeline_free(f->pipelines[d]);
  g_free(f->pipelines);
}

void
ra_expand_inference(RaCallContext *x, const RaNodeEnds *ends)
{
  const RaCallPlan *p = x->plan;
  const RaNode *node = &ra_builder_augmented(x->builder)->nodes[ends->node];
  const RaSequenceSet *set = ra_builder_node_sequences(x->builder, ends->node);
  uint32_t share = x->c->n_sequences / node->n_parts;
  uint32_t size = share / p->dp;
  g_autofree RaBatch *batches = g_new(RaBatch, p->n_micro_batches);
  RaForwards f;

  begin_forwards(&f, x, ends);
  for (uint32_t d = 0; d < p->dp; d++) {
    if (ra_replica_weight(x, d) == 0)
      continue;
    ra_sequence_set_cut(set, node->part * share + d * size, size,
                        p->n_micro_batches, p, batches, NULL);
    add_forwards(&f, d, batches);
    g_array_append_val(ends->exits, f.pipelines[d]->last[p->pp - 1]);
  }
  end_forwards(&f);
}

RaOp
ra_token_send(const RaCallContext *x, uint32_t replica)
{
  uint64_t bytes = ra_model_stream_width(x->model) *
                   ra_dtype_bytes(ra_activation_dtype(x->dtype));
  RaOp op;

  if (x->plan->sequence_parallel) /* a rank has its rows of a step */
    bytes = (bytes + x->plan->tp - 1) / x->plan->tp;
  op = ra_send_op(x, replica, 0, 0, bytes);
  for (uint32_t s = 0; s + 1 < x->plan->pp; s++) {
    RaOp other = ra_send_op(x, replica, s, s + 1, bytes);
    if (other.dim[1])
      op = other;
  }
  return op;
}

/* Tools that run at once for a micro-batch of a replica; 0: no limit. */
static uint32_t
tools_of(const RaCallContext *x)
{
  uint32_t all = ra_builder_augmented(x->builder)->plan->workload->n_sandboxes;
  uint32_t n = x->plan->dp * x->plan->n_micro_batches;

  return all > 0 ? MAX(1, all / MAX(1, n)) : 0;
}

static void
add_dynamic(RaCallContext *x, uint32_t node, uint32_t replica,
            const RaSequenceSet *set)
{
  const RaCallPlan *p = x->plan;
  uint32_t share = x->c->n_sequences / p->dp, first = replica * share;
  RaDynamic dynamic = {.node = node,
                       .shard = x->shard,
                       .n_groups = p->n_micro_batches,
                       .n_stages = p->pp,
                       .pieces = x->pieces,
                       .send = ra_token_send(x, replica),
                       .n_sequences = share,
                       .prompt = set->prompt + first,
                       .response = set->response + first,
                       .n_parts = x->c->n_parts,
                       .weight = ra_replica_weight(x, replica),
                       .batching = ra_call_batching(
                           ra_builder_augmented(x->builder)->plan, x->call)};

  if (set->turns)
    dynamic.turns =
        (RaBatchTurns){set->turns->begin + first, set->turns->response,
                       set->turns->tool_tokens,   set->turns->latency_s,
                       !p->tool_kv_drops,         tools_of(x)};

  x->dynamic[replica] = ra_builder_dynamic(x->builder, &dynamic);
}

static void
add_prefill(RaForwards *f, uint32_t replica, const RaSequenceSet *set)
{
  RaCallContext *x = f->x;
  const RaCallPlan *p = x->plan;
  uint32_t share = x->c->n_sequences / p->dp, first = replica * share;
  g_autofree RaBatch *batches = g_new(RaBatch, p->n_micro_batches);

  for (uint32_t g = 0; g < p->n_micro_batches; g++)
    batches[g] = ra_sequence_set_prompts(
        set, first + (uint32_t)((uint64_t)g * share / p->n_micro_batches),
        first + (uint32_t)((uint64_t)(g + 1) * share / p->n_micro_batches));
  add_forwards(f, replica, batches);
}

/* The decode of a part follows the prefill, or the part before it, in the
 * queues of the replica's stages.  With continuous batching it has the prompts
 * within. */
void
ra_expand_generate(RaCallContext *x, const RaNodeEnds *ends)
{
  const RaNode *node = &ra_builder_augmented(x->builder)->nodes[ends->node];
  const RaSequenceSet *set = ra_builder_node_sequences(x->builder, ends->node);
  gboolean prefills =
      node->part == 0 && x->plan->batching == RA_BATCHING_STATIC;
  RaForwards f;

  if (set->rollout) {
    ra_expand_rollout(x, ends, set->rollout);
    return;
  }
  if (prefills)
    begin_forwards(&f, x, ends);
  for (uint32_t d = 0; d < x->plan->dp; d++) {
    RaTaskSpec t = RA_TASK_SPEC_INIT;
    RaTaskId id;
    if (ra_replica_weight(x, d) == 0)
      continue;
    if (node->part == 0)
      add_dynamic(x, ends->node, d, set);
    if (prefills)
      add_prefill(&f, d, set);
    t.kind = RA_TASK_DECODE;
    t.stream = RA_STREAM_COMPUTE;
    t.mini_batch = (uint16_t)node->part;
    t.replica = d;
    t.node = ends->node;
    t.dynamic = x->dynamic[d];
    t.group = ra_lane_map_replica(ra_builder_lanes(x->builder), x->call, d);
    id = ra_builder_task(x->builder, &t);
    for (guint e = 0; !prefills && e < ends->n_entries; e++)
      ra_builder_edge(x->builder, ends->entries[e], id);
    g_array_append_val(ends->exits, id);
  }
  if (prefills)
    end_forwards(&f);
}
