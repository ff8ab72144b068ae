/* Rollout with long-tail choices: the tokens that each replica of a generate
 * call generates, phase by phase (choices: graph/input/tail.h).
 *
 * The clock is tokens: all sequences start together, so each running one has
 * generated the same number t, whatever the time of a step.  One schedule thus
 * serves costs, memory and the data, as in graph/rollout/batcher.h, and is
 * known before any cost.  (Real replicas step at their own pace; they wait for
 * each other where sequences move and where a part ends.)
 *
 * assignment    In order, replica d of D has the d-th share.  By length, the
 *               longest remaining sequence goes to the replica with the fewest
 *               tokens to generate.  A prediction of correlation q is the
 *               length at quantile Phi(q z + sqrt(1 - q^2) e) of all lengths,
 *               where z is the true length's normal score and e is sampled.
 * over-sample   f x prompts (rounded up) are started for the prompts that are
 *               wanted.  Generation stops at the token by which that many have
 *               all of their samples; training uses these.  A carried prompt
 *               keeps its tokens and replaces a fresh prompt in the next
 *               iteration.  It computes the keys of its prompt and of those
 *               tokens together with the prompts (partial rollout: Kimi k1.5,
 *               arXiv 2501.12599; APRIL, arXiv 2509.18521).
 * respread      When a replica's last sequence ends and another has at least
 *               two more than the one with fewest, sequences move until none
 *               has.  Those with the fewest tokens move first.
 * migrate       When at most the given fraction of all started sequences still
 *               runs, all of these move to the first replicas, each to the one
 *               with fewest (RLHFuse, arXiv 2409.13221).  The other GPUs are
 *               then free for their next tasks.
 *
 * With continuous batching (graph/rollout/batcher.h) the clock is steps of the
 * replicas' schedulers, as if all replicas stepped in time.  A sequence ends at
 * the step at which its scheduler ends it; one that waits counts as running.  A
 * sequence that moves takes its keys along only if it can run at once.
 * Otherwise, and with moved-kv = recompute, it waits there and computes them
 * again.  Respread moves waiting sequences first, the last one first.  With
 * assignment by length, replicas serve the longest first.
 *
 * A *phase* is an interval of the clock (T, T'] without a move or the end of a
 * part.  For a sequence with p prompt tokens and u tokens to generate in it,
 * RaDynamic has:
 * - in phase 0, and where keys are recomputed: prompt p + T, whose prefill
 *   gives the first of u tokens;
 * - otherwise: prompt p + T - 1 and u + 1 tokens, as only the last token's keys
 *   are missing.
 * (With continuous batching, prompt and response are whole, and RaBatchStart
 * has the progress of each sequence.)
 *
 *     const RaRollout *r = set->rollout;       NULL: no choice differs
 *     spell = &r->spells[phase * r->n_replicas + replica];
 *
 * Typical sizes: 1 to 20 phases, 16 to 512 replicas, 10^2 to 10^5 sequences.
 */
#ifndef RA_GRAPH_ROLLOUT_ROLLOUT_H
#define RA_GRAPH_ROLLOUT_ROLLOUT_H

#include "base/arena.h"
#include "graph/input/plan.h"
#include "graph/rollout/batcher.h"

/* Phase record: the work of one replica in one phase. */
typedef struct {
  uint32_t n;               /* sequences */
  uint32_t n_prefilled;     /* leading sequences that have a prefill */
  const uint32_t *prompt;   /* (n) tokens, as in RaDynamic */
  const uint32_t *response; /* (n) tokens, as in RaDynamic */
  uint64_t generated_tokens;
  uint64_t left_tokens; /* capacity of keys and values after the phase, in whole
                           blocks, with those that will be copied away */
  /* With continuous batching: */
  const RaBatchStart *starts;          /* (micro-batches) NULL: static */
  const uint32_t *group_begin;         /* (micro-batches + 1) sequences */
  const uint32_t *made;                /* (n) response tokens known after it */
  uint64_t n_steps;                    /* of each micro-batch, at most */
  uint64_t before_tokens, peak_tokens; /* of keys and values: at its begin, and
                                          largest capacity during it */
} RaSpell;

/* Moves of sequences before a phase. */
typedef struct {
  uint32_t n;                 /* sequences; 0: no move */
  const uint64_t *in_tokens;  /* (n_replicas) of keys and values that arrive, in
                                 whole blocks with static batching */
  const uint64_t *out_tokens; /* (n_replicas) the same that leave; both are 0
                                 with moved-kv = recompute */
  uint64_t max_intra_tokens; /* largest number of tokens that a replica sends or
                                receives within its node: of keys, or of text
                                if keys are recomputed */
  uint64_t max_inter_tokens; /* the same across nodes */
  uint32_t n_steps;          /* partner replicas of the busiest one */
} RaSpellMove;

typedef struct {
  uint32_t n_replicas, n_phases, n_parts;
  const RaSpell *spells;      /* (n_phases, n_replicas) */
  const RaSpellMove *moves;   /* (n_phases) before each */
  const uint32_t *part_begin; /* (n_parts + 1) phases */
  uint32_t n_begun;           /* sequences that had tokens to generate */
  uint32_t n_carried_in;      /* those started in an earlier iteration */
  uint64_t generated_tokens;  /* of all sequences */
  uint64_t discarded_tokens;  /* generated, in this or an earlier iteration, and
                                 discarded now */
  uint64_t recomputed_tokens; /* of keys and values computed again; the first
                                 computation of a prompt does not count */
} RaRollout;

/* Sequences of an iteration that training uses. */
typedef struct {
  uint32_t *prompt;   /* (n_sequences of the call) tokens */
  uint32_t *response; /* (n_sequences) tokens */
  uint64_t *end; /* (n_sequences) token of the clock by which each counts as
                    complete: with over-sampled prompts, the end of its prompt's
                    last sample */
} RaRolloutSet;

/* Samples the lengths of the first @n sequences of @set in @iteration. */
typedef void (*RaRolloutDraw)(const RaWorkload *workload, uint32_t set,
                              uint32_t iteration, uint64_t seed, uint32_t n,
                              uint32_t *out_prompt, uint32_t *out_response);

/**
 * ra_rollout_new:
 * @arena: owns the result
 * @plan: a plan with ra_tail_is_set() for @call
 * @out_set: the caller's arrays, filled in order of begin
 *
 * Cost: O(sequences log sequences + phases x sequences); with carried sequences
 * for each earlier iteration too.
 */
const RaRollout *ra_rollout_new(RaArena *arena, const RaPlan *plan,
                                uint32_t call, uint32_t iteration,
                                uint64_t seed, RaRolloutDraw draw,
                                const RaRolloutSet *out_set);

#endif
