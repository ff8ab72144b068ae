/* Trainers' logs: every form, what is left out, comparison, constants. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/run/log_compare.h"
#include "tests/support/check_main.h"

static RaStepLog *
parse(const char *text)
{
  GError *error = NULL;
  RaStepLog *log = ra_step_log_parse("l.log", text, strlen(text), &error);

  ck_assert_msg(log != NULL, "%s", error ? error->message : "");
  return log;
}

static const RaLogStep *
step_at(const RaStepLog *log, guint i)
{
  ck_assert_uint_gt(log->steps->len, i);
  return &g_array_index(log->steps, RaLogStep, i);
}

/* ---- Forms ----------------------------------------------------------------*/

/* Colour codes and a process before it; the whole without validation: 40 - 4;
 * reward and advantage are one phase: 1 + 0.5. */
START_TEST(test_verl)
{
  g_autoptr(RaStepLog) log = parse(
      "\033[36m(TaskRunner pid=7)\033[0m step:3 - timing_s/gen:10.5 - "
      "timing_s/reward:1.0 - timing_s/adv:0.5 - timing_s/old_log_prob:4.25 - "
      "timing_s/update_actor:12.0 - timing_s/testing:4.0 - timing_s/step:40.0 "
      "- response_length/mean:200.5 - response_length/max:np.float64(1024.0) - "
      "response_length/clip_ratio:0.03125 - prompt_length/mean:100.0 - "
      "perf/max_memory_reserved_gb:2.0\n");
  const RaLogStep *step = step_at(log, 0);

  ck_assert_uint_eq(step->step, 3);
  ck_assert_double_eq(step->times.s[RA_STEP_GENERATE], 10.5);
  ck_assert_double_eq(step->times.s[RA_STEP_REWARD], 1.5);
  ck_assert_double_eq(step->times.s[RA_STEP_LOGPROB], 4.25);
  ck_assert_double_eq(step->times.s[RA_STEP_UPDATE], 12);
  ck_assert_double_eq(step->times.s[RA_STEP_TOTAL], 36);
  ck_assert_double_eq(step->response_mean, 200.5);
  ck_assert_double_eq(step->response_max, 1024);
  ck_assert_double_eq(step->clip_frac, 0.03125);
  ck_assert_double_eq(step->peak_bytes, 2147483648.0);
}
END_TEST

START_TEST(test_nemo)
{
  g_autoptr(RaStepLog) log =
      parse("========================= Step 4/500 =========================\n"
            "  \xe2\x80\xa2 Mean Generation Length: 1060.5\n"
            "  \xe2\x80\xa2 Total step time: 97.70s\n"
            "  \xe2\x80\xa2 policy_training: 30.10s (30.8%)\n"
            "  \xe2\x80\xa2 policy_and_reference_logprobs: 9.00s (9.2%)\n"
            "  \xe2\x80\xa2 generation: 40.00s (40.9%)\n"
            "========================= Step 5/500 =========================\n"
            "  \xe2\x80\xa2 Total step time: 90.00s\n");
  const RaLogStep *step = step_at(log, 0);

  ck_assert_uint_eq(log->steps->len, 2);
  ck_assert_uint_eq(step->step, 4);
  ck_assert_double_eq(step->times.s[RA_STEP_TOTAL], 97.70);
  ck_assert_double_eq(step->times.s[RA_STEP_UPDATE], 30.10);
  ck_assert_double_eq(step->times.s[RA_STEP_LOGPROB], 9);
  ck_assert_double_eq(step->response_mean, 1060.5);
  ck_assert_double_eq(step_at(log, 1)->times.s[RA_STEP_TOTAL], 90);
}
END_TEST

/* Two records of one step are one; W&B puts a group before NeMo-RL's names; a
 * line that is cut is left out. */
START_TEST(test_objects)
{
  g_autoptr(RaStepLog) log =
      parse("perf 7: {'perf/step_time': 12.5, 'perf/actor_train_time': 4.5}\n"
            "rollout 7: {'rollout/response_len/mean': 800.5}\n"
            "{\"_step\": 8, \"timing/train/policy_training\": 3.5, "
            "\"timing/train/total_step_time\": 9.0}\n"
            "{\"_step\": 9, \"timing/train/policy_training\": 3.5, \"timing\n");

  ck_assert_uint_eq(log->steps->len, 2);
  ck_assert_double_eq(step_at(log, 0)->times.s[RA_STEP_UPDATE], 4.5);
  ck_assert_double_eq(step_at(log, 0)->response_mean, 800.5);
  ck_assert_double_eq(step_at(log, 1)->times.s[RA_STEP_UPDATE], 3.5);
  ck_assert_uint_eq(log->notes->len, 1);
  ck_assert_str_eq(log->notes->pdata[0], "1 records that are cut");
}
END_TEST

/* A line with too few cells, one that is no number, an earlier run. */
START_TEST(test_export)
{
  g_autoptr(RaStepLog) log = parse("_step,timing_s/gen,timing_s/step\n"
                                   "1,9.5,19.5\n2,9.5,19.5\n1,5.5,9.5\n2,6.5\n"
                                   "3,NaN,11.5\n2,1,1\n4,7.5,12.5\n");

  ck_assert_uint_eq(log->steps->len, 3);
  ck_assert_uint_eq(step_at(log, 0)->step, 1);
  ck_assert_double_eq(step_at(log, 0)->times.s[RA_STEP_GENERATE], 5.5);
  ck_assert_double_eq(step_at(log, 1)->times.s[RA_STEP_GENERATE], 0);
  ck_assert_double_eq(step_at(log, 1)->times.s[RA_STEP_TOTAL], 11.5);
  ck_assert_uint_eq(step_at(log, 2)->step, 4);
  ck_assert_uint_eq(log->notes->len, 4);
}
END_TEST

START_TEST(test_refused)
{
  GError *error = NULL;

  ck_assert_ptr_null(ra_step_log_parse("l.log", "nothing\n", 8, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "l.log: no step with times"));
  g_error_free(error);
}
END_TEST

/* ---- Beside a plan --------------------------------------------------------*/

static char *
plan_path(void)
{
  return ra_share_find("plans", "grpo-tiny-4.plan", NULL, NULL);
}

/* (transfer full): a log of @n steps of the plan's own prediction under a
 * system, in which generation and update are @factor times as long. */
static char *
made_log(guint n, double factor)
{
  g_autofree char *path = plan_path();
  RaSetupFlags flags = {.sets = NULL};
  g_autoptr(RaSetup) setup = ra_setup_load(path, RA_FILE_PLAN, &flags, NULL);
  GString *out = g_string_new(NULL);
  RaStepTimes t;

  ck_assert(ra_step_times(setup, &t, NULL, NULL));
  t.s[RA_STEP_GENERATE] += t.s[RA_STEP_SYNC]; /* the log has no such phase */
  for (guint i = 1; i <= n; i++)
    g_string_append_printf(
        out,
        "step:%u - timing_s/gen:%.9g - timing_s/update_actor:%.9g - "
        "timing_s/step:%.9g\n",
        i, factor * t.s[RA_STEP_GENERATE], factor * t.s[RA_STEP_UPDATE],
        t.s[RA_STEP_TOTAL] +
            (factor - 1) * (t.s[RA_STEP_GENERATE] + t.s[RA_STEP_UPDATE]));
  return g_string_free(out, FALSE);
}

static char *
table_text(const RaTable *table)
{
  GString *out = g_string_new(NULL);

  ra_table_write(table, RA_FORMAT_TSV, out);
  return g_string_free(out, FALSE);
}

/* A log of the plan's own prediction has no error to explain; one twice as long
 * has -0.5. */
START_TEST(test_compare)
{
  GError *error = NULL;
  g_autofree char *path = plan_path();
  g_autofree char *same_text = made_log(6, 1), *slow_text = made_log(6, 2);
  g_autoptr(RaStepLog) same = parse(same_text), slow = parse(slow_text);
  g_autoptr(RaTable) good = ra_step_log_compare(path, same, FALSE, &error);
  g_autoptr(RaTable) bad = ra_step_log_compare(path, slow, FALSE, &error);
  g_autofree char *good_text = table_text(good), *bad_text = table_text(bad);

  ck_assert_ptr_nonnull(strstr(good_text, "within 15 %"));
  ck_assert_ptr_null(strstr(good_text, "compute-factor"));
  ck_assert_ptr_nonnull(strstr(bad_text, "compute-factor"));
  ck_assert_ptr_nonnull(strstr(bad_text, "-0.5"));
}
END_TEST

/* A run whose update takes twice as long has a compute-factor of 2 or more
 * (other parts of an update do not scale), and its later steps are met. */
START_TEST(test_fit)
{
  GError *error = NULL;
  g_autofree char *path = plan_path(), *text = made_log(12, 2);
  g_autoptr(RaStepLog) log = parse(text);
  g_autoptr(RaTable) later = NULL;
  g_autofree char *file =
      ra_step_log_fit(path, log, "mine", FALSE, &later, &error);
  g_autoptr(RaKeyFile) keys = NULL;
  g_autoptr(RaSystem) system = NULL;

  ck_assert_msg(file != NULL, "%s", error ? error->message : "");
  keys = ra_key_file_parse("mine.system", file, strlen(file), &error);
  system = keys ? ra_system_load(keys, &error) : NULL;
  ck_assert_msg(system != NULL, "%s", error ? error->message : "");
  ck_assert_double_ge(system->constants.compute_factor, 1.9);
  ck_assert_double_lt(system->error_median_frac, 0.02);
  ck_assert_uint_eq(ra_table_n_rows(later), 8);
}
END_TEST

/* A run whose update takes what is predicted, U, and whose passes U more than
 * they are, P.  A factor of the update alone is 1, and a later step is U too
 * short; one of both, by which update and passes take 2 U + P, meets it. */
START_TEST(test_fit_passes)
{
  GError *error = NULL;
  g_autofree char *path = plan_path(), *file = NULL;
  RaSetupFlags flags = {.sets = NULL};
  g_autoptr(RaSetup) setup = ra_setup_load(path, RA_FILE_PLAN, &flags, NULL);
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(RaStepLog) log = NULL;
  g_autoptr(RaTable) later = NULL;
  g_autoptr(RaKeyFile) keys = NULL;
  g_autoptr(RaSystem) system = NULL;
  double update_s;
  RaStepTimes t;

  ck_assert(ra_step_times(setup, &t, NULL, NULL));
  update_s = t.s[RA_STEP_UPDATE];
  ck_assert_double_gt(t.s[RA_STEP_REFERENCE], 0);
  for (guint i = 1; i <= 12; i++)
    g_string_append_printf(
        text,
        "step:%u - timing_s/ref:%.9g - timing_s/update_actor:%.9g - "
        "timing_s/step:%.9g\n",
        i, t.s[RA_STEP_REFERENCE] + update_s, update_s,
        t.s[RA_STEP_TOTAL] + update_s);
  log = parse(text->str);
  file = ra_step_log_fit(path, log, "mine", FALSE, &later, &error);
  ck_assert_msg(file != NULL, "%s", error ? error->message : "");
  keys = ra_key_file_parse("mine.system", file, strlen(file), &error);
  system = keys ? ra_system_load(keys, &error) : NULL;
  ck_assert_msg(system != NULL, "%s", error ? error->message : "");
  ck_assert_double_gt(update_s / t.s[RA_STEP_TOTAL], 0.04);
  ck_assert_double_lt(system->error_median_frac, 0.02);
}
END_TEST

START_TEST(test_fit_refused)
{
  GError *error = NULL;
  g_autofree char *path = plan_path(), *text = made_log(5, 1);
  g_autoptr(RaStepLog) log = parse(text);
  RaTable *later = NULL;

  ck_assert_ptr_null(ra_step_log_fit(path, log, "mine", FALSE, &later, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "expected at least 6"));
  g_error_free(error);
}
END_TEST

static Suite *
step_log_suite(void)
{
  Suite *suite = suite_create("step_log");
  TCase *tcase = tcase_create("step_log");

  tcase_add_test(tcase, test_verl);
  tcase_add_test(tcase, test_nemo);
  tcase_add_test(tcase, test_objects);
  tcase_add_test(tcase, test_export);
  tcase_add_test(tcase, test_refused);
  tcase_add_test(tcase, test_compare);
  tcase_add_test(tcase, test_fit);
  tcase_add_test(tcase, test_fit_passes);
  tcase_add_test(tcase, test_fit_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(step_log_suite)
