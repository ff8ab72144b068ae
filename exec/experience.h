/* Experience: the data of one iteration, from the calls that make them to
 * those that read them.
 *
 * A set (graph/expand/sequence.h) has a text, prompt and response, a sequence,
 * and what calls say of its responses: one number a response token, or one a
 * sequence.  A *column* is what one call made.  Response tokens of all
 * sequences are numbered through: those of sequence i are entries begin[i] to
 * begin[i + 1] - 1, in the order of prompts.
 *
 * Ranks of one process share an experience; the graph's edges say that a column
 * has been written before it is read.  A transfer makes a copy that its call
 * then reads, as it would on a machine of its own.
 */
#ifndef RA_EXEC_EXPERIENCE_H
#define RA_EXEC_EXPERIENCE_H

#include "base/arena.h"
#include "exec/model/tokens.h"
#include "graph/expand/sequence.h"

typedef enum {
  RA_COLUMN_TEXT,     /* uint32 tokens: text of each sequence */
  RA_COLUMN_LOG_PROB, /* of response tokens: generation's, or a model's */
  RA_COLUMN_VALUE,    /* of the state before each response token */
  RA_COLUMN_REWARD    /* of each sequence */
} RaColumnKind;

typedef struct {
  uint8_t kind;     /* RaColumnKind */
  uint32_t call;    /* that made it */
  gsize n;          /* elements */
  float *values;    /* (n) of whoever made it, arena; NULL: a text */
  uint32_t *tokens; /* (n) a text; else NULL */
} RaColumn;

/* One sequence set. */
typedef struct {
  uint32_t set;              /* call that makes or owns it */
  const RaSequenceSet *seqs; /* lengths, arena */
  uint32_t *text_begin;      /* (n_sequences + 1) into a text, arena */
  uint32_t *begin;           /* (n_sequences + 1) into what has one entry a
                                response token, arena */
} RaExperienceSet;

typedef struct {
  RaArena *arena;        /* owns all below */
  const RaPlan *plan;    /* borrowed */
  RaExperienceSet *sets; /* (n_calls) by set; seqs NULL: no set of that call */
  RaColumn *columns;     /* (2 n_calls) by call: a text or nothing, numbers or
                            nothing */
  RaColumn *copies;      /* (2 n_calls, n_calls) by producer, then reader */
} RaExperience;

/**
 * ra_experience_new:
 * @plan: borrowed
 * @iteration: of the run
 * @seed: of the lengths: the graph's
 *
 * Prompts are written: those of the workload's data, else uniform tokens of
 * (seed, iteration, prompt, place).  A set that no call generates has whole
 * texts, likewise.
 *
 * Returns: (transfer full): ra_experience_free() it
 */
RaExperience *ra_experience_new(const RaPlan *plan, uint32_t iteration,
                                uint64_t seed);
void ra_experience_free(RaExperience *experience);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExperience, ra_experience_free)

/* What @producer made of @is_text or numbers, as @reader has it; @reader
 * RA_NONE: as it was made.  %NULL: it makes none. */
const RaColumn *ra_experience_column(const RaExperience *experience,
                                     uint32_t producer, gboolean is_text,
                                     uint32_t reader);

/**
 * ra_experience_transfer:
 * @first: of the sequences, in order of arrival
 * @last: one past the last
 *
 * Copies what @producer made of these sequences to what @reader has of it.
 */
void ra_experience_transfer(RaExperience *experience, uint32_t producer,
                            uint32_t reader, uint32_t first, uint32_t last);

/* (transfer full): whole texts of sequences @first to @last - 1 in order of
 * arrival, of @reader's set; @prompts: only those, in order of prompts. */
RaTokens *ra_experience_tokens(const RaExperience *experience, uint32_t reader,
                               uint32_t first, uint32_t last, gboolean prompts);

/* The call that made the texts of the set of @call. */
uint32_t ra_experience_set(const RaExperience *experience, uint32_t call);

#endif
