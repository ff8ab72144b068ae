/* Experience: the data of one iteration, from the calls that make them to the
 * calls that read them.
 *
 * A set (graph/expand/sequence.h) has a text (prompt and response) per
 * sequence, and what calls compute for its responses: one number per response
 * token, or one per sequence.  A *column* is the output of one call.  Response
 * tokens are numbered over all sequences: those of sequence i are entries
 * begin[i] to begin[i + 1] - 1, in the order of prompts.
 *
 * The ranks of one process share an experience; the graph's edges guarantee
 * that a column is written before it is read.  A transfer makes a copy that its
 * call then reads, as it would on a machine of its own.
 */
#ifndef RA_EXEC_EXPERIENCE_H
#define RA_EXEC_EXPERIENCE_H

#include "base/arena.h"
#include "exec/model/tokens.h"
#include "graph/expand/sequence.h"

typedef enum {
  RA_COLUMN_TEXT,     /* uint32 tokens: text of each sequence */
  RA_COLUMN_LOG_PROB, /* per response token: generation's, or a model's */
  RA_COLUMN_VALUE,    /* value of the state before each response token */
  RA_COLUMN_REWARD    /* per sequence */
} RaColumnKind;

typedef struct {
  uint8_t kind;     /* RaColumnKind */
  uint32_t call;    /* call that made it */
  gsize n;          /* elements */
  float *values;    /* (n) of the column's call, arena; NULL: a text */
  uint32_t *tokens; /* (n) a text, arena; else NULL */
} RaColumn;

/* One sequence set. */
typedef struct {
  uint32_t set;              /* call that makes or owns it */
  const RaSequenceSet *seqs; /* lengths, arena */
  uint32_t *text_begin;      /* (n_sequences + 1) offsets into a text, arena */
  uint32_t *begin;           /* (n_sequences + 1) offsets into columns with one
                                entry per response token, arena */
} RaExperienceSet;

/* The order in which a call takes the sequences of its set, one micro-batch
 * after the other: those of (piece, replica, micro-batch) begin at the
 * (piece dp + replica) m + micro-batch-th of begin. */
typedef struct {
  const uint32_t *sequences; /* (n_sequences) arena */
  const uint32_t *begin;     /* (pieces dp m + 1) arena; NULL: m even parts of
                                each replica's */
} RaCallOrder;

typedef struct {
  RaArena *arena;        /* owns everything below */
  const RaPlan *plan;    /* borrowed */
  RaExperienceSet *sets; /* (n_calls) by set; seqs NULL: the call has no set */
  RaCallOrder *orders;   /* (n_calls); of generation in order of prompts */
  RaColumn *columns;     /* (2 n_calls) by call: a text or nothing, then numbers
                            or nothing */
  RaColumn *copies;      /* (2 n_calls, n_calls) by producer, then by reader */
} RaExperience;

/**
 * ra_experience_new:
 * @plan: borrowed
 * @iteration: iteration of the run
 * @seed: seed of the lengths: the graph's
 *
 * Writes the prompts: those of the workload's data, or else uniform tokens that
 * depend on (seed, iteration, prompt, position).  A set that no call generates
 * gets whole texts in the same way.
 *
 * Returns: (transfer full): free with ra_experience_free()
 */
RaExperience *ra_experience_new(const RaPlan *plan, uint32_t iteration,
                                uint64_t seed);
void ra_experience_free(RaExperience *experience);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExperience, ra_experience_free)

/* The column of @producer, its text or its numbers by @is_text, as @reader has
 * it; @reader RA_NONE: the original.  %NULL: it makes none. */
const RaColumn *ra_experience_column(const RaExperience *experience,
                                     uint32_t producer, gboolean is_text,
                                     uint32_t reader);

/**
 * ra_experience_transfer:
 * @first: first of the sequences, in order of arrival
 * @last: one past the last
 *
 * Copies these sequences of @producer's columns to @reader's copies.
 */
void ra_experience_transfer(RaExperience *experience, uint32_t producer,
                            uint32_t reader, uint32_t first, uint32_t last);

/* (transfer full): whole texts of sequences @first to @last - 1, in the order
 * in which @reader takes them; @prompts: only the prompts. */
RaTokens *ra_experience_tokens(const RaExperience *experience, uint32_t reader,
                               uint32_t first, uint32_t last, gboolean prompts);

#endif
