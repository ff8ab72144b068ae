/* A served model's measured steps: tables of one layer on one GPU.
 *
 * Read from a folder with dense.csv (layer, tokens, time_us: products, norms
 * and so on of one layer, of the embedding and of the last norm), attention.csv
 * (prefill_chunk, kv_prefill, n_decode, kv_decode, time_us: one chunk of a
 * prompt with kv_prefill tokens before it, beside n_decode sequences with
 * kv_decode tokens each) and per_sequence.csv (layer, sequences, time_us: head
 * and sampler).  A model with experts has moe.csv too (tokens,
 * activated_experts, time_us: router and experts of one layer).  Each may be in
 * several files whose names begin so (dense_heldout.csv).  Between the
 * measured sizes times are powers of the sizes.
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
 * @folder: with the three files, or all four
 * @error: %RA_ERROR_IO, %RA_ERROR_INPUT `file:line: ...`: a file is missing, a
 *   field that is no number, a table without rows
 *
 * Returns: (transfer full): ra_serving_table_free() it
 */
RaServingTable *ra_serving_table_load(const char *folder, GError **error);
void ra_serving_table_free(RaServingTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaServingTable, ra_serving_table_free)

/**
 * ra_serving_step_s:
 * @model: whose layers they are; a layer has two of the norms called
 *   layernorm, one with experts meets as many as its tokens do on average where
 *   they choose evenly
 * @step: its first step
 *
 * Chunks of several prompts count as one of as many tokens and, as nearly as
 * that can be, as many pairs of query and key; sequences that decode as if they
 * all had their mean number of tokens.
 *
 * Returns: seconds of the kernels
 */
double ra_serving_step_s(const RaServingTable *table, const RaModel *model,
                         const RaBatchStretch *step);

/* Whether there is a table of experts. */
gboolean ra_serving_table_has_experts(const RaServingTable *table);

#endif
