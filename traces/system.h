/* A system profile: what a training system costs beside its kernels.
 *
 * A profile (traces/profile.h) says how fast a GPU runs a kernel; a system
 * (ReaLHF, Megatron, OpenRLHF, vLLM, ...) decides how fast kernels are handed
 * to it and which ones they are.  That is at most three constants, fitted on
 * few published runs of one release, each neutral where it is left out:
 *
 *     [system]
 *     format = 1
 *     release = ReaLHF, 2024         one system, one release
 *     derived = ...                  how the constants were found
 *     source = ...                   whose measurements
 *     rows = 3                       runs that they were fitted on
 *     range = ...                    of validity, for people
 *     error-median = 0.11            held-out absolute relative error; `-`:
 *                                    not measured
 *     [constants]
 *     decode-layer = 1.2 ms          host time of a layer, a decode step
 *     decode-stage = 2.1 ms          host time of a stage, a decode step
 *     compute-factor = 1.4           device time of train and inference
 *     train-launch = 60 us           host time of one of their kernels
 *     attention-factor = 1.3         on their attention, beside the above
 *     comm-factor = 1.2              on their communication
 *     decode-step = 5 ms             host time between steps of a graph
 *     prefill-layer = 0.7 ms         host time of a layer, a step with prompts
 *     one-shot = 4 us                latency of the engine's own all-reduce
 *     weight-sync = 2 GB/s           a GPU's parameters through software
 *
 * Where they enter stands at estimator/estimator.h.  A new constant is a row
 * in the table of system.c and its use there.
 */
#ifndef RA_TRACES_SYSTEM_H
#define RA_TRACES_SYSTEM_H

#include "base/keyfile.h"

/* Most constants that one system may set: more would be a fit of the runs and
 * not of the system. */
#define RA_SYSTEM_CONSTANTS_MAX 3

typedef struct {
  double decode_layer_s;  /* host time of each layer in an eager decode step */
  double decode_stage_s;  /* host time of each stage in an eager decode step */
  double compute_factor;  /* on the compute of train and inference calls, > 0 */
  double decode_step_s;   /* host time after each decode step of a graph */
  double prefill_layer_s; /* host time of each layer in a step of continuous
                             batching that has prompts in it */
  double one_shot_s; /* latency of the engine's own all-reduce in a node; 0: it
                        has none */
  double weight_sync_bytes_per_s; /* of software that carries parameters from
                                     layout to layout; 0: none */
  double train_launch_s;   /* host time of a kernel of eager train and inference
                     calls; 0: as the GPU's profile has it */
  double attention_factor; /* on their attention, beside compute_factor; 0
                              counts as 1 */
  double comm_factor;      /* on their collectives and sends; 0 counts as 1 */
} RaSystemConstants;

/* No system: kernels and launches alone. */
#define RA_SYSTEM_CONSTANTS_NONE                                               \
  {                                                                            \
    .compute_factor = 1, .attention_factor = 1, .comm_factor = 1               \
  }

typedef struct {
  RaKeyFile *file;             /* owned reference; the texts borrow from it */
  const char *release;         /* system and release */
  const char *derived;         /* how the constants were found */
  const char *source;          /* whose measurements */
  const char *range;           /* of validity, for people */
  uint64_t n_rows;             /* fitted on */
  double error_median_frac;    /* held out; NAN: not measured */
  RaSystemConstants constants; /* SI */
} RaSystem;

/**
 * ra_system_load:
 * @file: (transfer none): referenced
 * @error: %RA_ERROR_INPUT `file:line: ...`: what ra_key_file_read_group()
 *   refuses, an error that is no ratio, more than RA_SYSTEM_CONSTANTS_MAX
 *   constants or none
 *
 * Returns: (transfer full): ra_system_free() it
 */
RaSystem *ra_system_load(RaKeyFile *file, GError **error);
void ra_system_free(RaSystem *system);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSystem, ra_system_free)

/* (array length=out_n): the constants that a system may set, as keys of an
 * RaSystemConstants, static. */
const RaKeySpec *ra_system_constant_specs(gsize *out_n);

/* (transfer none): where @constants has the one called @key, one of
 * ra_system_constant_specs(). */
double *ra_system_constant(RaSystemConstants *constants, const char *key);

/* (array length=out_n) (nullable): the keys that `[noun]` of a system may have,
 * static; %NULL for a noun that it does not have. */
const RaKeySpec *ra_system_key_specs(const char *noun, gsize *out_n);

/* Whether @system sets the constant called @key. */
gboolean ra_system_sets(const RaSystem *system, const char *key);

#endif
