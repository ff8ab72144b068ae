/* Which models of a run begin with a checkpoint, and which are written after.
 *
 * Both are said as `MODEL=FOLDER`, a model of the workload and a folder as
 * Hugging Face lays it out (exec/weights/weights.h).
 *
 *     g_autoptr(RaRunWeights) from = ra_run_weights_new(workload, words,
 * &error); options.weights = ra_run_weights_of_models(from);
 */
#ifndef RA_STUDY_RUN_RUN_WEIGHTS_H
#define RA_STUDY_RUN_RUN_WEIGHTS_H

#include "exec/weights/weights.h"
#include "study/run/execute.h"

typedef struct _RaRunWeights RaRunWeights;

/**
 * ra_run_weights_new:
 * @workload: borrowed
 * @words: (nullable) (array zero-terminated=1): `MODEL=FOLDER`, each model at
 *   most once
 * @error: %RA_ERROR_INPUT: no such model, one that is said twice; as
 *   ra_weights_open() and ra_weights_check()
 *
 * Returns: (transfer full): ra_run_weights_free() it
 */
RaRunWeights *ra_run_weights_new(const RaWorkload *workload,
                                 const char *const *words, GError **error);
void ra_run_weights_free(RaRunWeights *weights);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRunWeights, ra_run_weights_free)

/* (nullable) (transfer none) (array): for RaRunOptions.weights; %NULL: none. */
const RaWeights *const *ra_run_weights_of_models(const RaRunWeights *weights);

/**
 * ra_run_weights_check_names:
 * @words: as above
 * @error: %RA_ERROR_INPUT, as ra_run_weights_new()
 *
 * Whether ra_run_weights_save() will know the models: to ask before the run.
 */
gboolean ra_run_weights_check_names(const RaWorkload *workload,
                                    const char *const *words, GError **error);

/**
 * ra_run_weights_save:
 * @execution: that has run
 * @words: (nullable): as above, checked
 * @error: %RA_ERROR_IO
 *
 * Writes what each model has been trained to; of a model that nothing trains
 * what it began with.
 */
gboolean ra_run_weights_save(const RaExecution *execution,
                             const char *const *words, GError **error);

#endif
