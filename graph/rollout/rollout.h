/* Which tokens of which sequences a generate call generates, on which replica:
 * what a plan's choices about long tails come to (graph/input/tail.h).
 *
 * The clock is tokens: all sequences start together, so each that runs has
 * generated as many as every other, t, whatever a step takes.  So one schedule
 * serves costs, memory and the data, as in graph/rollout/batcher.h, and is
 * known before anything is costed.  (Replicas really step at their own pace;
 * they meet where sequences move and where a part ends.)
 *
 * assignment    in order replica d of D has the d-th share; by length the
 * longest of what remains goes to the replica with the fewest tokens to
 *               generate.  A prediction of correlation q is the length at the
 *               place q z + sqrt(1 - q^2) e of all, z the true one's normal
 *               score, e drawn
 * over-sample   f x prompts (rounded up) are begun for the prompts that are
 *               wanted; at the token by which so many have all of their
 * samples, generation stops.  Those are trained on; of the others a carried one
 * has its tokens kept, takes the place of a fresh prompt in the next iteration
 * and computes the keys of its prompt and those tokens with the prompts
 * (partial rollout: Kimi k1.5, arXiv 2501.12599; APRIL, arXiv 2509.18521)
 * respread      when a replica's last sequence ends and another has two more
 * than the one with fewest, sequences move, those with the fewest tokens first,
 * until none has migrate       when at most the given share of all that started
 * still runs, all of it moves to the first replicas, each to the one with
 * fewest (RLHFuse, arXiv 2409.13221): the other GPUs are free for what comes
 * next on them
 *
 * With continuous batching (graph/rollout/batcher.h) the clock is steps of the
 * replicas' schedulers, as if all replicas stepped in time: a sequence ends at
 * the step that its scheduler ends it at, who waits counts as running, and one
 * that moves takes its keys along only where it finds a place at once; else,
 * and with moved-kv = recompute, it waits there and computes them anew.  Of
 * those spread anew who wait go first, the last first.  By length, replicas
 * serve the longest first.
 *
 * A *phase* is a stretch of the clock (T, T'] without a move or the end of a
 * part.  A sequence with p prompt tokens and u tokens to generate in it has, as
 * RaDynamic counts: in phase 0, and where its keys are recomputed, the prompt p
 * + T, whose prefill gives the first of u; else its keys are there but for the
 * last token's, so prompt p + T - 1 and u + 1.  (With continuous batching all
 * are whole, and RaBatchStart says how far each is.)
 *
 *     const RaRollout *r = set->rollout;       NULL: nothing is chosen
 *     spell = &r->spells[phase * r->n_replicas + replica];
 *
 * Typical sizes: 1 to 20 phases, 16 to 512 replicas, 10^2 to 10^5 sequences.
 */
#ifndef RA_GRAPH_ROLLOUT_ROLLOUT_H
#define RA_GRAPH_ROLLOUT_ROLLOUT_H

#include "base/arena.h"
#include "graph/input/plan.h"
#include "graph/rollout/batcher.h"

/* What a replica does in a phase. */
typedef struct {
  uint32_t n;               /* sequences */
  uint32_t n_prefilled;     /* the first of them, which have a prefill */
  const uint32_t *prompt;   /* (n) tokens, as RaDynamic */
  const uint32_t *response; /* (n) tokens, as RaDynamic */
  uint64_t generated_tokens;
  uint64_t left_tokens; /* of keys and values there after it, those that will be
                           copied away among them, in whole blocks */
  /* With continuous batching: */
  const RaBatchStart *starts;          /* (micro-batches) NULL: static */
  const uint32_t *group_begin;         /* (micro-batches + 1) sequences */
  const uint32_t *made;                /* (n) response tokens known after it */
  uint64_t n_steps;                    /* of each micro-batch, at most */
  uint64_t before_tokens, peak_tokens; /* of keys and values: as it begins, and
                                          that have room during it */
} RaSpell;

/* What moves before a phase. */
typedef struct {
  uint32_t n;                 /* sequences; 0: nothing */
  const uint64_t *in_tokens;  /* (n_replicas) of keys and values that come, in
                                 whole blocks with static batching */
  const uint64_t *out_tokens; /* (n_replicas) and go; with moved-kv = recompute
                                 0 as `in` */
  uint64_t max_intra_tokens;  /* keys, or text where they are recomputed: most
                                 that a replica sends or gets within its node */
  uint64_t max_inter_tokens;  /* and across nodes */
  uint32_t n_steps;           /* replicas that the busiest has to do with */
} RaSpellMove;

typedef struct {
  uint32_t n_replicas, n_phases, n_parts;
  const RaSpell *spells;      /* (n_phases, n_replicas) */
  const RaSpellMove *moves;   /* (n_phases) before each */
  const uint32_t *part_begin; /* (n_parts + 1) phases */
  uint32_t n_begun;           /* sequences that had tokens to generate */
  uint32_t n_carried_in;      /* of them, begun in an earlier iteration */
  uint64_t generated_tokens;  /* of all */
  uint64_t discarded_tokens;  /* generated, in this or an earlier iteration, and
                                 thrown away now */
  uint64_t recomputed_tokens; /* of keys and values, prompts not counted where
                                 they are computed for the first time */
} RaRollout;

/* The sequences of an iteration that are trained on. */
typedef struct {
  uint32_t *prompt;   /* (n_sequences of the call) tokens */
  uint32_t *response; /* (n_sequences) tokens */
  uint64_t *end; /* (n_sequences) token of the clock by which each counts as
                    complete: its prompt's last sample where prompts are
                    over-sampled */
} RaRolloutSet;

/* Lengths of the first @n sequences that @set draws for @iteration. */
typedef void (*RaRolloutDraw)(const RaWorkload *workload, uint32_t set,
                              uint32_t iteration, uint64_t seed, uint32_t n,
                              uint32_t *out_prompt, uint32_t *out_response);

/**
 * ra_rollout_new:
 * @arena: owns the result
 * @plan: ra_tail_is_set() for @call
 * @out_set: arrays of the caller's, filled in order of begin
 *
 * Cost: O(sequences log sequences + phases x sequences); with carried sequences
 * the iterations before are gone through too.
 */
const RaRollout *ra_rollout_new(RaArena *arena, const RaPlan *plan,
                                uint32_t call, uint32_t iteration,
                                uint64_t seed, RaRolloutDraw draw,
                                const RaRolloutSet *out_set);

#endif
