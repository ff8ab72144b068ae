/* Sequences of one iteration: sampled lengths, and sums over ranges of them.
 *
 * A set has prompts x samples sequences; sequence i is sample i mod n of prompt
 * i / n, and the samples of a prompt share its length.  Replica d of D works on
 * the contiguous range [d S / D, (d + 1) S / D), divided further into
 * mini-batches and micro-batches.  The size of a batch is thus a difference of
 * prefix sums.
 *
 * A set that is generated in parts (its consumers start on chunks) also has the
 * order of arrival.  Part c of a replica is the c-th block of its sequences to
 * end, and part c of a consumer works on the c-th blocks of all replicas.
 *
 * Typical sizes: 10^3 to 10^5 sequences.
 */
#ifndef RA_GRAPH_EXPAND_SEQUENCE_H
#define RA_GRAPH_EXPAND_SEQUENCE_H

#include "base/arena.h"
#include "graph/input/plan.h"
#include "graph/op/op.h"
#include "graph/rollout/rollout.h"

typedef struct {
  uint32_t n_sequences;
  const uint32_t *prompt;        /* (n_sequences) tokens, in order of prompts */
  const uint32_t *response;      /* (n_sequences) tokens */
  const uint64_t *prompt_tokens; /* (n_sequences + 1) prefix sums, same order */
  const uint64_t *prompt_pairs;  /* (n_sequences + 1) of p (p + 1) / 2 */
  const uint32_t *order; /* (n_sequences) sequences in order of arrival */
  const uint64_t
      *tokens; /* (n_sequences + 1) of prompt + response, in order of arrival */
  const uint64_t
      *pairs; /* (n_sequences + 1) of s (s + 1) / 2, in order of arrival */
  uint64_t longest;     /* tokens of a whole sequence */
  const RaTurns *turns; /* turns of the sequences, whose `response` then is all
                           that follows the prompt; NULL: one turn each */
  const RaRollout *rollout; /* generation by replica; NULL: each replica has its
                               share of `prompt` and `response` */
} RaSequenceSet;

/**
 * ra_sequence_set_new:
 * @arena: owns the result
 * @plan: provides the laws, and the generating call's replicas and parts
 * @set: call that makes or owns the set
 * @iteration: part of the stream of random numbers
 * @seed: the user's seed
 *
 * Prompts depend on (seed, iteration) only, so all sets of an iteration share
 * them.
 *
 * Cost: O(n log n) if the set is generated in parts, else O(n).
 */
RaSequenceSet *ra_sequence_set_new(RaArena *arena, const RaPlan *plan,
                                   uint32_t set, uint32_t iteration,
                                   uint64_t seed);

/**
 * ra_sequence_set_new_trip:
 * @set: generate call
 * @trip: number of the trip (graph/input/trips.h)
 *
 * Sequences that a trip generates: the next trip-prompts prompts of the
 * iteration.  For such a workload ra_sequence_set_new() has the sequences that
 * training uses instead.
 */
RaSequenceSet *ra_sequence_set_new_trip(RaArena *arena, const RaPlan *plan,
                                        uint32_t set, uint32_t iteration,
                                        uint32_t trip, uint64_t seed);

/* Batch of the whole sequences [@first, @last) in order of arrival. */
RaBatch ra_sequence_set_batch(const RaSequenceSet *set, uint32_t first,
                              uint32_t last);

/**
 * ra_sequence_set_cut:
 * @first, @n: the sequences of a replica, in order of arrival
 * @m: number of micro-batches, at most @n; by RA_BALANCE_SEQUENCES a divisor
 * @how: its balance and its padding count
 * @out_batches: (array length=m): the micro-batches, with their padding
 * @out_sequences: (nullable) (array length=n): the sequences of one micro-batch
 *   after the other; a micro-batch has n_sequences of @out_batches
 *
 * Cost: O(m), with RA_PADDING_MICRO_BATCH O(n); by RA_BALANCE_TOKENS
 * O(n log n).
 */
void ra_sequence_set_cut(const RaSequenceSet *set, uint32_t first, uint32_t n,
                         uint32_t m, const RaCallPlan *how,
                         RaBatch *out_batches, uint32_t *out_sequences);

/* Batch of the prompts [@first, @last). */
RaBatch ra_sequence_set_prompts(const RaSequenceSet *set, uint32_t first,
                                uint32_t last);

#endif
