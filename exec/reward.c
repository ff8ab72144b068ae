/* Rewards by a rule. */
#include "config.h"

#include <string.h>

#include "exec/reward.h"

static double
even(const uint32_t *prompt, uint32_t n_prompt, const uint32_t *response,
     uint32_t n_response, uint32_t vocab)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < n_response; i++)
    n += response[i] % 2 == 0;
  return (double)n / n_response;
}

static const struct {
  const char *name;
  RaRewardFunc func;
} rules[] = {{"even", even}};

RaRewardFunc
ra_reward_find(const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS(rules); i++)
    if (strcmp(rules[i].name, name) == 0)
      return rules[i].func;
  return NULL;
}

const char *
ra_reward_names(void)
{
  return "even";
}
