/* Names of models in other frameworks' configurations.
 *
 *     ra_model_name_config("meta-llama/Llama-3.1-8B-Instruct")
 *       -> "llama-3-8b.json"
 */
#ifndef RA_STUDY_CONVERT_MODEL_NAME_H
#define RA_STUDY_CONVERT_MODEL_NAME_H

/* Shipped config of the model that a framework calls @name (transfer full)
 * (nullable). */
char *ra_model_name_config(const char *name);

#endif
