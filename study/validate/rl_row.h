/* Published RLHF iterations: the rows of rlhf_steps.
 *
 *     GArray *rows = ra_rl_rows(data, RA_RL_NEMO_RL, &error);
 *     const RaRlRow *row = &g_array_index(rows, RaRlRow, 0);
 *     setup = ra_rl_row_setup(row, &error);
 *
 * A source is one kind of file, found by its name's prefix, and one system;
 * `real_figure` contains four.  The source's convention (ra_rl_convention())
 * supplies what it omits.
 *
 * Typical sizes: 1 to 30 rows.
 */
#ifndef RA_STUDY_VALIDATE_RL_ROW_H
#define RA_STUDY_VALIDATE_RL_ROW_H

#include "study/validate/rl_step.h"

typedef enum {
  RA_RL_NEMO_RL,        /* nemo_rl_tables */
  RA_RL_NEMO_RL_PHASES, /* nemo_rl_phases: rows that its constants are fitted
                           on */
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
  guint line;         /* line in it, from 1 */
  RaRlStep step;      /* texts interned */
  RaRlLayout layout;  /* layout, for NeMo-RL's rows */
  double measured_s;  /* of an iteration, > 0 */
  double generate_s;  /* of the phase; 0: not published */
  double inference_s; /* likewise */
  double train_s;     /* likewise */
  double move_s;      /* likewise */
  double repeat_s;    /* second measurement of the same iteration; 0: none */
} RaRlRow;

/**
 * ra_rl_rows:
 * @data: folder of measurements, with rlhf_steps
 * @error: %RA_ERROR_INPUT `file:line: ...`: a missing column, a field that is
 *   no number
 *
 * Reads the rows that ran.  No rows if the folder has none, which is no error.
 *
 * Returns: (transfer full) (element-type RaRlRow)
 */
GArray *ra_rl_rows(const char *data, RaRlSource source, GError **error);

/* The shipped system of @source, "nemo-rl"; NULL: none. */
const char *ra_rl_system(RaRlSource source);

/* Assumptions where @source gives no value, one sentence. */
const char *ra_rl_convention(RaRlSource source);

/* Name of a row (transfer full): "llama-3.1-8B on 16 h100, 1019 of 4096
 * tokens". */
char *ra_rl_row_name(const RaRlRow *row);

/**
 * ra_rl_row_setup:
 * @error: %RA_ERROR_INPUT or %RA_ERROR_NEGATIVE: the model or GPU of the row is
 *   unknown, or its plan cannot be made; the caller may skip the row
 *
 * Builds the setup, without a system, with the plan of the row or of its
 * source's convention.
 *
 * Returns: (transfer full): free with ra_setup_free()
 */
RaSetup *ra_rl_row_setup(const RaRlRow *row, GError **error);

#endif
