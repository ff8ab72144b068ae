/* A plan as flags of slime's train.py: those of the table of meanings that its
 * reader has (study/convert/recipe_slime.c), and what no table can say. */
#include "config.h"

#include "study/convert/export_impl.h"

static const char *const versions[] = {"2026-08", NULL};

/* Pools of GPUs: one, or engines on their own. */
static void
put_pools(RaExport *x, const RaPlan *plan, const RaExportRoles *roles,
          const RaRecipe *recipe)
{
  const RaRecipeCall *train = &recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  const RaMesh *mesh = &plan->calls[roles->call[RA_RECIPE_ACTOR_TRAIN]].mesh;
  guint host = MIN(mesh->gpus_per_node, ra_export_host_gpus(plan->cluster));
  guint each = MIN(train->n_gpus, host);

  x->is_apart = ra_export_is_apart(
      plan->cluster, mesh, &plan->calls[roles->call[RA_RECIPE_GENERATE]].mesh);
  ra_export_put(x, "", "actor-num-nodes", "%u", train->n_gpus / each);
  ra_export_put(x, "", "actor-num-gpus-per-node", "%u", each);
  if (!x->is_apart)
    ra_export_put_switch(x, "colocate");
  else
    ra_export_put(x, "", "rollout-num-gpus", "%u",
                  recipe->calls[RA_RECIPE_GENERATE].n_gpus);
  if (!x->is_apart && !train->host)
    ra_export_put_switch(x, "no-offload-train");
}

static void
put_train(RaExport *x, const RaRecipe *recipe)
{
  const RaRecipeCall *train = &recipe->calls[RA_RECIPE_ACTOR_TRAIN];
  const RaRecipeCall *infer = &recipe->calls[RA_RECIPE_ACTOR_INFERENCE];

  ra_export_put(x, "", "global-batch-size", "%u",
                MAX(1, recipe->n_prompts * recipe->n_samples /
                           MAX(1, recipe->n_mini_batches)));
  if (train->micro_tokens > 0) {
    ra_export_put_switch(x, "use-dynamic-batch-size");
    ra_export_put(x, "", "max-tokens-per-gpu", "%u",
                  (train->micro_tokens + train->cp - 1) / train->cp);
    if (infer->micro_tokens > 0)
      ra_export_put(x, "", "log-probs-max-tokens-per-gpu", "%u",
                    (infer->micro_tokens + infer->cp - 1) / infer->cp);
  } else {
    ra_export_put(x, "", "micro-batch-size", "%u", train->micro_batch);
  }
  if (train->full_recompute) {
    ra_export_put(x, "", "recompute-granularity", "full");
    ra_export_put(x, "", "recompute-method", "uniform");
    ra_export_put(x, "", "recompute-num-layers", "1");
  }
  if (train->cpu_optimizer) {
    ra_export_put_switch(x, "optimizer-cpu-offload");
    ra_export_put_switch(x, "overlap-cpu-optimizer-d2h-h2d");
  }
  if (train->fp8_gemms) {
    ra_export_put(x, "", "fp8-format", "e4m3");
    ra_export_put(x, "", "fp8-recipe", "%s",
                  ra_fp8_scaling_words[train->fp8_scaling]);
  }
  if (train->bf16_first > 0 || train->bf16_last > 0) {
    ra_export_put_switch(x, "first-last-layers-bf16");
    ra_export_put(x, "", "num-layers-at-start-in-bf16", "%u",
                  train->bf16_first);
    ra_export_put(x, "", "num-layers-at-end-in-bf16", "%u", train->bf16_last);
  }
  if (train->fp8_params)
    ra_export_put_switch(x, "fp8-param-gather");
  if (train->remainders)
    ra_export_put_switch(x, "use-precision-aware-optimizer");
  if (train->remainders && train->moments) {
    ra_export_put(x, "", "exp-avg-dtype", "%s", train->moments);
    ra_export_put(x, "", "exp-avg-sq-dtype", "%s", train->moments);
  }
  if (recipe->calls[RA_RECIPE_REF_INFERENCE].is_there)
    ra_export_put_switch(x, "use-kl-loss");
}

static void
put_slime(RaExport *export, const RaExportSource *from,
          const RaExportRoles *roles, guint version)
{
  const RaRecipeReader *reader = &ra_recipe_reader_slime;
  g_autoptr(RaRecipe) recipe =
      ra_export_recipe(from->plan, RA_FRAMEWORK_SLIME, roles);
  RaRecipeCall *generate = &recipe->calls[RA_RECIPE_GENERATE];

  (void)version;
  export->has_flags = TRUE;
  export->launcher = "python3";
  export->entry = recipe->staleness > 0 ? "train_async.py" : "train.py";
  generate->tp *= generate->pp; /* GPUs of an engine */
  put_pools(export, from->plan, roles, recipe);
  ra_export_put_meanings(export, reader->meanings, *reader->n_meanings, recipe);
  put_train(export, recipe);
  if (recipe->drafts.n_tokens > 0)
    ra_export_put(export, "", "sglang-speculative-num-steps", "%u",
                  recipe->drafts.n_tokens);
  if (!generate->graph)
    ra_export_put_switch(export, "sglang-disable-cuda-graph");
  if (!generate->prefix_sharing)
    ra_export_put_switch(export, "sglang-disable-radix-cache");
}

const RaExportWriter ra_export_writer_slime = {
    .framework = RA_FRAMEWORK_SLIME,
    .versions = versions,
    .put = put_slime,
};
