/* Private parts of recipes, shared by study/convert/recipe*.c. */
#ifndef RA_STUDY_CONVERT_RECIPE_IMPL_H
#define RA_STUDY_CONVERT_RECIPE_IMPL_H

#include "study/convert/recipe.h"

#define RA_RECIPE_COUNT_MAX 1000000 /* of prompts, tokens, GPUs */

/* Readers: fill @recipe, whose calls are all zero except for degrees of 1. */
gboolean ra_recipe_read_verl(RaRecipe *recipe, RaSettings *settings,
                             GError **error);
gboolean ra_recipe_read_openrlhf(RaRecipe *recipe, RaSettings *settings,
                                 GError **error);
gboolean ra_recipe_read_nemo_rl(RaRecipe *recipe, RaSettings *settings,
                                GError **error);
gboolean ra_recipe_read_realhf(RaRecipe *recipe, RaSettings *settings,
                               GError **error);

/* Adds an assumption. */
void ra_recipe_note(RaRecipe *recipe, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Reads a count, from 1 to RA_RECIPE_COUNT_MAX. */
gboolean ra_recipe_count(RaSettings *settings, const char *key,
                         uint32_t fallback, uint32_t *out, GError **error);

/* Copies the text of @key, or @fallback (nullable) if it is not set. */
void ra_recipe_text(RaSettings *settings, const char *key, const char *fallback,
                    char **out);

/* Reads the adapters of @model: the rank from key @rank, 0 if it is not set;
 * the targets from key @targets, `all-linear` or a list of modules as in peft.
 */
gboolean ra_recipe_lora(RaRecipe *recipe, RaSettings *settings,
                        RaRecipeModel model, const char *rank,
                        const char *targets, GError **error);

/* Number of sequences of a replica of @call of kind @kind in one mini-batch. */
uint32_t ra_recipe_share(const RaRecipe *recipe, RaRecipeKind kind);

/* Names of the plan's calls, `actor_train` ...; and the model of a call. */
extern const char *const ra_recipe_call_names[];
RaRecipeModel ra_recipe_model_of(RaRecipeKind kind);

#endif
