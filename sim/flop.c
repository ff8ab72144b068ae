/* Model and hardware FLOP, and tokens, of each call. */
#include "config.h"

#include <string.h>

#include "base/sum.h"
#include "estimator/estimator.h"
#include "graph/expand/dynamic.h"
#include "sim/flop.h"
#include "sim/generate/decode_group.h"

/* Sums of one call; exact, so that they are equal with and without folding. */
typedef struct {
  RaSum model_flop, hardware_flop, tokens;
} Total;

static double
ops_flop(const RaOp *ops, guint n_ops)
{
  double flop = 0;

  for (guint i = 0; i < n_ops; i++)
    flop += ops[i].count * ra_op_flop(&ops[i]);
  return flop;
}

static const RaNode *
task_node(const RaTaskGraph *graph, RaTaskId task)
{
  return &graph->augmented->nodes[graph->node[task]];
}

/* The work of a task that runs a micro-batch forward through the last stage,
 * or NULL. */
static const RaWork *
last_forward(const RaTaskGraph *graph, RaTaskId task)
{
  const RaWork *work;

  if (graph->kind[task] != RA_TASK_FORWARD || graph->work[task] == RA_NONE)
    return NULL;
  work = &graph->works[graph->work[task]];
  return work->shard != RA_NONE && work->piece.has_head ? work : NULL;
}

/* TRUE if the prompts of a generate call are in its forwards alone. */
static gboolean
has_rollout(const RaTaskGraph *graph, const RaNode *node)
{
  uint32_t n_calls = graph->augmented->plan->workload->n_calls;

  return graph->rollouts &&
         graph->rollouts[(gsize)node->iteration * n_calls + node->call] != NULL;
}

static void
count_forward(const RaTaskGraph *graph, RaTaskId task, const RaWork *work,
              Total *total)
{
  const RaNode *node = task_node(graph, task);
  uint32_t weight = ra_task_weight(graph, task);
  const RaCall *call = &graph->augmented->plan->workload->calls[node->call];
  const RaModel *model = graph->shards[work->shard].model;
  ra_sum_add(&total->model_flop,
             call->kind == RA_CALL_GENERATE
                 ? ra_model_prefill_flop(model, &work->batch)
             : call->kind == RA_CALL_TRAIN
                 ? ra_model_train_flop(model, &work->batch)
                 : ra_model_forward_flop(model, &work->batch),
             weight);
  /* A generate call's tokens are counted from the lengths; of train, the
   * first epoch has every sequence once. */
  if (call->kind == RA_CALL_INFERENCE || has_rollout(graph, node) ||
      (call->kind == RA_CALL_TRAIN &&
       graph->mini_batch[task] <
           ra_call_plan_n_pieces(call,
                                 &graph->augmented->plan->calls[node->call])))
    ra_sum_add(&total->tokens, (double)work->batch.q_tokens, weight);
}

/* FLOP of a decode step on all GPUs of a replica: with n sequences at K tokens
 * base + per_token K, as only attention sees K. */
typedef struct {
  double base;
  double per_token;
  gboolean known;
} StepFlop;

static double
step_flop_at(const RaTaskGraph *graph, const RaDynamic *dynamic,
             uint32_t n_sequences, uint64_t kv_tokens)
{
  const RaShard *shard = &graph->shards[dynamic->shard];
  RaBatch batch = {n_sequences, n_sequences, kv_tokens, kv_tokens};
  RaOp ops[RA_OP_LIST_MAX];
  double flop = 0;

  for (uint32_t s = 0; s < dynamic->n_stages; s++)
    flop += shard->tp * ops_flop(ops, ra_op_list(shard, &dynamic->pieces[s],
                                                 RA_PHASE_DECODE, &batch, ops));
  return flop / ra_shard_positions(shard); /* those that stand */
}

static StepFlop
step_flop(const RaTaskGraph *graph, const RaDynamic *dynamic,
          uint32_t n_sequences, GArray *cache)
{
  StepFlop *step;

  if (cache->len <= n_sequences)
    g_array_set_size(cache, n_sequences + 1);
  step = &g_array_index(cache, StepFlop, n_sequences);
  if (!step->known) {
    double at_1 = step_flop_at(graph, dynamic, n_sequences, n_sequences);
    double at_2 = step_flop_at(graph, dynamic, n_sequences, 2 * n_sequences);

    step->known = TRUE;
    step->per_token = (at_2 - at_1) / n_sequences;
    step->base = at_1 - step->per_token * n_sequences;
  }
  return *step;
}

/* FLOP of a step with chunks of prompts, on all GPUs of a replica. */
static double
mixed_flop(const RaShard *shard, const RaDynamic *dynamic,
           const RaBatchStretch *step)
{
  RaMixedBatch batch = ra_mixed_batch(step);
  RaOp ops[RA_OP_LIST_MAX];
  double flop = 0;

  for (uint32_t s = 0; s < dynamic->n_stages; s++)
    flop += shard->tp *
            ops_flop(ops,
                     ra_op_list_mixed(shard, &dynamic->pieces[s], &batch, ops));
  return flop;
}

/* FLOP of a replica with continuous batching: decode steps and chunks of
 * prompts, again after preemption and once if shared. */
static double
served_flop(const RaTaskGraph *graph, const RaDynamic *dynamic, uint32_t group,
            GArray *cache)
{
  g_autoptr(RaBatcher) b = ra_dynamic_batcher_new(dynamic, group);
  uint64_t left = dynamic->n_steps > 0 ? dynamic->n_steps : UINT64_MAX;
  RaBatchStretch s;
  const uint32_t *paused;
  guint n_paused;
  double flop = 0;

  ra_batcher_arrive(b, ra_dynamic_size(dynamic, group));
  while (left > 0 && ra_batcher_next(b, &s)) {
    uint64_t n_steps = MIN(s.n_steps, left);
    double m = (double)n_steps, n = s.n_decoding;

    if (s.n_chunks > 0) {
      flop += mixed_flop(&graph->shards[dynamic->shard], dynamic, &s);
    } else {
      StepFlop step = step_flop(graph, dynamic, s.n_decoding, cache);

      flop += m * step.base +
              step.per_token * (m * (double)s.kv_tokens + n * m * (m - 1) / 2);
    }
    ra_batcher_take(b, n_steps);
    left -= n_steps;
    /* Tools answer at once: no time goes by here. */
    paused = ra_batcher_paused(b, &n_paused);
    for (guint i = 0; i < n_paused; i++)
      ra_batcher_resume(b, paused[i]);
  }
  return flop;
}

/* The prompts of a replica that batches continuously: of a model, each is
 * computed once. */
static double
prompts_flop(const RaModel *model, const RaDynamic *dynamic)
{
  RaBatch prompts = {dynamic->n_sequences, 0, 0, 0};

  for (uint32_t i = 0; i < dynamic->n_sequences; i++) {
    uint64_t p = dynamic->prompt[i];

    prompts.q_tokens += p;
    prompts.pairs += p * (p + 1) / 2;
  }
  prompts.kv_tokens = prompts.q_tokens;
  return ra_model_prefill_flop(model, &prompts);
}

/* A phase of continuous batching: prompts with their first token, and the
 * token after t others of a prompt of p sees p + t. */
static void
count_phase(const RaModel *model, const RaDynamic *d, RaFlopShare *share)
{
  RaBatch decode = {1, 0, 0, 0};

  for (uint32_t i = 0; i < d->n_sequences; i++) {
    uint64_t from = d->starts[0].generated[i], to = d->made[i];
    uint64_t p = d->prompt[i], n;

    if (from == to)
      continue;
    if (from == 0) {
      RaBatch prompt = {1, p, p, p * (p + 1) / 2};

      share->model_flop += ra_model_prefill_flop(model, &prompt);
      share->tokens += (double)p;
      from = 1;
    }
    n = to - from;
    decode.q_tokens += n;
    decode.pairs += n * p + (to * (to - 1) - from * (from - 1)) / 2;
  }
  decode.kv_tokens = decode.pairs;
  share->model_flop += ra_model_decode_flop(model, &decode);
  share->tokens += (double)d->generated_tokens;
}

/* Adds the decode steps of one replica.  A stretch of m steps after step t of a
 * sequences with prompts P attends to the sum of P + a (t + j), j = 1 .. m. */
static void
count_decode(const RaTaskGraph *graph, const RaDynamic *dynamic, GArray *cache,
             RaFlopShare *share)
{
  RaDecodeGroup *groups = ra_decode_groups_new(dynamic);
  const RaModel *model = graph->shards[dynamic->shard].model;

  for (uint32_t g = 0; g < dynamic->n_groups; g++) {
    uint64_t step = 0;

    for (uint32_t s = 0; s < groups[g].n_stretches; s++) {
      const RaDecodeStretch *stretch = &groups[g].stretches[s];
      uint64_t m = stretch->last_step - step, n = stretch->n_active;
      uint64_t pairs =
          m * stretch->prompt_tokens + n * (m * step + m * (m + 1) / 2);
      RaBatch batch = {(uint32_t)n, m * n, pairs, pairs};
      StepFlop flop = step_flop(graph, dynamic, (uint32_t)n, cache);

      share->model_flop += ra_model_decode_flop(model, &batch);
      share->hardware_flop +=
          (double)m * flop.base + flop.per_token * (double)pairs;
      step = stretch->last_step;
    }
  }
  /* The prompts of a phase count where they are computed. */
  share->tokens += (double)dynamic->generated_tokens;
  for (uint32_t i = 0; i < dynamic->n_sequences && !dynamic->is_phase; i++)
    share->tokens += (double)dynamic->prompt[i] + dynamic->response[i];
  ra_decode_groups_free(groups, dynamic->n_groups);
}

static void
count_dynamic(const RaTaskGraph *graph, const RaDynamic *dynamic, GArray *cache,
              Total *total)
{
  RaFlopShare share = {0, 0, 0};
  const RaModel *model = graph->shards[dynamic->shard].model;

  if (dynamic->starts)
    count_phase(model, dynamic, &share);
  else
    count_decode(graph, dynamic, cache, &share);
  if (dynamic->batching.max_sequences > 0) {
    if (!dynamic->starts)
      share.model_flop += prompts_flop(model, dynamic);
    share.hardware_flop = 0;
    for (uint32_t g = 0; g < dynamic->n_groups; g++)
      share.hardware_flop += served_flop(graph, dynamic, g, cache);
  }
  ra_sum_add(&total->model_flop, share.model_flop, dynamic->weight);
  ra_sum_add(&total->hardware_flop, share.hardware_flop, dynamic->weight);
  ra_sum_add(&total->tokens, share.tokens, dynamic->weight);
}

static void
count_dynamics(const RaTaskGraph *graph, uint32_t first_iteration,
               Total *totals)
{
  GArray *cache = g_array_new(FALSE, TRUE, sizeof(StepFlop));
  const RaDynamic *before = NULL;

  for (uint32_t d = 0; d < graph->n_dynamics; d++) {
    const RaDynamic *dynamic = &graph->dynamics[d];
    const RaNode *node = &graph->augmented->nodes[dynamic->node];

    if (node->iteration < first_iteration)
      continue;
    /* The cache is of one shard and one list of stages. */
    if (before && (before->shard != dynamic->shard ||
                   before->n_stages != dynamic->n_stages ||
                   memcmp(before->pieces, dynamic->pieces,
                          before->n_stages * sizeof *before->pieces) != 0))
      g_array_set_size(cache, 0);
    count_dynamic(graph, dynamic, cache, &totals[node->call]);
    before = dynamic;
  }
  g_array_unref(cache);
}

RaFlopShare *
ra_flop_count(const RaTaskGraph *graph, uint32_t first_iteration)
{
  uint32_t n_calls = graph->augmented->plan->workload->n_calls;
  RaFlopShare *shares = g_new0(RaFlopShare, n_calls);
  g_autofree Total *totals = g_new0(Total, n_calls);
  g_autofree double *work_flop = g_new(double, graph->n_works);
  RaOp ops[RA_OP_LIST_MAX];

  for (uint32_t w = 0; w < graph->n_works; w++)
    work_flop[w] = ops_flop(ops, ra_work_ops(graph, w, ops));
  for (RaTaskId t = 0; t < graph->n_tasks; t++) {
    const RaNode *node = task_node(graph, t);
    const RaWork *work = last_forward(graph, t);

    if (node->kind != RA_NODE_CALL || node->iteration < first_iteration)
      continue;
    if (work)
      count_forward(graph, t, work, &totals[node->call]);
    if (graph->work[t] != RA_NONE)
      ra_sum_add(&totals[node->call].hardware_flop, work_flop[graph->work[t]],
                 graph->group_n_gpus[graph->group[t]]);
  }
  count_dynamics(graph, first_iteration, totals);
  for (uint32_t c = 0; c < n_calls; c++)
    shares[c] = (RaFlopShare){ra_sum_get(&totals[c].model_flop),
                              ra_sum_get(&totals[c].hardware_flop),
                              ra_sum_get(&totals[c].tokens)};
  return shares;
}
