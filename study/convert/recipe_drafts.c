/* Speculative decoding of a recipe's engines. */
#include "config.h"

#include <string.h>

#include "study/convert/recipe_impl.h"

/* Share of drafts that is accepted, which no configuration says.  MEASURED: 3
 * tokens by the MTP layer of Qwen3.5-9B, DAPO (SkyRL, pull request 1832;
 * rl_steps.csv, skyrl_specdec: 3.32 tokens a pass = 1 + 3 x 0.773). */
#define ACCEPTED_FRAC 0.773

/* TRUE if @method guesses by what stands there already. */
static gboolean
is_lookup(const char *method)
{
  static const char *const words[] = {"ngram", "suffix", "lookup"};
  g_autofree char *low = g_ascii_strdown(method ? method : "", -1);
  gboolean found = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    found = found || strstr(low, words[i]);
  return found;
}

void
ra_recipe_settle_drafts(RaRecipe *recipe)
{
  RaDrafts *drafts = &recipe->drafts;

  if (drafts->n_tokens == 0 || !recipe->calls[RA_RECIPE_GENERATE].is_there)
    return;
  if (is_lookup(recipe->draft_method)) {
    ra_recipe_note(recipe,
                   "drafts: none, as how many are accepted depends on the text "
                   "where they are looked up; set 'draft-tokens', "
                   "'draft-accepted' and 'draft' of [call actor_generate]");
    drafts->n_tokens = 0;
    return;
  }
  if (drafts->accepted_frac > 0)
    return;
  drafts->accepted_frac = ACCEPTED_FRAC;
  ra_recipe_note(recipe,
                 "drafts: %u a pass by one more layer, %.0f %% of them "
                 "accepted, as in a published run; set 'draft-accepted' of "
                 "[call actor_generate]",
                 drafts->n_tokens, 100 * drafts->accepted_frac);
}
