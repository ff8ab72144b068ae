/* Folded graphs against unfolded ones: every time of every task, every number
 * of the results, to the last bit. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "study/replay.h"
#include "tests/support/check_main.h"
#include "tests/support/fold_compare.h"
#include "tests/support/plan_text.h"

/* --- random plans --- */

/* An estimator for small clusters. */
typedef struct {
  PlanText *text;
  RaProfile *profile;
  RaEstimator *estimator;
} Setup;

static Setup
setup_new(const char *workload, const char *cluster, const char *plan)
{
  g_autofree char *path = g_build_filename(
      g_getenv("srcdir"), "traces", "profiles", "h100-sxm.profile", NULL);
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, NULL);
  Setup s;

  s.text = plan_text_new(workload, cluster, plan, 3);
  s.profile = ra_profile_load(file, NULL);
  s.text->cluster->device = s.profile->spec;
  s.estimator = ra_estimator_new(s.profile, s.text->cluster, NULL);
  ck_assert_ptr_nonnull(s.estimator);
  return s;
}

static void
setup_clear(Setup *s)
{
  ra_estimator_free(s->estimator);
  ra_profile_free(s->profile);
  plan_text_free(s->text);
}

static FoldRun
run_new(const Setup *s, RaFidelity fidelity, uint64_t seed, gboolean fold)
{
  RaExpandOptions options = {.fidelity = fidelity, .seed = seed, .fold = fold};
  FoldRun run;

  run.graph = ra_expand_with(s->text->augmented, &options, NULL);
  ck_assert_ptr_nonnull(run.graph);
  run.sim = ra_sim_new(run.graph, s->estimator, NULL);
  ck_assert(run.sim && ra_sim_run(run.sim, NULL));
  return run;
}

static void
run_clear(FoldRun *run)
{
  ra_sim_free(run->sim);
  ra_task_graph_free(run->graph);
}

static uint32_t
pick(RaRng *rng, uint32_t n)
{
  return (uint32_t)ra_rng_below(rng, n);
}

/* A mesh of the cluster of @nodes nodes, and its GPUs. */
static char *
random_mesh(RaRng *rng, uint32_t nodes, uint32_t *out_n)
{
  uint32_t half = nodes / 2, slice;

  switch (pick(rng, 4)) {
  case 0:
    if (nodes > 1) {
      uint32_t first = pick(rng, 2) * half;
      *out_n = half * 8;
      return g_strdup_printf("node[%u-%u]", first, first + half - 1);
    }
    break;
  case 1:
    slice = 1u << pick(rng, 3);
    *out_n = nodes * slice;
    return g_strdup_printf("node[0-%u]:gpu[%u-%u]", nodes - 1, 8 - slice,
                           8 - 1);
  default:
    break;
  }
  *out_n = nodes * 8;
  return g_strdup("all");
}

/* Zero @zero, in sets of a random divisor of @dp. */
static void
append_zero(GString *out, RaRng *rng, uint32_t dp, uint32_t zero)
{
  uint32_t size;

  g_string_append_printf(out, "zero = %u\n", zero);
  do
    size = 1 + pick(rng, dp);
  while (dp % size != 0);
  if (zero > 0)
    g_string_append_printf(out, "zero-group = %u\n", size);
}

static void
append_call(GString *out, RaRng *rng, uint32_t nodes, const char *name)
{
  static const char *const orders[] = {"tp-dp-pp", "dp-tp-pp", "pp-dp-tp",
                                       "tp-pp-dp", "dp-pp-tp", "pp-tp-dp"};
  gboolean train = g_str_has_suffix(name, "train");
  uint32_t n_gpus, tp, pp, cp, dp, m;
  g_autofree char *mesh = random_mesh(rng, nodes, &n_gpus);

  /* With 3 stages, some replicas lie on one node and some on two. */
  do {
    tp = 1u << pick(rng, 4);
    pp = n_gpus % 3 == 0 && pick(rng, 2) ? 3 : 1u << pick(rng, 3);
    cp = g_str_equal(name, "gen") ? 1 : 1u << (pick(rng, 4) == 0);
  } while (n_gpus % (tp * pp * cp) != 0);
  dp = n_gpus / tp / pp / cp;
  m = pp * (1u << pick(rng, 2));
  g_string_append_printf(out,
                         "[call %s]\nmesh = %s\ntp = %u\npp = %u\ncp = %u\ndp "
                         "= %u\nmicro-batches = %u\n"
                         "rank-order = %s\n",
                         name, mesh, tp, pp, cp, dp, m, orders[pick(rng, 6)]);
  if (tp > 1 && pick(rng, 2))
    g_string_append(out, "sequence-parallel = true\n");
  if (g_str_equal(name, "gen") && pp == 1 && m == 1 && pick(rng, 2)) {
    g_string_append_printf(out,
                           "batching = continuous\nmax-sequences = %u\n"
                           "prefill-tokens = %u\n",
                           1 + pick(rng, 8), 8 + pick(rng, 200));
    return;
  }
  append_zero(out, rng, dp, train ? pick(rng, 4) : 3 * pick(rng, 2));
  if (name[0] == 'r' && pick(rng, 3) == 0) /* ref, rew: nothing trains them */
    g_string_append(out, "residency = host\n");
  if (!train)
    return;
  if (pick(rng, 3) == 0)
    g_string_append(out, "optimizer-residency = host\n");
  if (pp > 1 && pick(rng, 3) == 0)
    g_string_append(out, "schedule = interleaved:2\n");
  else if (pick(rng, 3) == 0)
    g_string_append(out, "schedule = gpipe\n");
  g_string_append_printf(out, "overlap-grad-reduce = %s\n",
                         pick(rng, 2) ? "true" : "false");
}

/* With lengths that are all equal, of two values, or of many. */
static char *
random_workload(RaRng *rng)
{
  static const char *const laws[] = {"fixed(24)", "uniform(24, 25)",
                                     "uniform(8, 64)"};
  static const char *const edges[] = {"seq", "seq:chunk(2)", "seq:chunk(4)"};
  g_autofree char *calls = g_strdup(plan_text_ppo);
  g_autofree char *edge = g_strconcat("inputs = ", edges[pick(rng, 3)],
                                      "\noutputs = rlogp\n", NULL);
  guint n_laws = pick(rng, 3) ? 1 : 3;
  g_auto(GStrv) parts = g_strsplit(calls, "inputs = seq\noutputs = rlogp\n", 2);

  return g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = ppo\ndataset = prompts\n"
      "prompts = %u\nprompt-length = %s\nresponse-length = %s\n"
      "mini-batches = %u\nepochs = %u\n%s%s%s",
      pick(rng, 2) ? 1536 : 3072, laws[pick(rng, n_laws)],
      laws[pick(rng, n_laws)], 1 + pick(rng, 2), 1 + pick(rng, 2), parts[0],
      edge, parts[1]);
}

static char *
random_plan(RaRng *rng, uint32_t nodes)
{
  static const char *const names[] = {"gen", "ref",    "rew",
                                      "val", "atrain", "ctrain"};
  GString *out =
      g_string_new("[plan]\nformat = 1\nworkload = w\ncluster = c\n");

  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    append_call(out, rng, nodes, names[i]);
  return g_string_free(out, FALSE);
}

/* TRUE if some replicas stand for others and some do not, in one call. */
static gboolean
some_are_twins(const RaTaskGraph *g)
{
  uint32_t first[6] = {0};

  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    uint32_t call = g->augmented->nodes[g->node[t]].call;
    uint32_t weight = ra_task_weight(g, t);
    if (g->replica[t] == RA_NONE)
      continue;
    if (first[call] == 0)
      first[call] = weight;
    if (weight != first[call])
      return TRUE;
  }
  return FALSE;
}

/* 250 random placements of PPO at both fidelities.  In many of them there is
 * something to fold, or the test tests nothing; in some only some replicas of a
 * call are twins. */
START_TEST(test_random_plans)
{
  RaRng rng = ra_rng_init(71, 0);
  guint n_folded = 0, n_partly = 0;

  for (int i = 0; i < 250; i++) {
    uint32_t nodes = 1 + pick(&rng, 4);
    g_autofree char *workload = random_workload(&rng);
    g_autofree char *cluster = plan_text_cluster(nodes);
    g_autofree char *plan = random_plan(&rng, nodes);
    Setup s = setup_new(workload, cluster, plan);

    for (RaFidelity f = RA_FIDELITY_CALL; f <= RA_FIDELITY_STAGE; f++) {
      FoldRun folded = run_new(&s, f, (uint64_t)i, TRUE);
      FoldRun plain = run_new(&s, f, (uint64_t)i, FALSE);
      const char *what = fold_compare(&folded, &plain);
      ck_assert_msg(!what, "case %d, fidelity %d: %s\n%s\n%s", i, f, what,
                    workload, plan);
      if (f == RA_FIDELITY_STAGE) {
        n_folded += folded.graph->n_tasks < plain.graph->n_tasks;
        n_partly += some_are_twins(folded.graph);
      }
      run_clear(&folded);
      run_clear(&plain);
    }
    setup_clear(&s);
  }
  ck_assert_uint_gt(n_folded, 60);
  ck_assert_uint_gt(n_partly, 20);
}
END_TEST

/* Experts of Mixtral over ranks, also of a tp group, on 16 GPUs. */
static char *
random_experts(RaRng *rng, gboolean train)
{
  uint32_t tp = 1u << pick(rng, 4), pp = 1u << pick(rng, 2), cp, dp, cut, ep;

  do
    cp = train ? 1u << pick(rng, 2) : 1;
  while (16 % (tp * pp * cp) != 0);
  dp = 16 / tp / pp / cp;
  do
    cut = 1u << pick(rng, 4);
  while (cut > tp);
  do
    ep = 1u << pick(rng, 4);
  while (16 / pp / cut % ep != 0);
  return g_strdup_printf(
      "mesh = all\ntp = %u\npp = %u\ncp = %u\ndp = %u\nep = %u\n"
      "expert-tp = %u\nmicro-batches = %u\nrank-order = %s\n"
      "sequence-parallel = %s\n%s",
      tp, pp, cp, dp, ep, cut, 2 * pp,
      pick(rng, 2) ? "tp-cp-dp-pp" : "dp-tp-cp-pp",
      tp > 1 && (train || pick(rng, 2)) ? "true" : "false",
      !train         ? ""
      : pick(rng, 2) ? "zero = 1\noverlap-grad-reduce = true\n"
                     : "zero = 1\n");
}

/* 80 layouts of experts, with a reallocation between two; lengths are all equal
 * in half of them. */
START_TEST(test_random_experts)
{
  RaRng rng = ra_rng_init(72, 0);
  guint n_folded = 0;

  for (int i = 0; i < 80; i++) {
    g_autofree char *cluster = plan_text_cluster(2);
    g_autofree char *gen = random_experts(&rng, FALSE);
    g_autofree char *train = random_experts(&rng, TRUE);
    g_autofree char *workload = g_strdup_printf(
        "[workload]\nformat = 1\nalgorithm = grpo\ndataset = d\n"
        "prompts = 64\nprompt-length = %s\nresponse-length = fixed(32)\n"
        "[model m]\nconfig = ../../share/models/mixtral-8x7b.json\n"
        "trainable = true\n[call gen]\nmodel = m\nkind = generate\n"
        "inputs = d\noutputs = s\n"
        "[call train]\nmodel = m\nkind = train\ninputs = s\n",
        i % 2 ? "fixed(64)" : "uniform(8, 64)");
    g_autofree char *plan = g_strconcat(
        "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call gen]\n", gen,
        "[call train]\n", train, NULL);
    Setup s = setup_new(workload, cluster, plan);

    for (RaFidelity f = RA_FIDELITY_CALL; f <= RA_FIDELITY_STAGE; f++) {
      FoldRun folded = run_new(&s, f, (uint64_t)i, TRUE);
      FoldRun plain = run_new(&s, f, (uint64_t)i, FALSE);
      const char *what = fold_compare(&folded, &plain);
      ck_assert_msg(!what, "case %d, fidelity %d: %s\n%s", i, f, what, plan);
      n_folded += folded.graph->n_tasks < plain.graph->n_tasks;
      run_clear(&folded);
      run_clear(&plain);
    }
    setup_clear(&s);
  }
  ck_assert_uint_gt(n_folded, 20);
}
END_TEST

/* --- the fault --- */

#define TWO_REPLICAS                                                           \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n"                            \
  "[call train]\nmesh = node0:gpu[0-1]\ndp = 2\n"

static Setup
two_replicas(const char *prompt_length)
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = sft\ndataset = pairs\n"
      "prompts = 2\nprompt-length = %s\nresponse-length = fixed(8)\n"
      "[model actor]\nconfig = tiny.json\ntrainable = true\n"
      "[call train]\nmodel = actor\nkind = train\ninputs = pairs\n",
      prompt_length);

  return setup_new(workload, cluster, TWO_REPLICAS);
}

/* Two replicas of one sequence each.  With both prompts of 64 tokens they fold
 * into one.  With prompts of 64 and 65 tokens (the seed is looked for) the
 * second is not the first's twin.  Folded into it all the same, it would be the
 * folded graph of the equal ones: the comparison must see that. */
START_TEST(test_other_batch_is_seen)
{
  Setup equal = two_replicas("fixed(64)");
  Setup other = two_replicas("uniform(64, 65)");
  FoldRun folded = run_new(&equal, RA_FIDELITY_STAGE, 0, TRUE);
  FoldRun plain = run_new(&equal, RA_FIDELITY_STAGE, 0, FALSE);
  const RaLength *law = &other.text->workload->prompt_length;
  uint64_t seed = 0;
  FoldRun unequal, unequal_folded;

  while (ra_length_draw(law, seed, 0, 0) != 64 ||
         ra_length_draw(law, seed, 0, 1) != 65)
    seed++;
  unequal = run_new(&other, RA_FIDELITY_STAGE, seed, FALSE);
  unequal_folded = run_new(&other, RA_FIDELITY_STAGE, seed, TRUE);

  ck_assert_uint_lt(folded.graph->n_tasks, plain.graph->n_tasks);
  ck_assert_ptr_null(fold_compare(&folded, &plain));
  ck_assert_uint_eq(unequal_folded.graph->n_tasks, unequal.graph->n_tasks);
  ck_assert_ptr_null(fold_compare(&unequal_folded, &unequal));
  ck_assert_ptr_nonnull(fold_compare(&folded, &unequal));
  run_clear(&folded);
  run_clear(&plain);
  run_clear(&unequal);
  run_clear(&unequal_folded);
  setup_clear(&equal);
  setup_clear(&other);
}
END_TEST

/* One time of one task off by a bit is seen too, and one weight. */
START_TEST(test_comparison_sees_faults)
{
  Setup s = two_replicas("fixed(64)");
  FoldRun folded = run_new(&s, RA_FIDELITY_STAGE, 0, TRUE);
  FoldRun plain = run_new(&s, RA_FIDELITY_STAGE, 0, FALSE);
  double *begin_s = ra_sim_result(folded.sim)->begin_s;
  uint32_t *weight = (uint32_t *)folded.graph->group_weight;
  RaTaskId last = folded.graph->n_tasks - 1;
  double kept_s = begin_s[last];
  uint32_t at = folded.graph->group[0];

  ck_assert_ptr_null(fold_compare(&folded, &plain));
  begin_s[last] += begin_s[last] * 0x1p-52;
  ck_assert_ptr_nonnull(fold_compare(&folded, &plain));
  begin_s[last] = kept_s;
  ck_assert_uint_eq(weight[at], 2);
  weight[at] = 1;
  ck_assert_ptr_nonnull(fold_compare(&folded, &plain));
  weight[at] = 2;
  ck_assert_ptr_null(fold_compare(&folded, &plain));
  run_clear(&folded);
  run_clear(&plain);
  setup_clear(&s);
}
END_TEST

/* --- shipped plans --- */

static void
check_shipped(const char *path, const char *const *sets, RaFidelity fidelity)
{
  g_autoptr(GError) error = NULL;
  RaSetupFlags flags = {.sets = sets};
  RaReplayOptions options = {.n_iterations = 3, .fidelity = fidelity};
  g_autoptr(RaSetup) setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error);
  g_autoptr(RaReplay) folded = NULL;
  g_autoptr(RaReplay) plain = NULL;
  const char *what;

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  folded = ra_replay_new(setup, &options, NULL);
  options.unfolded = TRUE;
  plain = ra_replay_new(setup, &options, NULL);
  ck_assert(folded && plain);
  what = fold_compare(&(FoldRun){folded->graph, folded->sim},
                      &(FoldRun){plain->graph, plain->sim});
  ck_assert_msg(!what, "%s, fidelity %d, %s lengths: %s", path, fidelity,
                sets ? "fixed" : "its own", what);
}

/* Every shipped plan, as it is and with all lengths fixed, so that there is
 * something to fold.  That of 1,024 GPUs only with fixed lengths: with its own
 * nothing folds.  A part of the plans at a time: a test has a time limit. */
enum { SHIPPED_PARTS = 8 };

START_TEST(test_shipped_plans)
{
  static const char *const fixed[] = {"workload.prompt-length=fixed(512)",
                                      "workload.response-length=fixed(700)",
                                      NULL};
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "plans", NULL);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n = 0;

  ck_assert_ptr_nonnull(dir);
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);

    if (!g_str_has_suffix(name, ".plan") || n++ % SHIPPED_PARTS != (guint)_i)
      continue;
    check_shipped(path, fixed, RA_FIDELITY_STAGE);
    if (strstr(name, "1024"))
      continue;
    check_shipped(path, NULL, RA_FIDELITY_STAGE);
    check_shipped(path, NULL, RA_FIDELITY_CALL);
  }
  ck_assert_uint_gt(n, 10);
}
END_TEST

/* Tasks of the 16,384-GPU plan, of p = 16 stages and m = 16 micro-batches, once
 * for all replicas: an iteration has p m forwards; p (m - 1) whole backwards
 * and the last ones in a bucket a layer (a bucket is at least max(40e6,
 * 1e6 dp) parameters, a layer's share 402e6 and more), 126 in all; 2 (p - 1) m
 * sends; 126 gradient reductions; one clip, p optimizer steps, one join:
 *
 *     256 + 240 + 126 + 480 + 126 + 1 + 16 + 1 = 1,246
 *
 * whatever dp > 1; on p lanes of 8 dp GPUs. */
START_TEST(test_number_of_tasks)
{
  static const uint32_t dp[] = {2, 8, 64, 128};
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "plans",
                       "sft-llama3.1-405b-16384.plan", NULL);

  for (guint i = 0; i < G_N_ELEMENTS(dp); i++) {
    g_autofree char *mesh =
        g_strdup_printf("call actor_train.mesh=node[0-%u]", 16 * dp[i] - 1);
    g_autofree char *degree = g_strdup_printf("call actor_train.dp=%u", dp[i]);
    g_autofree char *prompts =
        g_strdup_printf("workload.prompts=%u", 16 * dp[i]);
    const char *const sets[] = {mesh, degree, prompts, NULL};
    RaSetupFlags flags = {.sets = sets};
    RaReplayOptions options = {.n_iterations = 3,
                               .fidelity = RA_FIDELITY_STAGE};
    g_autoptr(GError) error = NULL;
    g_autoptr(RaSetup) setup =
        ra_setup_load(path, RA_FILE_PLAN, &flags, &error);
    g_autoptr(RaReplay) replay = NULL;

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    replay = ra_replay_new(setup, &options, NULL);
    ck_assert_uint_eq(replay->graph->n_tasks, 3 * 1246);
    ck_assert_uint_eq(replay->graph->n_lanes, 16);
    for (uint32_t l = 0; l < 16; l++)
      ck_assert_uint_eq(replay->graph->lanes[l].n_gpus, 8 * dp[i]);
  }
}
END_TEST

static Suite *
fold_suite(void)
{
  Suite *suite = suite_create("fold");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_random_plans);
  tcase_add_test(tcase, test_random_experts);
  tcase_add_test(tcase, test_other_batch_is_seen);
  tcase_add_test(tcase, test_comparison_sees_faults);
  tcase_add_loop_test(tcase, test_shipped_plans, 0,
                      RA_CHECK_SOME(SHIPPED_PARTS));
  tcase_add_test(tcase, test_number_of_tasks);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(fold_suite)
