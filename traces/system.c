/* Reading system profiles: the table of constants, and its checks. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "traces/system.h"

static const char *const nouns[] = {"system!", "constants", "memory", NULL};

/* [system]: provenance. */
typedef struct {
  const char *release;
  const char *derived;
  const char *source;
  const char *range;
  const char *error_median;
  double error_p90; /* < 0: not given */
  uint64_t rows;
  uint32_t format;
  int kernels; /* RaKernels */
} RaSystemHead;

/* A fit that is off by 100 times is none. */
#define ERROR_MEDIAN_MAX 100

#define HEAD(field) G_STRUCT_OFFSET(RaSystemHead, field)
static const RaKeySpec head_keys[] = {
    {"format", RA_KEY_UINT32, HEAD(format), .fallback = "1", .min = 1, .max = 1,
     .doc = "version of this format"},
    {"release", RA_KEY_STRING, HEAD(release), .required = TRUE,
     .doc = "system and release"},
    {"derived", RA_KEY_STRING, HEAD(derived), .required = TRUE,
     .doc = "method by which the constants were found"},
    {"source", RA_KEY_STRING, HEAD(source), .required = TRUE,
     .doc = "source of the measurements that they were fitted to"},
    {"rows", RA_KEY_UINT64, HEAD(rows), .required = TRUE,
     .doc = "number of runs that were fitted"},
    {"range", RA_KEY_STRING, HEAD(range), .required = TRUE,
     .doc = "range of validity: models, GPUs, lengths"},
    {"error-median", RA_KEY_STRING, HEAD(error_median), .required = TRUE,
     .doc = "error on held-out runs, or -"},
    {"error-p90", RA_KEY_DOUBLE, HEAD(error_p90), .min = 0,
     .max = ERROR_MEDIAN_MAX,
     .doc = "90th percentile of it: nine of ten runs are no further off; "
            "default: as of normal errors"},
    {"kernels", RA_KEY_ENUM, HEAD(kernels), .fallback = "common",
     .names = ra_kernels_names,
     .doc = "engine whose kernels' laws are taken where a GPU's profile has "
            "them"},
};

/* Bounds: host times up to a second (more is a wrong unit), a factor up to what
 * published iterations of DeepSpeed-Chat take beyond their kernels (24). */
#define CONSTANT(field) G_STRUCT_OFFSET(RaSystemConstants, field)
static const RaKeySpec constant_keys[] = {
    {"decode-layer", RA_KEY_QUANTITY, CONSTANT(decode_layer_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time per layer of an eager decode step"},
    {"decode-stage", RA_KEY_QUANTITY, CONSTANT(decode_stage_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time per stage of an eager decode step"},
    {"decode-adapter", RA_KEY_QUANTITY, CONSTANT(decode_adapter_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time more per layer with adapters of an eager decode step"},
    {"compute-factor", RA_KEY_DOUBLE, CONSTANT(compute_factor), .min = 0.1,
     .max = 30, .doc = "factor on the compute of train and inference calls"},
    {"decode-step", RA_KEY_QUANTITY, CONSTANT(decode_step_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time between two steps of generation"},
    {"decode-sequence", RA_KEY_QUANTITY, CONSTANT(decode_sequence_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time per running sequence of a step of generation"},
    {"prefill-layer", RA_KEY_QUANTITY, CONSTANT(prefill_layer_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time per layer of a batched step with prompts"},
    {"weight-sync", RA_KEY_QUANTITY, CONSTANT(weight_sync_bytes_per_s),
     .min = 1e6, .max = 1e13, .unit = RA_UNIT_BYTES_PER_S,
     .doc = "rate at which software moves weights into or out of a GPU"},
    {"optimizer-copy", RA_KEY_QUANTITY, CONSTANT(optimizer_copy_bytes_per_s),
     .min = 1e6, .max = 1e13, .unit = RA_UNIT_BYTES_PER_S,
     .doc = "rate at which the optimizer's state goes to or from host memory"},
    {"train-launch", RA_KEY_QUANTITY, CONSTANT(train_launch_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time per kernel of eager train and inference calls"},
    {"train-sequence", RA_KEY_QUANTITY, CONSTANT(train_sequence_s), .min = 0,
     .max = 1, .unit = RA_UNIT_SECONDS,
     .doc = "host time per sequence of a forward pass of train and inference "
            "calls"},
    {"attention-factor", RA_KEY_DOUBLE, CONSTANT(attention_factor), .min = 0.1,
     .max = 10, .doc = "factor on the attention of train and inference calls"},
    {"memory-factor", RA_KEY_DOUBLE, CONSTANT(memory_factor), .min = 0.1,
     .max = 20,
     .doc = "factor on norms, activations, rotations, additions and losses of "
            "train and inference calls"},
    {"comm-factor", RA_KEY_DOUBLE, CONSTANT(comm_factor), .min = 0.1, .max = 10,
     .doc = "factor on the communication of train calls"},
};

/* The first spelling is the executor's habit. */
static const char *const shard_names[] = {"mixed", "fp32", NULL};
static const char *const gradient_names[] = {"kept", "dropped", NULL};
static const char *const generation_names[] = {"shared", "engine", NULL};
static const char *const loss_names[] = {"softmax", "in-place", NULL};
static const char *const segment_names[] = {"fixed", "expandable", NULL};
static const char *const copy_names[] = {"exact", "blocks", NULL};
static const char *const asleep_names[] = {"dropped", "host", NULL};

#define HABIT(field) G_STRUCT_OFFSET(RaMemoryHabits, field)
static const RaKeySpec habit_keys[] = {
    {"parameter-shards", RA_KEY_ENUM, HABIT(fp32_shards), .fallback = "mixed",
     .names = shard_names,
     .doc = "trained parameters of zero = 3 between their gathers: beside fp32 "
            "master weights, or fp32 shards alone"},
    {"gradients", RA_KEY_ENUM, HABIT(drop_gradients), .fallback = "kept",
     .names = gradient_names, .doc = "gradients between training calls"},
    {"generation", RA_KEY_ENUM, HABIT(engine), .fallback = "shared",
     .names = generation_names,
     .doc = "engine: weights, cache and workspace of generation are in a fixed "
            "part of the GPU, without allocator slack"},
    {"loss", RA_KEY_ENUM, HABIT(in_place_loss), .fallback = "softmax",
     .names = loss_names,
     .doc = "kept of the logits of zero = 3: their fp32 softmax, or 16-bit "
            "logits that the gradient overwrites"},
    {"segments", RA_KEY_ENUM, HABIT(expandable), .fallback = "fixed",
     .names = segment_names,
     .doc =
         "of the allocator: fixed, with the cluster's slack, or growing page "
         "by page, without"},
    {"host-copies", RA_KEY_ENUM, HABIT(host_blocks), .fallback = "exact",
     .names = copy_names,
     .doc = "tensors in host memory: with their size, or in pinned blocks of "
            "powers of two"},
    {"engine-asleep", RA_KEY_ENUM, HABIT(asleep_in_host), .fallback = "dropped",
     .names = asleep_names,
     .doc = "weights of an engine while its GPUs do other calls: dropped, or "
            "kept in host memory"},
};

const RaKeySpec *
ra_system_constant_specs(gsize *out_n)
{
  g_return_val_if_fail(out_n != NULL, NULL);
  *out_n = G_N_ELEMENTS(constant_keys);
  return constant_keys;
}

double *
ra_system_constant(RaSystemConstants *constants, const char *key)
{
  g_return_val_if_fail(constants != NULL && key != NULL, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(constant_keys); i++)
    if (g_str_equal(constant_keys[i].key, key))
      return &G_STRUCT_MEMBER(double, constants, constant_keys[i].offset);
  g_return_val_if_reached(NULL);
}

const RaKeySpec *
ra_system_key_specs(const char *noun, gsize *out_n)
{
  g_return_val_if_fail(noun != NULL && out_n != NULL, NULL);
  if (g_str_equal(noun, "constants"))
    return ra_system_constant_specs(out_n);
  if (g_str_equal(noun, "memory")) {
    *out_n = G_N_ELEMENTS(habit_keys);
    return habit_keys;
  }
  *out_n = g_str_equal(noun, "system") ? G_N_ELEMENTS(head_keys) : 0;
  return *out_n > 0 ? head_keys : NULL;
}

gboolean
ra_system_sets(const RaSystem *system, const char *key)
{
  int group;

  g_return_val_if_fail(system != NULL && key != NULL, FALSE);
  group = ra_key_file_find_group(system->file, "constants", "");
  return group >= 0 && ra_key_file_get(system->file, (guint)group, key) != NULL;
}

static gboolean
read_head(RaSystem *system, guint group, GError **error)
{
  RaSystemHead head = {.error_p90 = -1};

  if (!ra_key_file_read_group(system->file, group, head_keys,
                              G_N_ELEMENTS(head_keys), &head, error))
    return FALSE;
  system->release = head.release;
  system->derived = head.derived;
  system->source = head.source;
  system->range = head.range;
  system->n_rows = head.rows;
  system->constants = (RaSystemConstants)RA_SYSTEM_CONSTANTS_NONE;
  system->constants.kernels = (RaKernels)head.kernels;
  system->error_median_frac = (double)NAN;
  system->error_p90_frac = head.error_p90 < 0 ? (double)NAN : head.error_p90;
  if (strcmp(head.error_median, "-") == 0)
    return TRUE;
  if (!ra_text_double(head.error_median, &system->error_median_frac) ||
      system->error_median_frac < 0 ||
      system->error_median_frac > ERROR_MEDIAN_MAX)
    return ra_key_file_fail(system->file, group, "error-median", error,
                            "'error-median' is '%s', expected a ratio of 0 "
                            "to 100, or '-' where it was not measured",
                            head.error_median);
  return TRUE;
}

/* Phase of the constant @key. */
static RaSystemPhase
phase_of(const char *key)
{
  static const char *const training[] = {"compute-factor", "train-launch",
                                         "attention-factor", "memory-factor",
                                         "comm-factor"};

  for (gsize i = 0; i < G_N_ELEMENTS(training); i++)
    if (g_str_equal(key, training[i]))
      return RA_SYSTEM_TRAINING;
  return g_str_equal(key, "weight-sync") || g_str_equal(key, "optimizer-copy")
             ? RA_SYSTEM_MOVES
             : RA_SYSTEM_GENERATION;
}

static gboolean
read_constants(RaSystem *system, GError **error)
{
  int at = ra_key_file_find_group(system->file, "constants", "");
  guint of_phase[RA_N_SYSTEM_PHASES] = {0};
  guint n = 0, most = 0, group = (guint)at;

  if (at < 0)
    return TRUE;
  if (!ra_key_file_read_group(system->file, group, constant_keys,
                              G_N_ELEMENTS(constant_keys), &system->constants,
                              error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(constant_keys); i++) {
    guint *n_phase = &of_phase[phase_of(constant_keys[i].key)];

    if (!ra_system_sets(system, constant_keys[i].key))
      continue;
    n++;
    ++*n_phase;
    most = MAX(most, *n_phase);
  }
  if (n >= 1 && most <= RA_SYSTEM_CONSTANTS_MAX)
    return TRUE;
  return ra_key_file_fail(system->file, group, NULL, error,
                          "%u constants of a phase, expected 1 to %d", most,
                          RA_SYSTEM_CONSTANTS_MAX);
}

/* Reads [memory]; a system has it, constants, or kernels of its own. */
static gboolean
read_habits(RaSystem *system, GError **error)
{
  int group = ra_key_file_find_group(system->file, "memory", "");

  if (group >= 0)
    return ra_key_file_read_group(system->file, (guint)group, habit_keys,
                                  G_N_ELEMENTS(habit_keys), &system->habits,
                                  error);
  if (ra_key_file_find_group(system->file, "constants", "") >= 0 ||
      system->constants.kernels != RA_KERNELS_COMMON)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no [constants], no [memory] and no kernels, expected one of "
              "them",
              ra_key_file_name(system->file));
  return FALSE;
}

RaSystem *
ra_system_load(RaKeyFile *file, GError **error)
{
  g_autoptr(RaSystem) system = NULL;

  g_return_val_if_fail(file != NULL, NULL);
  if (!ra_key_file_check_nouns(file, nouns, error))
    return NULL;
  system = g_new0(RaSystem, 1);
  system->file = ra_key_file_ref(file);
  if (!read_head(system, (guint)ra_key_file_find_group(file, "system", ""),
                 error) ||
      !read_constants(system, error) || !read_habits(system, error))
    return NULL;
  return g_steal_pointer(&system);
}

/* TensorRT-LLM's MLA module runs both norms at once, and the positions and
 * the first GEMM of every head (maybe_execute_in_parallel() of its
 * attention.py). */
void
ra_system_apply(const RaSystem *system, RaCluster *cluster)
{
  cluster->habits = system->habits;
  cluster->second_stream = system->constants.kernels == RA_KERNELS_TRTLLM;
}

void
ra_system_free(RaSystem *system)
{
  if (system == NULL)
    return;
  ra_key_file_unref(system->file);
  g_free(system);
}
