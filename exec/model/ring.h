/* A ring: how context-parallel ranks share sequences.
 *
 * A sequence is cut into 2 n chunks, of which rank r of n has r and
 * 2 n - 1 - r: of every causal step round the ring each rank then has as many
 * pairs (arXiv 2404.13358), exactly where lengths divide by 2 n.  Keys and
 * values go from rank to rank; a query sees those of a rank that come no later
 * than itself, the first so many.
 *
 *     RaTokens *mine = ra_ring_cut(whole, n_ranks, rank);
 *     mine->ring->seen[other][t]     keys of rank `other` that token t sees
 *
 * What is cut has positions of the whole sequence, and as targets the tokens
 * that follow there.
 */
#ifndef RA_EXEC_MODEL_RING_H
#define RA_EXEC_MODEL_RING_H

#include "exec/model/tokens.h"

struct _RaRing {
  uint32_t n_ranks;
  uint32_t rank;
  uint32_t n_sequences;
  uint32_t *begin;   /* (n_ranks, n_sequences + 1) tokens of each rank, owned */
  uint32_t *seen;    /* (n_ranks, n_tokens) of each rank's keys what each token
                      here sees, owned */
  uint64_t *pairs;   /* (n_ranks) sums of seen, owned */
  uint32_t *places;  /* (tokens of all ranks) rank by rank, in their sequences,
                        owned */
  uint32_t n_tokens; /* here */
};

/**
 * ra_ring_cut:
 * @whole: whole sequences
 * @n_ranks: that share them, >= 2
 * @rank: of them
 *
 * Returns: (transfer full): what @rank has of @whole, with its ring; sequences
 *   shorter than 2 n may leave a rank none of their tokens
 */
RaTokens *ra_ring_cut(const RaTokens *whole, uint32_t n_ranks, uint32_t rank);

/* @ring: (nullable) */
void ra_ring_free(RaRing *ring);

/* First token of each sequence of @rank's part, and one past the last. */
static inline const uint32_t *
ra_ring_begin(const RaRing *ring, uint32_t rank)
{
  return ring->begin + (gsize)rank * (ring->n_sequences + 1);
}

/* Of all sequences. */
static inline gsize
ra_ring_n_tokens(const RaRing *ring, uint32_t rank)
{
  return ra_ring_begin(ring, rank)[ring->n_sequences];
}

/* (tokens of @rank) their places. */
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
