/* What a train call learns, and from what: its rule and its inputs.
 *
 * The rule follows from the head of its model and what it reads; whether
 * answers without a critic are compared as GRPO or as RLOO compares them is the
 * workload's `algorithm`.  Private to exec/run*.c.
 *
 *     RaLearnInputs in = ra_learn_inputs(run, node);
 *     ra_rank_make_advantages(rank, node, &in);
 */
#ifndef RA_EXEC_RUN_LEARN_H
#define RA_EXEC_RUN_LEARN_H

#include "exec/run_impl.h"

typedef enum {
  RA_TRAIN_CROSS_ENTROPY, /* of the answers: SFT */
  RA_TRAIN_PPO,           /* on values */
  RA_TRAIN_GRPO,          /* rewards within a prompt's answers */
  RA_TRAIN_RLOO,          /* likewise, less the mean of the others */
  RA_TRAIN_REMAX,         /* less the reward of the greedy answer */
  RA_TRAIN_DPO,           /* pairs, a reference */
  RA_TRAIN_VALUE,         /* of a critic */
  RA_TRAIN_PAIRS          /* pairs: reward models */
} RaLearnRule;

/* What a train call reads; any may be NULL. */
typedef struct {
  RaLearnRule rule;
  const RaExperienceSet *set;
  const float *old;       /* log-probabilities when drawn */
  const float *reference; /* log-probabilities of another model */
  const float *values;    /* of the states */
  const float *rewards;   /* of the sequences */
  const float *baselines; /* of the sequences of another set, that of greedy
                             answers to the same prompts */
  uint32_t n_greedy;      /* of them to a prompt */
} RaLearnInputs;

static inline gboolean
ra_learn_rule_is_of_pairs(RaLearnRule rule)
{
  return rule == RA_TRAIN_DPO || rule == RA_TRAIN_PAIRS;
}

/* What train call @call of @workload learns. */
RaLearnRule ra_learn_rule(const RaWorkload *workload, uint32_t call);

/**
 * ra_learn_check:
 * @error: %RA_ERROR_INPUT: pairs that are not two answers to a prompt, or that
 *   a micro-batch cuts in two; RLOO of one answer
 *
 * Whether train call @call of @plan can be run.
 */
gboolean ra_learn_check(const RaPlan *plan, uint32_t call, GError **error);

RaLearnInputs ra_learn_inputs(const RaRun *run, const RaNode *node);

/* Advantages, and of PPO returns, of an iteration, once. */
void ra_rank_make_advantages(RaRank *rank, const RaNode *node,
                             const RaLearnInputs *in);

/* Entries of a sequence that lie behind each other, in what the micro-batch has
 * one a token of and in what there is one a response token of. */
typedef struct {
  uint32_t token; /* the first's, of the micro-batch: the state before it */
  uint32_t entry; /* of the response */
  uint32_t n;
} RaEntries;

/* The entries of sequence @i of a micro-batch that follow @entries, at first
 * zeroed: all at once of a whole sequence.  FALSE: no more. */
gboolean ra_run_next_entries(const RaExperienceSet *set,
                             const RaMicroBatch *micro, uint32_t i,
                             RaEntries *entries);

/* Where the micro-batch has the last token of sequence @i; RA_NONE: nowhere. */
uint32_t ra_run_last_token(const RaExperienceSet *set,
                           const RaMicroBatch *micro, uint32_t i);

#endif
