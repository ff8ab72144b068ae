/* Published RL steps: the rows of rl_steps, one measured configuration each.
 *
 *     GArray *rows = ra_published_rows(data, &error);
 *     const RaStepRow *row = &g_array_index(rows, RaStepRow, 0);
 *     g_autoptr(RaSetup) setup = ra_published_setup(row, NULL, &error);
 *
 * Files are rl_steps/rl_steps*.csv of the data.  A row has what a person
 * knows of a run: framework, model, GPUs, layout, batch, lengths, and what its
 * log measured.  Cells and notes are texts for people; the parser reads what
 * their wording has in common (study/validate/step_text.h).
 *
 * Typical sizes: 300 rows.
 */
#ifndef RA_STUDY_VALIDATE_STEP_ROW_H
#define RA_STUDY_VALIDATE_STEP_ROW_H

#include "study/run/step_times.h"

/* Columns, in the order of fields. */
typedef enum {
  RA_STEP_CELL_SOURCE,
  RA_STEP_CELL_PROVENANCE,
  RA_STEP_CELL_FRAMEWORK,
  RA_STEP_CELL_VERSION,
  RA_STEP_CELL_ALGORITHM,
  RA_STEP_CELL_MODEL,
  RA_STEP_CELL_CRITIC,
  RA_STEP_CELL_GPU,
  RA_STEP_CELL_BACKEND,
  RA_STEP_CELL_CP,
  RA_STEP_CELL_SHARDS,
  RA_STEP_CELL_ENGINE,
  RA_STEP_CELL_PLACEMENT,
  RA_STEP_CELL_MICRO,
  RA_STEP_CELL_PADDING,
  RA_STEP_CELL_RECOMPUTE,
  RA_STEP_CELL_PARAM_OFFLOAD,
  RA_STEP_CELL_OPTIMIZER_OFFLOAD,
  RA_STEP_CELL_COMPLETENESS,
  RA_STEP_CELL_NOTES,
  RA_N_STEP_CELLS
} RaStepCell;

typedef struct {
  const char *file;                  /* interned: path */
  guint line;                        /* there, from 1 */
  const char *cell[RA_N_STEP_CELLS]; /* interned; "": not published */
  uint32_t n_gpus, n_prompts, n_samples;
  double prompt_mean, prompt_max;     /* tokens; 0: not published */
  double response_mean, response_max; /* likewise */
  uint32_t tp, pp, ep;                /* of training; 0: not published */
  uint32_t rollout_tp, rollout_dp;    /* likewise */
  double memory_frac;                 /* of engines; 0: not published */
  uint32_t mini_batch; /* in the framework's unit; 0: not published */
  double total_tokens; /* of the step; 0: not published */
  RaStepTimes measured;
} RaStepRow;

/**
 * ra_published_rows:
 * @data: folder of measurements
 * @error: %RA_ERROR_INPUT `file:line: ...`: a missing column, a field that is
 *   no number
 *
 * Returns: (transfer full) (element-type RaStepRow): no row if the folder has
 * none
 */
GArray *ra_published_rows(const char *data, GError **error);

/* Name of a row (transfer full): "nemo_rl_perf_v0.5:12 Qwen3-32B on 32
 * H100-80GB". */
char *ra_published_name(const RaStepRow *row);

/* TRUE if the cell contains @text, in any case. */
gboolean ra_published_says(const RaStepRow *row, RaStepCell cell,
                           const char *text);

/* TRUE if the row's version, a date or a number, begins like one of @begins,
 * which %NULL ends. */
gboolean ra_published_is_release(const RaStepRow *row,
                                 const char *const *begins);

/* TRUE if generation has GPUs of its own and does not wait for training. */
gboolean ra_published_lags(const RaStepRow *row);

/* (nullable) (transfer none): profile of the row's GPUs, "h100-sxm", with the
 * reason in @error if there is none. */
const char *ra_published_gpu(const RaStepRow *row, GError **error);

/* Bytes/s of the row's GPUs to peers of the node, one direction, where that is
 * not its profile's; else 0. */
double ra_published_link(const RaStepRow *row);

/* (nullable) (transfer none): the system of the row's release, where @name
 * (nullable) is that of today's.  verl's engine is vLLM's first (V0) before
 * 2025-05 (0.4), and where graphs are off until 2025-08: its
 * docs/README_vllm0.8.md of 2025-05 has graphs and the V1 engine by one
 * setting, enforce_eager=False. */
const char *ra_published_system(const RaStepRow *row, const char *name);

/* TRUE if the GPUs are NVIDIA's and of one kind with a profile. */
gboolean ra_published_has_profile(const RaStepRow *row);

/* Moves what the row's log has no phase of into the one that it counts it in:
 * the way of the weights into generation; NeMo-RL has the reference's
 * log-probabilities in the policy's ("get logprobs"). */
void ra_published_fold(const RaStepRow *row, RaStepTimes *times);

/**
 * ra_published_setup:
 * @system: (nullable): constants in place of the framework's
 * @error: %RA_ERROR_INPUT: what of the row is unknown here
 *
 * Makes workload, cluster and plan by `import`'s own code (RaRecipe of
 * study/convert/recipe.h), with the lengths of the row.
 *
 * Returns: (transfer full): free with ra_setup_free()
 */
RaSetup *ra_published_setup(const RaStepRow *row,
                            const RaSystemConstants *system, GError **error);

#endif
