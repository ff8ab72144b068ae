/* Recipes: whose they are, what is read of all of them, what is told. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/convert/recipe_impl.h"

static const RaRecipeReader *const readers[RA_N_FRAMEWORKS] = {
    [RA_FRAMEWORK_VERL] = &ra_recipe_reader_verl,
    [RA_FRAMEWORK_OPENRLHF] = &ra_recipe_reader_openrlhf,
    [RA_FRAMEWORK_NEMO_RL] = &ra_recipe_reader_nemo_rl,
    [RA_FRAMEWORK_REALHF] = &ra_recipe_reader_realhf,
    [RA_FRAMEWORK_SLIME] = &ra_recipe_reader_slime,
    [RA_FRAMEWORK_SKYRL] = &ra_recipe_reader_skyrl,
    [RA_FRAMEWORK_ROLL] = &ra_recipe_reader_roll,
    [RA_FRAMEWORK_AREAL] = &ra_recipe_reader_areal,
    [RA_FRAMEWORK_TRL] = &ra_recipe_reader_trl,
};
const char *const ra_framework_names[] = {
    "verl",  "openrlhf", "nemo-rl", "realhf", "slime",
    "skyrl", "roll",     "areal",   "trl",    NULL};
const char *const ra_recipe_models[] = {"actor", "critic", "ref", "reward",
                                        NULL};
const char *const ra_recipe_call_names[] = {
    "actor_generate",   "actor_inference", "ref_inference", "reward_inference",
    "critic_inference", "actor_train",     "critic_train"};

RaRecipeModel
ra_recipe_model_of(RaRecipeKind kind)
{
  static const RaRecipeModel models[RA_N_RECIPE_CALLS] = {
      RA_RECIPE_ACTOR,  RA_RECIPE_ACTOR, RA_RECIPE_REF,   RA_RECIPE_REWARD,
      RA_RECIPE_CRITIC, RA_RECIPE_ACTOR, RA_RECIPE_CRITIC};

  return models[kind];
}

RaFramework
ra_framework_guess(const RaSettings *settings)
{
  const char *entry = ra_settings_entry(settings);

  for (guint i = 0; i < RA_N_FRAMEWORKS; i++) {
    for (guint k = 0; k < G_N_ELEMENTS(readers[i]->prefixes); k++) {
      if (readers[i]->prefixes[k] &&
          ra_settings_has(settings, readers[i]->prefixes[k]))
        return (RaFramework)i;
    }
  }
  for (guint i = 0; i < RA_N_FRAMEWORKS; i++) {
    for (guint k = 0; k < G_N_ELEMENTS(readers[i]->entries); k++) {
      if (readers[i]->entries[k] && strstr(entry, readers[i]->entries[k]))
        return (RaFramework)i;
    }
  }
  return RA_N_FRAMEWORKS;
}

void
ra_recipe_free(RaRecipe *recipe)
{
  if (!recipe)
    return;
  g_free(recipe->algorithm);
  g_free(recipe->draft_method);
  g_free(recipe->rollout_dtype);
  g_free(recipe->rollout_kv_dtype);
  for (guint i = 0; i < RA_N_RECIPE_MODELS; i++) {
    g_free(recipe->model[i]);
    g_free(recipe->lora[i].targets);
  }
  g_ptr_array_unref(recipe->notes);
  g_free(recipe);
}

void
ra_recipe_note(RaRecipe *recipe, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  g_ptr_array_add(recipe->notes, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

gboolean
ra_recipe_count(RaSettings *settings, const char *key, uint32_t fallback,
                uint32_t *out, GError **error)
{
  return ra_settings_uint32(settings, key, fallback, 1, RA_RECIPE_COUNT_MAX,
                            out, error);
}

void
ra_recipe_text(RaSettings *settings, const char *key, const char *fallback,
               char **out)
{
  const char *text = ra_settings_get(settings, key);

  g_free(*out);
  *out = g_strdup(text ? text : fallback);
}

/* Prompts where only the length of a whole sequence is set.  An assumption,
 * told as a note. */
#define PROMPT_TOKENS 128

void
ra_recipe_split(RaRecipe *recipe, uint32_t total, uint32_t prompt,
                uint32_t response)
{
  if (response < total)
    recipe->max_prompt = MIN(prompt, total - response);
  else if (prompt < total)
    recipe->max_prompt = prompt;
  else {
    recipe->max_prompt = MIN(PROMPT_TOKENS, MAX(1, total / 2));
    ra_recipe_note(recipe,
                   "prompts: %u of the %u tokens of a sequence, as no key has "
                   "their length",
                   recipe->max_prompt, total);
  }
  recipe->max_response = MIN(response, MAX(2, total) - recipe->max_prompt);
}

uint32_t
ra_recipe_share(const RaRecipe *recipe, RaRecipeKind kind)
{
  const RaRecipeCall *call = &recipe->calls[kind];
  gboolean is_train =
      kind == RA_RECIPE_ACTOR_TRAIN || kind == RA_RECIPE_CRITIC_TRAIN;
  uint32_t n = recipe->n_prompts * recipe->n_samples;

  uint32_t n_pieces = !is_train                  ? 1
                      : call->n_mini_batches > 0 ? call->n_mini_batches
                                                 : recipe->n_mini_batches;

  return n / MAX(1, call->dp * n_pieces);
}

static uint32_t
gcd(uint32_t a, uint32_t b)
{
  return b == 0 ? a : gcd(b, a % b);
}

gboolean
ra_recipe_pools(RaRecipe *recipe, uint32_t n_nodes, uint32_t n_gpus,
                uint32_t own_nodes, uint32_t own_gpus, GError **error)
{
  RaRecipeCall *generate = &recipe->calls[RA_RECIPE_GENERATE];
  RaRecipeCall *train = &recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  uint64_t trains = (uint64_t)n_nodes * n_gpus;
  uint64_t generates = (uint64_t)own_nodes * own_gpus;
  uint32_t each = MAX(n_gpus, own_nodes > 0 ? own_gpus : 0);

  if (trains + generates > RA_RECIPE_COUNT_MAX) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%" G_GUINT64_FORMAT " GPUs, expected at most %d",
                trains + generates, RA_RECIPE_COUNT_MAX);
    return FALSE;
  }
  if (own_nodes > 0 && trains % each == 0 && generates % each == 0 &&
      n_nodes == 1 && own_nodes == 1 && n_gpus == own_gpus && each <= 4 &&
      (each & (each - 1)) == 0)
    each *= 2; /* the halves of one node */
  else if (trains % each != 0 || generates % each != 0) {
    each = gcd((uint32_t)trains, (uint32_t)generates);
    ra_recipe_note(recipe,
                   "cluster: nodes of %u GPUs, as a mesh is whole nodes and "
                   "%u of %u GPUs beside %u of %u are none",
                   each, n_nodes, n_gpus, own_nodes, own_gpus);
  }
  recipe->n_node_gpus = each;
  recipe->n_nodes = (uint32_t)((trains + generates) / each);
  train->n_gpus = (uint32_t)trains;
  generate->n_gpus = (uint32_t)(own_nodes > 0 ? generates : trains);
  generate->first_gpu = own_nodes > 0 ? (uint32_t)trains : 0;
  return TRUE;
}

/* TRUE if every replica of every call that trains or infers has as many whole
 * sequences as the others. */
static gboolean
is_shared(const RaRecipe *recipe)
{
  for (guint k = RA_RECIPE_ACTOR_INFERENCE; k < RA_N_RECIPE_CALLS; k++) {
    const RaRecipeCall *call = &recipe->calls[k];
    uint32_t each = MAX(1, call->tp * call->pp * call->cp);
    uint32_t dp = call->dp > 0 ? call->dp : call->n_gpus / each;
    guint64 n_pieces = k != RA_RECIPE_ACTOR_TRAIN && k != RA_RECIPE_CRITIC_TRAIN
                           ? 1
                       : call->n_mini_batches > 0 ? call->n_mini_batches
                                                  : recipe->n_mini_batches;

    if (call->is_there && dp > 0 &&
        (guint64)recipe->n_prompts * recipe->n_samples % (n_pieces * dp) != 0)
      return FALSE;
  }
  return TRUE;
}

/* Frameworks pad a batch that their replicas do not divide; here it has a few
 * prompts more, at most a quarter. */
static void
pad_prompts(RaRecipe *recipe)
{
  uint32_t wanted = recipe->n_prompts;
  guint64 most = (guint64)wanted + wanted / 4;

  while (!is_shared(recipe) &&
         (guint64)recipe->n_prompts + recipe->n_mini_batches <= most)
    recipe->n_prompts += recipe->n_mini_batches;
  if (!is_shared(recipe))
    recipe->n_prompts = wanted; /* the plan says what does not divide */
  else if (recipe->n_prompts > wanted)
    ra_recipe_note(recipe,
                   "prompts: %u instead of %u, so that replicas share them",
                   recipe->n_prompts, wanted);
}

RaRecipe *
ra_recipe_new(RaFramework framework)
{
  RaRecipe *recipe = g_new0(RaRecipe, 1);

  g_return_val_if_fail(framework < RA_N_FRAMEWORKS, NULL);
  recipe->framework = framework;
  recipe->notes = g_ptr_array_new_with_free_func(g_free);
  recipe->n_prompts = recipe->n_samples = 1;
  recipe->n_mini_batches = recipe->n_epochs = 1;
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    RaRecipeCall *call = &recipe->calls[k];

    call->tp = call->pp = call->cp = call->ep = 1;
  }
  return recipe;
}

gboolean
ra_recipe_settle(RaRecipe *recipe, GError **error)
{
  ra_recipe_set_system(recipe);
  ra_recipe_settle_drafts(recipe);
  pad_prompts(recipe);
  if ((guint64)recipe->n_prompts * recipe->n_samples <=
      RA_WORKLOAD_SEQUENCES_MAX)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%u prompts of %u samples, expected at most %d sequences",
              recipe->n_prompts, recipe->n_samples, RA_WORKLOAD_SEQUENCES_MAX);
  return FALSE;
}

/* Reads @framework's settings and completes what they leave. */
RaRecipe *
ra_recipe_read(RaSettings *settings, RaFramework framework, GError **error)
{
  g_autoptr(RaRecipe) recipe = NULL;
  const RaRecipeReader *reader;
  const GPtrArray *notes;
  guint n;

  g_return_val_if_fail(settings != NULL && framework < RA_N_FRAMEWORKS, NULL);
  notes = ra_settings_notes(settings);
  reader = readers[framework];
  n = reader->meanings ? *reader->n_meanings : 0;
  recipe = ra_recipe_new(framework);
  for (guint i = 0; i < notes->len; i++)
    ra_recipe_note(recipe, "%s", (const char *)notes->pdata[i]);
  if (!ra_meaning_read(reader->meanings, n, recipe, settings, error) ||
      !reader->read(recipe, settings, error))
    return NULL;
  ra_meaning_settle(reader->meanings, n, settings);
  return ra_recipe_settle(recipe, error) ? g_steal_pointer(&recipe) : NULL;
}

#define VALUE_MAX 40 /* bytes of a value in the table */

/* A row of the table; %NULL: nothing there. */
static void
put_row(RaTable *table, const char *what, const char *effect,
        const RaSetting *setting, const char *taken)
{
  const char *whole = setting ? setting->value : "";
  gboolean is_long = strlen(whole) > VALUE_MAX;
  g_autofree char *value = g_strdup_printf(
      "%.*s%s", ra_text_head(whole, VALUE_MAX), whole, is_long ? "..." : "");

  ra_table_row(table);
  ra_table_text(table, what);
  if (effect)
    ra_table_text(table, effect);
  else
    ra_table_missing(table);
  if (setting) {
    ra_table_text(table, setting->place);
    ra_table_text(table, setting->key);
    ra_table_text(table, value);
  } else {
    for (guint k = 0; k < 3; k++)
      ra_table_missing(table);
  }
  ra_table_text(table, taken);
}

/* Rows of the settings in @state and, of what is lost, with @effect. */
static guint
put_settings(RaTable *table, const RaSettings *settings, RaSettingState state,
             const char *what, const char *effect)
{
  guint n = 0;

  for (guint i = 0; i < ra_settings_n(settings); i++) {
    const RaSetting *s = ra_settings_at(settings, i);

    if (s->state != state || g_strcmp0(s->effect, effect) != 0)
      continue;
    n++;
    if (table)
      put_row(table, what, effect, s, s->note ? s->note : "nothing");
  }
  return n;
}

static const char *const effects[] = {"time", "memory", "learning"};

RaTable *
ra_recipe_table(const RaRecipe *recipe, const RaSettings *settings,
                gboolean all)
{
  static const char *const columns[] = {"what", "effect", "where",
                                        "key",  "value",  "taken"};
  RaTable *table = ra_table_new("import");
  guint n_unknown;

  for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
    ra_table_column(table, columns[i], RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < G_N_ELEMENTS(effects); i++)
    put_settings(table, settings, RA_SETTING_LOST, "lost", effects[i]);
  put_settings(table, settings, RA_SETTING_ABOUT, "approximated", NULL);
  for (guint i = 0; i < recipe->notes->len; i++)
    put_row(table, "assumed", NULL, NULL, recipe->notes->pdata[i]);
  n_unknown = put_settings(all ? table : NULL, settings, RA_SETTING_UNREAD,
                           "unknown", NULL);
  if (all)
    put_settings(table, settings, RA_SETTING_IGNORED, "no effect", NULL);
  else if (n_unknown > 0) {
    g_autofree char *text = g_strdup_printf(
        "%u keys that are not known here; --all lists them", n_unknown);

    put_row(table, "unknown", NULL, NULL, text);
  }
  return table;
}

guint
ra_recipe_n_open(const RaRecipe *recipe, const RaSettings *settings)
{
  guint n = recipe->notes->len;

  for (guint i = 0; i < ra_settings_n(settings); i++) {
    RaSettingState state = ra_settings_at(settings, i)->state;

    n += state == RA_SETTING_UNREAD || state == RA_SETTING_ABOUT ||
         state == RA_SETTING_LOST;
  }
  return n;
}
