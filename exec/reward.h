/* Rewards by a rule, for tasks that need no reward model.
 *
 * A rule looks at a prompt and its response and gives a number in [0, 1]; a
 * random policy gets its chance on average.
 */
#ifndef RA_EXEC_REWARD_H
#define RA_EXEC_REWARD_H

#include <glib.h>
#include <stdint.h>

/**
 * RaRewardFunc:
 * @prompt: (array length=n_prompt): tokens, n_prompt >= 1
 * @response: (array length=n_response): tokens, n_response >= 1
 * @vocab: of the model
 *
 * Returns: in [0, 1]
 */
typedef double (*RaRewardFunc)(const uint32_t *prompt, uint32_t n_prompt,
                               const uint32_t *response, uint32_t n_response,
                               uint32_t vocab);

/* "even": the share of a response's tokens whose number is even; chance 1/2.
 *
 * Returns: (nullable): the rule named @name */
RaRewardFunc ra_reward_find(const char *name);

/* "even": for messages, static. */
const char *ra_reward_names(void);

#endif
