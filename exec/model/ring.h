/* A ring: how context-parallel ranks share sequences.
 *
 * A sequence is cut into 2 n chunks; rank r of n has chunks r and 2 n - 1 - r.
 * Then every rank has equally many pairs in every step of causal attention
 * round the ring (arXiv 2404.13358), exactly so if 2 n divides the length.
 * Keys and values move from rank to rank.  A query attends to those keys of a
 * rank that are no later than itself, which are the first ones.
 *
 *     RaTokens *mine = ra_ring_cut(whole, n_ranks, rank);
 *     mine->ring->seen[other][t]     keys of rank `other` that token t sees
 *
 * The part keeps the positions of the whole sequence, and its targets are the
 * tokens that follow there.
 */
#ifndef RA_EXEC_MODEL_RING_H
#define RA_EXEC_MODEL_RING_H

#include "exec/model/tokens.h"

struct _RaRing {
  uint32_t n_ranks;
  uint32_t rank;
  uint32_t n_sequences;
  uint32_t *begin;   /* (n_ranks, n_sequences + 1) first tokens on each rank,
                        owned */
  uint32_t *seen;    /* (n_ranks, n_tokens) keys of each rank that each token
                        here attends to, owned */
  uint64_t *pairs;   /* (n_ranks) sums of seen, owned */
  uint32_t *places;  /* (tokens of all ranks) positions in their sequences, rank
                        by rank, owned */
  uint32_t n_tokens; /* tokens here */
};

/**
 * ra_ring_cut:
 * @whole: whole sequences
 * @n_ranks: ranks that share them, >= 2
 * @rank: one of them
 *
 * Returns: (transfer full): @rank's part of @whole, with its ring; a sequence
 *   shorter than 2 n may leave a rank no token
 */
RaTokens *ra_ring_cut(const RaTokens *whole, uint32_t n_ranks, uint32_t rank);

/* @ring: (nullable) */
void ra_ring_free(RaRing *ring);

/* First token of each sequence in @rank's part, and one past the last. */
static inline const uint32_t *
ra_ring_begin(const RaRing *ring, uint32_t rank)
{
  return ring->begin + (gsize)rank * (ring->n_sequences + 1);
}

/* Tokens of @rank's part, over all sequences. */
static inline gsize
ra_ring_n_tokens(const RaRing *ring, uint32_t rank)
{
  return ra_ring_begin(ring, rank)[ring->n_sequences];
}

/* (tokens of @rank) their positions. */
static inline const uint32_t *
ra_ring_places(const RaRing *ring, uint32_t rank)
{
  const uint32_t *at = ring->places;

  for (uint32_t k = 0; k < rank; k++)
    at += ra_ring_n_tokens(ring, k);
  return at;
}

static inline const uint32_t *
ra_ring_seen(const RaRing *ring, uint32_t rank)
{
  return ring->seen + (gsize)rank * ring->n_tokens;
}

#endif
