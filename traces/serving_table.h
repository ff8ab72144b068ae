/* Measured steps of a served model: tables of one layer on one GPU.
 *
 * A folder has these files:
 *
 *     dense.csv         layer, tokens, time_us: GEMMs, norms and so on of one
 *                       layer, the embedding and the last norm
 *     attention.csv     prefill_chunk, kv_prefill, n_decode, kv_decode,
 *                       time_us: one chunk of a prompt with kv_prefill tokens
 *                       before it, together with n_decode sequences of
 *                       kv_decode tokens
 *     per_sequence.csv  layer, sequences, time_us: head and sampler
 *     moe.csv           tokens, activated_experts, time_us: router and experts
 *                       of one layer, for a model with experts
 *
 * Each may be split into several files with the same start of the name
 * (dense_heldout.csv).  Between the measured sizes, times are powers of the
 * sizes.
 *
 *     RaServingTable *t = ra_serving_table_load(folder, &error);
 *     double s = ra_serving_step_s(t, model, &step);
 *
 * Typical sizes: 7,000 rows.
 */
#ifndef RA_TRACES_SERVING_TABLE_H
#define RA_TRACES_SERVING_TABLE_H

#include <glib.h>

#include "graph/input/model.h"
#include "graph/rollout/batcher.h"

typedef struct _RaServingTable RaServingTable;

/**
 * ra_serving_table_load:
 * @folder: folder with the first three files, or all four
 * @error: %RA_ERROR_IO, %RA_ERROR_INPUT `file:line: ...`: a missing file, a
 *   field that is not a number, a table without rows
 *
 * Returns: (transfer full): ra_serving_table_free() it
 */
RaServingTable *ra_serving_table_load(const char *folder, GError **error);
void ra_serving_table_free(RaServingTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaServingTable, ra_serving_table_free)

/**
 * ra_serving_step_s:
 * @model: model of the layers.  A layer has two of the norms called layernorm.
 *   A layer with experts activates the mean number of experts for its tokens if
 *   they choose evenly.
 * @step: the stretch whose first step is meant
 *
 * Chunks of several prompts count as one chunk with as many tokens and, as
 * nearly as possible, as many pairs of query and key.  Decoding sequences count
 * as if they all had their mean number of tokens.
 *
 * Returns: seconds of the kernels
 */
double ra_serving_step_s(const RaServingTable *table, const RaModel *model,
                         const RaBatchStretch *step);

/* TRUE if there is a table of experts. */
gboolean ra_serving_table_has_experts(const RaServingTable *table);

#endif
