/* A generate call whose sequences move or are over-sampled: the phases of
 * graph/rollout/rollout.h as tasks. */
#include "config.h"

#include "graph/expand/expand_call.h"
#include "graph/input/plan_batching.h"
#include "graph/op/activation.h"

#define TOKEN_BYTES 4 /* an int32 token id */

/* The call's part under expansion. */
typedef struct {
  RaCallContext *x;
  const RaNodeEnds *ends;
  const RaRollout *rollout;
  uint32_t phase; /* in hand */
  GArray *gate;   /* RaTaskId: what the first tasks of the phase wait for */
  RaTaskId *last; /* (dp) last task of each replica; RA_NONE: none yet */
} Phases;

static void
wait_gate(const Phases *p, RaTaskId task)
{
  for (guint i = 0; i < p->gate->len; i++)
    ra_builder_edge(p->x->builder, g_array_index(p->gate, RaTaskId, i), task);
}

/* One message of a replica's GPUs each to theirs of another, as many in a row
 * as the busiest has partners; the text goes alone where keys are computed
 * again. */
static void
add_move(Phases *p, const RaSpellMove *move)
{
  RaCallContext *x = p->x;
  gboolean copies = x->plan->tail.moved_kv == RA_MOVED_COPY;
  uint64_t bytes = TOKEN_BYTES;
  RaWork work = {
      .shard = RA_NONE,
      .op = {.kind = RA_OP_REALLOC, .count = 1, .dim = {0, 0, move->n_steps}}};
  RaTaskSpec t = RA_TASK_SPEC_INIT;
  RaTaskId id;

  /* Every stage sends its layers' keys; the one with most takes longest. */
  for (uint32_t s = 0; copies && s < x->plan->pp; s++)
    bytes = MAX(bytes, ra_kv_token_bytes(&x->shard_record, &x->pieces[s]));
  work.op.dim[0] = move->max_intra_tokens * bytes;
  work.op.dim[1] = move->max_inter_tokens * bytes;
  t.kind = RA_TASK_MIGRATE;
  t.stream = RA_STREAM_COMPUTE; /* all stop: what is sent still has its room */
  t.mini_batch = (uint16_t)p->phase;
  t.node = p->ends->node;
  t.group = ra_lane_map_mesh(ra_builder_lanes(x->builder), x->call, RA_NONE);
  t.work = ra_builder_work(x->builder, &work);
  id = ra_builder_task(x->builder, &t);
  wait_gate(p, id);
  g_array_set_size(p->gate, 0);
  g_array_append_val(p->gate, id);
}

/* The prompts [@first, @last) of a spell. */
static RaBatch
prompts(const RaSpell *spell, uint32_t first, uint32_t last)
{
  RaBatch batch = {last - first, 0, 0, 0};

  for (uint32_t i = first; i < last; i++) {
    uint64_t n = spell->prompt[i];

    batch.q_tokens += n;
    batch.kv_tokens += n;
    batch.pairs += n * (n + 1) / 2;
  }
  return batch;
}

/* The prompts of the first of a spell's sequences: in the micro-batches that
 * are decoded where all have one, else in one. */
static RaTaskId
add_prefill(Phases *p, uint32_t replica, const RaSpell *spell)
{
  uint32_t m = p->x->plan->n_micro_batches, n = spell->n_prefilled;
  g_autofree RaBatch *batches = g_new(RaBatch, m);
  RaPipelineSpec spec = {p->ends->node, replica, (uint16_t)p->phase,
                         batches,       1,       FALSE};
  g_autoptr(RaPipeline) pipeline = NULL;

  if (n == spell->n && n >= m) {
    spec.m = m;
    for (uint32_t g = 0; g < m; g++)
      batches[g] = prompts(spell, (uint32_t)((uint64_t)g * n / m),
                           (uint32_t)((uint64_t)(g + 1) * n / m));
  } else {
    batches[0] = prompts(spell, 0, n);
  }
  pipeline = ra_expand_pipeline(p->x, &spec);
  wait_gate(p, pipeline->first[0]);
  return pipeline->last[p->x->plan->pp - 1];
}

static void
add_decode(Phases *p, uint32_t replica, const RaSpell *spell)
{
  RaCallContext *x = p->x;
  RaDynamic dynamic = {.node = p->ends->node,
                       .shard = x->shard,
                       .n_groups = x->plan->n_micro_batches,
                       .n_stages = x->plan->pp,
                       .pieces = x->pieces,
                       .send = ra_token_send(x, replica),
                       .n_sequences = spell->n,
                       .prompt = spell->prompt,
                       .response = spell->response,
                       .n_parts = 1,
                       .weight = 1,
                       .first_part = p->phase,
                       .is_phase = TRUE,
                       .left_tokens = spell->left_tokens,
                       .generated_tokens = spell->generated_tokens,
                       .group_begin = spell->group_begin,
                       .starts = spell->starts,
                       .n_steps = spell->n_steps,
                       .before_tokens = spell->before_tokens,
                       .peak_tokens = spell->peak_tokens,
                       .made = spell->made};
  RaTaskSpec t = RA_TASK_SPEC_INIT;

  if (spell->starts)
    dynamic.batching =
        ra_call_batching(ra_builder_augmented(x->builder)->plan, x->call);

  t.kind = RA_TASK_DECODE;
  t.stream = RA_STREAM_COMPUTE;
  t.mini_batch = (uint16_t)p->phase;
  t.replica = replica;
  t.node = p->ends->node;
  t.dynamic = ra_builder_dynamic(x->builder, &dynamic);
  t.group = ra_lane_map_replica(ra_builder_lanes(x->builder), x->call, replica);
  p->last[replica] = ra_builder_task(x->builder, &t);
  if (spell->n_prefilled == 0)
    wait_gate(p, p->last[replica]);
}

void
ra_expand_rollout(RaCallContext *x, const RaNodeEnds *ends,
                  const RaRollout *rollout)
{
  const RaNode *node = &ra_builder_augmented(x->builder)->nodes[ends->node];
  g_autoptr(GArray) gate = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  g_autofree RaTaskId *last = g_new(RaTaskId, rollout->n_replicas);
  Phases p = {x, ends, rollout, rollout->part_begin[node->part], gate, last};

  g_array_append_vals(gate, ends->entries, ends->n_entries);
  for (uint32_t d = 0; d < rollout->n_replicas; d++)
    last[d] = RA_NONE;
  for (; p.phase < rollout->part_begin[node->part + 1]; p.phase++) {
    const RaSpell *spells =
        &rollout->spells[(gsize)p.phase * rollout->n_replicas];

    if (rollout->moves[p.phase].n > 0)
      add_move(&p, &rollout->moves[p.phase]);
    for (uint32_t d = 0; d < rollout->n_replicas; d++) {
      if (spells[d].n_prefilled > 0)
        add_prefill(&p, d, &spells[d]);
      if (spells[d].n > 0)
        add_decode(&p, d, &spells[d]);
    }
  }
  for (uint32_t d = 0; d < rollout->n_replicas; d++)
    if (last[d] != RA_NONE)
      g_array_append_val(ends->exits, last[d]);
  /* Nothing to generate: the part ends as it may begin. */
  if (ends->exits->len == 0)
    g_array_append_vals(ends->exits, gate->data, gate->len);
}
