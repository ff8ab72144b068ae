/* Models by name: what a `config` key, a flag or another framework's file
 * names becomes a model, in one place and without a network.
 *
 *     g_autoptr(RaModel) model =
 *         ra_model_find("Qwen/Qwen2.5-3B-Instruct", "my.workload", &error);
 */
#ifndef RA_GRAPH_INPUT_MODEL_FIND_H
#define RA_GRAPH_INPUT_MODEL_FIND_H

#include "graph/input/model_hub.h"

/**
 * ra_model_find:
 * @name: a file, a folder with a config.json, or a name on the Hugging Face hub
 * @relative_to: (nullable): a file whose folder is searched first
 * @error: %RA_ERROR_INPUT: nothing has this name, with the nearest names; or
 *   the reader's `path:line: ...`
 *
 * The first match of:
 *
 *     1. config.json in the folder @name; `~/` is the home folder
 *     2. the file @name, as ra_share_find() finds it in `models`
 *     3. a model in the Hugging Face cache ($HF_HUB_CACHE, $HF_HOME/hub, or
 *        huggingface/hub in the user's cache): @name is ORGANISATION/NAME
 *     4. a row of hub.tsv (graph/input/model_hub.h)
 *
 * A name that ends in `.json` is a file.  A model on this machine thus precedes
 * the table.
 *
 * Returns: (transfer full): the model with an lm head
 */
RaModel *ra_model_find(const char *name, const char *relative_to,
                       GError **error);

/* The config.json in folder @name (transfer full) (nullable): step 1. */
char *ra_model_folder(const char *name, const char *relative_to);

#endif
