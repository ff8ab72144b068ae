/* What rounds*.c share: rounds in the making. */
#ifndef RA_EXEC_COMM_ROUNDS_IMPL_H
#define RA_EXEC_COMM_ROUNDS_IMPL_H

#include "exec/comm/rounds.h"

/* Slices of one rectangle from one rank on, in the making. */
typedef struct {
  uint32_t slice; /* first */
  uint32_t root;  /* rank that has it */
  GArray *ranks;  /* of uint32_t: the root and who gets it; NULL: taken in */
  GArray *slices; /* of uint32_t, as they come */
  uint32_t set;   /* broadcast to it, RA_NONE: slice by slice */
  uint64_t n;     /* elements of the rectangle */
} RaRoundTree;

/* What a rank gets of the tensor at hand. */
typedef struct {
  uint32_t slice;
  uint32_t depth; /* rounds of the window that are over when it is there */
} RaRoundGot;

typedef struct {
  const GArray *slices;
  const uint32_t *rank_of_gpu;
  uint32_t n_ranks;
  GArray *trees;      /* of RaRoundTree, by tensor */
  GArray *messages;   /* of RaRoundMessage, a slice or a tree each; first_piece
                        is the slice */
  GArray *windows;    /* of RaRoundWindow */
  GArray **got;       /* (n_ranks) of RaRoundGot, of the tensor at hand */
  uint64_t *in, *out; /* (n_ranks) elements of the window at hand */
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

/* Picks the sets that have a communicator, and tells the trees. */
void ra_rounds_pick_sets(RaRoundWork *work, uint32_t most, RaRounds *rounds);

#endif
