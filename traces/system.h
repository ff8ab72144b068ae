/* A system profile: the costs that a training system adds to its kernels.
 *
 * A profile (traces/profile.h) tells how fast a GPU runs a kernel.  A system
 * (ReaLHF, Megatron, OpenRLHF, vLLM, ...) decides which kernels are launched,
 * and how fast.  Its profile has at most four constants of each phase
 * (generation, training, moves), fitted on a few published runs of one release.
 * A constant that is left out has no effect:
 *
 *     [system]
 *     format = 1
 *     release = ReaLHF, 2024         one system, one release
 *     derived = ...                  how the constants were found
 *     source = ...                   origin of the measurements
 *     rows = 3                       runs that the constants were fitted on
 *     range = ...                    range of validity, for people
 *     error-median = 0.11            held-out absolute relative error; `-`:
 *                                    not measured
 *     kernels = trtllm               common | trtllm | sglang | vllm: engine
 *                                    whose laws in a profile are taken in
 *                                    calls that generate (traces/law.h)
 *     [constants]
 *     decode-layer = 1.2 ms          host time per layer and decode step
 *     decode-stage = 2.1 ms          host time per stage and decode step
 *     decode-adapter = 2 ms          host time more per layer with adapters
 *     compute-factor = 1.4           on device time of train and inference
 *     train-launch = 60 us           host time of one of their kernels
 *     train-sequence = 2 ms          host time to pack and unpack a sequence
 *     attention-factor = 1.3         on their attention, times compute-factor
 *     memory-factor = 4              on what their kernels do between GEMMs
 *     comm-factor = 1.2              on their communication
 *     decode-step = 5 ms             host time between steps of generation
 *     decode-sequence = 12 us        host time per running sequence and step
 *     prefill-layer = 0.7 ms         host time per layer in a step with prompts
 *     weight-sync = 2 GB/s           rate of a GPU's parameters in software
 *     [memory]                       habits (graph/input/cluster.h):
 *     parameter-shards = fp32        mixed | fp32
 *     gradients = dropped            kept | dropped
 *     generation = engine            shared | engine
 *     loss = in-place                softmax | in-place
 *     segments = expandable          fixed | expandable
 *     host-copies = blocks           exact | blocks
 *     engine-asleep = host           dropped | host
 *
 * Either group may be absent, both where `kernels` names an engine; a habit
 * that is left out is that of the executor, the first spelling.
 * estimator/estimator.h documents the use of constants.  A new constant is a
 * row in the table of system.c and its use there.
 */
#ifndef RA_TRACES_SYSTEM_H
#define RA_TRACES_SYSTEM_H

#include "base/keyfile.h"
#include "graph/input/cluster.h"
#include "traces/law.h"

/* Most constants of one phase that a system may set; more would fit the runs
 * instead of the system. */
#define RA_SYSTEM_CONSTANTS_MAX 4

/* Phase that a constant is a cost of. */
typedef enum {
  RA_SYSTEM_GENERATION,
  RA_SYSTEM_TRAINING, /* train and inference calls */
  RA_SYSTEM_MOVES,    /* parameters between layouts */
  RA_N_SYSTEM_PHASES
} RaSystemPhase;

typedef struct {
  double decode_layer_s;   /* host time of each layer in an eager decode step */
  double decode_stage_s;   /* host time of each stage in an eager decode step */
  double decode_adapter_s; /* host time of each layer in an eager step that
                              applies adapters, beyond decode_layer_s */
  double compute_factor; /* on the compute of train and inference calls, > 0 */
  double decode_step_s;  /* host time between two steps of generation */
  double decode_sequence_s; /* host time of each running sequence in a step: its
                               scheduling, sampled token and text */
  double prefill_layer_s;   /* host time of each layer in a step of continuous
                             batching with prompts */
  double weight_sync_bytes_per_s;    /* rate of software that moves parameters
                                     between layouts; 0: none */
  double optimizer_copy_bytes_per_s; /* rate of the optimizer's state between a
                                        GPU and host memory that is not pinned;
                                        0: as all copies */
  double train_launch_s;   /* host time of a kernel of eager train and inference
                              calls; 0: that of the GPU's profile */
  double train_sequence_s; /* host time of each sequence of a forward pass of
                              train and inference calls: it is packed, and
                              what is computed of it unpacked */
  double attention_factor; /* on their attention, times compute_factor; 0
                              counts as 1 */
  double memory_factor;    /* on their norms, activations, rotations, additions
                              and losses, times compute_factor: passes that
                              kernels which are not fused make; 0 counts as 1 */
  double comm_factor;      /* on their collectives and sends; 0 counts as 1 */
  RaKernels kernels;       /* of the engine; no constant of a fit */
} RaSystemConstants;

/* No system: only kernels and launches. */
#define RA_SYSTEM_CONSTANTS_NONE                                               \
  {                                                                            \
    .compute_factor = 1, .attention_factor = 1, .memory_factor = 1,            \
    .comm_factor = 1                                                           \
  }

typedef struct {
  RaKeyFile *file;             /* owned reference; the texts borrow from it */
  const char *release;         /* system and release */
  const char *derived;         /* how the constants were found */
  const char *source;          /* origin of the measurements */
  const char *range;           /* range of validity, for people */
  uint64_t n_rows;             /* runs of the fit */
  double error_median_frac;    /* held out; NAN: not measured */
  double error_p90_frac;       /* likewise; NAN: not given */
  RaSystemConstants constants; /* SI */
  RaMemoryHabits habits;       /* what rests on a GPU, and when */
} RaSystem;

/**
 * ra_system_load:
 * @file: (transfer none): referenced
 * @error: %RA_ERROR_INPUT `file:line: ...`: as ra_key_file_read_group(), an
 *   error that is not a ratio, more than RA_SYSTEM_CONSTANTS_MAX of a phase,
 *   [constants] without one, neither [constants] nor [memory]
 *
 * Returns: (transfer full): ra_system_free() it
 */
RaSystem *ra_system_load(RaKeyFile *file, GError **error);
void ra_system_free(RaSystem *system);

/* Makes ops and memory of plans on @cluster those of @system. */
void ra_system_apply(const RaSystem *system, RaCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSystem, ra_system_free)

/* (array length=out_n): the constants that a system may set, as static keys of
 * an RaSystemConstants. */
const RaKeySpec *ra_system_constant_specs(gsize *out_n);

/* (transfer none): pointer to the constant @key of @constants; @key is one of
 * ra_system_constant_specs(). */
double *ra_system_constant(RaSystemConstants *constants, const char *key);

/* (array length=out_n) (nullable): the keys that `[noun]` of a system may have,
 * static; %NULL for an unknown noun. */
const RaKeySpec *ra_system_key_specs(const char *noun, gsize *out_n);

/* TRUE if @system sets the constant @key. */
gboolean ra_system_sets(const RaSystem *system, const char *key);

#endif
