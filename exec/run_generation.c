/* A generation on a rank: its sequences, and their keys and values. */
#include "config.h"

#include "exec/run_impl.h"
#include "graph/input/plan_batching.h"
#include "graph/memory/memory_generate.h"

const RaDynamic *
ra_run_dynamic(const RaRun *run, RaTaskId task)
{
  const RaTaskGraph *g = run->graph;

  for (uint32_t i = 0; i < g->n_dynamics; i++) {
    const RaNode *first = &g->augmented->nodes[g->dynamics[i].node];
    const RaNode *node = ra_run_node(run, task);

    if (first->call == node->call && first->iteration == node->iteration)
      return &g->dynamics[i + g->replica[task]];
  }
  g_assert_not_reached();
}

/* Keys and values of generation @task: as many pages as its sequences have at
 * a time at most, which the account counts too. */
static RaCacheShape
cache_shape(const RaRank *rank, RaTaskId task, const RaDynamic *d)
{
  uint32_t call = ra_run_node(rank->run, task)->call;
  const RaCallPlan *plan = &rank->run->plan->calls[call];
  uint32_t stage = rank->calls[call].coord.at[RA_AXIS_PP];
  RaCacheShape shape = {.n_layers = d->pieces[stage].n_layers,
                        .n_slots = d->n_sequences,
                        .page_tokens = ra_call_plan_kv_block(plan)};
  uint64_t most = 0;

  for (uint32_t i = 0; i < d->n_sequences; i++) /* no step reads the last */
    shape.n_positions =
        MAX(shape.n_positions, d->prompt[i] + d->response[i] - 1);
  for (uint32_t part = 0; part < d->n_parts; part++)
    most = MAX(most, ra_dynamic_kv_room(d, plan, part).peak);
  shape.n_pages = (uint32_t)(most / shape.page_tokens);
  return shape;
}

RaGeneration *
ra_rank_generation(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaTaskGraph *g = run->graph;
  const RaNode *node = ra_run_node(run, task);
  RaRankCall *c = &rank->calls[node->call];
  RaGeneration *generation = &c->generation;
  const RaDynamic *d = ra_run_dynamic(run, task);
  RaStage *stage = ra_rank_stage(rank, node->call, node->iteration);
  RaCacheShape shape;

  if (generation->cache)
    return generation;
  shape = cache_shape(rank, task, d);
  generation->cache = ra_stage_new_cache(stage, &shape);
  generation->first = g->replica[task] * d->n_sequences;
  generation->newest = g_new0(uint32_t, d->n_sequences);
  generation->n_done = g_new0(uint32_t, d->n_sequences);
  return generation;
}

void
ra_generation_clear(RaGeneration *generation)
{
  g_clear_pointer(&generation->cache, ra_cache_free);
  g_clear_pointer(&generation->newest, g_free);
  g_clear_pointer(&generation->n_done, g_free);
  generation->n_steps = 0;
}

void
ra_generation_count(RaGeneration *generation, const RaDynamic *d, uint32_t n,
                    const uint32_t *slots)
{
  for (uint32_t i = 0; i < n; i++)
    if (++generation->n_done[slots[i]] >= d->response[slots[i]])
      ra_cache_drop(generation->cache, slots[i]);
}
