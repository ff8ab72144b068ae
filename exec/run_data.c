/* What calls make of a pass, and what training learns from it. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/run_impl.h"
#include "kernels/cpu_policy.h"

/* What a train call reads; any may be NULL. */
typedef struct {
  const RaExperienceSet *set;
  const float *old;       /* log-probabilities when drawn */
  const float *reference; /* log-probabilities of another model */
  const float *values;    /* of the states */
  const float *rewards;   /* of the sequences */
} Inputs;

static Inputs
inputs_of(const RaRun *run, const RaNode *node)
{
  const RaExperience *e = run->experience[node->iteration];
  const RaCall *call = &run->workload->calls[node->call];
  Inputs in = {.set = &e->sets[call->set]};

  for (guint i = 0; i < call->n_inputs; i++) {
    uint32_t producer = call->inputs[i].producer;
    const RaColumn *c;

    if (producer == RA_NONE)
      continue;
    c = ra_experience_column(e, producer, FALSE, node->call);
    if (!c)
      continue;
    if (c->kind == RA_COLUMN_REWARD)
      in.rewards = c->values;
    else if (c->kind == RA_COLUMN_VALUE)
      in.values = c->values;
    else if (run->workload->calls[producer].kind == RA_CALL_GENERATE)
      in.old = c->values;
    else
      in.reference = c->values;
  }
  return in;
}

/* The entry of the first response token of sequence @i of a micro-batch in
 * what has one a token: the state before it. */
static gsize
first_entry(const RaExperienceSet *set, const RaMicroBatch *micro, uint32_t i)
{
  uint32_t at = set->seqs->order[micro->first + i];

  return micro->tokens->begin[i] + set->seqs->prompt[at] - 1;
}

void
ra_rank_finish_inference(RaRank *rank, RaTaskId task, RaMicroBatch *micro)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaExperience *e = run->experience[node->iteration];
  const RaExperienceSet *set = &e->sets[run->workload->calls[node->call].set];
  const RaColumn *c = ra_experience_column(e, node->call, FALSE, RA_NONE);

  if (rank->calls[node->call].coord.at[RA_AXIS_TP] > 0)
    return;
  for (uint32_t i = 0; i < micro->tokens->n_sequences; i++) {
    uint32_t at = set->seqs->order[micro->first + i];
    const float *numbers = c->kind == RA_COLUMN_LOG_PROB ? micro->pass->log_prob
                                                         : micro->pass->values;

    if (c->kind == RA_COLUMN_REWARD)
      c->values[at] = numbers[micro->tokens->begin[i + 1] - 1];
    else
      memcpy(c->values + set->begin[at], numbers + first_entry(set, micro, i),
             set->seqs->response[at] * sizeof *numbers);
    if (c->kind == RA_COLUMN_REWARD)
      ra_rank_publish(rank, node->call, FALSE, at, 1);
    else
      ra_rank_publish(rank, node->call, FALSE, set->begin[at],
                      set->seqs->response[at]);
  }
}

/* Rewards of tokens: the sequence's at its last, less the log-ratio to the
 * reference at each. */
static float *
token_rewards(const RaRun *run, const Inputs *in)
{
  uint32_t n = in->set->seqs->n_sequences;
  float *rewards = g_new0(float, in->set->begin[n] + 1);

  for (uint32_t s = 0; s < n; s++) {
    for (uint32_t i = in->set->begin[s]; i < in->set->begin[s + 1]; i++)
      if (in->reference && in->old)
        rewards[i] = -run->options.kl_weight * (in->old[i] - in->reference[i]);
    rewards[in->set->begin[s + 1] - 1] += in->rewards[s];
  }
  return rewards;
}

static void
normalize(gsize n, float *x)
{
  double mean, deviation;

  ra_cpu_moments(n, x, &mean, &deviation);
  for (gsize i = 0; i < n; i++)
    x[i] = (float)(((double)x[i] - mean) / (deviation + 1e-8));
}

/* A sequence's advantage is that of each of its tokens: GRPO. */
static float *
sequence_advantages(const RaRun *run, const RaNode *node, const Inputs *in)
{
  uint32_t n = in->set->seqs->n_sequences;
  uint32_t samples = run->workload->calls[run->workload->calls[node->call].set]
                         .samples_per_prompt;
  g_autofree float *of_sequence = g_new(float, n + 1);
  float *out = g_new(float, in->set->begin[n] + 1);

  if (samples > 1) {
    ra_cpu_group_advantages(n / samples, samples, in->rewards, of_sequence);
  } else {
    memcpy(of_sequence, in->rewards, n * sizeof *of_sequence);
    normalize(n, of_sequence);
  }
  for (uint32_t s = 0; s < n; s++)
    for (uint32_t i = in->set->begin[s]; i < in->set->begin[s + 1]; i++)
      out[i] = of_sequence[s];
  return out;
}

/* Once an iteration: the first of the ranks that look at the policy's loss. */
static void
report(RaRun *run, const RaNode *node, const Inputs *in)
{
  uint32_t n = in->set->seqs->n_sequences, n_tokens = in->set->begin[n];
  double reward = 0, kl = 0;

  for (uint32_t s = 0; s < n; s++)
    reward += (double)in->rewards[s];
  for (uint32_t i = 0; in->reference && in->old && i < n_tokens; i++)
    kl += (double)(in->old[i] - in->reference[i]);
  pthread_mutex_lock(&run->lock);
  run->results[node->iteration].reward = reward / n;
  run->results[node->iteration].kl = kl / n_tokens;
  pthread_mutex_unlock(&run->lock);
}

static void
make_advantages(RaRank *rank, const RaNode *node, const Inputs *in)
{
  RaRun *run = rank->run;
  RaRankCall *c = &rank->calls[node->call];
  uint32_t n = in->set->seqs->n_sequences;

  if (c->advantages_of == node->iteration || !in->rewards)
    return;
  c->advantages_of = node->iteration;
  g_clear_pointer(&c->advantages, g_free);
  g_clear_pointer(&c->returns, g_free);
  if (in->values) {
    c->advantages = token_rewards(run, in);
    c->returns = g_new(float, in->set->begin[n] + 1);
    ra_cpu_gae(n, in->set->begin, c->advantages, in->values, run->options.gamma,
               run->options.lambda, c->advantages, c->returns);
    normalize(in->set->begin[n], c->advantages);
  } else {
    c->advantages = sequence_advantages(run, node, in);
  }
  if (c->stages[0]->model->head == RA_HEAD_LM && c->coord.at[RA_AXIS_TP] == 0 &&
      c->coord.at[RA_AXIS_DP] == 0)
    report(run, node, in);
}

/* 1 / response tokens of the mini-batch, over all replicas. */
static float
loss_scale(const RaRun *run, const RaNode *node, RaTaskId task,
           const RaExperienceSet *set)
{
  const RaCall *c = &run->workload->calls[node->call];
  uint32_t share = c->n_sequences / c->n_mini_batches;
  uint32_t first = run->graph->mini_batch[task] % c->n_mini_batches * share;
  uint64_t n = 0;

  for (uint32_t i = first; i < first + share; i++)
    n += set->seqs->response[set->seqs->order[i]];
  return (float)(1 / (double)n);
}

/* The loss of one sequence: its entries of what the pass made, and of what
 * there is a response token.  @d: NULL: no gradient. */
static void
sequence_loss(const RaRun *run, const RaRankCall *c, const Inputs *in,
              uint32_t at, const float *now, float scale, float *d,
              RaCpuLoss *loss)
{
  const RaRunOptions *o = &run->options;
  uint32_t n = in->set->seqs->response[at], from = in->set->begin[at];

  if (c->stages[0]->model->head == RA_HEAD_VALUE) {
    ra_cpu_value_loss(n, now, in->values + from, c->returns + from,
                      o->value_clip, scale, d, loss);
  } else if (in->rewards) {
    ra_cpu_policy_loss(
        n, now, in->old + from,
        in->values || !in->reference ? NULL : in->reference + from,
        c->advantages + from, o->clip, o->kl_weight, scale, d, loss);
  } else {
    for (uint32_t i = 0; i < n; i++) {
      loss->loss -= (double)now[i];
      if (d)
        d[i] = -scale;
    }
  }
}

void
ra_rank_loss(RaRank *rank, RaTaskId task, RaMicroBatch *micro,
             gboolean gradient)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  const RaCall *call = &run->workload->calls[node->call];
  RaRankCall *c = &rank->calls[node->call];
  Inputs in = inputs_of(run, node);
  float scale = loss_scale(run, node, task, in.set);
  RaCpuLoss loss = {0};
  double *result, begin_s = ra_run_now_s(run);

  make_advantages(rank, node, &in);
  if (gradient)
    micro->d_output = g_new0(float, micro->tokens->n_tokens + 1);
  for (uint32_t i = 0; i < micro->tokens->n_sequences; i++) {
    gsize entry = first_entry(in.set, micro, i);

    sequence_loss(run, c, &in, in.set->seqs->order[micro->first + i],
                  micro->pass->log_prob + entry, scale,
                  gradient ? micro->d_output + entry : NULL, &loss);
  }
  ra_rank_add_op(rank, task, RA_OP_LOSS, begin_s, micro->tokens->n_tokens, 0);
  if (gradient || c->coord.at[RA_AXIS_TP] > 0)
    return;
  pthread_mutex_lock(&run->lock);
  result = c->stages[0]->model->head == RA_HEAD_VALUE
               ? &run->results[node->iteration].value_loss
               : &run->results[node->iteration].policy_loss;
  *result += loss.loss * (double)scale /
             ((double)call->n_mini_batches * call->n_epochs);
  pthread_mutex_unlock(&run->lock);
}
