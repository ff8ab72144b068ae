/* Benchmark sets of published RL steps. */
#include "config.h"

#include "study/run/step_times.h"
#include "study/validate/validate_impl.h"

static const RaValidateStep
    steps_dense = {RA_STEP_TOTAL, RA_VALIDATE_STEPS_DENSE, TRUE},
    steps_moe = {RA_STEP_TOTAL, RA_VALIDATE_STEPS_MOE, TRUE},
    steps_async = {RA_STEP_TOTAL, RA_VALIDATE_STEPS_ASYNC, TRUE},
    steps_generate = {RA_STEP_GENERATE, RA_VALIDATE_STEPS_ALL, FALSE},
    steps_update = {RA_STEP_UPDATE, RA_VALIDATE_STEPS_ALL, FALSE},
    steps_logprobs = {RA_STEP_LOGPROB, RA_VALIDATE_STEPS_ALL, FALSE},
    steps_reference = {RA_STEP_REFERENCE, RA_VALIDATE_STEPS_ALL, FALSE},
    steps_sync = {RA_STEP_SYNC, RA_VALIDATE_STEPS_ALL, FALSE},
    steps_parts = {RA_STEP_TOTAL, RA_VALIDATE_STEPS_PARTS, FALSE},
    steps_partial = {RA_STEP_TOTAL, RA_VALIDATE_STEPS_PARTIAL, TRUE},
    steps_partial_update = {RA_STEP_UPDATE, RA_VALIDATE_STEPS_PARTIAL, FALSE},
    steps_index = {RA_STEP_TOTAL, RA_VALIDATE_STEPS_INDEX, TRUE};

#define STEPS(name)                                                            \
  .source = "rl_steps", .unit = "s", .modes = RA_VALIDATE_BOTH, .joins = TRUE, \
  .collect = ra_validate_steps, .argument = &(name)

#define BARS(median, p90)                                                      \
  .scored = TRUE, .median_bar = (median), .p90_bar = (p90)

const RaValidateLevel ra_validate_step_levels[] = {
    {.id = "rl-steps-dense",
     .title = "RL steps, dense models, in turn",
     BARS(0.12, 0.30),
     .convention = "plans as import makes them; mean lengths, rewards' "
                   "seconds and padding of the row; constants of systems",
     STEPS(steps_dense)},
    {.id = "rl-steps-moe",
     .title = "RL steps, models with experts, in turn",
     BARS(0.18, 0.40),
     .convention = "as rl-steps-dense",
     STEPS(steps_moe)},
    {.id = "rl-steps-async",
     .title = "RL steps, asynchronous",
     BARS(0.18, 0.40),
     .convention = "as rl-steps-dense",
     STEPS(steps_async)},
    {.id = "rl-steps-generate",
     .title = "RL steps, generation",
     BARS(0.18, 0),
     .convention = "with the way of the weights, where the log has no phase "
                   "of it",
     STEPS(steps_generate)},
    {.id = "rl-steps-update",
     .title = "RL steps, update of the policy",
     BARS(0.15, 0),
     .convention = "as rl-steps-dense",
     STEPS(steps_update)},
    {.id = "rl-steps-logprobs",
     .title = "RL steps, log-probabilities",
     BARS(0.18, 0),
     .convention = "with the reference's, where the log has one phase of both",
     STEPS(steps_logprobs)},
    {.id = "rl-steps-reference",
     .title = "RL steps, reference",
     .convention = "as rl-steps-dense",
     STEPS(steps_reference)},
    {.id = "rl-steps-sync",
     .title = "RL steps, weights into engines",
     .convention = "as rl-steps-dense",
     STEPS(steps_sync)},
    {.id = "rl-steps-parts",
     .title = "RL steps, by framework and GPU",
     .convention = "rows of the sets above",
     STEPS(steps_parts)},
    {.id = "rl-steps-partial",
     .title = "RL steps of which layout or lengths are not whole",
     .convention = "what is missing as import assumes it",
     STEPS(steps_partial)},
    {.id = "rl-steps-partial-update",
     .title = "Updates of steps of which layout or lengths are not whole",
     .convention = "what is missing as import assumes it",
     STEPS(steps_partial_update)},
    {.id = "rl-steps-index",
     .title = "RL steps of files that nobody stands for",
     .convention = "as rl-steps-dense; never scored",
     STEPS(steps_index)},
    {.id = "rl-lengths",
     .title = "Mean lengths of responses, from model and maximum",
     .source = "rl_steps",
     .unit = "tokens",
     .modes = RA_VALIDATE_BOTH,
     .joins = TRUE,
     .convention = "one row a source, model and maximum; the law was fitted to "
                   "these rows",
     .collect = ra_validate_step_lengths},
    {.id = "pairs-rl-steps",
     .title = "RL steps of one work on two GPUs or in two layouts, the ratio",
     .source = "rl_steps",
     .unit = "1",
     .modes = RA_VALIDATE_BOTH,
     .joins = TRUE,
     .scored = TRUE,
     .intervals = TRUE,
     .convention = "as rl-steps-dense; lengths within 5 %; 90 % intervals "
                   "without the errors that both have in common",
     .collect = ra_validate_step_pairs},
    {.id = "rl-logs",
     .title = "RL steps after calibrate --log on the first third of their log",
     BARS(0.06, 0.15),
     .convention = "constants of the first third of a log; later steps with "
                   "their own mean lengths",
     .source = "rl_steps",
     .unit = "s",
     .modes = RA_VALIDATE_BOTH,
     .joins = TRUE,
     .collect = ra_validate_logs},
};

const guint ra_validate_n_step_levels = G_N_ELEMENTS(ra_validate_step_levels);
