/* Packed micro-batches. */
#include "config.h"

#include <string.h>

#include "exec/model/ring.h"

RaTokens *
ra_tokens_new(uint32_t n_sequences, const uint32_t *lengths,
              const uint32_t *const *texts)
{
  RaTokens *t = g_new0(RaTokens, 1);

  t->n_sequences = n_sequences;
  t->begin = g_new0(uint32_t, n_sequences + 1);
  for (uint32_t s = 0; s < n_sequences; s++)
    t->begin[s + 1] = t->begin[s] + lengths[s];
  t->n_tokens = t->begin[n_sequences];
  t->tokens = g_new(uint32_t, t->n_tokens + 1);
  t->positions = g_new(uint32_t, t->n_tokens + 1);
  t->targets = g_new(uint32_t, t->n_tokens + 1);
  for (uint32_t s = 0; s < n_sequences; s++)
    for (uint32_t i = 0; i < lengths[s]; i++) {
      t->tokens[t->begin[s] + i] = texts[s][i];
      t->positions[t->begin[s] + i] = i;
      t->targets[t->begin[s] + i] = texts[s][MIN(i + 1, lengths[s] - 1)];
    }
  return t;
}

void
ra_tokens_free(RaTokens *tokens)
{
  if (!tokens)
    return;
  ra_ring_free(tokens->ring);
  g_free(tokens->begin);
  g_free(tokens->tokens);
  g_free(tokens->positions);
  g_free(tokens->targets);
  g_free(tokens);
}
