#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "estimator/fit.h"
#include "study/run/gpu_profile.h"
#include "tests/device/idle_gpu.h"
#include "tests/support/check_main.h"
#include "tests/support/new_path.h"
#include "tests/support/profile_text.h"
#include "traces/law.h"

/* A GPU of which a known profile is the truth: what is measured of it makes,
 * of another GPU's profile, one that says what the truth says. */

#define TRUTH "h100-sxm"
#define BASE "h200-sxm"

static RaGpuOptions
options_of(const IdleGpu *gpu, const RaProfile *base)
{
  return (RaGpuOptions){.machine = &gpu->machine,
                        .name = "an idle GPU",
                        .software = "nothing",
                        .command = "a test",
                        .base = base,
                        .quick = TRUE};
}

static char *
base_text(void)
{
  g_autofree char *path =
      g_strdup_printf("%s/traces/profiles/" BASE ".profile",
                      g_getenv("srcdir") ? g_getenv("srcdir") : ".");
  char *text = NULL;

  ck_assert(g_file_get_contents(path, &text, NULL, NULL));
  return text;
}

/* Seconds of @op that are measured on it: a step waits for the norm of its
 * gradients, so its kernel's launch is in it. */
static double
true_s(const IdleGpu *gpu, const RaOp *op)
{
  return ra_estimator_op_s(gpu->truth, op) +
         (op->kind == RA_OP_OPTIMIZER ? IDLE_EAGER_S : 0);
}

/* Worst of the laws' median errors at what was measured. */
static double
score(const RaProfile *profile, const IdleGpu *gpu, const GArray *plan)
{
  const RaCluster cluster = {
      .n_nodes = 1, .gpus_per_node = 1, .device = profile->spec};
  g_autoptr(RaEstimator) e = ra_estimator_new(profile, &cluster, NULL);
  double worst = 0;

  ck_assert_ptr_nonnull(e);
  for (guint l = 0; l < ra_law_n_specs(); l++) {
    const char *law = ra_law_spec_at(l)->name;
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));
    double median, p90;

    for (guint i = 0; i < plan->len; i++) {
      const RaOp *op = &g_array_index(plan, RaProbePlanned, i).point.op;
      RaHeldOut h = {.row = i};

      if (g_strcmp0(ra_fit_law_of(op), law) != 0)
        continue;
      h.error = ra_estimator_op_s(e, op) / true_s(gpu, op) - 1;
      g_array_append_val(errors, h);
    }
    if (errors->len == 0)
      continue;
    ra_fit_errors(errors, &median, &p90);
    if (g_getenv("RA_SHOW"))
      fprintf(stderr, "%s\t%u\t%.4f\t%.4f\n", law, errors->len, median, p90);
    worst = fmax(worst, median);
  }
  return worst;
}

static RaProfile *
calibrated(const RaGpuOptions *o, RaTrace **out_samples)
{
  g_autofree char *text = base_text();
  g_autoptr(RaCalibration) c = NULL;
  RaSampleTally tally;
  GError *error = NULL;

  *out_samples = ra_gpu_samples(o, NULL, &tally, &error);
  ck_assert_msg(*out_samples != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(tally.n_new, o->n_most > 0 ? o->n_most : tally.n_points);
  c = ra_gpu_profile(*out_samples, "a.samples.trace.tsv", BASE ".profile", text,
                     NULL, &error);
  ck_assert_msg(c != NULL, "%s", error ? error->message : "");
  if (g_getenv("RA_SHOW"))
    g_file_set_contents(g_getenv("RA_SHOW"), c->text->str, -1, NULL);
  return profile_text_parse(c->text->str);
}

/* Faults of what measures: two of three repeats that count are as slow as the
 * first ones; milliseconds for seconds. */
static const struct {
  guint n_slow;
  double unit;
  gboolean ok;
} machines[] = {{2, 1, TRUE}, {4, 1, FALSE}, {2, 1e3, FALSE}};

START_TEST(test_profile)
{
  RaProfile *truth = profile_text_shipped(TRUTH);
  RaProfile *base = profile_text_shipped(BASE);
  IdleGpu *gpu = idle_gpu_new(truth);
  RaGpuOptions o = options_of(gpu, base);
  RaProbePlanTally tally;
  g_autoptr(GArray) plan = ra_gpu_plan(base, &gpu->machine, TRUE, &tally, NULL);
  RaTrace *samples;
  RaProfile *mine;
  double value, error;

  /* The coarsest lattice, for the time that fits take. */
  while (o.n_most < (machines[_i].ok ? plan->len : 60) &&
         g_array_index(plan, RaProbePlanned, o.n_most).level == 0)
    o.n_most++;
  g_array_set_size(plan, o.n_most);
  gpu->n_slow = machines[_i].n_slow;
  gpu->unit = machines[_i].unit;
  mine = calibrated(&o, &samples);
  error = score(mine, gpu, plan);
  fprintf(stderr, "# worst law %g\n", error);
  ck_assert_msg((error < 0.005) == machines[_i].ok, "%g", error);
  if (machines[_i].ok) /* the plan is whole */
    ck_assert_double_gt(score(base, gpu, plan), 0.05);
  /* Laws that one GPU cannot show are the base's, launches are measured: 11 of
   * 11 ops (tests/study/check_loop_gpu.c). */
  ck_assert(ra_law_get(mine, ra_profile_law(mine, "host"), "eager-launch-s",
                       &value, NULL));
  ck_assert_double_eq_tol(value, 11.0 / 11 * IDLE_EAGER_S, 1e-9);
  ck_assert_str_eq(ra_profile_law(mine, "all-reduce")->source,
                   ra_profile_law(base, "all-reduce")->source);
  ck_assert_str_ne(ra_profile_law(mine, "gemm.bf16")->source,
                   ra_profile_law(base, "gemm.bf16")->source);
  /* 600 MiB without an array, and 32 for products. */
  ck_assert_str_eq(ra_trace_head(samples, "framework-bytes"), "6.627e+08");
  ra_trace_free(samples);
  ra_profile_free(mine);
  ra_profile_free(base);
  idle_gpu_free(gpu);
  ra_profile_free(truth);
}
END_TEST

/* All kinds come before any of the finer lattice, and what is planned takes no
 * more than it may: a tenth of the seconds leaves points out, the coarse ones
 * last. */
START_TEST(test_plan)
{
  RaProfile *base = profile_text_shipped(TRUTH);
  const RaCluster cluster = {
      .n_nodes = 1, .gpus_per_node = 1, .device = base->spec};
  g_autoptr(RaEstimator) e = ra_estimator_new(base, &cluster, NULL);
  RaProbeLimits limits;
  double before_s = 0;

  ra_probe_limits_init(&limits, FALSE);
  for (guint i = 0; i < 2; i++) {
    RaProbePlanTally tally;
    g_autoptr(GArray) plan = NULL;
    guint64 kinds = 0;
    guint level = 0;
    double s = 0;

    limits.budget_s = i ? 15 : 150;
    plan = ra_probe_plan(e, &limits, &tally);
    for (guint k = 0; k < plan->len; k++) {
      const RaProbePlanned *p = &g_array_index(plan, RaProbePlanned, k);

      ck_assert_uint_ge(p->level, level);
      level = p->level;
      s += p->s;
      if (level == 0)
        kinds |= G_GUINT64_CONSTANT(1) << p->point.op.kind;
    }
    ck_assert_double_eq_tol(s, tally.s, 1e-6);
    ck_assert_double_le(s, limits.budget_s);
    ck_assert_int_eq(tally.n_left > 0, s + 1 > limits.budget_s);
    ck_assert_uint_gt(tally.n_launches, 10 * plan->len);
    ck_assert(i == 0 || s < before_s);
    before_s = s;
    for (guint kind = 0; kind < RA_N_OPS; kind++)
      if (ra_probe_has((RaOpKind)kind, FALSE) &&
          ra_op_class((RaOpKind)kind) != RA_OP_CLASS_COMM)
        ck_assert_msg(kinds >> kind & 1, "%s", ra_op_name((RaOpKind)kind));
  }
  ra_profile_free(base);
}
END_TEST

/* Ten points, and ten more with nothing measured twice; another GPU's file is
 * refused and left. */
START_TEST(test_resume)
{
  RaProfile *truth = profile_text_shipped(TRUTH);
  IdleGpu *gpu = idle_gpu_new(truth);
  RaGpuOptions o = options_of(gpu, truth);
  g_autofree char *path = new_path();
  GError *error = NULL;
  RaSampleTally tally;
  RaTrace *samples;
  guint64 n_begun;

  o.n_most = 10;
  for (guint i = 0; i < 2; i++) {
    samples = ra_gpu_samples(&o, path, &tally, &error);
    ck_assert_msg(samples != NULL, "%s", error ? error->message : "");
    ck_assert_uint_eq(tally.n_known, 10 * i);
    ck_assert_uint_eq(ra_trace_n_rows(samples), 30 * (i + 1));
    ck_assert(ra_trace_is_from(samples, RA_TRACE_SOURCE_GPU));
    ra_trace_free(samples);
  }
  n_begun = gpu->n_begun;
  o.name = "another GPU";
  samples = ra_gpu_samples(&o, path, &tally, &error);
  ck_assert_ptr_null(samples);
  ck_assert_ptr_nonnull(
      strstr(error->message, "its machine is 'an idle GPU', expected 'another "
                             "GPU' to resume"));
  ck_assert_uint_eq(gpu->n_begun, n_begun);
  g_clear_error(&error);
  g_unlink(path);
  idle_gpu_free(gpu);
  ra_profile_free(truth);
}
END_TEST

static Suite *
calibrate_gpu_suite(void)
{
  Suite *suite = suite_create("calibrate_gpu");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 900);
  tcase_add_test(tcase, test_plan);
  tcase_add_test(tcase, test_resume);
  tcase_add_loop_test(tcase, test_profile, 0, G_N_ELEMENTS(machines));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(calibrate_gpu_suite)
