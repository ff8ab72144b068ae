/* A trainer's log: what a run's steps took, by phase.
 *
 *     g_autoptr(RaStepLog) log = ra_step_log_load("train.log", &error);
 *     for (guint i = 0; i < log->steps->len; i++)
 *       use(g_array_index(log->steps, RaLogStep, i).times.s[RA_STEP_UPDATE]);
 *
 * A record is one step: a console line of verl (`step:12 - timing_s/gen:4.1 -
 * ...`), a line of JSON or of a Python dictionary (W&B's history, slime,
 * OpenRLHF, SkyRL), a line of a CSV file with a head (W&B's export), or what
 * NeMo-RL prints below `Step 12/500`.  Records of one step are one record.
 * Names are those of the frameworks' sources (study/run/step_log.c has them).
 *
 * Whole records are read; what is cut, coloured, not a number, out of order or
 * of an earlier run in the same file is left out, and `notes` say so.
 *
 * Typical sizes: 10^2 to 10^4 steps, 10 MB.
 */
#ifndef RA_STUDY_RUN_STEP_LOG_H
#define RA_STUDY_RUN_STEP_LOG_H

#include "base/table.h"
#include "study/run/step_times.h"

#define RA_STEP_LOG_BYTES_MAX (256u << 20)
#define RA_STEP_LOG_STEPS_MAX 1000000

typedef struct {
  uint64_t step;      /* as numbered in the log */
  guint line;         /* of its first record, from 1 */
  double prompt_mean; /* tokens; NAN: the log has none, as below */
  double response_mean, response_max; /* tokens */
  double clip_frac;                   /* of responses cut at the limit */
  double tokens;                      /* of the step, prompts and responses */
  double tokens_per_s;                /* of a GPU */
  double peak_bytes;                  /* of a GPU, reserved */
  RaStepTimes times; /* seconds; 0: the log has no such phase */
} RaLogStep;

typedef struct {
  char *path;       /* owned */
  GArray *steps;    /* (RaLogStep) ascending, owned */
  GPtrArray *notes; /* (char *) what was left out, owned */
} RaStepLog;

/**
 * ra_step_log_load:
 * @path: file
 * @error: %RA_ERROR_IO: cannot be read; %RA_ERROR_INPUT `path: ...`: larger
 *   than RA_STEP_LOG_BYTES_MAX, or no step in it
 *
 * Returns: (transfer full): free with ra_step_log_free()
 */
RaStepLog *ra_step_log_load(const char *path, GError **error);

/* As ra_step_log_load(), from the @n_bytes of @text, which need not end with a
 * null byte. */
RaStepLog *ra_step_log_parse(const char *path, const char *text, gsize n_bytes,
                             GError **error);
void ra_step_log_free(RaStepLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaStepLog, ra_step_log_free)

/* (transfer full): a row a step. */
RaTable *ra_step_log_table(const RaStepLog *log);

/* Median over steps @first to @last - 1 (indices) of the field at @offset of an
 * RaLogStep, a double; of those that are there and above 0.  NAN: none is. */
double ra_step_log_median(const RaStepLog *log, guint first, guint last,
                          gsize offset);

#endif
