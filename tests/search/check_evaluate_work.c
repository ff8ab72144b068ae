/* Work of an evaluation, counted: when plans are evaluated slower than
 * bench/search says, one of these counts has grown. PPO on four models and 64
 * GPUs, meshes of all kinds. */
#include "config.h"

#include "tests/support/search_case.h"

enum { N_PLANS = 256, N_CALLS = 6, N_PAIRS = N_CALLS * (N_CALLS - 1) / 2 };

static const char *const sets[] = {"cluster.nodes=8", "workload.prompts=64",
                                   "workload.prompt-length=fixed(256)",
                                   "workload.response-length=fixed(256)", NULL};

typedef struct {
  SearchCase c;
  RaPoint plans[N_PLANS];
  guint n_sets; /* plans of which some mesh is a set of nodes */
} Plans;

/* Plans of choices whose costs are known, as bench/search draws them; each
 * evaluated once, so that every cost is there. */
static void
plans_init(Plans *p)
{
  SearchCase *c = &p->c;
  RaChoice choices[RA_POINT_MAX][24];
  RaScore score;

  memset(p, 0, sizeof *p);
  search_case_init(c, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_FULL, NULL);
  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    for (guint i = 0; i < 24; i++)
      do
        choices[call][i] = search_case_choice(c, call);
      while (
          !ra_cost_table_known_s(c->costs, call, choices[call][i].candidate));
  for (guint i = 0; i < N_PLANS; i++) {
    gboolean any = FALSE;

    for (guint call = 0; call < c->setup->workload->n_calls; call++) {
      RaChoice choice = choices[call][search_case_below(c, 24)];

      p->plans[i].calls[call] = choice;
      any = any || ra_candidate_set(
                       &c->space->calls[call].candidates[choice.candidate],
                       choice.position);
    }
    p->n_sets += any;
    ra_evaluate(c->evaluator, &p->plans[i], &score);
  }
}

/* Work of @e since @before. */
static RaEvaluatorWork
work_since(const RaEvaluator *e, const RaEvaluatorWork *before)
{
  RaEvaluatorWork now = *ra_evaluator_work(e);

  now.n_filled -= before->n_filled;
  now.n_moved -= before->n_moved;
  now.n_signatures -= before->n_signatures;
  now.n_pairs -= before->n_pairs;
  now.n_slots -= before->n_slots;
  now.n_hashes -= before->n_hashes;
  now.n_replays -= before->n_replays;
  now.n_nodes -= before->n_nodes;
  now.n_peaks -= before->n_peaks;
  now.n_moments -= before->n_moments;
  now.n_gpus -= before->n_gpus;
  return now;
}

/* All of them side by side, as a search does; @out_exact gets how many were
 * over by the bound of their memory. */
static RaEvaluatorWork
evaluate_all(Plans *p, guint *out_exact)
{
  RaEvaluator *e = p->c.evaluator;
  RaEvaluatorWork before = *ra_evaluator_work(e);
  RaScore scores[RA_LANES];

  *out_exact = 0;

  for (guint i = 0; i < N_PLANS; i += RA_LANES) {
    for (guint lane = 0; lane < RA_LANES; lane++)
      ra_evaluator_set(e, lane, &p->plans[i + lane]);
    ra_evaluator_run(e, RA_LANES, scores);
    for (guint lane = 0; lane < RA_LANES; lane++)
      *out_exact += scores[lane].is_exact;
  }
  return work_since(e, &before);
}

/* A plan from nothing: each pair of calls once, each duration once; the program
 * is at hand, and so is the class of a reallocation between sets, but where two
 * pairs have one place. */
START_TEST(filled)
{
  Plans p;
  RaEvaluatorWork first, work;
  const RaFlatGraph *program;
  guint n_exact;

  plans_init(&p);
  first = *ra_evaluator_work(p.c.evaluator);
  work = evaluate_all(&p, &n_exact);
  program = ra_evaluator_program(p.c.evaluator, 0);
  ck_assert_uint_gt(p.n_sets, N_PLANS / 2);
  ck_assert_uint_eq(work.n_filled, N_PLANS);
  ck_assert_uint_eq(work.n_pairs, N_PLANS * N_PAIRS);
  ck_assert_uint_eq(work.n_slots, N_PLANS * program->n_slots);
  /* The oracle's fault: what is not at hand is counted, so the first time there
   * are some of each. */
  ck_assert_uint_gt(first.n_signatures, 0);
  ck_assert_uint_gt(first.n_hashes, 0);
  ck_assert_uint_eq(work.n_signatures, 0);
  ck_assert_uint_le(work.n_hashes, N_PLANS / 8);
  search_case_clear(&p.c);
}
END_TEST

/* Data that are generated go to five calls, those that three infer of it to two
 * trainings each: eleven payloads. Two models are read elsewhere than they are
 * trained, from the second iteration on. Eight plans are one replay, and its
 * data stay in 32 KiB. */
START_TEST(replayed)
{
  const guint n = SEARCH_CASE_ITERATIONS;
  guint n_exact;
  Plans p;
  RaEvaluatorWork work;
  const RaFlatGraph *program;

  plans_init(&p);
  work = evaluate_all(&p, &n_exact);
  program = ra_evaluator_program(p.c.evaluator, 0);
  ck_assert_uint_eq(program->n_slots, N_CALLS + 11 + 2);
  ck_assert_uint_eq(program->n_nodes, n * (N_CALLS + 11) + (n - 1) * 2);
  ck_assert_uint_eq(work.n_replays, N_PLANS / RA_LANES);
  ck_assert_uint_eq(work.n_nodes, work.n_replays * program->n_nodes);
  ck_assert_uint_le(work.lane_bytes, 32768);
  search_case_clear(&p.c);
}
END_TEST

/* Exact peaks only where the bound is over; of what is on the GPUs that may be
 * the fullest, hardly more than one. */
START_TEST(peaks)
{
  guint n_exact;
  Plans p;
  RaEvaluatorWork work;

  plans_init(&p);
  work = evaluate_all(&p, &n_exact);
  ck_assert_uint_gt(n_exact, 0);
  ck_assert_uint_lt(n_exact, N_PLANS / 2);
  ck_assert_uint_eq(work.n_peaks, n_exact);
  ck_assert_uint_le(work.n_gpus, 2 * work.n_peaks);
  ck_assert_uint_le(work.n_moments,
                    work.n_peaks * N_CALLS * 2 * SEARCH_CASE_ITERATIONS * 2);
  search_case_clear(&p.c);
}
END_TEST

/* A change of a call: its pairs, its durations.  Where something is in host
 * memory programs differ by where meshes are, which is looked up: the fault. */
START_TEST(moved)
{
  SearchCase c;
  RaPoint point = {.residency = {0}};
  RaEvaluatorWork before, work;
  uint64_t n_slots = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_REAL, NULL);
  for (guint call = 0; call < N_CALLS; call++)
    point.calls[call] = search_case_choice(&c, call);
  ra_evaluator_set(c.evaluator, 0, &point);
  for (guint k = 0; k < 2; k++) {
    before = *ra_evaluator_work(c.evaluator);
    n_slots = 0;
    for (guint i = 0; i < N_PLANS; i++) {
      uint32_t call = i % N_CALLS;
      const RaFlatGraph *program = ra_evaluator_program(c.evaluator, 0);

      ra_evaluator_move(c.evaluator, 0, call, search_case_choice(&c, call));
      for (guint s = 0; s < program->n_slots; s++)
        n_slots +=
            program->slots[s].call == call || program->slots[s].source == call;
    }
    work = work_since(c.evaluator, &before);
    if (k == 1)
      break;
    ck_assert_uint_eq(work.n_moved, N_PLANS);
    ck_assert_uint_eq(work.n_filled, 0);
    ck_assert_uint_eq(work.n_pairs, N_PLANS * (N_CALLS - 1));
    ck_assert_uint_eq(work.n_slots, n_slots);
    ck_assert_uint_eq(work.n_signatures, 0);
    ra_evaluator_move_residency(c.evaluator, 0, 0, RA_RESIDENCY_HOST);
  }
  ck_assert_uint_eq(work.n_signatures, N_PLANS);
  search_case_clear(&c);
}
END_TEST

static Suite *
work_suite(void)
{
  Suite *s = suite_create("evaluate_work");
  TCase *core = tcase_create("core");

  tcase_set_timeout(core, 300);
  tcase_add_test(core, filled);
  tcase_add_test(core, replayed);
  tcase_add_test(core, peaks);
  tcase_add_test(core, moved);
  suite_add_tcase(s, core);
  return s;
}

RA_CHECK_MAIN(work_suite)
