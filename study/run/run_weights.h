/* Checkpoints of a run: which models start from one, and which are saved
 * afterwards.
 *
 * Both are given as `MODEL=FOLDER`: a model of the workload and a folder in the
 * layout of Hugging Face (exec/weights/weights.h).
 *
 *     g_autoptr(RaRunWeights) from =
 *         ra_run_weights_new(workload, words, &error);
 *     options.weights = ra_run_weights_of_models(from);
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
 * @error: %RA_ERROR_INPUT: no such model, or a model twice; as
 *   ra_weights_open() and ra_weights_check()
 *
 * Returns: (transfer full): free with ra_run_weights_free()
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
 * Checks, before the run, that ra_run_weights_save() will know the models.
 */
gboolean ra_run_weights_check_names(const RaWorkload *workload,
                                    const char *const *words, GError **error);

/**
 * ra_run_weights_save:
 * @execution: has run
 * @words: (nullable): as above, checked
 * @error: %RA_ERROR_IO
 *
 * Writes the trained weights of each model, or its initial weights if nothing
 * trains it.
 */
gboolean ra_run_weights_save(const RaExecution *execution,
                             const char *const *words, GError **error);

#endif
