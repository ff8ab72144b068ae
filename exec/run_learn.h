/* The learning rule of a train call, and its inputs.
 *
 * The rule follows from the head of the model and from what the call reads.
 * The workload's `algorithm` chooses between GRPO and RLOO for answers without
 * a critic.  Private to exec/run*.c.
 *
 *     RaLearnInputs in = ra_learn_inputs(run, node);
 *     ra_rank_make_advantages(rank, node, &in);
 */
#ifndef RA_EXEC_RUN_LEARN_H
#define RA_EXEC_RUN_LEARN_H

#include "exec/run_impl.h"

typedef enum {
  RA_TRAIN_CROSS_ENTROPY, /* SFT, on the answers */
  RA_TRAIN_PPO,           /* advantages from values */
  RA_TRAIN_GRPO,          /* rewards normalised over a prompt's answers */
  RA_TRAIN_RLOO,          /* rewards less the mean of the prompt's other
                             answers */
  RA_TRAIN_REMAX,         /* rewards less that of the greedy answer */
  RA_TRAIN_DPO,           /* pairs, with a reference */
  RA_TRAIN_VALUE,         /* value loss of a critic */
  RA_TRAIN_PAIRS          /* pairs, for reward models */
} RaLearnRule;

/* Inputs of a train call; any pointer may be NULL. */
typedef struct {
  RaLearnRule rule;
  const RaExperienceSet *set;
  const float *old;       /* log-probabilities at sampling time */
  const float *reference; /* log-probabilities of another model */
  const float *values;    /* values of the states */
  const float *rewards;   /* rewards of the sequences */
  const float *baselines; /* rewards of another set: greedy answers to the same
                             prompts */
  uint32_t n_greedy;      /* greedy answers per prompt */
} RaLearnInputs;

static inline gboolean
ra_learn_rule_is_of_pairs(RaLearnRule rule)
{
  return rule == RA_TRAIN_DPO || rule == RA_TRAIN_PAIRS;
}

/**
 * ra_learn_check:
 * @error: %RA_ERROR_INPUT: pairs that are not two answers to a prompt, or that
 *   a micro-batch would split; RLOO with one answer
 *
 * TRUE if train call @call of @plan can be run.
 */
gboolean ra_learn_check(const RaPlan *plan, uint32_t call, GError **error);

RaLearnInputs ra_learn_inputs(const RaRun *run, const RaNode *node);

/* Computes the advantages of an iteration, and for PPO its returns, once. */
void ra_rank_make_advantages(RaRank *rank, const RaNode *node,
                             const RaLearnInputs *in);

/* Consecutive entries of a sequence, in two numberings: the micro-batch has one
 * per token, other data have one per response token. */
typedef struct {
  uint32_t token; /* first token in the micro-batch: the state before the
                     entry */
  uint32_t entry; /* first entry of the response */
  uint32_t n;
} RaEntries;

#endif
