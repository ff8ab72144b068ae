/* Numbers in texts for people: cells and notes of published steps.
 *
 *     ra_phrase_number("8 GPUs generate; 8 train", "([0-9]+) train", &n) -> 8
 *     ra_phrase_micro("dynamic 20k tokens/GPU train; 30k logprob", &micro)
 *       -> 20,480 tokens, 30,720 for log-probabilities
 */
#ifndef RA_STUDY_VALIDATE_STEP_TEXT_H
#define RA_STUDY_VALIDATE_STEP_TEXT_H

#include "graph/input/workload.h"

/* Micro-batches, in tokens or in sequences; 0: not said. */
typedef struct {
  uint32_t tokens, logprob_tokens; /* of a GPU */
  uint32_t sequences, logprob_sequences;
  gboolean global; /* sequences of all replicas together */
} RaStepMicro;

/* The number that is the first group of @pattern (a Perl regular expression,
 * any case) in @text.  `2048+20480` is a sum, `x*2` a product, `20k` 1024
 * each.  FALSE: there is none. */
gboolean ra_phrase_number(const char *text, const char *pattern,
                          double *out_value);

RaStepMicro ra_phrase_micro(const char *text);

/* Drafts of a pass, where a text says both how many and how many are accepted;
 * untouched where not. */
void ra_phrase_drafts(const char *notes, RaDrafts *out_drafts);

/* GPUs that train and GPUs that generate, of two cells; FALSE: neither says
 * so. */
gboolean ra_phrase_split(const char *placement, const char *notes,
                         uint32_t *out_train, uint32_t *out_generate);

#endif
