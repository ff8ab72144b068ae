/* Calibration of a host: what is measured, keeping it, and the profile. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "estimator/estimator.h"
#include "estimator/fit.h"
#include "graph/expand/expand.h"
#include "study/run/host.h"
#include "study/setup.h"
#include "tests/support/check_main.h"
#include "tests/support/new_path.h"

/* A clock that a test sets: each look at it is a tick later. */
typedef struct {
  double at_s;
  double tick_s;
  double uneven_s; /* every other look a so much longer tick */
  guint n;
} Clock;

static double
look(gpointer data)
{
  Clock *c = data;

  c->at_s += c->tick_s + (c->n++ / 2 % 2 ? c->uneven_s : 0);
  return c->at_s;
}

static RaProbePoint
small_point(RaOpKind kind)
{
  return (RaProbePoint){.op = {.kind = (uint8_t)kind,
                               .dtype = RA_DTYPE_FP32,
                               .count = 1,
                               .dim = {4, 8, 8, 1}}};
}

/* A tick from begin to end: each repeat takes one, 5 of them are enough. */
START_TEST(test_probe)
{
  Clock clock = {.tick_s = 0.5};
  RaProbeOptions o;
  RaProbePoint point = small_point(RA_OP_GEMM);
  RaProbeSample sample;

  ra_probe_options_init(&o);
  o.clock = look;
  o.clock_data = &clock;
  g_autoptr(RaProbe) probe = ra_probe_new(&o, NULL);
  ck_assert_ptr_nonnull(probe);
  ra_probe_run(probe, &point, &sample);
  ck_assert_double_eq(sample.median_s, 0.5);
  ck_assert_double_eq(sample.spread_frac, 0);
  ck_assert_uint_eq(sample.n, 5);
  /* Looks 0 1, 2 3, 4 5 ...: begin and end of a repeat, the second, fourth ...
   * a tick and 1.5 s: of 0.5 and 2 s three are 0.5, or three are 2 s. */
  clock.uneven_s = 1.5;
  ra_probe_run(probe, &point, &sample);
  ck_assert_double_eq(sample.high_s - sample.low_s, 1.5);
  ck_assert_double_gt(sample.spread_frac, RA_HOST_NOISE_FRAC);
}
END_TEST

/* Looks by both clocks, of the wall first and last: an op takes one tick of its
 * core's clock and three of the wall's, 5 repeats 5 and 15.  Without a second
 * clock there is nothing to compare. */
START_TEST(test_pace)
{
  Clock clock = {.tick_s = 0.5};
  RaProbeOptions o;
  RaProbePoint point = small_point(RA_OP_GEMM);
  RaProbeSample sample;

  ra_probe_options_init(&o);
  o.clock = look;
  o.wall = _i ? NULL : look;
  o.clock_data = &clock;
  g_autoptr(RaProbe) probe = ra_probe_new(&o, NULL);
  ra_probe_run(probe, &point, &sample);
  ck_assert_uint_eq(sample.n, 5);
  ck_assert_double_eq(sample.median_s, 0.5);
  ck_assert_double_eq(sample.cpu_s, _i ? 0 : 5 * 0.5);
  ck_assert_double_eq(sample.wall_s, _i ? 0 : 5 * 1.5);
}
END_TEST

/* Ops whose result is the next repeat's input, over and over: 200 repeats of
 * all that move less than 1 MB leave no number that a core takes longer for
 * (five of seven are none such: 0 is not, nor the least normal, 2^-126). */
START_TEST(test_numbers)
{
  const float some[] = {0, 1, -1e30f, 0x1p-126f, 0x1p-127f, INFINITY, 3};
  g_autoptr(GArray) grid = ra_probe_grid(1, FALSE);
  Clock clock = {.tick_s = 1e-9};
  RaProbeOptions o;
  guint n = 0;

  ck_assert_uint_eq(ra_probe_n_odd(G_N_ELEMENTS(some), some), 2);
  ra_probe_options_init(&o);
  o.clock = look;
  o.clock_data = &clock;
  g_autoptr(RaProbe) probe = ra_probe_new(&o, NULL);
  for (guint i = 0; i < grid->len; i++) {
    const RaProbePoint *point = &g_array_index(grid, RaProbePoint, i);
    RaProbeSample sample;

    if (ra_op_bytes(&point->op) > 1e6 || ra_op_bytes(&point->op) < 2e5 ||
        point->op.kind <= RA_OP_DECODE_ATTENTION ||
        point->op.kind >= RA_OP_LATENT)
      continue;
    ra_probe_run(probe, point, &sample);
    ck_assert_uint_eq(sample.n, 200);
    ck_assert_msg(sample.n_odd == 0, "%s: %u", ra_op_name(point->op.kind),
                  sample.n_odd);
    n++;
  }
  ck_assert_uint_gt(n, 30);
}
END_TEST

/* TRUE if the grid has a point of the law that @kind follows. */
static gboolean
is_covered(const GArray *grid, RaOpKind kind)
{
  RaOp op = {.kind = (uint8_t)kind, .dtype = RA_DTYPE_FP32};
  const char *law = ra_fit_law_of(&op);

  for (guint i = 0; law && i < grid->len; i++) {
    const RaProbePoint *point = &g_array_index(grid, RaProbePoint, i);

    if (g_strcmp0(ra_fit_law_of(&point->op), law) == 0)
      return TRUE;
  }
  return FALSE;
}

/* Every kind that the host runs is measured, every law of it is fitted; the
 * others (the oracle's fault) are not.  A GPU has no latent attention. */
START_TEST(test_kinds)
{
  g_autoptr(GArray) grid = ra_probe_grid(2, _i);

  for (guint kind = 0; kind < RA_N_OPS; kind++)
    ck_assert_msg(is_covered(grid, (RaOpKind)kind) ==
                      ra_probe_has((RaOpKind)kind, TRUE),
                  "%s", ra_op_name((RaOpKind)kind));
  for (guint i = 0; i < grid->len; i++) {
    const RaOp *op = &g_array_index(grid, RaProbePoint, i).op;

    ck_assert_ptr_nonnull(ra_fit_host_law(ra_fit_law_of(op)));
    ck_assert_int_eq(op->dtype, RA_DTYPE_FP32);
  }
}
END_TEST

/* All that are shipped for the host. */
static const char *const plans[] = {"dpo-tiny-4.plan",
                                    "grpo-tiny-4.plan",
                                    "grpo-tiny-deepseek-v2-4.plan",
                                    "grpo-tiny-deepseek-v3-4.plan",
                                    "grpo-tiny-glm4-moe-4.plan",
                                    "grpo-tiny-gpt-oss-4.plan",
                                    "grpo-tiny-ministral-4.plan",
                                    "ppo-tiny-4-colocated.plan",
                                    "ppo-tiny-4-disaggregated.plan",
                                    "ppo-tiny-4-interleaving.plan",
                                    "ppo-tiny-8.plan",
                                    "remax-tiny-4.plan",
                                    "rloo-tiny-4.plan",
                                    "rm-tiny-2.plan",
                                    "sft-tiny-4.plan",
                                    "sft-tiny-bytes-2.plan"};

/* Ops of a plan that runs are in the grid, by law, and have a probe; those of
 * latent attention and routers lacked both. */
START_TEST(test_plans)
{
  g_autoptr(GArray) grid = ra_probe_grid(2, TRUE);
  RaSetupFlags flags = {0};
  g_autoptr(RaSetup) setup =
      ra_setup_load(plans[_i], RA_FILE_PLAN, &flags, NULL);
  g_autoptr(RaAugmented) augmented = NULL;
  g_autoptr(RaTaskGraph) graph = NULL;
  guint n = 0;

  ck_assert_ptr_nonnull(setup);
  augmented = ra_augment(setup->plan, 2);
  graph = ra_expand(augmented, RA_FIDELITY_STAGE, 0, NULL);
  for (uint32_t w = 0; w < graph->n_works; w++) {
    RaOp ops[RA_OP_LIST_MAX];
    guint n_ops = ra_op_list_lower(ops, ra_work_ops(graph, w, ops));

    for (guint i = 0; i < n_ops; i++, n++)
      ck_assert_msg(ops[i].kind == RA_OP_HOST ||
                        (is_covered(grid, (RaOpKind)ops[i].kind) &&
                         ra_probe_has((RaOpKind)ops[i].kind, TRUE)),
                    "%s: %s", plans[_i], ra_op_name((RaOpKind)ops[i].kind));
  }
  ck_assert_uint_gt(n, 20);
}
END_TEST

/* Three points and then four: the second start measures no point again, and
 * goes on with the fourth. */
START_TEST(test_resume)
{
  Clock clock = {.tick_s = 1e-3};
  RaHostOptions o = {.n_ranks = 1,
                     .quick = TRUE,
                     .n_most = 3,
                     .clock = look,
                     .clock_data = &clock};
  g_autofree char *path = new_path();
  RaHostTally tally;
  GError *error = NULL;
  RaTrace *trace = ra_host_samples(&o, path, &tally, &error);

  ck_assert_msg(trace != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(tally.n_new, 3);
  ck_assert_uint_eq(tally.n_known, 0);
  ra_trace_free(trace);
  o.n_most = 4;
  trace = ra_host_samples(&o, path, &tally, NULL);
  ck_assert_uint_eq(tally.n_new, 4);
  ck_assert_uint_eq(tally.n_known, 3);
  ck_assert_uint_eq(ra_trace_n_rows(trace), 3 * 7);
  ck_assert(ra_trace_is_from(trace, RA_TRACE_SOURCE_HOST));
  ck_assert_double_eq(tally.spread_frac, 0);
  ra_trace_free(trace);
  /* A file of another grid. */
  o.quick = FALSE;
  trace = ra_host_samples(&o, path, &tally, &error);
  ck_assert_ptr_null(trace);
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  ck_assert_ptr_nonnull(strstr(error->message, "its grid is 'quick, 1 ranks"));
  g_clear_error(&error);
  g_unlink(path);
}
END_TEST

/* Weights that come again before the caches have taken in so many MiB come
 * from there: of up to 16 rows in 0.4 of the time. */
#define CACHE_MIB 24

/* A machine: seconds of an op. */
static double
true_s(const RaOp *op, double more)
{
  double s = 1e-6 + ra_op_flop(op) / 5e10 + ra_op_bytes(op) / 1e10;
  uint64_t reuse = op->kind == RA_OP_GEMM ? op->dim[RA_OP_REUSE_DIM] : 0;

  if (reuse > 0 && reuse < CACHE_MIB && op->dim[0] <= 16)
    s *= 0.4;

  return s * (op->kind == RA_OP_OPTIMIZER ? more : 1);
}

static RaTrace *
made_up(const GArray *grid, double more)
{
  RaTrace *trace = ra_trace_new();
  double at_s = 0;

  ra_trace_set_head(trace, "machine", "a test");
  ra_trace_set_head(trace, "gpus-per-node", "2");
  ra_trace_set_head(trace, "memory-bytes", "8589934592");
  ra_trace_set_head(trace, "copy-bytes-per-s", "1e10");
  ra_trace_set_head(trace, RA_TRACE_LAP_MIB, "64");
  for (guint i = 0; i < grid->len; i++) {
    const RaOp *op = &g_array_index(grid, RaProbePoint, i).op;
    g_autofree char *name = g_strdup_printf("p%u", i);
    g_autofree char *shape = ra_op_shape(op);
    RaTraceRow row = {.name = name,
                      .call = "c",
                      .kind = "probe",
                      .ranks = "0-1",
                      .stream = "compute",
                      .op = ra_op_name((RaOpKind)op->kind),
                      .shape = shape,
                      .begin_s = at_s,
                      .end_s = at_s + true_s(op, more)};

    ra_trace_add(trace, &row);
    at_s = row.end_s + 1e-6;
  }
  return trace;
}

/* Median size of the error of the optimizer, and of all. */
static void
score(const RaProfile *profile, const GArray *grid, double *out_optimizer,
      double *out_all)
{
  RaCluster cluster = {
      .n_nodes = 1, .gpus_per_node = 2, .device = profile->spec};
  g_autoptr(RaEstimator) estimator = ra_estimator_new(profile, &cluster, NULL);
  double worst = 0, sum = 0;

  ck_assert_ptr_nonnull(estimator);
  for (guint i = 0; i < grid->len; i++) {
    const RaOp *op = &g_array_index(grid, RaProbePoint, i).op;
    double error = fabs(ra_estimator_op_s(estimator, op) / true_s(op, 1) - 1);

    if (op->kind == RA_OP_OPTIMIZER)
      worst = fmax(worst, error);
    sum += error;
  }
  *out_optimizer = worst;
  *out_all = sum / grid->len;
}

/* Samples of a machine make a profile that reads back and says what the machine
 * takes; of one whose optimizer is slower, it does not. */
START_TEST(test_profile)
{
  g_autoptr(GArray) grid = ra_probe_grid(2, TRUE);
  double optimizer[2], all[2];

  for (guint fault = 0; fault < 2; fault++) {
    g_autoptr(RaTrace) samples = made_up(grid, fault ? 1.5 : 1);
    GError *error = NULL;
    GString *text = ra_host_profile(samples, "a.tsv", "host", &error);
    RaKeyFile *file;
    RaProfile *profile;

    ck_assert_msg(text != NULL, "%s", error ? error->message : "");
    file = ra_key_file_parse("host.profile", text->str, text->len, &error);
    ck_assert_msg(file != NULL, "%s", error ? error->message : "");
    profile = ra_profile_load(file, &error);
    ck_assert_msg(profile != NULL, "%s", error ? error->message : "");
    ck_assert_double_eq(profile->spec.memory_bytes, 4294967296.0);
    score(profile, grid, &optimizer[fault], &all[fault]);
    ra_profile_free(profile);
    ra_key_file_unref(file);
    g_string_free(text, TRUE);
  }
  /* Cells are rounded to a thousandth. */
  ck_assert_double_lt(optimizer[0], 0.005);
  ck_assert_double_lt(all[0], 0.01);
  ck_assert_double_gt(optimizer[1], 0.4);
}
END_TEST

/* The profile of samples whose head says @value of @key. */
static RaProfile *
headed_profile(const GArray *grid, const char *key, const char *value)
{
  g_autoptr(RaTrace) samples = made_up(grid, 1);
  g_autoptr(RaKeyFile) file = NULL;
  g_autoptr(GError) error = NULL;
  GString *text;
  RaProfile *profile;

  ra_trace_set_head(samples, key, value);
  text = ra_host_profile(samples, "a.tsv", "host", &error);
  if (!text) {
    ck_assert_ptr_nonnull(strstr(error->message, value));
    return NULL;
  }
  file = ra_key_file_parse("host.profile", text->str, text->len, NULL);
  profile = ra_profile_load(file, NULL);
  ck_assert_ptr_nonnull(profile);
  g_string_free(text, TRUE);
  return profile;
}

/* The median of five seconds of a core, one of them stopped for long, is 1.25;
 * quartiles 1.125 and 1.5: half of 0.375, over 1.25, is 0.15. Ops of cores take
 * so much more, those of ranks together do not; of samples without (the fault)
 * nothing does. */
START_TEST(test_paced_profile)
{
  g_autoptr(GArray) grid = ra_probe_grid(2, TRUE);
  g_autoptr(RaProfile) with =
      headed_profile(grid, RA_TRACE_WALL_PER_CPU, "1.25 1.5 40 1.125 1");
  g_autoptr(RaProfile) without =
      headed_profile(grid, RA_TRACE_WALL_PER_CPU, NULL);
  RaCluster cluster = {.n_nodes = 1, .gpus_per_node = 2, .device = with->spec};
  g_autoptr(RaEstimator) a = ra_estimator_new(with, &cluster, NULL);
  g_autoptr(RaEstimator) b = ra_estimator_new(without, &cluster, NULL);
  guint n[2] = {0};

  ck_assert_double_eq(with->pace.wall_per_cpu, 1.25);
  ck_assert_double_eq(with->pace.error_frac, 0.15);
  ck_assert_uint_eq(with->pace.n_draws, 1);
  ck_assert_double_eq(without->pace.wall_per_cpu, 1);
  ck_assert_uint_eq(without->pace.n_draws, 0);
  for (guint i = 0; i < grid->len; i++) {
    const RaOp *op = &g_array_index(grid, RaProbePoint, i).op;
    gboolean together = ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMM;

    ck_assert_double_eq(ra_estimator_op_s(a, op),
                        ra_estimator_op_s(b, op) * (together ? 1 : 1.25));
    n[together]++;
  }
  ck_assert(n[0] > 0 && n[1] > 0);
  ck_assert_ptr_null(headed_profile(grid, RA_TRACE_WALL_PER_CPU, "1.25 none"));
}
END_TEST

/* The mean error of products that say a reuse. */
static double
reuse_error(const RaProfile *profile, const GArray *grid)
{
  RaCluster cluster = {
      .n_nodes = 1, .gpus_per_node = 2, .device = profile->spec};
  g_autoptr(RaEstimator) e = ra_estimator_new(profile, &cluster, NULL);
  double sum = 0;
  guint n = 0;

  for (guint i = 0; i < grid->len; i++) {
    const RaOp *op = &g_array_index(grid, RaProbePoint, i).op;

    if (op->kind != RA_OP_GEMM || op->dim[RA_OP_REUSE_DIM] == 0)
      continue;
    sum += fabs(ra_estimator_op_s(e, op) / true_s(op, 1) - 1);
    n++;
  }
  ck_assert_uint_gt(n, 50);
  return sum / n;
}

/* The machine's cache is found: two of five reuses are within it, of three of
 * four numbers of rows.  Without (the fault) the head's lap nothing is known of
 * it: 3/10 of all are predicted 1.5 too long. */
START_TEST(test_cached_profile)
{
  g_autoptr(GArray) grid = ra_probe_grid(2, TRUE);
  g_autoptr(RaProfile) with = headed_profile(grid, RA_TRACE_LAP_MIB, "64");
  g_autoptr(RaProfile) without = headed_profile(grid, RA_TRACE_LAP_MIB, NULL);

  ck_assert_double_lt(reuse_error(with, grid), 0.02);
  ck_assert_double_eq_tol(reuse_error(without, grid), 0.45, 0.05);
  ck_assert_ptr_nonnull(ra_profile_law(with, "gemm.fp32.reuse"));
  ck_assert_ptr_null(ra_profile_law(without, "gemm.fp32.reuse"));
  ck_assert_ptr_null(headed_profile(grid, RA_TRACE_LAP_MIB, "lap-mib"));
}
END_TEST

static Suite *
host_suite(void)
{
  Suite *suite = suite_create("host");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_test(tcase, test_probe);
  tcase_add_loop_test(tcase, test_pace, 0, 2);
  tcase_add_test(tcase, test_numbers);
  tcase_add_loop_test(tcase, test_kinds, 0, 2);
  tcase_add_loop_test(tcase, test_plans, 0, G_N_ELEMENTS(plans));
  tcase_add_test(tcase, test_resume);
  tcase_add_test(tcase, test_profile);
  tcase_add_test(tcase, test_paced_profile);
  tcase_add_test(tcase, test_cached_profile);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(host_suite)
