/* Length of responses where only their maximum is known. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "study/convert/response_length.h"

/* MEASURED: runs of rl_steps.csv with both a mean below the maximum and the
 * maximum, one a source, model and maximum: of 22 whose models think the median
 * part, of 24 others medians of slope and offset in logarithms (Theil, Sen).
 * `reallot validate DATA --level=rl-lengths` has them. */
#define THINKING_FRAC 0.64
#define OTHER_TOKENS 262.0 /* at a maximum of OTHER_MOST */
#define OTHER_MOST 1024.0
#define OTHER_POWER 0.65

/* Parts of names, in lower case; their makers' model cards say that they think
 * by default. */
static const char *const thinking[] = {
    "thinking",   "-r1",       "qwq",       "gpt-oss", "magistral",
    "seed-oss",   "qwen3",     "glm-4.5",   "glm-4.6", "glm-4.7",
    "glm-5",      "kimi-k2.5", "minimax-m", "v3.2",    "deepseek-v4",
    "nemotron-3", NULL};
/* Parts of names of their kin that do not. */
static const char *const answering[] = {"base", "instruct", "coder", NULL};

static gboolean
has_any(const char *text, const char *const *parts)
{
  gboolean found = FALSE;

  for (guint i = 0; parts[i]; i++)
    found = found || strstr(text, parts[i]);
  return found;
}

gboolean
ra_recipe_thinks(const char *name)
{
  g_autofree char *low = g_ascii_strdown(name ? name : "", -1);

  return strstr(low, "thinking") ||
         (has_any(low, thinking) && !has_any(low, answering));
}

double
ra_recipe_response_mean(const char *name, double most_tokens)
{
  double full = THINKING_FRAC * most_tokens;
  double task = OTHER_TOKENS * pow(most_tokens / OTHER_MOST, OTHER_POWER);

  return ra_recipe_thinks(name) ? full : MIN(task, full);
}
