/* Studies: what is read, what is kept, what is answered. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "study/sweep/answer.h"
#include "study/sweep/curve.h"
#include "tests/support/check_edit.h"
#include "tests/support/check_main.h"
#include "tests/support/study_sample.h"

/* Two axes: 2 x 4 points. */
static const char good[] =
    "[study]\nformat = 1\ntitle = A question\n"
    "plan = ppo-tiny-4-colocated.plan\nquestion = minimum\nof = gpus\n"
    "along = prompts\nwhere = fits, iteration < 60 s\n"
    "[failures]\ngpu-mtbf = 1000 h\ncheckpoint-time = 10 s\n"
    "restart-time = 1 min\n"
    "[axis rate]\nkey = cluster.nic\nvalues = 10 GB/s, 20 GB/s\n"
    "[axis prompts]\nkey = workload.prompts, runs\n"
    "values = 8 | 1, 16 | 1, 32 | 2, 64 | 2\n";

static gboolean
loads(const char *text, GError **error)
{
  g_autoptr(RaStudy) study = parse(text, error);

  return study != NULL;
}

#define METRICS                                                                \
  "iteration, tokens, tokens-per-gpu, gpus, usd, usd-per-mtoken, mfu, "        \
  "memory, goodput, useful-tokens, interval"

static const RaFault faults[] = {
    {"title = A question\n", "",
     "a.study:1: missing key 'title' in [study], expected question in words"},
    {"minimum", "least",
     "a.study:5: 'question' is 'least', expected one of fits, minimum, "
     "maximum, knee, crossover, pareto"},
    {"of = gpus", "of = gpu",
     "a.study:6: 'of' is 'gpu', expected one of " METRICS},
    {"of = gpus", "of = gpus, usd",
     "a.study:6: 2 metrics, expected 1 for minimum; metrics are " METRICS},
    {"along = prompts", "along = prompt",
     "a.study:7: 'along' is 'prompt', expected the name of an axis"},
    {"iteration < 60 s", "iteration < 60",
     "a.study:8: 'where': iteration: '60' has no unit, expected a time in one "
     "of ns, us, ms, s, min, h, d"},
    {"iteration < 60 s", "iteration",
     "a.study:8: 'where': 'iteration', expected fits, or a metric, < or >, and "
     "a value; metrics are " METRICS},
    {"key = cluster.nic\n", "key = cluster.nick\n",
     "a.study:15: --set 'cluster.nick=10 GB/s': unknown key 'nick' in "
     "[cluster], did you mean 'nic'?"},
    {"16 | 1,", "16,", "a.study:18: '16' is 1 values, expected 2, one per key"},
    {"32 | 2", "32 | 0", "a.study:18: '0' is not a value of runs"},
    {"values = 10 GB/s, 20 GB/s", "values = 10 GB/s, 20 GB/s\nlabels = slow",
     "a.study:16: 1 labels, expected 2, one per value"},
    {"[axis rate]", "[axis fits]",
     "a.study:13: 'fits' is a column of every study, expected another name "
     "for the axis"},
    {"plan = ppo-tiny-4-colocated.plan\n", "",
     "a.study:1: no plan, expected one of plan and placement"},
    {"[failures]", "[failure]",
     "a.study:9: unknown group 'failure', did you mean 'failures'?"},
};

START_TEST(bad_input)
{
  ck_assert(loads(good, NULL));
  ra_check_faults(good, faults, G_N_ELEMENTS(faults), loads);
}
END_TEST

/* Every point is on one curve at one value; the last axis is the fastest. */
START_TEST(points)
{
  g_autoptr(RaStudy) study = parse_good(good);
  guint seen[8] = {0};
  RaSetupFlags flags = {.real = FALSE};
  RaStudyPoint point;

  ck_assert_uint_eq(study->n_points, 8);
  for (guint along = 0; along < 2; along++) {
    study->along = along;
    ck_assert_uint_eq(ra_study_n_curves(study), along == 0 ? 4 : 2);
    for (guint c = 0; c < ra_study_n_curves(study); c++)
      for (guint v = 0; v < study->axes[along].n_values; v++) {
        guint p = ra_study_curve_point(study, c, v);

        ck_assert_uint_lt(p, 8);
        ck_assert_uint_eq(ra_study_value(study, p, along), v);
        seen[p]++;
      }
  }
  for (guint p = 0; p < 8; p++)
    ck_assert_uint_eq(seen[p], 2);
  /* 6 is 20 GB/s and 32 | 2 */
  ra_study_point(study, &flags, 6, &point);
  ck_assert_str_eq(point.sets->pdata[0], "cluster.nic=20 GB/s");
  ck_assert_str_eq(point.sets->pdata[1], "workload.prompts=32");
  ck_assert_uint_eq(point.n_runs, 2);
  ra_study_point_clear(&point);
}
END_TEST

/* No checkpoints' cost, no restart, an interval of one mean time between
 * failures: 1 / (e - 1).  At the best interval neither a tenth more nor less
 * is better; the fault: at twice it is worse.  419 interruptions in 54 days on
 * 16,384 GPUs (Llama 3, arXiv 2407.21783, section 3.3.4) are a failure each
 * 3.09 h, so 50,675 h a GPU. */
START_TEST(goodput)
{
  RaFailures f = {.gpu_mtbf_s = 1000, .interval_s = 1000};
  RaFailures llama = {
      .gpu_mtbf_s = 50675 * 3600.0, .checkpoint_s = 60, .restart_s = 600};
  RaGoodput best = ra_goodput(&llama, 16384);
  RaFailures other = llama;

  ck_assert_double_eq_tol(ra_goodput(&f, 1).frac, 1 / (exp(1) - 1), 1e-12);
  ck_assert_double_eq_tol(best.mtbf_s, 54 * 86400.0 / 419, 1);
  for (int i = -1; i <= 1; i += 2) {
    other.interval_s = best.interval_s * (1 + 0.1 * i);
    ck_assert_double_le(ra_goodput(&other, 16384).frac, best.frac);
  }
  other.interval_s = best.interval_s * 2;
  ck_assert_double_lt(ra_goodput(&other, 16384).frac, best.frac - 1e-3);
  /* fewer GPUs lose less */
  ck_assert_double_gt(ra_goodput(&llama, 1024).frac, best.frac);
}
END_TEST

/* --- answers to figures by hand --- */

/* Two curves of four values. */
static char *
study_text(const char *question, const char *of)
{
  return g_strdup_printf("[study]\nformat = 1\ntitle = t\nquestion = %s\n"
                         "of = %s\nworkload = ppo-tiny.workload\n"
                         "cluster = h100-1n.cluster\nalong = x\n"
                         "where = fits, iteration < 60 s\n"
                         "[axis family]\nkey = placement\n"
                         "values = real, megatron\n"
                         "[axis x]\nkey = workload.prompts\n"
                         "values = 10, 20, 30, 50\n",
                         question, of);
}

static RaAnswer *
answer_to(const char *question, const char *of, const double *s,
          const uint32_t *gpus)
{
  g_autofree char *text = study_text(question, of);
  g_autoptr(RaStudy) study = parse_good(text);
  g_autoptr(RaSweep) sweep = sweep_by_hand(study, s, gpus);

  return ra_answer_new(sweep);
}

static guint
answer_point(const RaAnswer *answer, guint i)
{
  ck_assert_uint_lt(i, answer->points->len);
  return g_array_index(answer->points, guint, i);
}

/* GPUs 8, 16, 24, 32: within a minute real has 16 and megatron 24; where both
 * have the same the quicker one wins. */
START_TEST(minimum)
{
  const double s[] = {70, 50, 40, 30, 90, 61, 55, 35};
  const uint32_t gpus[] = {8, 16, 24, 32, 8, 16, 24, 32};
  const uint32_t same[] = {8, 8, 8, 8, 8, 8, 8, 8};
  const double none[] = {70, 70, 70, 70, 90, 90, 90, 90};
  g_autoptr(RaAnswer) a = answer_to("minimum", "gpus", s, gpus);
  g_autoptr(RaAnswer) b = answer_to("minimum", "gpus", s, same);
  g_autoptr(RaAnswer) c = answer_to("minimum", "gpus", none, gpus);

  ck_assert_uint_eq(answer_point(a, 0), 1);
  ck_assert_uint_eq(answer_point(a, 1), 6);
  ck_assert_str_eq(a->sentence, "The minimum of gpus: 16 at family real, x 20");
  ck_assert_uint_eq(answer_point(b, 0), 3);
  ck_assert(!c->found);
}
END_TEST

/* real: 40, 20, 15, 10 at 10, 20, 30, 50: scaled y is 0, 2/3, 5/6, 1 and x 0,
 * 1/4, 1/2, 1, so 20 is 5/12 off the chord and 30 is 1/3.  megatron is a
 * straight line and has no knee. */
START_TEST(knee)
{
  const double s[] = {40, 20, 15, 10, 50, 40, 30, 10};
  g_autoptr(RaAnswer) a = answer_to("knee", "iteration", s, NULL);

  ck_assert_uint_eq(a->points->len, 1);
  ck_assert_uint_eq(answer_point(a, 0), 1);
}
END_TEST

/* On a logarithmic axis of 1, 10, 100 a line over the logarithm has no knee,
 * and on a linear one it has. */
START_TEST(knee_scale)
{
  const double s[] = {30, 20, 10};

  for (guint log_scale = 0; log_scale < 2; log_scale++) {
    g_autofree char *text = g_strdup_printf(
        "[study]\nformat = 1\ntitle = t\nquestion = knee\nof = iteration\n"
        "plan = ppo-tiny-4-colocated.plan\n[axis x]\n"
        "key = workload.prompts\nvalues = 1, 10, 100\nscale = %s\n",
        log_scale ? "log" : "linear");
    g_autoptr(RaStudy) study = parse_good(text);
    g_autoptr(RaSweep) sweep = sweep_by_hand(study, s, NULL);
    g_autoptr(RaAnswer) answer = ra_answer_new(sweep);

    ck_assert_int_eq(answer->found, log_scale == 0);
  }
}
END_TEST

/* real 10, 20, 30, 50 and megatron 24, 26, 28, 30: they differ by -14, -6, 2,
 * 20, so megatron is better from 20 + 10 x 6 / 8 = 27.5 on.  Where megatron
 * does not run before 30 it is better from there on.  The fault: swapped at the
 * end it is never better. */
START_TEST(crossover)
{
  const double s[] = {10, 20, 30, 50, 24, 26, 28, 30};
  const double late[] = {10, 20, 30, 50, (double)NAN, (double)NAN, 28, 30};
  const double never[] = {10, 20, 30, 50, 24, 26, 31, 55};
  g_autoptr(RaAnswer) a = answer_to("crossover", "iteration", s, NULL);
  g_autoptr(RaAnswer) b = answer_to("crossover", "iteration", late, NULL);
  g_autoptr(RaAnswer) c = answer_to("crossover", "iteration", never, NULL);

  ck_assert_str_eq(a->sentence, "from x 27.5 on family megatron");
  ck_assert_str_eq(b->sentence, "from x 30 on family megatron");
  ck_assert_str_eq(c->sentence, "No crossover: family real is best throughout");
}
END_TEST

/* (s, gpus x s): of (40, 40) (30, 60) (20, 80) (50, 50) only the last is
 * beaten, by the first; of two that are equal none is. */
START_TEST(pareto)
{
  const double s[] = {40, 30, 20, 50, 40, 70, 70, 70};
  const uint32_t gpus[] = {1, 2, 4, 1, 1, 1, 1, 1};
  g_autoptr(RaAnswer) a = answer_to("pareto", "iteration, usd", s, gpus);

  ck_assert_uint_eq(a->points->len, 4);
  ck_assert_uint_eq(answer_point(a, 0), 2);
  ck_assert_uint_eq(answer_point(a, 1), 1);
  ck_assert_uint_eq(answer_point(a, 2), 0);
  ck_assert_uint_eq(answer_point(a, 3), 4);
}
END_TEST

START_TEST(fits)
{
  const double s[] = {70, 50, 40, 70, 90, 90, 90, 90};
  g_autoptr(RaAnswer) a = answer_to("fits", "memory", s, NULL);

  ck_assert_str_eq(a->sentence, "2 of 8 points satisfy the limits");
}
END_TEST

/* --- what is kept --- */

static char *
tiny(const char *plan, const char *prompts)
{
  return g_strdup_printf("[study]\nformat = 1\ntitle = t\nplan = %s\n"
                         "question = fits\niterations = 2\n"
                         "[axis prompts]\nkey = workload.prompts\n"
                         "values = %s\n",
                         plan, prompts);
}

/* Runs it; how many of its points were known. */
static guint
n_known(const char *text, const char *folder, guint *out_n_damaged)
{
  g_autoptr(RaStudy) study = parse_good(text);
  g_autoptr(RaPointCache) cache = ra_point_cache_new(folder);
  RaSetupFlags flags = {.real = FALSE};
  RaSweepOptions options = {.cache = cache, .n_threads = 2};
  GError *error = NULL;
  g_autoptr(RaSweep) sweep = ra_sweep_new(study, &flags, &options, &error);

  if (!sweep)
    ck_abort_msg("%s", error->message);
  ck_assert(sweep->is_kept);
  for (guint i = 0; i < sweep->n; i++)
    ck_assert(sweep->points[i].trial.iteration_s > 0);
  if (out_n_damaged)
    *out_n_damaged = ra_point_cache_n_damaged(cache, NULL);
  return sweep->n_cached;
}

/* Removes the folder, of files alone; @damage: writes over one of them. */
static guint
sweep_folder(const char *folder, gboolean damage)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n = 0;

  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);

    n++;
    if (!damage)
      g_unlink(path);
    else if (n == 1)
      ck_assert(g_file_set_contents(path, "reallot point 1 x\n", -1, NULL));
  }
  if (dir)
    g_dir_close(dir);
  if (!damage)
    g_rmdir(folder);
  return n;
}

/* The first time nothing is known, then all; one value more is one point; a
 * damaged entry is run again, and said; a change of a file that was read is a
 * change of all. */
START_TEST(kept)
{
  g_autofree char *folder = g_dir_make_tmp("reallot-XXXXXX", NULL);
  g_autofree char *files = g_dir_make_tmp("reallot-XXXXXX", NULL);
  g_autofree char *plan = g_build_filename(files, "p.plan", NULL);
  g_autofree char *found =
      ra_share_find("plans", "ppo-tiny-4-colocated.plan", NULL, NULL);
  g_autofree char *text = NULL, *changed = NULL;
  g_autofree char *three = tiny(plan, "8, 16, 32");
  g_autofree char *four = tiny(plan, "8, 16, 32, 64");
  guint n_damaged;

  ck_assert(g_file_get_contents(found, &text, NULL, NULL));
  ck_assert(g_file_set_contents(plan, text, -1, NULL));
  ck_assert_uint_eq(n_known(three, folder, NULL), 0);
  ck_assert_uint_eq(n_known(three, folder, NULL), 3);
  ck_assert_uint_eq(n_known(four, folder, NULL), 3);
  ck_assert_uint_eq(sweep_folder(folder, TRUE), 4);
  ck_assert_uint_eq(n_known(four, folder, &n_damaged), 3);
  ck_assert_uint_eq(n_damaged, 1);
  ck_assert_uint_eq(n_known(four, folder, &n_damaged), 4);
  ck_assert_uint_eq(n_damaged, 0);
  changed = g_strconcat(text, "\n# another\n", NULL);
  ck_assert(g_file_set_contents(plan, changed, -1, NULL));
  ck_assert_uint_eq(n_known(four, folder, NULL), 0);
  sweep_folder(folder, FALSE);
  sweep_folder(files, FALSE);
}
END_TEST

typedef struct {
  gint stop;
  guint at;
} Stopper;

static void
stop_at(guint n_done, guint n_points, guint n_cached, void *data)
{
  Stopper *stopper = data;

  (void)n_points;
  if (n_done - n_cached == stopper->at)
    g_atomic_int_set(&stopper->stop, 1);
}

/* Stopped after two of four, the other two are all that is left. */
START_TEST(stopped)
{
  g_autofree char *folder = g_dir_make_tmp("reallot-XXXXXX", NULL);
  g_autofree char *text = tiny("ppo-tiny-4-colocated.plan", "8, 16, 32, 64");
  g_autoptr(RaStudy) study = parse_good(text);
  g_autoptr(RaPointCache) cache = ra_point_cache_new(folder);
  Stopper stopper = {0, 2};
  RaSetupFlags flags = {.real = FALSE};
  RaSweepOptions options = {.cache = cache,
                            .n_threads = 1,
                            .stop = &stopper.stop,
                            .progress = stop_at,
                            .data = &stopper};
  g_autoptr(GError) error = NULL;

  ck_assert_ptr_null(ra_sweep_new(study, &flags, &options, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE));
  ck_assert(g_str_has_prefix(error->message, "stopped after 2 of 4 points"));
  ck_assert_uint_eq(n_known(text, folder, NULL), 2);
  sweep_folder(folder, FALSE);
}
END_TEST

static Suite *
study_suite(void)
{
  Suite *suite = suite_create("study");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, bad_input);
  tcase_add_test(tcase, points);
  tcase_add_test(tcase, goodput);
  tcase_add_test(tcase, minimum);
  tcase_add_test(tcase, knee);
  tcase_add_test(tcase, knee_scale);
  tcase_add_test(tcase, crossover);
  tcase_add_test(tcase, pareto);
  tcase_add_test(tcase, fits);
  tcase_add_test(tcase, kept);
  tcase_add_test(tcase, stopped);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(study_suite)
