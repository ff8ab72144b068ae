/* Names of models in other frameworks' configurations, and what a workload's
 * `config` key says instead.
 *
 *     ra_model_name_config("/m/Qwen/Qwen3-8B/", "run.sh", notes, &error)
 *       -> "Qwen/Qwen3-8B", or "/m/Qwen/Qwen3-8B/config.json" if that is there
 *     ra_model_name_published("llama-3-8b.json")
 *       -> "meta-llama/Meta-Llama-3-8B"
 */
#ifndef RA_STUDY_CONVERT_MODEL_NAME_H
#define RA_STUDY_CONVERT_MODEL_NAME_H

#include <glib.h>

/**
 * ra_model_name_config:
 * @name: as the framework has it: an identifier, a path or a config file
 * @script: (nullable): the configuration's file, to whose folder paths relate
 * @notes: (nullable) (element-type utf8): what the shape leaves out is added
 * @error: %RA_ERROR_INPUT: nothing has this name, with the nearest names; or a
 *   config.json that cannot be read
 *
 * Finds the model by ra_model_find().  A workload in any folder finds the same
 * one by the text that is returned.
 *
 * Returns: (transfer full)
 */
char *ra_model_name_config(const char *name, const char *script,
                           GPtrArray *notes, GError **error);

/**
 * ra_model_name_mentioned:
 * @text: a path, or the name of a file
 *
 * Finds the longest name of a published model, without its organisation, whose
 * words stand in @text one behind the other, whatever is between words:
 * `grpo_qwen3_30ba3b_swe2.yaml` has Qwen3-30B-A3B, and so has `Qwen3-30B`, as
 * the size of the active parameters may be left out.  A name of one word,
 * `gpt2`, must be a whole folder.
 *
 * Returns: (transfer full) (nullable)
 */
char *ra_model_name_mentioned(const char *text);

/* Published model of a shape (transfer full) (nullable), the first of several:
 * layers, width, inner width of a dense MLP and experts, 0 for none. */
char *ra_model_name_of_shape(guint32 n_layers, guint32 hidden, guint32 ffn,
                             guint32 n_experts);

/* Identifier under which a config is published (transfer full): @config itself
 * if no row of the table has that file. */
char *ra_model_name_published(const char *config);

#endif
