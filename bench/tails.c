/* Gain of each choice about long tails: share/plans/grpo-long-qwen2.5-7b-32
 * with one choice at a time, against the same plan without any.
 *
 *     tails [--quick] [PLAN]         PLAN: its generate call is actor_generate
 *
 * Iterations and tokens are those of the steady window.  Over-sampling without
 * carrying trains on shorter answers than the law has, so tokens trained a
 * second stand beside iterations; mean_response says by how much.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/figure.h"
#include "graph/expand/sequence.h"
#include "sim/breakdown.h"
#include "study/replay.h"

#define CALL "call actor_generate."

typedef struct {
  const char *name;
  const char *sets[8];
} Choice;

/* Without a migration nothing is gained by streaming: see `stream`. */
#define STAY CALL "migrate-at=0", "call ref_inference.inputs=sequences"

/* clang-format off */
static const Choice choices[] = {
  {"none", {STAY}},
  {"stream", {CALL "migrate-at=0"}},
  {"length-known", {STAY, CALL "assignment=length"}},
  {"length-predicted-0.8", {STAY, CALL "assignment=length",
                            CALL "length-prediction=0.8"}},
  {"respread", {STAY, CALL "respread=8"}},
  {"respread-recompute", {STAY, CALL "respread=8",
                          CALL "moved-kv=recompute"}},
  {"migrate", {CALL "migrate-at=0.03125"}},
  {"migrate-recompute", {CALL "migrate-at=0.03125",
                         CALL "moved-kv=recompute"}},
  {"over-sample-1.25", {STAY, CALL "over-sample=1.25"}},
  {"carry-1.25", {STAY, CALL "over-sample=1.25", CALL "unfinished=carry"}},
  {"carry-1.5", {STAY, CALL "over-sample=1.5", CALL "unfinished=carry"}},
  {"carry-1.25-length", {STAY, CALL "over-sample=1.25",
                         CALL "unfinished=carry", CALL "assignment=length"}},
};
/* clang-format on */

typedef struct {
  gboolean ran;
  double iteration_s, tokens_per_s, mean_response;
} Outcome;

/* Tokens generated, thrown away, computed again an iteration of the window, and
 * the mean of the answers that are trained on. */
static void
print_tokens(const RaReplay *replay, uint32_t first, Outcome *out)
{
  const RaPlan *plan = replay->augmented->plan;
  const RaWorkload *w = plan->workload;
  uint32_t call = ra_workload_find_call(w, "actor_generate"), n = 0;
  g_autoptr(RaArena) arena = ra_arena_new(0);
  double generated = 0, discarded = 0, recomputed = 0, trained = 0;

  for (uint32_t k = first; k < replay->augmented->n_iterations; k++, n++) {
    const RaSequenceSet *set =
        ra_sequence_set_new(arena, plan, call, k, replay->graph->seed);
    double sum = 0;

    for (uint32_t i = 0; i < set->n_sequences; i++)
      sum += set->response[i];
    trained += sum;
    generated += set->rollout ? (double)set->rollout->generated_tokens : sum;
    discarded += set->rollout ? (double)set->rollout->discarded_tokens : 0;
    recomputed += set->rollout ? (double)set->rollout->recomputed_tokens : 0;
  }
  out->mean_response = trained / n / w->calls[call].n_sequences;
  printf("\t%.1f\t%.4g\t%.4g\t%.4g", out->mean_response, generated / n,
         discarded / n, recomputed / n);
}

static Outcome
run(const char *plan, const Choice *choice, uint32_t n, const Outcome *base)
{
  RaSetupFlags flags = {.sets = choice->sets};
  RaReplayOptions options = {.n_iterations = n, .fidelity = RA_FIDELITY_STAGE};
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = ra_setup_load(plan, RA_FILE_PLAN, &flags, &error);
  g_autoptr(RaReplay) replay =
      setup ? ra_replay_new(setup, &options, &error) : NULL;
  g_autoptr(RaBreakdown) b = NULL;
  Outcome out = {.ran = replay != NULL};
  uint32_t call;

  if (!replay) {
    printf("# %s: %s\n", choice->name, error->message);
    return out;
  }
  b = ra_breakdown_new(replay->sim, replay->graph);
  call = ra_workload_find_call(setup->workload, "actor_generate");
  out.iteration_s = b->iteration_s;
  out.tokens_per_s = b->tokens_per_s;
  printf("%s\t%.4g\t%.4g\t%.4g\t%.4g", choice->name, b->iteration_s,
         b->calls[call].wall_s, b->idle_gpu_s / b->n_gpus / b->iteration_s,
         b->tokens_per_s);
  print_tokens(replay, b->first_iteration, &out);
  printf("\t%.3f\t%.3f\n",
         base->ran ? base->iteration_s / out.iteration_s : 1.0,
         base->ran ? out.tokens_per_s / base->tokens_per_s : 1.0);
  return out;
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  const char *plan =
      argc > 1 + quick ? argv[1 + quick] : "grpo-long-qwen2.5-7b-32.plan";
  Outcome none = {0}, stream = {0}, migrate = {0}, carry = {0};

  printf("# seconds and tokens an iteration; idle: of all GPU time; gains over "
         "none\n");
  printf("choice\titeration_s\tgenerate_s\tidle_frac\ttokens_per_s"
         "\tmean_response\tgenerated\tdiscarded\trecomputed"
         "\titeration_gain\ttokens_gain\n");
  for (guint i = 0; i < G_N_ELEMENTS(choices); i++) {
    Outcome out = run(plan, &choices[i], quick ? 3 : 12, &none);

    if (g_str_equal(choices[i].name, "none"))
      none = out;
    if (g_str_equal(choices[i].name, "stream"))
      stream = out;
    if (g_str_equal(choices[i].name, "migrate"))
      migrate = out;
    if (g_str_equal(choices[i].name, "carry-1.25"))
      carry = out;
  }
  bench_bar("tails_migrate_iteration_gain",
            migrate.ran ? stream.iteration_s / migrate.iteration_s
                        : (double)NAN,
            BENCH_AT_LEAST, 1.05);
  bench_bar("tails_carry_tokens_gain",
            carry.ran ? carry.tokens_per_s / none.tokens_per_s : (double)NAN,
            BENCH_AT_LEAST, 1.1);
  return 0;
}
