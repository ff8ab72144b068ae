/* Sequences with turns (graph/input/turns.h): laws of times, the batcher and
 * its seconds against generation step by step, memory, bad files. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/expand/sequence.h"
#include "graph/input/plan_batching.h"
#include "graph/input/turns.h"
#include "sim/generate/serve.h"
#include "sim/sim.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"
#include "tests/support/turns_reference.h"

#define N_DRAWS 40000

static RaLatency
latency(const char *text)
{
  RaLatency l;
  GError *error = NULL;

  ck_assert_msg(ra_latency_parse(text, &l, &error), "%s",
                error ? error->message : "");
  return l;
}

/* For n = 40,000 draws the mean is within 4 sd / sqrt(n) = sd / 50 of the
 * law's, 2 s: exponential sd 2; lognormal(2, 1) sd 1. Their deviations: for the
 * exponential law the fourth central moment is 9 sd^4, so that of the variance
 * is sd^2 sqrt(8 / n), 4 of it 0.057 sd^2; for the lognormal, with w = 1 +
 * (1/2)^2 = 1.25, the kurtosis w^4 + 2 w^3 + 3 w^2 - 3 = 8.04 makes it
 * sqrt(7.04 / n): 0.053. A law with half the deviation is found. */
START_TEST(test_latency)
{
  static const struct {
    const char *text;
    double sd_s, of_variance;
  } laws[] = {{"exponential(2 s)", 2, 0.057},
              {"lognormal(2 s, 1 s)", 1, 0.053}};
  RaLatency constant = latency("constant(300 ms)");

  ck_assert_double_eq(ra_latency_draw(&constant, 1, 2, 3), 0.3);
  for (guint k = 0; k < G_N_ELEMENTS(laws); k++) {
    RaLatency l = latency(laws[k].text);
    double sum = 0, squares = 0, mean, variance;

    for (uint32_t i = 0; i < N_DRAWS; i++) {
      double s = ra_latency_draw(&l, 7, 1, i);

      ck_assert_double_ge(s, 0);
      sum += s;
      squares += s * s;
    }
    mean = sum / N_DRAWS;
    variance = squares / N_DRAWS - mean * mean;
    ck_assert_double_eq_tol(mean, 2, laws[k].sd_s / 50);
    ck_assert_double_eq_tol(variance / (laws[k].sd_s * laws[k].sd_s), 1,
                            laws[k].of_variance);
    ck_assert(fabs(0.25 * variance / (laws[k].sd_s * laws[k].sd_s) - 1) >
              laws[k].of_variance);
  }
}
END_TEST

static void
line(gconstpointer context, uint32_t n, uint64_t kv, RaDecodeLine *out)
{
  double s = STEP_S + n * SEQUENCE_S + (double)kv * KV_S;

  (void)context;
  *out = (RaDecodeLine){.cost = {.total_s = s, .compute_s = s},
                        .from_tokens = kv,
                        .until_tokens = kv + 1000,
                        .s_per_token = KV_S};
}

static void
mixed(gconstpointer context, const RaBatchStretch *step, RaCost *out)
{
  double s = STEP_S + CHUNK_S + step->n_decoding * SEQUENCE_S +
             (double)step->kv_tokens * KV_S +
             (double)step->chunk_tokens * TOKEN_S;

  (void)context;
  *out = (RaCost){.total_s = s, .compute_s = s};
}

static RaBatcher *
batcher_of(const Case *c, const RaBatching *batching, gboolean keeps)
{
  RaBatchTurns turns = {c->begin,     c->response, c->tool,
                        c->latency_s, keeps,       c->n_tools};
  RaBatcher *b = ra_batcher_new(batching, c->prompt, c->all, c->n);

  ra_batcher_set_turns(b, &turns);
  return b;
}

static double
serve(const Case *c, const RaBatching *batching, gboolean keeps, double *end_s,
      RaBatcherWork *out_work)
{
  RaServeSource source = {line, mixed, NULL};
  RaServeResult result = {.end_s = end_s};
  g_autoptr(RaBatcher) b = batcher_of(c, batching, keeps);

  ra_serve_run(&source, b, c->n, NULL, &result);
  ck_assert_uint_eq(ra_batcher_blocks(b), 0);
  *out_work = *ra_batcher_work(b);
  return result.makespan_s;
}

/* One sequence of a prompt of 10, turns of 4, 3 and 5 tokens, answers of 6 and
 * 7 after 0.5 s and 0.25 s.  Each turn is a step with a chunk, which gives its
 * first token, and r - 1 steps, of a sequence at k known tokens each.  Kept:
 * the chunks are 10, 6 + 1 and 7 + 1 tokens, the last token of a turn having no
 * keys yet; dropped: 10, 10 + 4 + 6 = 20 and 20 + 3 + 7 = 30.  Decode steps
 * attend to 11, 12, 13; 21, 22; 31, 32, 33, 34: 209 tokens in 9 steps. */
START_TEST(test_by_hand)
{
  static const uint32_t response[] = {4, 3, 5}, tool[] = {0, 6, 7};
  static const double latency_s[] = {0, 0.5, 0.25};
  RaBatching batching = {
      .max_sequences = 4, .step_tokens = 100, .block_tokens = 4, .group = 1};
  double common_s =
      0.75 + 9 * (STEP_S + SEQUENCE_S) + 209 * KV_S + 3 * (STEP_S + CHUNK_S);
  Case c = {0};
  RaBatcherWork work;
  double end_s;

  add(&c, 10, 3, response, tool, latency_s);
  ck_assert_double_eq_tol(serve(&c, &batching, TRUE, &end_s, &work),
                          common_s + 25 * TOKEN_S, 1e-12);
  ck_assert_uint_eq(work.n_computed, 25 + 9);
  ck_assert_uint_eq(work.n_kept, 10 + 3 + 20 + 2);
  ck_assert_double_eq_tol(serve(&c, &batching, FALSE, &end_s, &work),
                          common_s + 60 * TOKEN_S, 1e-12);
  ck_assert_uint_eq(work.n_computed, 60 + 9);
  ck_assert_uint_eq(work.n_kept, 0);
}
END_TEST

/* Ends of 300 random cases agree; with the other treatment of keys they do not,
 * where there is a second turn. */
START_TEST(test_step_by_step)
{
  RaRng rng = ra_rng_init(11, 0);
  Case c;
  guint n_found = 0;

  for (guint trial = 0; trial < 300; trial++) {
    RaBatching batching = {
        .step_tokens = 100000, .block_tokens = 4, .group = 1};
    gboolean keeps = trial % 2 == 0, differs = FALSE;
    double fast_s[MAX_N], slow_s[MAX_N], other_s[MAX_N];
    RaBatcherWork work;

    draw(&c, &rng);
    batching.max_sequences = 1 + (uint32_t)ra_rng_below(&rng, MAX_N);
    serve(&c, &batching, keeps, fast_s, &work);
    slow(&c, batching.max_sequences, keeps, 0, slow_s);
    slow(&c, batching.max_sequences, !keeps, 0, other_s);
    for (uint32_t i = 0; i < c.n; i++) {
      ck_assert_double_eq_tol(fast_s[i], slow_s[i], 1e-9);
      differs = differs || fabs(fast_s[i] - other_s[i]) > 1e-7;
    }
    n_found += differs;
  }
  ck_assert_uint_gt(n_found, 250);
}
END_TEST

/* Ends of 300 random cases with one to five sandboxes agree, and differ from
 * those without a limit, where there are many calls. */
START_TEST(test_sandboxes)
{
  RaRng rng = ra_rng_init(13, 0);
  Case c;
  guint n_waited = 0;

  for (guint trial = 0; trial < 300; trial++) {
    RaBatching batching = {.max_sequences = MAX_N,
                           .step_tokens = 100000,
                           .block_tokens = 4,
                           .group = 1};
    gboolean keeps = trial % 2 == 0, differs = FALSE;
    double fast_s[MAX_N], slow_s[MAX_N], free_s[MAX_N];
    RaBatcherWork work;

    draw(&c, &rng);
    c.n_tools = 1 + (uint32_t)ra_rng_below(&rng, 5);
    serve(&c, &batching, keeps, fast_s, &work);
    slow(&c, MAX_N, keeps, c.n_tools, slow_s);
    slow(&c, MAX_N, keeps, 0, free_s);
    for (uint32_t i = 0; i < c.n; i++) {
      ck_assert_double_eq_tol(fast_s[i], slow_s[i], 1e-9);
      differs = differs || fast_s[i] > free_s[i] + 1e-7;
    }
    n_waited += differs;
  }
  ck_assert_uint_gt(n_waited, 200);
}
END_TEST

/* Without limit and kept, every token but each last one is computed once; with
 * few blocks some lose theirs and nobody computes more than if all dropped.  No
 * more blocks are used than there are, and samples of a prompt may share. */
START_TEST(test_few_blocks)
{
  RaRng rng = ra_rng_init(12, 0);
  Case c;
  uint64_t n_evicted = 0, n_shared = 0;

  for (guint trial = 0; trial < 300; trial++) {
    RaBatching all = {.max_sequences = MAX_N,
                      .step_tokens = 100000,
                      .block_tokens = 4,
                      .group = 1};
    RaBatching few = all;
    RaBatcherWork kept, dropped, tight;
    uint64_t once = 0, most = 0;
    double end_s[MAX_N];

    draw(&c, &rng);
    for (uint32_t i = 0; i < c.n; i++) {
      once += c.prompt[i] + c.all[i] - 1;
      most = MAX(most, ra_batching_blocks(&all, c.prompt[i], c.all[i]));
    }
    serve(&c, &all, TRUE, end_s, &kept);
    serve(&c, &all, FALSE, end_s, &dropped);
    ck_assert_uint_eq(kept.n_computed, once);
    ck_assert_uint_ge(dropped.n_computed, once);
    few.n_blocks = most + ra_rng_below(&rng, 2 * most);
    if (trial % 3 == 0 && c.n % 2 == 0) {
      few.group = 2;
      for (uint32_t i = 1; i < c.n; i += 2)
        c.prompt[i] = c.prompt[i - 1];
      for (uint32_t i = 0; i < c.n; i++)
        few.n_blocks =
            MAX(few.n_blocks, ra_batching_blocks(&few, c.prompt[i], c.all[i]));
    }
    serve(&c, &few, TRUE, end_s, &tight);
    ck_assert_uint_le(tight.peak_blocks, few.n_blocks);
    ck_assert_uint_ge(tight.n_computed + tight.n_shared,
                      few.group > 1 ? 0 : once);
    n_evicted += tight.n_evicted;
    n_shared += tight.n_shared;
  }
  ck_assert_uint_gt(n_evicted, 100);
  ck_assert_uint_gt(n_shared, 100);
}
END_TEST

static PlanText *
text_of(const char *keys, const char *plan_keys)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompts = 64\nprompt-length = uniform(4, 40)\n"
      "response-length = lognormal(50, 40, 400)\n%s"
      "[model m]\nconfig = tiny.json\ntrainable = true\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n"
      "[call train]\nmodel = m\nkind = train\ninputs = seq\n",
      keys);
  g_autofree char *plan =
      g_strdup_printf("[plan]\nformat = 1\nworkload = w\ncluster = c\n"
                      "[call gen]\nmesh = node0\ndp = 8\nlaunch = graph\n"
                      "batching = continuous\nkv-memory = 1 GiB\n%s"
                      "[call train]\nmesh = node0\ndp = 8\n",
                      plan_keys);

  return plan_text_new(workload, cluster, plan, 2);
}

/* The times of all tasks, end to end. */
static double *
times_of(const char *keys, const char *plan_keys, uint32_t *out_n)
{
  PlanText *text = text_of(keys, plan_keys);
  g_autoptr(RaProfile) profile = profile_text_shipped("h100-sxm");
  RaEstimator *estimator;
  RaTaskGraph *graph = ra_expand(text->augmented, RA_FIDELITY_STAGE, 0, NULL);
  RaSim *sim;
  double *end_s;

  text->cluster->device = profile->spec;
  estimator = ra_estimator_new(profile, text->cluster, NULL);
  sim = ra_sim_new(graph, estimator, NULL);
  ck_assert(sim && ra_sim_run(sim, NULL));
  *out_n = graph->n_tasks;
  end_s = g_memdup2(ra_sim_result(sim)->end_s, graph->n_tasks * sizeof *end_s);
  ra_sim_free(sim);
  ra_task_graph_free(graph);
  ra_estimator_free(estimator);
  plan_text_free(text);
  return end_s;
}

/* One turn, whatever its tool would do, is the workload without: to the last
 * bit.  Two turns are not, and a slow tool is slower than one that is not. */
START_TEST(test_one_turn_is_plain)
{
  uint32_t n, m;
  g_autofree double *plain_s = times_of("", "", &n);
  g_autofree double *one_s =
      times_of("turns = fixed(1)\ntool-tokens = fixed(9)\n"
               "tool-latency = constant(3 s)\n",
               "", &m);
  g_autofree double *two_s = NULL, *slow_s = NULL;

  ck_assert_uint_eq(n, m);
  ck_assert_mem_eq(plain_s, one_s, n * sizeof *plain_s);
  two_s = times_of("turns = fixed(2)\ntool-tokens = fixed(9)\n", "", &m);
  slow_s = times_of("turns = fixed(2)\ntool-tokens = fixed(9)\n"
                    "tool-latency = exponential(2 s)\n",
                    "tool-kv = drop\n", &m);
  ck_assert_double_gt(two_s[m - 1], plain_s[n - 1]);
  ck_assert_double_gt(slow_s[m - 1], two_s[m - 1] + 2);
}
END_TEST

/* Readers see prompt, responses and answers: with turns = fixed(3) and answers
 * of 9, two of these beside three responses, of which the first is the plain
 * workload's. */
START_TEST(test_lengths)
{
  PlanText *plain = text_of("", "");
  PlanText *t = text_of("turns = fixed(3)\ntool-tokens = fixed(9)\n", "");
  RaArena *arena = ra_arena_new(0);
  const RaSequenceSet *a = ra_sequence_set_new(arena, plain->plan, 0, 1, 4);
  const RaSequenceSet *b = ra_sequence_set_new(arena, t->plan, 0, 1, 4);
  const RaTurns *turns = b->turns;
  double mean = ra_length_mean(&plain->workload->response_length);

  ck_assert_ptr_null(a->turns);
  ck_assert_ptr_nonnull(turns);
  for (uint32_t i = 0; i < 64; i++) {
    const uint32_t *r = turns->response + turns->begin[i];

    ck_assert_uint_eq(turns->begin[i + 1] - turns->begin[i], 3);
    ck_assert_uint_eq(b->prompt[i], a->prompt[i]);
    ck_assert_uint_eq(r[0], a->response[i]);
    ck_assert_uint_eq(b->response[i], r[0] + r[1] + r[2] + 18);
  }
  ck_assert_double_eq_tol(ra_turns_mean_tokens(t->workload), 3 * mean + 18,
                          1e-9);
  ck_assert_uint_eq(ra_turns_max_tokens(t->workload), 3 * 400 + 18);
  ra_arena_free(arena);
  plan_text_free(plain);
  plan_text_free(t);
}
END_TEST

/* A plan that drops says so when it is written; one that keeps has the
 * default. */
START_TEST(test_written)
{
  PlanText *drops =
      text_of("turns = fixed(2)\ntool-tokens = fixed(9)\n", "tool-kv = drop\n");
  PlanText *keeps = text_of("turns = fixed(2)\ntool-tokens = fixed(9)\n", "");
  g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);

  ra_plan_write_batching(&drops->plan->calls[0], a);
  ra_plan_write_batching(&keeps->plan->calls[0], b);
  ck_assert_ptr_nonnull(strstr(a->str, "tool-kv = drop\n"));
  ck_assert_ptr_null(strstr(b->str, "tool-kv"));
  ck_assert(
      !ra_plan_same_batching(&drops->plan->calls[0], &keeps->plan->calls[0]));
  plan_text_free(drops);
  plan_text_free(keeps);
}
END_TEST

static const struct {
  const char *keys, *message;
} bad[] = {
    {"turns = uniform(1, 3)\n", "'turns' alone, expected 'tool-tokens'"},
    {"tool-tokens = fixed(3)\n", "'tool-tokens' alone, expected 'turns'"},
    {"tool-latency = constant(1 s)\n", "'tool-latency' alone"},
    {"turns = fixed(2)\ntool-tokens = fixed(3)\ntool-latency = fixed(1)\n",
     "not a time distribution"},
    {"turns = fixed(2)\ntool-tokens = fixed(3)\n"
     "tool-latency = exponential(0 s)\n",
     "positive means of sampled times"},
    {"turns = fixed(2)\ntool-tokens = fixed(3)\n"
     "tool-latency = lognormal(1 s)\n",
     "not a time distribution"},
    {"turns = fixed(1001)\ntool-tokens = fixed(3)\n", "at most 1000"},
    {"turns = fixed(1000)\ntool-tokens = fixed(20000)\n", "all turns may come"},
};

START_TEST(test_bad)
{
  g_autofree char *name = g_build_filename(g_getenv("srcdir"), "tests", "data",
                                           "in-memory.workload", NULL);
  g_autofree char *text = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompts = 8\nprompt-length = fixed(16)\nresponse-length = fixed(8)\n%s"
      "[model m]\nconfig = tiny.json\n[call gen]\nmodel = m\n"
      "kind = generate\ninputs = prompts\noutputs = seq\n",
      bad[_i].keys);
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
turns_suite(void)
{
  Suite *suite = suite_create("turns");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_latency);
  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_step_by_step);
  tcase_add_test(tcase, test_sandboxes);
  tcase_add_test(tcase, test_few_blocks);
  tcase_add_test(tcase, test_one_turn_is_plain);
  tcase_add_test(tcase, test_lengths);
  tcase_add_test(tcase, test_written);
  tcase_add_loop_test(tcase, test_bad, 0, G_N_ELEMENTS(bad));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(turns_suite)
