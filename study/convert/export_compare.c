/* Comparison of an exported plan, read back, with the original. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/lora.h"
#include "graph/input/plan_write.h"
#include "graph/input/turns.h"
#include "study/convert/export_impl.h"

/* The plan as the one writer has it, read as keys. */
static RaKeyFile *
canonical(const RaPlan *plan, GError **error)
{
  RaPlanWords words = {.workload = "w.workload", .cluster = "c.cluster"};
  g_autofree char *text = ra_plan_write(plan, &words, error);

  return text ? ra_key_file_parse("plan", text, strlen(text), error) : NULL;
}

/* Rows for keys of @a's group that @b's has otherwise or, where @missing, not
 * at all. */
static void
compare_keys(RaExport *export, const char *where, const RaKeyFile *a, int at_a,
             const RaKeyFile *b, int at_b, gboolean missing)
{
  const char *key;

  for (guint i = 0; (key = ra_key_file_key(a, (guint)at_a, i)); i++) {
    const char *mine = ra_key_file_get(a, (guint)at_a, key);
    const char *theirs = ra_key_file_get(b, (guint)at_b, key);

    /* compared with the workload's, which a framework has instead */
    if ((missing && theirs) || strcmp(key, "mini-batches") == 0 ||
        (export->is_apart && strcmp(key, "mesh") == 0))
      continue;
    if (g_strcmp0(mine, theirs) != 0)
      ra_export_lose(export, where, key, missing ? NULL : mine,
                     missing ? mine : theirs);
  }
}

/* The role of call @c; %RA_N_RECIPE_CALLS: none. */
static guint
role_in(const RaExportRoles *roles, uint32_t c)
{
  guint kind = 0;

  while (kind < RA_N_RECIPE_CALLS && roles->call[kind] != c)
    kind++;
  return kind;
}

static void
compare_calls(RaExport *export, const RaExportSource *from,
              const RaExportRoles *roles, const RaKeyFile *mine,
              const RaKeyFile *theirs)
{
  const RaWorkload *workload = from->plan->workload;

  for (uint32_t c = 0; c < workload->n_calls; c++) {
    const RaCall *call = &workload->calls[c];
    g_autofree char *where = g_strdup_printf("[call %s]", call->name);
    guint kind = role_in(roles, c);
    int a, b;

    if (kind == RA_N_RECIPE_CALLS) {
      if (call->kind != RA_CALL_HOST)
        ra_export_lose(export, where, "call", call->name, NULL);
      else if (call->host_s > 0)
        ra_export_lose(export, where, "host-time", "a time", NULL);
      continue;
    }
    a = ra_key_file_find_group(mine, "call", call->name);
    b = ra_key_file_find_group(theirs, "call", ra_recipe_call_names[kind]);
    if (b < 0) {
      ra_export_lose(export, where, "call", call->name, NULL);
      continue;
    }
    compare_keys(export, where, mine, a, theirs, b, FALSE);
    compare_keys(export, where, theirs, b, mine, a, TRUE);
  }
}

/* Calls that the framework makes and the plan has not. */
static void
compare_roles(RaExport *export, const RaExportRoles *roles,
              const RaKeyFile *theirs)
{
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    if (roles->call[k] == RA_NONE &&
        ra_key_file_find_group(theirs, "call", ra_recipe_call_names[k]) >= 0)
      ra_export_lose(export, "-", "call", NULL, ra_recipe_call_names[k]);
  }
}

static void
compare_count(RaExport *export, const char *where, const char *key,
              guint64 mine, guint64 theirs)
{
  g_autofree char *a = g_strdup_printf("%" G_GUINT64_FORMAT, mine);
  g_autofree char *b = g_strdup_printf("%" G_GUINT64_FORMAT, theirs);

  if (mine != theirs)
    ra_export_lose(export, where, key, a, b);
}

/* Values of [workload] as text; "" where there is none. */
static void
compare_text(RaExport *export, const RaWorkload *mine, const RaWorkload *theirs,
             const char *key)
{
  const RaKeyFile *a = mine->file, *b = theirs->file;
  int at_a = ra_key_file_find_group(a, "workload", "");
  int at_b = ra_key_file_find_group(b, "workload", "");
  const char *x = ra_key_file_get(a, (guint)at_a, key);
  const char *y = ra_key_file_get(b, (guint)at_b, key);

  if (g_strcmp0(x, y) != 0)
    ra_export_lose(export, "[workload]", key, x, y);
}

static void
compare_lora(RaExport *export, const char *where, const RaWorkloadModel *mine,
             const RaWorkloadModel *theirs)
{
  g_autofree char *a = NULL, *b = NULL;

  compare_count(export, where, "lora-rank", mine->model->lora_rank,
                theirs->model->lora_rank);
  if ((mine->base_of != NULL) != (theirs->base_of != NULL))
    ra_export_lose(export, where, "base-of", mine->base_of ? mine->base_of : "",
                   theirs->base_of ? theirs->base_of : "");
  if (mine->model->lora_rank == 0 || theirs->model->lora_rank == 0)
    return;
  a = ra_lora_targets_text(mine->model);
  b = ra_lora_targets_text(theirs->model);
  if (g_strcmp0(a, b) != 0)
    ra_export_lose(export, where, "lora-targets", a ? a : "all", b ? b : "all");
  if (mine->lora_sync != theirs->lora_sync)
    ra_export_lose(export, where, "lora-sync",
                   ra_lora_sync_words[mine->lora_sync],
                   ra_lora_sync_words[theirs->lora_sync]);
}

static void
compare_drafts(RaExport *export, const char *where, const RaDrafts *mine,
               const RaDrafts *theirs)
{
  g_autofree char *a = g_strdup_printf("%g", mine->accepted_frac);
  g_autofree char *b = g_strdup_printf("%g", theirs->accepted_frac);

  compare_count(export, where, "draft-tokens", mine->n_tokens,
                theirs->n_tokens);
  if (mine->n_tokens > 0 && theirs->n_tokens > 0 && !g_str_equal(a, b))
    ra_export_lose(export, where, "draft-accepted", a, b);
}

/* Rows that decide learning and depend on the pools that the framework has. */
static void
compare_learning(RaExport *export, const RaPlan *plan, const RaWorkload *theirs,
                 const RaExportRoles *roles)
{
  const RaWorkload *mine = plan->workload;

  compare_count(export, "[workload]", "prompts", mine->n_prompts,
                theirs->n_prompts);
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    uint32_t a = roles->call[k];
    uint32_t b = ra_workload_find_call(theirs, ra_recipe_call_names[k]);
    const RaCall *x, *y;
    g_autofree char *where = NULL;

    if (a == RA_NONE || b == RA_NONE)
      continue;
    x = &mine->calls[a];
    y = &theirs->calls[b];
    where = g_strdup_printf("[call %s]", x->name);
    compare_count(export, where, "samples-per-prompt", x->samples_per_prompt,
                  y->samples_per_prompt);
    compare_count(export, where, "mini-batches",
                  x->kind == RA_CALL_TRAIN
                      ? ra_call_plan_n_pieces(x, &plan->calls[a])
                      : x->n_mini_batches,
                  y->n_mini_batches);
    compare_count(export, where, "epochs", x->n_epochs, y->n_epochs);
    compare_count(export, where, "staleness", x->staleness, y->staleness);
    compare_count(export, where, "parts", x->n_parts, y->n_parts);
    compare_drafts(export, where, &x->drafts, &y->drafts);
  }
}

/* Rows that no plan decides: labels, length distributions, types, adapters. */
static void
compare_texts(RaExport *export, const RaPlan *plan, const RaWorkload *theirs,
              const RaExportRoles *roles)
{
  const RaWorkload *mine = plan->workload;
  static const char *const texts[] = {
      "prompt-length", "response-length", "response-correlation",
      "trip-prompts",  "max-trips",       "turns",
      "tool-tokens",   "algorithm"};

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    compare_text(export, mine, theirs, texts[i]);
  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    uint32_t a = roles->call[k];
    uint32_t b = ra_workload_find_call(theirs, ra_recipe_call_names[k]);
    g_autofree char *where = NULL;
    const RaWorkloadModel *x, *y;

    if (a == RA_NONE || b == RA_NONE)
      continue;
    where = g_strdup_printf("[call %s]", mine->calls[a].name);
    x = &mine->models[mine->calls[a].model];
    y = &theirs->models[theirs->calls[b].model];
    compare_count(export, where, "dtype", (guint)x->dtype, (guint)y->dtype);
    compare_lora(export, where, x, y);
  }
}

/* The recipe's files, read; @out_workload outlives the plan. */
static RaPlan *
read_files(const RaImported *files, const RaExportSource *from,
           RaWorkload **out_workload, GError **error)
{
  g_autoptr(RaKeyFile) workload_file = ra_key_file_parse(
      from->workload_path, files->workload, strlen(files->workload), error);
  g_autoptr(RaKeyFile) plan_file = NULL;

  if (workload_file)
    *out_workload = ra_workload_load(workload_file, error);
  if (*out_workload)
    plan_file = ra_key_file_parse(from->plan_path, files->plan,
                                  strlen(files->plan), error);
  return plan_file ? ra_plan_load(plan_file, *out_workload, from->plan->cluster,
                                  error)
                   : NULL;
}

/* `actor=CONFIG,...`: the configs are the plan's own, whatever they are called
 * elsewhere. */
static char *
configs_of(const RaWorkload *workload, const RaExportRoles *roles)
{
  GString *out = g_string_new(NULL);

  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++) {
    if (roles->call[k] != RA_NONE)
      g_string_append_printf(
          out, "%s%s=%s", out->len > 0 ? "," : "",
          ra_recipe_models[ra_recipe_model_of(k)],
          workload->models[workload->calls[roles->call[k]].model].config);
  }
  return g_string_free(out, FALSE);
}

static RaFramework
framework_of(const RaExport *export)
{
  guint i = 0;

  while (!g_str_equal(ra_framework_names[i], export->framework))
    i++;
  return (RaFramework)i;
}

/* (transfer full) (nullable): @most for every sequence if @law has one length;
 * a configuration has the maximum alone. */
static char *
fixed_at(const RaLength *law, uint32_t most)
{
  return law->kind == RA_LENGTH_FIXED ? g_strdup_printf("fixed(%u)", most)
                                      : NULL;
}

/* (nullable): the law that @workload says for @key, unless turns share it. */
static char *
own_law(const RaWorkload *workload, const char *key)
{
  const RaKeyFile *file = workload->file;
  int at = ra_key_file_find_group(file, "workload", "");

  return at < 0 || ra_turns_are_set(workload)
             ? NULL
             : g_strdup(ra_key_file_get(file, (guint)at, key));
}

/* A configuration as its reader has it. */
typedef struct {
  RaWorkload *workload; /* owned */
  RaPlan *plan;         /* owned */
  const char *system;   /* static, nullable: the framework's */
} Back;

static void
back_clear(Back *back)
{
  ra_plan_free(back->plan);
  ra_workload_free(back->workload);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Back, back_clear)

/* Reads @script back, with the workload's distributions if @with_laws. */
static gboolean
read_back(const RaExport *export, const RaExportSource *from,
          const RaExportRoles *roles, const char *script, gboolean with_laws,
          Back *out, GError **error)
{
  const RaWorkload *mine = from->plan->workload;
  g_autofree char *models = configs_of(mine, roles);
  g_autofree char *folder = g_path_get_dirname(from->workload_path);
  g_autofree char *name = g_build_filename(folder, "exported", NULL);
  RaRecipeOptions options = {.name = name,
                             .source = "exported",
                             .gpu = from->plan->cluster->gpu,
                             .gpu_bytes =
                                 from->plan->cluster->device.memory_bytes,
                             .models = models};
  g_autofree char *prompt = with_laws ? own_law(mine, "prompt-length") : NULL;
  g_autofree char *response =
      with_laws ? own_law(mine, "response-length") : NULL;
  g_autoptr(RaSettings) settings =
      ra_settings_parse(export->source, script, strlen(script), FALSE, error);
  g_autoptr(RaRecipe) recipe = NULL;
  g_autoptr(RaImported) files = NULL;

  if (settings)
    recipe = ra_recipe_read(settings, framework_of(export), error);
  if (recipe) {
    if (!prompt)
      prompt = fixed_at(&mine->prompt_length, recipe->max_prompt);
    if (!response)
      response = fixed_at(&mine->response_length, recipe->max_response);
    options.prompt_length = prompt;
    options.response_length = response;
    out->system = recipe->system;
    files = ra_recipe_make(recipe, &options, error);
  }
  if (files)
    out->plan = read_files(files, from, &out->workload, error);
  return out->plan != NULL;
}

/* TRUE if @system (nullable) is one of the framework's. */
static gboolean
is_own_system(const RaExport *export, const char *system)
{
  return system && g_str_has_prefix(system, export->framework);
}

gboolean
ra_export_compare(RaExport *export, const RaExportSource *from,
                  const RaExportRoles *roles, const char *script,
                  GError **error)
{
  g_autofree char *system =
      from->system_path ? g_path_get_basename(from->system_path) : NULL;
  g_auto(Back) back = {NULL, NULL, NULL};
  g_autoptr(RaKeyFile) mine = NULL, theirs = NULL;

  if (read_back(export, from, roles, script, FALSE, &back, error))
    mine = canonical(from->plan, error);
  if (mine)
    theirs = canonical(back.plan, error);
  if (!theirs)
    return FALSE;
  compare_learning(export, from->plan, back.workload, roles);
  compare_texts(export, from->plan, back.workload, roles);
  compare_calls(export, from, roles, mine, theirs);
  compare_roles(export, roles, theirs);
  /* Habits of verl are verl's own. */
  if (system && !is_own_system(export, system))
    ra_export_lose(export, "[plan]", "system", from->system_path, NULL);
  return TRUE;
}

/* ---- The plan that a configuration says ---------------------------------- */

/* Puts group @at of @file as that of the call @name; its mini-batches are
 * compared with the workload's. */
static void
put_group(GString *out, const char *name, const RaKeyFile *file, guint at)
{
  const char *key;

  g_string_append_printf(out, "[call %s]\n", name);
  for (guint i = 0; (key = ra_key_file_key(file, at, i)); i++)
    if (strcmp(key, "mini-batches") != 0)
      g_string_append_printf(out, "%s = %s\n", key,
                             ra_key_file_value(file, at, i));
}

/* (transfer full): the plan read back, for the workload and the cluster of
 * @from; calls on the host stay where they are. */
static char *
rename_calls(RaExport *export, const RaExportSource *from,
             const RaExportRoles *roles, const RaKeyFile *mine,
             const RaKeyFile *theirs)
{
  const RaWorkload *w = from->plan->workload;
  GString *out = g_string_new(
      "[plan]\nformat = 1\nworkload = w.workload\ncluster = c.cluster\n");

  for (uint32_t c = 0; c < w->n_calls; c++) {
    const RaCall *call = &w->calls[c];
    guint kind = role_in(roles, c);
    int own = ra_key_file_find_group(mine, "call", call->name);
    int at = kind == RA_N_RECIPE_CALLS
                 ? -1
                 : ra_key_file_find_group(theirs, "call",
                                          ra_recipe_call_names[kind]);

    if (call->kind == RA_CALL_HOST && own >= 0)
      put_group(out, call->name, mine, (guint)own);
    else if (at >= 0)
      put_group(out, call->name, theirs, (guint)at);
    else if (call->kind != RA_CALL_HOST)
      ra_export_lose(export, call->name, "call", call->name, NULL);
    if (at >= 0 && from->plan->calls[c].n_mini_batches > 0)
      g_string_append_printf(out, "mini-batches = %u\n",
                             from->plan->calls[c].n_mini_batches);
  }
  return g_string_free(out, FALSE);
}

char *
ra_export_read_back(RaExport *export, const RaExportSource *from,
                    const RaExportRoles *roles, const char *script,
                    GError **error)
{
  g_autofree char *system =
      from->system_path ? g_path_get_basename(from->system_path) : NULL;
  g_autofree char *own =
      system ? g_strndup(system, strcspn(system, ".")) : NULL;
  g_auto(Back) back = {NULL, NULL, NULL};
  g_autoptr(RaKeyFile) mine = NULL, theirs = NULL;

  if (read_back(export, from, roles, script, TRUE, &back, error))
    mine = canonical(from->plan, error);
  if (mine)
    theirs = canonical(back.plan, error);
  if (!theirs)
    return NULL;
  compare_learning(export, from->plan, back.workload, roles);
  compare_roles(export, roles, theirs);
  if (is_own_system(export, system) && back.system &&
      g_strcmp0(own, back.system) != 0)
    ra_export_lose(export, "[plan]", "system", own, back.system);
  return rename_calls(export, from, roles, mine, theirs);
}
