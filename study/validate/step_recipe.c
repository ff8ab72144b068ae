/* From a published step to a plan, by way of a recipe. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/model_find.h"
#include "search/family/need.h"
#include "study/convert/model_name.h"
#include "study/convert/recipe.h"
#include "study/validate/rl_step.h"
#include "study/validate/step_row.h"
#include "study/validate/step_text.h"
#include "study/validate/validate_impl.h"

/* Prompts of rows without their length and a total: NeMo-RL's mathematics
 * (rl_row.c), and the part of the maximum that import assumes. */
#define PROMPT_TOKENS 115
#define PROMPT_FRAC 0.10
/* Answers that no row bounds end well before this many times their mean. */
#define LONGEST_FACTOR 4
/* Running sequences of a vLLM that is not told how many (EngineArgs, 0.6 to
 * 0.9; its V1 has 1,024 on GPUs of 70 GiB and more, which the generations of
 * iseekyan_dapo7b are further from). */
#define VLLM_SEQUENCES 256
/* Share of answers that repeat themselves up to the limit.  MEASURED: 95 of 105
 * steps of 5,120 answers, on average a sixth of the limit long, have one there
 * (rl_steps/logs/diqiu_qwen2_7b_gpg_megatron.csv): -ln(10 / 105) / 5,120. */
#define FULL_FRAC 4.6e-4
/* Tokens of a prompt of Geometry3K that are text, the others being its image's:
 * 44 of the instruction of verl's examples/data_preprocess/geo3k.py and 21 of
 * the chat around it, by Qwen's tokenizer; 16 of the question, 36,736 / 3,002
 * words (Lu et al., arXiv 2105.04165) at 1.3 tokens. */
#define IMAGE_TEXT_TOKENS 81
/* Calls of tools by an agent that mends a repository, and their mean time.
 * MEASURED: 6,532 calls in 111 tasks of SWE-bench by a Qwen3 model took
 * 19,820 s, nearly all in 3,304 calls of a shell (yunwei37/agentcgroup, commit
 * 1a6bf546, analysis/qwen3_figures/report.md). */
#define AGENT_CALLS 58.8
#define AGENT_CALL_S 3.03
/* Tokens of such a task: pyinf_swe32b_lora has 517 to 521. */
#define AGENT_PROMPT_TOKENS 519
#define NODE_GPUS 8
/* Prompts of a generation batch over those trained on, where groups are
 * filtered (verl, recipe/dapo/run_dapo_qwen2.5_32b.sh: gen_prompt_bsz; NeMo-RL,
 * dapo-deepseek-v3-64n8g.yaml: batch_multiplier). */
#define FILTER_FACTOR 3
#define ENGINE_FRAC 0.9 /* of a GPU, where a framework's default is not known */
#define OWN_FRAC 0.8    /* alone on a GPU: the rows that say so, slime's 0.85 */
#define DOMAIN_GPUS 64  /* of one NVLink domain of GB200 NVL72 */

/* Engines and trainers by framework: the defaults of the readers of
 * study/convert (recipe_NAME.c, meaning_NAME.c), of the time of the rows. */
static const struct {
  const char *begins; /* of the cell, lower case */
  RaFramework framework;
  uint32_t max_sequences, prefill_tokens;
  uint32_t async_sequences, async_tokens; /* engines of their own; 0: equal */
  double memory_frac;                     /* 0: as much as needed */
  gboolean prompts;    /* a mini-batch is counted in prompts, not samples */
  gboolean kl;         /* a reference where the algorithm does not say */
  gboolean recomputes; /* Megatron: in its examples, where a row does not say */
} habits[] = {
    {"nemo-rl", RA_FRAMEWORK_NEMO_RL, 1024, 16384, 128, 2048, 0.6, FALSE, TRUE,
     FALSE},
    {"verl", RA_FRAMEWORK_VERL, 1024, 8192, 0, 0, 0.5, TRUE, FALSE, TRUE},
    {"siirl", RA_FRAMEWORK_VERL, 1024, 8192, 0, 0, 0.5, TRUE, FALSE, TRUE},
    {"slime", RA_FRAMEWORK_SLIME, 512, 8192, 0, 0, 0, FALSE, FALSE, TRUE},
    {"miles", RA_FRAMEWORK_SLIME, 512, 8192, 0, 0, 0, FALSE, FALSE, TRUE},
    {"skyrl", RA_FRAMEWORK_SKYRL, 1024, 8192, 0, 0, 0.8, TRUE, TRUE, TRUE},
    {"roll", RA_FRAMEWORK_ROLL, 256, 8192, 0, 0, 0.8, FALSE, TRUE, FALSE},
    {"openrlhf", RA_FRAMEWORK_OPENRLHF, 256, 0, 0, 0, 0.5, FALSE, TRUE, FALSE},
    {"areal", RA_FRAMEWORK_AREAL, 256, 8192, 0, 0, 0.9, FALSE, TRUE, FALSE},
};

/* Engines of the recipes that notes name, where rows do not say (NeMo-RL,
 * examples/configs/recipes/llm/performance at v0.4.0 and v0.5.0). */
static const struct {
  const char *recipe;    /* how its file begins */
  gboolean async_engine; /* vllm_cfg.async_engine beside training, too */
  gboolean eager;        /* vllm_cfg.enforce_eager */
} recipes[] = {
    {"recipe grpo-deepseek-v3-", TRUE, FALSE},
    {"recipe grpo-qwen3-235b-", TRUE, FALSE},
    {"recipe dapo-deepseek-v3-", FALSE, TRUE},
};

/* A row on its way to a recipe. */
typedef struct {
  const RaStepRow *row;
  guint habit;         /* index */
  RaRecipe *recipe;    /* owned */
  const char *gpu;     /* profile */
  uint32_t train_gpus; /* those of training */
  uint32_t own_gpus;   /* of generation alone; 0: it shares those of training */
  gboolean sharded;    /* FSDP and the like, not Megatron */
  double prompt, mean, longest; /* tokens; mean 0: not known */
  gboolean is_limit;            /* longest is where engines stop */
} Maker;

static gboolean
fail(GError **error, const char *what)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s", what);
  return FALSE;
}

static gboolean
says(const Maker *m, RaStepCell cell, const char *text)
{
  return ra_published_says(m->row, cell, text);
}

static const char *
cell_of(const Maker *m, RaStepCell cell)
{
  return m->row->cell[cell];
}

/* ---- Whose it is, and of how much ---------------------------------------- */

static gboolean
find_framework(Maker *m, GError **error)
{
  g_autofree char *low =
      g_ascii_strdown(cell_of(m, RA_STEP_CELL_FRAMEWORK), -1);

  for (guint i = 0; i < G_N_ELEMENTS(habits); i++) {
    if (g_str_has_prefix(low, habits[i].begins)) {
      m->habit = i;
      m->recipe = ra_recipe_new(habits[i].framework);
      return TRUE;
    }
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "no reader of framework '%s'",
              cell_of(m, RA_STEP_CELL_FRAMEWORK));
  return FALSE;
}

/* TRUE if the row is of @framework, in a release that begins like one of
 * @begins. */
static gboolean
is_release(const Maker *m, RaFramework framework, const char *const *begins)
{
  return habits[m->habit].framework == framework &&
         ra_published_is_release(m->row, begins);
}

/* (transfer full): name without what stands in brackets, "-671B" of a model
 * that is named by its version, and spaces. */
static char *
model_name(const char *cell)
{
  static const char *const endings[] = {"-671B", NULL};
  const char *bracket = strstr(cell, " (");
  char *name =
      bracket ? g_strndup(cell, (gsize)(bracket - cell)) : g_strdup(cell);

  for (guint i = 0; endings[i]; i++) {
    if (g_str_has_suffix(name, endings[i]))
      name[strlen(name) - strlen(endings[i])] = '\0';
  }
  return name;
}

static gboolean
set_models(Maker *m, GError **error)
{
  RaRecipe *r = m->recipe;
  const char *actor = cell_of(m, RA_STEP_CELL_MODEL);
  const char *critic = cell_of(m, RA_STEP_CELL_CRITIC);
  double rank;

  if (!*actor)
    return fail(error, "the model is not published");
  r->model[RA_RECIPE_ACTOR] = model_name(actor);
  r->model[RA_RECIPE_REF] = model_name(actor);
  r->model[RA_RECIPE_CRITIC] = *critic ? model_name(critic) : NULL;
  if (ra_phrase_number(actor, "LoRA r(?:ank )?([0-9]+)", &rank) ||
      ra_phrase_number(cell_of(m, RA_STEP_CELL_ALGORITHM),
                       "LoRA r(?:ank )?([0-9]+)", &rank)) {
    r->lora[RA_RECIPE_ACTOR].rank = (uint32_t)rank;
    r->lora_ref = TRUE;
    r->lora_merged = says(m, RA_STEP_CELL_ALGORITHM, "merged");
  }
  return TRUE;
}

static gboolean
set_batch(Maker *m, GError **error)
{
  const RaStepRow *row = m->row;
  RaRecipe *r = m->recipe;
  uint32_t samples, pieces;

  if (row->n_prompts == 0 || row->n_samples == 0)
    return fail(error, "prompts or samples of a step are not published");
  r->n_prompts = row->n_prompts;
  r->n_samples = row->n_samples;
  samples = row->n_prompts * row->n_samples;
  if (row->mini_batch > 0) {
    pieces = habits[m->habit].prompts && row->mini_batch <= row->n_prompts
                 ? row->n_prompts / row->mini_batch
                 : samples / MIN(row->mini_batch, samples);
    r->n_mini_batches = MAX(1, pieces);
  }
  while (samples % r->n_mini_batches != 0)
    r->n_mini_batches--;
  return TRUE;
}

/* Lengths: means as published, or what a total leaves. */
static gboolean
set_lengths(Maker *m, GError **error)
{
  const RaStepRow *row = m->row;
  double n = (double)m->recipe->n_prompts * m->recipe->n_samples, whole = 0;
  double longest;

  if (row->total_tokens > 0)
    whole = row->total_tokens / n;
  else if (!ra_phrase_number(cell_of(m, RA_STEP_CELL_NOTES),
                             "about ([0-9]+) tokens a sample", &whole))
    ra_phrase_number(cell_of(m, RA_STEP_CELL_NOTES), "([0-9]+) a sample",
                     &whole);
  m->mean = row->response_mean;
  m->prompt = row->prompt_mean;
  if (m->prompt <= 0 && whole > m->mean && m->mean > 0 &&
      whole - m->mean < MAX(row->prompt_max, 0.5 * m->mean))
    m->prompt = whole - m->mean;
  if (m->prompt <= 0)
    m->prompt =
        row->prompt_max > 0 ? PROMPT_FRAC * row->prompt_max : PROMPT_TOKENS;
  if (m->mean <= 0 && whole > m->prompt + 1)
    m->mean = whole - m->prompt;
  m->longest = row->response_max;
  m->is_limit = m->longest > 0;
  if (!m->is_limit && ra_phrase_number(cell_of(m, RA_STEP_CELL_NOTES),
                                       "max(?:imum)?(?: total)? (?:sequence "
                                       "length|length|sequence) ([0-9]+)",
                                       &longest)) {
    m->longest = longest - m->prompt;
    m->is_limit = TRUE;
  }
  if (m->mean <= 0 && m->longest <= 0)
    return fail(error, "no length of responses is published");
  if (m->longest <= 0)
    m->longest = LONGEST_FACTOR * m->mean;
  m->recipe->max_prompt = (uint32_t)ceil(MAX(row->prompt_max, m->prompt));
  m->recipe->max_response = (uint32_t)ceil(MAX(m->longest, m->mean));
  return TRUE;
}

/* ---- Layouts ------------------------------------------------------------ */

static uint32_t
common(uint32_t a, uint32_t b)
{
  return b == 0 ? a : common(b, a % b);
}

static gboolean
set_gpus(Maker *m, GError **error)
{
  const RaStepRow *row = m->row;
  uint32_t each = g_str_has_prefix(m->gpu, "gb") ? DOMAIN_GPUS : NODE_GPUS;
  uint32_t train = row->n_gpus, own = 0;

  if (row->n_gpus == 0)
    return fail(error, "the number of GPUs is not published");
  if (!says(m, RA_STEP_CELL_PLACEMENT, "colocated") ||
      says(m, RA_STEP_CELL_PLACEMENT, "non-colocated")) {
    if (!ra_phrase_split(cell_of(m, RA_STEP_CELL_PLACEMENT),
                         cell_of(m, RA_STEP_CELL_NOTES), &train, &own))
      own = 0;
    if (own == 0 && ra_published_lags(row))
      return fail(error, "the GPUs of generation are not published");
    if (own > 0 && train + own != row->n_gpus)
      return fail(error, "GPUs of training and of generation do not add up");
    if (own == 0)
      train = row->n_gpus;
  }
  m->train_gpus = train;
  m->own_gpus = own;
  if (own == 0 || (train % each == 0 && own % each == 0))
    while (each > 1 && train % each != 0)
      each /= 2;
  else
    each = common(train, own);
  return ra_recipe_pools(m->recipe, train / each, each, own / each,
                         own > 0 ? each : 0, error);
}

static uint32_t
context_of(const Maker *m)
{
  double n;

  return ra_phrase_number(cell_of(m, RA_STEP_CELL_CP), "(?:cp|ulysses)([0-9]+)",
                          &n)
             ? (uint32_t)n
             : 1;
}

static void
set_micro(const Maker *m, RaRecipeCall *call, gboolean is_train)
{
  RaStepMicro micro = ra_phrase_micro(cell_of(m, RA_STEP_CELL_MICRO));
  uint32_t tokens = is_train ? micro.tokens : micro.logprob_tokens;
  uint32_t n = is_train || micro.logprob_sequences == 0
                   ? micro.sequences
                   : micro.logprob_sequences;

  call->micro_tokens = call->micro_batch = 0;
  if (tokens == 0 && n == 0 &&
      habits[m->habit].framework == RA_FRAMEWORK_NEMO_RL)
    tokens = (uint32_t)(m->prompt + m->longest); /* its packing, of one bin */
  if (tokens > 0)
    call->micro_tokens = tokens * call->cp;
  else
    call->micro_batch = MAX(1, micro.global ? n / MAX(1, m->train_gpus) : n);
}

/* Padding of what is not packed, as the readers of study/convert have it: to
 * the tokens that the row names, the longest prompt and answer (verl's FSDP),
 * the longest of the micro-batch (Megatron's workers), or of the step. */
static void
set_padding(const Maker *m, RaRecipeCall *call)
{
  RaFramework framework = habits[m->habit].framework;
  double tokens;

  if (!g_str_has_prefix(cell_of(m, RA_STEP_CELL_PADDING), "no"))
    return;
  if (ra_phrase_number(cell_of(m, RA_STEP_CELL_MICRO),
                       "(?:padded to |x )([0-9]+)", &tokens))
    call->padded_length = (uint32_t)tokens;
  else if (framework == RA_FRAMEWORK_NEMO_RL)
    call->padding = RA_PADDING_BATCH;
  else if (!m->sharded)
    call->padding = RA_PADDING_MICRO_BATCH;
  else if (framework == RA_FRAMEWORK_VERL)
    call->padded_length = m->recipe->max_prompt + m->recipe->max_response;
  else
    call->padding = RA_PADDING_BATCH;
}

static void
set_sharded(const Maker *m, RaRecipeCall *call)
{
  double group;

  call->zero = says(m, RA_STEP_CELL_BACKEND, "zero-2") ? 2 : 3;
  call->full_recompute = !says(m, RA_STEP_CELL_RECOMPUTE, "no");
  call->overlap = TRUE;
  if (ra_phrase_number(cell_of(m, RA_STEP_CELL_SHARDS), "^([0-9]+)", &group) &&
      (uint32_t)group < m->train_gpus && m->train_gpus % (uint32_t)group == 0)
    call->zero_group = MAX(1, (uint32_t)group / call->cp);
}

/* NeMo-RL before 0.5 has the optimizer in host memory while it computes
 * log-probabilities, on GPUs of training alone, too (prepare_for_lp_inference()
 * in megatron_policy_worker.py of v0.4.0; pull request 1404). */
static gboolean
swaps_optimizer(const Maker *m)
{
  static const char *const before[] = {"v0.3", "v0.4", NULL};

  return is_release(m, RA_FRAMEWORK_NEMO_RL, before);
}

static gboolean
set_train(Maker *m, GError **error)
{
  const RaStepRow *row = m->row;
  RaRecipeCall *call = &m->recipe->calls[RA_RECIPE_ACTOR_TRAIN];

  m->sharded = !says(m, RA_STEP_CELL_BACKEND, "megatron");
  if (!*cell_of(m, RA_STEP_CELL_BACKEND))
    return fail(error, "the backend of training is not published");
  call->is_there = TRUE;
  call->tp = MAX(1, row->tp);
  call->pp = MAX(1, row->pp);
  call->cp = context_of(m);
  call->ep = MAX(1, row->ep);
  call->etp = call->ep > 1 ? 1 : 0;
  if (m->train_gpus % (call->tp * call->pp * call->cp) != 0)
    return fail(error, "the degrees do not divide the GPUs of training");
  call->dp = m->train_gpus / (call->tp * call->pp * call->cp);
  call->zero = 1;
  call->fp32_grads = TRUE;
  call->sequence_parallel = call->tp > 1;
  call->overlap = habits[m->habit].framework == RA_FRAMEWORK_NEMO_RL;
  call->full_recompute =
      says(m, RA_STEP_CELL_RECOMPUTE, "full") ||
      (habits[m->habit].recomputes && !*cell_of(m, RA_STEP_CELL_RECOMPUTE));
  call->selective_recompute = says(m, RA_STEP_CELL_RECOMPUTE, "selective");
  if (m->sharded)
    set_sharded(m, call);
  call->host = g_str_has_prefix(cell_of(m, RA_STEP_CELL_PARAM_OFFLOAD), "yes");
  call->optimizer_host =
      g_str_has_prefix(cell_of(m, RA_STEP_CELL_OPTIMIZER_OFFLOAD), "yes");
  call->optimizer_host |= swaps_optimizer(m);
  /* slime's --optimizer-cpu-offload steps there. */
  call->cpu_optimizer = says(m, RA_STEP_CELL_OPTIMIZER_OFFLOAD, "CPU");
  /* fp8_cfg of examples/configs/grpo_math_1B.yaml, which recipes turn on. */
  call->fp8_gemms = says(m, RA_STEP_CELL_NOTES, "FP8 training");
  call->fp8_scaling = RA_FP8_BLOCKWISE;
  set_micro(m, call, TRUE);
  set_padding(m, call);
  return TRUE;
}

/* A forward pass of training's layout. */
static void
add_forward(Maker *m, RaRecipeKind kind)
{
  RaRecipeCall *call = &m->recipe->calls[kind];

  ra_recipe_like(m->recipe, kind, RA_RECIPE_ACTOR_TRAIN);
  call->full_recompute = call->selective_recompute = FALSE;
  call->optimizer_host = FALSE;
  set_micro(m, call, FALSE);
}

static gboolean
has_reference(const Maker *m)
{
  const RaStepTimes *t = &m->row->measured;

  if (says(m, RA_STEP_CELL_ALGORITHM, "no ref") ||
      says(m, RA_STEP_CELL_ALGORITHM, "no KL"))
    return FALSE;
  return t->s[RA_STEP_REFERENCE] > 0 || habits[m->habit].kl ||
         says(m, RA_STEP_CELL_ALGORITHM, "KL");
}

static gboolean
has_logprobs(const Maker *m)
{
  static const char *const words[] = {"no old log prob", "no log-prob pass",
                                      "no log prob pass",
                                      "old_log_prob taken from the rollout"};

  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    if (says(m, RA_STEP_CELL_NOTES, words[i]) ||
        says(m, RA_STEP_CELL_ALGORITHM, words[i]))
      return FALSE;
  }
  return TRUE;
}

static void
set_forwards(Maker *m)
{
  RaRecipe *r = m->recipe;
  RaRecipeCall *reference = &r->calls[RA_RECIPE_REF_INFERENCE];

  if (has_logprobs(m))
    add_forward(m, RA_RECIPE_ACTOR_INFERENCE);
  if (has_reference(m)) {
    add_forward(m, RA_RECIPE_REF_INFERENCE);
    reference->host = r->lora[RA_RECIPE_ACTOR].rank == 0;
  }
  if (r->model[RA_RECIPE_CRITIC]) {
    add_forward(m, RA_RECIPE_CRITIC_INFERENCE);
    ra_recipe_like(r, RA_RECIPE_CRITIC_TRAIN, RA_RECIPE_ACTOR_TRAIN);
  }
}

/* The fewest GPUs of an engine, a power of two, on which weights take no more
 * than half of its share of their memory; 0: the model is not known. */
static uint32_t
least_engine(const Maker *m, double memory_frac)
{
  g_autofree char *name = g_strconcat(m->gpu, ".profile", NULL);
  g_autofree char *path = ra_share_find("profiles", name, NULL, NULL);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, NULL) : NULL;
  g_autoptr(RaProfile) profile = file ? ra_profile_load(file, NULL) : NULL;
  g_autoptr(RaModel) model =
      ra_model_find(m->recipe->model[RA_RECIPE_ACTOR], NULL, NULL);
  double frac = memory_frac > 0 ? memory_frac : ENGINE_FRAC, room_bytes;
  uint32_t tp = 1;

  if (!profile || !model)
    return 0;
  room_bytes = 0.5 * frac * profile->spec.memory_bytes;
  while (2.0 * (double)ra_model_n_params(model) / tp > room_bytes &&
         tp < m->recipe->calls[RA_RECIPE_GENERATE].n_gpus)
    tp *= 2;
  return tp;
}

/* verl's engines before version 0.6 of 2025-10: `enforce_eager: True` of its
 * rollout.yaml (v0.5.0), and vLLM's own limit of running sequences, as
 * vllm_rollout_spmd.py did not pass `max_num_seqs` on. */
static gboolean
is_before(const Maker *m)
{
  static const char *const before[] = {"2023-", "2024-", "2025-0", "0.1",
                                       "0.2",   "0.3",   "0.4",    NULL};

  return says(m, RA_STEP_CELL_ENGINE, "vllm") &&
         is_release(m, RA_FRAMEWORK_VERL, before);
}

/* The row's recipe: index into recipes[], or their number. */
static guint
recipe_of(const Maker *m)
{
  guint i = 0;

  while (i < G_N_ELEMENTS(recipes) &&
         !says(m, RA_STEP_CELL_NOTES, recipes[i].recipe))
    i++;
  return i;
}

/* TRUE if the engine's scheduler has a process of its own. */
static gboolean
is_async_engine(const Maker *m)
{
  guint i = recipe_of(m);

  return habits[m->habit].async_sequences > 0 &&
         (m->own_gpus > 0 ||
          (i < G_N_ELEMENTS(recipes) && recipes[i].async_engine));
}

static gboolean
is_eager(const Maker *m)
{
  guint i = recipe_of(m);

  return says(m, RA_STEP_CELL_ENGINE, "eager") ||
         (i < G_N_ELEMENTS(recipes) && recipes[i].eager) ||
         (is_before(m) && !says(m, RA_STEP_CELL_NOTES, "cuda graph"));
}

/* Engines. */
static gboolean
set_generate(Maker *m, GError **error)
{
  const RaStepRow *row = m->row;
  RaRecipeCall *call = &m->recipe->calls[RA_RECIPE_GENERATE];
  gboolean is_async = is_async_engine(m);
  double most;

  call->is_there = TRUE;
  call->tp = row->rollout_tp;
  if (call->tp == 0 && row->rollout_dp > 0 &&
      call->n_gpus % row->rollout_dp == 0)
    call->tp = call->n_gpus / row->rollout_dp;
  call->memory_frac = row->memory_frac > 0 ? row->memory_frac
                      : m->own_gpus > 0    ? OWN_FRAC
                                           : habits[m->habit].memory_frac;
  if (call->tp == 0)
    call->tp = least_engine(m, call->memory_frac);
  if (call->tp == 0)
    return fail(error, "the GPUs of an engine are not published");
  if (call->n_gpus % call->tp != 0)
    return fail(error, "engines do not divide the GPUs of generation");
  call->graph = !is_eager(m);
  call->max_sequences = is_async       ? habits[m->habit].async_sequences
                        : is_before(m) ? VLLM_SEQUENCES
                                       : habits[m->habit].max_sequences;
  call->prefill_tokens = is_async ? habits[m->habit].async_tokens
                                  : habits[m->habit].prefill_tokens;
  if (ra_phrase_number(cell_of(m, RA_STEP_CELL_ENGINE), "max_num_seqs ([0-9]+)",
                       &most))
    call->max_sequences = (uint32_t)most;
  call->prefix_sharing = TRUE;
  ra_phrase_drafts(cell_of(m, RA_STEP_CELL_NOTES), &m->recipe->drafts);
  if (says(m, RA_STEP_CELL_NOTES, "FP8 generation") ||
      says(m, RA_STEP_CELL_MODEL, "FP8 rollout"))
    m->recipe->rollout_dtype = g_strdup("fp8");
  if (says(m, RA_STEP_CELL_NOTES, "filter_groups on") ||
      says(m, RA_STEP_CELL_NOTES, "dynamic sampling"))
    m->recipe->trips.n_prompts = FILTER_FACTOR * m->recipe->n_prompts;
  return TRUE;
}

/* Versions by which generation may lag. */
static void
set_async(Maker *m)
{
  RaRecipe *r = m->recipe;
  const char *cell = cell_of(m, RA_STEP_CELL_PLACEMENT);
  double lag = 1, interval;

  if (!ra_published_lags(m->row))
    return;
  if (!ra_phrase_number(cell, "async ([0-9]+)-off", &lag) &&
      !ra_phrase_number(cell, "max staleness ([0-9]+)", &lag) &&
      !ra_phrase_number(cell, "staleness ([0-9.]+)", &lag) &&
      strstr(cell, "staleness 0;"))
    lag = 0;
  r->staleness = (uint32_t)ceil(lag);
  /* in_flight_weight_updates of all NeMo-RL's recipes of async_grpo, v0.4 and
   * v0.5. */
  if (r->staleness > 0 && m->own_gpus > 0 &&
      habits[m->habit].framework == RA_FRAMEWORK_NEMO_RL) {
    r->async = (RaRecipeAsync){
        .is_service = TRUE, .in_flight = TRUE, .sync_interval = 1};
    return;
  }
  if (r->staleness == 0 || !strstr(cell, "fully"))
    return;
  r->async.is_service = r->async.interrupts = TRUE;
  r->async.sync_interval = 1;
  if (ra_phrase_number(cell, "each ([0-9]+) rollouts", &interval))
    r->async.sync_interval = (uint32_t)interval;
}

/* An agent's answer is turns with tools between them; a row's prompt has the
 * tokens of all tools.  slime's pool has no more groups than a step takes
 * (AsyncRolloutWorker, max_concurrent_tasks = rollout_batch_size,
 * examples/fully_async): a batch that runs beside training, not a service. */
static void
set_turns(Maker *m)
{
  RaRecipe *r = m->recipe;
  double turns = AGENT_CALLS + 1;

  ra_phrase_number(cell_of(m, RA_STEP_CELL_ALGORITHM), "([0-9]+) turns",
                   &turns);
  if (!says(m, RA_STEP_CELL_ALGORITHM, "SWE") || m->mean <= 0 || turns < 2)
    return;
  r->turns.mean = turns;
  r->turns.spread = RA_RL_SPREAD * turns;
  r->turns.most = (uint32_t)ceil(turns * m->longest / m->mean);
  r->turns.tool_s = AGENT_CALL_S;
  if (m->prompt > AGENT_PROMPT_TOKENS) {
    r->turns.tool_tokens =
        (uint32_t)((m->prompt - AGENT_PROMPT_TOKENS) / (turns - 1));
    m->prompt = AGENT_PROMPT_TOKENS;
  }
  if (habits[m->habit].framework == RA_FRAMEWORK_SLIME)
    r->async = (RaRecipeAsync){0};
}

static gboolean
fill(Maker *m, GError **error)
{
  const char *algorithm = cell_of(m, RA_STEP_CELL_ALGORITHM);

  m->gpu = ra_published_gpu(m->row, error);
  if (!m->gpu || !find_framework(m, error))
    return FALSE;
  if (says(m, RA_STEP_CELL_PLACEMENT, "training only"))
    return fail(error, "training alone, not a step");
  m->recipe->algorithm =
      g_strdup(g_str_has_prefix(algorithm, "PPO") ? "ppo" : "grpo");
  if (!set_models(m, error) || !set_batch(m, error) || !set_lengths(m, error) ||
      !set_gpus(m, error) || !set_train(m, error) || !set_generate(m, error))
    return FALSE;
  set_forwards(m);
  set_async(m);
  set_turns(m);
  return ra_recipe_settle(m->recipe, error);
}

/* ---- Setup ----------------------------------------------------------------*/

static RaKeyFile *
parse(const char *name, const char *text, GError **error)
{
  return ra_key_file_parse(name, text, strlen(text), error);
}

/* The seconds of hosts in the row are given, not predicted. */
static void
give_host_times(const Maker *m, RaWorkload *workload)
{
  uint32_t call = ra_workload_find_call(workload, "reward");

  if (call != RA_NONE)
    workload->calls[call].host_s = m->row->measured.s[RA_STEP_REWARD];
}

/* Systems are shipped files; a plan names one. */
static gboolean
set_system(RaSetup *setup, const char *name, const RaSystemConstants *constants,
           GError **error)
{
  if (name && !ra_rl_set_system(setup, name, error))
    return FALSE;
  if (setup->system)
    ra_system_apply(setup->system, setup->cluster);
  if (constants)
    ra_estimator_set_system(setup->estimator, constants);
  return TRUE;
}

static RaSetup *
make_setup(const Maker *m, const RaImported *files,
           const RaSystemConstants *constants, GError **error)
{
  g_autoptr(RaSetup) setup = g_new0(RaSetup, 1);
  g_autofree char *profile_name = g_strconcat(m->gpu, ".profile", NULL);
  g_autoptr(RaKeyFile) workload = NULL, cluster = NULL, profile = NULL;

  workload = parse("step.workload", files->workload, error);
  setup->workload = workload ? ra_workload_load(workload, error) : NULL;
  if (setup->workload)
    cluster = parse("step.cluster", files->cluster, error);
  setup->cluster = cluster ? ra_cluster_load(cluster, error) : NULL;
  if (setup->cluster)
    setup->profile_path = ra_share_find("profiles", profile_name, NULL, error);
  if (!setup->profile_path ||
      !(profile = ra_key_file_load(setup->profile_path, error)) ||
      !(setup->profile = ra_profile_load(profile, error)))
    return NULL;
  setup->cluster->device = setup->profile->spec;
  if (ra_published_link(m->row) > 0)
    setup->cluster->device.intra_bytes_per_s = ra_published_link(m->row);
  give_host_times(m, setup->workload);
  setup->estimator = ra_estimator_new(setup->profile, setup->cluster, error);
  if (!setup->estimator ||
      !set_system(setup, ra_published_system(m->row, m->recipe->system),
                  constants, error) ||
      !ra_setup_read_plan(setup, "step.plan", files->plan, error))
    return NULL;
  return g_steal_pointer(&setup);
}

/* Tokens of a prompt's image, where a row has images and its model a tower. */
static uint32_t
image_tokens(const Maker *m)
{
  g_autoptr(RaModel) model =
      ra_model_find(m->recipe->model[RA_RECIPE_ACTOR], NULL, NULL);
  gboolean shows = says(m, RA_STEP_CELL_NOTES, "image") ||
                   says(m, RA_STEP_CELL_NOTES, "vision") ||
                   says(m, RA_STEP_CELL_MODEL, "geo3k");

  if (!shows || !model || model->vision.kind == RA_VISION_NONE ||
      m->prompt <= IMAGE_TEXT_TOKENS)
    return 0;
  return (uint32_t)m->prompt - IMAGE_TEXT_TOKENS;
}

/* TRUE if training fits, by the coarse bound of search. */
static gboolean
train_fits(const RaSetup *setup)
{
  uint32_t call = ra_workload_find_call(setup->workload, "actor_train");
  RaNeed need = ra_need_call(setup->workload, call, &setup->plan->calls[call]);

  return need.held_bytes + need.work_bytes <=
         RA_NEED_LIMIT_FRAC * setup->cluster->device.memory_bytes;
}

static RaSetup *
try_setup(Maker *m, const RaSystemConstants *constants, GError **error)
{
  g_autofree char *prompt = g_strdup_printf("fixed(%.0f)", m->prompt);
  g_autofree char *response =
      m->recipe->turns.mean > 0
          ? g_strdup_printf("fixed(%.0f)", m->mean / m->recipe->turns.mean)
      : m->mean > 0 && m->mean < m->longest
          ? g_strdup_printf("lognormal(%.2f, %.2f, %.0f, %g)", m->mean,
                            RA_RL_SPREAD * m->mean, m->longest,
                            m->is_limit ? FULL_FRAC : 0)
      : m->mean > 0 ? g_strdup_printf("fixed(%.0f)", m->mean)
                    : NULL;
  RaRecipeOptions options = {.name = "step",
                             .source = "a published step",
                             .gpu = m->gpu,
                             .prompt_length = prompt,
                             .response_length = response,
                             .image_tokens = image_tokens(m)};
  g_autoptr(RaImported) files = ra_recipe_make(m->recipe, &options, error);

  return files ? make_setup(m, files, constants, error) : NULL;
}

RaSetup *
ra_published_setup(const RaStepRow *row, const RaSystemConstants *system,
                   GError **error)
{
  Maker m = {.row = row};
  RaSetup *setup = NULL;

  if (fill(&m, error))
    setup = try_setup(&m, system, error);
  if (setup && !*row->cell[RA_STEP_CELL_RECOMPUTE] && !m.sharded &&
      !train_fits(setup)) {
    ra_setup_free(setup);
    m.recipe->calls[RA_RECIPE_ACTOR_TRAIN].full_recompute = TRUE;
    setup = try_setup(&m, system, error);
  }
  ra_recipe_free(m.recipe);
  return setup;
}
