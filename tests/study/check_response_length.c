/* Lengths of responses where only their maximum is known. */
#include "config.h"

#include "study/convert/response_length.h"
#include "tests/support/check_main.h"

/* 0.64 of the maximum; 262 tokens at 1,024 and 2^0.65 = 1.569 times as many at
 * twice that; never more than 0.64 of a short maximum. */
START_TEST(test_means)
{
  ck_assert_double_eq_tol(ra_recipe_response_mean("Qwen/Qwen3-8B", 8192),
                          5242.9, 0.05);
  ck_assert_double_eq_tol(ra_recipe_response_mean("Qwen/Qwen2.5-7B", 1024), 262,
                          1e-9);
  ck_assert_double_eq_tol(ra_recipe_response_mean("Qwen/Qwen2.5-7B", 2048),
                          411.1, 0.05);
  ck_assert_double_eq_tol(ra_recipe_response_mean(NULL, 16), 10.24, 1e-9);
}
END_TEST

/* Names and paths of models, by their makers' cards. */
START_TEST(test_names)
{
  static const struct {
    const char *name;
    gboolean thinks;
  } cases[] = {
      {"Qwen/Qwen3-32B", TRUE},
      {"/models/qwen3-30b-a3b/", TRUE},
      {"Qwen3-235B-A22B-Thinking-2507", TRUE},
      {"Qwen3-4B-Instruct-2507", FALSE},
      {"Qwen3-14B-Base", FALSE},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", TRUE},
      {"deepseek-ai/deepseek-llm-7b-chat", FALSE},
      {"openai/gpt-oss-20b", TRUE},
      {"meta-llama/Llama-3.1-8B-Instruct", FALSE},
      {"Qwen/Qwen2.5-Math-7B", FALSE},
      {NULL, FALSE},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    ck_assert_msg(ra_recipe_thinks(cases[i].name) == cases[i].thinks, "%s",
                  cases[i].name);
}
END_TEST

static Suite *
response_length_suite(void)
{
  Suite *suite = suite_create("response_length");
  TCase *tcase = tcase_create("lengths");

  tcase_add_test(tcase, test_means);
  tcase_add_test(tcase, test_names);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(response_length_suite)
