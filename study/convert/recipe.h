/* What another framework's configuration says of an iteration, and what it
 * makes: workload, cluster and plan.
 *
 *     g_autoptr(RaSettings) s = ra_settings_load("run.sh", &error);
 *     g_autoptr(RaRecipe) recipe = ra_recipe_read(s, framework, &error);
 *     g_autoptr(RaImported) files = ra_recipe_make(recipe, &options, &error);
 *
 * A recipe has the seven calls that these frameworks have, each with GPUs in a
 * row and a strategy; what a framework takes when a key is missing is its
 * reader's business (study/recipe_NAME.c cites it).  What no configuration says
 * is assumed, and every assumption is one of `notes`: which GPU and network,
 * how long prompts and answers are below their maximum, how long a reward of
 * rules takes.
 *
 * Invariant: the files load, and the plan is the one that ra_plan_write()
 * writes of itself.
 */
#ifndef RA_STUDY_CONVERT_RECIPE_H
#define RA_STUDY_CONVERT_RECIPE_H

#include "base/table.h"
#include "graph/input/plan.h"
#include "study/convert/setting.h"

typedef enum {
  RA_FRAMEWORK_VERL,
  RA_FRAMEWORK_OPENRLHF,
  RA_FRAMEWORK_NEMO_RL,
  RA_FRAMEWORK_REALHF,
  RA_N_FRAMEWORKS
} RaFramework;

/* "verl", "openrlhf", "nemo-rl", "realhf": NULL-terminated. */
extern const char *const ra_framework_names[];

typedef enum {
  RA_RECIPE_ACTOR,
  RA_RECIPE_CRITIC,
  RA_RECIPE_REF,
  RA_RECIPE_REWARD,
  RA_N_RECIPE_MODELS
} RaRecipeModel;

/* "actor", "critic", "ref", "reward". */
extern const char *const ra_recipe_models[];

typedef enum {
  RA_RECIPE_GENERATE,
  RA_RECIPE_ACTOR_INFERENCE,
  RA_RECIPE_REF_INFERENCE,
  RA_RECIPE_REWARD_INFERENCE,
  RA_RECIPE_CRITIC_INFERENCE,
  RA_RECIPE_ACTOR_TRAIN,
  RA_RECIPE_CRITIC_TRAIN,
  RA_N_RECIPE_CALLS
} RaRecipeKind;

/* One call: where and how. */
typedef struct {
  gboolean is_there;
  uint32_t first_gpu, n_gpus;  /* in a row, node by node */
  uint32_t dp, tp, pp, cp, ep; /* dp 0: what the GPUs leave */
  uint32_t micro_batch;        /* sequences of a replica; 0: n_micro_batches */
  uint32_t n_micro_batches;    /* both 0: the plan's default */
  uint32_t micro_tokens;       /* of a replica: micro_batch by tokens; or 0 */
  uint32_t zero, zero_group;   /* zero_group 0: all of dp */
  gboolean sequence_parallel;
  gboolean full_recompute;
  gboolean selective_recompute;
  gboolean host;           /* weights in host memory between calls */
  gboolean optimizer_host; /* of train: its state */
  gboolean fp32_grads;
  gboolean overlap; /* of train: gradients with the backward */
  gboolean graph;   /* of generate: CUDA graphs */
  uint32_t max_sequences, prefill_tokens; /* of generate; 0: static batches */
  double memory_frac; /* of a GPU for weights and cache of generate; 0: all that
                         it takes */
} RaRecipeCall;

/* Adapters of a trained model (graph/input/lora.h). */
typedef struct {
  uint32_t rank; /* 0: none */
  char *targets; /* owned, nullable: "q, v"; NULL: all */
} RaRecipeLora;

typedef struct {
  RaFramework framework;
  char *algorithm;                 /* owned: a label */
  char *model[RA_N_RECIPE_MODELS]; /* owned, nullable: as the framework names
                                      them */
  RaRecipeLora lora[RA_N_RECIPE_MODELS];
  gboolean lora_merged; /* what generates runs on merged weights */
  gboolean lora_ref;    /* the reference is the actor without its adapters */
  uint32_t n_prompts, n_samples, n_mini_batches, n_epochs, staleness;
  uint32_t max_prompt, max_response; /* tokens */
  uint32_t n_nodes, n_node_gpus;
  RaRecipeCall calls[RA_N_RECIPE_CALLS];
  const char *system; /* nullable: of share/systems */
  GPtrArray *notes;   /* (element-type utf8) what was assumed, owned */
} RaRecipe;

/**
 * ra_framework_guess:
 *
 * Returns: whose settings they look like; %RA_N_FRAMEWORKS: nobody's
 */
RaFramework ra_framework_guess(const RaSettings *settings);

/**
 * ra_recipe_read:
 * @settings: (inout): what is understood is marked
 * @error: %RA_ERROR_INPUT `file:line: ...`: a value that is none, an algorithm
 *   or an allocation that has no plan here
 *
 * Returns: (transfer full): ra_recipe_free() it
 */
RaRecipe *ra_recipe_read(RaSettings *settings, RaFramework framework,
                         GError **error);
void ra_recipe_free(RaRecipe *recipe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRecipe, ra_recipe_free)

/* What flags say of what the configuration does not. */
typedef struct {
  const char *name;            /* of the files, without suffix */
  const char *source;          /* of the configuration, for heads */
  const char *gpu;             /* nullable: h100-sxm */
  const char *prompt_length;   /* nullable: fixed(the maximum) */
  const char *response_length; /* nullable: fixed(the maximum) */
  const char *models;          /* nullable: `CONFIG` or `actor=CONFIG,...` */
} RaRecipeOptions;

/* The three files. */
typedef struct {
  char *workload, *cluster, *plan; /* texts, owned */
} RaImported;

/**
 * ra_recipe_make:
 * @recipe: notes are added
 * @error: %RA_ERROR_INPUT: a model that no shipped config is for, what a plan
 *   cannot say
 *
 * Returns: (transfer full): ra_imported_free() it
 */
RaImported *ra_recipe_make(RaRecipe *recipe, const RaRecipeOptions *options,
                           GError **error);
void ra_imported_free(RaImported *files);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaImported, ra_imported_free)

/* (transfer full): the settings that nobody understood or that were taken about
 * right, and the assumptions: a row each (what, where, key, value, said). */
RaTable *ra_recipe_table(const RaRecipe *recipe, const RaSettings *settings);

/* (transfer full) (nullable): the shipped config of the model that a framework
 * calls @name, such as `llama-3-8b.json` of `meta-llama/Llama-3.1-8B-Instruct`.
 */
char *ra_recipe_config(const char *name);

#endif
