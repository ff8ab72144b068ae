/* Rounds: slices on their way as grouped messages that all can end.
 *
 * A library whose sends wait for their receives (NCCL) must be given all that a
 * rank sends and receives at a time in one group call, and the groups in an
 * order that all ranks agree on.  Rounds are that order, made of the slices of
 * a reallocation (graph/augment/realloc.h) or of any other move of rectangles:
 * a message is in the same round at both ends, ranks pass the rounds in
 * ascending order, and a rank sends in a round what it has or has got in
 * rounds before.  So the earliest round that is not over can always end.
 *
 *     g_autoptr(RaRounds) rounds = ra_rounds_new(slices, rank_of_gpu, n_ranks,
 *                                                &limits);
 *     for (i = rounds->begin[rank]; i < rounds->begin[rank + 1]; i++)
 *       &rounds->messages[rounds->order[i]]      in the order of the rounds
 *
 * Slices of one rectangle that go on from rank to rank become a broadcast to
 * all of them, where its set of ranks is among those that have a communicator.
 * Slices between two ranks in a round are one message, in the order of the
 * slices.  Tensors go window by window, so that memory on the way is bounded.
 * A pure function: every rank makes the same.
 */
#ifndef RA_EXEC_COMM_ROUNDS_H
#define RA_EXEC_COMM_ROUNDS_H

#include "graph/augment/realloc.h"

/* What travels as one. */
typedef struct {
  uint32_t round;
  uint32_t from;        /* rank */
  uint32_t to;          /* rank; RA_NONE: all others of the set */
  uint32_t set;         /* of a broadcast; RA_NONE: it is a send */
  uint32_t first_piece; /* into pieces */
  uint32_t n_pieces;    /* >= 1 */
  uint64_t n_elements;
} RaRoundMessage;

/* Tensors whose rounds lie together. */
typedef struct {
  uint32_t first_tensor, end_tensor;
  uint32_t first_round, end_round;
} RaRoundWindow;

typedef struct {
  uint32_t n_ranks;
  uint32_t n_rounds;
  RaRoundMessage *messages; /* (n_messages) by round, set, from, to; owned */
  uint32_t n_messages;
  uint32_t *pieces;       /* indices of slices, owned */
  uint32_t *begin;        /* (n_ranks + 1) into order, owned */
  uint32_t *order;        /* messages of each rank, ascending; owned */
  RaRoundWindow *windows; /* (n_windows) ascending, owned */
  uint32_t n_windows;
  uint32_t *set_begin; /* (n_sets + 1) into set_ranks, owned */
  uint32_t *set_ranks; /* of each set, ascending; owned */
  uint32_t n_sets;
} RaRounds;

typedef struct {
  uint64_t most_elements; /* in or out of a rank in a window that has more than
                             one tensor */
  uint32_t most_sets; /* broadcasts have no more sets of ranks than so; those
                             that most elements go to.  0: all is sent */
} RaRoundLimits;

/**
 * ra_rounds_new:
 * @slices: (element-type RaSlice): by tensor, those of a tensor in an order in
 *   which a sender has what it sends, as ra_reshard_slices() gives them
 * @rank_of_gpu: rank of each GPU that a slice names
 * @n_ranks: > all of these
 * @limits: borrowed
 *
 * Cost: O(slices x slices of the same tensor to the same rank).   Thread: any.
 *
 * Returns: (transfer full): ra_rounds_free() it
 */
RaRounds *ra_rounds_new(const GArray *slices, const uint32_t *rank_of_gpu,
                        uint32_t n_ranks, const RaRoundLimits *limits);
void ra_rounds_free(RaRounds *rounds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRounds, ra_rounds_free)

/* Number of @rank in @set; RA_NONE: it is not in it. */
uint32_t ra_rounds_in_set(const RaRounds *rounds, uint32_t set, uint32_t rank);

#endif
