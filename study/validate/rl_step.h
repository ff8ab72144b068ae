/* Simulation of a published RLHF iteration.
 *
 * The published description becomes a workload, a cluster and a plan in memory,
 * which are lowered at stage fidelity as any plan is, and replayed.
 *
 *     RaRlStep step = {.model = "llama-3.1-8B", .gpu = "h100", .n_gpus = 16,
 *                      .n_sequences = 2048, .n_mini_batches = 4,
 *                      .prompt_tokens = 115, .mean_tokens = 1019,
 *                      .max_tokens = 3981};
 *     RaRlLayout layout = {.generate_tp = 1, .tp = 1, .cp = 1, .ep = 1,
 *                          .pp = 2, .pack_tokens = 4096};
 *     g_autoptr(RaSetup) setup = ra_rl_setup_new(&step, &error);
 *     if (setup && ra_rl_set_layout(setup, &step, &layout, &error) &&
 *         ra_rl_set_system(setup, "nemo-rl", &error) &&
 *         ra_rl_times(setup, &times, &error))
 *       use(times.total_s);
 *
 * A step without a critic is GRPO: generate, log-probabilities of the policy
 * and of a reference, train.  A step with one is PPO: generate; reference,
 * reward and values; train both.
 *
 * Conventions apply where sources give no value:
 *
 *   responses  lognormal, with a deviation of 0.57 of the mean (RA_RL_SPREAD:
 *              of the 520 responses in traces/math_group8_lengths.csv), cut at
 *              the longest
 *   prompts    all equal
 *   network    nodes of 8 GPUs, GB GPUs up to 64 in one NVLink domain; 400
 *              Gbit/s per GPU
 *
 * Typical sizes: 10^4 tasks, 50 ms.
 */
#ifndef RA_STUDY_VALIDATE_RL_STEP_H
#define RA_STUDY_VALIDATE_RL_STEP_H

#include "search/family/strategy.h"
#include "study/setup.h"

/* Standard deviation of response lengths, relative to the mean. */
#define RA_RL_SPREAD 0.57

typedef struct {
  const char *model;       /* name in the source: "qwen3-32B" */
  const char *critic;      /* nullable: likewise, for PPO */
  const char *gpu;         /* "h100" */
  const char *dtype;       /* "bf16"; NULL: bf16 */
  uint32_t n_gpus;         /* in all */
  uint32_t n_sequences;    /* per iteration */
  uint32_t n_mini_batches; /* optimizer steps; divides n_sequences */
  double prompt_tokens;    /* of each prompt */
  double mean_tokens;      /* of responses */
  double max_tokens;       /* longest response; if not above the mean, all are
                              equal */
  gboolean is_async;       /* generation lags by one iteration */
} RaRlStep;

/* Layout of NeMo-RL: generation in tp, and one layout for everything else. */
typedef struct {
  uint32_t generate_tp;
  uint32_t tp, cp, ep, pp;
  double pack_tokens; /* tokens to which sequences of a micro-batch are
                         packed */
  double cache_frac;  /* share of a GPU's memory for weights and KV cache in
                         generation */
} RaRlLayout;

/* Seconds of an iteration in the steady state. */
typedef struct {
  double generate_s;  /* rollout */
  double inference_s; /* from its end to the end of the last inference */
  double train_s;     /* from there to the end of the last training */
  double move_s;      /* the rest: reallocation, offload; asynchronous: none */
  double total_s;     /* whole iteration; asynchronous: less than the sum */
} RaRlTimes;

/* Config file of the model that sources call @name (transfer full), such as
 * "qwen3-32B". The name is matched in lower case; 3.1 and 3.3 count as 3 (the
 * same shapes), sizes alone as llama-2's; suffixes of tuning are ignored.
 * %NULL: there is none. */
char *ra_rl_model_config(const char *name);

/**
 * ra_rl_setup_new:
 * @step: borrowed during the call
 * @error: %RA_ERROR_INPUT: no config of its model, no profile of its GPU, sizes
 *   that do not divide
 *
 * Builds workload, cluster, profile and estimator; no plan yet.
 *
 * Returns: (transfer full): free with ra_setup_free()
 */
RaSetup *ra_rl_setup_new(const RaRlStep *step, GError **error);

/**
 * ra_rl_set_layout:
 * @setup: of @step, which has no critic
 *
 * Sets NeMo-RL's plan:
 *
 *   GPUs           all GPUs generate, then all infer and train; asynchronous:
 *                  the first half generates, the other does the rest
 *   micro-batches  as many as bring one closest to the tokens to which
 *                  sequences are packed
 *   experts        expert parallelism keeps the part that divides dp x cp; tp
 *                  cuts the experts for the rest (Megatron counts its tp ranks
 *                  among those of ep)
 *   generation     captured graphs and continuous batching, as in vLLM: at most
 *                  1,024 sequences and 16,384 tokens per step, and blocks for
 *                  as many keys and values as the weights leave of the engine's
 *                  share of a GPU; when blocks run out, the last sequences are
 *                  preempted.  Asynchronous: it waits while its one copy of the
 *                  weights is refitted.
 *   training       ZeRO 1, reduction of fp32 gradients overlapping with the
 *                  backward, sequence parallelism in tp, recomputation of all
 *                  layers where it does not fit otherwise
 *   host memory    the reference and the optimizer while they are not used
 *
 * Returns: %TRUE; else @setup keeps its plan
 */
gboolean ra_rl_set_layout(RaSetup *setup, const RaRlStep *step,
                          const RaRlLayout *layout, GError **error);

/* Sets the plan that a placement family writes for @setup. */
gboolean ra_rl_set_strategy(RaSetup *setup, const RaStrategyOptions *options,
                            GError **error);

/**
 * ra_rl_set_heuristic:
 * @setup: of a step with a critic
 *
 * Sets the plan that ReaL is compared with (rlhf_steps/SOURCE.md): every call
 * on all GPUs with tp = GPUs of a node, pp = nodes, sequence parallelism except
 * in generation, full recomputation, 2 pp micro-batches of a mini-batch in
 * training and pp elsewhere, kernels launched one by one, models that are not
 * trained in host memory between their calls.
 */
gboolean ra_rl_set_heuristic(RaSetup *setup, GError **error);

/* Sets the shipped system @name, "nemo-rl". */
gboolean ra_rl_set_system(RaSetup *setup, const char *name, GError **error);

/**
 * ra_rl_times:
 * @setup: with a plan
 *
 * Simulates the times of an iteration.
 *
 * Cost: one replay of 2 iterations, or of 8 if asynchronous, of which the
 * second half counts.
 */
gboolean ra_rl_times(const RaSetup *setup, RaRlTimes *out_times,
                     GError **error);

#endif
