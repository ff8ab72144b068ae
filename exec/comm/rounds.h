/* Rounds: the slices of a move as grouped messages that cannot deadlock.
 *
 * A library whose sends wait for their receives (NCCL) needs all concurrent
 * sends and receives of a rank in one group call, and the groups in an order on
 * which all ranks agree.  Rounds are that order, made from the slices of a
 * reallocation (graph/augment/realloc.h) or of any other move of rectangles.
 *
 * A message is in the same round at both ends, and ranks pass the rounds in
 * ascending order.  What a rank sends in a round it had before the move or
 * received in an earlier round.  So the earliest unfinished round can always
 * finish.
 *
 *     g_autoptr(RaRounds) rounds = ra_rounds_new(slices, rank_of_gpu, n_ranks,
 *                                                &limits);
 *     for (i = rounds->begin[rank]; i < rounds->begin[rank + 1]; i++)
 *       &rounds->messages[rounds->order[i]]      in the order of the rounds
 *
 * Slices of one rectangle that ranks forward to each other become a broadcast,
 * if their set of ranks is among those with a communicator.  Slices between two
 * ranks in a round are one message, in the order of the slices.  Tensors move
 * window by window, which bounds the memory in transit.  A pure function: every
 * rank computes the same rounds.
 */
#ifndef RA_EXEC_COMM_ROUNDS_H
#define RA_EXEC_COMM_ROUNDS_H

#include "graph/augment/realloc.h"

/* One message or broadcast. */
typedef struct {
  uint32_t round;
  uint32_t from;        /* rank */
  uint32_t to;          /* rank; RA_NONE: all others of the set */
  uint32_t set;         /* set of a broadcast; RA_NONE: a send */
  uint32_t first_piece; /* offset into pieces */
  uint32_t n_pieces;    /* >= 1 */
  uint64_t n_elements;
} RaRoundMessage;

/* Tensors whose rounds overlap. */
typedef struct {
  uint32_t first_tensor, end_tensor;
  uint32_t first_round, end_round;
} RaRoundWindow;

typedef struct {
  uint32_t n_ranks;
  uint32_t n_rounds;
  RaRoundMessage *messages; /* (n_messages) by round, set, from, to; owned */
  uint32_t n_messages;
  uint32_t *pieces;       /* indices of slices, by message; owned */
  uint32_t *begin;        /* (n_ranks + 1) offsets into order, owned */
  uint32_t *order;        /* messages of each rank, ascending; owned */
  RaRoundWindow *windows; /* (n_windows) ascending, owned */
  uint32_t n_windows;
  uint32_t *set_begin; /* (n_sets + 1) offsets into set_ranks, owned */
  uint32_t *set_ranks; /* ranks of each set, ascending; owned */
  uint32_t n_sets;
} RaRounds;

typedef struct {
  uint64_t most_elements; /* limit for a window of more than one tensor:
                             elements into or out of a rank */
  uint32_t most_sets;     /* limit of sets of ranks with broadcasts; the sets
                             that receive most elements have them.  0: sends
                             only */
} RaRoundLimits;

/**
 * ra_rounds_new:
 * @slices: (element-type RaSlice): by tensor; within a tensor a sender has what
 *   it sends by then, as ra_reshard_slices() orders them
 * @rank_of_gpu: rank of each GPU that a slice names
 * @n_ranks: > all of these
 * @limits: borrowed
 *
 * Cost: O(slices x slices of the same tensor to the same rank).   Thread: any.
 *
 * Returns: (transfer full): free with ra_rounds_free()
 */
RaRounds *ra_rounds_new(const GArray *slices, const uint32_t *rank_of_gpu,
                        uint32_t n_ranks, const RaRoundLimits *limits);
void ra_rounds_free(RaRounds *rounds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRounds, ra_rounds_free)

/* Index of @rank in @set; RA_NONE: it is not a member. */
uint32_t ra_rounds_in_set(const RaRounds *rounds, uint32_t set, uint32_t rank);

#endif
