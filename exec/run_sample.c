/* Sampling: the next token of sequences that are being generated. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "exec/run_impl.h"

/* A change of a probability by less than this may change the token. */
#define TIE 1e-5f

/* In [0, 1): of the run's seed, the sequence and the position alone. */
static double
uniform(const RaRun *run, uint32_t iteration, uint32_t sequence,
        uint32_t position)
{
  uint32_t counter[4] = {position, sequence, iteration, 0x73616d70u};
  uint32_t key[2] = {(uint32_t)run->options.seed,
                     (uint32_t)(run->options.seed >> 32)};
  uint32_t out[4];

  ra_rng_block(counter, key, out);
  return ((double)out[0] * 0x1p32 + (double)out[1]) * 0x1p-64 * (1 - 0x1p-53);
}

/* The most tokens that are drawn and not read. */
static uint32_t
room(const RaRun *run)
{
  const RaTaskGraph *g = run->graph;
  uint32_t n = 0;

  for (uint32_t i = 0; i < g->n_dynamics; i++)
    n = MAX(n, g->dynamics[i].n_sequences);
  return run->backend->draw ? n * RA_DRAWN_STEPS : n;
}

static void
make(RaDrawn *drawn, const RaRun *run)
{
  drawn->room = room(run);
  drawn->made = run->backend->alloc_host(drawn->room * sizeof *drawn->made);
  drawn->slots = g_new(uint32_t, drawn->room);
  drawn->at = g_new(uint32_t, drawn->room);
}

void
ra_drawn_clear(RaDrawn *drawn, const RaBackend *backend)
{
  if (drawn->made)
    backend->free_host(drawn->made);
  g_free(drawn->slots);
  g_free(drawn->at);
}

RaDraw
ra_rank_draw(RaRank *rank, RaTaskId task, uint32_t n, const uint32_t *slots,
             double *uniforms)
{
  const RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaGeneration *g = &rank->calls[node->call].generation;
  RaDrawn *drawn = &rank->drawn;
  RaDraw draw = {.how = run->options.sampling, .uniforms = uniforms};

  if (!drawn->made)
    make(drawn, run);
  g_assert(drawn->n + n <= drawn->room);
  draw.out = drawn->made + drawn->n;
  if (ra_run_is_greedy(run, node->call))
    draw.how.temperature = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = g->n_done[slots[i]];

    uniforms[i] = uniform(run, node->iteration, g->first + slots[i], at);
    drawn->slots[drawn->n] = slots[i];
    drawn->at[drawn->n++] = at;
  }
  return draw;
}

void
ra_rank_draw_later(RaRank *rank, RaTaskId task, uint32_t group,
                   const uint32_t *slots, RaDraw *draw)
{
  const RaRankCall *c = &rank->calls[ra_run_node(rank->run, task)->call];
  RaDrawn *drawn = &rank->drawn;

  draw->slots = slots;
  draw->n_slots = ra_run_dynamic(rank->run, task)->n_sequences;
  drawn->steps[drawn->n_steps++] = (RaDrawnStep){
      (uint32_t)(draw->out - drawn->made), c->generation.n_steps, group};
}

void
ra_rank_keep_drawn(RaRank *rank, RaTaskId task)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaRankCall *c = &rank->calls[node->call];
  const RaGeneration *generation = &c->generation;
  RaExperience *e = run->experience[node->iteration];
  const RaExperienceSet *set = &e->sets[node->call];
  const RaDynamic *d = ra_run_dynamic(run, task);
  RaDrawn *drawn = &rank->drawn;
  uint32_t n_ties = 0;
  const RaColumn *text = ra_experience_column(e, node->call, TRUE, RA_NONE);
  const RaColumn *numbers = ra_experience_column(e, node->call, FALSE, RA_NONE);

  for (uint32_t i = 0; i < drawn->n; i++) {
    const RaCpuSample *made = &drawn->made[i];
    uint32_t slot = drawn->slots[i], sequence = generation->first + slot;

    generation->newest[slot] = made->token;
    n_ties += made->margin < TIE;
    if (c->coord.at[RA_AXIS_TP] > 0)
      continue;
    text->tokens[set->text_begin[sequence] + d->prompt[slot] + drawn->at[i]] =
        made->token;
    numbers->values[set->begin[sequence] + drawn->at[i]] = made->log_prob;
  }
  drawn->n = 0;
  if (n_ties == 0 || c->coord.at[RA_AXIS_TP] > 0)
    return;
  pthread_mutex_lock(&run->lock);
  run->results[node->iteration].n_ties += n_ties;
  pthread_mutex_unlock(&run->lock);
}

/* The first step with a token of logits that are not finite; the last one, if
 * none says so. */
static const RaDrawnStep *
odd_step(const RaDrawn *drawn)
{
  uint32_t at = 0, step = 0;

  while (at < drawn->n && isfinite(drawn->made[at].log_prob))
    at++;
  while (step + 1 < drawn->n_steps && drawn->steps[step + 1].begin <= at)
    step++;
  return &drawn->steps[step];
}

void
ra_rank_settle_drawn(RaRank *rank, RaTaskId task)
{
  const RaNode *node = ra_run_node(rank->run, task);
  RaStage *stage = ra_rank_stage(rank, node->call, node->iteration);
  RaDrawn *drawn = &rank->drawn;
  const RaDrawnStep *odd;

  if (drawn->n_steps == 0)
    return;
  stage->backend->wait();
  odd = odd_step(drawn);
  ra_stage_settle_steps(stage, odd->decode, odd->group);
  ra_rank_keep_drawn(rank, task);
  drawn->n_steps = 0;
  drawn->n_waits++;
}
