/* Outputs of calls from a pass, and the losses of training. */
#include "config.h"

#include <string.h>

#include "exec/run_learn.h"
#include "kernels/cpu/cpu_preference.h"

/* Advances @entries, at first zeroed, to the next entries of sequence @i of a
 * micro-batch; a whole sequence gives all of them at once.  FALSE: no more. */
static gboolean
next_entries(const RaExperienceSet *set, const RaMicroBatch *micro, uint32_t i,
             RaEntries *entries)
{
  const RaTokens *t = micro->tokens;
  uint32_t at = micro->sequences[i];
  uint32_t first = set->seqs->prompt[at] - 1; /* says the first token */
  uint32_t last = first + set->seqs->response[at], begin;

  begin = MAX(entries->token + entries->n, t->begin[i]);
  while (begin < t->begin[i + 1] && t->positions[begin] < first)
    begin++;
  *entries = (RaEntries){.token = begin};
  if (begin == t->begin[i + 1])
    return FALSE;
  entries->entry = t->positions[begin] - first;
  while (begin + entries->n < t->begin[i + 1] &&
         t->positions[begin + entries->n] == t->positions[begin] + entries->n &&
         t->positions[begin + entries->n] < last)
    entries->n++;
  return entries->n > 0;
}

/* Index in the micro-batch of the last token of sequence @i; RA_NONE: it is in
 * another part of the sequence. */
static uint32_t
last_token(const RaExperienceSet *set, const RaMicroBatch *micro, uint32_t i)
{
  const RaTokens *t = micro->tokens;
  uint32_t at = micro->sequences[i], end = t->begin[i + 1];

  if (end == t->begin[i] || t->positions[end - 1] + 1 !=
                                set->seqs->prompt[at] + set->seqs->response[at])
    return RA_NONE;
  return end - 1;
}

/* Writes the rank's output for sequence @i of a micro-batch to column @c. */
static void
write_sequence(RaRank *rank, const RaNode *node, const RaMicroBatch *micro,
               uint32_t i)
{
  const RaRun *run = rank->run;
  const RaExperience *e = run->experience[node->iteration];
  const RaExperienceSet *set = &e->sets[run->workload->calls[node->call].set];
  const RaColumn *c = ra_experience_column(e, node->call, FALSE, RA_NONE);
  const float *numbers = c->kind == RA_COLUMN_LOG_PROB ? micro->pass->log_prob
                                                       : micro->pass->values;
  uint32_t at = micro->sequences[i];
  uint32_t last = last_token(set, micro, i);
  RaEntries some = {0};

  if (c->kind == RA_COLUMN_REWARD && last != RA_NONE) {
    c->values[at] = numbers[last];
    ra_rank_publish(rank, node->call, FALSE, at, 1);
  }
  while (c->kind != RA_COLUMN_REWARD && next_entries(set, micro, i, &some)) {
    memcpy(c->values + set->begin[at] + some.entry, numbers + some.token,
           some.n * sizeof *numbers);
    ra_rank_publish(rank, node->call, FALSE, set->begin[at] + some.entry,
                    some.n);
  }
}

void
ra_rank_finish_inference(RaRank *rank, RaTaskId task, RaMicroBatch *micro)
{
  const RaNode *node = ra_run_node(rank->run, task);

  if (rank->calls[node->call].coord.at[RA_AXIS_TP] > 0)
    return;
  for (uint32_t i = 0; i < micro->tokens->n_sequences; i++)
    write_sequence(rank, node, micro, i);
}

/* Sequences of the mini-batch, over all replicas, in order of arrival. */
static RaSpan
mini_batch(const RaRun *run, const RaNode *node, RaTaskId task)
{
  const RaCall *c = &run->workload->calls[node->call];
  uint32_t n = ra_call_plan_n_pieces(c, &run->plan->calls[node->call]);
  uint32_t share = c->n_sequences / n;
  uint32_t first = run->graph->mini_batch[task] % n * share;

  return (RaSpan){first, first + share};
}

/* 1 / response tokens of the mini-batch; of pairs 1 / pairs. */
static float
loss_scale(const RaLearnInputs *in, RaSpan batch)
{
  uint64_t n = 0;

  if (ra_learn_rule_is_of_pairs(in->rule))
    return (float)(2 / (double)(batch.end - batch.begin));
  for (uint64_t i = batch.begin; i < batch.end; i++)
    n += in->set->seqs->response[in->set->seqs->order[i]];
  return (float)(1 / (double)n);
}

/* The loss of @n entries of sequence @at, from @entry on: @now of what the pass
 * made.  @d: NULL: no gradient. */
static void
entries_loss(const RaRun *run, const RaRankCall *c, const RaLearnInputs *in,
             uint32_t at, const RaEntries *some, const float *now, float scale,
             float *d, RaCpuLoss *loss)
{
  const RaRunOptions *o = &run->options;
  uint32_t n = some->n, from = in->set->begin[at] + some->entry;

  switch (in->rule) {
  case RA_TRAIN_VALUE:
    ra_cpu_value_loss(n, now, in->values + from, c->returns + from,
                      o->value_clip, scale, d, loss);
    return;
  case RA_TRAIN_CROSS_ENTROPY:
    for (uint32_t i = 0; i < n; i++) {
      loss->loss -= (double)now[i];
      if (d)
        d[i] = -scale;
    }
    return;
  default:
    ra_cpu_policy_loss(
        n, now, in->old + from,
        in->rule == RA_TRAIN_GRPO && in->reference ? in->reference + from
                                                   : NULL,
        c->advantages + from, o->clip, o->kl_weight, scale, d, loss);
  }
}

/* Input of a loss of pairs for each answer of a micro-batch, as far as the rank
 * has its tokens: the log-ratio to the reference, or the value after its last
 * token. */
static double *
own_sides(const RaLearnInputs *in, const RaMicroBatch *micro)
{
  const RaExperienceSet *set = in->set;
  uint32_t n = micro->tokens->n_sequences;
  double *sides = g_new0(double, n + 1);

  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = micro->sequences[i];
    uint32_t last = last_token(set, micro, i);
    RaEntries some = {0};

    if (in->rule != RA_TRAIN_DPO && last != RA_NONE)
      sides[i] = (double)micro->pass->values[last];
    while (in->rule == RA_TRAIN_DPO && next_entries(set, micro, i, &some))
      sides[i] += ra_cpu_log_ratio(some.n, micro->pass->log_prob + some.token,
                                   in->reference + set->begin[at] + some.entry);
  }
  return sides;
}

/* (transfer full): the same of whole answers: the sum over the ranks that share
 * them, in their order. */
static double *
sides_of(RaComm *cp, const RaLearnInputs *in, const RaMicroBatch *micro)
{
  uint32_t n = micro->tokens->n_sequences;
  double *sides = own_sides(in, micro);
  g_autofree double *all = NULL;

  if (!cp)
    return sides;
  all = g_new(double, (gsize)cp->n_ranks *n + 1);
  cp->table->all_gather(cp, sides, all, n * sizeof *all);
  memset(sides, 0, n * sizeof *sides);
  for (gsize i = 0; i < (gsize)cp->n_ranks * n; i++)
    sides[i % n] += all[i];
  return sides;
}

/* The gradient @d of what is compared of answer @i, which is @of_side. */
static void
side_gradient(const RaLearnInputs *in, const RaMicroBatch *micro, uint32_t i,
              float of_side, float *d)
{
  uint32_t last = last_token(in->set, micro, i);
  RaEntries some = {0};

  if (in->rule != RA_TRAIN_DPO && last != RA_NONE)
    d[last] = of_side;
  while (in->rule == RA_TRAIN_DPO && next_entries(in->set, micro, i, &some))
    for (uint32_t t = 0; t < some.n; t++)
      d[some.token + t] = of_side;
}

/* Loss of chosen answers, each followed by the rejected one. */
static void
pairs_loss(const RaRun *run, RaComm *cp, const RaLearnInputs *in,
           const RaMicroBatch *micro, float scale, float *d, RaCpuLoss *loss)
{
  g_autofree double *sides = sides_of(cp, in, micro);
  double beta = in->rule == RA_TRAIN_DPO ? (double)run->options.beta : 1.0;

  for (uint32_t i = 0; i + 1 < micro->tokens->n_sequences; i += 2) {
    double d_margin =
        ra_cpu_pair_loss(beta * (sides[i] - sides[i + 1]), (double)scale, loss);

    for (uint32_t k = 0; d && k < 2; k++)
      side_gradient(in, micro, i + k,
                    (float)(beta * (k == 0 ? d_margin : -d_margin)), d);
  }
}

/* Adds what a micro-batch's loss is to the iteration's. */
static void
add_result(RaRun *run, const RaNode *node, const RaLearnInputs *in,
           const RaCpuLoss *loss, float scale)
{
  const RaCall *call = &run->workload->calls[node->call];
  RaRunIteration *result = &run->results[node->iteration];
  uint32_t n = ra_call_plan_n_pieces(call, &run->plan->calls[node->call]);
  double share = (double)scale / ((double)n * call->n_epochs);

  pthread_mutex_lock(&run->lock);
  if (in->rule == RA_TRAIN_VALUE || in->rule == RA_TRAIN_PAIRS)
    result->value_loss += loss->loss * share;
  else
    result->policy_loss += loss->loss * share;
  if (ra_learn_rule_is_of_pairs(in->rule))
    result->reward += loss->clipped * share;
  pthread_mutex_unlock(&run->lock);
}

void
ra_rank_loss(RaRank *rank, RaTaskId task, RaMicroBatch *micro,
             gboolean gradient)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  RaRankCall *c = &rank->calls[node->call];
  RaLearnInputs in = ra_learn_inputs(run, node);
  gboolean pairs = ra_learn_rule_is_of_pairs(in.rule);
  float scale = loss_scale(&in, mini_batch(run, node, task)), *d = NULL;
  RaCpuLoss loss = {0};
  double begin_s = ra_run_now_s(run);

  ra_rank_make_advantages(rank, node, &in);
  if (gradient)
    d = micro->d_output = g_new0(float, micro->tokens->n_tokens + 1);
  for (uint32_t i = 0; i < micro->tokens->n_sequences && !pairs; i++) {
    RaEntries some = {0};

    while (next_entries(in.set, micro, i, &some))
      entries_loss(run, c, &in, micro->sequences[i], &some,
                   micro->pass->log_prob + some.token, scale,
                   d ? d + some.token : NULL, &loss);
  }
  if (pairs)
    pairs_loss(run, c->cp, &in, micro, scale, d, &loss);
  ra_rank_add_op(rank, task, RA_OP_LOSS, begin_s, micro->tokens->n_tokens, 0);
  /* Every rank that shares pairs has the whole loss. */
  if (!gradient && c->coord.at[RA_AXIS_TP] == 0 &&
      (!pairs || c->coord.at[RA_AXIS_CP] == 0))
    add_result(run, node, &in, &loss, scale);
}
