#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "sim/generate/decode_source.h"
#include "tests/support/check_main.h"
#include "tests/support/decode_reference.h"

/* 500 cases of one stage, in closed form, against token by token. */
START_TEST(test_one_stage)
{
  RaRng rng = ra_rng_init(21, 0);

  for (int i = 0; i < 500; i++) {
    Case c;
    Run run;
    Naive naive;

    random_case(&rng, &c, 1);
    run_case(&c, &run);
    naive = naive_run(&c);
    ck_assert_msg(agrees(&c, &run, &naive), "case %d", i);
    naive_clear(&naive);
  }
}
END_TEST

/* 500 cases of two to four stages. */
START_TEST(test_more_stages)
{
  RaRng rng = ra_rng_init(22, 0);

  for (int i = 0; i < 500; i++) {
    Case c;
    Run run;
    Naive naive;

    random_case(&rng, &c, 2 + (uint32_t)ra_rng_below(&rng, 3));
    run_case(&c, &run);
    naive = naive_run(&c);
    ck_assert_msg(agrees(&c, &run, &naive), "case %d", i);
    naive_clear(&naive);
  }
}
END_TEST

/* The faults that the comparison must catch: the first decode step attends to
 * prompt + 0 tokens (an off-by-one in K), here as prompts one token shorter,
 * and a response of r tokens takes r steps instead of r - 1. */
START_TEST(test_comparison_sees_faults)
{
  Case c = {
      .law = {.piece_tokens = UINT64_MAX, .base_s = {1}, .token_s = {0.001}},
      .prompt = {10, 20},
      .response = {5, 9}};
  Case shorter, longer;
  Run run;
  Naive naive;

  c.dynamic = (RaDynamic){.n_groups = 1,
                          .n_stages = 1,
                          .n_sequences = 2,
                          .n_parts = 1,
                          .prompt = c.prompt,
                          .response = c.response};
  naive = naive_run(&c);
  run_case(&c, &run);
  ck_assert(agrees(&c, &run, &naive));
  shorter = c;
  shorter.prompt[0]--;
  shorter.prompt[1]--;
  shorter.dynamic.prompt = shorter.prompt;
  run_case(&shorter, &run);
  ck_assert(!agrees(&c, &run, &naive));
  longer = c;
  longer.response[0]++;
  longer.response[1]++;
  longer.dynamic.response = longer.response;
  run_case(&longer, &run);
  ck_assert(!agrees(&c, &run, &naive));
  naive_clear(&naive);
}
END_TEST

/* By hand: prompts 10 and 20, responses 3 and 2, a step takes 1 ms a token of
 * K. Step 1: K = 11 + 21 = 32; step 2, the first sequence alone: K = 12.  With
 * two parts the first ends with the first sequence that ends, after step 1. */
START_TEST(test_by_hand)
{
  static const uint32_t prompt[] = {10, 20}, response[] = {3, 2};
  Case c = {.law = {.piece_tokens = UINT64_MAX, .token_s = {0.001}},
            .dynamic = {.n_groups = 1,
                        .n_stages = 1,
                        .n_sequences = 2,
                        .n_parts = 2,
                        .prompt = prompt,
                        .response = response}};
  Run run;

  run_case(&c, &run);
  ck_assert_double_eq_tol(run.part_end_s[0], 0.032, 1e-15);
  ck_assert_double_eq_tol(run.part_end_s[1], 0.044, 1e-15);
  ck_assert_uint_eq(run.result.n_steps, 2);
  ck_assert_uint_eq(run.result.n_evaluated, 2);
}
END_TEST

/* Responses of one token come from the prefill: nothing is left to do. */
START_TEST(test_prefill_only)
{
  static const uint32_t prompt[] = {10, 20}, response[] = {1, 1};

  for (uint32_t n_stages = 1; n_stages <= 2; n_stages++) {
    Case c = {.law = {.piece_tokens = 1, .base_s = {1, 1}},
              .dynamic = {.n_groups = 2,
                          .n_stages = n_stages,
                          .n_sequences = 2,
                          .n_parts = 2,
                          .prompt = prompt,
                          .response = response}};
    Run run;

    run_case(&c, &run);
    ck_assert_double_eq(run.part_end_s[1], 0);
    ck_assert_double_eq(run.part_cost[1].total_s, 0);
    ck_assert_uint_eq(run.result.n_evaluated, 0);
  }
}
END_TEST

/* Pipelining: two equal stages of 1 s, two groups of one sequence, no sends: a
 * group is back at stage 0 as the other leaves it, so both stages are
 * always busy but for the first and the last second: n steps of two groups take
 * 2 n + 1 s.  One group alone waits for itself: 2 n s. */
START_TEST(test_two_groups_fill_two_stages)
{
  static const uint32_t prompt[] = {5, 5}, response[] = {11, 11};
  Case c = {.law = {.piece_tokens = UINT64_MAX, .base_s = {1, 1}},
            .dynamic = {.n_groups = 2,
                        .n_stages = 2,
                        .n_sequences = 2,
                        .n_parts = 1,
                        .prompt = prompt,
                        .response = response}};
  Run run;

  run_case(&c, &run);
  ck_assert_double_eq(run.part_end_s[0], 21);
  ck_assert_double_eq(run.part_cost[0].compute_s, 20);
  c.dynamic.n_groups = 1;
  run_case(&c, &run);
  ck_assert_double_eq(run.part_end_s[0], 20);
  ck_assert_double_eq(run.part_cost[0].compute_s, 10);
}
END_TEST

/* The claim of cost: with one stage, 10^4 sequences of up to 32,768 tokens ask
 * for one line an end and piece, not one a step.  A stretch of constant batch
 * that begins in one piece and ends k pieces later asks k + 1 times; K falls
 * only at an end, so the crossings sum to at most the rise of K over the
 * stretches divided by the length of a piece. */
START_TEST(test_cost_is_of_ends)
{
  enum { N = 10000, LONGEST = 32768 };
  RaRng rng = ra_rng_init(23, 0);
  g_autofree uint32_t *prompt = g_new(uint32_t, N);
  g_autofree uint32_t *response = g_new(uint32_t, N);
  g_autofree uint32_t *n_at = g_new0(uint32_t, LONGEST + 1);
  Case c = {.law = {.piece_tokens = UINT64_MAX, .base_s = {1}},
            .dynamic = {.n_groups = 1, .n_stages = 1, .n_parts = 1}};
  uint64_t n_distinct = 0, token_steps = 0;
  Run run;

  for (uint32_t i = 0; i < N; i++) {
    prompt[i] = 100;
    /* 100 distinct ends */
    response[i] = LONGEST / 100 * (1 + (uint32_t)ra_rng_below(&rng, 100));
    n_distinct += n_at[response[i]]++ == 0;
    token_steps += response[i] - 1;
  }
  c.dynamic.n_sequences = N;
  c.dynamic.prompt = prompt;
  c.dynamic.response = response;
  run_case(&c, &run);
  ck_assert_uint_eq(run.result.n_evaluated, n_distinct);
  ck_assert_uint_gt(run.result.n_steps, 100 * n_distinct);
  /* K grows by the active sequences a step: token_steps in all. */
  c.law.piece_tokens = 1000000;
  run_case(&c, &run);
  ck_assert_uint_gt(run.result.n_evaluated, n_distinct);
  ck_assert_uint_le(run.result.n_evaluated,
                    n_distinct + token_steps / c.law.piece_tokens);
}
END_TEST

static Suite *
decode_suite(void)
{
  Suite *suite = suite_create("decode");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_one_stage);
  tcase_add_test(tcase, test_more_stages);
  tcase_add_test(tcase, test_comparison_sees_faults);
  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_prefill_only);
  tcase_add_test(tcase, test_two_groups_fill_two_stages);
  tcase_add_test(tcase, test_cost_is_of_ends);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(decode_suite)
