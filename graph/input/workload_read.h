/* Reader of the groups of a workload file.
 *
 * It is private to graph/input/workload.c.  It fills a workload's laws, models
 * and calls from their own keys.  graph/input/dataflow.h fills what depends on
 * several groups: producers, order, sets, parts.
 *
 *     RaWorkloadKeys keys = {0};
 *     if (!ra_workload_read_groups(workload, &keys, &error))
 *       return NULL;
 */
#ifndef RA_GRAPH_INPUT_WORKLOAD_READ_H
#define RA_GRAPH_INPUT_WORKLOAD_READ_H

#include "graph/input/turns.h"
#include "graph/input/workload.h"

/* Keys of `[workload]`: defaults of the calls, and laws as text. */
typedef struct {
  const char *algorithm;       /* a label */
  const char *const *dataset;  /* NULL-terminated names */
  uint32_t prompts;            /* per iteration */
  uint32_t samples_per_prompt; /* of calls that own a set */
  const char *prompt_length;   /* law, as written */
  const char *response_length; /* law, as written */
  double response_correlation; /* within a prompt's group */
  const char *data;            /* file; NULL: not given */
  int data_tokens;             /* 1: bytes */
  uint32_t mini_batches;       /* of train calls, per epoch */
  uint32_t epochs;             /* of train calls */
  uint32_t staleness;          /* of generate calls of trained models */
  uint32_t trip_prompts;       /* 0: not given */
  double pass_rate;
  uint32_t max_trips;
  uint32_t images; /* of a prompt; 0: not given */
  uint32_t image_tokens;
  RaTurnKeys turns;
  guint group; /* in the key file, for messages */
} RaWorkloadKeys;

/**
 * ra_workload_read_groups:
 * @workload: has its file and texts; laws, models and calls are written, and
 *   must be freed also on error
 * @out_keys: (out): borrowed from the file
 * @error: %RA_ERROR_INPUT `file:line: ...`
 *
 * Cost: O(file), and the models' config files.
 *
 * Returns: %TRUE on success
 */
gboolean ra_workload_read_groups(RaWorkload *workload, RaWorkloadKeys *out_keys,
                                 GError **error);

/* Loads the data file that @keys name, if any; @error: %RA_ERROR_INPUT
 * `file:line: ...`. */
gboolean ra_workload_read_data(RaWorkload *workload, const RaWorkloadKeys *keys,
                               GError **error);

/**
 * ra_workload_check_data:
 * @workload: after ra_dataflow_batch()
 * @error: %RA_ERROR_INPUT `file:line: ...`: missing responses, texts longer
 *   than the distributions allow, tokens outside a model's vocabulary
 */
gboolean ra_workload_check_data(const RaWorkload *workload, guint group,
                                GError **error);

#endif
