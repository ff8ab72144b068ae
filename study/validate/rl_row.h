/* Published iterations of RLHF: the rows of rlhf_steps.
 *
 *     GArray *rows = ra_rl_rows(data, RA_RL_NEMO_RL, &error);
 *     const RaRlRow *row = &g_array_index(rows, RaRlRow, 0);
 *     setup = ra_rl_row_setup(row, &error);
 *
 * A source is one kind of file, found by the begin of its name, and one system;
 * `real_figure` is one of four.  What a source leaves open is filled with its
 * convention (ra_rl_convention()).
 *
 * Typical sizes: 1 to 30 rows.
 */
#ifndef RA_STUDY_VALIDATE_RL_ROW_H
#define RA_STUDY_VALIDATE_RL_ROW_H

#include "study/validate/rl_step.h"

typedef enum {
  RA_RL_NEMO_RL,        /* nemo_rl_tables */
  RA_RL_NEMO_RL_PHASES, /* nemo_rl_phases: what its constants are fitted on */
  RA_RL_NEMO_ALIGNER,   /* nemo_aligner */
  RA_RL_DEEPSPEED_CHAT, /* real_figure */
  RA_RL_OPENRLHF,       /* real_figure */
  RA_RL_REAL_HEURISTIC, /* real_figure */
  RA_RL_REAL,           /* real_figure */
  RA_N_RL_SOURCES
} RaRlSource;

typedef struct {
  RaRlSource source;
  const char *file;   /* interned: path */
  guint line;         /* there, from 1 */
  RaRlStep step;      /* texts interned */
  RaRlLayout layout;  /* of NeMo-RL's rows */
  double measured_s;  /* an iteration, > 0 */
  double generate_s;  /* of phases; 0: not published */
  double inference_s; /* the same */
  double train_s;     /* the same */
  double move_s;      /* the same */
  double repeat_s;    /* the same iteration measured again; 0: it was not */
} RaRlRow;

/**
 * ra_rl_rows:
 * @data: folder of measurements, with rlhf_steps
 * @error: %RA_ERROR_INPUT `file:line: ...`: a column that is missing, a field
 *   that is no number
 *
 * Rows that ran; none where the folder has none, which is no error.
 *
 * Returns: (transfer full) (element-type RaRlRow)
 */
GArray *ra_rl_rows(const char *data, RaRlSource source, GError **error);

/* The shipped system of @source, "nemo-rl"; NULL: none. */
const char *ra_rl_system(RaRlSource source);

/* What stands for that which @source leaves open, one sentence. */
const char *ra_rl_convention(RaRlSource source);

/* (transfer full): "llama-3.1-8B on 16 h100, 1019 of 4096 tokens". */
char *ra_rl_row_name(const RaRlRow *row);

/**
 * ra_rl_row_setup:
 * @error: %RA_ERROR_INPUT or %RA_ERROR_NEGATIVE: the row names a model or GPU
 *   that is not known, or its plan cannot be made: the caller may leave it out
 *
 * With the plan that the row gives or its source's convention, without a
 * system.
 *
 * Returns: (transfer full): ra_setup_free() it
 */
RaSetup *ra_rl_row_setup(const RaRlRow *row, GError **error);

#endif
