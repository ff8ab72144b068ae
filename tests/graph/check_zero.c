/* ZeRO as tasks: what is communicated, by closed forms; when, by replay. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "graph/augment/layout.h"
#include "sim/call.h"
#include "tests/support/check_main.h"
#include "tests/support/zero_run.h"

/* --- bytes --- */

/* By expand_zero.h: with d ranks a set, s sets and m micro-batches, a
 * mini-batch sends, in parts of P (weights and gradients are as large)
 *
 *     zero 0  2 (d - 1) / d
 *     zero 1  (d - 1) / d (1 + 1)    scatter gradients, gather parameters
 *     zero 2  (d - 1) / d (m + 1)
 *     zero 3  (d - 1) / d 3 m        gather twice, scatter once
 *
 * and the all-reduce of shards across sets 2 (s - 1) / s / d. */
static double
train_bytes(uint32_t zero, uint32_t d, uint32_t m)
{
  double s = 8.0 / d;
  double times[] = {2, 2, m + 1.0, 3.0 * m};

  return N_MINI_BATCHES * P_BYTES *
         (times[zero] * (d - 1) / d + 2 * (s - 1) / s / d);
}

START_TEST(test_bytes)
{
  guint n_caught = 0, n = 0;

  for (uint32_t zero = 0; zero < 4; zero++)
    for (uint32_t d = zero ? 2 : 8; d <= 8; d *= 2)
      for (uint32_t m = 1; m <= 4; m *= 2)
        for (int overlap = 0; overlap < 2; overlap++) {
          g_autofree char *group =
              zero ? g_strdup_printf("zero-group = %u\n", d) : g_strdup("");
          g_autofree char *train = g_strdup_printf(
              "dp = 8\nzero = %u\n%smicro-batches = %u\ngrad-dtype = bf16\n"
              "overlap-grad-reduce = %s",
              zero, group, m, overlap ? "true" : "false");
          g_autofree char *infer =
              g_strdup_printf("dp = 8\nzero = %u\n%smicro-batches = %u",
                              zero == 3 ? 3 : 0, zero == 3 ? group : "", m);
          const char *keys[3] = {infer, infer, train};
          PlanText *t = text_new("tiny.json", "fixed(16)", keys);
          g_autoptr(RaTaskGraph) g =
              ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
          double expected = train_bytes(zero, d, m);
          double forwards = zero == 3 ? m * P_BYTES * (d - 1) / d : 0;
          ck_assert_double_eq_tol(sent_bytes(g, TRAIN, RA_N_TASK_KINDS),
                                  expected, 1e-6 * expected);
          ck_assert_double_eq_tol(sent_bytes(g, INFER, RA_N_TASK_KINDS),
                                  forwards, 1e-6 * expected);
          ck_assert_double_eq_tol(sent_bytes(g, GENERATE, RA_N_TASK_KINDS),
                                  forwards, 1e-6 * expected);
          n_caught += fabs(sent_bytes(g, TRAIN, RA_TASK_PARAM_GATHER) -
                           expected) > 1e-6 * expected;
          n_caught += fabs(sent_bytes(g, TRAIN, RA_TASK_GRAD_REDUCE) -
                           expected) > 1e-6 * expected;
          n += zero == 0 ? 1 : 2; /* zero 0 has no gathers to forget */
          plan_text_free(t);
        }
  ck_assert_uint_eq(n_caught, n);
}
END_TEST

/* Every rank updates its shard: N / d parameters; all with zero 0. */
START_TEST(test_optimizer)
{
  for (uint32_t zero = 0; zero < 4; zero++)
    for (uint32_t d = 1; d <= 8; d *= 2) {
      g_autofree char *group =
          zero ? g_strdup_printf("zero-group = %u\n", d) : g_strdup("");
      g_autofree char *train =
          g_strdup_printf("dp = 8\nzero = %u\n%s", zero, group);
      const char *keys[3] = {"dp = 8", "dp = 8", train};
      PlanText *t = text_new("tiny.json", "fixed(16)", keys);
      g_autoptr(RaTaskGraph) g =
          ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
      guint n = 0;
      for (RaTaskId i = 0; i < g->n_tasks; i++) {
        if (g->kind[i] != RA_TASK_OPTIMIZER)
          continue;
        n++;
        ck_assert_uint_eq(g->works[g->work[i]].op.dim[0],
                          N_PARAMS / (zero ? d : 1));
      }
      ck_assert_uint_eq(n, 8 * N_MINI_BATCHES);
      plan_text_free(t);
    }
}
END_TEST

/* tiny-glm4-moe.json has 8 experts of 3 x 64 x 32 in each of 3 layers. */
#define EXPERT_PARAMS (3 * 8 * 3 * 64 * 32)

/* Where ep ranks share the experts, train_bytes() is that of the other weights,
 * over d = 8, and of 1 / ep of the experts over 8 / ep ranks; an optimizer step
 * has an eighth of both from zero 1 on, and no two tasks one name.  Fault: all
 * as one over 8. */
START_TEST(test_experts)
{
  for (uint32_t zero = 0; zero < 4; zero++)
    for (uint32_t ep = 2; ep <= 8; ep *= 2)
      for (uint32_t m = 1; m <= 2; m++) {
        g_autofree char *train = g_strdup_printf(
            "dp = 8\nep = %u\nzero = %u\nmicro-batches = %u\n"
            "grad-dtype = bf16\noverlap-grad-reduce = true",
            ep, zero, m);
        g_autofree char *infer =
            g_strdup_printf("dp = 8\nep = %u\nzero = %u\nmicro-batches = %u",
                            ep, zero == 3 ? 3 : 0, m);
        const char *keys[3] = {"dp = 8", infer, train};
        PlanText *t = text_new("tiny-glm4-moe.json", "fixed(16)", keys);
        g_autoptr(RaTaskGraph) g =
            ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
        g_autoptr(GHashTable) names =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        const RaModel *model = t->workload->models[0].model;
        g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
        double all = (double)ra_model_n_params(model);
        double times[] = {2, 2, m + 1.0, 3.0 * m}, e = 8.0 / ep;
        double dense = 2 * (all - EXPERT_PARAMS) * 7 / 8;
        double experts = 2.0 * EXPERT_PARAMS / ep * (e - 1) / e;
        double sent = sent_bytes(g, TRAIN, RA_N_TASK_KINDS);
        uint64_t held;

        ck_assert_double_eq_tol(sent,
                                N_MINI_BATCHES * times[zero] *
                                    (dense + experts),
                                1e-6 * sent);
        ck_assert_double_ne(sent,
                            N_MINI_BATCHES * times[zero] * 2 * all * 7 / 8);
        ck_assert_double_eq_tol(sent_bytes(g, INFER, RA_N_TASK_KINDS),
                                zero == 3 ? m * (dense + experts) : 0,
                                1e-6 * sent);
        ra_layout_stage_params(table, &t->plan->calls[TRAIN], &held);
        /* a tensor's rows divide by 8 but for a gate's */
        if (zero == 3)
          ck_assert_double_eq_tol((double)held, all / 8, 0.02 * all / 8);
        for (RaTaskId i = 0; i < g->n_tasks; i++) {
          char name[256];

          ra_task_name(g, i, name, sizeof name);
          ck_assert_msg(g_hash_table_add(names, g_strdup(name)), "%s", name);
          if (g->kind[i] == RA_TASK_OPTIMIZER)
            ck_assert_double_eq_tol(
                (double)g->works[g->work[i]].op.dim[0],
                zero ? all / 8 : all - EXPERT_PARAMS * (1 - 1.0 / ep), 2);
        }
        plan_text_free(t);
      }
}
END_TEST

/* No two tasks of a graph have one name. */
START_TEST(test_names)
{
  static const char *const zeros[] = {"zero = 1", "zero = 2", "zero = 3"};

  for (guint z = 0; z < 3; z++)
    for (guint sets = 0; sets < 2; sets++) {
      g_autofree char *infer = g_strdup_printf(
          "dp = 8\nmicro-batches = 2\nzero = 3\nzero-group = %u", sets ? 2 : 8);
      g_autofree char *train = g_strdup_printf(
          "dp = 4\npp = 2\nmicro-batches = 4\n%s\nzero-group = %u\n"
          "schedule = interleaved:2\noverlap-grad-reduce = true",
          zeros[z], sets ? 2 : 4);
      const char *keys[3] = {infer, infer, train};
      PlanText *t = text_new("tiny.json", "fixed(16)", keys);
      g_autoptr(RaTaskGraph) g =
          ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
      g_autoptr(GHashTable) names =
          g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
      for (RaTaskId i = 0; i < g->n_tasks; i++) {
        char name[256];
        ra_task_name(g, i, name, sizeof name);
        ck_assert_msg(g_hash_table_add(names, g_strdup(name)), "%s", name);
      }
      plan_text_free(t);
    }
}
END_TEST

/* --- times --- */

/* The call alone, seconds. */
static double
call_s(const Run *r, uint32_t call)
{
  g_autofree RaCost *parts =
      ra_call_costs(r->graph, call, 0, r->estimator, NULL);

  ck_assert_ptr_nonnull(parts);
  return parts[0].total_s;
}

/* Lengths all equal: else replicas wait for each other at every gather. */
static Run
run_of(const char *call_keys, const char *train_keys, double link_bytes_per_s)
{
  const char *keys[3] = {call_keys, call_keys, train_keys};

  return run_new(text_new("tiny.json", "fixed(24)", keys),
                 profile_text_load(NULL, NULL), link_bytes_per_s);
}

static gboolean
close_to(double a, double b)
{
  return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Where communication costs nothing, zero 3 takes what zero 0 takes, and with
 * an optimizer in shards what zero 1 takes.  Fault: a link that costs. */
START_TEST(test_free_links)
{
  static const char *const schedules[] = {
      "dp = 8\nmicro-batches = 4\n", "dp = 4\npp = 2\nmicro-batches = 4\n",
      "dp = 2\npp = 4\nmicro-batches = 4\nschedule = interleaved:2\n"};

  for (guint i = 0; i < G_N_ELEMENTS(schedules); i++)
    for (uint32_t zero = 2; zero <= 3; zero++) {
      g_autofree char *one = g_strconcat(schedules[i], "zero = 1", NULL);
      g_autofree char *more = g_strdup_printf(
          "%szero = %u\noverlap-grad-reduce = true", schedules[i], zero);
      Run a = run_of("dp = 8\nmicro-batches = 2", one, (double)INFINITY);
      Run b =
          run_of("dp = 8\nmicro-batches = 2\nzero = 3", more, (double)INFINITY);
      Run c = run_of("dp = 8\nmicro-batches = 2\nzero = 3", more, 1e6);
      for (uint32_t call = 0; call < 3; call++) {
        ck_assert(close_to(call_s(&b, call), call_s(&a, call)));
        ck_assert(!close_to(call_s(&c, call), call_s(&a, call)));
      }
      run_clear(&a);
      run_clear(&b);
      run_clear(&c);
    }
}
END_TEST

/* A group of all is no group; a group of one shards nothing. */
START_TEST(test_groups)
{
  Run plain = run_of("dp = 8\nzero = 3", "dp = 8\nzero = 3", 1e8);
  Run all = run_of("dp = 8\nzero = 3\nzero-group = 8",
                   "dp = 8\nzero = 3\nzero-group = 8", 1e8);
  Run one = run_of("dp = 8\nzero = 3\nzero-group = 1",
                   "dp = 8\nzero = 3\nzero-group = 1", 1e8);
  Run none = run_of("dp = 8", "dp = 8", 1e8);

  ck_assert_uint_eq(ra_sim_result(plain.sim)->fingerprint,
                    ra_sim_result(all.sim)->fingerprint);
  for (uint32_t call = 0; call < 3; call++) {
    ck_assert(close_to(call_s(&one, call), call_s(&none, call)));
    ck_assert_double_gt(call_s(&plain, call), 0);
  }
  ck_assert_double_ne(call_s(&plain, GENERATE), call_s(&none, GENERATE));
  run_clear(&plain);
  run_clear(&all);
  run_clear(&one);
  run_clear(&none);
}
END_TEST

/* The tasks of replica 0, or of all, of one kind in order. */
static guint
costs_of(const Run *r, uint32_t call, RaTaskKind kind, uint32_t replica,
         double *out_s)
{
  guint n = 0;

  for (RaTaskId t = 0; t < r->graph->n_tasks; t++)
    if (r->graph->kind[t] == kind && r->graph->replica[t] == replica &&
        r->graph->augmented->nodes[r->graph->node[t]].call == call)
      out_s[n++] = ra_sim_costs(r->sim)[t].total_s;
  return n;
}

/* One stage in n buckets with computation c and gather g each, two of them
 * whole at a time: bucket i + 1 is gathered from the moment i begins, so
 *
 *     T = g_1 + sum over i < n of max(c_i, g_{i+1}) + c_n
 *
 * over all micro-batches; 16 layers make 8 buckets.  Faults: gathers that are
 * not prefetched, gathers that are all prefetched. */
START_TEST(test_overlap)
{
  guint n_bound = 0;

  for (double link = 1e6; link < 1e13; link *= 10) {
    const char *keys[3] = {"dp = 8", "dp = 8\nmicro-batches = 2\nzero = 3",
                           "dp = 8"};
    const char *turns[3] = {
        "dp = 8", "dp = 8\nmicro-batches = 2\nzero = 3\ngathers = in-turn",
        "dp = 8"};
    Run in_turn = run_new(text_new("tiny.json", "fixed(48)", turns),
                          profile_text_load(NULL, NULL), link);
    Run r = run_new(text_new("tiny.json", "fixed(48)", keys),
                    profile_text_load(NULL, NULL), link);
    double c[16], g[16], expected, sum, most_c = 0, most_g = 0;
    guint n = costs_of(&r, INFER, RA_TASK_FORWARD, 0, c);
    ck_assert_uint_eq(n, 16);
    ck_assert_uint_eq(costs_of(&r, INFER, RA_TASK_PARAM_GATHER, RA_NONE, g),
                      16);
    expected = sum = g[0];
    for (guint i = 0; i < n; i++) {
      expected += i + 1 < n ? MAX(c[i], g[i + 1]) : c[i];
      sum += c[i] + (i + 1 < n ? g[i + 1] : 0);
      most_c += c[i];
      most_g += g[i];
    }
    ck_assert(close_to(call_s(&r, INFER), expected));
    ck_assert(!close_to(sum, expected));
    /* In turn nothing overlaps. */
    ck_assert(close_to(call_s(&in_turn, INFER), sum));
    ck_assert(!close_to(MAX(most_c, most_g), expected));
    n_bound += most_g > most_c;
    run_clear(&in_turn);
    run_clear(&r);
  }
  ck_assert(n_bound > 0 && n_bound < 7);
}
END_TEST

/* On real laws: generation with zero 3 is never faster than without, whatever
 * the lengths, groups, launches and models. */
START_TEST(test_generation_is_slower)
{
  static const char *const models[] = {"tiny.json",
                                       "../../share/models/llama-2-7b.json"};
  static const char *const lengths[] = {"fixed(48)", "uniform(4, 64)"};
  static const char *const launches[] = {"eager", "graph"};
  RaRng rng = ra_rng_init(5, 0);

  for (guint i = 0; i < 24; i++) {
    const char *model = models[i % 2], *length = lengths[i / 2 % 2];
    uint32_t pp = 1u << ra_rng_below(&rng, 3), dp = 8 / pp;
    g_autofree char *plain = g_strdup_printf("dp = %u\npp = %u\nlaunch = %s\n",
                                             dp, pp, launches[i / 4 % 2]);
    g_autofree char *zero =
        g_strdup_printf("%szero = 3\nzero-group = %u", plain,
                        dp >> ra_rng_below(&rng, dp > 2 ? 2 : 1));
    const char *without[3] = {plain, plain, "dp = 8"};
    const char *with[3] = {zero, zero, "dp = 8"};
    Run a = run_new(text_new(model, length, without),
                    profile_text_shipped("h100-sxm"), 0);
    Run b = run_new(text_new(model, length, with),
                    profile_text_shipped("h100-sxm"), 0);
    ck_assert_double_ge(call_s(&b, GENERATE), call_s(&a, GENERATE));
    ck_assert_double_ge(call_s(&b, INFER), call_s(&a, INFER));
    /* the test's own test: the other way round it would fail */
    ck_assert(dp == 1 || call_s(&a, GENERATE) < call_s(&b, GENERATE));
    run_clear(&a);
    run_clear(&b);
  }
}
END_TEST

/* A call's weights are not gathered while the GPU still computes another
 * call. */
START_TEST(test_gathers_begin_with_their_call)
{
  Run r = run_of("dp = 8\nzero = 3", "dp = 8\nzero = 3", 1e8);
  const RaTaskGraph *g = r.graph;
  const RaSimResult *result = ra_sim_result(r.sim);
  double ends_s[3] = {0};
  guint n = 0;

  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    uint32_t call = g->augmented->nodes[g->node[t]].call;
    ends_s[call] = MAX(ends_s[call], result->end_s[t]);
  }
  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    uint32_t call = g->augmented->nodes[g->node[t]].call;
    if (g->kind[t] != RA_TASK_PARAM_GATHER || call == GENERATE)
      continue;
    ck_assert_double_ge(result->begin_s[t], ends_s[call - 1]);
    n++;
  }
  ck_assert_uint_gt(n, 0);
  run_clear(&r);
}
END_TEST

static Suite *
zero_suite(void)
{
  Suite *suite = suite_create("zero");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_bytes);
  tcase_add_test(tcase, test_optimizer);
  tcase_add_test(tcase, test_experts);
  tcase_add_test(tcase, test_names);
  tcase_add_test(tcase, test_free_links);
  tcase_add_test(tcase, test_groups);
  tcase_add_test(tcase, test_overlap);
  tcase_add_test(tcase, test_generation_is_slower);
  tcase_add_test(tcase, test_gathers_begin_with_their_call);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(zero_suite)
