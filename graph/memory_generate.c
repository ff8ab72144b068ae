#include "config.h"

#include "graph/memory_generate.h"
#include "graph/plan_batching.h"

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

/* Of continuous batching. */
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
add_spell(const RaSpell *spell, RaCallLoad *load)
{
  RaBatch step = {spell->n, spell->n, 0, 0};
  uint64_t peak, left;

  ra_kv_peak_tokens(spell->n, spell->prompt, spell->response, 1, &peak, &left);
  load->kv_tokens = MAX(load->kv_tokens, peak);
  load->prompt_tokens =
      MAX(load->prompt_tokens, prompts_of(spell->prompt, spell->n).q_tokens);
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
      add_spell(&rollout->spells[i], load);
}
