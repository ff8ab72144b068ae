/* Rewards by a rule, for runs that need no reward model.
 *
 * A rule maps a prompt and its response to a number in [0, 1].  A random policy
 * gets the rule's chance on average.
 */
#ifndef RA_EXEC_REWARD_H
#define RA_EXEC_REWARD_H

#include <glib.h>
#include <stdint.h>

/**
 * RaRewardFunc:
 * @prompt: (array length=n_prompt): tokens, n_prompt >= 1
 * @response: (array length=n_response): tokens, n_response >= 1
 * @vocab: vocabulary of the model
 *
 * Returns: reward in [0, 1]
 */
typedef double (*RaRewardFunc)(const uint32_t *prompt, uint32_t n_prompt,
                               const uint32_t *response, uint32_t n_response,
                               uint32_t vocab);

/* Finds a rule.  "even" is the fraction of the response's tokens whose number
 * is even; chance 1/2.
 *
 * Returns: (nullable): the rule named @name
 */
RaRewardFunc ra_reward_find(const char *name);

/* Names of all rules, "even", for messages; static. */
const char *ra_reward_names(void);

#endif
