/* What calls make of a pass, and what training learns from it. */
#include "config.h"

#include <string.h>

#include "exec/run_learn.h"
#include "kernels/cpu_preference.h"

gsize
ra_run_first_entry(const RaExperienceSet *set, const RaMicroBatch *micro,
                   uint32_t i)
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
      memcpy(c->values + set->begin[at],
             numbers + ra_run_first_entry(set, micro, i),
             set->seqs->response[at] * sizeof *numbers);
    if (c->kind == RA_COLUMN_REWARD)
      ra_rank_publish(rank, node->call, FALSE, at, 1);
    else
      ra_rank_publish(rank, node->call, FALSE, set->begin[at],
                      set->seqs->response[at]);
  }
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
loss_scale(const RaTrainInputs *in, RaSpan batch)
{
  uint64_t n = 0;

  if (ra_train_rule_is_of_pairs(in->rule))
    return (float)(2 / (double)(batch.end - batch.begin));
  for (uint64_t i = batch.begin; i < batch.end; i++)
    n += in->set->seqs->response[in->set->seqs->order[i]];
  return (float)(1 / (double)n);
}

/* The loss of one sequence: its entries of what the pass made, and of what
 * there is a response token.  @d: NULL: no gradient. */
static void
sequence_loss(const RaRun *run, const RaRankCall *c, const RaTrainInputs *in,
              uint32_t at, const float *now, float scale, float *d,
              RaCpuLoss *loss)
{
  const RaRunOptions *o = &run->options;
  uint32_t n = in->set->seqs->response[at], from = in->set->begin[at];

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

/* The loss of a chosen answer, sequence @i of the micro-batch, and of the
 * rejected one behind it. */
static void
pair_loss(const RaRun *run, const RaTrainInputs *in, const RaMicroBatch *micro,
          uint32_t i, float scale, float *d, RaCpuLoss *loss)
{
  const RaExperienceSet *set = in->set;
  double sides[2], d_margin;
  double beta = in->rule == RA_TRAIN_DPO ? (double)run->options.beta : 1.0;

  for (uint32_t k = 0; k < 2; k++) {
    uint32_t at = set->seqs->order[micro->first + i + k];

    if (in->rule == RA_TRAIN_DPO)
      sides[k] = ra_cpu_log_ratio(set->seqs->response[at],
                                  micro->pass->log_prob +
                                      ra_run_first_entry(set, micro, i + k),
                                  in->reference + set->begin[at]);
    else
      sides[k] =
          (double)micro->pass->values[micro->tokens->begin[i + k + 1] - 1];
  }
  d_margin =
      ra_cpu_pair_loss(beta * (sides[0] - sides[1]), (double)scale, loss);
  for (uint32_t k = 0; d && k < 2; k++) {
    float of_side = (float)(beta * (k == 0 ? d_margin : -d_margin));
    uint32_t at = set->seqs->order[micro->first + i + k];
    gsize first = ra_run_first_entry(set, micro, i + k);

    if (in->rule != RA_TRAIN_DPO)
      d[micro->tokens->begin[i + k + 1] - 1] = of_side;
    for (uint32_t t = 0;
         in->rule == RA_TRAIN_DPO && t < set->seqs->response[at]; t++)
      d[first + t] = of_side;
  }
}

/* Adds what a micro-batch's loss is to the iteration's. */
static void
add_result(RaRun *run, const RaNode *node, const RaTrainInputs *in,
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
  if (ra_train_rule_is_of_pairs(in->rule))
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
  RaTrainInputs in = ra_train_inputs(run, node);
  float scale = loss_scale(&in, mini_batch(run, node, task)), *d = NULL;
  RaCpuLoss loss = {0};
  double begin_s = ra_run_now_s(run);

  ra_rank_make_advantages(rank, node, &in);
  if (gradient)
    d = micro->d_output = g_new0(float, micro->tokens->n_tokens + 1);
  for (uint32_t i = 0; i < micro->tokens->n_sequences; i++) {
    gsize entry = ra_run_first_entry(in.set, micro, i);

    if (!ra_train_rule_is_of_pairs(in.rule))
      sequence_loss(run, c, &in, in.set->seqs->order[micro->first + i],
                    micro->pass->log_prob + entry, scale, d ? d + entry : NULL,
                    &loss);
    else if (i % 2 == 0)
      pair_loss(run, &in, micro, i, scale, d, &loss);
  }
  ra_rank_add_op(rank, task, RA_OP_LOSS, begin_s, micro->tokens->n_tokens, 0);
  if (!gradient && c->coord.at[RA_AXIS_TP] == 0)
    add_result(run, node, &in, &loss, scale);
}
