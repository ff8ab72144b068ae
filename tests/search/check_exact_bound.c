/* The bound of plans of which only some is known: by hand, and never above a
 * plan that is evaluated. */
#include "config.h"

#include <math.h>

#include "search/exact_bound.h"
#include "tests/support/search_case.h"

static const char *const one_node[] = {"cluster.nodes=1", "workload.prompts=64",
                                       NULL};

/* --- by hand --- */

enum { GENERATE, REF, REWARD, CRITIC, TRAIN, CRITIC_TRAIN, N_PPO };

static void
set_call(RaExactCall *call, double seconds, uint32_t n_gpus)
{
  *call = (RaExactCall){
      .seconds = seconds, .gpu_s = seconds * n_gpus, .n_gpus = n_gpus};
}

/* Bound for @n iterations on 64 GPUs. */
static double
bound_of(const SearchCase *c, const RaExactCall *calls, uint32_t n)
{
  g_autoptr(RaExactBound) bound = ra_exact_bound_new(c->space, 64, n);

  return ra_exact_bound_s(bound, calls);
}

static void
check_near(double got, double expected)
{
  ck_assert_msg(fabs(got / expected - 1) < 1e-8, "%.12g s, expected %.12g s",
                got, expected);
}

/* Generation 10 s on 64 GPUs, three inferences of 2 s, two trainings of 4 s on
 * 32 each.  Calls of the file: generate, ref, reward, critic, train, train. */
START_TEST(by_hand)
{
  SearchCase c;
  RaExactCall calls[N_PPO];

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", one_node,
                   RA_SPACE_REAL, NULL);
  set_call(&calls[GENERATE], 10, 64);
  for (guint i = REF; i <= CRITIC; i++)
    set_call(&calls[i], 2, 16);
  set_call(&calls[TRAIN], 4, 32);
  set_call(&calls[CRITIC_TRAIN], 4, 32);
  /* 16 GPUs each: side by side, 10 + 2 + 4. */
  check_near(bound_of(&c, calls, 1), 16);
  /* On 32 each: they fill 64 GPUs for 3 x 2 x 32 / 64 = 3 s. */
  for (guint i = REF; i <= CRITIC; i++)
    set_call(&calls[i], 2, 32);
  check_near(bound_of(&c, calls, 1), 17);
  /* On 40 each any two share GPUs: one after the other. */
  for (guint i = REF; i <= CRITIC; i++)
    set_call(&calls[i], 2, 40);
  check_near(bound_of(&c, calls, 1), 20);
  /* Or because it is said of two of 16: 10 + 4 + 4. */
  for (guint i = REF; i <= CRITIC; i++)
    set_call(&calls[i], 2, 16);
  calls[REWARD].meets = 1u << REF;
  check_near(bound_of(&c, calls, 1), 18);
  /* Generation waits for the training before it and for 1 s of moving: twice
   * 18 and 1, by two. */
  calls[GENERATE].realloc_s = 1;
  check_near(bound_of(&c, calls, 2), 18.5);
  /* Trainings of 4 s on all GPUs: 10 + 4 + 8, and the same again. */
  calls[GENERATE].realloc_s = 0;
  set_call(&calls[TRAIN], 4, 64);
  set_call(&calls[CRITIC_TRAIN], 4, 64);
  check_near(bound_of(&c, calls, 2), 22);
  search_case_clear(&c);
}
END_TEST

/* --- of plans --- */

/* Costs that are known of @point. */
static void
know(SearchCase *c, const RaPoint *point, RaExactCall *calls)
{
  for (uint32_t k = 0; k < c->setup->workload->n_calls; k++) {
    const RaCandidate *like = ra_space_candidate(c->space, k, point->calls[k]);
    double seconds =
        ra_cost_table_least_s(c->costs, k, point->calls[k].candidate);

    set_call(&calls[k], seconds, like->n_gpus);
    calls[k].realloc_s = ra_evaluator_realloc_s(c->evaluator, 0, k);
    calls[k].meets = ra_evaluator_meets(c->evaluator, 0, k);
  }
}

/* Random plans: all known, then less and less.  How many are bounded to within
 * a hundredth, and (@out_over) how many would not be if every GPU-second
 * counted double. */
static guint
compare_random(const char *workload, const char *const *sets, RaSpaceKind kind,
               guint n, guint *out_over)
{
  SearchCase c;
  guint n_close = 0;

  search_case_init(&c, workload, "h100-16n.cluster", sets, kind, NULL);
  for (guint i = 0; i < n; i++) {
    g_autoptr(RaExactBound) bound = ra_exact_bound_new(
        c.space, ra_cluster_n_gpus(c.setup->cluster), SEARCH_CASE_ITERATIONS);
    RaPoint point = search_case_point(&c, FALSE);
    RaExactCall calls[RA_POINT_MAX], twice[RA_POINT_MAX];
    RaScore score;
    double bound_s, before_s;

    ra_evaluate(c.evaluator, &point, &score);
    know(&c, &point, calls);
    memcpy(twice, calls, sizeof twice);
    bound_s = before_s = ra_exact_bound_s(bound, calls);
    ck_assert_msg(bound_s <= score.run_s, "%u: %.12g > %.12g s", i, bound_s,
                  score.run_s);
    n_close += bound_s > 0.99 * score.run_s;
    for (uint32_t k = 0; k < c.setup->workload->n_calls; k++)
      twice[k].gpu_s *= 2;
    *out_over += ra_exact_bound_s(bound, twice) > score.run_s;
    for (uint32_t k = 0; k < c.setup->workload->n_calls; k++) {
      calls[k] = (RaExactCall){.n_gpus = 0};
      bound_s = ra_exact_bound_s(bound, calls);
      ck_assert(bound_s <= before_s);
      before_s = bound_s;
    }
  }
  search_case_clear(&c);
  return n_close;
}

/* PPO; readers that share a layout, a host call, drawn lengths; generation
 * that lags; calls of several parts. */
START_TEST(random_plans)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=32", NULL};
  const char *more[] = {"cluster.nodes=4", "workload.prompts=32", NULL};
  const char *chunks[] = {"cluster.nodes=2",
                          "workload.prompt-length=fixed(128)",
                          "workload.response-length=fixed(256)", NULL};
  guint n_over = 0, n_close = 0;

  n_close += compare_random("ppo-llama2-7b.workload", sets, RA_SPACE_REAL, 300,
                            &n_over);
  n_close += compare_random("ppo-llama2-7b.workload", sets, RA_SPACE_FULL, 100,
                            &n_over);
  /* Most plans are bounded by their order alone; where calls fill the GPUs, to
   * count them twice is the fault. */
  ck_assert_uint_gt(n_close, 100);
  ck_assert_uint_gt(n_over, 20);
  compare_random("grpo-qwen2.5-7b.workload", sets, RA_SPACE_REAL, 100, &n_over);
  compare_random("grpo-qwen2.5-32b-async.workload", more, RA_SPACE_REAL, 100,
                 &n_over);
  compare_random("ppo-llama-7b-stream.workload", chunks, RA_SPACE_REAL, 100,
                 &n_over);
}
END_TEST

static Suite *
exact_bound_suite(void)
{
  Suite *s = suite_create("exact_bound");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_test(tcase, by_hand);
  tcase_add_test(tcase, random_plans);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(exact_bound_suite)
