/* A published iteration of RLHF, simulated.
 *
 * What a source says of an iteration becomes a workload, a cluster and a plan
 * in memory, is lowered at stage fidelity as any plan is, and replayed.
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
 * Without a critic it is GRPO: generate, log-probabilities of the policy and of
 * a reference, train.  With one it is PPO: generate; reference, reward and
 * values; train both.
 *
 * Conventions where sources say nothing.  Lengths: a response is lognormal, its
 * deviation 0.57 of its mean (RA_RL_SPREAD: of the 520 answers in
 * traces/math_group8_lengths.csv), cut at the longest, and of such a mean that
 * the cut law has the one that is given; prompts are all equal.  Nodes of 8
 * GPUs, of GB GPUs up to 64 in one NVLink domain; 400 Gbit/s a GPU.
 *
 * Typical sizes: 10^4 tasks, 50 ms.
 */
#ifndef RA_STUDY_VALIDATE_RL_STEP_H
#define RA_STUDY_VALIDATE_RL_STEP_H

#include "search/family/strategy.h"
#include "study/setup.h"

/* Standard deviation over mean of the lengths of answers. */
#define RA_RL_SPREAD 0.57

typedef struct {
  const char *model;       /* as the source calls it: "qwen3-32B" */
  const char *critic;      /* nullable: the same, of PPO */
  const char *gpu;         /* "h100" */
  const char *dtype;       /* "bf16"; NULL: bf16 */
  uint32_t n_gpus;         /* all of them */
  uint32_t n_sequences;    /* an iteration */
  uint32_t n_mini_batches; /* optimizer steps; divides n_sequences */
  double prompt_tokens;    /* of each */
  double mean_tokens;      /* of responses */
  double max_tokens;       /* of responses; not above the mean: all equal */
  gboolean is_async;       /* generation lags by one iteration */
} RaRlStep;

/* Generation in tp, and one layout for all else (NeMo-RL's). */
typedef struct {
  uint32_t generate_tp;
  uint32_t tp, cp, ep, pp;
  double pack_tokens; /* of a micro-batch: sequences are packed to it */
  double cache_frac;  /* of a GPU's memory, for weights and keys and values
                         in generation */
} RaRlLayout;

/* Seconds of an iteration of the steady state. */
typedef struct {
  double generate_s;  /* of the rollout */
  double inference_s; /* from its end to that of the last inference */
  double train_s;     /* from there to the end of the last training */
  double move_s;      /* the rest: reallocation, offload; asynchronous: none */
  double total_s;     /* of all; asynchronous: less than the sum */
} RaRlTimes;

/* (transfer full): the file of the model that sources call @name, "qwen3-32B":
 * lower case, 3.1 and 3.3 as 3 (the same shapes), sizes alone as llama-2's;
 * what it is tuned for left out; %NULL where there is none. */
char *ra_rl_model_config(const char *name);

/**
 * ra_rl_response_mean:
 * @mean: of responses as they are, tokens
 * @max: longest, tokens
 *
 * Mean of the lognormal law whose draws, cut at @max, have the mean @mean; at
 * most 16 @max, where nearly all are cut.
 */
double ra_rl_response_mean(double mean, double max);

/**
 * ra_rl_setup_new:
 * @step: borrowed during the call
 * @error: %RA_ERROR_INPUT: no config of its model, no profile of its GPU, sizes
 *   that do not divide
 *
 * Workload, cluster, profile and estimator; no plan yet.
 *
 * Returns: (transfer full): ra_setup_free() it
 */
RaSetup *ra_rl_setup_new(const RaRlStep *step, GError **error);

/**
 * ra_rl_set_layout:
 * @setup: of @step, which has no critic
 *
 * All GPUs generate, then all infer and train; asynchronous: the first half
 * generates, the other does the rest.  Micro-batches are as many as make one
 * nearest to the tokens that sequences are packed to.  Of expert parallelism
 * what divides dp x cp stays; tp cuts the experts for the rest (Megatron counts
 * its tp ranks among those of ep).  Asynchronous, generation waits while its
 * one copy of the weights is refitted.  Generation, in captured graphs, batches
 * continuously, as vLLM does: 1,024 sequences and 16,384 tokens of a step at
 * most, and blocks for as many keys and values as the weights leave of the
 * engine's share of a GPU, those of the last preempted when they run out.
 * Training: ZeRO
 * 1, fp32 gradients reduced behind the backward, sequence parallel in tp,
 * recomputation of all layers where it does not fit without.  The reference and
 * the optimizer are in host memory while they are not used.
 *
 * Returns: %TRUE; else @setup has the plan that it had
 */
gboolean ra_rl_set_layout(RaSetup *setup, const RaRlStep *step,
                          const RaRlLayout *layout, GError **error);

/* The plan that a placement family writes for @setup. */
gboolean ra_rl_set_strategy(RaSetup *setup, const RaStrategyOptions *options,
                            GError **error);

/**
 * ra_rl_set_heuristic:
 * @setup: of a step with a critic
 *
 * The plan that ReaL is compared with (rlhf_steps/SOURCE.md): every call on all
 * GPUs with tp = those of a node, pp = nodes, sequence parallel but in
 * generation, full recomputation, 2 pp micro-batches of a mini-batch in
 * training and pp elsewhere, kernels launched one by one, models that are not
 * trained in host memory between their calls.
 */
gboolean ra_rl_set_heuristic(RaSetup *setup, GError **error);

/* @setup runs under the shipped system @name, "nemo-rl". */
gboolean ra_rl_set_system(RaSetup *setup, const char *name, GError **error);

/**
 * ra_rl_times:
 * @setup: with a plan
 *
 * Cost: one replay of 2 iterations, asynchronous of 8, of which the second
 * half counts.
 */
gboolean ra_rl_times(const RaSetup *setup, RaRlTimes *out_times,
                     GError **error);

#endif
