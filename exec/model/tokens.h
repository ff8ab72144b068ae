/* Tokens: a micro-batch of ragged sequences, packed.
 *
 * Sequence s is tokens begin[s] to begin[s + 1] - 1, at positions 0, 1, ... .
 * The model's output for token t predicts the next one, targets[t].
 */
#ifndef RA_EXEC_MODEL_TOKENS_H
#define RA_EXEC_MODEL_TOKENS_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaRing RaRing;

typedef struct {
  uint32_t n_sequences;
  uint32_t n_tokens;   /* begin[n_sequences] */
  uint32_t *begin;     /* (n_sequences + 1) owned */
  uint32_t *tokens;    /* (n_tokens) owned */
  uint32_t *positions; /* (n_tokens) position in the sequence, owned */
  uint32_t *targets;   /* (n_tokens) the next token; for a sequence's last token
                          itself, which gets no gradient; owned */
  RaRing *ring;        /* ring that these tokens are a part of, owned
                          (exec/model/ring.h); NULL: whole sequences */
} RaTokens;

/**
 * ra_tokens_new:
 * @n_sequences: >= 0
 * @lengths: (array length=n_sequences): tokens of each, >= 1
 * @texts: (array length=n_sequences): tokens of each, copied
 *
 * Returns: (transfer full): free with ra_tokens_free()
 */
RaTokens *ra_tokens_new(uint32_t n_sequences, const uint32_t *lengths,
                        const uint32_t *const *texts);
void ra_tokens_free(RaTokens *tokens);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTokens, ra_tokens_free)

#endif
