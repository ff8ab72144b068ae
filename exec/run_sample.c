/* Sampling: the next token of sequences that are being generated. */
#include "config.h"

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

RaDraw
ra_rank_draw(const RaRank *rank, RaTaskId task, uint32_t n,
             const uint32_t *slots, double *uniforms, RaCpuSample *chosen)
{
  const RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaGeneration *g = &rank->calls[node->call].generation;
  RaDraw draw = {run->options.sampling, uniforms, chosen};

  if (ra_run_is_greedy(run, node->call))
    draw.how.temperature = 0;
  for (uint32_t i = 0; i < n; i++)
    uniforms[i] =
        uniform(run, node->iteration, g->first + slots[i], g->n_done[slots[i]]);
  return draw;
}

void
ra_rank_keep_drawn(RaRank *rank, RaTaskId task, uint32_t n,
                   const uint32_t *slots, const RaCpuSample *chosen,
                   uint32_t *out_tokens)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaRankCall *c = &rank->calls[node->call];
  const RaGeneration *generation = &c->generation;
  RaExperience *e = run->experience[node->iteration];
  const RaExperienceSet *set = &e->sets[node->call];
  const RaDynamic *d = ra_run_dynamic(run, task);
  uint32_t n_ties = 0;
  const RaColumn *text = ra_experience_column(e, node->call, TRUE, RA_NONE);
  const RaColumn *numbers = ra_experience_column(e, node->call, FALSE, RA_NONE);

  for (uint32_t i = 0; i < n; i++) {
    uint32_t sequence = generation->first + slots[i];
    uint32_t at = generation->n_done[slots[i]];

    out_tokens[i] = chosen[i].token;
    n_ties += chosen[i].margin < TIE;
    if (c->coord.at[RA_AXIS_TP] > 0)
      continue;
    text->tokens[set->text_begin[sequence] + d->prompt[slots[i]] + at] =
        chosen[i].token;
    numbers->values[set->begin[sequence] + at] = chosen[i].log_prob;
  }
  if (n_ties == 0 || c->coord.at[RA_AXIS_TP] > 0)
    return;
  pthread_mutex_lock(&run->lock);
  run->results[node->iteration].n_ties += n_ties;
  pthread_mutex_unlock(&run->lock);
}
