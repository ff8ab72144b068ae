/* Reader of a workload's groups, one by one. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/input/form.h"
#include "graph/input/lora.h"
#include "graph/input/model_find.h"
#include "graph/input/workload_read.h"

/* The groups as they are written. */
typedef struct {
  const char *config;
  gboolean trainable;
  int head;
  int dtype;
  int optimizer; /* -1: not given */
  int expert_loads;
  RaLoraKeys lora;
} ModelKeys;

typedef struct {
  const char *model; /* NULL: not given */
  int kind;
  const char *const *inputs;
  const char *const *outputs; /* NULL: none */
  uint32_t samples_per_prompt;
  uint32_t mini_batches;
  uint32_t epochs;
  uint32_t staleness;
  double host_s;
  gboolean each_trip;
  RaDrafts drafts;
} CallKeys;

static const char *const head_words[] = {"lm", "value", NULL};
static const char *const dtype_words[] = {"bf16", "fp16", "fp32", "fp8", NULL};
static const char *const optimizer_words[] = {"none", "adamw", NULL};
static const char *const load_words[] = {"even", "power-law", "power-law-1.2",
                                         NULL};
static const char *const kind_words[] = {"generate", "inference", "train",
                                         "host", NULL};

static const char *const draft_words[] = {"layer", "lookup", NULL};
static const char *const token_words[] = {"ids", "bytes", NULL};

#define MAX_PROMPTS RA_WORKLOAD_SEQUENCES_MAX
#define MAX_SAMPLES 65536
#define MAX_MINI_BATCHES 65536
#define MAX_EPOCHS 1000
#define MAX_STALENESS 1000
#define MAX_IMAGES 65536
#define MAX_DRAFTS 64

/* clang-format off */
static const RaKeySpec common_keys[] = {
  {"algorithm", RA_KEY_STRING, G_STRUCT_OFFSET(RaWorkloadKeys, algorithm),
   .required = TRUE,
   .doc = "label such as ppo; only `run` reads it, to tell rloo from grpo"},
  {"dataset", RA_KEY_STRINGS, G_STRUCT_OFFSET(RaWorkloadKeys, dataset),
   .required = TRUE, .doc = "names of the input data, which no call makes"},
  {"prompts", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, prompts),
   .required = TRUE, .min = 1, .max = MAX_PROMPTS,
   .doc = "number of prompts per iteration"},
  {"samples-per-prompt", RA_KEY_UINT32,
   G_STRUCT_OFFSET(RaWorkloadKeys, samples_per_prompt),
   .fallback = "1", .min = 1, .max = MAX_SAMPLES,
   .doc = "number of sequences per prompt"},
  {"prompt-length", RA_KEY_STRING,
   G_STRUCT_OFFSET(RaWorkloadKeys, prompt_length),
   .required = TRUE, .doc = "length distribution such as fixed(1024)"},
  {"response-length", RA_KEY_STRING,
   G_STRUCT_OFFSET(RaWorkloadKeys, response_length), .required = TRUE,
   .doc = "length distribution such as lognormal(600, 450, 1024)"},
  {"response-correlation", RA_KEY_DOUBLE,
   G_STRUCT_OFFSET(RaWorkloadKeys, response_correlation), .fallback = "0",
   .min = 0, .max = 1,
   .doc = "correlation of the lengths of responses to a prompt; 0: none"},
  {"data", RA_KEY_STRING, G_STRUCT_OFFSET(RaWorkloadKeys, data),
   .doc = "file of prompts and responses; the length distributions bound them"},
  {"data-tokens", RA_KEY_ENUM, G_STRUCT_OFFSET(RaWorkloadKeys, data_tokens),
   .fallback = "ids", .names = token_words,
   .doc = "data: token ids, or text whose bytes are the tokens"},
  {"mini-batches", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, mini_batches),
   .fallback = "1", .min = 1, .max = MAX_MINI_BATCHES,
   .doc = "optimizer steps of a train call per epoch"},
  {"epochs", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, epochs),
   .fallback = "1", .min = 1, .max = MAX_EPOCHS,
   .doc = "passes of a train call over its sequences"},
  {"staleness", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, staleness),
   .fallback = "0", .min = 0, .max = MAX_STALENESS,
   .doc = "versions by which parameters of generate calls may lag"},
  {"trip-prompts", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, trip_prompts),
   .min = 1, .max = MAX_PROMPTS,
   .doc = "dynamic sampling: prompts per round, until 'prompts' have passed"},
  {"pass-rate", RA_KEY_DOUBLE, G_STRUCT_OFFSET(RaWorkloadKeys, pass_rate),
   .fallback = "1", .min = 1e-6, .max = 1,
   .doc = "trip-prompts: probability that a prompt's group is trained on"},
  {"max-trips", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, max_trips),
   .fallback = "10", .min = 1, .max = 1000,
   .doc = "trip-prompts: rounds after which training takes all groups"},
  {"images", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, images), .min = 1,
   .max = MAX_IMAGES, .doc = "image-tokens: images of a prompt, default 1"},
  {"image-tokens", RA_KEY_UINT32, G_STRUCT_OFFSET(RaWorkloadKeys, image_tokens),
   .min = 1, .max = RA_LENGTH_MAX_TOKENS,
   .doc = "tokens of 'prompt-length' that images become, by a vision tower"},
  RA_TURN_KEY_SPECS(G_STRUCT_OFFSET(RaWorkloadKeys, turns)),
};

static const RaKeySpec model_keys[] = {
  {"config", RA_KEY_STRING, G_STRUCT_OFFSET(ModelKeys, config),
   .required = TRUE,
   .doc = "config file, folder or published name of the model"},
  {"trainable", RA_KEY_BOOL, G_STRUCT_OFFSET(ModelKeys, trainable),
   .fallback = "false", .doc = "true if some call trains the model"},
  {"head", RA_KEY_ENUM, G_STRUCT_OFFSET(ModelKeys, head), .fallback = "lm",
   .names = head_words, .doc = "lm, or value for critics and reward models"},
  {"dtype", RA_KEY_ENUM, G_STRUCT_OFFSET(ModelKeys, dtype), .fallback = "bf16",
   .names = dtype_words, .doc = "type of parameters and activations"},
  {"optimizer", RA_KEY_ENUM, G_STRUCT_OFFSET(ModelKeys, optimizer),
   .names = optimizer_words,
   .doc = "default: adamw if the model is trainable, else none"},
  {"expert-loads", RA_KEY_ENUM, G_STRUCT_OFFSET(ModelKeys, expert_loads),
   .names = load_words,
   .doc = "how tokens choose experts: even; a power law of exponent 0.6 "
          "(default of more than 16 experts) or 1.2, less even"},
  RA_LORA_KEY_SPECS(G_STRUCT_OFFSET(ModelKeys, lora)),
};

static const RaKeySpec call_keys[] = {
  {"kind", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, kind), .required = TRUE,
   .names = kind_words, .doc = "kind of call"},
  {"model", RA_KEY_STRING, G_STRUCT_OFFSET(CallKeys, model),
   .doc = "model that runs; all kinds except host have one"},
  {"inputs", RA_KEY_STRINGS, G_STRUCT_OFFSET(CallKeys, inputs),
   .required = TRUE, .doc = "names of data, such as sequences:chunk(4)"},
  {"outputs", RA_KEY_STRINGS, G_STRUCT_OFFSET(CallKeys, outputs),
   .doc = "names of data that the call makes"},
  {"samples-per-prompt", RA_KEY_UINT32,
   G_STRUCT_OFFSET(CallKeys, samples_per_prompt), .min = 1,
   .max = MAX_SAMPLES, .doc = "sequences that the call makes for a prompt"},
  {"mini-batches", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, mini_batches),
   .min = 1, .max = MAX_MINI_BATCHES, .doc = "train: steps per epoch"},
  {"epochs", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, epochs),
   .min = 1, .max = MAX_EPOCHS, .doc = "train: passes over the sequences"},
  {"staleness", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, staleness),
   .min = 0, .max = MAX_STALENESS,
   .doc = "versions by which the parameters may lag"},
  {"host-time", RA_KEY_QUANTITY, G_STRUCT_OFFSET(CallKeys, host_s),
   .unit = RA_UNIT_SECONDS, .min = 0, .max = 1e9,
   .doc = "host: time per iteration, such as 5 s"},
  {"each-trip", RA_KEY_BOOL, G_STRUCT_OFFSET(CallKeys, each_trip),
   .fallback = "false", .doc = "trip-prompts: true: runs in each round"},
  {"draft-tokens", RA_KEY_UINT32, G_STRUCT_OFFSET(CallKeys, drafts.n_tokens),
   .min = 1, .max = MAX_DRAFTS,
   .doc = "generate: tokens that are guessed and verified in one pass"},
  {"draft-accepted", RA_KEY_DOUBLE,
   G_STRUCT_OFFSET(CallKeys, drafts.accepted_frac), .min = 0, .max = 1,
   .doc = "draft-tokens: share of them that is accepted"},
  {"draft", RA_KEY_ENUM, G_STRUCT_OFFSET(CallKeys, drafts.kind),
   .fallback = "layer", .names = draft_words,
   .doc = "draft-tokens: guessed by one more layer (MTP, EAGLE), or looked up"},
};
/* clang-format on */

const RaKeySpec *
ra_workload_key_specs(const char *noun, gsize *out_n)
{
  g_return_val_if_fail(noun != NULL && out_n != NULL, NULL);

  if (g_str_equal(noun, "workload")) {
    *out_n = G_N_ELEMENTS(common_keys);
    return common_keys;
  }
  if (g_str_equal(noun, "model")) {
    *out_n = G_N_ELEMENTS(model_keys);
    return model_keys;
  }
  *out_n = g_str_equal(noun, "call") ? G_N_ELEMENTS(call_keys) : 0;
  return *out_n > 0 ? call_keys : NULL;
}

/* Keys that only some kinds of calls have: a bit a kind. */
static const struct {
  const char *key;
  guint kinds;
  const char *where;
} kind_keys[] = {
    {"model",
     1u << RA_CALL_GENERATE | 1u << RA_CALL_INFERENCE | 1u << RA_CALL_TRAIN,
     "generate, inference and train calls"},
    {"mini-batches", 1u << RA_CALL_TRAIN, "train calls"},
    {"epochs", 1u << RA_CALL_TRAIN, "train calls"},
    {"staleness", 1u << RA_CALL_GENERATE | 1u << RA_CALL_INFERENCE,
     "generate and inference calls"},
    {"host-time", 1u << RA_CALL_HOST, "host calls"},
    {"each-trip", 1u << RA_CALL_INFERENCE | 1u << RA_CALL_HOST,
     "inference and host calls"},
    {"draft-tokens", 1u << RA_CALL_GENERATE, "generate calls"},
    {"draft-accepted", 1u << RA_CALL_GENERATE, "generate calls"},
    {"draft", 1u << RA_CALL_GENERATE, "generate calls"},
};

/* Names stand in traces and flags: letters, digits, `_`, `-`, beginning with
 * a letter. */
static gboolean
is_name(const char *text)
{
  gsize n = strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-");

  return g_ascii_isalpha(*text) && text[n] == '\0' && n <= RA_NAME_MAX;
}

static gboolean
check_name(const RaKeyFile *file, guint group, const char *key,
           const char *name, GError **error)
{
  return is_name(name) ||
         ra_key_file_fail(file, group, key, error,
                          "'%.*s' is not a name, expected a letter, then at "
                          "most %d letters, digits, '_' or '-'",
                          RA_NAME_MAX, name, RA_NAME_MAX - 1);
}

static gboolean
read_law(RaKeyFile *file, guint group, const char *key, const char *text,
         RaLength *out_law, GError **error)
{
  GError *cause = NULL;

  if (ra_length_parse(text, ra_key_file_name(file), out_law, &cause))
    return TRUE;
  ra_key_file_fail(file, group, key, error, "'%s': %s", key, cause->message);
  g_error_free(cause);
  return FALSE;
}

/* Images of a prompt, which are part of it. */
static gboolean
read_images(RaWorkload *workload, const RaWorkloadKeys *keys, GError **error)
{
  double mean = ra_length_mean(&workload->prompt_length);

  if (keys->images > keys->image_tokens)
    return ra_key_file_fail(
        workload->file, keys->group, "images", error,
        "'images' is %u of %u tokens, expected 'image-tokens' "
        "of at least one for each",
        keys->images, keys->image_tokens);
  if (keys->image_tokens > mean)
    return ra_key_file_fail(workload->file, keys->group, "image-tokens", error,
                            "'image-tokens' is %u, expected at most %.6g, the "
                            "mean of 'prompt-length', which they are part of",
                            keys->image_tokens, mean);
  workload->image_tokens = keys->image_tokens;
  workload->n_images = keys->image_tokens > 0 ? MAX(keys->images, 1) : 0;
  return TRUE;
}

/* Gives the images to the models that see them. */
static gboolean
give_images(RaWorkload *workload, guint group, GError **error)
{
  gboolean has_tower = workload->image_tokens == 0;

  for (guint i = 0; i < workload->n_models; i++) {
    RaModel *model = workload->models[i].model;

    if (model->vision.kind == RA_VISION_NONE)
      continue;
    model->image_tokens = workload->image_tokens;
    model->n_images = workload->n_images;
    model->prompt_tokens = ra_length_mean(&workload->prompt_length);
    has_tower = TRUE;
  }
  return has_tower ||
         ra_key_file_fail(workload->file, group, "image-tokens", error,
                          "'image-tokens', but no model has a vision tower "
                          "that is modelled, expected one such as "
                          "Qwen/Qwen2.5-VL-7B-Instruct");
}

static gboolean
read_common(RaWorkload *workload, RaWorkloadKeys *keys, GError **error)
{
  RaKeyFile *file = workload->file;
  guint group = (guint)ra_key_file_find_group(file, "workload", "");

  keys->group = group;
  if (!ra_key_file_read_group(file, group, common_keys,
                              G_N_ELEMENTS(common_keys), keys, error))
    return FALSE;
  for (guint i = 0; keys->dataset[i]; i++) {
    if (!check_name(file, group, "dataset", keys->dataset[i], error))
      return FALSE;
  }
  workload->algorithm = keys->algorithm;
  workload->n_prompts = keys->prompts;
  workload->response_correlation = keys->response_correlation;
  workload->n_trip_prompts = keys->trip_prompts;
  workload->pass_rate = keys->pass_rate;
  workload->max_trips = keys->max_trips;
  return read_law(file, group, "prompt-length", keys->prompt_length,
                  &workload->prompt_length, error) &&
         read_law(file, group, "response-length", keys->response_length,
                  &workload->response_length, error) &&
         read_images(workload, keys, error) &&
         ra_workload_read_data(workload, keys, error) &&
         ra_turns_read(workload, group, &keys->turns, error);
}

static gboolean
load_config(RaWorkload *workload, RaWorkloadModel *model, GError **error)
{
  const char *name = ra_key_file_name(workload->file);
  GError *cause = NULL;

  model->model = ra_model_find(model->config, name, &cause);
  if (!model->model) {
    ra_key_file_fail(workload->file, model->group, "config", error,
                     "'config': %s", cause->message);
    g_error_free(cause);
    return FALSE;
  }
  ra_model_set_head(model->model, (RaModelHead)model->head);
  return TRUE;
}

/* Exponents of power laws of loads, hundredths, as in kernels_moe_sglang: the
 * most even and the least even that were measured.  The first agrees with
 * training of Qwen3-30B-A3B (docs/workloads.md, "Loads of experts"). */
static const guint16 expert_skews[] = {0, 60, 120};
#define USUAL_LOADS 1

/* Few experts have nearly even loads: those of Mixtral 8x7B on eight kinds of
 * text (arXiv 2401.04088, figure 7). */
#define FEW_EXPERTS 16

static gboolean
set_loads(RaWorkload *workload, const RaWorkloadModel *model, int loads,
          GError **error)
{
  guint usual = model->model->n_experts > FEW_EXPERTS ? USUAL_LOADS : 0;

  if (loads > 0 && model->model->n_experts == 0)
    return ra_key_file_fail(workload->file, model->group, "expert-loads", error,
                            "'expert-loads' of '%s', which has no experts, "
                            "expected a mixture of experts",
                            model->name);
  model->model->expert_skew =
      expert_skews[loads >= 0 ? (guint)loads : usual];
  return TRUE;
}

static gboolean
read_model(RaWorkload *workload, guint group, GError **error)
{
  RaKeyFile *file = workload->file;
  ModelKeys keys = {.optimizer = -1, .expert_loads = -1};
  RaWorkloadModel *model = &workload->models[workload->n_models++];

  model->name = ra_key_file_group_name(file, group);
  model->group = group;
  if (!check_name(file, group, NULL, model->name, error) ||
      !ra_key_file_read_group(file, group, model_keys, G_N_ELEMENTS(model_keys),
                              &keys, error))
    return FALSE;
  if (keys.optimizer < 0)
    keys.optimizer = keys.trainable ? RA_OPTIMIZER_ADAMW : RA_OPTIMIZER_NONE;
  if (keys.trainable != (keys.optimizer != RA_OPTIMIZER_NONE))
    return ra_key_file_fail(file, group, "optimizer", error,
                            "'optimizer' is %s, expected %s as 'trainable' "
                            "is %s",
                            optimizer_words[keys.optimizer],
                            keys.trainable ? "adamw" : "none",
                            keys.trainable ? "true" : "false");
  model->config = keys.config;
  model->trainable = keys.trainable;
  model->head = keys.head;
  model->dtype = keys.dtype;
  model->optimizer = keys.optimizer;
  return load_config(workload, model, error) &&
         set_loads(workload, model, keys.expert_loads, error) &&
         ra_lora_read(workload, model, &keys.lora, error);
}

/* `name`, `name:whole` or `name:chunk(n)`. */
static gboolean
read_input(RaWorkload *workload, const RaCall *call, const char *text,
           RaInput *input, GError **error)
{
  const char *colon = strchr(text, ':');
  g_autofree char *name = colon ? g_strndup(text, (gsize)(colon - text)) : NULL;
  g_auto(RaForm) form = {0};
  gboolean good = TRUE;

  if (name)
    g_strchomp(name);
  input->producer = RA_NONE;
  input->n_chunks = 1;
  if (!check_name(workload->file, call->group, "inputs", name ? name : text,
                  error))
    return FALSE;
  input->data =
      g_string_chunk_insert_const(workload->texts, name ? name : text);
  if (colon) {
    good = ra_form_parse(colon + 1, &form, NULL) &&
           ((g_str_equal(form.word, "whole") && form.n_args == 0) ||
            (g_str_equal(form.word, "chunk") && form.n_args == 1 &&
             ra_form_uint32(form.args[0], "", 1, RA_WORKLOAD_CHUNKS_MAX,
                            &input->n_chunks, NULL)));
  }
  return good || ra_key_file_fail(workload->file, call->group, "inputs", error,
                                  "input '%s' cannot be read, expected name, "
                                  "name:whole or name:chunk(n), n from 1 to "
                                  "%d",
                                  text, RA_WORKLOAD_CHUNKS_MAX);
}

static gboolean
read_edges(RaWorkload *workload, RaCall *call, const CallKeys *keys,
           GError **error)
{
  static const char *const none[] = {NULL};
  guint n_inputs = g_strv_length((char **)keys->inputs);

  call->outputs = keys->outputs ? keys->outputs : none;
  call->n_outputs = g_strv_length((char **)call->outputs);
  if (MAX(n_inputs, call->n_outputs) > RA_WORKLOAD_INPUTS_MAX)
    return ra_key_file_fail(workload->file, call->group,
                            n_inputs > call->n_outputs ? "inputs" : "outputs",
                            error, "'%s' has %u of them, expected at most %d",
                            call->name, MAX(n_inputs, call->n_outputs),
                            RA_WORKLOAD_INPUTS_MAX);
  call->inputs = g_new0(RaInput, n_inputs);
  for (guint i = 0; i < n_inputs; i++) {
    if (!read_input(workload, call, keys->inputs[i], &call->inputs[i], error))
      return FALSE;
  }
  call->n_inputs = n_inputs;
  for (guint i = 0; i < call->n_outputs; i++) {
    if (!check_name(workload->file, call->group, "outputs", call->outputs[i],
                    error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
fail_unknown_model(const RaWorkload *workload, const RaCall *call,
                   const char *name, GError **error)
{
  g_autofree const char **names = g_new0(const char *, workload->n_models + 1);
  g_autofree char *hint = NULL;

  for (guint i = 0; i < workload->n_models; i++)
    names[i] = workload->models[i].name;
  hint = ra_form_hint(name, names);
  return ra_key_file_fail(workload->file, call->group, "model", error,
                          "unknown model '%s' of '%s', expected the name of "
                          "a [model NAME]%s",
                          name, call->name, hint);
}

/* The call's model, and whether it can do what the call does. */
static gboolean
check_model(const RaWorkload *workload, RaCall *call, const char *name,
            GError **error)
{
  const RaWorkloadModel *model;

  call->model = RA_NONE;
  if (call->kind == RA_CALL_HOST)
    return TRUE;
  if (!name)
    return ra_key_file_fail(workload->file, call->group, NULL, error,
                            "missing key 'model' in [call %s], expected the "
                            "name of a [model NAME]",
                            call->name);
  call->model = ra_workload_find_model(workload, name);
  if (call->model == RA_NONE)
    return fail_unknown_model(workload, call, name, error);
  model = &workload->models[call->model];
  if (call->kind == RA_CALL_TRAIN && !model->trainable)
    return ra_key_file_fail(workload->file, call->group, "model", error,
                            "'%s' trains '%s', expected 'trainable = true' "
                            "in [model %s]",
                            call->name, name, name);
  if (call->kind == RA_CALL_GENERATE && model->head != RA_HEAD_LM)
    return ra_key_file_fail(workload->file, call->group, "model", error,
                            "'%s' generates with the value head of '%s', "
                            "expected a model with 'head = lm'",
                            call->name, name);
  if (call->kind != RA_CALL_TRAIN && !model->trainable &&
      ra_key_file_get(workload->file, call->group, "staleness"))
    return ra_key_file_fail(workload->file, call->group, "staleness", error,
                            "no call trains '%s', expected 'staleness' on "
                            "calls of trained models only",
                            name);
  return TRUE;
}

/* The number of drafts and the share that is accepted belong together. */
static gboolean
check_drafts(RaKeyFile *file, guint group, GError **error)
{
  static const char *const keys[] = {"draft-tokens", "draft-accepted", "draft"};
  gboolean any = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    any = any || ra_key_file_get(file, group, keys[i]);
  for (guint i = 0; any && i < 2; i++) {
    if (!ra_key_file_get(file, group, keys[i]))
      return ra_key_file_fail(file, group, NULL, error,
                              "missing key '%s' in [call %s], expected it "
                              "beside '%s'",
                              keys[i], ra_key_file_group_name(file, group),
                              keys[1 - i]);
  }
  return TRUE;
}

static gboolean
read_call(RaWorkload *workload, guint group, const RaWorkloadKeys *common,
          GError **error)
{
  RaKeyFile *file = workload->file;
  RaCall *call = &workload->calls[workload->n_calls++];
  CallKeys keys = {
      .samples_per_prompt = common->samples_per_prompt,
      .mini_batches = common->mini_batches,
      .epochs = common->epochs,
      .staleness = UINT32_MAX,
  };

  call->name = ra_key_file_group_name(file, group);
  call->group = group;
  if (!check_name(file, group, NULL, call->name, error) ||
      !ra_key_file_read_group(file, group, call_keys, G_N_ELEMENTS(call_keys),
                              &keys, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(kind_keys); i++) {
    if (!(kind_keys[i].kinds & 1u << keys.kind) &&
        ra_key_file_get(file, group, kind_keys[i].key))
      return ra_key_file_fail(file, group, kind_keys[i].key, error,
                              "'%s' of the %s call '%s', expected it on %s "
                              "only",
                              kind_keys[i].key, kind_words[keys.kind],
                              call->name, kind_keys[i].where);
  }
  if (keys.kind == RA_CALL_HOST && !ra_key_file_get(file, group, "host-time"))
    return ra_key_file_fail(file, group, NULL, error,
                            "missing key 'host-time' in [call %s], expected "
                            "the time of an iteration, such as 5 s",
                            call->name);
  call->kind = keys.kind;
  call->drafts = keys.drafts;
  if (!check_drafts(file, group, error) ||
      !read_edges(workload, call, &keys, error) ||
      !check_model(workload, call, keys.model, error))
    return FALSE;
  call->samples_per_prompt = keys.samples_per_prompt;
  call->n_mini_batches = keys.kind == RA_CALL_TRAIN ? keys.mini_batches : 1;
  call->n_epochs = keys.kind == RA_CALL_TRAIN ? keys.epochs : 1;
  call->host_s = keys.host_s;
  call->each_trip = keys.each_trip || (keys.kind == RA_CALL_GENERATE &&
                                       workload->n_trip_prompts > 0);
  if (keys.staleness != UINT32_MAX)
    call->staleness = keys.staleness;
  else if (keys.kind == RA_CALL_GENERATE &&
           workload->models[call->model].trainable)
    call->staleness = common->staleness;
  return TRUE;
}

/* Counts the groups of @noun and refuses more than @max. */
static gboolean
count_groups(RaKeyFile *file, const char *noun, guint max, guint *out_n,
             GError **error)
{
  *out_n = 0;
  for (guint i = 0; i < ra_key_file_n_groups(file); i++) {
    if (g_str_equal(ra_key_file_group_noun(file, i), noun) && ++*out_n > max)
      return ra_key_file_fail(file, i, NULL, error,
                              "more than %u groups [%s NAME], expected at "
                              "most that many",
                              max, noun);
  }
  return TRUE;
}

gboolean
ra_workload_read_groups(RaWorkload *workload, RaWorkloadKeys *common,
                        GError **error)
{
  RaKeyFile *file = workload->file;
  guint n_models, n_calls;

  if (!count_groups(file, "model", RA_WORKLOAD_MODELS_MAX, &n_models, error) ||
      !count_groups(file, "call", RA_WORKLOAD_CALLS_MAX, &n_calls, error) ||
      !read_common(workload, common, error))
    return FALSE;
  if (n_calls == 0)
    return ra_key_file_fail(file, common->group, NULL, error,
                            "no calls, expected at least one [call NAME]");
  workload->models = g_new0(RaWorkloadModel, n_models);
  workload->calls = g_new0(RaCall, n_calls);
  for (guint i = 0; i < ra_key_file_n_groups(file); i++) {
    if (g_str_equal(ra_key_file_group_noun(file, i), "model") &&
        !read_model(workload, i, error))
      return FALSE;
  }
  if (!ra_lora_check_bases(workload, error) ||
      !give_images(workload, common->group, error))
    return FALSE;
  for (guint i = 0; i < ra_key_file_n_groups(file); i++) {
    if (g_str_equal(ra_key_file_group_noun(file, i), "call") &&
        !read_call(workload, i, common, error))
      return FALSE;
  }
  return TRUE;
}
