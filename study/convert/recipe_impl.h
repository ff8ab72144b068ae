/* Private parts of recipes, shared by study/convert/recipe*.c. */
#ifndef RA_STUDY_CONVERT_RECIPE_IMPL_H
#define RA_STUDY_CONVERT_RECIPE_IMPL_H

#include "study/convert/meaning.h"

#define RA_RECIPE_COUNT_MAX 1000000 /* of prompts, tokens, GPUs */

/* A framework: what its configurations look like, what its keys mean, and what
 * no table can say.  A new one is a file with this record, a table of meanings
 * and a row in study/convert/recipe.c. */
typedef struct {
  const char *name;
  const char *prefixes[4];   /* nullable: beginnings of keys only it has */
  const char *entries[4];    /* nullable: parts of its entry points */
  const RaMeaning *meanings; /* nullable: no table */
  const guint *n_meanings;
  /* Fills @recipe, in which the meanings are read, whose calls are else zero
   * but for degrees of 1. */
  gboolean (*read)(RaRecipe *recipe, RaSettings *settings, GError **error);
} RaRecipeReader;

extern const RaRecipeReader ra_recipe_reader_verl, ra_recipe_reader_openrlhf,
    ra_recipe_reader_nemo_rl, ra_recipe_reader_realhf, ra_recipe_reader_slime,
    ra_recipe_reader_skyrl, ra_recipe_reader_roll, ra_recipe_reader_areal,
    ra_recipe_reader_trl;

/* Tables of meanings too long to stand beside their reader. */
extern const RaMeaning ra_meanings_verl[];
extern const guint ra_n_meanings_verl;
extern const RaMeaning ra_meanings_nemo_rl[];
extern const guint ra_n_meanings_nemo_rl;
extern const RaMeaning ra_meanings_openrlhf[];
extern const guint ra_n_meanings_openrlhf;

/* Sets the system of a recipe that has been read, and the host residencies that
 * are the framework's habit. */
void ra_recipe_set_system(RaRecipe *recipe);

/* Workspace of an engine's largest step, which it runs before it sizes its
 * cache, bytes of a GPU. */
double ra_recipe_step_bytes(const RaModel *model, uint32_t tp,
                            uint32_t max_sequences, uint32_t prefill_tokens);

/* Completes drafts whose share that is accepted the configuration leaves open.
 */
void ra_recipe_settle_drafts(RaRecipe *recipe);

/* Adds an assumption. */
void ra_recipe_note(RaRecipe *recipe, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Reads a count, from 1 to RA_RECIPE_COUNT_MAX. */
gboolean ra_recipe_count(RaSettings *settings, const char *key,
                         uint32_t fallback, uint32_t *out, GError **error);

/* Copies the text of @key, or @fallback (nullable) if it is not set. */
void ra_recipe_text(RaSettings *settings, const char *key, const char *fallback,
                    char **out);

/* Lengths that the configuration does not limit (0): @prompt and @response,
 * with a note. */
void ra_recipe_lengths(RaRecipe *recipe, uint32_t prompt, uint32_t response);

/* Lengths of a data set's pairs, which have @length tokens together; 0: not
 * known. */
void ra_recipe_halve(RaRecipe *recipe, uint32_t length);

/* Generation in up to @turns turns of up to @each tokens, all within @room. */
void ra_recipe_turns(RaRecipe *recipe, uint32_t turns, uint32_t each,
                     uint32_t room);

/* Sets the cluster to nodes of @n_gpus that have the GPUs of every call; to
 * smaller nodes, with a note, if a call's are no mesh then. */
void ra_recipe_nodes(RaRecipe *recipe, uint32_t n_gpus);

/* @prefix and @key joined, for a moment: a few buffers in turn. */
const char *ra_recipe_at(const char *prefix, const char *key);

/* Parameters of @model on a GPU whose experts are cut over @ep ranks of @etp
 * each (0: @tp), and the rest over @tp; all over @pp stages. */
double ra_recipe_rank_params(const RaModel *model, uint32_t tp, uint32_t pp,
                             uint32_t ep, uint32_t etp);

/* Sequences of an iteration: at least 1, and no more than a workload has. */
gboolean ra_recipe_sequences(const RaRecipe *recipe, uint32_t *out,
                             GError **error);

/* TRUE if the switch @key is set and on. */
gboolean ra_recipe_is_on(RaSettings *settings, const char *key);

/* Reads the degrees of Megatron, such as PREFIXtensor_model_parallel_size; a
 * missing one leaves @call's.  The optimizer is distributed. */
gboolean ra_recipe_megatron(RaSettings *settings, const char *prefix,
                            RaRecipeCall *call, GError **error);

/* Reads the types of AdamW's moments at @first_key and @second_key (Transformer
 * Engine's exp_avg_dtype and exp_avg_sq_dtype) into @call: those of 16 bits
 * that both have, else fp32, with a row where that is not what they say. */
void ra_recipe_moments(RaSettings *settings, const char *first_key,
                       const char *second_key, RaRecipeCall *call);

/* The model of @call was loaded in the type @text (nullable): one of 16 bits is
 * stepped itself, with moments of its type, as PyTorch's AdamW does. */
void ra_recipe_loaded_in(RaRecipeCall *call, const char *text);

/* Keys of Megatron's optimizer. */
typedef struct {
  const char *cpu;      /* its state is in host memory, and its step */
  const char *fraction; /* of the state there; 0 is none */
  double standard;      /* of @fraction, if it is not set */
  const char *aware;    /* master weights are remainders */
} RaRecipeOptimizer;

/* Reads @keys into @call.  A part on the CPU counts as all of it from a half
 * on, with a row. */
gboolean ra_recipe_optimizer(RaSettings *settings,
                             const RaRecipeOptimizer *keys, RaRecipeCall *call,
                             GError **error);

/* Keys of Megatron's linear layers in fp8. */
typedef struct {
  const char *format;          /* e4m3 or hybrid, which take the same time */
  const char *format_standard; /* of a missing key; NULL: nothing is in fp8 */
  const char *recipe;          /* Transformer Engine's, by name */
  const char *recipe_standard; /* of a missing key; NULL: delayed */
  const char *params;          /* weights are stored in fp8 */
  const char *ends;            /* the first and last layers stay in bf16 */
  const char *first, *last;    /* as many of them; default: 1 */
} RaRecipeFp8;

/* Reads @keys into @call. */
gboolean ra_recipe_fp8(RaSettings *settings, const RaRecipeFp8 *keys,
                       RaRecipeCall *call, GError **error);

/* Sets @error, one line about the file, which does @what, and returns FALSE. */
gboolean ra_recipe_refuse(const RaSettings *settings, const char *what,
                          GError **error);

/* Reads the adapters of @model: the rank from key @rank, else the recipe's;
 * the targets from key @targets, `all-linear` or a list of modules as in peft.
 */
gboolean ra_recipe_lora(RaRecipe *recipe, RaSettings *settings,
                        RaRecipeModel model, const char *rank,
                        const char *targets, GError **error);

/* Splits the @total tokens of a sequence, of which @prompt and @response are
 * the most that a prompt and an answer have, @total where no key says it. What
 * the split assumes is a note. */
void ra_recipe_split(RaRecipe *recipe, uint32_t total, uint32_t prompt,
                     uint32_t response);

/* (transfer full): the workload's file.  @error: a model without a shape. */
char *ra_recipe_workload(RaRecipe *recipe, const RaRecipeOptions *options,
                         GError **error);

/* TRUE if rules on the hosts score the responses. */
gboolean ra_recipe_is_by_rules(const RaRecipe *recipe);

/* Number of sequences of a replica of @call of kind @kind in one mini-batch. */
uint32_t ra_recipe_share(const RaRecipe *recipe, RaRecipeKind kind);

/* Names of the plan's calls, `actor_train` ...; and the model of a call. */
extern const char *const ra_recipe_call_names[];
RaRecipeModel ra_recipe_model_of(RaRecipeKind kind);

#endif
