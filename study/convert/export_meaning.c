/* A plan as a recipe, and a recipe as the keys of a reader's own table of
 * meanings, which thus serves both directions. */
#include "config.h"

#include <string.h>

#include "graph/input/plan_service.h"
#include "graph/input/turns.h"
#include "study/convert/export_impl.h"
#include "study/convert/model_name.h"

/* ---- A plan as a recipe -------------------------------------------------- */

/* Layers of the stages at the ends, where they are not even. */
static void
set_stages(RaRecipeCall *to, const RaCallPlan *how, uint32_t n_layers)
{
  g_autofree uint32_t *even = g_new(uint32_t, how->pp);

  if (how->pp < 2 || how->n_virtual > 1)
    return;
  ra_stage_layers_even(n_layers, how->pp, even);
  if (memcmp(even, how->stage_layers, how->pp * sizeof *even) == 0)
    return;
  to->first_layers = how->stage_layers[0];
  to->last_layers = how->stage_layers[how->pp - 1];
}

/* Micro-batches of @c in sequences, or in tokens where they are even.  A longer
 * sequence than the bound has a micro-batch of its own in slime and OpenRLHF
 * (get_minimum_num_micro_batch_size() of both); NeMo-RL's packers refuse it
 * (nemo_rl/data/packing/algorithms.py). */
static void
set_micro(RaRecipeCall *to, RaFramework framework, const RaPlan *plan,
          uint32_t c)
{
  to->n_micro_batches = plan->calls[c].n_micro_batches;
  to->micro_tokens =
      ra_export_micro_tokens(plan, c, framework == RA_FRAMEWORK_NEMO_RL);
  if (to->micro_tokens == 0)
    to->micro_batch = ra_export_micro(plan, c);
}

static void
set_call(RaRecipe *recipe, RaRecipeKind kind, const RaPlan *plan, uint32_t c)
{
  const RaCallPlan *how = &plan->calls[c];
  const RaModel *model =
      plan->workload->models[plan->workload->calls[c].model].model;
  RaRecipeCall *to = &recipe->calls[kind];

  *to = (RaRecipeCall){
      .is_there = TRUE,
      .first_gpu = ra_mesh_gpu(&how->mesh, plan->cluster, 0),
      .n_gpus = ra_mesh_n_gpus(&how->mesh),
      .dp = how->dp,
      .tp = how->tp,
      .pp = how->pp,
      .cp = how->cp,
      .ep = MAX(1, how->ep),
      .etp = how->ep > 1 ? ra_call_plan_expert_tp(how) : 0,
      .n_virtual = how->n_virtual > 1 ? how->n_virtual : 0,
      .padding = how->padding,
      .padded_length = how->padded_length,
      .zero = (uint32_t)how->zero,
      .sequence_parallel = how->sequence_parallel,
      .full_recompute = how->recompute == RA_RECOMPUTE_FULL,
      .selective_recompute = how->recompute == RA_RECOMPUTE_SELECTIVE,
      .host = how->residency == RA_RESIDENCY_HOST,
      .optimizer_host = how->optimizer_residency == RA_RESIDENCY_HOST,
      .grads_released = how->releases_grads,
      .cpu_optimizer = how->optimizer_residency == RA_RESIDENCY_CPU,
      .fp8_gemms = how->fp8_gemms,
      .fp8_params = how->fp8_params,
      .fp8_scaling = how->fp8_scaling,
      .bf16_first = how->bf16_first,
      .bf16_last = how->bf16_last,
      .remainders = how->master_weights == RA_MASTER_REMAINDERS,
      .moments = how->moments_dtype == 0                   ? NULL
                 : how->moments_dtype == 1 + RA_DTYPE_BF16 ? "bf16"
                                                           : "fp16",
      .overlap = how->overlap_grad_reduce,
      .graph = how->launch == RA_LAUNCH_GRAPH,
      .max_sequences = how->max_sequences,
      .prefill_tokens = how->prefill_tokens,
      .prefix_sharing = how->prefix_sharing,
  };
  set_stages(to, how, model->n_layers);
  if (kind != RA_RECIPE_GENERATE)
    set_micro(to, recipe->framework, plan, c);
  else if (how->kv_memory_bytes > 0)
    to->memory_frac = ra_export_memory_frac(plan, c);
}

const char *
ra_export_draft_method(RaFramework framework, RaDraftsKind kind)
{
  gboolean sglang = framework == RA_FRAMEWORK_SLIME;

  if (kind == RA_DRAFTS_LOOKUP)
    return sglang ? "NGRAM" : "ngram";
  return sglang ? "EAGLE" : "mtp";
}

RaRecipe *
ra_export_recipe(const RaPlan *plan, RaFramework framework,
                 const RaExportRoles *roles)
{
  const RaWorkload *w = plan->workload;
  uint32_t train = roles->call[RA_RECIPE_ACTOR_TRAIN];
  uint32_t generate = roles->call[RA_RECIPE_GENERATE];
  RaRecipe *recipe = g_new0(RaRecipe, 1);

  recipe->framework = framework;
  recipe->notes = g_ptr_array_new_with_free_func(g_free);
  recipe->algorithm = g_strdup(w->algorithm);
  recipe->n_prompts = w->n_prompts;
  recipe->n_samples = w->calls[generate].samples_per_prompt;
  recipe->n_mini_batches =
      ra_call_plan_n_pieces(&w->calls[train], &plan->calls[train]);
  recipe->n_epochs = w->calls[train].n_epochs;
  recipe->staleness = w->calls[generate].staleness;
  if (plan->calls[generate].dtype == 1 + RA_DTYPE_FP8)
    recipe->rollout_dtype = g_strdup("fp8");
  if (plan->calls[generate].kv_dtype == 1 + RA_DTYPE_FP8) /* as SGLang has it */
    recipe->rollout_kv_dtype =
        g_strdup(framework == RA_FRAMEWORK_SLIME ? "fp8_e4m3" : "fp8");
  recipe->drafts = w->calls[generate].drafts;
  if (recipe->drafts.n_tokens > 0)
    recipe->draft_method =
        g_strdup(ra_export_draft_method(framework, recipe->drafts.kind));
  recipe->max_prompt = w->prompt_length.max_tokens;
  recipe->max_response = (uint32_t)ra_turns_max_tokens(w);
  for (RaRecipeKind k = 0; k < RA_N_RECIPE_CALLS; k++) {
    RaRecipeModel m = ra_recipe_model_of(k);

    if (roles->call[k] == RA_NONE)
      continue;
    set_call(recipe, k, plan, roles->call[k]);
    if (!recipe->model[m])
      recipe->model[m] = ra_model_name_published(
          w->models[w->calls[roles->call[k]].model].config);
  }
  return recipe;
}

/* ---- A recipe as keys ---------------------------------------------------- */

/* TRUE if an earlier row of @table has the field of row @i: an alias. */
static gboolean
is_alias(const RaMeaning *table, guint i)
{
  for (guint k = 0; k < i; k++)
    if (table[k].kind >= RA_MEANING_COUNT && table[k].kind <= RA_MEANING_TEXT &&
        table[k].offset == table[i].offset)
      return TRUE;
  return FALSE;
}

/* Puts the value of row @m, unless it is the framework's own. */
static void
put_row(RaExport *export, const RaMeaning *m, const RaRecipe *recipe)
{
  const char *at = (const char *)recipe + m->offset;
  g_autofree char *text = NULL;

  switch (m->kind) {
  case RA_MEANING_COUNT:
  case RA_MEANING_NATURAL:
    if (*(const uint32_t *)at > 0)
      text = g_strdup_printf("%u", *(const uint32_t *)at);
    break;
  case RA_MEANING_FRACTION:
    if (*(const double *)at > 0)
      text = g_strdup_printf("%.6f", *(const double *)at);
    break;
  case RA_MEANING_SWITCH:
    if (*(const gboolean *)at)
      ra_export_put_switch(export, m->key);
    return;
  case RA_MEANING_TEXT:
    if (*(char *const *)at)
      ra_export_put_text(export, "", m->key, *(char *const *)at);
    return;
  default:
    return;
  }
  if (text && g_strcmp0(text, m->standard) != 0)
    ra_export_put(export, "", m->key, "%s", text);
}

void
ra_export_put_meanings(RaExport *export, const RaMeaning *table, guint n,
                       const RaRecipe *recipe)
{
  for (guint i = 0; i < n; i++) {
    gboolean reads =
        table[i].kind >= RA_MEANING_COUNT && table[i].kind <= RA_MEANING_TEXT;

    if (reads && !is_alias(table, i))
      put_row(export, &table[i], recipe);
  }
}
