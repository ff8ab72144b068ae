/* Shared declarations of rounds*.c: rounds under construction. */
#ifndef RA_EXEC_COMM_ROUNDS_IMPL_H
#define RA_EXEC_COMM_ROUNDS_IMPL_H

#include "exec/comm/rounds.h"

/* A tree under construction: slices that spread one rectangle from one rank. */
typedef struct {
  uint32_t slice; /* first slice */
  uint32_t root;  /* rank that has the rectangle */
  GArray *ranks;  /* uint32_t: the root and the ranks that receive it; NULL:
                     merged into another tree */
  GArray *slices; /* uint32_t, in their order */
  uint32_t set;   /* set of its broadcast; RA_NONE: sent slice by slice */
  uint64_t n;     /* elements of the rectangle */
} RaRoundTree;

/* A slice that a rank receives of the current tensor. */
typedef struct {
  uint32_t slice;
  uint32_t depth; /* rounds of the window after which it has arrived */
} RaRoundGot;

typedef struct {
  const GArray *slices;
  const uint32_t *rank_of_gpu;
  uint32_t n_ranks;
  GArray *trees;      /* RaRoundTree, by tensor */
  GArray *messages;   /* RaRoundMessage, one per slice or tree; first_piece
                         is the slice */
  GArray *windows;    /* RaRoundWindow */
  GArray **got;       /* (n_ranks) of RaRoundGot, for the current tensor */
  uint64_t *in, *out; /* (n_ranks) elements into and out of each rank, in the
                         current window */
} RaRoundWork;

static inline const RaSlice *
ra_round_slice_at(const RaRoundWork *w, uint32_t i)
{
  return &g_array_index(w->slices, RaSlice, i);
}

static inline uint64_t
ra_slice_n(const RaSlice *s)
{
  return s->n_rows * s->n_cols;
}

static inline uint32_t
ra_round_from_of(const RaRoundWork *w, const RaSlice *s)
{
  return w->rank_of_gpu[s->from];
}

static inline uint32_t
ra_round_to_of(const RaRoundWork *w, const RaSlice *s)
{
  return w->rank_of_gpu[s->to];
}

/* Makes the trees of all slices. */
void ra_rounds_grow_trees(RaRoundWork *work);

/* Chooses the sets that have a communicator, and stores them in the trees. */
void ra_rounds_pick_sets(RaRoundWork *work, uint32_t most, RaRounds *rounds);

#endif
