/* Length of responses where a configuration has their maximum alone.
 *
 *     mean = ra_recipe_response_mean("Qwen/Qwen3-8B", 8192);     5,243 tokens
 *     mean = ra_recipe_response_mean("Qwen/Qwen2.5-7B", 8192);   1,012 tokens
 */
#ifndef RA_STUDY_CONVERT_RESPONSE_LENGTH_H
#define RA_STUDY_CONVERT_RESPONSE_LENGTH_H

#include <glib.h>

/**
 * ra_recipe_thinks:
 * @name: (nullable): an identifier, or a path that has one in it
 *
 * Returns: %TRUE if the model is published as one that thinks before it
 * answers, unless told not to
 */
gboolean ra_recipe_thinks(const char *name);

/**
 * ra_recipe_response_mean:
 * @name: (nullable): the model that answers
 * @most_tokens: the longest response
 *
 * Mean length of responses, as published runs have it that tell both:
 *
 *     0.64 most                             models that think: to the limit
 *     262 (most / 1024)^0.65, at most that  others: by their task
 *
 * Half of the runs are within a factor of 1.5 and 1.7, 9 of 10 within 3.8 and
 * 2.4 (`reallot validate --level=rl-lengths`).
 *
 * Returns: tokens, > 0 if @most_tokens is
 */
double ra_recipe_response_mean(const char *name, double most_tokens);

#endif
