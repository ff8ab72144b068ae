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

/* The choice of the next token of some sequences. */
typedef struct {
  RaRun *run;
  const RaGeneration *generation;
  uint32_t iteration, vocab, n, n_parts;
  const uint32_t *slots;
  const float *logits; /* (n, vocab) */
  RaCpuSampling how;
  float *workspace; /* (n_parts, 2 vocab) */
  RaCpuSample *out; /* (n) */
} Choice;

static void
sample_part(uint32_t part, gpointer data)
{
  const Choice *c = data;
  const RaGeneration *g = c->generation;
  uint32_t last = (uint32_t)((uint64_t)(part + 1) * c->n / c->n_parts);

  for (uint32_t i = (uint32_t)((uint64_t)part * c->n / c->n_parts); i < last;
       i++)
    c->out[i] = c->run->backend->sample(
        c->vocab, c->logits + (gsize)i * c->vocab, &c->how,
        uniform(c->run, c->iteration, g->first + c->slots[i],
                g->n_done[c->slots[i]]),
        c->workspace + 2 * (gsize)part * c->vocab);
}

/* Chooses the next token of @slots from @logits (n, vocab). */
static void
choose(const RaRank *rank, const RaNode *node, uint32_t n,
       const uint32_t *slots, const float *logits, RaCpuSample *out)
{
  const RaRankCall *call = &rank->calls[node->call];
  uint32_t vocab = call->stages[0]->model->vocab;
  uint32_t n_parts = MIN(n, ra_team_n_threads());
  g_autofree float *workspace = g_new(float, 2 * (gsize)vocab * n_parts + 1);
  Choice c = {rank->run,
              &call->generation,
              node->iteration,
              vocab,
              n,
              n_parts,
              slots,
              logits,
              rank->run->options.sampling,
              workspace,
              out};

  if (ra_run_is_greedy(rank->run, node->call))
    c.how.temperature = 0;

  ra_team_for(n_parts, sample_part, &c);
}

void
ra_rank_sample(RaRank *rank, RaTaskId task, uint32_t n, const uint32_t *slots,
               const float *logits, uint32_t *out_tokens)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaRankCall *c = &rank->calls[node->call];
  const RaGeneration *generation = &c->generation;
  RaExperience *e = run->experience[node->iteration];
  const RaExperienceSet *set = &e->sets[node->call];
  const RaDynamic *d = ra_run_dynamic(run, task);
  g_autofree RaCpuSample *chosen = g_new(RaCpuSample, n + 1);
  double begin_s = ra_run_now_s(run);
  uint32_t n_ties = 0;
  const RaColumn *text = ra_experience_column(e, node->call, TRUE, RA_NONE);
  const RaColumn *numbers = ra_experience_column(e, node->call, FALSE, RA_NONE);

  choose(rank, node, n, slots, logits, chosen);
  ra_rank_add_op(rank, task, RA_OP_SAMPLE, begin_s, n,
                 c->stages[0]->model->vocab);
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
