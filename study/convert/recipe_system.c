/* The system that runs an imported plan, what it moves to host memory, and the
 * memory of its engine. */
#include "config.h"

#include "graph/op/activation.h"
#include "study/convert/recipe_impl.h"

/* Residency in a framework is its system's (share/systems); where a plan has
 * keys for it, it is written into the plan. */
typedef struct {
  const char *sharded,
      *other;        /* nullable, systems: actor trained with zero 3, or not */
  const char *apart; /* nullable: system of engines with GPUs of their own */
  gboolean reader_host;  /* models that only infer rest in host memory if they
                           are sharded by zero 3 */
  gboolean trained_host; /* weights and optimizer of what is trained are in host
                            memory while its GPUs generate */
  gboolean with_engine;  /* the systems are of generation by an engine */
  gboolean one_queue;    /* kernels of all streams start in the order in which
                            they are issued */
} Habits;

static const Habits habits[RA_N_FRAMEWORKS] = {
    /* CPUOffload(offload_params=True) where forward_only (verl,
     * workers/engine/fsdp/transformer_impl.py; before, fsdp_workers.py).
     * CUDA_DEVICE_MAX_CONNECTIONS=1 (verl, trainer/constants_ppo.py, since
     * 2025-07). */
    [RA_FRAMEWORK_VERL] = {"verl-fsdp", "verl-megatron", .reader_host = TRUE,
                           .one_queue = TRUE},
    [RA_FRAMEWORK_OPENRLHF] = {"openrlhf-deepspeed", "openrlhf-deepspeed"},
    /* offload_before_refit(), offload_after_refit() (NeMo-RL,
     * models/policy/workers). */
    [RA_FRAMEWORK_NEMO_RL] = {"nemo-rl", "nemo-rl", "nemo-rl-async",
                              .trained_host = TRUE},
    [RA_FRAMEWORK_REALHF] = {"reallhf-2024", "reallhf-2024"},
    [RA_FRAMEWORK_SLIME] = {"slime", "slime"},
    [RA_FRAMEWORK_SKYRL] = {"skyrl-fsdp", "skyrl-megatron"},
    [RA_FRAMEWORK_ROLL] = {"roll", "roll"},
    [RA_FRAMEWORK_AREAL] = {"areal", "areal"},
    /* Its trainer generates by itself, with vLLM if it is told to. */
    [RA_FRAMEWORK_TRL] = {"trl", "trl", .with_engine = TRUE},
};

static gboolean
shares_gpus(const RaRecipeCall *a, const RaRecipeCall *b)
{
  return a->first_gpu < b->first_gpu + b->n_gpus &&
         b->first_gpu < a->first_gpu + a->n_gpus;
}

static gboolean
is_trained(RaRecipeKind kind)
{
  RaRecipeModel model = ra_recipe_model_of(kind);

  return model == RA_RECIPE_ACTOR || model == RA_RECIPE_CRITIC;
}

/* With one queue a gather that is issued behind a layer's kernels starts behind
 * them, and what is issued behind a reduction waits for it. */
static void
take_turns(const Habits *h, RaRecipeCall *c)
{
  if (!h->one_queue || c->zero != 3)
    return;
  c->in_turn = !c->prefetches;
  c->overlap = FALSE;
}

void
ra_recipe_set_system(RaRecipe *recipe)
{
  const Habits *h = &habits[recipe->framework];
  RaRecipeCall *calls = recipe->calls;
  const RaRecipeCall *generate = &calls[RA_RECIPE_GENERATE];
  gboolean moved = FALSE;

  if (!h->with_engine || generate->max_sequences > 0)
    recipe->system =
        h->apart && generate->is_there &&
                !shares_gpus(generate, &calls[RA_RECIPE_ACTOR_TRAIN])
            ? h->apart
        : calls[RA_RECIPE_ACTOR_TRAIN].zero == 3 ? h->sharded
                                                 : h->other;
  for (RaRecipeKind k = RA_RECIPE_ACTOR_INFERENCE; k < RA_N_RECIPE_CALLS; k++) {
    RaRecipeCall *c = &calls[k];

    if (!c->is_there)
      continue;
    take_turns(h, c);
    if (h->reader_host && !is_trained(k) && c->zero == 3 &&
        !(k == RA_RECIPE_REF_INFERENCE && recipe->lora_ref &&
          recipe->lora[RA_RECIPE_ACTOR].rank > 0))
      c->host = TRUE;
    if (!h->trained_host || !is_trained(k) || !generate->is_there ||
        !shares_gpus(c, generate))
      continue;
    c->host = moved = TRUE;
    c->optimizer_host =
        k == RA_RECIPE_ACTOR_TRAIN || k == RA_RECIPE_CRITIC_TRAIN;
  }
  if (moved)
    ra_recipe_note(recipe, "memory: weights and optimizer are in host memory "
                           "while their GPUs generate");
  if (g_strcmp0(recipe->system, "openrlhf-deepspeed") == 0)
    ra_recipe_note(recipe, "system: times of kernels alone; the constants of "
                           "openrlhf.system are of runs of 2024");
}

double
ra_recipe_step_bytes(const RaModel *model, uint32_t tp, uint32_t max_sequences,
                     uint32_t prefill_tokens)
{
  RaShard shard = {
      .model = model, .tp = tp, .dtype = RA_DTYPE_BF16, .sampling = TRUE};
  RaPiece all = {0, model->n_layers, TRUE, TRUE};
  uint32_t tokens = MAX(prefill_tokens, max_sequences);
  RaBatch step = {max_sequences, tokens, tokens, tokens};

  return (double)ra_workspace_bytes(&shard, &all, RA_PHASE_FORWARD, &step);
}
