/* Long tails as plan choices: tasks, seconds and memory against generation step
 * by step, what is trained on, bad plans. */
#include "config.h"

#include "graph/input/plan_tail.h"
#include "graph/input/plan_write.h"
#include "tests/support/check_edit.h"
#include "tests/support/check_main.h"
#include "tests/support/rollout_case.h"
#include "tests/support/rollout_reference.h"
#include "tests/support/zero_run.h"

#define N_PROMPTS 32
#define N_ITERATIONS 3

/* Features of the plan and the workload. */
typedef struct {
  guint n_nodes, samples, parts;
  const char *keys; /* of the generate call */
} Case;

static const Case cases[] = {
    {1, 1, 1, "assignment = length\n"},
    {1, 2, 1, "assignment = length\nover-sample = 1.3\n"},
    {1, 1, 4, "over-sample = 1.25\n"},
    {1, 2, 2, "over-sample = 2\nunfinished = carry\n"},
    {1, 1, 1, "over-sample = 1.5\nunfinished = carry\nassignment = length\n"},
    {1, 1, 1, "respread = 100\n"},
    {2, 2, 4, "respread = 2\n"},
    {2, 1, 1, "respread = 3\nmoved-kv = recompute\n"},
    {1, 1, 1, "migrate-at = 0.25\nmigrate-to = 2\n"},
    {2, 2, 4, "migrate-at = 0.25\nmigrate-to = 3\n"},
    {2, 2, 4, "migrate-at = 0.1\nmoved-kv = recompute\n"},
    {2, 2, 1,
     "migrate-at = 0.3\nmigrate-to = 4\nover-sample = 1.5\nunfinished = carry\n"
     "moved-kv = recompute\n"},
    {2, 1, 2, "respread = 9\nover-sample = 1.2\nunfinished = carry\n"},
};

static PlanText *
case_text(const Case *c, const char *lengths, uint32_t n_iterations)
{
  g_autofree char *cluster = plan_text_cluster(c->n_nodes);
  const char *mesh = c->n_nodes > 1 ? "node[0-1]" : "node0";
  g_autofree char *workload =
      rollout_workload(N_PROMPTS, c->samples, c->parts, lengths);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                      "[call gen]\nmesh = %s\ndp = %u\nlaunch = graph\n%s"
                      "[call infer]\nmesh = %s\ndp = %u\n"
                      "[call train]\nmesh = %s\ndp = %u\n",
                      mesh, 8 * c->n_nodes, c->keys, mesh, 8 * c->n_nodes, mesh,
                      8 * c->n_nodes);

  return plan_text_new(workload, cluster, plan, n_iterations);
}

static Run
case_run(const Case *c, const char *lengths)
{
  return run_new(case_text(c, lengths, N_ITERATIONS),
                 profile_text_shipped("h100-sxm"), 4e11);
}

/* The sequences that iteration @k draws: the prompt's length is that of its
 * number in stream k 2^32, the response's its own in the stream of the call. */
static void
draw(const RaPlan *plan, uint32_t k, uint32_t samples, Sequence *out)
{
  const RaWorkload *w = plan->workload;

  for (uint32_t i = 0; i < MAX_SEQUENCES; i++)
    out[i] =
        (Sequence){.prompt = ra_length_draw(&w->prompt_length, 0,
                                            (uint64_t)k << 32, i / samples),
                   .response = ra_length_draw(&w->response_length, 0,
                                              (uint64_t)k << 32 | 1, i)};
}

/* In order: of n with something to generate, replica d has those from d n / dp;
 * by length: the longest of what is left to the replica with fewest tokens. */
static void
assign(Reference *r)
{
  uint32_t n = 0, at = 0;
  uint64_t load[MAX_REPLICAS] = {0};
  gboolean done[MAX_SEQUENCES] = {FALSE};

  for (uint32_t i = 0; i < r->n; i++)
    n += r->s[i].before < r->s[i].response;
  for (uint32_t i = 0; i < r->n; i++)
    if (r->s[i].before < r->s[i].response) {
      uint32_t d = 0;

      while ((uint64_t)(d + 1) * n / r->dp <= at)
        d++;
      r->s[i].replica = d;
      at++;
    }
  if (r->plan->calls[0].tail.assignment == RA_ASSIGN_ORDER)
    return;
  for (; n > 0; n--) {
    uint32_t pick = RA_NONE, least = 0;

    for (uint32_t i = 0; i < r->n; i++) {
      uint32_t rest = r->s[i].response - r->s[i].before;

      if (rest > 0 && !done[i] &&
          (pick == RA_NONE || rest > r->s[pick].response - r->s[pick].before))
        pick = i;
    }
    for (uint32_t d = 1; d < r->dp; d++)
      if (load[d] < load[least])
        least = d;
    done[pick] = TRUE;
    r->s[pick].replica = least;
    load[least] += r->s[pick].response - r->s[pick].before;
  }
}

static Reference *
reference_new(const Run *run, uint32_t samples)
{
  Reference *r = g_new0(Reference, 1);
  const RaPlan *plan = run->text->plan;

  r->plan = plan;
  r->estimator = run->estimator;
  r->shard = &run->graph->shards[run->graph->dynamics[0].shard];
  r->piece = run->graph->dynamics[0].pieces[0];
  /* Keys and values of 16 layers of 8 heads of 8, 2 bytes each. */
  r->kv_bytes = 2 * 16 * 64 * 2;
  r->samples = samples;
  r->wanted = N_PROMPTS;
  r->n_parts = plan->workload->calls[0].n_parts;
  r->dp = plan->calls[0].dp;
  r->n = (uint32_t)ceil(MAX(plan->calls[0].tail.over_sample, 1) * N_PROMPTS -
                        1e-9) *
         samples;
  ck_assert_uint_le(r->n, MAX_SEQUENCES);
  draw(plan, 0, samples, r->s);
  return r;
}

/* Every part of every iteration ends when the reference says, and where
 * something moves a reference that forgets what that costs is wrong. */
START_TEST(test_reference)
{
  const Case *c = &cases[_i];
  Run run = case_run(c, "lognormal(60, 60, 400)");
  g_autofree Reference *r = reference_new(&run, c->samples);
  g_autofree Sequence *fresh = g_new(Sequence, MAX_SEQUENCES);
  gboolean moved = FALSE;

  for (uint32_t k = 0; k < N_ITERATIONS; k++) {
    assign(r);
    if (k + 1 == N_ITERATIONS) {
      g_autofree Reference *wrong = g_memdup2(r, sizeof *r);

      wrong->fault = TRUE;
      reference_run(wrong);
      moved = wrong->n_moved > 0;
      if (moved)
        ck_assert_double_gt(fabs(rollout_part_end_s(&run, k, r->n_parts - 1) -
                                 wrong->part_end_s[r->n_parts - 1]),
                            1e-9 * wrong->part_end_s[r->n_parts - 1]);
    }
    reference_run(r);
    ck_assert_uint_eq(r->part, r->n_parts);
    for (uint32_t part = 0; part < r->n_parts; part++)
      ck_assert_double_eq_tol(rollout_part_end_s(&run, k, part),
                              r->part_end_s[part],
                              1e-9 * r->part_end_s[part] + 1e-12);
    draw(r->plan, k + 1, c->samples, fresh);
    reference_carry(r, fresh);
  }
  ck_assert(moved == (strstr(c->keys, "respread") != NULL ||
                      strstr(c->keys, "migrate") != NULL));
  run_clear(&run);
}
END_TEST

/* Memory: no lane ever holds less than nothing, ends with what it held before
 * anything ran but for gradients, and the bound is not below the peak. */
START_TEST(test_memory)
{
  const Case *c = &cases[_i];
  Run run = case_run(c, "lognormal(60, 60, 400)");

  rollout_assert_memory(&run, N_ITERATIONS);
  run_clear(&run);
}
END_TEST

/* Over-sampling by 2 trains on the 32 prompts whose answers are shortest; the
 * rest is generated as far as the longest of them, and is thrown away. */
START_TEST(test_kept)
{
  const Case c = {1, 1, 1, "over-sample = 2\n"};
  PlanText *t = case_text(&c, "lognormal(60, 60, 400)", 1);
  g_autoptr(RaArena) arena = ra_arena_new(0);
  const RaSequenceSet *set = ra_sequence_set_new(arena, t->plan, 0, 0, 0);
  g_autofree Sequence *all = g_new(Sequence, MAX_SEQUENCES);
  uint32_t longest = 0, n_longer = 0;
  uint64_t wasted = 0;

  draw(t->plan, 0, 1, all);
  ck_assert_uint_eq(set->n_sequences, N_PROMPTS);
  for (uint32_t i = 0; i < N_PROMPTS; i++)
    longest = MAX(longest, set->response[i]);
  for (uint32_t i = 0; i < 2 * N_PROMPTS; i++) {
    n_longer += all[i].response > longest;
    wasted += MIN(all[i].response, longest);
  }
  ck_assert_uint_le(n_longer, N_PROMPTS);
  ck_assert_ptr_nonnull(set->rollout);
  ck_assert_uint_eq(set->rollout->generated_tokens, wasted);
  for (uint32_t i = 0; i < N_PROMPTS; i++)
    wasted -= set->response[i];
  ck_assert_uint_eq(set->rollout->discarded_tokens, wasted);
  ck_assert_uint_eq(set->rollout->n_begun, 2 * N_PROMPTS);
  plan_text_free(t);
}
END_TEST

/* Carried sequences are generated once in all: over the iterations the tokens
 * that are trained on and those of the last one's rest are all that was
 * generated. */
START_TEST(test_carry_conserves)
{
  const Case c = {1, 2, 1, "over-sample = 1.5\nunfinished = carry\n"};
  PlanText *t = case_text(&c, "lognormal(60, 60, 400)", 1);
  g_autoptr(RaArena) arena = ra_arena_new(0);
  uint64_t generated = 0, trained = 0, carried = 0;

  for (uint32_t k = 0; k < 6; k++) {
    const RaSequenceSet *set = ra_sequence_set_new(arena, t->plan, 0, k, 0);

    generated += set->rollout->generated_tokens;
    carried += set->rollout->n_carried_in;
    for (uint32_t i = 0; i < set->n_sequences; i++)
      trained += set->response[i];
    ck_assert_uint_eq(set->rollout->discarded_tokens, 0);
    /* At most 48 prompts are in flight, 400 tokens each. */
    ck_assert(generated >= trained || k > 0);
    ck_assert_uint_le(MAX(generated, trained) - MIN(generated, trained),
                      16 * 2 * 400);
  }
  ck_assert_uint_gt(carried, 0);
  plan_text_free(t);
}
END_TEST

/* Perfect prediction evens tokens out better than none; what is assigned does
 * not depend on the prediction's noise where there is none. */
START_TEST(test_prediction)
{
  static const char *const keys[] = {
      "assignment = length\n", "assignment = length\nlength-prediction = 0\n"};
  double worst[2] = {0, 0};

  for (guint i = 0; i < 2; i++) {
    const Case c = {1, 1, 1, keys[i]};
    PlanText *t = case_text(&c, "lognormal(60, 60, 400)", 1);
    g_autoptr(RaArena) arena = ra_arena_new(0);
    const RaSequenceSet *set = ra_sequence_set_new(arena, t->plan, 0, 0, 0);

    for (uint32_t d = 0; d < 8; d++)
      worst[i] =
          MAX(worst[i], (double)set->rollout->spells[d].generated_tokens);
    plan_text_free(t);
  }
  ck_assert_double_lt(worst[0], worst[1]);
}
END_TEST

/* Fixed lengths: all end together, nothing moves, and the call takes what it
 * takes without the keys. */
START_TEST(test_fixed)
{
  const Case with = {1, 1, 1, "migrate-at = 0.5\n"};
  const Case plain = {1, 1, 1, ""};
  Run a = case_run(&with, "fixed(30)"), b = case_run(&plain, "fixed(30)");

  for (uint32_t k = 0; k < N_ITERATIONS; k++)
    ck_assert_double_eq_tol(rollout_part_end_s(&a, k, 0),
                            rollout_part_end_s(&b, k, 0), 1e-12);
  run_clear(&a);
  run_clear(&b);
}
END_TEST

/* dp 4, pp 2 on one node, with @keys. */
static Run
piped(const char *keys, const char *lengths)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompts = %d\nprompt-length = fixed(20)\nresponse-length = %s\n"
      "[model m]\nconfig = tiny.json\n[call gen]\nmodel = m\n"
      "kind = generate\ninputs = prompts\noutputs = seq\n",
      N_PROMPTS, lengths);
  g_autofree char *plan = g_strdup_printf(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call gen]\n"
      "mesh = node0\ndp = 4\npp = 2\nlaunch = graph\n%s",
      keys);

  return run_new(plan_text_new(workload, cluster, plan, 1),
                 profile_text_shipped("h100-sxm"), 4e11);
}

static double
made_tokens(const Run *r)
{
  g_autofree RaFlopShare *shares = ra_flop_count(r->graph, 0);

  return shares[0].tokens;
}

/* Over a pipeline.  Of answers that are all alike, longest first deals them out
 * evenly, and nothing else changes: the same times as without a choice, in
 * micro-batches too; in half as many micro-batches they are others.  A
 * migration of drawn ones makes the tokens that there are without, and what
 * moves costs time of its own. */
START_TEST(test_pipeline)
{
  static const char *const plain[] = {"", "micro-batches = 1\n",
                                      "micro-batches = 4\n"};
  double end_s[G_N_ELEMENTS(plain)];

  for (guint k = 0; k < G_N_ELEMENTS(plain); k++) {
    g_autofree char *keys =
        g_strconcat(plain[k], "assignment = length\n", NULL);
    Run a = piped(plain[k], "fixed(30)"), b = piped(keys, "fixed(30)");

    end_s[k] = ra_sim_result(a.sim)->makespan_s;
    ck_assert_double_eq_tol(ra_sim_result(b.sim)->makespan_s, end_s[k], 1e-12);
    ck_assert_double_eq(made_tokens(&a), made_tokens(&b));
    run_clear(&a);
    run_clear(&b);
  }
  ck_assert_double_gt(fabs(end_s[0] - end_s[1]), 1e-6);
  ck_assert_double_gt(fabs(end_s[0] - end_s[2]), 1e-6);
  for (guint k = 0; k < 2; k++) {
    Run a = piped("", "lognormal(60, 50, 400)");
    Run b = piped(k ? "migrate-at = 0.3\nmigrate-to = 2\n"
                      "moved-kv = recompute\n"
                    : "respread = 3\n",
                  "lognormal(60, 50, 400)");
    guint n_moves = 0;

    for (RaTaskId t = 0; t < b.graph->n_tasks; t++)
      if (b.graph->kind[t] == RA_TASK_MIGRATE) {
        const RaSimResult *result = ra_sim_result(b.sim);

        n_moves++;
        ck_assert_double_gt(result->end_s[t], result->begin_s[t]);
      }
    ck_assert_uint_ge(n_moves, 1);
    /* Recomputed prompts are no new tokens, but forwards count them. */
    if (k == 0)
      ck_assert_double_eq_tol(made_tokens(&a), made_tokens(&b), 1e-6);
    else
      ck_assert_double_gt(made_tokens(&b), made_tokens(&a));
    run_clear(&a);
    run_clear(&b);
  }
}
END_TEST

static Suite *
rollout_suite(void)
{
  Suite *suite = suite_create("rollout");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_reference, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_loop_test(tcase, test_memory, 0, (int)G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_kept);
  tcase_add_test(tcase, test_carry_conserves);
  tcase_add_test(tcase, test_prediction);
  tcase_add_test(tcase, test_fixed);
  tcase_add_test(tcase, test_pipeline);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(rollout_suite)
