/* Recipe: another framework's configuration of an iteration, and the workload,
 * cluster and plan made from it.
 *
 *     g_autoptr(RaSettings) s = ra_settings_load("run.sh", &error);
 *     g_autoptr(RaRecipe) recipe = ra_recipe_read(s, framework, &error);
 *     g_autoptr(RaImported) files = ra_recipe_make(recipe, &options, &error);
 *
 * A recipe has the seven calls of these frameworks, each with consecutive GPUs
 * and a strategy.  The reader of a framework supplies the default of a missing
 * key and cites its source (study/convert/recipe_NAME.c). What no configuration
 * gives is assumed, and `notes` lists every assumption: the GPU and network,
 * how much shorter than their maximum prompts and responses are, how long a
 * rule-based reward takes.
 *
 * Invariant: the files load, and ra_plan_write() reproduces the plan exactly.
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
  RA_FRAMEWORK_SLIME,
  RA_FRAMEWORK_SKYRL,
  RA_FRAMEWORK_ROLL,
  RA_FRAMEWORK_AREAL,
  RA_FRAMEWORK_TRL,
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

/* Method by which the configuration trains. */
typedef enum {
  RA_RECIPE_RL,  /* generation, rewards, training */
  RA_RECIPE_SFT, /* given pairs of prompt and answer */
  RA_RECIPE_DPO, /* given comparisons, and a reference */
  RA_RECIPE_RM   /* given comparisons: a reward model */
} RaRecipeTask;

/* GPUs and strategy of one call. */
typedef struct {
  gboolean is_there;
  uint32_t first_gpu, n_gpus;  /* in a row, node by node */
  uint32_t dp, tp, pp, cp, ep; /* dp 0: derived from the number of GPUs */
  uint32_t etp;                /* tensor parallelism of experts; 0: tp */
  uint32_t n_virtual;          /* train: model chunks per stage; 0: 1 */
  uint32_t first_layers, last_layers; /* of the stages at the ends; 0: even */
  uint32_t micro_batch;      /* sequences of a replica; 0: n_micro_batches */
  uint32_t n_micro_batches;  /* both 0: the plan's default */
  uint32_t n_mini_batches;   /* train: optimizer steps; 0: the recipe's */
  uint32_t micro_tokens;     /* of a replica: micro_batch in tokens; or 0 */
  int padding;               /* RaPadding of the plan; not generate */
  uint32_t padded_length;    /* tokens of a sequence at least; 0: by padding */
  uint32_t zero, zero_group; /* zero_group 0: all of dp */
  gboolean sequence_parallel;
  gboolean full_recompute;
  gboolean selective_recompute;
  gboolean host;           /* weights in host memory between calls */
  gboolean optimizer_host; /* train: optimizer state in host memory */
  gboolean grads_released; /* train: gradients exist while it runs */
  gboolean cpu_optimizer;  /* train: it rests there, and steps there */
  gboolean remainders;     /* train: master weights of 16 bits */
  gboolean no_masters;     /* train: the parameters themselves are stepped */
  const char *moments;     /* train: the plan's moments-dtype, static; NULL:
                              fp32 */
  gboolean fp32_grads;
  gboolean fp8_gemms, fp8_params; /* linear layers, and their weights, in fp8 */
  int fp8_scaling;                /* RaFp8Scaling of the plan */
  uint32_t bf16_first, bf16_last; /* layers at the ends that stay in bf16 */
  gboolean
      prefetches;   /* zero 3: a forward gathers ahead, whatever the queues */
  gboolean in_turn; /* zero 3: a forward's gathers overlap with nothing; set
                          by ra_recipe_settle() */
  gboolean overlap; /* train: gradient reduction overlaps with the backward */
  gboolean dispatches_once; /* experts: a token goes once to a rank (DeepEP) */
  gboolean graph;           /* generate: CUDA graphs */
  uint32_t max_sequences, prefill_tokens; /* generate; 0: static batches */
  gboolean prefix_sharing; /* generate: samples share their prompt's keys */
  double memory_frac; /* generate: share of a GPU for weights and cache; 0: as
                         much as needed */
  gboolean of_free;   /* generate: memory_frac is of the memory that is free
                         when the engine starts (SGLang) */
  double kv_bytes;    /* generate: the cache of a GPU itself; 0: memory_frac */
} RaRecipeCall;

/* Adapters of a trained model (graph/input/lora.h). */
typedef struct {
  uint32_t rank; /* 0: none */
  char *targets; /* owned, nullable: "q, v"; NULL: all */
} RaRecipeLora;

/* Generation in trips, until enough groups are of use (graph/input/trips.h). */
typedef struct {
  uint32_t n_prompts; /* per trip; 0: no trips */
  uint32_t most;      /* trips; 0: no limit */
} RaRecipeTrips;

/* Generation in turns, with tools between them (graph/input/turns.h). */
typedef struct {
  uint32_t most;        /* turns of a sequence; 0 and 1: no turns */
  uint32_t tool_tokens; /* longest answer of a tool */
  double mean, spread;  /* turns, and their standard deviation; 0: all most */
  double tool_s;        /* mean time of a tool, exponential; 0: none */
} RaRecipeTurns;

/* Generation on GPUs of its own (graph/input/plan_service.h). */
typedef struct {
  gboolean is_service;    /* it does not wait for training */
  gboolean interrupts;    /* a new version stops what runs; else it drains */
  gboolean in_flight;     /* a new version takes over what runs, keys and all */
  uint32_t sync_interval; /* training calls from one version to the next */
} RaRecipeAsync;

typedef struct {
  RaFramework framework;
  RaRecipeTask task;
  char *algorithm;                 /* owned: a label */
  char *model[RA_N_RECIPE_MODELS]; /* owned, nullable: names in the framework */
  RaRecipeLora lora[RA_N_RECIPE_MODELS];
  gboolean lora_merged; /* generation runs on merged weights */
  gboolean lora_ref;    /* the reference is the actor without its adapters */
  uint32_t n_prompts, n_samples, n_mini_batches, n_epochs, staleness;
  gboolean is_greedy_too; /* one more, greedy answer per prompt (ReMax) */
  RaRecipeTrips trips;
  RaRecipeTurns turns;
  RaRecipeAsync async;
  uint32_t max_prompt, max_response; /* tokens */
  uint32_t n_nodes, n_node_gpus;
  uint32_t n_segment; /* nodes that NVLink joins, where trays are; 0: a rack */
  const char *gpu;    /* static, nullable: GPU of nodes like these */
  RaRecipeCall calls[RA_N_RECIPE_CALLS];
  RaDrafts drafts;    /* of generation; accepted_frac 0: not known */
  char *draft_method; /* in the framework's words; owned, nullable */
  char *rollout_dtype,
      *rollout_kv_dtype;  /* of an engine's weights and cache, in
                                     the framework's words; owned, nullable */
  const char *system;     /* nullable: of share/systems */
  gboolean is_expandable; /* segments of the allocator, which has no slack */
  GPtrArray *notes;       /* (element-type utf8) assumptions, owned */
} RaRecipe;

/**
 * ra_framework_guess:
 *
 * Returns: the framework that the settings look like; %RA_N_FRAMEWORKS: none
 */
RaFramework ra_framework_guess(const RaSettings *settings);

/**
 * ra_recipe_read:
 * @settings: (inout): settings that are understood are marked
 * @error: %RA_ERROR_INPUT `file:line: ...`: an invalid value, an algorithm or
 *   an allocation that has no plan here
 *
 * Returns: (transfer full): free with ra_recipe_free()
 */
RaRecipe *ra_recipe_read(RaSettings *settings, RaFramework framework,
                         GError **error);
/* A recipe without calls (transfer full), whose degrees are 1; for whoever
 * knows a run in another form than its configuration. */
RaRecipe *ra_recipe_new(RaFramework framework);

/**
 * ra_recipe_settle:
 * @recipe: with all its calls
 * @error: %RA_ERROR_INPUT: more sequences than a workload has
 *
 * Completes a recipe: the framework's system and habits, prompts that replicas
 * share.  ra_recipe_read() has done so.
 */
gboolean ra_recipe_settle(RaRecipe *recipe, GError **error);

/* Gives call @kind the GPUs, the layout and the micro-batches of @base. */
void ra_recipe_like(RaRecipe *recipe, RaRecipeKind kind, RaRecipeKind base);

/**
 * ra_recipe_pools:
 * @n_nodes, @n_gpus: nodes of the pool that trains, GPUs of each
 * @own_nodes, @own_gpus: the same of a pool that generates; 0: there is one
 *   pool for all
 *
 * Sets the cluster, and the GPUs of generation and of training.  A mesh is
 * whole nodes, or an aligned slice of one; pools that are neither on nodes as
 * they are get nodes with fewer GPUs, and a note.
 */
gboolean ra_recipe_pools(RaRecipe *recipe, uint32_t n_nodes, uint32_t n_gpus,
                         uint32_t own_nodes, uint32_t own_gpus, GError **error);

/* Trays of a rack that NVLink joins to one node of a cluster: the largest power
 * of two that the 18 of NVL72 have. */
#define RA_RECIPE_RACK_TRAYS 16u

/* GPUs of a tray of @gpu, which frameworks count as a node; 0: it has none. */
uint32_t ra_recipe_tray_gpus(const char *gpu);

void ra_recipe_free(RaRecipe *recipe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRecipe, ra_recipe_free)

/* Flags that supply what the configuration does not. */
typedef struct {
  const char *name;   /* name of the files, without suffix */
  const char *source; /* name of the configuration, for the files' heads */
  const char *gpu;    /* nullable: h100-sxm */
  const char *prompt_length;   /* nullable: fixed at the maximum */
  const char *response_length; /* nullable: fixed at the maximum */
  uint32_t image_tokens;       /* of a prompt, those of its image; 0: none */
  const char *models;          /* nullable: `CONFIG` or `actor=CONFIG,...` */
  const char *script; /* nullable: the configuration's file, to whose folder
                         paths of models relate */
  double gpu_bytes;   /* memory of the GPU, for whoever knows it; 0: as its
                         profile says, which is then read */
} RaRecipeOptions;

/* The three files. */
typedef struct {
  char *workload, *cluster, *plan; /* texts, owned */
} RaImported;

/**
 * ra_recipe_make:
 * @recipe: notes are added
 * @error: %RA_ERROR_INPUT: a model of unknown shape, or a setting that a plan
 *   cannot express
 *
 * Returns: (transfer full): free with ra_imported_free()
 */
RaImported *ra_recipe_make(RaRecipe *recipe, const RaRecipeOptions *options,
                           GError **error);
void ra_imported_free(RaImported *files);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaImported, ra_imported_free)

/**
 * ra_recipe_table:
 * @all: also the keys that are unknown or change nothing, a row each
 *
 * What is not as the configuration says: keys that change time, memory or
 * learning but have no place in a plan, in this order, then what is only
 * approximated, then assumptions; at the end how many other keys are unknown.
 *
 * Returns: (transfer full): a row each (what, effect, where, key, value, taken)
 */
RaTable *ra_recipe_table(const RaRecipe *recipe, const RaSettings *settings,
                         gboolean all);

/* Number of settings that are lost, approximated or unknown, and of
 * assumptions. */
guint ra_recipe_n_open(const RaRecipe *recipe, const RaSettings *settings);

#endif
