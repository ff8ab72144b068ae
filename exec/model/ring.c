/* Cutting of sequences into chunks for context-parallel ranks. */
#include "config.h"

#include "exec/model/ring.h"

/* The two chunks of a rank, places in the sequence. */
typedef struct {
  uint32_t begin[2], end[2];
} Chunks;

static uint32_t
bound(uint32_t length, uint32_t chunk, uint32_t n_ranks)
{
  return (uint32_t)((uint64_t)length * chunk / (2 * n_ranks));
}

static Chunks
chunks_of(uint32_t length, uint32_t n_ranks, uint32_t rank)
{
  uint32_t last = 2 * n_ranks - 1 - rank;

  return (Chunks){
      {bound(length, rank, n_ranks), bound(length, last, n_ranks)},
      {bound(length, rank + 1, n_ranks), bound(length, last + 1, n_ranks)}};
}

static uint32_t
chunks_n(const Chunks *c)
{
  return c->end[0] - c->begin[0] + c->end[1] - c->begin[1];
}

/* Number of places in @c up to @place. */
static uint32_t
n_until(const Chunks *c, uint32_t place)
{
  uint32_t n = 0;

  for (guint i = 0; i < 2; i++)
    n += CLAMP(place + 1, c->begin[i], c->end[i]) - c->begin[i];
  return n;
}

static uint32_t
length_of(const RaTokens *whole, uint32_t sequence)
{
  return whole->begin[sequence + 1] - whole->begin[sequence];
}

/* Places of the tokens of all ranks, which together are those of @whole. */
static uint32_t *
new_places(const RaTokens *whole, uint32_t n_ranks)
{
  uint32_t *places = g_new(uint32_t, (gsize)whole->n_tokens + 1);
  gsize at = 0;

  for (uint32_t k = 0; k < n_ranks; k++)
    for (uint32_t s = 0; s < whole->n_sequences; s++) {
      Chunks c = chunks_of(length_of(whole, s), n_ranks, k);

      for (guint i = 0; i < 2; i++)
        for (uint32_t place = c.begin[i]; place < c.end[i]; place++)
          places[at++] = place;
    }
  return places;
}

static RaRing *
ring_new(const RaTokens *whole, uint32_t n_ranks, uint32_t rank)
{
  RaRing *r = g_new0(RaRing, 1);
  gsize n = whole->n_sequences + 1;

  r->n_ranks = n_ranks;
  r->rank = rank;
  r->n_sequences = whole->n_sequences;
  r->begin = g_new0(uint32_t, n_ranks * n);
  for (uint32_t k = 0; k < n_ranks; k++)
    for (uint32_t s = 0; s < whole->n_sequences; s++) {
      Chunks c = chunks_of(length_of(whole, s), n_ranks, k);

      r->begin[k * n + s + 1] = r->begin[k * n + s] + chunks_n(&c);
    }
  r->n_tokens = (uint32_t)ra_ring_n_tokens(r, rank);
  r->seen = g_new(uint32_t, (gsize)n_ranks * r->n_tokens + 1);
  r->pairs = g_new0(uint64_t, n_ranks);
  r->places = new_places(whole, n_ranks);
  return r;
}

/* Sets the keys that token @at, at @place of a sequence of @length tokens,
 * attends to. */
static void
set_seen(RaRing *ring, uint32_t at, uint32_t length, uint32_t place)
{
  for (uint32_t k = 0; k < ring->n_ranks; k++) {
    Chunks c = chunks_of(length, ring->n_ranks, k);
    uint32_t n = n_until(&c, place);

    ring->seen[(gsize)k * ring->n_tokens + at] = n;
    ring->pairs[k] += n;
  }
}

RaTokens *
ra_ring_cut(const RaTokens *whole, uint32_t n_ranks, uint32_t rank)
{
  RaTokens *t = g_new0(RaTokens, 1);
  uint32_t at = 0;

  g_return_val_if_fail(rank < n_ranks, NULL);
  t->ring = ring_new(whole, n_ranks, rank);
  t->n_sequences = whole->n_sequences;
  t->n_tokens = t->ring->n_tokens;
  t->begin = g_memdup2(ra_ring_begin(t->ring, rank),
                       (t->n_sequences + 1) * sizeof *t->begin);
  t->tokens = g_new(uint32_t, t->n_tokens + 1);
  t->positions = g_new(uint32_t, t->n_tokens + 1);
  t->targets = g_new(uint32_t, t->n_tokens + 1);
  for (uint32_t s = 0; s < whole->n_sequences; s++) {
    uint32_t length = length_of(whole, s), first = whole->begin[s];
    Chunks c = chunks_of(length, n_ranks, rank);

    for (guint i = 0; i < 2; i++)
      for (uint32_t place = c.begin[i]; place < c.end[i]; place++, at++) {
        t->tokens[at] = whole->tokens[first + place];
        t->positions[at] = whole->positions[first + place];
        t->targets[at] = whole->targets[first + place];
        set_seen(t->ring, at, length, place);
      }
  }
  return t;
}

void
ra_ring_free(RaRing *ring)
{
  if (!ring)
    return;
  g_free(ring->begin);
  g_free(ring->seen);
  g_free(ring->pairs);
  g_free(ring->places);
  g_free(ring);
}
