/* Memory of generation: caches of keys and values, largest steps. */
#include "config.h"

#include <stdlib.h>

#include "graph/input/plan_batching.h"
#include "graph/memory/memory_generate.h"
#include "graph/rollout/batcher_replica.h"

/* A sequence of a batch that is being generated. */
typedef struct {
  uint32_t last_step; /* decode steps that it takes: response - 1 */
  uint32_t prompt;
} RaLiving;

static int
compare_living(const void *a, const void *b)
{
  const RaLiving *x = a, *y = b;

  return x->last_step < y->last_step ? -1 : x->last_step > y->last_step;
}

/* Prompts of those that go on, in blocks of B tokens. */
typedef struct {
  uint32_t block;
  uint64_t n;      /* prompts */
  uint64_t blocks; /* whole ones of all */
  uint64_t *rests; /* (B + 1) tree of sums (Fenwick): at r + 1 how many have r
                      tokens behind their whole blocks; owned */
} RaPrompts;

static void
prompts_add(RaPrompts *p, uint32_t prompt, int64_t sign)
{
  p->n += (uint64_t)sign;
  p->blocks += (uint64_t)(sign * (int64_t)(prompt / p->block));
  for (uint32_t i = prompt % p->block + 1; i <= p->block; i += i & -i)
    p->rests[i] += (uint64_t)sign;
}

/* Tokens of whole blocks of all, each with @step tokens more.  With step = a B
 * + b, of w whole blocks and r tokens behind them: w + a + ceil((r + b) / B),
 * which is 0 where r + b is 0, 1 up to B, 2 above. */
static uint64_t
prompts_room(const RaPrompts *p, uint32_t step)
{
  uint32_t b = step % p->block;
  uint64_t rest = b == 0 ? p->n - p->rests[1] : 2 * p->n;

  for (uint32_t i = p->block - b + 1; b > 0 && i > 0; i &= i - 1)
    rest -= p->rests[i]; /* r <= B - b */
  return (p->blocks + p->n * (step / p->block) + rest) * p->block;
}

void
ra_kv_peak_tokens(uint32_t n, const uint32_t *prompt, const uint32_t *response,
                  uint32_t block, uint32_t n_parts, uint64_t *out_peak,
                  uint64_t *out_left)
{
  g_autofree RaLiving *living = g_new(RaLiving, MAX(n, 1u));
  g_autofree uint64_t *rests = g_new0(uint64_t, (gsize)block + 1);
  RaPrompts on = {.block = block, .rests = rests};
  uint32_t i = 0;

  for (uint32_t k = 0; k < n; k++) {
    living[k] = (RaLiving){MAX(response[k], 1) - 1, prompt[k]};
    prompts_add(&on, prompt[k], 1);
  }
  qsort(living, n, sizeof *living, compare_living);
  for (uint32_t c = 0; c < n_parts; c++) {
    uint32_t end = (uint32_t)(((uint64_t)(c + 1) * n + n_parts - 1) / n_parts);
    uint64_t peak = c ? out_left[c - 1] : prompts_room(&on, 0);

    for (; i < end; i++) {
      peak = MAX(peak, prompts_room(&on, living[i].last_step));
      prompts_add(&on, living[i].prompt, -1);
    }
    out_peak[c] = peak;
    out_left[c] = i < n ? prompts_room(&on, living[i - 1].last_step) : 0;
  }
}

void
ra_batch_raise(RaBatch *most, RaBatch batch)
{
  most->n_sequences = MAX(most->n_sequences, batch.n_sequences);
  most->q_tokens = MAX(most->q_tokens, batch.q_tokens);
  most->kv_tokens = MAX(most->kv_tokens, batch.kv_tokens);
  most->pairs = MAX(most->pairs, batch.pairs);
}

static RaBatch
prompts_of(const uint32_t *prompt, uint32_t n)
{
  RaBatch batch = {n, 0, 0, 0};

  for (uint32_t i = 0; i < n; i++) {
    uint64_t p = prompt[i];

    batch.q_tokens += p;
    batch.kv_tokens += p;
    batch.pairs += p * (p + 1) / 2;
  }
  return batch;
}

uint64_t
ra_prompts_kv_room(const RaCallPlan *call, uint32_t n, const uint32_t *prompt)
{
  uint64_t tokens = 0;

  for (uint32_t i = 0; i < n; i++)
    tokens += ra_call_plan_kv_room(call, prompt[i]);
  return tokens;
}

static int
compare_prefilled(const void *a, const void *b)
{
  const RaPrefilled *x = a, *y = b;

  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  if (x->replica != y->replica)
    return x->replica < y->replica ? -1 : 1;
  return (x->mini_batch > y->mini_batch) - (x->mini_batch < y->mini_batch);
}

static RaPrefilled
prefilled_of(const RaTaskGraph *g, RaTaskId t)
{
  return (RaPrefilled){g->node[t], g->replica[t], g->mini_batch[t],
                       g->dynamic ? g->dynamic[t] : RA_NONE};
}

GArray *
ra_prefilled_new(const RaTaskGraph *graph)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(RaPrefilled));

  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (graph->kind[t] == RA_TASK_DECODE) {
      RaPrefilled p = prefilled_of(graph, t);

      g_array_append_val(all, p);
    }
  g_array_sort(all, compare_prefilled);
  return all;
}

uint64_t
ra_prefill_kv_room(const RaTaskGraph *graph, const GArray *prefilled,
                   RaTaskId task)
{
  const RaPrefilled key = prefilled_of(graph, task);
  const RaPrefilled *found = bsearch(&key, prefilled->data, prefilled->len,
                                     sizeof key, compare_prefilled);
  const RaPlan *plan = graph->augmented->plan;
  uint32_t call = graph->augmented->nodes[key.node].call, first;
  const RaDynamic *d;

  g_return_val_if_fail(found, 0);
  d = &graph->dynamics[found->dynamic];
  /* It is 0 for prefills of one micro-batch. */
  first = (uint32_t)((uint64_t)graph->micro_batch[task] * d->n_sequences /
                     d->n_groups);
  return ra_prompts_kv_room(&plan->calls[call],
                            graph->works[graph->work[task]].batch.n_sequences,
                            d->prompt + first);
}

RaPartRoom
ra_dynamic_kv_room(const RaDynamic *d, const RaCallPlan *call, uint32_t part)
{
  gboolean continuous = d->batching.max_sequences > 0;
  g_autofree uint64_t *peak = g_new(uint64_t, 2 * (gsize)d->n_parts);
  uint64_t *left = peak + d->n_parts;
  RaPartRoom room = {0};

  if (d->starts)
    room.before = d->before_tokens, peak[part] = d->peak_tokens;
  else if (continuous)
    ra_batching_kv_tokens(&d->batching, d->n_groups, d->n_sequences, d->prompt,
                          d->response, d->n_parts, peak, left);
  else
    ra_kv_peak_tokens(d->n_sequences, d->prompt, d->response,
                      ra_call_plan_kv_block(call), d->n_parts, peak, left);
  if (!continuous && part == 0)
    room.before = ra_prompts_kv_room(call, d->n_sequences, d->prompt);
  if (part > 0)
    room.before = left[part - 1];
  room.peak = peak[part];
  room.left = d->is_phase ? d->left_tokens : left[part];
  return room;
}

RaBatch
ra_dynamic_largest_step(const RaDynamic *d)
{
  RaBatch prompts = prompts_of(d->prompt, d->n_sequences);

  if (d->starts)
    prompts = ra_turns_largest_prompts(d->n_sequences, d->prompt,
                                       d->starts[0].generated);
  else if (d->turns.begin)
    prompts = ra_turns_largest_prompts(d->n_sequences, d->prompt, d->response);
  return ra_batching_largest_step(&d->batching, prompts);
}

RaBatch
ra_turns_largest_prompts(uint32_t n, const uint32_t *prompt,
                         const uint32_t *response)
{
  RaBatch batch = {n, 0, 0, 0};

  for (uint32_t i = 0; i < n; i++) {
    uint64_t p = (uint64_t)prompt[i] + response[i];

    batch.q_tokens += p;
    batch.kv_tokens += p;
    batch.pairs += p * (p + 1) / 2;
  }
  return batch;
}

void
ra_migration_lane_tokens(const RaTaskGraph *g, RaTaskId task, uint64_t *out_in,
                         uint64_t *out_out)
{
  const RaPlan *plan = g->augmented->plan;
  const RaNode *node = &g->augmented->nodes[g->node[task]];
  const RaCallPlan *p = &plan->calls[node->call];
  const RaRollout *rollout =
      g->rollouts[(gsize)node->iteration * plan->workload->n_calls +
                  node->call];
  const RaSpellMove *move = &rollout->moves[g->mini_batch[task]];

  for (uint32_t rank = 0; rank < ra_mesh_n_gpus(&p->mesh); rank++) {
    uint32_t lane = g->lane_of_gpu[ra_mesh_gpu(&p->mesh, plan->cluster, rank)];
    uint32_t d = ra_call_plan_coord(p, rank).at[RA_AXIS_DP];

    /* GPUs of a lane are of one replica. */
    out_in[lane] = move->in_tokens[d];
    out_out[lane] = move->out_tokens[d];
  }
}

/* Adds a phase with continuous batching. */
static void
add_served_spell(const RaBatching *batching, const RaSpell *spell,
                 RaCallLoad *load)
{
  RaBatch known = ra_turns_largest_prompts(spell->n, spell->prompt,
                                           spell->starts[0].generated);

  load->kv_tokens = MAX(load->kv_tokens, spell->peak_tokens);
  ra_batch_raise(&load->batch, ra_batching_largest_step(batching, known));
  load->decode = load->batch;
}

/* All that is there as decoding begins is the prompts. */
static void
add_spell(const RaCallPlan *call, const RaSpell *spell, RaCallLoad *load)
{
  RaBatch step = {spell->n, spell->n, 0, 0};
  uint64_t peak, left;

  ra_kv_peak_tokens(spell->n, spell->prompt, spell->response,
                    ra_call_plan_kv_block(call), 1, &peak, &left);
  load->kv_tokens = MAX(load->kv_tokens, peak);
  load->prompt_tokens = MAX(load->prompt_tokens,
                            ra_prompts_kv_room(call, spell->n, spell->prompt));
  ra_batch_raise(&load->batch, prompts_of(spell->prompt, spell->n_prefilled));
  ra_batch_raise(&load->decode, step);
}

void
ra_rollout_add_load(const RaPlan *plan, uint32_t call, const RaRollout *rollout,
                    RaCallLoad *load)
{
  RaBatching batching = ra_call_batching(plan, call);
  gsize n = (gsize)rollout->n_phases * rollout->n_replicas;

  for (gsize i = 0; i < n; i++)
    if (rollout->spells[i].n > 0 && rollout->spells[i].starts)
      add_served_spell(&batching, &rollout->spells[i], load);
    else if (rollout->spells[i].n > 0)
      add_spell(&plan->calls[call], &rollout->spells[i], load);
}
