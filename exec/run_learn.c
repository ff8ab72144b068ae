/* The rule and inputs of a train call, and its advantages. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/run_learn.h"
#include "kernels/cpu/cpu_preference.h"

/* ---- rules ----------------------------------------------------------------*/

/* TRUE if @call makes a number a sequence. */
static gboolean
makes_rewards(const RaWorkload *w, uint32_t call)
{
  const RaCall *c = &w->calls[call];

  return c->kind == RA_CALL_HOST ||
         (c->kind == RA_CALL_INFERENCE &&
          w->models[c->model].head == RA_HEAD_VALUE &&
          !w->models[c->model].trainable);
}

/* Calls that @call reads, by what they make. */
typedef struct {
  gboolean any, rewards, baselines, values, reference;
} Reads;

static Reads
reads_of(const RaWorkload *w, uint32_t call)
{
  const RaCall *c = &w->calls[call];
  Reads reads = {0};

  for (guint i = 0; i < c->n_inputs; i++) {
    uint32_t producer = c->inputs[i].producer;
    const RaCall *p;

    if (producer == RA_NONE)
      continue;
    p = &w->calls[producer];
    reads.any = TRUE;
    if (makes_rewards(w, producer) && p->set != c->set)
      reads.baselines = TRUE;
    else if (makes_rewards(w, producer))
      reads.rewards = TRUE;
    else if (p->kind == RA_CALL_INFERENCE &&
             w->models[p->model].head == RA_HEAD_VALUE)
      reads.values = TRUE;
    else if (p->kind == RA_CALL_INFERENCE)
      reads.reference = TRUE;
  }
  return reads;
}

/* Learning rule of train call @call of @workload. */
static RaLearnRule
learn_rule(const RaWorkload *w, uint32_t call)
{
  const RaCall *c = &w->calls[call];
  Reads reads = reads_of(w, call);
  gboolean generated = w->calls[c->set].kind == RA_CALL_GENERATE;

  if (w->models[c->model].head == RA_HEAD_VALUE)
    return reads.any ? RA_TRAIN_VALUE : RA_TRAIN_PAIRS;
  if (!reads.rewards)
    return reads.reference && !generated ? RA_TRAIN_DPO
                                         : RA_TRAIN_CROSS_ENTROPY;
  if (reads.values)
    return RA_TRAIN_PPO;
  if (reads.baselines)
    return RA_TRAIN_REMAX;
  return g_ascii_strcasecmp(w->algorithm, "rloo") == 0 ? RA_TRAIN_RLOO
                                                       : RA_TRAIN_GRPO;
}

gboolean
ra_learn_check(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  RaLearnRule rule = learn_rule(plan->workload, call);
  uint32_t share =
      c->n_sequences / ra_call_plan_n_pieces(c, p) / p->dp / p->n_micro_batches;

  if (ra_learn_rule_is_of_pairs(rule) && c->samples_per_prompt != 2) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "call '%s' learns from %u responses per prompt, expected "
                "samples-per-prompt = 2: the chosen and the rejected one",
                c->name, c->samples_per_prompt);
    return FALSE;
  }
  if (ra_learn_rule_is_of_pairs(rule) && share % 2 != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "call '%s' has micro-batches of %u sequences, expected whole "
                "pairs",
                c->name, share);
    return FALSE;
  }
  if (ra_learn_rule_is_of_pairs(rule) && p->balance == RA_BALANCE_TOKENS) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "call '%s' has balance = tokens, which parts its pairs, "
                "expected balance = sequences",
                c->name);
    return FALSE;
  }
  if (rule == RA_TRAIN_RLOO && c->samples_per_prompt < 2) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "call '%s' compares the responses to a prompt, expected "
                "samples-per-prompt of at least 2",
                c->name);
    return FALSE;
  }
  return TRUE;
}

gboolean
ra_run_is_greedy(const RaRun *run, uint32_t call)
{
  gboolean found = FALSE;

  for (guint i = 0; i < run->workload->n_calls; i++) {
    if (run->workload->calls[i].kind != RA_CALL_TRAIN)
      continue;
    if (run->workload->calls[i].set == call)
      return FALSE;
    found |= learn_rule(run->workload, i) == RA_TRAIN_REMAX;
  }
  return found;
}

RaLearnInputs
ra_learn_inputs(const RaRun *run, const RaNode *node)
{
  const RaExperience *e = run->experience[node->iteration];
  const RaCall *call = &run->workload->calls[node->call];
  RaLearnInputs in = {.rule = learn_rule(run->workload, node->call),
                      .set = &e->sets[call->set]};

  for (guint i = 0; i < call->n_inputs; i++) {
    uint32_t producer = call->inputs[i].producer;
    const RaCall *from;
    const RaColumn *c;

    if (producer == RA_NONE)
      continue;
    c = ra_experience_column(e, producer, FALSE, node->call);
    from = &run->workload->calls[producer];
    if (!c)
      continue;
    if (c->kind == RA_COLUMN_REWARD && from->set != call->set) {
      in.baselines = c->values;
      in.n_greedy = from->samples_per_prompt;
    } else if (c->kind == RA_COLUMN_REWARD) {
      in.rewards = c->values;
    } else if (c->kind == RA_COLUMN_VALUE) {
      in.values = c->values;
    } else if (from->kind == RA_CALL_GENERATE) {
      in.old = c->values;
    } else {
      in.reference = c->values;
    }
  }
  return in;
}

/* ---- advantages -----------------------------------------------------------*/

/* Rewards of tokens: the sequence's at its last, less the log-ratio to the
 * reference at each. */
static float *
token_rewards(const RaRun *run, const RaLearnInputs *in)
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
sequence_advantages(const RaRun *run, const RaNode *node,
                    const RaLearnInputs *in)
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

/* RLOO: a sequence's reward less the log-ratio to the reference of all of it,
 * against those of the other answers. */
static float *
left_out_advantages(const RaRun *run, const RaNode *node,
                    const RaLearnInputs *in)
{
  uint32_t n = in->set->seqs->n_sequences;
  uint32_t samples = run->workload->calls[node->call].samples_per_prompt;
  g_autofree float *of_sequence = g_new(float, n + 1);
  float *out = g_new(float, in->set->begin[n] + 1);

  for (uint32_t s = 0; s < n; s++) {
    uint32_t from = in->set->begin[s];

    of_sequence[s] = in->rewards[s];
    if (in->reference && in->old)
      of_sequence[s] -=
          run->options.kl_weight *
          (float)ra_cpu_log_ratio(in->set->begin[s + 1] - from, in->old + from,
                                  in->reference + from);
  }
  ra_cpu_leave_one_out(n / samples, samples, of_sequence, of_sequence);
  for (uint32_t s = 0; s < n; s++)
    for (uint32_t i = in->set->begin[s]; i < in->set->begin[s + 1]; i++)
      out[i] = of_sequence[s];
  return out;
}

static float *
remax_advantages(const RaRun *run, const RaNode *node, const RaLearnInputs *in)
{
  uint32_t n = in->set->seqs->n_sequences;
  uint32_t samples = run->workload->calls[node->call].samples_per_prompt;
  float *out = g_new(float, in->set->begin[n] + 1);

  for (uint32_t s = 0; s < n; s++) {
    uint32_t from = in->set->begin[s];
    double gain = (double)in->rewards[s] -
                  (double)in->baselines[s / samples * in->n_greedy];

    ra_cpu_remax_advantages(in->set->begin[s + 1] - from,
                            in->old ? in->old + from : NULL,
                            in->reference ? in->reference + from : NULL, gain,
                            (double)run->options.kl_weight, out + from);
  }
  return out;
}

/* Once an iteration: the first of the ranks that look at the policy's loss. */
static void
report(RaRun *run, const RaNode *node, const RaLearnInputs *in)
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

void
ra_rank_make_advantages(RaRank *rank, const RaNode *node,
                        const RaLearnInputs *in)
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
  } else if (in->rule == RA_TRAIN_RLOO) {
    c->advantages = left_out_advantages(run, node, in);
  } else if (in->rule == RA_TRAIN_REMAX) {
    c->advantages = remax_advantages(run, node, in);
  } else {
    c->advantages = sequence_advantages(run, node, in);
  }
  if (c->stages[0]->model->head == RA_HEAD_LM && c->coord.at[RA_AXIS_TP] == 0 &&
      c->coord.at[RA_AXIS_CP] == 0 && c->coord.at[RA_AXIS_DP] == 0)
    report(run, node, in);
}
