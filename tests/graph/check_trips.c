/* Trips (graph/input/trips.h): how many, which groups, what they cost, bad
 * files. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/expand/sequence.h"
#include "graph/input/trips.h"
#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

#define N_DRAWS 20000

static PlanText *
text_of(const char *keys, const char *lengths, const char *host,
        uint32_t n_iterations)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompt-length = fixed(16)\nresponse-length = %s\n%s"
      "[model m]\nconfig = tiny.json\ntrainable = true\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n"
      "[call score]\nkind = host\nhost-time = 1 s\ninputs = seq\n"
      "outputs = r\n%s"
      "[call train]\nmodel = m\nkind = train\ninputs = seq, r\n",
      lengths, keys, host);

  return plan_text_new(workload, cluster,
                       "[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                       "[call gen]\nmesh = node0\ndp = 8\n"
                       "[call train]\nmesh = node0\ndp = 8\n",
                       n_iterations);
}

/* A workload alone: N prompts wanted, n a trip. */
static PlanText *
outcomes(guint wanted, guint trip, const char *rest)
{
  g_autofree char *keys = g_strdup_printf("prompts = %u\ntrip-prompts = %u\n"
                                          "samples-per-prompt = 8\n%s",
                                          wanted, trip, rest);

  return text_of(keys, "fixed(8)", "each-trip = true\n", 1);
}

static double
mean_trips(const RaWorkload *w)
{
  double sum = 0;

  for (uint32_t k = 0; k < N_DRAWS; k++)
    sum += ra_trips_draw(w, k, 5, NULL);
  return sum / N_DRAWS;
}

/* One group wanted and one a trip: the number of trips is geometric, E T = 1 /
 * p = 4, with variance (1 - p) / p^2 = 12, so the mean of 20,000 is within 4
 * sqrt(12 / 20,000) = 0.098 of 4.  That of p = 0.27, 3.70, is not. */
START_TEST(test_geometric)
{
  PlanText *t = outcomes(1, 1, "pass-rate = 0.25\nmax-trips = 1000\n");
  PlanText *other = outcomes(1, 1, "pass-rate = 0.27\nmax-trips = 1000\n");

  ck_assert_double_eq_tol(ra_trips_expected(t->workload), 4, 1e-9);
  ck_assert_double_eq_tol(mean_trips(t->workload), 4, 0.098);
  ck_assert(fabs(mean_trips(other->workload) - 4) > 0.098);
  plan_text_free(t);
  plan_text_free(other);
}
END_TEST

/* Three groups wanted, four a trip, p = 1/2.  T > t where fewer than 3 of 4 t
 * pass: (1 + 4 + 6) / 2^4, (1 + 8 + 28) / 2^8, (1 + 12 + 66) / 2^12, (1 + 16 +
 * 120) / 2^16, and at most 5 trips: no more terms.  T is below 6, so its
 * variance is below 9 and the mean of 20,000 within 4 x 3 / sqrt(20,000) =
 * 0.085. */
START_TEST(test_binomial)
{
  PlanText *t = outcomes(3, 4, "pass-rate = 0.5\nmax-trips = 5\n");
  double expected = 1 + 11 / 16.0 + 37 / 256.0 + 79 / 4096.0 + 137 / 65536.0;

  ck_assert_double_eq_tol(ra_trips_expected(t->workload), expected, 1e-12);
  ck_assert_double_eq_tol(mean_trips(t->workload), expected, 0.085);
  plan_text_free(t);
}
END_TEST

/* With p = 1 trips are ceil(N / n) and the groups the first N.  With p = 1e-6
 * and 2 trips of 2, 3 wanted, nothing passes: 0, 1, 2, and the limit says
 * when.  Else groups ascend, none twice, all among those generated, and one
 * trip less would not have had enough. */
START_TEST(test_groups)
{
  PlanText *sure = outcomes(8, 3, "");
  PlanText *never = outcomes(3, 2, "pass-rate = 1e-6\nmax-trips = 2\n");
  PlanText *some = outcomes(8, 16, "pass-rate = 0.3\n");
  uint32_t groups[8];

  ck_assert_uint_eq(ra_trips_draw(sure->workload, 0, 0, groups), 3);
  for (uint32_t i = 0; i < 8; i++)
    ck_assert_uint_eq(groups[i], i);
  ck_assert_double_eq(ra_trips_expected(sure->workload), 3);
  ck_assert_uint_eq(ra_trips_draw(never->workload, 0, 0, groups), 2);
  for (uint32_t i = 0; i < 3; i++)
    ck_assert_uint_eq(groups[i], i);
  for (uint32_t k = 0; k < 100; k++) {
    uint32_t n = ra_trips_draw(some->workload, k, 1, groups);

    for (uint32_t i = 1; i < 8; i++)
      ck_assert_uint_lt(groups[i - 1], groups[i]);
    ck_assert_uint_lt(groups[7], n * 16);
    ck_assert_uint_ge(groups[7], (n - 1) * 16);
  }
  plan_text_free(sure);
  plan_text_free(never);
  plan_text_free(some);
}
END_TEST

/* Training has the sequences that its trips generated: group g of 8 answers is
 * those from 8 (g mod n) on of trip g / n. */
START_TEST(test_sequences)
{
  g_autofree char *keys =
      g_strdup("prompts = 8\ntrip-prompts = 16\nsamples-per-prompt = 8\n"
               "pass-rate = 0.3\n");
  PlanText *t =
      text_of(keys, "lognormal(50, 40, 400)", "each-trip = true\n", 1);
  RaArena *arena = ra_arena_new(0);
  const RaSequenceSet *set = ra_sequence_set_new(arena, t->plan, 0, 0, 3);
  uint32_t groups[8];

  ra_trips_draw(t->workload, 0, 3, groups);
  ck_assert_uint_eq(set->n_sequences, 64);
  for (uint32_t i = 0; i < 64; i++) {
    uint32_t g = groups[i / 8];
    const RaSequenceSet *trip =
        ra_sequence_set_new_trip(arena, t->plan, 0, 0, g / 16, 3);

    ck_assert_uint_eq(trip->n_sequences, 128);
    ck_assert_uint_eq(set->response[i], trip->response[g % 16 * 8 + i % 8]);
  }
  ra_arena_free(arena);
  plan_text_free(t);
}
END_TEST

typedef struct {
  PlanText *text;
  RaProfile *profile;
  RaTaskGraph *graph;
  RaEstimator *estimator;
  RaSim *sim;
} Run;

static Run
run_of(const char *keys, const char *lengths, const char *host,
       RaFidelity fidelity)
{
  Run r = {.text = text_of(keys, lengths, host, 2),
           .profile = profile_text_shipped("h100-sxm")};
  GError *error = NULL;

  r.graph = ra_expand(r.text->augmented, fidelity, 0, &error);
  ck_assert_msg(r.graph != NULL, "%s", error ? error->message : "");
  r.text->cluster->device = r.profile->spec;
  r.estimator = ra_estimator_new(r.profile, r.text->cluster, &error);
  ck_assert_msg(r.estimator != NULL, "%s", error ? error->message : "");
  r.sim = ra_sim_new(r.graph, r.estimator, &error);
  ck_assert_msg(r.sim && ra_sim_run(r.sim, &error), "%s",
                error ? error->message : "");
  return r;
}

static void
run_free(Run *r)
{
  ra_sim_free(r->sim);
  ra_task_graph_free(r->graph);
  ra_estimator_free(r->estimator);
  ra_profile_free(r->profile);
  plan_text_free(r->text);
}

/* When all of @call of trip @trip of iteration 0 has ended. */
static double
end_s(const Run *r, const char *call, uint32_t trip)
{
  uint32_t index = ra_workload_find_call(r->text->workload, call);
  double end = -1;

  for (RaTaskId t = 0; t < r->graph->n_tasks; t++) {
    const RaNode *n = &r->text->augmented->nodes[r->graph->node[t]];

    if (n->kind == RA_NODE_CALL && n->iteration == 0 && n->call == index &&
        n->trip == trip)
      end = MAX(end, ra_sim_result(r->sim)->end_s[t]);
  }
  ck_assert_double_ge(end, 0);
  return end;
}

/* One trip of all that is wanted, all of which passes, is the plain workload:
 * the same tasks by the same names at the same times, to the last bit. */
START_TEST(test_one_trip_is_plain)
{
  const char *plain = "prompts = 64\n", *law = "lognormal(50, 40, 400)";

  for (int f = RA_FIDELITY_CALL; f <= RA_FIDELITY_OP; f++) {
    Run a = run_of(plain, law, "", (RaFidelity)f);
    Run b = run_of("prompts = 64\ntrip-prompts = 64\n", law,
                   "each-trip = true\n", (RaFidelity)f);

    ck_assert_uint_eq(a.graph->n_tasks, b.graph->n_tasks);
    for (RaTaskId t = 0; t < a.graph->n_tasks; t++) {
      ck_assert_uint_eq(ra_task_name_hash(a.graph, t),
                        ra_task_name_hash(b.graph, t));
      ck_assert_double_eq(ra_sim_result(a.sim)->end_s[t],
                          ra_sim_result(b.sim)->end_s[t]);
    }
    run_free(&a);
    run_free(&b);
  }
}
END_TEST

/* Two trips of half, all alike: the second ends twice as late as the first (no
 * parameters move before iteration 0), with scoring 1 s in each, and training
 * takes what it takes without trips.  Scored once, after the trips: 1 s less.
 * A trip's generation is that of the workload of 32 prompts. */
START_TEST(test_two_trips)
{
  const char *keys = "prompts = 64\ntrip-prompts = 32\n";

  for (int f = RA_FIDELITY_CALL; f <= RA_FIDELITY_STAGE; f++) {
    Run half = run_of("prompts = 32\n", "fixed(64)", "", (RaFidelity)f);
    Run plain = run_of("prompts = 64\n", "fixed(64)", "", (RaFidelity)f);
    Run each = run_of(keys, "fixed(64)", "each-trip = true\n", (RaFidelity)f);
    Run once = run_of(keys, "fixed(64)", "", (RaFidelity)f);
    double trip_s = end_s(&half, "score", 0);
    double train_s = end_s(&plain, "train", 0) - end_s(&plain, "score", 0);

    ck_assert_double_eq_tol(end_s(&each, "score", 0), trip_s, 1e-9);
    ck_assert_double_eq_tol(end_s(&each, "score", 1), 2 * trip_s, 1e-9);
    ck_assert_double_eq_tol(end_s(&each, "train", 0), 2 * trip_s + train_s,
                            1e-9);
    ck_assert_double_eq_tol(end_s(&once, "train", 0), 2 * trip_s - 1 + train_s,
                            1e-9);
    ck_assert_double_gt(trip_s, 1);
    run_free(&half);
    run_free(&plain);
    run_free(&each);
    run_free(&once);
  }
}
END_TEST

static const struct {
  const char *keys, *host, *message;
} bad[] = {
    {"prompts = 8\n", "each-trip = true\n",
     "'each-trip' of 'score', expected 'trip-prompts' in [workload]"},
    {"prompts = 8\ntrip-prompts = 8\n",
     "each-trip = true\n[call infer]\nmodel = m\nkind = inference\n"
     "inputs = late\noutputs = w\neach-trip = true\n"
     "[call after]\nkind = host\nhost-time = 1 s\ninputs = r\n"
     "outputs = late\n",
     "'infer' runs in each round and reads 'late' of 'after', which does not"},
    {"prompts = 8\ntrip-prompts = 8\n",
     "[call infer]\nmodel = m\nkind = inference\ninputs = seq:chunk(2)\n"
     "outputs = w\n",
     "'infer' reads chunks of 'seq', expected all of it"},
    {"prompts = 8\ntrip-prompts = 8\n",
     "[call more]\nmodel = m\nkind = generate\ninputs = prompts\n"
     "outputs = w\n",
     "'trip-prompts' with 2 generate calls, expected one"},
    {"prompts = 8\ntrip-prompts = 1\nmax-trips = 7\n", "",
     "'max-trips' x 'trip-prompts' is 7 x 1, expected at least 8"},
    {"prompts = 8\ntrip-prompts = 100000\nsamples-per-prompt = 64\n", "",
     "is 64000000, expected at most 10000000"},
    {"prompts = 8\npass-rate = 0\n", "", "pass-rate"},
};

START_TEST(test_bad)
{
  g_autofree char *name = g_build_filename(g_getenv("srcdir"), "tests", "data",
                                           "in-memory.workload", NULL);
  g_autofree char *text = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompt-length = fixed(16)\nresponse-length = fixed(8)\n%s"
      "[model m]\nconfig = tiny.json\ntrainable = true\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n[call train]\nmodel = m\nkind = train\n"
      "inputs = seq, r\n[call score]\nkind = host\nhost-time = 1 s\n"
      "inputs = seq\noutputs = r\n%s",
      bad[_i].keys, bad[_i].host);
  GError *error = NULL;
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse(name, text, strlen(text), &error);

  ck_assert_ptr_nonnull(file);
  ck_assert_ptr_null(ra_workload_load(file, &error));
  ck_assert_msg(strstr(error->message, bad[_i].message) != NULL, "%s",
                error->message);
  g_error_free(error);
}
END_TEST

static Suite *
trips_suite(void)
{
  Suite *suite = suite_create("trips");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_geometric);
  tcase_add_test(tcase, test_binomial);
  tcase_add_test(tcase, test_groups);
  tcase_add_test(tcase, test_sequences);
  tcase_add_test(tcase, test_one_trip_is_plain);
  tcase_add_test(tcase, test_two_trips);
  tcase_add_loop_test(tcase, test_bad, 0, G_N_ELEMENTS(bad));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(trips_suite)
